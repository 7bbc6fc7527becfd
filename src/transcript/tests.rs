//! What holds for every format: bytes that no edit names stay, notes are found again, and time grows with the input.

use super::*;

/// A conversation in which a call `c1` of the assistant was answered, in every format and shape.
const CONVERSATIONS: [&str; 12] = [
    // Claude Code.
    concat!(
        r#"{"type":"user","uuid":"p","parentUuid":null,"message":{"content":"hi"}}"#,
        "\n\nnot json\n",
        r#"{"type":"assistant","uuid":"a","parentUuid":"p","message":{"content":[{"type":"tool_use","id":"c1","name":"Read","input":{}}]}}"#,
        "\n",
        r#"{"type":"user","uuid":"r","parentUuid":"a","message":{"content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}}"#,
        "\n",
    ),
    // pi; no line feed at the end.
    concat!(
        r#"{"type":"message","id":"p","parentId":null,"message":{"role":"user","content":"hi"}}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":"p","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{}}]}}"#,
        "\n",
        r#"{"type":"message","id":"r","parentId":"a","message":{"role":"toolResult","toolCallId":"c1","content":[]}}"#,
    ),
    // Codex.
    concat!(
        r#"{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}"#,
        "\r\n",
        r#"{"type":"response_item","payload":{"type":"function_call","call_id":"c1","name":"shell","arguments":"{}"}}"#,
        "\r\n",
        r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"x"}}"#,
        "\r\n",
    ),
    // Anthropic's messages.
    r#"{"messages": [{"role":"user","content":[]}, {"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":{}}]}, {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"x"}]}]}"#,
    // OpenAI's responses.
    r#"{"input": [{"role":"user","content":"hi"}, {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"}, {"type":"function_call_output","call_id":"c1","output":"x"}]}"#,
    // OpenAI's messages: an empty list of calls; a text; `null`; no content, in three orders; parts; no parts.
    r#"[{"role":"user","content":"hi","tool_calls":[]},{"role":"assistant","content":"so","tool_calls":[{"id":"c1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"role":"assistant","tool_calls":[{"id":"c1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"tool_calls":[{"id":"c1","function":{"name":"f"}}],"role":"assistant"},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"role":"assistant","name":"n","tool_calls":[{"id":"c1","function":{"name":"f"}},{"id":"c2"}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"role":"assistant","content":[{"type":"text","text":"so"} ],"tool_calls":[{"id":"c1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
    r#"[{"role":"assistant","content":[],"tool_calls":[{"id":"c1","function":{"name":"f"}}]},{"role":"tool","tool_call_id":"c1","content":"x"}]"#,
];

/// The input after the edits.
fn written(document: &Document<'_>, edits: &[Edit]) -> String {
    String::from_utf8(document.write(edits).concat()).unwrap()
}

#[test]
fn without_edits_every_byte_stays() {
    for input in CONVERSATIONS {
        assert_eq!(written(&read(input.as_bytes()).unwrap(), &[]), input);
    }
}
