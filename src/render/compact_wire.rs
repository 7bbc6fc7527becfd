//! The decisions of a compaction as JSON.

use serde::Serialize;

use super::compact::{by_call, outcome};
use crate::core::compact::pair::Pairing;
use crate::core::compact::plan::{Outcome, Plan};
use crate::core::compact::run::Stats;
use crate::core::compact::transcript::char_count;

#[derive(Serialize)]
struct CompactionReport<'r> {
    chars_before: usize,
    chars_after: usize,
    tokens_before: usize,
    tokens_after: usize,
    reduction: f64,
    messages: usize,
    pinned: usize,
    irregular: usize,
    calls: Vec<CallReport<'r>>,
}

#[derive(Serialize)]
struct CallReport<'r> {
    id: String,
    tool_use_id: &'r str,
    tool: &'r str,
    chars: usize,
    outcome: &'static str,
    reason: &'static str,
    /// Lines that stay, as [first, after the last); absent if all stay.
    #[serde(skip_serializing_if = "Option::is_none")]
    keep: Option<Vec<[usize; 2]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<f64>,
}

/// One object: sizes, then a row per call.
///
/// # Errors
/// None in practice: strings and finite numbers always have a JSON form.
pub fn json(pairing: &Pairing<'_, '_>, plan: &Plan, stats: &Stats) -> serde_json::Result<String> {
    let calls = by_call(pairing, plan).into_iter().map(|(pair, decision)| CallReport {
        id: format!("t{}", pair.number),
        tool_use_id: &pair.call.id,
        tool: &pair.call.tool,
        chars: char_count(&pair.result.text),
        outcome: outcome(decision),
        reason: decision.reason.name(),
        keep: kept(&decision.outcome),
        call: decision.scores.map(|scores| scores.call),
        result: decision.scores.map(|scores| scores.result),
    });
    let report = CompactionReport {
        chars_before: stats.chars_before,
        chars_after: stats.chars_after,
        tokens_before: stats.tokens_before,
        tokens_after: stats.tokens_after,
        reduction: stats.reduction(),
        messages: stats.messages,
        pinned: stats.pinned,
        irregular: stats.irregular,
        calls: calls.collect(),
    };
    Ok(serde_json::to_string(&report)? + "\n")
}

fn kept(outcome: &Outcome) -> Option<Vec<[usize; 2]>> {
    let Outcome::Excerpt(kept) = outcome else { return None };
    let runs = kept.chunk_by(|a, b| a.line + 1 == b.line);
    Some(runs.map(|run| [run[0].line, run[run.len() - 1].line + 1]).collect())
}
