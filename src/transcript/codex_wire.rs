//! Codex's rollout file: one JSON object a line; the conversation is its response items after the last compaction.

use std::ops::Range;

use serde::Deserialize;

use super::layout::{ItemAt, Layout};
use super::responses_wire;
use super::wire::{self, Raw};
use crate::core::compact::transcript::Transcript;

#[derive(Debug, Deserialize)]
struct RolloutRow<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Raw<'a>>,
    #[serde(borrow)]
    payload: Option<Raw<'a>>,
}

/// Whether a line is one of a rollout.
pub(super) fn is_line(line: &[u8]) -> bool {
    const KINDS: [&str; 5] =
        ["session_meta", "response_item", "event_msg", "turn_context", "compacted"];
    let Some(RolloutRow { kind, payload: Some(_) }) = wire::row(line) else { return false };
    KINDS.iter().any(|expected| wire::is(kind, expected))
}

/// The live conversation. List 0 of the layout is the lines. O(bytes).
pub(super) fn read<'a>(
    input: &'a [u8],
    lines: &[Range<usize>],
    layout: &mut Layout,
) -> Transcript<'a> {
    let mut transcript = Transcript::default();
    for (index, range) in lines.iter().enumerate() {
        let Some(RolloutRow { kind, payload: Some(payload) }) = wire::row(&input[range.clone()])
        else {
            continue;
        };
        if wire::is(kind, "compacted") {
            transcript.messages.clear();
            layout.parts.clear();
        }
        if !wire::is(kind, "response_item") {
            continue;
        }
        let item = ItemAt { list: 0, item: index };
        if let Some((message, spans)) = responses_wire::message(input, payload, item) {
            transcript.messages.push(message);
            layout.parts.push(spans);
        }
    }
    transcript
}
