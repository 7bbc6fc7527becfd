//! What each line of an old result is worth by itself: how lately it was seen, used or named, and what kind of line it is.
//!
//! Input: the transcript's events with their tokens. Output: for every line a prior and a worth, which `select` combines
//! with what depends on the lines already kept. No budget in here.

use std::collections::HashMap;
use std::ops::Range;

use super::interner::{Interner, Lines};
use super::weights::LineWeights;
use crate::core::compact::line::{is_definition, names_failure};
use crate::core::compact::pair::{Pair, Pairing};
use crate::core::compact::plan::is_tool;
use crate::core::compact::token::TokenKind;
use crate::core::compact::transcript::{ArgumentValue, Part, Transcript, char_count};

/// A result whose lines compete for the budget.
#[derive(Debug)]
pub(super) struct CandidateResult {
    /// Index of the pair.
    pub(super) pair: usize,
    /// Its lines among the lines of all candidates.
    pub(super) range: Range<usize>,
}

/// A line of a candidate; all that does not depend on the lines kept so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineScore {
    /// Factor of the whole value.
    pub(super) prior: f64,
    /// Added to the number of new tokens.
    pub(super) worth: f64,
    /// Characters, without the line feed.
    pub(super) chars: usize,
    /// Index of the candidate.
    pub(super) candidate: usize,
    /// Number of its text.
    pub(super) id: u32,
}

/// The transcript as token numbers. Times count answered calls.
#[derive(Debug)]
pub(super) struct Facts<'t> {
    pub(super) candidates: Vec<CandidateResult>,
    /// The lines of all candidates.
    pub(super) lines: Lines<'t>,
    /// By token: in how many lines of results it stands.
    frequency: Vec<u32>,
    /// By token: what it is.
    kinds: Vec<TokenKind>,
    /// By token: when it was last written by the person or the model; -1 for never.
    last_written: Vec<i64>,
    /// By path: when a call last named it.
    last_named: HashMap<&'t str, usize>,
    /// By token: held by a part that is not in play, so that it need not be kept once more.
    pub(super) is_covered: Vec<bool>,
    /// By line: stands in a part that is not in play, or was replaced by an edit.
    pub(super) is_kept_line: Vec<bool>,
    /// How many results there are.
    now: usize,
}

/// Reads a transcript. `is_candidate` and `is_cut` say for each pair whether its lines compete, and whether a
/// rule has already cut its result. O(bytes).
pub(super) fn read<'t>(
    transcript: &'t Transcript<'_>,
    pairing: &'t Pairing<'t, '_>,
    is_candidate: &[bool],
    is_cut: &[bool],
    stubs: &[Vec<usize>],
) -> Facts<'t> {
    let mut reader = FactsReader::new(pairing.pairs.len(), transcript.chars());
    let by_place: HashMap<_, _> =
        pairing.pairs.iter().enumerate().map(|(i, pair)| (pair.result_at, i)).collect();
    let stubs_at: HashMap<_, _> =
        pairing.pairs.iter().zip(stubs).map(|(pair, stubs)| (pair.call_at, stubs)).collect();
    for (place, message, part) in transcript.parts() {
        match part {
            Part::Text(text) => reader.written(text, message.is_meta, true),
            Part::Call(call) => {
                if let Some(path) = call.path() {
                    reader.facts.last_named.insert(path, reader.clock);
                }
                let stubs = stubs_at.get(&place).map_or(&[][..], |stubs| stubs.as_slice());
                for (index, argument) in call.arguments.iter().enumerate() {
                    if let ArgumentValue::Text(text) = &argument.value {
                        reader.written(text, message.is_meta, !stubs.contains(&index));
                    }
                }
            }
            Part::Result(result) => {
                let pair = by_place.get(&place).copied();
                reader.clock = pair.unwrap_or(reader.clock);
                let in_play = pair.is_some_and(|i| is_candidate[i] || is_cut[i]);
                let candidate = pair.filter(|&i| is_candidate[i]);
                reader.result(&result.text, pair.is_some(), in_play, candidate);
            }
            Part::Thinking | Part::Opaque => {}
        }
    }
    reader.facts.kinds = reader.lexicon.kinds;
    reader.facts
}

struct FactsReader<'t> {
    lexicon: Interner<'t>,
    facts: Facts<'t>,
    clock: usize,
}

impl<'t> FactsReader<'t> {
    fn new(pairs: usize, chars: usize) -> FactsReader<'t> {
        let facts = Facts {
            candidates: Vec::new(),
            lines: Lines::default(),
            frequency: Vec::new(),
            kinds: Vec::new(),
            last_written: Vec::new(),
            last_named: HashMap::new(),
            is_covered: Vec::new(),
            is_kept_line: Vec::new(),
            now: pairs,
        };
        FactsReader { lexicon: Interner::of(chars), facts, clock: 0 }
    }

    fn read(&mut self, text: &'t str, is_result: bool) -> Range<usize> {
        let range = self.lexicon.read(text, is_result, &mut self.facts.lines);
        self.facts.frequency.resize(self.lexicon.len(), 0);
        self.facts.last_written.resize(self.lexicon.len(), -1);
        self.facts.is_covered.resize(self.lexicon.len(), false);
        self.facts.is_kept_line.resize(self.lexicon.line_count(), false);
        range
    }

    fn written(&mut self, text: &'t str, is_meta: bool, is_kept: bool) {
        let range = self.read(text, false);
        let facts = &mut self.facts;
        // Lines of a stubbed argument count, too: what an edit replaced is no longer in the file.
        facts.lines.ids[range.clone()]
            .iter()
            .for_each(|&id| facts.is_kept_line[id as usize] = true);
        for &token in facts.lines.tokens_from(range.start) {
            facts.is_covered[token as usize] |= is_kept;
            if !is_meta {
                facts.last_written[token as usize] = self.clock as i64;
            }
        }
        facts.lines.truncate(range.start);
    }

    fn result(&mut self, text: &'t str, is_paired: bool, in_play: bool, candidate: Option<usize>) {
        let range = self.read(text, true);
        let facts = &mut self.facts;
        if !in_play {
            let ids = &facts.lines.ids[range.clone()];
            ids.iter().for_each(|&id| facts.is_kept_line[id as usize] = true);
        }
        for &token in facts.lines.tokens_from(range.start) {
            facts.frequency[token as usize] += u32::from(is_paired);
            facts.is_covered[token as usize] |= !in_play;
        }
        match candidate {
            Some(pair) => facts.candidates.push(CandidateResult { pair, range }),
            None => facts.lines.truncate(range.start),
        }
    }
}

/// Tools whose results are files, or reports about them.
const FILES_AND_REPORTS: [&str; 4] = ["Read", "read", "Task", "Agent"];

/// What each token is worth while nothing kept holds it.
pub(super) fn of_tokens(facts: &Facts<'_>, weights: &LineWeights) -> Vec<f64> {
    let of_kind = |kind| match kind {
        TokenKind::Name => 1.0,
        TokenKind::Path => weights.path,
        TokenKind::Hash => weights.hash,
    };
    let tokens = facts.kinds.iter().zip(&facts.frequency);
    let worth = |(&kind, &lines)| {
        of_kind(kind) * (1.0 + weights.frequent * f64::from(u32::max(lines, 1)).ln())
    };
    tokens.map(worth).collect()
}

/// Prior and worth of every line of every candidate, in order. O(lines × radius).
pub(super) fn of_lines(
    facts: &Facts<'_>,
    pairs: &[Pair<'_, '_>],
    weights: &LineWeights,
) -> Vec<LineScore> {
    let mut worths = Vec::with_capacity(facts.lines.len());
    let used_tokens = used_tokens(facts, weights);
    for (index, candidate) in facts.candidates.iter().enumerate() {
        let pair = &pairs[candidate.pair];
        let used = used_near(&used_lines(facts, &used_tokens, candidate), weights);
        let is_command = is_tool(pair, &["Bash", "bash"]);
        let of_result = prior_of_result(facts, candidate.pair, pair, weights);
        let source = if is_tool(pair, &FILES_AND_REPORTS) { 1.0 } else { weights.other_tools };
        let mut offset = 0;
        for (i, line) in candidate.range.clone().enumerate() {
            let text = facts.lines.texts[line];
            let mut worth = weights.base + used[i] * weights.used;
            if weights.definition > 0.0 && is_definition(text) {
                worth += weights.definition;
            }
            if is_command && names_failure(text) {
                worth += weights.failure;
            }
            let head = weights.head * (-(offset as f64) / weights.head_decay_chars).exp();
            let chars = char_count(text);
            let (prior, id) = ((of_result + head) * source, facts.lines.ids[line]);
            worths.push(LineScore { prior, worth, chars, candidate: index, id });
            offset += chars + 1;
        }
    }
    worths
}

/// How lately the result was seen and its file named.
fn prior_of_result(
    facts: &Facts<'_>,
    seen: usize,
    pair: &Pair<'_, '_>,
    weights: &LineWeights,
) -> f64 {
    let decay = |then: usize| (-((facts.now - then) as f64) / weights.recency_decay_calls).exp();
    let named = pair.call.path().and_then(|path| facts.last_named.get(path));
    let file = named.map_or(0.0, |&then| decay(then));
    weights.prior + weights.recency * decay(seen) + weights.file_recency * file
}

/// For each token, how lately it was written; tokens of many lines say less.
fn used_tokens(facts: &Facts<'_>, weights: &LineWeights) -> Vec<f64> {
    let of_token = |(&written, &frequency): (&i64, &u32)| {
        if written < 0 || frequency > weights.used_max_lines {
            return 0.0;
        }
        let age = facts.now as f64 - written as f64;
        (-age / weights.used_decay_calls).exp() / (1.0 + (f64::from(frequency) + 1.0).ln() / 2.0)
    };
    facts.last_written.iter().zip(&facts.frequency).map(of_token).collect()
}

/// For each line of a candidate, how lately one of its tokens was written after the line was seen.
fn used_lines(facts: &Facts<'_>, used_tokens: &[f64], candidate: &CandidateResult) -> Vec<f64> {
    let is_after = |token: usize| facts.last_written[token] >= candidate.pair as i64;
    let of_token = |&token: &u32| match is_after(token as usize) {
        true => used_tokens[token as usize],
        false => 0.0,
    };
    let of_line = |line| facts.lines.tokens_of(line).iter().map(of_token).fold(0.0, f64::max);
    candidate.range.clone().map(of_line).collect()
}

/// For each line, how lately it was used, or a share of how lately one near by was. Few lines were: each tells those around it.
fn used_near(used: &[f64], weights: &LineWeights) -> Vec<f64> {
    let mut best = used.to_vec();
    for (i, &used) in used.iter().enumerate().filter(|(_, used)| **used > 0.0) {
        let end = best.len().min(i + weights.near_lines + 1);
        for near in &mut best[i.saturating_sub(weights.near_lines)..end] {
            *near = near.max(used * weights.near);
        }
    }
    best
}
