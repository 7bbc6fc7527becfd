//! What holds for every format: bytes that no edit names stay, notes are found again, and time grows with the input.

use std::time::{Duration, Instant};

use super::wire::{self, Raw};
use super::*;
use crate::core::compact::apply::Change;
use crate::core::compact::transcript::{Part, Place};

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
fn written(document: &TranscriptFile<'_>, edits: &[Edit]) -> String {
    String::from_utf8(document.write(edits).concat()).unwrap()
}

/// Where the parts are that a closure accepts.
fn places(transcript: &Transcript<'_>, wanted: impl Fn(&Part<'_>) -> bool) -> Vec<Place> {
    transcript.parts().filter(|(_, _, part)| wanted(part)).map(|(at, _, _)| at).collect()
}

fn is_call(part: &Part<'_>) -> bool {
    matches!(part, Part::Call(call) if call.id == "c1")
}

#[test]
fn without_edits_every_byte_stays() {
    for input in CONVERSATIONS {
        assert_eq!(written(&read(input.as_bytes()).unwrap(), &[]), input);
    }
}

#[test]
fn a_note_in_place_of_a_call_is_found_again() {
    for input in CONVERSATIONS {
        let document = read(input.as_bytes()).unwrap();
        let result = places(&document.transcript, |part| matches!(part, Part::Result(_)));
        let note = |at| Edit { at, change: Change::Note("NOTE".to_owned()) };
        let drop = |at| Edit { at, change: Change::Drop };
        let calls = places(&document.transcript, is_call);
        assert_eq!((calls.len(), result.len()), (1, 1), "{input}");
        let edits: Vec<Edit> =
            calls.into_iter().map(note).chain(result.into_iter().map(drop)).collect();
        let output = written(&document, &edits);
        let after = read(output.as_bytes()).unwrap().transcript;
        let is_note = |part: &Part<'_>| matches!(part, Part::Text(text) if text.ends_with("NOTE"));
        assert_eq!(places(&after, is_note).len(), 1, "{output}");
        assert_eq!(output.matches("NOTE").count(), 1, "{output}");
        assert_eq!(
            output.matches("\"so\"").count() + output.matches("so\\n\\nNOTE").count(),
            input.matches("\"so\"").count(),
            "{output}"
        );
        assert_eq!(places(&after, is_call).len(), 0, "{output}");
        assert!(!output.contains("\"tool_calls\":[]") || input.contains("\"tool_calls\":[]"));
        for line in output.lines().filter(|line| line.starts_with(['{', '['])) {
            assert_names_differ(serde_json::from_str(line).unwrap());
        }
    }
}

/// No object has two fields of a name.
fn assert_names_differ(raw: Raw<'_>) {
    let fields = wire::fields(raw).unwrap_or_default();
    let mut names: Vec<&str> = fields.iter().map(|(name, _)| name.as_ref()).collect();
    names.sort_unstable();
    assert!(names.is_sorted_by(|a, b| a < b), "{raw}");
    let items = wire::list(raw).unwrap_or_default();
    fields.iter().map(|(_, value)| *value).chain(items).for_each(assert_names_differ);
}

/// A content that no text can hold is not given up for a note.
#[test]
fn a_note_replaces_nothing_that_cannot_be_read() {
    let input = r#"[{"role":"assistant","content":"\ud800 half","tool_calls":[{"id":"c1","function":{"name":"f"}}]}]"#;
    let document = read(input.as_bytes()).unwrap();
    let at = places(&document.transcript, is_call)[0];
    let output = written(&document, &[Edit { at, change: Change::Note("NOTE".to_owned()) }]);
    assert_eq!(output, r#"[{"role":"assistant","content":"\ud800 half"}]"#);
}

/// A line of pi's that names another.
fn pi_line(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"user","content":"x"}}}}"#
    ) + "\n"
}

/// Fifty times what any of these takes here; with a pass over the lines for each line they take from ten seconds to minutes.
const SOON: Duration = Duration::from_secs(5);

#[test]
fn many_lines_without_a_compaction_are_read_soon() {
    let input: String = (0..50_000).map(|i| pi_line(&i.to_string(), "p")).collect();
    let start = Instant::now();
    assert_eq!(read(input.as_bytes()).unwrap().transcript.messages.len(), 50_000);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// Drops the first lines, which are given as (id, parent); what the kept ones name then.
fn parents_after_loss(lost: &[(String, String)], kept: &[(String, String)]) -> Vec<String> {
    let lines = lost.iter().chain(kept).map(|(id, parent)| pi_line(id, parent));
    let input: String = lines.collect();
    let document = read(input.as_bytes()).unwrap();
    let drop = |message| Edit { at: Place { message, part: 0 }, change: Change::Drop };
    let edits: Vec<Edit> = (0..lost.len()).map(drop).collect();
    let start = Instant::now();
    let output = written(&document, &edits);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let parent = |line: &str| line.split('"').nth(11).unwrap().to_owned();
    output.lines().map(parent).collect()
}

#[test]
fn lines_behind_a_long_lost_chain_are_linked_soon() {
    let half = 20_000;
    let lost: Vec<_> = (0..half).map(|i| (format!("{}", i + 1), i.to_string())).collect();
    let kept: Vec<_> = (0..half).map(|i| (format!("k{i}"), (half - i % 2).to_string())).collect();
    assert_eq!(parents_after_loss(&lost, &kept), vec!["0"; half]);
}

#[test]
fn lost_lines_in_circles_hold_nothing_up() {
    let half = 20_000;
    let lost: Vec<_> = (0..half).map(|i| (i.to_string(), (i ^ 1).to_string())).collect();
    let kept: Vec<_> = (0..half).map(|i| (format!("k{i}"), i.to_string())).collect();
    for (i, parent) in parents_after_loss(&lost, &kept).iter().enumerate() {
        let parent: usize = parent.parse().unwrap();
        assert_eq!(parent / 2, i / 2, "a parent of another circle");
    }
}
