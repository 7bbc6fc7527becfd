//! From a model's answers to decisions: the seed's thresholds, or a ranking that a budget cuts.

use super::ask::may_drop;
use crate::core::compact::local::NOTE_COST;
use crate::core::compact::pair::Pairing;
use crate::core::compact::plan::{Decision, Outcome, Plan, Reason, Scores, head};
use crate::core::compact::transcript::{ToolResult, Transcript};

/// A result no longer than its head and this stays whole: the seed's slack.
const HEAD_SLACK: usize = 120;

/// The seed's rule: a result scored at or above the threshold stays; else a call at or above it keeps the head of its
/// result; else both go. Fixed decisions stay.
#[must_use]
pub fn by_threshold(
    pairing: &Pairing<'_, '_>,
    fixed_decisions: Vec<Option<Decision>>,
    scores: &[Option<Scores>],
    threshold: f64,
    head_chars: usize,
) -> Plan {
    let decide = |(i, fixed): (usize, Option<Decision>)| {
        let Some(answer) = scores[i].filter(|_| fixed.is_none()) else {
            return fixed.unwrap_or_else(|| Decision::keep(Reason::Whole));
        };
        let outcome = match answer {
            Scores { result, .. } if result >= threshold => Outcome::Keep,
            Scores { call, .. } if call >= threshold => cut(pairing.pairs[i].result, head_chars),
            _ => Outcome::DropCall,
        };
        Decision { outcome, scores: scores[i], ..Decision::keep(Reason::Scored) }
    };
    Plan { decisions: fixed_decisions.into_iter().enumerate().map(decide).collect() }
}

/// The head of a result, unless hardly more than that would go.
fn cut(result: &ToolResult<'_>, head_chars: usize) -> Outcome {
    if result.chars <= head_chars + HEAD_SLACK {
        return Outcome::Keep;
    }
    Outcome::Excerpt(head(&result.text, head_chars))
}

/// What the ranking may be told. Scores in [0, 1], sizes in characters.
#[derive(Debug, Clone, Copy)]
pub struct RankOptions {
    /// The size to get down to.
    pub goal: usize,
    /// The size that will do: from here on a result scored at or above its threshold stays.
    pub enough: usize,
    /// Results scored below go first, and go even when the size would do.
    pub result_threshold: f64,
    /// Calls scored below may go with their results.
    pub call_threshold: f64,
    /// What stays of a result.
    pub head_chars: usize,
}

/// The model's ranking cut by a budget: the results with the lowest scores go first, until the goal is reached. An absolute
/// threshold alone deletes everything on real conversations, whose scores all lie far below one half. `None`: no scored
/// result reached its threshold, so that the model said nothing.
#[must_use]
pub fn by_rank(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    fixed_decisions: Vec<Option<Decision>>,
    scores: &[Option<Scores>],
    options: RankOptions,
) -> Option<Plan> {
    let is_kept = |scores: &Scores| scores.result >= options.result_threshold;
    if scores.iter().flatten().count() > 0 && !scores.iter().flatten().any(is_kept) {
        return None;
    }
    let mut size = transcript.chars();
    let mut decisions: Vec<Decision> = Vec::with_capacity(fixed_decisions.len());
    for (i, decision) in fixed_decisions.into_iter().enumerate() {
        let decision = decision
            .unwrap_or_else(|| Decision { scores: scores[i], ..Decision::keep(Reason::Scored) });
        size -= freed(pairing.pairs[i].result, &decision.outcome).min(size);
        decisions.push(decision);
    }
    let mut order: Vec<(Scores, usize)> =
        scores.iter().enumerate().filter_map(|(i, s)| Some(((*s)?, i))).collect();
    order.sort_unstable_by(|(a, i), (b, j)| a.result.total_cmp(&b.result).then(i.cmp(j)));
    for (answer, i) in order {
        if size <= options.goal || (size <= options.enough && is_kept(&answer)) {
            break;
        }
        let pair = &pairing.pairs[i];
        let outcome = match answer.call < options.call_threshold && may_drop(pair) {
            true => Outcome::DropCall,
            false => cut(pair.result, options.head_chars),
        };
        size -= freed(pair.result, &outcome).min(size);
        decisions[i].outcome = outcome;
    }
    Some(Plan { decisions })
}

/// Characters of a result that go, less the note that stays.
fn freed(result: &ToolResult<'_>, outcome: &Outcome) -> usize {
    let chars = match outcome {
        Outcome::Keep => return 0,
        Outcome::Excerpt(kept) => {
            result.chars.saturating_sub(kept.iter().map(|k| k.chars + 1).sum::<usize>())
        }
        Outcome::DropCall => result.chars,
    };
    chars.saturating_sub(NOTE_COST.head + NOTE_COST.excerpt)
}
