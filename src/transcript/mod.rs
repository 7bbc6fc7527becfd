//! Transcripts of agents: bytes of a file or a request in, typed messages out, and the bytes with edits applied.
//!
//! Formats: Claude Code's JSON lines, pi's, Codex's rollouts, and the messages of Anthropic's and OpenAI's APIs. What
//! no edit names keeps its bytes; the input is never changed.

pub mod input;

mod anthropic_wire;
mod claude_wire;
mod codex_wire;
mod layout;
mod messages_wire;
mod pi_wire;
mod responses_wire;
pub mod state_wire;
#[cfg(test)]
mod tests;
pub(crate) mod wire;

use std::borrow::Cow;
use std::ops::Range;

use self::layout::{Layout, ListSpan};
use crate::core::compact::apply::{Edit, stale_thinking};
use crate::core::compact::transcript::Transcript;
use crate::core::text::lines::ranges;

/// A transcript and where its parts are in the input.
#[derive(Debug)]
pub struct TranscriptFile<'a> {
    input: &'a [u8],
    /// The conversation that the model would see next.
    pub transcript: Transcript<'a>,
    layout: Layout,
    /// Goes to the API as it is: no client repairs what an edit invalidates.
    is_request: bool,
}

/// Reads the live conversation of a transcript. O(bytes); only that is taken apart.
///
/// # Errors
/// An input in which no message was found.
pub fn read(input: &[u8]) -> Result<TranscriptFile<'_>, Unreadable> {
    documents(input, 1)?.pop().ok_or(Unreadable)
}

/// Reads every conversation between two compactions of Claude Code, the live one last; of other formats only that.
///
/// # Errors
/// As [`read`].
pub fn read_segments(input: &[u8]) -> Result<Vec<TranscriptFile<'_>>, Unreadable> {
    documents(input, usize::MAX)
}

/// The newest conversations, `most` at most.
fn documents(input: &[u8], most: usize) -> Result<Vec<TranscriptFile<'_>>, Unreadable> {
    let mut layout = Layout::default();
    if let Some(transcript) = messages_wire::read(input, &mut layout) {
        return Ok(vec![TranscriptFile { input, transcript, layout, is_request: true }]);
    }
    let lines = lines(input);
    let documents = match format(input, &lines) {
        Format::Codex => vec![document(input, &lines, codex_wire::read)],
        Format::Pi => vec![document(input, &lines, pi_wire::read)],
        Format::ClaudeCode => {
            let segments = claude_wire::segments(input, &lines);
            let read = |segment| {
                document(input, &lines, |input, _, layout| {
                    claude_wire::read(input, segment, layout)
                })
            };
            segments[segments.len().saturating_sub(most)..].iter().map(read).collect()
        }
    };
    let has_messages = |document: &TranscriptFile<'_>| !document.transcript.messages.is_empty();
    if documents.iter().any(has_messages) { Ok(documents) } else { Err(Unreadable) }
}

/// The formats of lines.
enum Format {
    ClaudeCode,
    Pi,
    Codex,
}

/// ModelRanking by the first lines that only one format has.
fn format(input: &[u8], lines: &[Range<usize>]) -> Format {
    for range in lines.iter().take(FORMAT_LINES) {
        let line = &input[range.clone()];
        if codex_wire::is_line(line) {
            return Format::Codex;
        }
        if pi_wire::is_line(line) {
            return Format::Pi;
        }
    }
    Format::ClaudeCode
}

/// Lines looked at to tell the format: headers of all three are shorter.
const FORMAT_LINES: usize = 50;

fn document<'a>(
    input: &'a [u8],
    lines: &[Range<usize>],
    read: impl Fn(&'a [u8], &[Range<usize>], &mut Layout) -> Transcript<'a>,
) -> TranscriptFile<'a> {
    let list = ListSpan { items: lines.to_vec(), owner: None, whole: None, is_lines: true };
    let mut layout = Layout { lists: vec![list], ..Layout::default() };
    let transcript = read(input, lines, &mut layout);
    TranscriptFile { input, transcript, layout, is_request: false }
}

/// No messages were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl std::fmt::Display for Unreadable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "no messages found: give a transcript of Claude Code, pi or Codex, or a list of API messages",
        )
    }
}

impl std::error::Error for Unreadable {}

impl TranscriptFile<'_> {
    /// The input with edits applied, in pieces; everything else byte for byte. In a list of API messages, thinking behind the
    /// first edit goes too: its signature is bound to what was before it, and the API refuses it. O(bytes).
    #[must_use]
    pub fn write(&self, edits: &[Edit]) -> Vec<Cow<'_, [u8]>> {
        if !self.is_request {
            return layout::write(self.input, &self.layout, edits);
        }
        let mut edits = edits.to_vec();
        edits.extend(stale_thinking(&self.transcript, &edits));
        layout::write(self.input, &self.layout, &edits)
    }
}

/// The lines of the input, without line feeds; the empty rest after the last one is no line.
fn lines(input: &[u8]) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = ranges(input).collect();
    lines.pop_if(|rest| Range::is_empty(rest));
    lines
}
