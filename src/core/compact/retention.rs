//! The ruler: how much of what an agent went on to write is still there after compaction. No model.
//!
//! A conversation is cut at a share of its answered calls into a prefix, which is compacted, and a future. What the agent
//! writes in the future is *needed* if the prefix holds it and nothing in the future showed it first. The ruler
//! counts needed identifiers, lines of edits and runs of eight words, before and after.

use std::collections::HashSet;

use super::line::without_number;
use super::pair::{Pairing, pair};
use super::plan::{Kept, Outcome, Plan};
use super::token::{each_token, is_word};
use super::transcript::{Call, Message, Part, Transcript};
use crate::core::text::hash::hash;

/// Conversations with fewer answered calls are not cut.
pub const MIN_CALLS: usize = 40;
/// The future ends after so many results.
const HORIZON: usize = 60;
/// Words in a quote.
const QUOTE_WORDS: usize = 8;
/// Shorter lines of an edit are no evidence, in characters.
const MIN_EDIT_LINE: usize = 12;

/// What the agent's future needs of a prefix, or what of it is left.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Needs<'t> {
    /// Distinctive tokens that only results hold.
    pub identifiers: HashSet<&'t str>,
    /// Distinctive tokens, wherever they are held.
    pub all_identifiers: HashSet<&'t str>,
    /// Lines of the text that an Edit replaces.
    pub edit_lines: HashSet<&'t str>,
    /// Runs of eight words that only results hold, hashed.
    pub quotes: HashSet<u64>,
}

/// A prefix and what follows it.
#[derive(Debug)]
pub struct Cut<'t> {
    /// What is compacted.
    pub prefix: Transcript<'t>,
    /// What the agent went on to do.
    pub future: Transcript<'t>,
}

/// The conversation cut at each share of its answered calls; nothing if it is too short. O(shares × parts).
#[must_use]
pub fn cuts<'t>(transcript: &'t Transcript<'_>, shares: &[f64]) -> Vec<Cut<'t>> {
    let answered = answered_ends(transcript);
    if answered.len() < MIN_CALLS {
        return Vec::new();
    }
    let ends = shares
        .iter()
        .filter_map(|share| answered.get((answered.len() as f64 * share) as usize).copied());
    ends.map(|end| Cut { prefix: slice(transcript, 0, end), future: future(transcript, end) })
        .collect()
}

/// For each result that a call in the conversation has: the index after it, counting parts.
fn answered_ends(transcript: &Transcript<'_>) -> Vec<usize> {
    let calls: HashSet<&str> = transcript
        .parts()
        .filter_map(|(_, _, part)| match part {
            Part::Call(call) => Some(call.id.as_ref()),
            _ => None,
        })
        .collect();
    let parts = transcript.parts().enumerate();
    let is_answer = |part: &Part<'_>| match part {
        Part::Result(result) => calls.contains(result.id.as_ref()),
        _ => false,
    };
    parts.filter(|(_, (_, _, part))| is_answer(part)).map(|(i, _)| i + 1).collect()
}

fn future<'t>(transcript: &'t Transcript<'_>, start: usize) -> Transcript<'t> {
    let results = transcript.parts().enumerate().skip(start);
    let mut results = results.filter(|(_, (_, _, part))| matches!(part, Part::Result(_)));
    let end = results.nth(HORIZON - 1).map_or(usize::MAX, |(i, _)| i + 1);
    slice(transcript, start, end)
}

/// The parts from `start` to before `end`, borrowed.
fn slice<'t>(transcript: &'t Transcript<'_>, start: usize, end: usize) -> Transcript<'t> {
    let mut messages: Vec<Message<'t>> = Vec::new();
    let mut last = usize::MAX;
    for (place, message, part) in transcript.parts().take(end).skip(start) {
        if place.message != last {
            last = place.message;
            let (role, is_meta) = (message.role, message.is_meta);
            messages.push(Message { role, is_meta, context_tokens: None, parts: Vec::new() });
        }
        if let Some(message) = messages.last_mut() {
            message.parts.push(part.borrowed());
        }
    }
    Transcript { messages }
}

/// What the future needs of the prefix. O(bytes).
#[must_use]
pub fn needs<'t>(prefix: &'t Transcript<'_>, future: &'t Transcript<'_>) -> Needs<'t> {
    let held = Held::of(prefix);
    let mut needs = Needs::default();
    let mut fresh = Held::default();
    for (_, message, part) in future.parts() {
        match part {
            Part::Result(result) => fresh.add_result(&result.text),
            Part::Text(text) if message.role == super::transcript::Role::User => {
                fresh.add_text(text);
                fresh.quotes.extend(quotes(text.split('\n')));
            }
            Part::Text(text) => wanted(&[text], &held, &fresh, &mut needs),
            Part::Call(call) => {
                wanted(&call.texts().collect::<Vec<_>>(), &held, &fresh, &mut needs);
                edit_lines(call, &held, &fresh, &mut needs);
            }
            Part::Thinking | Part::Opaque => {}
        }
    }
    needs.identifiers =
        needs.all_identifiers.iter().copied().filter(|t| !held.in_texts.contains(t)).collect();
    needs
}

/// What the agent writes that the prefix holds and the future has not shown yet.
fn wanted<'t>(texts: &[&'t str], held: &Held<'t>, fresh: &Held<'t>, needs: &mut Needs<'t>) {
    let lines = || texts.iter().flat_map(|text| text.split('\n'));
    for line in lines() {
        each_token(line, |token| {
            let is_held = held.in_texts.contains(token) || held.in_results.contains(token);
            let is_fresh = fresh.in_texts.contains(token) || fresh.in_results.contains(token);
            if is_held && !is_fresh {
                needs.all_identifiers.insert(token);
            }
        });
    }
    let is_needed =
        |q: &u64| held.quotes.contains(q) && !held.said.contains(q) && !fresh.quotes.contains(q);
    needs.quotes.extend(quotes(lines()).filter(is_needed));
}

fn edit_lines<'t>(call: &'t Call<'_>, held: &Held<'t>, fresh: &Held<'t>, needs: &mut Needs<'t>) {
    if !matches!(call.tool.as_ref(), "Edit" | "MultiEdit") {
        return;
    }
    let lines = call.text("old_string").unwrap_or_default().split('\n').map(bare);
    let is_needed = |line: &&str| held.lines.contains(line) && !fresh.lines.contains(line);
    let is_long = |line: &&str| line.chars().count() >= MIN_EDIT_LINE;
    needs.edit_lines.extend(lines.filter(is_needed).filter(is_long));
}

fn bare(line: &str) -> &str {
    without_number(line).trim()
}

/// What a transcript holds.
#[derive(Debug, Default)]
struct Held<'t> {
    in_texts: HashSet<&'t str>,
    in_results: HashSet<&'t str>,
    /// Lines of calls and results.
    lines: HashSet<&'t str>,
    /// Runs of words of results.
    quotes: HashSet<u64>,
    /// Runs of words of texts and calls.
    said: HashSet<u64>,
}

impl<'t> Held<'t> {
    fn of(transcript: &'t Transcript<'_>) -> Held<'t> {
        let mut held = Held::default();
        for (_, _, part) in transcript.parts() {
            match part {
                Part::Text(text) => {
                    held.add_text(text);
                    held.said.extend(quotes(text.split('\n')));
                }
                Part::Call(call) => held.add_call(call),
                Part::Result(result) => held.add_result(&result.text),
                Part::Thinking | Part::Opaque => {}
            }
        }
        held
    }

    fn add_text(&mut self, text: &'t str) {
        each_token(text, |token| {
            self.in_texts.insert(token);
        });
    }

    fn add_call(&mut self, call: &'t Call<'_>) {
        call.texts().for_each(|text| self.add_text(text));
        self.lines.extend(call.texts().flat_map(|text| text.split('\n')).map(bare));
        self.said.extend(quotes(call.texts().flat_map(|text| text.split('\n'))));
    }

    fn add_result(&mut self, text: &'t str) {
        for line in text.split('\n').map(without_number) {
            each_token(line, |token| {
                self.in_results.insert(token);
            });
        }
        self.lines.extend(text.split('\n').map(bare));
        self.quotes.extend(quotes(text.split('\n').map(without_number)));
    }
}

/// Every run of eight words of these lines, hashed.
fn quotes<'t>(lines: impl Iterator<Item = &'t str>) -> impl Iterator<Item = u64> {
    let mut words: Vec<u64> = Vec::new();
    for line in lines {
        each_word(line, |word| words.push(hash(word)));
    }
    let runs = words.len().saturating_sub(QUOTE_WORDS - 1);
    (0..runs).map(move |start| hash(&words[start..start + QUOTE_WORDS]))
}

/// Words, and each other character that is no white space.
fn each_word<'t>(line: &'t str, mut found: impl FnMut(&'t str)) {
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match is_word(first) {
            true => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        found(&rest[..end]);
        rest = rest[end..].trim_start();
    }
}

/// The needs that the prefix still holds under a plan; `after` is the prefix with the plan applied. O(bytes).
#[must_use]
pub fn kept<'t>(
    needs: &Needs<'t>,
    prefix: &Transcript<'_>,
    after: &Transcript<'_>,
    plan: &Plan,
) -> Needs<'t> {
    let mut kept = Survivors { needs, kept: Needs::default() };
    let pairing = pair(prefix);
    for (_, _, part) in after.parts() {
        match part {
            Part::Text(text) => kept.tokens(text),
            Part::Call(call) => {
                for line in call.texts().flat_map(|text| text.split('\n')) {
                    kept.tokens(line);
                    kept.line(bare(line));
                }
            }
            Part::Result(_) | Part::Thinking | Part::Opaque => {}
        }
    }
    kept.results(prefix, &pairing, plan);
    kept.kept
}

struct Survivors<'n, 't> {
    needs: &'n Needs<'t>,
    kept: Needs<'t>,
}

impl Survivors<'_, '_> {
    fn tokens(&mut self, text: &str) {
        each_token(text, |token| {
            self.kept.identifiers.extend(self.needs.identifiers.get(token));
            self.kept.all_identifiers.extend(self.needs.all_identifiers.get(token));
        });
    }

    fn line(&mut self, line: &str) {
        self.kept.edit_lines.extend(self.needs.edit_lines.get(line));
    }

    fn results(&mut self, prefix: &Transcript<'_>, pairing: &Pairing<'_, '_>, plan: &Plan) {
        let mut paired = pairing.pairs.iter().zip(&plan.decisions).peekable();
        for (place, _, part) in prefix.parts() {
            let Part::Result(result) = part else { continue };
            let lines: Vec<&str> = result.text.split('\n').collect();
            let decision = paired.next_if(|(pair, _)| pair.result_at == place);
            match decision.map(|(_, decision)| &decision.outcome) {
                None | Some(Outcome::Keep) => self.run(&lines),
                Some(Outcome::DropCall) => {}
                Some(Outcome::Excerpt(kept)) => {
                    kept.chunk_by(|a, b| a.line + 1 == b.line)
                        .for_each(|run| self.cut(&lines, run));
                }
            }
        }
    }

    /// A run of adjacent lines that survived, the last of them perhaps in part.
    fn cut(&mut self, lines: &[&str], run: &[Kept]) {
        let text = |k: &Kept| match lines[k.line].char_indices().nth(k.chars) {
            Some((end, _)) => &lines[k.line][..end],
            None => lines[k.line],
        };
        self.run(&run.iter().map(text).collect::<Vec<_>>());
    }

    fn run(&mut self, lines: &[&str]) {
        for line in lines {
            self.tokens(without_number(line));
            self.line(bare(line));
        }
        let found = quotes(lines.iter().map(|line| without_number(line)));
        self.kept.quotes.extend(found.filter(|quote| self.needs.quotes.contains(quote)));
    }
}

/// Sums over cuts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// How many cuts.
    pub cuts: usize,
    /// What went and what there was, in characters; then kept and needed identifiers, all identifiers, edit lines,
    /// quotes.
    sums: [(usize, usize); 5],
    /// Cuts without a lost identifier or edit line.
    without_loss: usize,
}

impl Score {
    /// Adds a cut. Sizes in characters.
    pub fn add(&mut self, needs: &Needs<'_>, kept: &Needs<'_>, before: usize, after: usize) {
        let added = [
            (before.saturating_sub(after), before),
            (kept.identifiers.len(), needs.identifiers.len()),
            (kept.all_identifiers.len(), needs.all_identifiers.len()),
            (kept.edit_lines.len(), needs.edit_lines.len()),
            (kept.quotes.len(), needs.quotes.len()),
        ];
        for (sum, added) in self.sums.iter_mut().zip(added) {
            *sum = (sum.0 + added.0, sum.1 + added.1);
        }
        let is_lossless = added[1].0 == added[1].1 && added[3].0 == added[3].1;
        self.without_loss += usize::from(is_lossless);
        self.cuts += 1;
    }

    /// Reduction, identifiers, all identifiers, edit lines, quotes, cuts without loss; shares in [0, 1].
    #[must_use]
    pub fn shares(&self) -> [f64; 6] {
        let share = |(part, whole): (usize, usize)| {
            if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
        };
        let [size, identifiers, all, lines, quotes] = self.sums.map(share);
        [size, identifiers, all, lines, quotes, share((self.without_loss, self.cuts))]
    }
}

/// The scores at a reduction, on the line between the two points around it. Points by rising reduction.
#[must_use]
pub fn interpolated(points: &[[f64; 6]], reduction: f64) -> Option<[f64; 6]> {
    let around = points.windows(2).find(|w| w[0][0] <= reduction && reduction < w[1][0])?;
    let share = (reduction - around[0][0]) / (around[1][0] - around[0][0]);
    Some(std::array::from_fn(|i| around[0][i] + share * (around[1][i] - around[0][i])))
}
