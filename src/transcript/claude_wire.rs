//! Claude Code's transcript file: one JSON object a line, from which the live conversation is read.
//!
//! Live is what follows the last compaction boundary. Side chains, repeated rows (a resumed session repeats them), rows
//! that are no messages and lines that are no JSON are carried along and never read.

use std::ops::Range;

use serde::Deserialize;

use super::anthropic_wire;
use super::layout::{ItemAt, Layout, RowLink};
use super::wire::{self, Raw};
use crate::core::compact::transcript::{Message, Role, Transcript};
use crate::core::text::hash::FxSet;
use crate::threads;

/// The fields of a line that anybody here reads.
#[derive(Debug, Deserialize)]
struct ClaudeRow<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    subtype: Option<Raw<'a>>,
    #[serde(borrow)]
    uuid: Option<Raw<'a>>,
    #[serde(borrow, rename = "parentUuid")]
    parent: Option<Raw<'a>>,
    #[serde(borrow, rename = "isSidechain")]
    is_sidechain: Option<Raw<'a>>,
    #[serde(borrow, rename = "isMeta")]
    is_meta: Option<Raw<'a>>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
}

#[derive(Debug, Deserialize)]
struct ClaudeMessage<'a> {
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    usage: Option<Raw<'a>>,
}

/// What the API counted for an answer of the model.
#[derive(Debug, Deserialize)]
struct Usage {
    input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

/// A message of the conversation, not yet taken apart: the line it is on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClaudeLine<'a> {
    /// Index of the line.
    index: usize,
    role: Role,
    is_meta: bool,
    context_tokens: Option<u64>,
    content: Raw<'a>,
}

/// What the model saw between two compactions.
#[derive(Debug, Default)]
pub(super) struct Segment<'a> {
    lines: Vec<ClaudeLine<'a>>,
    links: Vec<RowLink>,
}

/// The segments of a file, the live one last; there is always one. O(bytes).
pub(super) fn segments<'a>(input: &'a [u8], lines: &[Range<usize>]) -> Vec<Segment<'a>> {
    let mut segments = vec![Segment::default()];
    let mut seen = FxSet::default();
    // Most of the time goes into what is passed over: the host's own record of every result.
    let rows =
        threads::map(lines, Range::len, |line| wire::row::<ClaudeRow<'a>>(&input[line.clone()]));
    for (index, row) in rows.into_iter().enumerate() {
        let Some(row) = row else { continue };
        if wire::is_true(row.is_sidechain)
            || row.uuid.is_some_and(|uuid| is_repeated(&mut seen, uuid))
        {
            continue;
        }
        if wire::is(row.subtype, "compact_boundary") && wire::is(row.kind, "system") {
            segments.push(Segment::default());
        }
        if let Some(segment) = segments.last_mut() {
            segment.lines.extend(message(index, &row));
            segment.links.extend(RowLink::new(input, index, row.uuid, row.parent));
        }
    }
    segments
}

fn is_repeated<'a>(seen: &mut FxSet<&'a str>, uuid: Raw<'a>) -> bool {
    let uuid = uuid.get();
    !matches!(uuid, "null" | "\"\"") && !seen.insert(uuid)
}

fn message<'a>(index: usize, row: &ClaudeRow<'a>) -> Option<ClaudeLine<'a>> {
    let kind = row.kind?;
    let role = match kind.get() {
        "\"user\"" => Role::User,
        "\"assistant\"" => Role::Assistant,
        _ => return None,
    };
    let message: ClaudeMessage<'a> = serde_json::from_str(row.message?.get()).ok()?;
    let is_meta = role == Role::User && wire::is_true(row.is_meta);
    let context_tokens = message.usage.filter(|_| role == Role::Assistant).and_then(tokens_before);
    Some(ClaudeLine { index, role, is_meta, context_tokens, content: message.content? })
}

/// All that the model read, cached or not. The host's own messages have zeros: nothing was counted.
fn tokens_before(usage: Raw<'_>) -> Option<u64> {
    let usage: Usage = serde_json::from_str(usage.get()).ok()?;
    let counts =
        [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
    Some(counts.into_iter().flatten().fold(0, u64::saturating_add)).filter(|&tokens| tokens > 0)
}

/// The typed messages of a segment, with their places. List 0 of the layout is the lines. O(bytes of the segment).
pub(super) fn read<'a>(
    input: &'a [u8],
    segment: &Segment<'a>,
    layout: &mut Layout,
) -> Transcript<'a> {
    let mut messages = Vec::with_capacity(segment.lines.len());
    for line in &segment.lines {
        let owner = ItemAt { list: 0, item: line.index };
        let parts = anthropic_wire::parts(input, line.content, owner, layout);
        let ClaudeLine { role, is_meta, context_tokens, .. } = *line;
        messages.push(Message { role, is_meta, context_tokens, parts });
    }
    layout.links.clone_from(&segment.links);
    Transcript { messages }
}
