//! A compaction in words: the table of a dry run, the decisions for a log, the summary line for the
//! user.

use std::fmt::Write as _;
use std::time::Duration;

use crate::core::compact::pair::{Pair, Pairing};
use crate::core::compact::plan::{Decision, Outcome, Plan, Scores};
use crate::core::compact::retention::Score;
use crate::core::compact::run::Stats;
use crate::core::compact::transcript::char_count;

/// Longest tool name in a table, in characters.
const TOOL_WIDTH: usize = 18;

/// The word for the outcome of a pair, as in the reference implementation's log.
pub(super) fn outcome(decision: &Decision) -> &'static str {
    match (&decision.outcome, decision.scores) {
        (Outcome::Keep, _) => "keep",
        (Outcome::Excerpt(_), None) => "excerpt",
        (Outcome::Excerpt(_), Some(_)) => "drop_result",
        (Outcome::DropCall, _) => "drop_call",
    }
}

/// Pairs with their decisions, in the order of their calls.
pub(super) fn by_call<'p, 't, 'a>(
    pairing: &'p Pairing<'t, 'a>,
    plan: &'p Plan,
) -> Vec<(&'p Pair<'t, 'a>, &'p Decision)> {
    let mut rows: Vec<_> = pairing.pairs.iter().zip(&plan.decisions).collect();
    rows.sort_unstable_by_key(|(pair, _)| pair.number);
    rows
}

/// `decisions: t3:Read:excerpt/selected t4:Bash:drop_call/call=0.31/result=0.12 …`; pairs that are
/// kept whole are left out.
#[must_use]
pub fn decisions(pairing: &Pairing<'_, '_>, plan: &Plan) -> String {
    let mut line = String::from("decisions:");
    for (pair, decision) in by_call(pairing, plan) {
        if !decision.is_change() && decision.scores.is_none() {
            continue;
        }
        let _ = write!(line, " t{}:{}:{}", pair.number, pair.call.tool, outcome(decision));
        let _ = match decision.scores {
            Some(Scores { call, result }) => write!(line, "/call={call:.2}/result={result:.2}"),
            None => write!(line, "/{}", decision.reason.name().replace(' ', "-")),
        };
    }
    line
}

/// The table of a dry run: a line for each call, then the sizes.
#[must_use]
pub fn table(pairing: &Pairing<'_, '_>, plan: &Plan, stats: &Stats) -> String {
    let mut text = format!(
        "{:<6} {:<TOOL_WIDTH$} {:>9} {:<12} {:<11} {:>9} {:>6} {:>6}\n",
        "id", "tool", "chars", "outcome", "reason", "kept", "call", "result"
    );
    for (pair, decision) in by_call(pairing, plan) {
        let chars = char_count(&pair.result.text);
        let kept = match &decision.outcome {
            Outcome::Keep => chars,
            Outcome::Excerpt(kept) => kept.iter().map(|k| k.chars).sum(),
            Outcome::DropCall => 0,
        };
        let tool: String = pair.call.tool.chars().take(TOOL_WIDTH).collect();
        let score = |of: fn(Scores) -> f64| {
            decision.scores.map_or_else(|| "-".to_owned(), |scores| format!("{:.2}", of(scores)))
        };
        let _ = writeln!(
            text,
            "{:<6} {tool:<TOOL_WIDTH$} {chars:>9} {:<12} {:<11} {kept:>9} {:>6} {:>6}",
            format!("t{}", pair.number),
            match outcome(decision) {
                "excerpt" if kept == 0 => "cut",
                word => word,
            },
            decision.reason.name(),
            score(|s| s.call),
            score(|s| s.result),
        );
    }
    text + &summary(stats)
}

/// Sizes and counts in one line.
#[must_use]
pub fn summary(stats: &Stats) -> String {
    format!(
        "{} -> {} chars, ~{} -> ~{} tokens ({:.0}% smaller); {} calls: {} kept ({} pinned), {} excerpts, {} dropped; {} irregular\n",
        stats.chars_before,
        stats.chars_after,
        stats.tokens_before,
        stats.tokens_after,
        stats.reduction() * 100.0,
        stats.calls,
        stats.kept,
        stats.pinned,
        stats.excerpts,
        stats.calls_dropped,
        stats.irregular,
    )
}

/// The measured shares in per cent; see `Score::shares`.
const RULER_HEAD: &str = "    red%  ident% all-id% editln% quote8% noloss%";

fn shares(shares: [f64; 6]) -> String {
    shares.iter().map(|share| format!("{:>8.1}", share * 100.0)).collect()
}

/// Policies compared at the same reduction; `None` where a policy does not reach it.
#[must_use]
pub fn equal_reduction_table<'r>(
    rows: impl Iterator<Item = (&'r str, f64, Option<[f64; 6]>)>,
) -> String {
    let mut text = format!("\n{:<18}{RULER_HEAD}\n", "interpolated");
    for (name, reduction, score) in rows {
        let cells = score.map_or_else(|| format!("{:>8.1} not reached", reduction * 100.0), shares);
        let _ = writeln!(text, "{name:<18}{cells}");
    }
    text
}

/// The table of retention: a line for each policy with its scores and the time it took for all
/// cuts.
#[must_use]
pub fn ruler_table<'r>(rows: impl Iterator<Item = (&'r str, &'r Score, Duration)>) -> String {
    let mut text = format!("{:<18}{RULER_HEAD}{:>8}\n", "policy", "ms");
    let mut cuts = 0;
    for (name, score, time) in rows {
        let _ = write!(text, "{name:<18}{}", shares(score.shares()));
        let _ = writeln!(text, "{:>8.1}", time.as_secs_f64() * 1000.0 / score.cuts as f64);
        cuts = score.cuts;
    }
    let _ = writeln!(text, "{cuts} cuts");
    text
}
