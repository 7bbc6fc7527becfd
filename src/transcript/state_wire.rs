//! What a decision model gets to see of a conversation, as JSON.

use serde::Serialize;

use super::wire::quote;
use crate::core::compact::scored::model_context::{
    ContextEntry, ConversationState, Render, StateCall,
};
use crate::core::compact::scored::question::CONTEXT;
use crate::core::compact::transcript::{ArgumentValue, Call, Role};

/// The renderers that the ladder measures with.
pub const RENDER: Render = Render { state, entry, input };

#[derive(Serialize)]
struct WireState<'s> {
    context: &'static str,
    goal: &'s str,
    history: Vec<WireEntry<'s>>,
}

#[derive(Serialize)]
struct WireEntry<'s> {
    i: usize,
    role: &'static str,
    text: &'s str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'s>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireCall<'s> {
    Parts { id: &'s str, tool: &'s str, input: &'s str, result: &'s str },
    Line(&'s str),
}

fn state(state: &ConversationState) -> String {
    let history = state.history.iter().map(wire_entry).collect();
    json(&WireState { context: CONTEXT, goal: &state.goal, history })
}

fn entry(entry: &ContextEntry) -> String {
    json(&wire_entry(entry))
}

fn wire_entry(entry: &ContextEntry) -> WireEntry<'_> {
    let role = if entry.role == Role::Assistant { "assistant" } else { "user" };
    let tool_calls = entry.calls.iter().map(|call| match call {
        StateCall::Parts { id, tool, input, result } => WireCall::Parts { id, tool, input, result },
        StateCall::Line(line) => WireCall::Line(line),
    });
    WireEntry { i: entry.message, role, text: &entry.text, tool_calls: tool_calls.collect() }
}

/// The arguments of a call as JSON again.
fn input(call: &Call<'_>) -> String {
    let fields = call.arguments.iter().map(|argument| {
        let value = match &argument.value {
            ArgumentValue::Text(text) => quote(text),
            ArgumentValue::Number(number) => number.to_string(),
            ArgumentValue::Other(json) => json.to_string(),
        };
        format!("{}:{value}", quote(&argument.name))
    });
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

/// Plain strings and numbers always serialize.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
