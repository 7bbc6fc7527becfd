//! Transcripts of agents: bytes of a file or a request in, typed messages out, and the bytes with edits applied.
//!
//! Formats: Claude Code's JSON lines, pi's, Codex's rollouts, and the messages of Anthropic's and OpenAI's APIs. What
//! no edit names keeps its bytes; the input is never changed.

mod anthropic_wire;
mod claude_wire;
mod layout;
mod wire;

use std::ops::Range;

use crate::core::compact::apply::Edit;
use crate::core::compact::transcript::Transcript;
use layout::{Layout, List};

/// A transcript and where its parts are in the input.
#[derive(Debug)]
pub struct Document<'a> {
    input: &'a [u8],
    /// The conversation that the model would see next.
    pub transcript: Transcript<'a>,
    layout: Layout,
}

/// Reads the live conversation of a transcript. O(bytes).
///
/// # Errors
/// An input in which no message was found; the fragment says what was looked for.
pub fn read(input: &[u8]) -> Result<Document<'_>, Unreadable> {
    let mut documents = read_segments(input)?;
    documents.pop().ok_or(Unreadable)
}

/// Reads every conversation between two compactions, the live one last.
///
/// # Errors
/// As [`read`].
pub fn read_segments(input: &[u8]) -> Result<Vec<Document<'_>>, Unreadable> {
    let lines = lines(input);
    let segments = claude_wire::segments(input, &lines);
    let read = |segment| {
        let list = List { items: lines.clone(), owner: None, whole: None, is_lines: true };
        let mut layout = Layout { parts: Vec::new(), lists: vec![list] };
        let transcript = claude_wire::read(input, segment, &mut layout);
        Document { input, transcript, layout }
    };
    Ok(segments.iter().map(read).collect())
}

/// No messages were found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl Document<'_> {
    /// The input with edits applied; everything else byte for byte. O(bytes).
    #[must_use]
    pub fn write(&self, edits: &[Edit]) -> Vec<u8> {
        layout::write(self.input, &self.layout, edits)
    }
}

/// The lines of the input, without line feeds; the empty rest after the last one is no line.
fn lines(input: &[u8]) -> Vec<Range<usize>> {
    let mut start = 0;
    let mut lines = Vec::new();
    for end in memchr::memchr_iter(b'\n', input) {
        lines.push(start..end);
        start = end + 1;
    }
    if start < input.len() {
        lines.push(start..input.len());
    }
    lines
}
