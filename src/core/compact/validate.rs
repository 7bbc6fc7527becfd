//! The last check before an answer leaves: a compacted transcript must be one that the model's API accepts, and one in
//! which nothing was reworded. A violation means that nothing is changed at all.

use std::fmt;

use super::apply::{Change, Edit};
use super::notes;
use super::pair::pair;
use super::transcript::{Part, Place, Transcript};
use crate::core::text::lines::lines;

/// A broken invariant; which message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// What is broken.
    pub rule: &'static str,
    /// The message it is broken in.
    pub message: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in message {}", self.rule, self.message)
    }
}

impl std::error::Error for Violation {}

/// Holds the edited transcript against the original. O(bytes).
///
/// # Errors
/// The first broken invariant: pairs stay pairs, texts stay, results only lose lines, nothing grows.
pub fn validate(
    before: &Transcript<'_>,
    after: &Transcript<'_>,
    edits: &[Edit],
) -> Result<(), Violation> {
    for edit in edits {
        let part = before.messages.get(edit.at.message).and_then(|m| m.parts.get(edit.at.part));
        check_edit(edit, part)?;
    }
    let (old, new) = (pair(before), pair(after));
    let dropped = edits.iter().filter(|edit| matches!(edit.change, Change::Note(_))).count();
    if old.pairs.len() != new.pairs.len() + dropped || old.irregular.len() != new.irregular.len() {
        return Err(violation("a call lost its result", Place { message: 0, part: 0 }));
    }
    if after.chars() > before.chars() {
        return Err(violation("the transcript grew", Place { message: 0, part: 0 }));
    }
    Ok(())
}

fn check_edit(edit: &Edit, part: Option<&Part<'_>>) -> Result<(), Violation> {
    match (&edit.change, part) {
        (Change::Text(new), Some(Part::Result(old))) => {
            let is_allowed = !old.is_opaque && !notes::is_already_pruned(&old.text);
            if !is_allowed {
                return Err(violation("a result that must stay was cut", edit.at));
            }
            if new.is_empty() || !is_subsequence(&old.text, new) {
                return Err(violation("a result was reworded", edit.at));
            }
            Ok(())
        }
        (Change::Drop, Some(Part::Result(_) | Part::Thinking)) => Ok(()),
        (Change::Note(_) | Change::Arguments(_), Some(Part::Call(_))) => Ok(()),
        _ => Err(violation("a text was touched", edit.at)),
    }
}

fn violation(rule: &'static str, at: Place) -> Violation {
    Violation { rule, message: at.message }
}

/// How often a line may be read both as one of the original and as a gap line before we give up; a transcript about this
/// program has a few such lines.
const MAX_DOUBTS: usize = 16;

/// Whether a cut result is its note, lines of the original in order, and gap lines that count what is missing
/// between them. The last kept line may be the start of one.
fn is_subsequence(old: &str, new: &str) -> bool {
    let old: Vec<&str> = lines(old).collect();
    let new: Vec<&str> = lines(new).skip(1).collect();
    matches(&old, &new, MAX_DOUBTS)
}

fn matches(mut old: &[&str], mut new: &[&str], doubts: usize) -> bool {
    while let [line, rest @ ..] = new {
        let omitted = notes::gap_lines(line).filter(|&n| n > 0 && n <= old.len());
        let is_kept = old.first() == Some(line);
        match omitted {
            Some(n) if is_kept => {
                return doubts > 0
                    && (matches(&old[1..], rest, doubts - 1)
                        || matches(&old[n..], rest, doubts - 1));
            }
            Some(n) => old = &old[n..],
            None if is_kept || is_cut_short(old, line, rest) => old = &old[1..],
            None => return false,
        }
        new = rest;
    }
    true
}

/// Whether the last kept line is the start of the next line of the original.
fn is_cut_short(old: &[&str], line: &str, rest: &[&str]) -> bool {
    let is_last = rest.first().is_none_or(|next| notes::gap_lines(next).is_some());
    is_last && old.first().is_some_and(|old| old.starts_with(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(new: &str, expected: bool) {
        assert_eq!(is_subsequence("one\ntwo\nthree\nfour", new), expected, "{new:?}");
    }

    #[test]
    fn only_whole_lines_in_order_pass() {
        check("note", true);
        check("note\none\ntwo", true);
        check("note\none\n[… 2 lines]\nfour", true);
        check("note\n[… 1 line]\ntwo\nth\n[… 1 line]", true);
        check("note\n[… 2 lines]\ntwo", false);
        check("note\none\nthree", false);
        check("note\nONE", false);
        check("note\n[… 9 lines]", false);
        let doubtful = "a\n[… 1 line]\n[… 1 line]\nb";
        assert!(is_subsequence(doubtful, "note\na\n[… 1 line]\n[… 1 line]\nb"));
        assert!(is_subsequence(doubtful, "note\n[… 1 line]\n[… 1 line]\n[… 1 line]\nb"));
    }
}
