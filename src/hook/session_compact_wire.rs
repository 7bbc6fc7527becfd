//! What the function hook of Claude Code hands over and takes back: JSON names, and rows as typed messages.
//!
//! One row for each content block; a tool result is a row of its own. A row is handed back as its number (the engine's own
//! row, handle and all) or as a row built anew.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::core::compact::transcript::{Call, Message, Part, Role, ToolResult, Transcript};
use crate::transcript::wire::{self, Raw};

/// The shim's object.
#[derive(Debug, Deserialize)]
pub(super) struct CompactRequest<'a> {
    /// `manual`, `auto`, `plugin` or `precompute`.
    #[serde(default, borrow)]
    pub(super) trigger: Option<Raw<'a>>,
    /// The plugin's options, defaults filled in.
    #[serde(default)]
    pub(super) options: BTreeMap<String, serde_json::Value>,
    /// The conversation.
    #[serde(borrow)]
    pub(super) messages: Vec<HostRow<'a>>,
}

/// One row of the conversation, as the engine gives it.
#[derive(Debug, Deserialize)]
pub(super) struct HostRow<'a> {
    #[serde(borrow)]
    role: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(borrow, default, rename = "toolUses")]
    tool_uses: Vec<HostToolUse<'a>>,
    #[serde(borrow, default, rename = "toolResults")]
    tool_results: Option<Vec<CompactAnswer<'a>>>,
}

#[derive(Debug, Deserialize)]
struct HostToolUse<'a> {
    #[serde(borrow)]
    tool_use_id: Raw<'a>,
    #[serde(borrow)]
    tool: Raw<'a>,
    #[serde(borrow)]
    input: Option<Raw<'a>>,
}

#[derive(Debug, Deserialize)]
struct CompactAnswer<'a> {
    #[serde(borrow)]
    tool_use_id: Raw<'a>,
    #[serde(borrow)]
    text: Raw<'a>,
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow)]
    result: Option<Raw<'a>>,
}

#[derive(Debug, Deserialize)]
struct Typed<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
}

/// Kinds of the engine's own results that hold more than text.
const OPAQUE_RESULTS: [&str; 4] = ["image", "pdf", "parts", "document"];

/// What becomes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    /// The engine's own row: the person's words, and what text cannot carry.
    Own,
    /// The model's: built anew.
    Assistant,
    /// Results of tools: built anew.
    Results,
}

impl<'a> HostRow<'a> {
    pub(super) fn kind(&self) -> RowKind {
        let results = self.tool_results.as_deref().unwrap_or_default();
        if wire::text(self.text).is_none() {
            return RowKind::Own;
        }
        match self.role.get() {
            "\"assistant\"" => RowKind::Assistant,
            _ if results.is_empty() || self.text.get() != "\"\"" => RowKind::Own,
            _ if results.iter().any(CompactAnswer::is_opaque) => RowKind::Own,
            _ => RowKind::Results,
        }
    }

    /// The arguments of its calls, as they came.
    pub(super) fn inputs(&self) -> Vec<Cow<'a, RawValue>> {
        let input = |call: &HostToolUse<'a>| Cow::Borrowed(call.input.unwrap_or(RawValue::NULL));
        self.tool_uses.iter().map(input).collect()
    }
}

impl CompactAnswer<'_> {
    fn is_opaque(&self) -> bool {
        let is_opaque = |raw: Raw<'_>| match serde_json::from_str::<Typed<'_>>(raw.get()) {
            Ok(Typed { kind: Some(kind) }) => {
                wire::text(kind).is_some_and(|kind| OPAQUE_RESULTS.contains(&kind.as_ref()))
            }
            _ => false,
        };
        let in_result = self.result.is_some_and(|result| match wire::list(result) {
            Some(items) => items.into_iter().any(is_opaque),
            None => is_opaque(result),
        });
        in_result || wire::text(self.text).is_none()
    }
}

/// The rows as typed messages: text first, then calls, then results. Results in a row that the engine must keep are
/// marked as opaque. O(bytes).
pub(super) fn transcript<'a>(rows: &[HostRow<'a>]) -> Transcript<'a> {
    Transcript { messages: rows.iter().map(message).collect() }
}

fn message<'a>(row: &HostRow<'a>) -> Message<'a> {
    let is_assistant = row.role.get() == "\"assistant\"";
    let role = if is_assistant { Role::Assistant } else { Role::User };
    let text = wire::text(row.text).filter(|text| !text.is_empty());
    let mut parts: Vec<Part<'a>> = text.map(Part::Text).into_iter().collect();
    for call in &row.tool_uses {
        let (arguments, json_chars) = call.input.map_or((Vec::new(), 2), wire::arguments);
        let tool = wire::text(call.tool).unwrap_or_default();
        let id = wire::text(call.tool_use_id).unwrap_or_default();
        parts.push(Part::Call(Call { id, tool, arguments, json_chars, is_editable: true }));
    }
    let is_opaque = row.kind() == RowKind::Own;
    for answer in row.tool_results.as_deref().unwrap_or_default() {
        let id = wire::text(answer.tool_use_id).unwrap_or_default();
        let text = wire::text(answer.text).unwrap_or_default();
        let is_error = answer.is_error.unwrap_or(false);
        parts.push(Part::Result(ToolResult::new(id, text, is_error, is_opaque)));
    }
    Message::new(role, parts)
}

/// The program's answer.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum HostResponse<'a> {
    /// The new conversation.
    Rows {
        rows: Vec<NewRow<'a>>,
        toast: String,
        log: Vec<String>,
        #[serde(rename = "tokensBefore")]
        tokens_before: usize,
        #[serde(rename = "tokensAfter")]
        tokens_after: usize,
    },
    /// Let the host compact by itself, and say this.
    Fallback { fallback: String, toast: String, log: Vec<String> },
}

/// A row of the new conversation.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum NewRow<'a> {
    /// The engine's own row with this number.
    Own(usize),
    /// A row built anew.
    Built(BuiltRow<'a>),
}

/// A row built anew; rows without text, calls and results are never sent.
#[derive(Debug, Default, Serialize)]
pub(super) struct BuiltRow<'a> {
    pub(super) role: &'static str,
    pub(super) text: String,
    #[serde(rename = "toolUses")]
    pub(super) tool_uses: Vec<NewUse<'a>>,
    #[serde(rename = "toolResults", skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_results: Vec<NewAnswer<'a>>,
}

#[derive(Debug, Serialize)]
pub(super) struct NewUse<'a> {
    pub(super) tool_use_id: &'a str,
    pub(super) tool: &'a str,
    pub(super) input: &'a RawValue,
}

#[derive(Debug, Serialize)]
pub(super) struct NewAnswer<'a> {
    pub(super) tool_use_id: &'a str,
    pub(super) text: &'a str,
    #[serde(rename = "isError")]
    pub(super) is_error: bool,
}
