//! The exact rules: results that a later result makes worthless. They need no budget and no model, and free 3.5 % of a
//! real session on average. Input: pairs and which of them are pinned. Output: decisions, the first rule that fits wins.

use std::collections::{HashMap, HashSet};

use super::pair::Pair;
use super::plan::{Decision, Reason, head, is_tool};
use super::transcript::{ArgumentValue, Call};
use crate::core::text::hash::FxSet;
use crate::core::text::lines::lines;

/// Results shorter than these are not worth a note; in characters. Chosen on the development split of the transcripts.
const MIN_DUPLICATE: usize = 200;
const MIN_COMMAND: usize = 400;
const MIN_EDIT_NOTICE: usize = 200;
const MIN_TASK_NOTICE: usize = 160;
const MIN_ERROR: usize = 200;
/// What stays of a notice and of an error that was retried, in characters.
const EDIT_HEAD: usize = 120;
const TASK_HEAD: usize = 80;
const ERROR_HEAD: usize = 200;
/// An error counts as retried when the tool succeeds on the same file within so many results.
const RETRY_WINDOW: usize = 5;
/// A read without a limit reads to the end of the file.
const UNLIMITED: f64 = 1e9;

const EDITS: [&str; 4] = ["Edit", "Write", "MultiEdit", "NotebookEdit"];
const TASKS: [&str; 4] = ["TodoWrite", "TaskUpdate", "TaskCreate", "TaskList"];

/// Decisions of the exact rules; `None` where none applies. `is_fixed[i]`: the pair is not to be touched.
/// O(results × reads of the same file).
#[must_use]
pub fn exact_rules(pairs: &[Pair<'_, '_>], is_fixed: &[bool]) -> Vec<Option<Decision>> {
    let mut found: Vec<Option<Decision>> = vec![None; pairs.len()];
    let mut touch = |i: usize, reason: Reason, limit: usize| {
        if !is_fixed[i] && found[i].is_none() {
            found[i] = Some(Decision::excerpt(head(&pairs[i].result.text, limit), reason));
        }
    };
    superseded_reads(pairs, &mut touch);
    repeated(pairs, &mut touch);
    retried_errors(pairs, &mut touch);
    found
}

/// A later read of the same file covers the lines.
fn superseded_reads(pairs: &[Pair<'_, '_>], touch: &mut impl FnMut(usize, Reason, usize)) {
    let mut later: HashMap<Option<&str>, Vec<(f64, f64)>> = HashMap::new();
    for (i, pair) in pairs.iter().enumerate().rev() {
        let result = pair.result;
        if !is_tool(pair, &["Read", "read"]) || result.is_error || result.text.starts_with('<') {
            continue;
        }
        let (first, asked_end) = lines_read(pair.call);
        let end = asked_end.min(first + lines(&result.text).count() as f64);
        let reads = later.entry(pair.call.path()).or_default();
        if reads.iter().any(|&(start, stop)| start <= first.max(1.0) && end <= stop) {
            touch(i, Reason::Superseded, 0);
        }
        reads.push((first, asked_end));
    }
}

/// The first line and the line after the last that a read asks for.
fn lines_read(call: &Call<'_>) -> (f64, f64) {
    let number = |name| match call.argument(name) {
        Some(ArgumentValue::Number(number)) => *number,
        _ => 0.0,
    };
    let (first, limit) = (number("offset"), number("limit"));
    (first, first + if limit == 0.0 { UNLIMITED } else { limit })
}

/// The same text, command or search comes again later; and notices.
fn repeated(pairs: &[Pair<'_, '_>], touch: &mut impl FnMut(usize, Reason, usize)) {
    // Every byte of every result goes through this hash.
    let mut texts: FxSet<&str> = FxSet::default();
    let mut requests = HashSet::new();
    for (i, pair) in pairs.iter().enumerate().rev() {
        let text: &str = &pair.result.text;
        let chars = pair.result.chars;
        let is_repeated = !texts.insert(text);
        if chars > MIN_DUPLICATE && is_repeated {
            touch(i, Reason::Duplicate, 0);
        }
        if let Some(request) = request(pair) {
            let is_command = is_tool(pair, &["Bash", "bash"]);
            let is_repeated = !requests.insert(request);
            if is_repeated && (chars > MIN_COMMAND || !is_command) {
                touch(i, Reason::RunAgain, 0);
            }
        }
        if is_tool(pair, &EDITS) && !pair.result.is_error && chars > MIN_EDIT_NOTICE {
            touch(i, Reason::Notice, EDIT_HEAD);
        } else if is_tool(pair, &TASKS) && chars > MIN_TASK_NOTICE {
            touch(i, Reason::Notice, TASK_HEAD);
        }
    }
}

/// What a command or a search asks for, in a form that is equal when the request is.
fn request(pair: &Pair<'_, '_>) -> Option<String> {
    if is_tool(pair, &["Bash", "bash"]) {
        let command = pair.call.text("command").unwrap_or_default();
        return Some(normal_command(command));
    }
    if !is_tool(pair, &["Grep", "Glob", "LS"]) {
        return None;
    }
    let mut arguments: Vec<String> =
        pair.call.arguments.iter().map(|a| format!("{}={:?}", a.name, a.value)).collect();
    arguments.sort_unstable();
    Some(arguments.join("\n"))
}

/// The command with single spaces, a leading `cd … &&` aside.
fn normal_command(command: &str) -> String {
    let body = command.strip_prefix("cd ").and_then(|rest| {
        let end = rest.find(['&', ';'])?;
        let folder = rest[..end].strip_suffix(' ').filter(|folder| !folder.is_empty())?;
        rest[folder.len()..].strip_prefix(" && ")
    });
    body.unwrap_or(command).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An error; the tool soon succeeds on the same file.
fn retried_errors(pairs: &[Pair<'_, '_>], touch: &mut impl FnMut(usize, Reason, usize)) {
    for (i, pair) in pairs.iter().enumerate() {
        if !pair.result.is_error || pair.result.chars <= MIN_ERROR {
            continue;
        }
        let next = &pairs[i + 1..pairs.len().min(i + 1 + RETRY_WINDOW)];
        let is_same =
            |p: &&Pair<'_, '_>| p.call.tool == pair.call.tool && p.call.path() == pair.call.path();
        if next.iter().filter(is_same).any(|p| !p.result.is_error) {
            touch(i, Reason::Retried, ERROR_HEAD);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_compared_without_their_folder() {
        for (command, normal) in [
            ("cd /a/b && cargo   test", "cargo test"),
            ("cd /a; ls", "cd /a; ls"),
            ("cd  && ls", "cd && ls"),
            ("ls", "ls"),
        ] {
            assert_eq!(normal_command(command), normal);
        }
    }
}
