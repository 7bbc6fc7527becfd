//! What a summary of a conversation loses: the files being edited, the check that fails, what the person insists on.
//!
//! Input: a transcript. Output: texts for the host, where its own compaction runs. Nothing is reworded.

use std::fmt::Write as _;

use super::line::names_failure;
use super::pair::{Pair, is_results_only, pair};
use super::plan::{is_tool, reports_failure};
use super::transcript::{Message, Part, Role, Transcript};
use crate::core::text::redact::holds_credential;

/// Files named at most.
const FILES: usize = 12;
/// Lines of errors named at most.
const ERRORS: usize = 5;
/// Lines of the person named at most.
const CONSTRAINTS: usize = 8;
/// Longer lines are left out, in characters: they are data, not statements.
const MAX_LINE: usize = 300;
/// Longest reminder, in characters: a compacted conversation must stay small.
const MAX_REMINDER: usize = 1_500;
/// Words by which people state what must hold, in lower case.
const INSISTENCE: [&str; 10] = [
    "must",
    "never",
    "always",
    "don't",
    "do not",
    "only",
    "make sure",
    "without",
    "keep",
    "not allowed",
];

/// What is worth carrying over a summary; texts of the transcript.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Brief {
    /// Files edited, the newest first.
    pub edited: Vec<String>,
    /// The command that failed last and was not run with success since, and lines of its output.
    pub failing: Option<(String, Vec<String>)>,
    /// Lines in which the person insists on something, oldest first.
    pub constraints: Vec<String>,
}

/// Reads it off a transcript. O(bytes).
#[must_use]
pub fn brief(transcript: &Transcript<'_>) -> Brief {
    let pairing = pair(transcript);
    let mut edited: Vec<String> = Vec::new();
    for pair in pairing.pairs.iter().rev() {
        let is_edit = is_tool(pair, &["Edit", "Write", "MultiEdit", "NotebookEdit"]);
        if let Some(path) = pair.call.path().filter(|_| is_edit && !pair.result.is_error)
            && !edited.iter().any(|known| known == path)
            && edited.len() < FILES
        {
            edited.push(path.to_owned());
        }
    }
    Brief { edited, failing: failing(&pairing.pairs), constraints: constraints(transcript) }
}

/// The newest failure of a command that has not succeeded since.
fn failing(pairs: &[Pair<'_, '_>]) -> Option<(String, Vec<String>)> {
    let is_command = |pair: &&Pair<'_, '_>| is_tool(pair, &["Bash", "bash"]);
    let last = pairs.iter().rev().filter(is_command).find_map(|pair| {
        let command = pair.call.text("command")?;
        let newest = pairs.iter().rev().find(|p| p.call.text("command") == Some(command))?;
        (reports_failure(newest) && newest.call_at == pair.call_at).then_some((command, pair))
    });
    let (command, pair) = last?;
    let lines = pair.result.text.lines().map(str::trim).filter(|line| is_statement(line));
    let errors = lines.filter(|line| names_failure(line)).take(ERRORS).map(str::to_owned);
    is_statement(command).then(|| (command.to_owned(), errors.collect()))
}

fn constraints(transcript: &Transcript<'_>) -> Vec<String> {
    let is_person = |m: &&Message<'_>| m.role == Role::User && !m.is_meta && !is_results_only(m);
    let texts = transcript.messages.iter().filter(is_person).flat_map(|m| &m.parts);
    let lines = texts.filter_map(|part| match part {
        // What the host writes in the person's name starts with a tag.
        Part::Text(text) if !text.starts_with('<') => Some(text.lines()),
        _ => None,
    });
    let insists = |line: &&str| {
        let lower = line.to_lowercase();
        INSISTENCE.iter().any(|word| lower.contains(word))
    };
    let lines = lines.flatten().map(str::trim).filter(|line| is_statement(line)).filter(insists);
    let lines: Vec<&str> = lines.collect();
    let newest = lines.len().saturating_sub(CONSTRAINTS);
    lines[newest..].iter().map(|line| (*line).to_owned()).collect()
}

fn is_statement(line: &str) -> bool {
    !line.is_empty() && line.chars().count() <= MAX_LINE && !holds_credential(line)
}

impl Brief {
    /// Instructions for the host's summarizer; `None` when there is nothing to insist on.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        let text = self.text()?;
        Some(format!("Keep these verbatim in the summary, word for word:\n{text}"))
    }

    /// A reminder for after the summary, at most 1,500 characters; `None` when there is nothing to say.
    #[must_use]
    pub fn reminder(&self) -> Option<String> {
        let text = self.text()?;
        let mut reminder =
            String::from("From before the summary (read files again before editing them):\n");
        for line in text.lines() {
            if reminder.chars().count() + line.chars().count() >= MAX_REMINDER {
                break;
            }
            reminder.push_str(line);
            reminder.push('\n');
        }
        Some(reminder)
    }

    fn text(&self) -> Option<String> {
        let mut text = String::new();
        if !self.edited.is_empty() {
            let _ = writeln!(text, "Files being edited: {}", self.edited.join(", "));
        }
        if let Some((command, errors)) = &self.failing {
            let _ = writeln!(text, "Check that still fails: {command}");
            errors.iter().for_each(|error| _ = writeln!(text, "  {error}"));
        }
        for constraint in &self.constraints {
            let _ = writeln!(text, "The person said: {constraint}");
        }
        (!text.is_empty()).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::compact::testing::{assistant, call_with, result, text, user};

    #[test]
    fn files_failing_checks_and_constraints() {
        let messages = vec![
            user(vec![text("Fix it.\nYou must not change the API.")]),
            assistant(vec![call_with("a", "Edit", &[("file_path", "src/a.rs")])]),
            user(vec![result("a", "ok")]),
            assistant(vec![call_with("b", "Bash", &[("command", "cargo test")])]),
            user(vec![result("b", "running\nerror: expected `;`")]),
            assistant(vec![call_with("c", "Bash", &[("command", "ls")])]),
            user(vec![result("c", "a b")]),
        ];
        let brief = brief(&Transcript { messages });
        assert_eq!(brief.edited, ["src/a.rs"]);
        let error = vec!["error: expected `;`".to_owned()];
        assert_eq!(brief.failing, Some(("cargo test".to_owned(), error)));
        assert_eq!(brief.constraints, ["You must not change the API."]);
        assert!(brief.instructions().unwrap().contains("src/a.rs"));
        assert!(brief.reminder().unwrap().chars().count() <= MAX_REMINDER);
        assert_eq!(Brief::default().reminder(), None);
    }
}
