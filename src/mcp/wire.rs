//! The JSON of JSON-RPC 2.0 and of the Model Context Protocol.
//!
//! Lines in, [`ClientMessage`]s out; results in, lines out. Messages of every version are accepted;
//! fields that an older version does not know are not sent. Nothing here decides anything.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value, json};

use super::arguments::{Parameter, ParameterKind};
use super::calls::CallProgress;
use super::tools::{Tool, ToolAnswer};

/// Codes of JSON-RPC 2.0, section 5.1.
pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;

/// A published version of the protocol. Versions are dates and compare as dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(&'static str);

impl Version {
    const ALL: [Version; 4] = [
        Version("2024-11-05"),
        Version("2025-03-26"),
        Version("2025-06-18"),
        Version("2025-11-25"),
    ];

    /// The newest supported version.
    pub(super) const NEWEST: Version = Version::ALL[3];

    /// The version a client asks for if it is supported, otherwise the newest one, as the protocol
    /// requires.
    pub(super) fn agreed(asked: &str) -> Version {
        Version::ALL.into_iter().find(|v| v.0 == asked).unwrap_or(Version::NEWEST)
    }

    /// Batches came with one version and were removed in the next.
    pub(super) fn has_batches(self) -> bool {
        self.0 == "2025-03-26"
    }

    fn has_annotations(self) -> bool {
        self.0 >= "2025-03-26"
    }

    fn has_titles(self) -> bool {
        self.0 >= "2025-06-18"
    }

    pub(super) fn has_structured_content(self) -> bool {
        self.0 >= "2025-06-18"
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// The id of a request or its progress token; echoed unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Id {
    Number(Number),
    Text(String),
}

/// One message of the client.
#[derive(Debug)]
pub(super) enum ClientMessage {
    /// Must be answered exactly once.
    Request { id: Id, method: String, params: Value },
    /// Must not be answered.
    Notification { method: String, params: Value },
    /// The answer to one of our requests; no result if it is an error.
    Response { id: Option<Id>, result: Option<Value> },
}

/// Why a message is answered with an error.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) id: Option<Id>,
    pub(super) code: i32,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(id: Option<Id>, code: i32, message: impl Into<String>) -> Failure {
        Failure { id, code, message: message.into() }
    }
}

/// One line of the client.
#[derive(Debug)]
pub(super) enum InputLine {
    One(ClientMessage),
    Batch(Vec<Result<ClientMessage, Failure>>),
}

/// Reads one line.
///
/// # Errors
/// Not JSON, or not a message.
pub(super) fn line(bytes: &[u8]) -> Result<InputLine, Failure> {
    let value = serde_json::from_slice(bytes.trim_ascii())
        .map_err(|error| Failure::new(None, PARSE_ERROR, format!("not JSON: {error}")))?;
    match value {
        Value::Array(members) => Ok(InputLine::Batch(members.into_iter().map(message).collect())),
        other => message(other).map(InputLine::One),
    }
}

fn message(value: Value) -> Result<ClientMessage, Failure> {
    let Value::Object(mut members) = value else {
        return Err(Failure::new(None, INVALID_REQUEST, "a message is a JSON object"));
    };
    let id = members.remove("id");
    if !members.contains_key("method")
        && ["result", "error"].iter().any(|k| members.contains_key(*k))
    {
        // Whatever its id is: an answer is never answered.
        let id = id.and_then(|id| serde_json::from_value(id).ok());
        return Ok(ClientMessage::Response { id, result: members.remove("result") });
    }
    let Ok(id) = id.map(serde_json::from_value::<Id>).transpose() else {
        return Err(Failure::new(None, INVALID_REQUEST, "an id is a string or a number"));
    };
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(Failure::new(id, INVALID_REQUEST, "jsonrpc must be \"2.0\""));
    }
    let params = members.remove("params").unwrap_or_default();
    match (members.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => {
            Ok(ClientMessage::Request { id, method, params })
        }
        (Some(Value::String(method)), None) => Ok(ClientMessage::Notification { method, params }),
        (_, id) => Err(Failure::new(id, INVALID_REQUEST, "a message has a method or a result")),
    }
}

/// Reads the parameters of a method.
///
/// # Errors
/// They do not fit the method; the message is for the error answer.
pub(super) fn params<T: DeserializeOwned>(params: Value) -> Result<T, String> {
    serde_json::from_value(params).map_err(|error| format!("invalid params: {error}"))
}

/// Parameters of `initialize`. A client that leaves something out gets the newest version and is
/// not asked for roots.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Initialize {
    pub(super) protocol_version: String,
    pub(super) capabilities: ClientCapabilities,
    pub(super) client_info: ClientInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientInfo {
    pub(super) name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ClientCapabilities {
    /// Present if the client can be asked for its roots.
    pub(super) roots: Option<Value>,
}

/// Parameters of `tools/call`.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object with the name of a tool")]
pub(super) struct ToolCallParams {
    pub(super) name: String,
    #[serde(default)]
    pub(super) arguments: Option<Map<String, Value>>,
    #[serde(rename = "_meta", default)]
    pub(super) meta: Option<Meta>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object")]
pub(super) struct Meta {
    #[serde(default)]
    pub(super) progress_token: Option<Id>,
}

/// Parameters of `notifications/cancelled`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Cancelled {
    pub(super) request_id: Id,
}

/// Result of `roots/list`.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Roots {
    pub(super) roots: Vec<RootUri>,
}

#[derive(Debug, Deserialize)]
pub(super) struct RootUri {
    pub(super) uri: String,
}

#[derive(Serialize)]
struct Success<'a, T> {
    jsonrpc: &'static str,
    id: &'a Id,
    result: T,
}

#[derive(Serialize)]
struct Failed<'a> {
    jsonrpc: &'static str,
    id: Option<&'a Id>,
    error: ErrorObject<'a>,
}

#[derive(Serialize)]
struct ErrorObject<'a> {
    code: i32,
    message: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    content: [Text<'a>; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a RawValue>,
    is_error: bool,
}

#[derive(Serialize)]
struct Text<'a> {
    r#type: &'static str,
    text: &'a str,
}

/// An encoded message: one line of JSON without the line feed. There are no errors in practice:
/// everything here has a JSON form.
pub(super) type Encoded = serde_json::Result<String>;

fn success(id: &Id, result: impl Serialize) -> Encoded {
    serde_json::to_string(&Success { jsonrpc: "2.0", id, result })
}

/// An error for an answer.
pub(super) fn failure(failure: &Failure) -> Encoded {
    let error = ErrorObject { code: failure.code, message: &failure.message };
    serde_json::to_string(&Failed { jsonrpc: "2.0", id: failure.id.as_ref(), error })
}

/// The answers of a batch as one line.
pub(super) fn batch(answers: &[String]) -> String {
    format!("[{}]", answers.join(","))
}

/// The answer to `ping`.
pub(super) fn ping_result(id: &Id) -> Encoded {
    success(id, json!({}))
}

/// The answer to `initialize`.
pub(super) fn initialize_result(id: &Id, version: Version, instructions: &str) -> Encoded {
    let server = json!({
        "name": env!("CARGO_PKG_NAME"),
        "title": "Context Packer",
        "version": env!("CARGO_PKG_VERSION"),
    });
    success(
        id,
        json!({
            "protocolVersion": version.0,
            "capabilities": { "tools": {} },
            "serverInfo": server,
            "instructions": instructions,
        }),
    )
}

/// The answer to `tools/list`.
pub(super) fn tools(id: &Id, tools: &[Tool], version: Version, is_structured: bool) -> Encoded {
    let tools: serde_json::Result<Vec<Value>> =
        tools.iter().map(|t| tool(t, version, is_structured)).collect();
    success(id, json!({ "tools": tools? }))
}

fn tool(tool: &Tool, version: Version, is_structured: bool) -> serde_json::Result<Value> {
    let mut entry = json!({
        "name": tool.name,
        "description": tool.description,
        "inputSchema": input_schema(tool.parameters),
    });
    if version.has_annotations() {
        entry["annotations"] = json!({
            "title": tool.title,
            "readOnlyHint": true,
            "destructiveHint": false,
            "idempotentHint": true,
            "openWorldHint": tool.is_open_world,
        });
    }
    if version.has_titles() {
        entry["title"] = json!(tool.title);
    }
    if is_structured {
        entry["outputSchema"] = serde_json::from_str(tool.output_schema)?;
    }
    Ok(entry)
}

fn input_schema(parameters: &[Parameter]) -> Value {
    let required: Vec<&str> = parameters.iter().filter(|p| p.is_required).map(|p| p.name).collect();
    let properties: Map<String, Value> =
        parameters.iter().map(|p| (p.name.to_owned(), property(p))).collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(parameter: &Parameter) -> Value {
    let mut schema = match parameter.kind {
        ParameterKind::Text if parameter.is_required => json!({ "type": "string", "minLength": 1 }),
        ParameterKind::Text => json!({ "type": "string" }),
        ParameterKind::Choice(names) => json!({ "type": "string", "enum": names }),
        ParameterKind::Number { min, max, default } => {
            json!({ "type": "integer", "minimum": min, "maximum": max, "default": default })
        }
        ParameterKind::Switch => json!({ "type": "boolean", "default": false }),
    };
    schema["description"] = json!(parameter.description);
    schema
}

/// The answer to `tools/call`: the result of a tool, or, for the model, why it did not run.
pub(super) fn tool_result(
    id: &Id,
    answer: &Result<ToolAnswer, String>,
    is_structured: bool,
) -> Encoded {
    let (text, structured_content, is_error) = match answer {
        Ok(answer) => (&answer.text, is_structured.then_some(&*answer.structured), false),
        Err(message) => (message, None, true),
    };
    let content = [Text { r#type: "text", text }];
    success(id, CallResult { content, structured_content, is_error })
}

/// Our question for the client's roots.
pub(super) fn ask_for_roots(id: &Id) -> Encoded {
    serde_json::to_string(&json!({ "jsonrpc": "2.0", "id": id, "method": "roots/list" }))
}

/// The progress of a call.
pub(super) fn progress(token: &Id, progress: &CallProgress) -> Encoded {
    let CallProgress { done, total, message } = progress;
    serde_json::to_string(&json!({
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": { "progressToken": token, "progress": done, "total": total, "message": message },
    }))
}
