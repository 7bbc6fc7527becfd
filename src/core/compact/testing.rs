//! Short spellings of transcripts for the tables of tests.

use super::transcript::{Argument, ArgumentValue, Call, Message, Part, Role, ToolResult};

pub(super) fn user(parts: Vec<Part<'_>>) -> Message<'_> {
    Message::new(Role::User, parts)
}

pub(super) fn assistant(parts: Vec<Part<'_>>) -> Message<'_> {
    Message::new(Role::Assistant, parts)
}

pub(super) fn text(text: &str) -> Part<'_> {
    Part::Text(text.into())
}

pub(super) fn call<'a>(id: &'a str, tool: &'a str) -> Part<'a> {
    Part::Call(Call {
        id: id.into(),
        tool: tool.into(),
        arguments: Vec::new(),
        json_chars: 2,
        is_editable: true,
    })
}

pub(super) fn result<'a>(id: &'a str, text: &'a str) -> Part<'a> {
    let (is_error, is_opaque) = (false, false);
    Part::Result(ToolResult::new(id.into(), text.into(), is_error, is_opaque))
}

pub(super) fn call_with<'a>(id: &'a str, tool: &'a str, texts: &[(&'a str, &'a str)]) -> Part<'a> {
    let argument = |&(name, text): &(&'a str, &'a str)| Argument {
        name: name.into(),
        value: ArgumentValue::Text(text.into()),
    };
    let Part::Call(call) = call(id, tool) else { return Part::Opaque };
    Part::Call(Call { arguments: texts.iter().map(argument).collect(), ..call })
}
