//! The policies that `bench` compares with: what other programs do with a transcript, as plans.

use super::local::select::{NoteCost, select};
use super::local::weights::LineWeights;
use super::notes::is_already_pruned;
use super::pair::Pairing;
use super::plan::{Decision, Kept, Outcome, Plan, Reason, head};
use super::rules::exact_rules;
use super::transcript::{Transcript, char_count};

/// Newest calls that the baselines do not touch.
const PIN: usize = 6;
/// Newest calls that the selector does not touch.
const SELECT_PIN: usize = 12;

/// Keeps the newest results, and of older ones the first `limit` characters.
#[must_use]
pub fn heads(pairing: &Pairing<'_, '_>, pin: usize, limit: usize) -> Plan {
    plan(pairing, pin, |text| {
        let is_long = limit == 0 || char_count(text) > limit + 120;
        is_long.then(|| Outcome::Excerpt(head(text, limit)))
    })
}

/// Drops every old call: what the seed does in practice.
#[must_use]
pub fn drop_old_calls(pairing: &Pairing<'_, '_>) -> Plan {
    plan(pairing, PIN, |_| Some(Outcome::DropCall))
}

/// The exact rules alone.
#[must_use]
pub fn rules_only(pairing: &Pairing<'_, '_>) -> Plan {
    let decided = exact_rules(&pairing.pairs, &fixed(pairing, PIN));
    Plan { decisions: decided.into_iter().map(or_keep).collect() }
}

/// The published selector, to `keep` of the size.
#[must_use]
pub fn reference(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>, keep: f64) -> Plan {
    let is_fixed = fixed(pairing, SELECT_PIN);
    let mut decided = exact_rules(&pairing.pairs, &is_fixed);
    for (decision, _) in decided.iter_mut().zip(&is_fixed).filter(|(_, is_fixed)| **is_fixed) {
        *decision = Some(Decision::keep(Reason::Recent));
    }
    let goal = (transcript.chars() as f64 * keep) as usize;
    let cost = NoteCost::RULER;
    let decided = select(transcript, pairing, &decided, &[], goal, &LineWeights::REFERENCE, cost);
    Plan { decisions: decided.into_iter().map(or_keep).collect() }
}

/// What the ruler says a plan leaves, in characters: it charges a fixed price for each result that is cut.
#[must_use]
pub fn charged_chars(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>, plan: &Plan) -> usize {
    let mut size = transcript.chars();
    for (pair, decision) in pairing.pairs.iter().zip(&plan.decisions) {
        let result = pair.result.chars;
        match &decision.outcome {
            Outcome::Keep => {}
            Outcome::Excerpt(kept) => {
                size -= result;
                size +=
                    NoteCost::RULER.head + kept.iter().map(|k: &Kept| k.chars + 1).sum::<usize>();
            }
            Outcome::DropCall => size -= result + pair.call.chars(),
        }
    }
    size
}

fn or_keep(decision: Option<Decision>) -> Decision {
    decision.unwrap_or_else(|| Decision::keep(Reason::Whole))
}

fn fixed(pairing: &Pairing<'_, '_>, pin: usize) -> Vec<bool> {
    let count = pairing.pairs.len();
    (0..count)
        .map(|i| i + pin >= count || is_already_pruned(&pairing.pairs[i].result.text))
        .collect()
}

fn plan(pairing: &Pairing<'_, '_>, pin: usize, outcome: impl Fn(&str) -> Option<Outcome>) -> Plan {
    let is_fixed = fixed(pairing, pin);
    let decide = |(pair, is_fixed): (&super::pair::Pair<'_, '_>, bool)| {
        let outcome = if is_fixed { None } else { outcome(&pair.result.text) };
        let outcome = outcome.unwrap_or(Outcome::Keep);
        Decision { outcome, ..Decision::keep(Reason::Whole) }
    };
    Plan { decisions: pairing.pairs.iter().zip(is_fixed).map(decide).collect() }
}
