//! A list of API messages, bare or as the `messages` (or `input`) of a request: Anthropic's, or one of OpenAI's two.

use serde::Deserialize;

use super::anthropic_wire::{self, TEXT_BLOCK, result_message, slot};
use super::layout::{Form, ItemAt, Layout, ListSpan, NoteSlot, PartSpan, Slot};
use super::responses_wire::{self, decoded_arguments};
use super::wire::{self, Raw};
use crate::core::compact::transcript::{Call, Message, Part, Role, Transcript};

/// A request that holds the list.
#[derive(Debug, Deserialize)]
struct MessagesBody<'a> {
    #[serde(borrow)]
    messages: Option<Raw<'a>>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
}

/// The fields of a message that anybody here reads.
#[derive(Debug, Deserialize)]
struct ApiMessage<'a> {
    #[serde(borrow)]
    role: Option<Raw<'a>>,
    /// `null` is the value that a note takes the place of.
    #[serde(borrow, default, deserialize_with = "wire::present")]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_calls: Option<Raw<'a>>,
    #[serde(borrow)]
    tool_call_id: Option<Raw<'a>>,
}

#[derive(Debug, Default, Deserialize)]
struct OpenAiToolCall<'a> {
    #[serde(borrow)]
    id: Option<Raw<'a>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    arguments: Option<Raw<'a>>,
}

/// A text added to a message that has no content.
const ADDED_CONTENT: Form = Form { before: r#","content":"#, after: "" };
/// A text added behind the last part of a content.
const ADDED_PART: Form = Form { before: r#",{"type":"text","text":"#, after: "}" };

/// The conversation in a list of messages; `None` when the input is no such list. ListSpan 0 of the layout is the messages.
pub(super) fn read<'a>(input: &'a [u8], layout: &mut Layout) -> Option<Transcript<'a>> {
    let raw: Raw<'a> = serde_json::from_slice(input).ok()?;
    let list = match wire::list(raw) {
        Some(list) => list,
        None => {
            let request: MessagesBody<'a> = serde_json::from_str(raw.get()).ok()?;
            wire::list(request.messages.or(request.input)?)?
        }
    };
    let items = list.iter().map(|item| wire::range_in(input, item)).collect();
    layout.lists.push(ListSpan { items, owner: None, whole: None, is_lines: false });
    let mut transcript = Transcript::default();
    for (index, raw) in list.into_iter().enumerate() {
        let item = ItemAt { list: 0, item: index };
        transcript.messages.extend(message(input, raw, item, layout));
    }
    (!transcript.messages.is_empty()).then_some(transcript)
}

fn message<'a>(
    input: &'a [u8],
    raw: Raw<'a>,
    item: ItemAt,
    layout: &mut Layout,
) -> Option<Message<'a>> {
    let fields: ApiMessage<'a> = serde_json::from_str(raw.get()).ok()?;
    let content = fields.content.filter(|content| !wire::is_null(content));
    let Some(role) = fields
        .role
        .and_then(wire::text)
        .filter(|_| content.is_some() || fields.tool_calls.is_some())
    else {
        let (message, spans) = responses_wire::message(input, raw, item)?;
        layout.parts.push(spans);
        return Some(message);
    };
    if role == "tool" {
        return tool_message(input, &fields, item, layout);
    }
    let is_assistant = role == "assistant";
    let role = if is_assistant { Role::Assistant } else { Role::User };
    let mut parts = match content {
        Some(content) => anthropic_wire::parts(input, content, item, layout),
        None => {
            layout.parts.push(Vec::new());
            Vec::new()
        }
    };
    if let Some(calls) = fields.tool_calls.and_then(wire::list) {
        tool_calls(input, &fields, calls, &mut parts, layout);
    }
    Some(Message::new(role, parts))
}

/// A result of OpenAI's chat API: a message of its own.
fn tool_message<'a>(
    input: &'a [u8],
    fields: &ApiMessage<'a>,
    item: ItemAt,
    layout: &mut Layout,
) -> Option<Message<'a>> {
    let content = fields.content?;
    let id = fields.tool_call_id.and_then(wire::text)?;
    Some(result_message(input, id, content, false, (item, layout)))
}

/// The calls of a message of OpenAI's chat API. A note about one that goes is appended to the message's text, and the
/// field goes with its last call: the API refuses an empty list.
fn tool_calls<'a>(
    input: &'a [u8],
    fields: &ApiMessage<'a>,
    calls: Vec<Raw<'a>>,
    parts: &mut Vec<Part<'a>>,
    layout: &mut Layout,
) {
    let note = note_slot(input, fields);
    let list = layout.lists.len();
    let items = calls.iter().map(|call| wire::range_in(input, call)).collect();
    let whole = fields.tool_calls.and_then(|field| whole_field(input, field));
    layout.lists.push(ListSpan { items, owner: None, whole, is_lines: false });
    for (item, raw) in calls.into_iter().enumerate() {
        let call: OpenAiToolCall<'a> = serde_json::from_str(raw.get()).unwrap_or_default();
        let mut span = PartSpan::plain(ItemAt { list, item });
        span.note.clone_from(&note);
        parts.push(tool_call(&call).map_or(Part::Opaque, Part::Call));
        if let Some(spans) = layout.parts.last_mut() {
            spans.push(span);
        }
    }
}

/// Where a note goes; `None` when the content is nothing that could take one.
fn note_slot(input: &[u8], fields: &ApiMessage<'_>) -> Option<NoteSlot> {
    let inserted = |at, form| (Slot { range: at..at, form }, String::new());
    let (slot, text) = match fields.content {
        None => inserted(wire::range_in(input, fields.role?).end, ADDED_CONTENT),
        Some(content) if wire::is_null(content) => {
            (slot(input, content, Form::STRING), String::new())
        }
        Some(content) => match wire::list(content) {
            Some(parts) => {
                let form = if parts.is_empty() { TEXT_BLOCK } else { ADDED_PART };
                inserted(wire::range_in(input, content).end - 1, form)
            }
            None => (slot(input, content, Form::STRING), wire::text(content)?.into_owned()),
        },
    };
    Some(NoteSlot::Appended { slot, text })
}

fn tool_call<'a>(call: &OpenAiToolCall<'a>) -> Option<Call<'a>> {
    let function = call.function.as_ref()?;
    let (arguments, json_chars) = function.arguments.map_or((Vec::new(), 2), decoded_arguments);
    let tool = function.name.and_then(wire::text).unwrap_or_default();
    Some(Call { id: wire::text(call.id?)?, tool, arguments, json_chars, is_editable: false })
}

/// A field with its name and one comma, found by walking back from its value.
fn whole_field(input: &[u8], value: Raw<'_>) -> Option<std::ops::Range<usize>> {
    let value = wire::range_in(input, value);
    let before = input[..value.start].trim_ascii_end().strip_suffix(b":")?.trim_ascii_end();
    let name = before.strip_suffix(b"\"")?.iter().rposition(|&b| b == b'"')?;
    let ahead = input[..name].trim_ascii_end();
    if ahead.ends_with(b",") {
        return Some(ahead.len() - 1..value.end);
    }
    let behind = input[value.end..].trim_ascii_start();
    let comma = usize::from(behind.starts_with(b","));
    Some(name..input.len() - behind.len() + comma)
}
