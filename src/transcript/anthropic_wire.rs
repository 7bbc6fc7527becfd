//! Content blocks of Anthropic's Messages API, as Claude Code's files, request bodies and pi hold them.
//!
//! One JSON value in, typed parts with their places out.

use std::borrow::Cow;

use serde::Deserialize;

use super::layout::{Form, ItemAt, Layout, ListSpan, NoteSlot, PartSpan, Slot};
use super::wire::{self, Raw};
use crate::core::compact::transcript::{Call, Message, Part, Role, ToolResult};

/// The fields of a block that anybody here reads.
#[derive(Debug, Default, Deserialize)]
struct AnthropicBlock<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    text: Option<Raw<'a>>,
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_use_id: Option<Raw<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    is_error: Option<Raw<'a>>,
}

/// A text in place of a block, here and in formats that took their blocks from this one.
pub(super) const TEXT_BLOCK: Form = Form { before: r#"{"type":"text","text":"#, after: "}" };
/// A text in place of a list of blocks.
const TEXT_BLOCKS: Form = Form { before: r#"[{"type":"text","text":"#, after: "}]" };

/// The parts of a message's content, their places put into the layout. `owner` is the item that goes when all
/// parts of a list go.
pub(super) fn parts<'a>(
    input: &'a [u8],
    content: Raw<'a>,
    owner: ItemAt,
    layout: &mut Layout,
) -> Vec<Part<'a>> {
    let Some(blocks) = wire::list(content) else {
        let part = wire::text(content).map_or(Part::Opaque, Part::Text);
        layout.parts.push(vec![PartSpan::plain(owner)]);
        return vec![part];
    };
    let list = layout.lists.len();
    layout.lists.push(ListSpan::of(input, &blocks, owner));
    let (mut parts, mut spans) = (Vec::new(), Vec::new());
    for (item, raw) in blocks.into_iter().enumerate() {
        let (part, span) = part(input, raw, ItemAt { list, item });
        parts.push(part);
        spans.push(span);
    }
    layout.parts.push(spans);
    parts
}

fn part<'a>(input: &'a [u8], raw: Raw<'a>, item: ItemAt) -> (Part<'a>, PartSpan) {
    let block: AnthropicBlock<'a> = serde_json::from_str(raw.get()).unwrap_or_default();
    let kind = block.kind.and_then(wire::text).unwrap_or_default();
    let mut span = PartSpan::plain(item);
    let part = match kind.as_ref() {
        // The latter two are what OpenAI's Responses API calls it.
        "text" | "input_text" | "output_text" => block.text.and_then(wire::text).map(Part::Text),
        "tool_use" => {
            span.note = Some(NoteSlot::Instead(slot(input, raw, TEXT_BLOCK)));
            span.arguments = argument_ranges(input, block.input);
            call(&block).map(Part::Call)
        }
        "tool_result" => {
            span.text = block.content.map(|content| result_slot(input, content));
            result(&block).map(Part::Result)
        }
        "thinking" | "redacted_thinking" => Some(Part::Thinking),
        _ => None,
    };
    (part.unwrap_or(Part::Opaque), span)
}

fn call<'a>(block: &AnthropicBlock<'a>) -> Option<Call<'a>> {
    let (arguments, json_chars) = block.input.map_or((Vec::new(), 2), wire::arguments);
    let tool = block.name.and_then(wire::text).unwrap_or_default();
    Some(Call { id: wire::text(block.id?)?, tool, arguments, json_chars, is_editable: true })
}

fn result<'a>(block: &AnthropicBlock<'a>) -> Option<ToolResult<'a>> {
    let (text, is_opaque) = block.content.map_or((Cow::Borrowed(""), false), result_text);
    let is_error = wire::is_true(block.is_error);
    Some(ToolResult::new(wire::text(block.tool_use_id?)?, text, is_error, is_opaque))
}

/// The text of a result's content, and whether it holds more than text.
pub(super) fn result_text(content: Raw<'_>) -> (Cow<'_, str>, bool) {
    let Some(blocks) = wire::list(content) else {
        let text = wire::text(content);
        let is_null = wire::is_null(content);
        return (text.clone().unwrap_or_default(), text.is_none() && !is_null);
    };
    let mut texts = Vec::new();
    let mut is_opaque = false;
    for raw in blocks {
        let block: AnthropicBlock<'_> = serde_json::from_str(raw.get()).unwrap_or_default();
        let is_text = wire::is(block.kind, "text");
        match block.text.filter(|_| is_text).and_then(wire::text) {
            Some(text) => texts.push(text),
            None => is_opaque = true,
        }
    }
    match <[Cow<'_, str>; 1]>::try_from(texts) {
        Ok([only]) => (only, is_opaque),
        Err(texts) => (Cow::Owned(texts.join("\n")), is_opaque),
    }
}

/// A result that is a message of its own, as OpenAI's chat API and pi have them.
pub(super) fn result_message<'a>(
    input: &[u8],
    id: Cow<'a, str>,
    content: Raw<'a>,
    is_error: bool,
    (owner, layout): (ItemAt, &mut Layout),
) -> Message<'a> {
    let (text, is_opaque) = result_text(content);
    let mut span = PartSpan::plain(owner);
    span.text = Some(result_slot(input, content));
    layout.parts.push(vec![span]);
    let part = Part::Result(ToolResult::new(id, text, is_error, is_opaque));
    Message::new(Role::User, vec![part])
}

/// Where the text of a result goes: its content, in the form it has.
pub(super) fn result_slot(input: &[u8], content: Raw<'_>) -> Slot {
    let is_list = content.get().starts_with('[');
    slot(input, content, if is_list { TEXT_BLOCKS } else { Form::STRING })
}

pub(super) fn slot(input: &[u8], raw: Raw<'_>, form: Form) -> Slot {
    Slot { range: wire::range_in(input, raw), form }
}

/// Where the values of an object are.
pub(super) fn argument_ranges(
    input: &[u8],
    object: Option<Raw<'_>>,
) -> Vec<std::ops::Range<usize>> {
    let fields = object.and_then(wire::fields).unwrap_or_default();
    fields.into_iter().map(|(_, value)| wire::range_in(input, value)).collect()
}

impl PartSpan {
    /// A part that can only go as a whole.
    pub(super) fn plain(item: ItemAt) -> PartSpan {
        PartSpan { item, text: None, note: None, arguments: Vec::new() }
    }
}
