//! pi's session file: one JSON object a line; messages with content blocks of pi's own names.

use std::ops::Range;

use serde::Deserialize;

use super::anthropic_wire::{TEXT_BLOCK, argument_ranges, result_message, slot};
use super::layout::{ItemAt, Layout, ListSpan, NoteSlot, PartSpan, RowLink};
use super::wire::{self, Raw};
use crate::core::compact::transcript::{
    Argument, Call, Message, Part, Role, Transcript, json_chars,
};

#[derive(Debug, Deserialize)]
struct PiRow<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    #[serde(borrow, rename = "parentId")]
    parent: Option<Raw<'a>>,
    #[serde(borrow)]
    message: Option<Raw<'a>>,
    #[serde(borrow, rename = "firstKeptEntryId")]
    first_kept: Option<Raw<'a>>,
}

#[derive(Debug, Deserialize)]
struct PiMessage<'a> {
    #[serde(borrow)]
    role: Option<Raw<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow, rename = "toolCallId")]
    call_id: Option<Raw<'a>>,
    #[serde(borrow, rename = "isError")]
    is_error: Option<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct PiBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    text: Option<Raw<'a>>,
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    arguments: Option<Raw<'a>>,
}

/// Arguments that Claude Code has too, under its names.
const RENAMED: [(&str, &str); 2] = [("path", "file_path"), ("oldText", "old_string")];

/// Whether a line is a message of pi.
pub(super) fn is_line(line: &[u8]) -> bool {
    wire::row(line)
        .is_some_and(|row: PiRow<'_>| wire::is(row.kind, "message") && row.message.is_some())
}

/// The live conversation: from the first entry that the last compaction kept. ListSpan 0 of the layout is the lines.
pub(super) fn read<'a>(
    input: &'a [u8],
    lines: &[Range<usize>],
    layout: &mut Layout,
) -> Transcript<'a> {
    let rows: Vec<Option<PiRow<'a>>> =
        lines.iter().map(|range| wire::row(&input[range.clone()])).collect();
    let live_from = live_from(&rows);
    let mut transcript = Transcript::default();
    for (index, row) in rows.iter().enumerate() {
        let Some(row) = row else { continue };
        layout.links.extend(RowLink::new(input, index, row.id, row.parent));
        if index < live_from || !wire::is(row.kind, "message") {
            continue;
        }
        let item = ItemAt { list: 0, item: index };
        transcript.messages.extend(row.message.and_then(|raw| message(input, raw, item, layout)));
    }
    transcript
}

fn live_from(rows: &[Option<PiRow<'_>>]) -> usize {
    let is_compaction = |row: &PiRow<'_>| wire::is(row.kind, "compaction");
    let Some(last) = rows.iter().rposition(|row| row.as_ref().is_some_and(is_compaction)) else {
        return 0;
    };
    let Some(first_kept) = rows[last].as_ref().and_then(|row| row.first_kept) else { return last };
    let is_first_kept = |row: &PiRow<'_>| row.id.is_some_and(|id| id.get() == first_kept.get());
    let kept = rows[..last].iter().position(|row| row.as_ref().is_some_and(is_first_kept));
    kept.unwrap_or(last)
}

fn message<'a>(
    input: &'a [u8],
    raw: Raw<'a>,
    owner: ItemAt,
    layout: &mut Layout,
) -> Option<Message<'a>> {
    let message: PiMessage<'a> = serde_json::from_str(raw.get()).ok()?;
    let content = message.content?;
    if wire::is(message.role, "toolResult") {
        let is_error = wire::is_true(message.is_error);
        let id = message.call_id.and_then(wire::text)?;
        return Some(result_message(input, id, content, is_error, (owner, layout)));
    }
    let role = if wire::is(message.role, "assistant") { Role::Assistant } else { Role::User };
    Some(Message::new(role, blocks(input, content, owner, layout)))
}

fn blocks<'a>(
    input: &'a [u8],
    content: Raw<'a>,
    owner: ItemAt,
    layout: &mut Layout,
) -> Vec<Part<'a>> {
    let Some(blocks) = wire::list(content) else {
        layout.parts.push(vec![PartSpan::plain(owner)]);
        return vec![wire::text(content).map_or(Part::Opaque, Part::Text)];
    };
    let list = layout.lists.len();
    layout.lists.push(ListSpan::of(input, &blocks, owner));
    let (mut parts, mut spans) = (Vec::new(), Vec::new());
    for (item, raw) in blocks.into_iter().enumerate() {
        let block: PiBlock<'a> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut span = PartSpan::plain(ItemAt { list, item });
        let kind = block.kind.and_then(wire::text).unwrap_or_default();
        let part = match kind.as_ref() {
            "text" => block.text.and_then(wire::text).map(Part::Text),
            "toolCall" => {
                span.note = Some(NoteSlot::Instead(slot(input, raw, TEXT_BLOCK)));
                span.arguments = argument_ranges(input, block.arguments);
                call(&block).map(Part::Call)
            }
            "thinking" => Some(Part::Thinking),
            _ => None,
        };
        parts.push(part.unwrap_or(Part::Opaque));
        spans.push(span);
    }
    layout.parts.push(spans);
    parts
}

/// A call under Claude Code's names; a renamed argument also stays under its own.
fn call<'a>(block: &PiBlock<'a>) -> Option<Call<'a>> {
    let (mut arguments, mut chars) = block.arguments.map_or((Vec::new(), 2), wire::arguments);
    for (own, renamed) in RENAMED {
        if let Some(argument) = arguments.iter().find(|argument| argument.name == own) {
            let argument = Argument { name: renamed.into(), value: argument.value.clone() };
            if let crate::core::compact::transcript::ArgumentValue::Text(text) = &argument.value {
                chars += json_chars(text) + json_chars(renamed) + 4;
            }
            arguments.push(argument);
        }
    }
    let tool = block.name.and_then(wire::text).unwrap_or_default();
    let tool = capitalized(&tool).into();
    Some(Call {
        id: wire::text(block.id?)?,
        tool,
        arguments,
        json_chars: chars,
        is_editable: false,
    })
}

fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}
