//! The only new text in a compacted transcript: the note at the head of a cut result and the lines that stand for gaps.
//!
//! A note records the original size, so that a later compaction knows what was there and leaves the result alone.

use std::fmt::Write as _;

use super::pair::Pair;
use super::plan::Reason;

/// How every note begins.
const NOTE: &str = "[context-packer: ";
/// How the older note of a cut result ends, as the seed wrote it; such results are left alone too.
const SEED_NOTE_END: &str = "re-run the tool if needed]";

/// What tells the note of a removed call from that of a cut result.
const DROPPED: &str = " of a call to ";
/// How much of a removed call's argument its note repeats, as the seed's one-line calls do.
const SUBJECT_CHARS: usize = 60;

/// What a note says.
#[derive(Debug, Clone, Copy)]
pub struct Note<'n> {
    /// Why the result was cut.
    pub reason: Reason,
    /// Characters that stay.
    pub kept_chars: usize,
    /// Characters there were.
    pub chars: usize,
    /// The tool failed.
    pub is_error: bool,
    /// The id under which the archive has the original.
    pub archived: Option<&'n str>,
}

/// The note as a line, without a line feed.
#[must_use]
pub fn note(note: &Note<'_>) -> String {
    let mut line = format!("{NOTE}{} of {} chars", note.kept_chars, note.chars);
    if note.is_error {
        line.push_str(" of an error");
    }
    line.push_str(match note.reason {
        Reason::Superseded => "; read again later",
        Reason::Duplicate => "; same output again later",
        Reason::RunAgain => "; run again later",
        Reason::Notice => "; the call says the rest",
        Reason::Retried => "; succeeded later",
        Reason::Scored => "; re-run the tool if needed",
        _ if note.kept_chars == 0 => "",
        _ => "; excerpt, re-read before editing",
    });
    if let Some(id) = note.archived {
        let _ = write!(line, "; context-packer restore {id}");
    }
    line.push(']');
    line
}

/// The line that stands for omitted lines.
#[must_use]
pub fn gap(lines: usize) -> String {
    let plural = if lines == 1 { "" } else { "s" };
    format!("[… {lines} line{plural}]")
}

/// The line that stays of a call that went with its result.
#[must_use]
pub fn dropped_call(pair: &Pair<'_, '_>, archived: Option<&str>) -> String {
    let outcome = if pair.result.is_error { "error" } else { "ok" };
    let chars = pair.result.chars + pair.call.chars();
    let mut line = format!("{NOTE}0 of {chars} chars{DROPPED}{}", pair.call.tool);
    if let Some(subject) = pair.call.path().or_else(|| pair.call.texts().next()) {
        let _ = write!(line, " {}", short(subject));
    }
    let _ = write!(line, " -> {outcome}; removed, re-run the tool if needed");
    if let Some(id) = archived {
        let _ = write!(line, "; context-packer restore {id}");
    }
    line.push(']');
    line
}

/// What a call was about, in one line.
fn short(subject: &str) -> String {
    let words: Vec<&str> = subject.split_whitespace().collect();
    words.join(" ").chars().take(SUBJECT_CHARS).collect()
}

/// How many lines a gap line stands for; `None` for any other line.
#[must_use]
pub fn gap_lines(line: &str) -> Option<usize> {
    let (count, unit) = line.strip_prefix("[… ")?.strip_suffix(']')?.split_once(' ')?;
    matches!(unit, "line" | "lines").then(|| count.parse().ok())?
}

/// What stands for an argument of an old edit.
#[must_use]
pub fn stub(chars: usize) -> String {
    format!("{NOTE}0 of {chars} chars of an argument; later events replaced it]")
}

/// Whether a text is a note of an earlier compaction.
#[must_use]
pub fn is_note(text: &str) -> bool {
    text.starts_with(NOTE)
}

/// Whether a result was cut by an earlier compaction. O(1) but for the seed's notes.
#[must_use]
pub fn is_already_pruned(text: &str) -> bool {
    text.starts_with(NOTE) || text.trim_end().ends_with(SEED_NOTE_END)
}

/// Characters that a cut result had before, read from its note.
#[must_use]
pub fn original_chars(text: &str) -> Option<usize> {
    let (_, rest) = text.strip_prefix(NOTE)?.split_once(" of ")?;
    rest.split(' ').next()?.parse().ok()
}

/// Characters of the results that went with their calls, read from the notes that stay in a text.
#[must_use]
pub fn dropped_chars(text: &str) -> Option<usize> {
    let notes = text.lines().filter(|line| line.contains(DROPPED));
    let chars = notes.filter_map(original_chars).reduce(usize::saturating_add)?;
    Some(chars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_recognised_and_read_back() {
        let mut said = Note {
            reason: Reason::Selected,
            kept_chars: 120,
            chars: 4200,
            is_error: false,
            archived: Some("0123456789ab"),
        };
        let line = note(&said);
        assert_eq!(
            line,
            "[context-packer: 120 of 4200 chars; excerpt, re-read before editing; \
             context-packer restore 0123456789ab]"
        );
        assert_eq!(original_chars(&line), Some(4200));
        said.kept_chars = 0;
        assert_eq!(
            note(&said),
            "[context-packer: 0 of 4200 chars; context-packer restore 0123456789ab]"
        );
        said.is_error = true;
        assert!(is_already_pruned(&note(&said)));
        assert!(is_already_pruned("abc\n[… 500 chars truncated; re-run the tool if needed]"));
        assert!(!is_already_pruned("context-packer"));
        assert_eq!(original_chars("[context-packer: nothing"), None);
    }
}
