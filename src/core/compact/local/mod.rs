//! The policy that needs no model: pins, exact rules, then the line selector down to a target size.

mod interner;
mod line_score;
pub mod select;
pub mod weights;

use self::select::{NoteCost, select};
use self::weights::LineWeights;
use super::elide_arguments::stubs;
use super::notes::{self, original_chars};
use super::pair::{Pair, Pairing};
use super::pin::{PinOptions, pinned};
use super::plan::{Decision, Plan, Reason, is_tool};
use super::rules::exact_rules;
use super::transcript::{ArgumentValue, Part, Transcript, char_count};

/// What the policy `local` may be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LocalOptions {
    /// What is never touched.
    pub pin: PinOptions,
    /// Share of the original size to remove, in [0, 1).
    pub target: f64,
    /// How lines are weighed.
    pub weights: LineWeights,
}

impl LocalOptions {
    /// Half of the size goes; the newest 6 messages stay, and of the newest 12 calls as many as fit.
    pub const DEFAULT: LocalOptions = LocalOptions {
        pin: PinOptions { recent_messages: 6, recent_calls: 12, protect: true },
        target: 0.5,
        weights: LineWeights::DEFAULT,
    };
}

/// The newest calls stay whole as long as they take no more than this share of what may stay of all results. With all twelve
/// whole a short transcript has nothing left for what came before: 2 points of identifiers at 48 % on the dev split.
const NEWEST_SHARE: f64 = 0.5;
/// So many of the newest calls stay whole whatever they take: the seed's six messages hold three or four.
const ALWAYS_WHOLE: usize = 4;
/// Longer reports of subagents compete line by line, in characters. Whole, they cost 2 points of edit lines and 6 of quotes
/// on the dev split, and 8 points of identifiers in the sister projects.
const MAX_WHOLE_REPORT: usize = 2000;

/// Length of a note with sizes of five digits and an id, of what it says of an excerpt, and of a gap line of two digits with
/// its line feed, in characters.
pub const NOTE_COST: NoteCost = NoteCost { head: 72, excerpt: 33, gap: 13 };

/// The plan of the policy `local`. O(bytes + lines × log lines).
#[must_use]
pub fn local(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    options: &LocalOptions,
) -> Plan {
    let pairs = &pairing.pairs;
    let goal = (original_size(transcript) as f64 * (1.0 - options.target)) as usize;
    let recent_calls = fitting(pairs, options.pin.recent_calls, 1.0 - options.target);
    let mut decided =
        fixed_decisions(transcript, pairing, PinOptions { recent_calls, ..options.pin });
    release_long_reports(pairs, &mut decided);
    let stubs = match transcript.chars() > goal {
        true => stubs_of(pairing, &decided),
        false => vec![Vec::new(); decided.len()],
    };
    let decided = select(transcript, pairing, &decided, &stubs, goal, &options.weights, NOTE_COST);
    let decision = |(decided, stubs): (Option<Decision>, Vec<usize>)| {
        let decided = decided.unwrap_or_else(|| Decision::keep(Reason::Whole));
        Decision { stubs, ..decided }
    };
    Plan { decisions: decided.into_iter().zip(stubs).map(decision).collect() }
}

/// How many of the newest calls, `most` at most, stay whole when `keep` of all results may stay. Counted in original sizes, so
/// that compacting twice is compacting once.
fn fitting(pairs: &[Pair<'_, '_>], most: usize, keep: f64) -> usize {
    let size =
        |pair: &Pair<'_, '_>| original_chars(&pair.result.text).unwrap_or(pair.result.chars) as f64;
    let room = pairs.iter().map(size).sum::<f64>() * keep * NEWEST_SHARE;
    let totals = pairs.iter().rev().take(most).map(size).scan(0.0, |total, size| {
        *total += size;
        Some(*total)
    });
    totals.take_while(|&total| total <= room).count().max(most.min(ALWAYS_WHOLE))
}

/// Lets the lines of long reports of subagents compete.
fn release_long_reports(pairs: &[Pair<'_, '_>], decided: &mut [Option<Decision>]) {
    for (pair, decision) in pairs.iter().zip(decided) {
        let is_protected = decision.as_ref().is_some_and(|d| d.reason == Reason::Protected);
        let is_report = is_tool(pair, &["Task", "Agent"]);
        if is_protected && is_report && pair.result.chars > MAX_WHOLE_REPORT {
            *decision = None;
        }
    }
}

/// The arguments that go: not those of pinned calls.
fn stubs_of(pairing: &Pairing<'_, '_>, decided: &[Option<Decision>]) -> Vec<Vec<usize>> {
    let is_fixed = decided.iter().map(|decision| {
        decision.as_ref().is_some_and(|d| matches!(d.reason, Reason::Recent | Reason::Protected))
    });
    stubs(&pairing.pairs, &is_fixed.collect::<Vec<_>>())
}

/// What pins and exact rules settle, the same for every policy.
#[must_use]
pub fn fixed_decisions(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    pin: PinOptions,
) -> Vec<Option<Decision>> {
    let pins = pinned(transcript, pairing, pin);
    let is_fixed: Vec<bool> = pins.iter().map(Option::is_some).collect();
    let rules = exact_rules(&pairing.pairs, &is_fixed);
    pins.into_iter().zip(rules).map(|(pin, rule)| pin.map(Decision::keep).or(rule)).collect()
}

/// What pins settle.
#[must_use]
pub fn pinned_only(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    pin: PinOptions,
) -> Vec<Option<Decision>> {
    let pins = pinned(transcript, pairing, pin);
    pins.into_iter().map(|pin| pin.map(Decision::keep)).collect()
}

/// Characters that the transcript would have if nothing had ever been cut: a target is a share of these, so that
/// compacting twice is compacting once.
#[must_use]
pub fn original_size(transcript: &Transcript<'_>) -> usize {
    let cut = transcript.parts().filter_map(|(_, _, part)| match part {
        Part::Result(result) => Some((&result.text, original_chars(&result.text)?)),
        Part::Text(text) => Some((text, notes::dropped_chars(text)?)),
        _ => None,
    });
    let stubbed = transcript.parts().filter_map(|(_, _, part)| match part {
        Part::Call(call) => Some(call.arguments.iter()),
        _ => None,
    });
    let stubbed = stubbed.flatten().filter_map(|argument| match &argument.value {
        ArgumentValue::Text(text) => Some((text, original_chars(text)?)),
        _ => None,
    });
    cut.chain(stubbed).fold(transcript.chars(), |size, (text, original)| {
        size.saturating_add(original).saturating_sub(char_count(text))
    })
}
