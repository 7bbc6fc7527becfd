//! A whole compaction: policy, edits, validation, judgement. Input: a transcript and options. Output: what to change, or
//! why nothing is.

use std::fmt;

use super::apply::{Edit, applied, edits};
use super::pair::{Flaw, Pairing};
use super::plan::{Decision, Outcome, Plan, Reason};
use super::token_rate::chars_per_token;
use super::transcript::Transcript;
use super::validate::{Violation, validate};

/// A compaction that may be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Compaction {
    /// The edits, in the order of the transcript.
    pub edits: Vec<Edit>,
    /// What was decided, for tables and logs.
    pub plan: Plan,
    /// Sizes and counts.
    pub stats: Stats,
}

/// Sizes in characters, and counts of pairs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Before.
    pub chars_before: usize,
    /// After, notes included.
    pub chars_after: usize,
    /// Before, in tokens: an estimate, as is the next.
    pub tokens_before: usize,
    /// After, in tokens.
    pub tokens_after: usize,
    /// Messages.
    pub messages: usize,
    /// Pairs.
    pub calls: usize,
    /// Kept as they were, pinned ones included.
    pub kept: usize,
    /// Results of which lines went.
    pub excerpts: usize,
    /// Calls that went with their results.
    pub calls_dropped: usize,
    /// Kept because no policy may touch them.
    pub pinned: usize,
    /// Calls and results that did not pair, other than calls that are unanswered; left alone.
    pub irregular: usize,
}

impl Stats {
    /// Share of the characters that went, in [0, 1].
    #[must_use]
    pub fn reduction(&self) -> f64 {
        if self.chars_before == 0 {
            return 0.0;
        }
        self.chars_before.saturating_sub(self.chars_after) as f64 / self.chars_before as f64
    }
}

/// Why nothing is changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// Every result is pinned, short, or was cut before: no failure.
    NothingToPrune,
    /// Less would go than the person asked for at least. Shares in [0, 1].
    TooLittle {
        /// What would go.
        reduction: f64,
        /// What was asked for.
        minimum: f64,
    },
    /// A model was to decide and did not; why.
    Model(String),
    /// The result would not be a valid transcript; a defect of this program.
    Invalid(Violation),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NothingToPrune => f.write_str("nothing left to prune"),
            Refusal::TooLittle { reduction, minimum } => write!(
                f,
                "below {:.0}% minimum: {:.0}% would go",
                minimum * 100.0,
                reduction * 100.0
            ),
            Refusal::Model(reason) => f.write_str(reason),
            Refusal::Invalid(violation) => write!(f, "invalid result: {violation}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Applies a plan, validates it and judges it. O(bytes).
///
/// # Errors
/// Why nothing is changed.
pub fn finish(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    plan: Plan,
    archived: &[Option<String>],
    min_reduction: f64,
) -> Result<Compaction, Refusal> {
    let edits = edits(pairing, &plan, archived);
    if edits.is_empty() {
        return Err(Refusal::NothingToPrune);
    }
    let after = applied(transcript, &edits);
    validate(transcript, &after, &edits).map_err(Refusal::Invalid)?;
    let stats = stats(transcript, &after, pairing, &plan);
    if stats.reduction() < min_reduction {
        let reduction = stats.reduction();
        return Err(Refusal::TooLittle { reduction, minimum: min_reduction });
    }
    Ok(Compaction { edits, plan, stats })
}

fn stats(
    before: &Transcript<'_>,
    after: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    plan: &Plan,
) -> Stats {
    let count = |is: fn(&Decision) -> bool| plan.decisions.iter().filter(|d| is(d)).count();
    let (chars_before, chars_after) = (before.chars(), after.chars());
    let chars_per_token = chars_per_token(before);
    let tokens = |chars: usize| (chars as f64 / chars_per_token) as usize;
    Stats {
        chars_before,
        chars_after,
        tokens_before: tokens(chars_before),
        tokens_after: tokens(chars_after),
        messages: before.messages.len(),
        calls: plan.decisions.len(),
        kept: count(|d| d.outcome == Outcome::Keep),
        excerpts: count(|d| matches!(d.outcome, Outcome::Excerpt(_))),
        calls_dropped: count(|d| d.outcome == Outcome::DropCall),
        pinned: count(|d| matches!(d.reason, Reason::Recent | Reason::Protected | Reason::Opaque)),
        irregular: pairing.irregular.iter().filter(|i| i.flaw != Flaw::Unanswered).count(),
    }
}
