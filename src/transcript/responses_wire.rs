//! Items of OpenAI's Responses API, as Codex stores them: messages, function calls and their outputs, each an item of its
//! own.

use std::borrow::Cow;

use serde::Deserialize;

use super::anthropic_wire::{result_slot, result_text, slot};
use super::layout::{Form, ItemAt, NoteSlot, PartSpan};
use super::wire::{self, Raw};
use crate::core::compact::transcript::{
    Argument, ArgumentValue, Call, Message, Part, Role, ToolResult,
};

/// The fields of an item that anybody here reads.
#[derive(Debug, Default, Deserialize)]
struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    role: Option<Raw<'a>>,
    #[serde(borrow)]
    content: Option<Raw<'a>>,
    #[serde(borrow)]
    name: Option<Raw<'a>>,
    #[serde(borrow)]
    call_id: Option<Raw<'a>>,
    #[serde(borrow)]
    arguments: Option<Raw<'a>>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
    #[serde(borrow)]
    output: Option<Raw<'a>>,
}

/// A part of a message's content.
#[derive(Debug, Default, Deserialize)]
struct ItemContent<'a> {
    #[serde(borrow)]
    text: Option<Raw<'a>>,
}

/// A message of the model in place of a call.
const MESSAGE: Form = Form {
    before: r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"#,
    after: "}]}",
};

/// The item as a message; `None` for what is no part of the conversation.
pub(super) fn message<'a>(
    input: &'a [u8],
    raw: Raw<'a>,
    item: ItemAt,
) -> Option<(Message<'a>, Vec<PartSpan>)> {
    let fields: Item<'a> = serde_json::from_str(raw.get()).ok()?;
    let kind = wire::text(fields.kind?)?;
    let mut span = PartSpan::plain(item);
    let (role, part) = match kind.as_ref() {
        "message" => {
            let is_assistant = wire::is(fields.role, "assistant");
            let role = if is_assistant { Role::Assistant } else { Role::User };
            (role, text(fields.content?).map_or(Part::Opaque, Part::Text))
        }
        "function_call" | "custom_tool_call" => {
            span.note = Some(NoteSlot::Instead(slot(input, raw, MESSAGE)));
            (Role::Assistant, call(&fields).map_or(Part::Opaque, Part::Call))
        }
        "function_call_output" | "custom_tool_call_output" => {
            span.text = fields.output.map(|output| result_slot(input, output));
            (Role::User, result(&fields).map_or(Part::Opaque, Part::Result))
        }
        "reasoning" => (Role::Assistant, Part::Thinking),
        _ => (Role::Assistant, Part::Opaque),
    };
    Some((Message::new(role, vec![part]), vec![span]))
}

/// The text of a message's content.
fn text(content: Raw<'_>) -> Option<Cow<'_, str>> {
    let Some(parts) = wire::list(content) else { return wire::text(content) };
    let text_of = |raw: Raw<'_>| {
        let content: ItemContent<'_> = serde_json::from_str(raw.get()).ok()?;
        wire::text(content.text?).map(Cow::into_owned)
    };
    let texts: Option<Vec<String>> = parts.into_iter().map(text_of).collect();
    texts.map(|texts| Cow::Owned(texts.join("\n")))
}

fn call<'a>(item: &Item<'a>) -> Option<Call<'a>> {
    let tool = item.name.and_then(wire::text).unwrap_or_default();
    let (arguments, json_chars) = match (item.arguments, item.input) {
        (Some(json), _) => decoded_arguments(json),
        (None, Some(input)) => {
            let text = wire::text(input).unwrap_or_default();
            let chars = input.get().chars().count();
            (vec![Argument { name: "input".into(), value: ArgumentValue::Text(text) }], chars)
        }
        (None, None) => (Vec::new(), 2),
    };
    Some(Call { id: wire::text(item.call_id?)?, tool, arguments, json_chars, is_editable: false })
}

/// Arguments that are JSON inside a string.
pub(super) fn decoded_arguments<'a>(json: Raw<'_>) -> (Vec<Argument<'a>>, usize) {
    let Some(text) = wire::text(json) else { return (Vec::new(), json.get().chars().count()) };
    let Ok(raw) = serde_json::from_str::<Raw<'_>>(&text) else {
        return (Vec::new(), text.chars().count());
    };
    let (arguments, chars) = wire::arguments(raw);
    (arguments.into_iter().map(Argument::into_owned).collect(), chars)
}

fn result<'a>(item: &Item<'a>) -> Option<ToolResult<'a>> {
    let (text, is_opaque) = item.output.map_or((Cow::Borrowed(""), false), result_text);
    Some(ToolResult::new(wire::text(item.call_id?)?, text, false, is_opaque))
}
