//! The JSON of Claude Code's hooks, as it defines it. Every input key is optional; unknown ones are ignored.

use serde::{Deserialize, Serialize};

/// What arrives on standard input.
#[derive(Debug, Default, Deserialize)]
pub struct Input {
    /// Which event.
    pub hook_event_name: Option<String>,
    /// The conversation.
    pub session_id: Option<String>,
    /// The session's working directory.
    pub cwd: Option<String>,
    /// The file that holds the conversation; it may not exist yet.
    pub transcript_path: Option<std::path::PathBuf>,
    /// `UserPromptSubmit`: what was typed, or what a machine wrote in its place.
    pub prompt: Option<String>,
    /// `UserPromptSubmit`: who wrote the prompt; declared by 2.1.287 and later, rarely sent. `SessionStart`: what
    /// the session starts from (`startup`, `resume`, `clear`, `compact`, `fork`).
    pub source: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Output<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_message: Option<&'a str>,
    hook_specific_output: SpecificOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpecificOutput<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

/// Reads the input of a hook.
///
/// # Errors
/// No JSON object, or a known key of another type.
pub fn input(bytes: &[u8]) -> serde_json::Result<Input> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    serde_json::from_slice(bytes)
}

/// One JSON object that adds context to the prompt, and a line for the person.
///
/// # Errors
/// None in practice: strings always have a JSON form.
pub fn prompt_output(context: &str, notice: Option<&str>) -> serde_json::Result<String> {
    let specific =
        SpecificOutput { hook_event_name: "UserPromptSubmit", additional_context: context };
    serde_json::to_string(&Output { system_message: notice, hook_specific_output: specific })
}

/// One JSON object that adds context at the start of a session.
///
/// # Errors
/// None in practice: strings always have a JSON form.
pub fn start_output(context: &str) -> serde_json::Result<String> {
    let specific = SpecificOutput { hook_event_name: "SessionStart", additional_context: context };
    serde_json::to_string(&Output { system_message: None, hook_specific_output: specific })
}
