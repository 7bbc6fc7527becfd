//! The function hook `session.compact` of Claude Code: its rows in, the rows of a smaller conversation out.
//!
//! Everything that goes wrong is a reason to let the host compact by itself. The rule for rows that keeps the pruning
//! after a resume: the person's rows are handed back as they are; the model's rows and the results are built anew,
//! each run of them as one message, because the engine restores whatever it finds under its own message ids.

use std::borrow::Cow;

use super::session_compact_wire::{
    BuiltRow, CompactRequest, HostResponse, HostRow, NewAnswer, NewRow, NewUse, RowKind, transcript,
};
use crate::compact::Compacted;
use crate::config::Environment;
use crate::core::compact::apply::{Change, Edit, applied};
use crate::core::compact::run::Stats;
use crate::core::compact::transcript::{Message, Part, Transcript};
use crate::transcript::wire;
use serde_json::value::RawValue;

/// The engine cuts a hook's output here, in bytes.
const MAX_ANSWER_BYTES: usize = 4 << 20;
/// Lines of the log are cut here, in characters, as the seed does: the engine cuts longer ones.
const MAX_LOG_CHARS: usize = 4096;

/// How the rest of the program compacts a transcript: with which policy, and into which archive, is the caller's affair.
pub type Compactor<'c> = &'c dyn Fn(&Transcript<'_>, Environment<'_>) -> Result<Compacted, String>;

/// Answers the shim: JSON for standard output. Never fails; a reason to fall back is an answer. O(bytes).
#[must_use]
pub fn answer(input: &[u8], environment: Environment<'_>, compact: Compactor<'_>) -> String {
    let response = match respond(input, environment, compact) {
        Ok(json) if json.len() > MAX_ANSWER_BYTES => fallback("answer over 4 MiB"),
        Ok(json) => json,
        Err(reason) => fallback(&reason),
    };
    response + "\n"
}

fn fallback(reason: &str) -> String {
    let toast = format!("fallback to built-in summary ({reason})");
    let response = HostResponse::Fallback { fallback: reason.to_owned(), toast, log: Vec::new() };
    // Plain strings always serialize.
    serde_json::to_string(&response).unwrap_or_default()
}

fn respond(
    input: &[u8],
    environment: Environment<'_>,
    compact: Compactor<'_>,
) -> Result<String, String> {
    let request: CompactRequest<'_> =
        serde_json::from_slice(input).map_err(|e| format!("cannot read the conversation: {e}"))?;
    if wire::is(request.trigger, "precompute") {
        return Err("pruned when it is needed".to_owned());
    }
    let with_options = |name: &str| option(&request, name).or_else(|| environment(name));
    let before = transcript(&request.messages);
    let compacted = compact(&before, &with_options)?;
    let after = applied(&before, &compacted.compaction.edits);
    let mut inputs: Vec<_> = request.messages.iter().map(HostRow::inputs).collect();
    for edit in &compacted.compaction.edits {
        change_input(&before, &mut inputs, edit);
    }
    let rows = rows(&request.messages, &after, &inputs);
    let stats = &compacted.compaction.stats;
    let response = HostResponse::Rows {
        toast: toast(rows.len(), request.messages.len(), stats, &compacted.model_note),
        rows,
        log: compacted.log.iter().flat_map(|line| log_lines(line)).collect(),
        tokens_before: stats.tokens_before,
        tokens_after: stats.tokens_after,
    };
    serde_json::to_string(&response).map_err(|e| format!("cannot write the answer: {e}"))
}

/// Puts new arguments of a call into its input.
fn change_input(before: &Transcript<'_>, inputs: &mut [Vec<Cow<'_, RawValue>>], edit: &Edit) {
    let Change::Arguments(values) = &edit.change else { return };
    let (row, parts) = (edit.at.message, &before.messages[edit.at.message].parts);
    // Calls come last in a row of the model.
    let index = (edit.at.part + inputs[row].len()).wrapping_sub(parts.len());
    if let Some(input) = inputs[row].get_mut(index)
        && let Some(changed) = wire::with_strings(input, values)
    {
        *input = Cow::Owned(changed);
    }
}

/// An option of the plugin, as the variable by which command hooks would get it.
fn option(request: &CompactRequest<'_>, variable: &str) -> Option<String> {
    let key = variable.strip_prefix("CLAUDE_PLUGIN_OPTION_")?.to_ascii_lowercase();
    match request.options.get(&key)? {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}

/// The rows of the compacted conversation. `after` has a message for each row.
fn rows<'a>(
    old: &[HostRow<'_>],
    after: &'a Transcript<'_>,
    inputs: &'a [Vec<Cow<'a, RawValue>>],
) -> Vec<NewRow<'a>> {
    let mut rows: Vec<(RowKind, NewRow<'a>)> = Vec::new();
    for (index, ((row, message), inputs)) in old.iter().zip(&after.messages).zip(inputs).enumerate()
    {
        let kind = row.kind();
        if kind == RowKind::Own {
            rows.push((kind, NewRow::Own(index)));
            continue;
        }
        let built = built(kind, message, inputs);
        match rows.last_mut() {
            Some((last, NewRow::Built(run))) if *last == kind => merge(run, built),
            _ => rows.push((kind, NewRow::Built(built))),
        }
    }
    let is_empty = |row: &NewRow<'_>| match row {
        NewRow::Own(_) => false,
        NewRow::Built(row) => {
            row.text.is_empty() && row.tool_uses.is_empty() && row.tool_results.is_empty()
        }
    };
    rows.into_iter().map(|(_, row)| row).filter(|row| !is_empty(row)).collect()
}

fn built<'a>(
    kind: RowKind,
    message: &'a Message<'_>,
    inputs: &'a [Cow<'a, RawValue>],
) -> BuiltRow<'a> {
    let role = if kind == RowKind::Assistant { "assistant" } else { "user" };
    let mut row = BuiltRow { role, ..BuiltRow::default() };
    // Calls come last in a row of the model, and one that went has left its note in its place.
    let before = message.parts.len().saturating_sub(inputs.len());
    for (index, part) in message.parts.iter().enumerate() {
        match part {
            Part::Text(text) => push_text(&mut row.text, text),
            Part::Call(call) => row.tool_uses.push(NewUse {
                tool_use_id: &call.id,
                tool: &call.tool,
                input: inputs.get(index.wrapping_sub(before)).map_or(RawValue::NULL, AsRef::as_ref),
            }),
            Part::Result(result) => row.tool_results.push(NewAnswer {
                tool_use_id: &result.id,
                text: &result.text,
                is_error: result.is_error,
            }),
            Part::Thinking | Part::Opaque => {}
        }
    }
    row
}

fn merge<'a>(run: &mut BuiltRow<'a>, row: BuiltRow<'a>) {
    push_text(&mut run.text, &row.text);
    run.tool_uses.extend(row.tool_uses);
    run.tool_results.extend(row.tool_results);
}

/// Texts of one message stand apart by a blank line.
fn push_text(text: &mut String, more: &str) {
    if !text.is_empty() && !more.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(more);
}

/// What the person sees.
fn toast(rows: usize, messages: usize, stats: &Stats, model_note: &str) -> String {
    format!(
        "kept {rows}/{messages} messages, no summary ({:.0}% reduction; {} kept, {} results truncated, \
         {} call_dropped, {} pinned{model_note})",
        stats.reduction() * 100.0,
        stats.kept - stats.pinned,
        stats.excerpts,
        stats.calls_dropped,
        stats.pinned,
    )
}

/// A long line in numbered pieces.
fn log_lines(line: &str) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    if chars.len() <= MAX_LOG_CHARS {
        return vec![line.to_owned()];
    }
    let pieces = chars.chunks(MAX_LOG_CHARS - 16);
    let count = pieces.len();
    let numbered = |(i, piece): (usize, &[char])| {
        format!("({}/{count}) {}", i + 1, piece.iter().collect::<String>())
    };
    pieces.enumerate().map(numbered).collect()
}
