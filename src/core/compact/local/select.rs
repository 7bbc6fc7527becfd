//! The line selector, "coverage and contiguity": the most valuable lines of old results, up to a budget.
//!
//! ArgumentValue of a line = prior × (worth + worth of the tokens that nothing kept so far holds) × contiguity / (length + overhead);
//! a gap that it opens counts as length, and a line that stands word for word in what is kept is worth a fraction. The lines
//! and tokens of texts, calls and untouched results count as kept from the start, so lines are spent on what nothing else
//! preserves. Values fall as tokens get kept: the heap is lazy, and a value is brought up to date when it reaches the top. It
//! rises only beside a line just kept, and then the line enters the heap again. Ties: transcript order.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::line_score::{self, Facts, LineScore};
use super::weights::LineWeights;
use crate::core::compact::notes;
use crate::core::compact::pair::{Pair, Pairing};
use crate::core::compact::plan::{Decision, Kept, Outcome, Reason};
use crate::core::compact::transcript::{
    Argument, ArgumentValue, Transcript, char_count, json_chars,
};

/// Shorter results are left alone, in characters: a note costs a third of them.
const MIN_RESULT: usize = 300;
/// With less left than this no line is tried any more, in characters.
const MIN_BUDGET: i64 = 150;
/// More kept lines close by than this add nothing.
const MAX_CLOSE: u8 = 2;
/// A value that rose by more than this is put back into its place.
const EPSILON: f64 = 1e-12;

/// What the notes of a cut result cost, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoteCost {
    /// The note at its head when nothing stays.
    pub head: usize,
    /// What it says besides when something does.
    pub excerpt: usize,
    /// A line that stands for a gap.
    pub gap: usize,
}

impl NoteCost {
    /// What the ruler charges a policy for each result it touches.
    pub const RULER: NoteCost = NoteCost { head: 60, excerpt: 0, gap: 0 };
}

/// Decides about every pair that is neither pinned nor cut by a rule, so that the transcript gets down to `goal`
/// characters. `fixed_decisions[i]` holds decisions that are already fixed, `stubs[i]` the arguments of a call that go. O(lines × log lines).
#[must_use]
pub fn select(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    fixed_decisions: &[Option<Decision>],
    stubs: &[Vec<usize>],
    goal: usize,
    weights: &LineWeights,
    cost: NoteCost,
) -> Vec<Option<Decision>> {
    let pairs = &pairing.pairs;
    let size = size_after(transcript, pairs, fixed_decisions, cost) - freed_by(pairs, stubs);
    if size <= goal {
        return fixed_decisions.to_vec();
    }
    let is_candidate: Vec<bool> = (0..pairs.len())
        .map(|i| fixed_decisions[i].is_none() && pairs[i].result.chars > MIN_RESULT)
        .collect();
    let is_cut: Vec<bool> =
        fixed_decisions.iter().map(|d| d.as_ref().is_some_and(Decision::is_change)).collect();
    let facts = line_score::read(transcript, pairing, &is_candidate, &is_cut, stubs);
    let of_candidates: usize = facts.candidates.iter().map(|c| pairs[c.pair].result.chars).sum();
    let notes = cost.head * facts.candidates.len();
    let budget = goal as i64 - (size - of_candidates) as i64 - notes as i64;
    let lines = line_score::of_lines(&facts, pairs, weights);
    let mut taken = Greedy::new(&facts, &lines, weights, cost).take(budget);
    fill_short_gaps(&facts, &lines, &mut taken, cost.gap);
    decisions(&facts, &lines, &taken, fixed_decisions, weights, cost)
}

/// Characters of the transcript once the decisions are applied.
fn size_after(
    transcript: &Transcript<'_>,
    pairs: &[Pair<'_, '_>],
    fixed_decisions: &[Option<Decision>],
    cost: NoteCost,
) -> usize {
    let mut size = transcript.chars();
    for (pair, decision) in pairs.iter().zip(fixed_decisions) {
        if let Some(Decision { outcome: Outcome::Excerpt(kept), .. }) = decision {
            size -= pair.result.chars;
            size += cost.head + cost.excerpt + kept.iter().map(|k| k.chars + 1).sum::<usize>();
        }
    }
    size
}

/// Characters that stubs free.
fn freed_by(pairs: &[Pair<'_, '_>], stubs: &[Vec<usize>]) -> usize {
    let of_argument = |pair: &Pair<'_, '_>, index: usize| match pair.call.arguments.get(index) {
        Some(Argument { value: ArgumentValue::Text(text), .. }) => {
            let note = notes::stub(char_count(text));
            json_chars(text).saturating_sub(json_chars(&note))
        }
        _ => 0,
    };
    let of_pair = |(pair, stubs): (&Pair<'_, '_>, &Vec<usize>)| {
        stubs.iter().map(|&index| of_argument(pair, index)).sum::<usize>()
    };
    pairs.iter().zip(stubs).map(of_pair).sum()
}

/// Turns the lines taken into decisions, parallel to the pairs.
fn decisions(
    facts: &Facts<'_>,
    lines: &[LineScore],
    taken: &[bool],
    fixed_decisions: &[Option<Decision>],
    weights: &LineWeights,
    cost: NoteCost,
) -> Vec<Option<Decision>> {
    let mut decisions = fixed_decisions.to_vec();
    for candidate in &facts.candidates {
        let range = candidate.range.clone();
        let kept: Vec<Kept> = range
            .clone()
            .filter(|&line| taken[line])
            .map(|line| Kept { line: line - range.start, chars: lines[line].chars })
            .collect();
        let omitted = range.clone().filter(|&line| !taken[line]).map(|line| lines[line].chars + 1);
        let excerpt = if kept.is_empty() { 0 } else { cost.excerpt };
        let notes = cost.head + excerpt + 1 + gaps(&taken[range.clone()]) * cost.gap;
        let is_whole = kept.len() as f64 >= range.len() as f64 * weights.whole_share;
        decisions[candidate.pair] = if is_whole || omitted.sum::<usize>() <= notes {
            Some(Decision::keep(Reason::Whole))
        } else {
            Some(Decision::excerpt(kept, Reason::Selected))
        };
    }
    decisions
}

/// How many gap lines a result gets; none when nothing of it stays.
fn gaps(taken: &[bool]) -> usize {
    let runs = taken.chunk_by(|a, b| a == b);
    if taken.contains(&true) { runs.filter(|run| !run[0]).count() } else { 0 }
}

/// Keeps the lines of gaps that are no longer than the line that would stand for them.
fn fill_short_gaps(facts: &Facts<'_>, lines: &[LineScore], taken: &mut [bool], gap: usize) {
    for candidate in &facts.candidates {
        let range = candidate.range.clone();
        if !taken[range.clone()].contains(&true) {
            continue;
        }
        let mut at = range.start;
        while at < range.end {
            let end = (at..range.end).find(|&line| taken[line] != taken[at]).unwrap_or(range.end);
            let chars: usize = lines[at..end].iter().map(|line| line.chars + 1).sum();
            if !taken[at] && chars <= gap {
                taken[at..end].fill(true);
            }
            at = end;
        }
    }
}

/// The state of the greedy choice.
struct Greedy<'s, 't> {
    facts: &'s Facts<'t>,
    lines: &'s [LineScore],
    weights: &'s LineWeights,
    token_worth: Vec<f64>,
    /// Factor for no, one and two kept lines close by.
    contiguity: [f64; MAX_CLOSE as usize + 1],
    is_covered: Vec<bool>,
    is_kept_line: Vec<bool>,
    kept_close: Vec<u8>,
    taken: Vec<bool>,
    /// By candidate: whether a line of it is kept.
    has_kept: Vec<bool>,
    heap: BinaryHeap<QueuedRun>,
    /// By line: its newest value in the heap, which has the line at this value or more.
    queued: Vec<f64>,
    cost: NoteCost,
}

/// A line and what it was worth when it was put into the heap.
#[derive(Debug, Clone, Copy, PartialEq)]
struct QueuedRun {
    value: f64,
    line: usize,
}

impl Eq for QueuedRun {}

impl Ord for QueuedRun {
    fn cmp(&self, other: &QueuedRun) -> Ordering {
        self.value.total_cmp(&other.value).then(other.line.cmp(&self.line))
    }
}

impl PartialOrd for QueuedRun {
    fn partial_cmp(&self, other: &QueuedRun) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<'s, 't> Greedy<'s, 't> {
    fn new(
        facts: &'s Facts<'t>,
        lines: &'s [LineScore],
        weights: &'s LineWeights,
        cost: NoteCost,
    ) -> Greedy<'s, 't> {
        let mut greedy = Greedy {
            facts,
            lines,
            weights,
            token_worth: line_score::of_tokens(facts, weights),
            contiguity: [1.0, weights.contiguity, weights.contiguity * weights.contiguity],
            is_covered: facts.is_covered.clone(),
            is_kept_line: facts.is_kept_line.clone(),
            kept_close: vec![0; lines.len()],
            taken: vec![false; lines.len()],
            has_kept: vec![false; facts.candidates.len()],
            heap: BinaryHeap::new(),
            queued: Vec::new(),
            cost,
        };
        let entries: Vec<QueuedRun> = (0..lines.len()).map(|line| greedy.entry(line)).collect();
        greedy.queued = entries.iter().map(|entry| entry.value).collect();
        greedy.heap = entries.into();
        greedy
    }

    fn entry(&self, line: usize) -> QueuedRun {
        QueuedRun { value: self.value(line), line }
    }

    fn value(&self, line: usize) -> f64 {
        let LineScore { prior, worth, id, .. } = self.lines[line];
        let repeated = if self.is_kept_line[id as usize] { self.weights.repeated } else { 1.0 };
        let is_new = |token: &&u32| !self.is_covered[**token as usize];
        let tokens = self.facts.lines.tokens_of(line).iter();
        let new = tokens.filter(is_new).take(self.weights.max_new_tokens);
        let new: f64 = new.map(|&token| self.token_worth[token as usize]).sum();
        let contiguity = self.contiguity[usize::from(self.kept_close[line].min(MAX_CLOSE))];
        let breaks = self.breaks(line) * self.weights.break_chars as i64;
        let length = self.lines[line].chars as i64 + 1 + breaks;
        let length = length.max(1) as f64 + self.weights.overhead_chars;
        contiguity * prior * (worth * repeated + new) / length
    }

    /// What keeping a line costs now, in characters: itself, the gap lines that come or go with it, and for the first of a
    /// result what the note says then.
    fn cost(&self, line: usize) -> i64 {
        let is_first = !self.has_kept[self.lines[line].candidate];
        let excerpt = if is_first { self.cost.excerpt } else { 0 };
        (self.lines[line].chars + 1 + excerpt) as i64 + self.breaks(line) * self.cost.gap as i64
    }

    /// How many more gaps there are once a line is kept.
    fn breaks(&self, line: usize) -> i64 {
        let range = self.facts.candidates[self.lines[line].candidate].range.clone();
        let is_edge = |side: Option<usize>| side.is_none_or(|side| self.taken[side]);
        let before = line.checked_sub(1).filter(|&before| before >= range.start);
        let after = Some(line + 1).filter(|&after| after < range.end);
        let sides = i64::from(!is_edge(before)) + i64::from(!is_edge(after));
        let is_first = !self.has_kept[self.lines[line].candidate];
        sides - i64::from(!is_first)
    }

    /// Takes lines until the budget is spent; for each line whether it was taken.
    fn take(mut self, budget: i64) -> Vec<bool> {
        let mut left = budget;
        while left > 0
            && let Some(QueuedRun { value, line }) = self.heap.pop()
        {
            if self.taken[line] {
                continue;
            }
            let now = self.entry(line);
            if now.value < value - EPSILON && self.heap.peek().is_some_and(|top| now < *top) {
                self.push(now);
                continue;
            }
            let cost = self.cost(line);
            if cost <= left {
                left -= cost;
                self.keep(line);
            } else if left < MIN_BUDGET {
                break;
            }
        }
        self.taken
    }

    fn push(&mut self, entry: QueuedRun) {
        self.queued[entry.line] = entry.value;
        self.heap.push(entry);
    }

    fn keep(&mut self, line: usize) {
        self.taken[line] = true;
        self.is_kept_line[self.lines[line].id as usize] = true;
        self.has_kept[self.lines[line].candidate] = true;
        let candidate = &self.facts.candidates[self.lines[line].candidate];
        for &token in self.facts.lines.tokens_of(line) {
            self.is_covered[token as usize] = true;
        }
        let range = candidate.range.clone();
        let close = self.weights.close_lines;
        for other in line.saturating_sub(close).max(range.start)..(line + close + 1).min(range.end)
        {
            if self.taken[other] {
                continue;
            }
            // A value rises with the first two kept lines close by, and when a gap line beside it is no longer needed.
            let rises = self.kept_close[other] < MAX_CLOSE || other.abs_diff(line) == 1;
            self.kept_close[other] = self.kept_close[other].saturating_add(1);
            if rises {
                let entry = self.entry(other);
                if entry.value > self.queued[other] {
                    self.push(entry);
                }
            }
        }
    }
}
