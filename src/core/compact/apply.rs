//! Applying a plan: decisions in, edits out; and the transcript as it will be, for `validate` and for sizes.
//!
//! An edit never touches a text of the person or the model, and a result only loses lines. What would not get
//! smaller stays as it was.

use super::notes::{self, Note};
use super::pair::{Pair, Pairing};
use super::plan::{Kept, Outcome, Plan};
use super::transcript::{ArgumentValue, Message, Part, Place, Transcript, char_count};
use crate::core::text::lines::lines;

/// A change of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The part.
    pub at: Place,
    /// What becomes of it.
    pub change: Change,
}

/// What becomes of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The new text of a result.
    Text(String),
    /// The part goes.
    Drop,
    /// A call goes; this line stays in its message, so that the narration around it keeps its evidence.
    Note(String),
    /// New values of string arguments of a call, by index.
    Arguments(Vec<(usize, String)>),
}

/// The edits of a plan, in the order of the transcript. `archived[i]` is the id under which the archive holds the
/// result of pair `i`. O(bytes of the results that change).
#[must_use]
pub fn edits(pairing: &Pairing<'_, '_>, plan: &Plan, archived: &[Option<String>]) -> Vec<Edit> {
    let mut edits = Vec::new();
    for (i, (pair, decision)) in pairing.pairs.iter().zip(&plan.decisions).enumerate() {
        let id = archived.get(i).and_then(Option::as_deref);
        if !decision.stubs.is_empty() && decision.outcome != Outcome::DropCall {
            edits.extend(stub(pair, &decision.stubs));
        }
        match &decision.outcome {
            Outcome::Keep => {}
            Outcome::Excerpt(kept) => {
                let text = excerpt(pair, kept, decision.reason, id);
                if char_count(&text) < pair.result.chars {
                    edits.push(Edit { at: pair.result_at, change: Change::Text(text) });
                }
            }
            Outcome::DropCall => edits.extend(drop_call(pair, id)),
        }
    }
    edits.sort_by_key(|edit| edit.at);
    edits
}

/// The kept lines of a result below a note, a line for each gap between them.
fn excerpt(
    pair: &Pair<'_, '_>,
    kept: &[Kept],
    reason: super::plan::Reason,
    archived: Option<&str>,
) -> String {
    let text: &str = &pair.result.text;
    let lines: Vec<&str> = lines(text).collect();
    let kept_chars = kept.iter().map(|k| k.chars).sum();
    let is_error = pair.result.is_error;
    let said = Note { reason, kept_chars, chars: pair.result.chars, is_error, archived };
    let mut excerpt = notes::note(&said);
    let mut next = 0;
    for &Kept { line, chars } in kept {
        if line > next {
            excerpt.push('\n');
            excerpt.push_str(&notes::gap(line - next));
        }
        excerpt.push('\n');
        excerpt.push_str(first_chars(lines.get(line).copied().unwrap_or_default(), chars));
        next = line + 1;
    }
    if !kept.is_empty() && next < lines.len() {
        excerpt.push('\n');
        excerpt.push_str(&notes::gap(lines.len() - next));
    }
    excerpt
}

/// The first characters of a line; never half of one.
fn first_chars(line: &str, chars: usize) -> &str {
    if line.len() <= chars || char_count(line) <= chars {
        return line;
    }
    line.char_indices().nth(chars).map_or(line, |(end, _)| &line[..end])
}

/// Notes in place of arguments.
fn stub(pair: &Pair<'_, '_>, stubs: &[usize]) -> Option<Edit> {
    let note = |&index: &usize| match &pair.call.arguments.get(index)?.value {
        ArgumentValue::Text(text) => {
            let note = notes::stub(char_count(text));
            (char_count(&note) < char_count(text)).then_some((index, note))
        }
        ArgumentValue::Number(_) | ArgumentValue::Other(_) => None,
    };
    let values: Vec<(usize, String)> = stubs.iter().filter_map(note).collect();
    if values.is_empty() {
        None
    } else {
        Some(Edit { at: pair.call_at, change: Change::Arguments(values) })
    }
}

/// A call and its result go together, if the note that stays is shorter.
fn drop_call(pair: &Pair<'_, '_>, archived: Option<&str>) -> Vec<Edit> {
    let note = notes::dropped_call(pair, archived);
    if char_count(&note) >= pair.call.chars() + pair.result.chars {
        return Vec::new();
    }
    vec![
        Edit { at: pair.call_at, change: Change::Note(note) },
        Edit { at: pair.result_at, change: Change::Drop },
    ]
}

/// Edits that remove the thinking behind the first edited message. O(parts).
#[must_use]
pub fn stale_thinking(transcript: &Transcript<'_>, edits: &[Edit]) -> Vec<Edit> {
    let Some(first) = edits.iter().map(|edit| edit.at.message).min() else { return Vec::new() };
    let parts = transcript.parts().filter(|(at, _, _)| at.message > first);
    let thinking = parts.filter(|(_, _, part)| matches!(part, Part::Thinking));
    thinking.map(|(at, _, _)| Edit { at, change: Change::Drop }).collect()
}

/// The transcript with the edits applied; parts that went leave their message, and messages never go. Text is
/// borrowed from the transcript and from the edits.
#[must_use]
pub fn applied<'t>(transcript: &'t Transcript<'_>, edits: &'t [Edit]) -> Transcript<'t> {
    let mut next = edits.iter().peekable();
    let mut messages = Vec::with_capacity(transcript.messages.len());
    for (message, old) in transcript.messages.iter().enumerate() {
        let mut parts = Vec::with_capacity(old.parts.len());
        for (part, old) in old.parts.iter().enumerate() {
            let at = Place { message, part };
            let edit = next.next_if(|edit| edit.at == at);
            parts.extend(changed(old, edit.map(|edit| &edit.change)));
        }
        // What the API counted was there before the edits.
        let (role, is_meta, context_tokens) = (old.role, old.is_meta, None);
        messages.push(Message { role, is_meta, context_tokens, parts });
    }
    Transcript { messages }
}

/// A part after its change; `None` when it went.
fn changed<'t>(part: &'t Part<'_>, change: Option<&'t Change>) -> Option<Part<'t>> {
    let mut part = part.borrowed();
    match (change, &mut part) {
        (Some(Change::Drop), _) => return None,
        (Some(Change::Note(note)), _) => return Some(Part::Text(note.as_str().into())),
        (Some(Change::Text(text)), Part::Result(result)) => result.replace_text(text),
        (Some(Change::Arguments(values)), Part::Call(call)) => {
            for (index, value) in values {
                call.replace_argument(*index, value);
            }
        }
        (None | Some(Change::Text(_) | Change::Arguments(_)), _) => {}
    }
    Some(part)
}
