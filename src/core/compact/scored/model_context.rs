//! What a decision model gets to see of a conversation, and the ladder of eight stages by which it is made to fit.
//!
//! Input: the transcript, its pairs and a limit. Output: the state with the name of the stage that made it fit. How
//! the state looks as JSON is the edge's affair: it hands in the functions that render it.

use std::borrow::Cow;

use crate::core::compact::pair::{Pair, Pairing, is_results_only};
use crate::core::compact::transcript::{
    Argument, ArgumentValue, Call, Message, Part, Role, Transcript, char_count,
};
use crate::core::rerank::tokens::tokens;
use crate::core::text::redact::redact;

/// Caps on the input of a call, in characters, stage by stage: the seed's.
const INPUT_CHARS: [usize; 3] = [1000, 200, 60];
/// Caps on the excerpt of a result, in characters, stage by stage; policy `jev` only. The first is what a port of the seed
/// shows, with better rankings than none.
const EXCERPT_CHARS: [usize; 3] = [500, 200, 60];
/// What stays of a long text, in characters: the seed's.
const TEXT_HEAD: usize = 400;
const TEXT_TAIL: usize = 150;
/// A text shorter than head, tail and this is not abridged.
const TEXT_SLACK: usize = 40;
/// Prompts that make the default goal, and how much of each, in characters: the seed's.
const GOAL_PROMPTS: usize = 3;
const GOAL_CHARS: usize = 500;
/// Cap on an argument that is no string, in characters: the seed's.
const VALUE_CHARS: usize = 200;

/// What the model sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConversationState {
    /// What the work is about.
    pub goal: String,
    /// The conversation, oldest entry first.
    pub history: Vec<ContextEntry>,
}

/// A message in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextEntry {
    /// Index of the message.
    pub message: usize,
    /// Who it is from.
    pub role: Role,
    /// Its text, perhaps abridged.
    pub text: String,
    /// Its paired calls.
    pub calls: Vec<StateCall>,
}

/// A call in the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateCall {
    /// With its parts apart.
    Parts {
        /// `t1`, `t2`, …
        id: String,
        /// The tool's name.
        tool: String,
        /// The input as JSON, capped.
        input: String,
        /// A note in place of the result.
        result: String,
    },
    /// In one line.
    Line(String),
}

/// How the edge renders things as JSON; only lengths matter here.
#[derive(Debug, Clone, Copy)]
pub struct Render {
    /// The state.
    pub state: fn(&ConversationState) -> String,
    /// An entry of the history.
    pub entry: fn(&ContextEntry) -> String,
    /// The input of a call.
    pub input: fn(&Call<'_>) -> String,
}

/// What the ladder may be told.
#[derive(Debug, Clone, Copy)]
pub struct FitOptions<'o> {
    /// Ceiling, in estimated tokens.
    pub max_tokens: usize,
    /// Newest messages that stay legible.
    pub recent_messages: usize,
    /// The goal; found in the transcript when absent.
    pub goal: Option<&'o str>,
    /// Show an excerpt of each result.
    pub with_excerpts: bool,
}

/// A state that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// The state.
    pub state: ConversationState,
    /// Its size, in estimated tokens.
    pub tokens: usize,
    /// The name of the stage that made it fit.
    pub stage: &'static str,
}

/// The conversation does not fit even after the last stage; estimated tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// What is left.
    pub tokens: usize,
    /// What was allowed.
    pub limit: usize,
}

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let TooLarge { tokens, limit } = self;
        write!(f, "history too large for Jev (~{tokens} tokens after truncation, limit {limit})")
    }
}

impl std::error::Error for TooLarge {}

/// Builds the state and shrinks it until it fits; inside a stage it stops at the first entry that makes it fit.
/// O(bytes × stages).
///
/// # Errors
/// When it does not fit after the last stage.
pub fn fit(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    options: FitOptions<'_>,
    render: Render,
) -> Result<Fitted, TooLarge> {
    let goal = options.goal.map_or_else(|| goal(transcript), str::to_owned);
    let mut ladder = ContextFitter::new(transcript, pairing, options, render, goal);
    for (level, stage) in ["full", "inputs<=200", "inputs<=60"].into_iter().enumerate() {
        ladder.rebuild(level);
        if ladder.fits() {
            return Ok(ladder.fitted(stage));
        }
    }
    let stages: [Stage; 5] = [
        ("texts abridged", |ladder| ladder.abridge_texts()),
        ("old messages collapsed", |ladder| ladder.collapse_messages()),
        ("old calls compacted", |ladder| ladder.compact_calls()),
        ("old messages left out", |ladder| ladder.leave_out_messages()),
        ("old calls merged", |ladder| ladder.merge_calls()),
    ];
    for (stage, shrink) in stages {
        shrink(&mut ladder);
        if ladder.fits() {
            return Ok(ladder.fitted(stage));
        }
    }
    Err(TooLarge { tokens: ladder.total, limit: options.max_tokens })
}

/// A stage: its name, and how it shrinks the state.
type Stage = (&'static str, fn(&mut ContextFitter<'_, '_>));

struct ContextFitter<'l, 'a> {
    transcript: &'l Transcript<'a>,
    pairs: Vec<&'l Pair<'l, 'a>>,
    options: FitOptions<'l>,
    render: Render,
    goal: String,
    entries: Vec<ContextEntry>,
    tokens: Vec<usize>,
    base: usize,
    total: usize,
}

impl<'l, 'a> ContextFitter<'l, 'a> {
    fn new(
        transcript: &'l Transcript<'a>,
        pairing: &'l Pairing<'l, 'a>,
        options: FitOptions<'l>,
        render: Render,
        goal: String,
    ) -> ContextFitter<'l, 'a> {
        let mut pairs: Vec<_> = pairing.pairs.iter().collect();
        pairs.sort_unstable_by_key(|pair| pair.number);
        let empty = ConversationState { goal: goal.clone(), history: Vec::new() };
        let base = tokens(&(render.state)(&empty));
        let (entries, sizes) = (Vec::new(), Vec::new());
        ContextFitter {
            transcript,
            pairs,
            options,
            render,
            goal,
            entries,
            tokens: sizes,
            base,
            total: 0,
        }
    }

    fn fits(&self) -> bool {
        self.total <= self.options.max_tokens
    }

    fn fitted(self, stage: &'static str) -> Fitted {
        let state = ConversationState { goal: self.goal, history: self.entries };
        Fitted { state, tokens: self.total, stage }
    }

    fn measure(&self, entry: &ContextEntry) -> usize {
        tokens(&(self.render.entry)(entry)) + 1
    }

    fn recount(&mut self) {
        self.tokens = self.entries.iter().map(|entry| self.measure(entry)).collect();
        self.total = self.base + self.tokens.iter().sum::<usize>();
    }

    /// The history anew, inputs and excerpts capped.
    fn rebuild(&mut self, level: usize) {
        let mut calls: Vec<Vec<StateCall>> = vec![Vec::new(); self.transcript.messages.len()];
        for pair in &self.pairs {
            calls[pair.call_at.message].push(self.parts_of(pair, level));
        }
        let entry = |(message, (m, calls)): (usize, (&Message<'_>, Vec<StateCall>))| {
            let text = redact(&text_of(m)).0.into_owned();
            let is_empty = text.trim().is_empty() && calls.is_empty();
            (!is_empty).then_some(ContextEntry { message, role: m.role, text, calls })
        };
        let messages = self.transcript.messages.iter().zip(calls).enumerate();
        self.entries = messages.filter_map(entry).collect();
        self.recount();
    }

    fn parts_of(&self, pair: &Pair<'_, '_>, level: usize) -> StateCall {
        let state = if pair.result.is_error { "error" } else { "ok" };
        let chars = pair.result.chars;
        let result = match self.options.with_excerpts {
            true => format!(
                "{state}, {chars} chars: {}",
                excerpt(&pair.result.text, EXCERPT_CHARS[level])
            ),
            false => format!("{state}, {chars} chars (omitted)"),
        };
        StateCall::Parts {
            id: format!("t{}", pair.number),
            tool: pair.call.tool.to_string(),
            // Once more as a whole: some values are credentials by their names.
            input: cap(&redact(&(self.render.input)(&hidden(pair.call))).0, INPUT_CHARS[level]),
            result,
        }
    }

    fn is_pinned(&self, entry: &ContextEntry) -> bool {
        let newest = self.transcript.messages.len().saturating_sub(self.options.recent_messages);
        entry.message == 0 || entry.message >= newest
    }

    /// Changes entries one by one, old ones first, until the state fits. Pinned ones come last or not at all.
    fn shrink(
        &mut self,
        with_pinned: bool,
        change: impl Fn(&Self, &ContextEntry) -> Option<ContextEntry>,
    ) {
        let pinned: Vec<bool> = self.entries.iter().map(|entry| self.is_pinned(entry)).collect();
        let old = (0..pinned.len()).filter(|&i| !pinned[i]);
        let recent = (0..pinned.len()).filter(|&i| pinned[i] && with_pinned);
        for index in old.chain(recent) {
            if self.fits() {
                return;
            }
            if let Some(entry) = change(self, &self.entries[index]) {
                let tokens = self.measure(&entry);
                self.total = self.total + tokens - self.tokens[index];
                self.tokens[index] = tokens;
                self.entries[index] = entry;
            }
        }
    }

    fn abridge_texts(&mut self) {
        self.shrink(true, |_, entry| {
            let text = abridged(&entry.text)?;
            Some(ContextEntry { text, ..entry.clone() })
        });
    }

    fn collapse_messages(&mut self) {
        self.shrink(false, |ladder, entry| {
            let original = char_count(&text_of(&ladder.transcript.messages[entry.message]));
            let text = format!("[… {original} chars omitted …]");
            (!entry.text.is_empty()).then(|| ContextEntry { text, ..entry.clone() })
        });
    }

    fn compact_calls(&mut self) {
        self.shrink(false, |ladder, entry| {
            let own = ladder.pairs.iter().filter(|pair| pair.call_at.message == entry.message);
            let calls: Vec<StateCall> = own.map(|pair| StateCall::Line(line_of(pair))).collect();
            (!calls.is_empty()).then(|| ContextEntry { calls, ..entry.clone() })
        });
    }

    fn leave_out_messages(&mut self) {
        let mut left_out = vec![false; self.entries.len()];
        for (index, is_out) in left_out.iter_mut().enumerate() {
            if self.fits() {
                break;
            }
            let entry = &self.entries[index];
            if !self.is_pinned(entry) && entry.calls.is_empty() {
                *is_out = true;
                self.total -= self.tokens[index];
            }
        }
        let mut stays = left_out.iter().map(|is_out| !is_out);
        self.entries.retain(|_| stays.next().unwrap_or(true));
        self.recount();
    }

    fn merge_calls(&mut self) {
        let mut merged: Vec<ContextEntry> = Vec::new();
        for entry in std::mem::take(&mut self.entries) {
            match merged.last_mut() {
                Some(last) if last.role == entry.role && self.folds(last) && self.folds(&entry) => {
                    last.calls.extend(entry.calls);
                }
                _ => merged.push(entry),
            }
        }
        self.entries = merged;
        self.recount();
    }

    /// An old entry that is nothing but calls of one line.
    fn folds(&self, entry: &ContextEntry) -> bool {
        let is_line = |call: &StateCall| matches!(call, StateCall::Line(_));
        !self.is_pinned(entry) && entry.text.is_empty() && entry.calls.first().is_some_and(is_line)
    }
}

/// The texts of a message, joined.
fn text_of(message: &Message<'_>) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The last prompts of the person.
fn goal(transcript: &Transcript<'_>) -> String {
    let is_prompt = |m: &&Message<'_>| {
        let is_person = m.role == Role::User && !m.is_meta && !is_results_only(m);
        is_person && !text_of(m).trim().is_empty()
    };
    let prompts = transcript.messages.iter().rev().filter(is_prompt).take(GOAL_PROMPTS);
    let mut texts: Vec<String> = prompts.map(|m| cap(&redact(&text_of(m)).0, GOAL_CHARS)).collect();
    texts.reverse();
    texts.join("\n")
}

/// The first `limit` characters, the last of them `…` where something is missing.
fn cap(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some(_) => text.chars().take(limit.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Start and end of a text; `None` when it is short.
fn abridged(text: &str) -> Option<String> {
    let chars = char_count(text);
    if chars <= TEXT_HEAD + TEXT_TAIL + TEXT_SLACK {
        return None;
    }
    let omitted = chars - TEXT_HEAD - TEXT_TAIL;
    let head: String = text.chars().take(TEXT_HEAD).collect();
    let tail: String = text.chars().skip(chars - TEXT_TAIL).collect();
    Some(format!("{head}\n[… {omitted} chars omitted …]\n{tail}"))
}

/// Two thirds from the start of a result, one third from its end, secrets aside: hidden before the cut, so that no half of one
/// is left.
fn excerpt(text: &str, limit: usize) -> String {
    let clean = redact(text).0;
    let chars = char_count(&clean);
    if chars <= limit {
        return clean.into_owned();
    }
    let tail = limit / 3;
    let start: String = clean.chars().take(limit - tail).collect();
    let end: String = clean.chars().skip(chars - tail).collect();
    format!("{start} … {end}")
}

/// A call without the secrets in its arguments: in their JSON form a line feed is two letters, and a quote is two signs.
fn hidden<'a>(call: &'a Call<'_>) -> Call<'a> {
    let arguments = call.arguments.iter().map(|argument| {
        let value = match &argument.value {
            ArgumentValue::Text(text) => ArgumentValue::Text(redact(text).0),
            other => other.clone(),
        };
        Argument { name: Cow::Borrowed(&argument.name), value }
    });
    let (id, tool) = (Cow::Borrowed(&*call.id), Cow::Borrowed(&*call.tool));
    let Call { json_chars, is_editable, .. } = *call;
    Call { id, tool, arguments: arguments.collect(), json_chars, is_editable }
}

/// `t12 Read file_path=src/a.ts → ok 480ch`
fn line_of(pair: &Pair<'_, '_>) -> String {
    let arguments = pair.call.arguments.iter().map(|argument| {
        let value = match &argument.value {
            ArgumentValue::Text(text) => {
                redact(text).0.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            ArgumentValue::Number(number) => number.to_string(),
            ArgumentValue::Other(json) => cap(&redact(json).0, VALUE_CHARS),
        };
        redact(&format!("{}={value}", argument.name)).0.into_owned()
    });
    let arguments = arguments.collect::<Vec<_>>().join(" ");
    let state = if pair.result.is_error { "error" } else { "ok" };
    let (number, tool) = (pair.number, &pair.call.tool);
    let chars = pair.result.chars;
    format!("t{number} {tool} {} → {state} {chars}ch", cap(&arguments, INPUT_CHARS[2]))
}
