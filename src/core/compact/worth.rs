//! What each line of an old result is worth by itself: how lately it was seen, used or named, and what kind of line it is.
//!
//! Input: the transcript's events with their tokens. Output: for every line a prior and a worth, which `select` combines
//! with what depends on the lines already kept. No budget in here.

use std::collections::HashMap;

use super::lexicon::{Lexicon, Lines};
use super::line::{is_definition, names_failure};
use super::pair::{Pair, Pairing};
use super::plan::is_tool;
use super::token::Kind;
use super::transcript::{Part, Transcript, Value, char_count};
use super::weights::Weights;

/// A result whose lines compete for the budget.
#[derive(Debug)]
pub(super) struct Candidate<'t> {
    /// Index of the pair.
    pub(super) pair: usize,
    /// Index of its first line among the lines of all candidates.
    pub(super) first: usize,
    pub(super) lines: Lines<'t>,
}

impl Candidate<'_> {
    /// Its lines among the lines of all candidates.
    pub(super) fn range(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.lines.lines.len()
    }
}

/// A line of a candidate; all that does not depend on the lines kept so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct LineWorth {
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
    pub(super) candidates: Vec<Candidate<'t>>,
    /// By token: in how many lines of results it stands.
    frequency: Vec<u32>,
    /// By token: what it is.
    kinds: Vec<Kind>,
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
    let mut reader = Reader::new(pairing.pairs.len());
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
                    if let Value::Text(text) = &argument.value {
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

struct Reader<'t> {
    lexicon: Lexicon<'t>,
    facts: Facts<'t>,
    clock: usize,
    lines: usize,
}

impl<'t> Reader<'t> {
    fn new(pairs: usize) -> Reader<'t> {
        let facts = Facts {
            candidates: Vec::new(),
            frequency: Vec::new(),
            kinds: Vec::new(),
            last_written: Vec::new(),
            last_named: HashMap::new(),
            is_covered: Vec::new(),
            is_kept_line: Vec::new(),
            now: pairs,
        };
        Reader { lexicon: Lexicon::default(), facts, clock: 0, lines: 0 }
    }

    fn read(&mut self, text: &'t str, is_result: bool) -> Lines<'t> {
        let lines = self.lexicon.lines(text, is_result);
        self.facts.frequency.resize(self.lexicon.len(), 0);
        self.facts.last_written.resize(self.lexicon.len(), -1);
        self.facts.is_covered.resize(self.lexicon.len(), false);
        self.facts.is_kept_line.resize(self.lexicon.line_count(), false);
        lines
    }

    fn written(&mut self, text: &'t str, is_meta: bool, is_kept: bool) {
        let lines = self.read(text, false);
        // Lines of a stubbed argument count, too: what an edit replaced is no longer in the file.
        lines.ids.iter().for_each(|&line| self.facts.is_kept_line[line as usize] = true);
        for &token in &lines.tokens {
            self.facts.is_covered[token as usize] |= is_kept;
            if !is_meta {
                self.facts.last_written[token as usize] = self.clock as i64;
            }
        }
    }

    fn result(&mut self, text: &'t str, is_paired: bool, in_play: bool, candidate: Option<usize>) {
        let lines = self.read(text, true);
        if !in_play {
            lines.ids.iter().for_each(|&line| self.facts.is_kept_line[line as usize] = true);
        }
        for &token in &lines.tokens {
            self.facts.frequency[token as usize] += u32::from(is_paired);
            self.facts.is_covered[token as usize] |= !in_play;
        }
        if let Some(pair) = candidate {
            let first = self.lines;
            self.lines += lines.lines.len();
            self.facts.candidates.push(Candidate { pair, first, lines });
        }
    }
}

/// Tools whose results are files, or reports about them.
const FILES_AND_REPORTS: [&str; 4] = ["Read", "read", "Task", "Agent"];

/// What each token is worth while nothing kept holds it.
pub(super) fn of_tokens(facts: &Facts<'_>, weights: &Weights) -> Vec<f64> {
    let of_kind = |kind| match kind {
        Kind::Name => 1.0,
        Kind::Path => weights.path,
        Kind::Hash => weights.hash,
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
    weights: &Weights,
) -> Vec<LineWorth> {
    let mut worths = Vec::new();
    for (index, candidate) in facts.candidates.iter().enumerate() {
        let pair = &pairs[candidate.pair];
        let used = used(facts, candidate, weights);
        let is_command = is_tool(pair, &["Bash", "bash"]);
        let of_result = prior_of_result(facts, candidate.pair, pair, weights);
        let source = if is_tool(pair, &FILES_AND_REPORTS) { 1.0 } else { weights.other_tools };
        let mut offset = 0;
        for (i, line) in candidate.lines.lines.iter().enumerate() {
            let near =
                i.saturating_sub(weights.near_lines)..used.len().min(i + weights.near_lines + 1);
            let used_near = used[near].iter().fold(0.0_f64, |a, &b| a.max(b)) * weights.near;
            let mut worth = weights.base + used[i].max(used_near) * weights.used;
            worth += if is_definition(line) { weights.definition } else { 0.0 };
            worth += if is_command && names_failure(line) { weights.failure } else { 0.0 };
            let head = weights.head * (-(offset as f64) / weights.head_decay_chars).exp();
            let chars = char_count(line);
            let (prior, id) = ((of_result + head) * source, candidate.lines.ids[i]);
            worths.push(LineWorth { prior, worth, chars, candidate: index, id });
            offset += chars + 1;
        }
    }
    worths
}

/// How lately the result was seen and its file named.
fn prior_of_result(facts: &Facts<'_>, seen: usize, pair: &Pair<'_, '_>, weights: &Weights) -> f64 {
    let decay = |then: usize| (-((facts.now - then) as f64) / weights.recency_decay_calls).exp();
    let named = pair.call.path().and_then(|path| facts.last_named.get(path));
    let file = named.map_or(0.0, |&then| decay(then));
    weights.prior + weights.recency * decay(seen) + weights.file_recency * file
}

/// For each line, how lately one of its tokens was written after the line was seen; tokens of many lines say less.
fn used(facts: &Facts<'_>, candidate: &Candidate<'_>, weights: &Weights) -> Vec<f64> {
    let of_token = |&token: &u32| {
        let (written, frequency) =
            (facts.last_written[token as usize], facts.frequency[token as usize]);
        if written < candidate.pair as i64 || frequency > weights.used_max_lines {
            return 0.0;
        }
        let age = facts.now as f64 - written as f64;
        (-age / weights.used_decay_calls).exp() / (1.0 + (f64::from(frequency) + 1.0).ln() / 2.0)
    };
    let lines = &candidate.lines;
    let of_line = |i| lines.tokens_of(i).iter().map(of_token).fold(0.0, f64::max);
    (0..lines.lines.len()).map(of_line).collect()
}
