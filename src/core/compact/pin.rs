//! Pinning: which pairs no policy may touch, and why. Input: a transcript and its pairs. Output: a reason for each pinned
//! pair, `None` for the others.

use super::notes::is_already_pruned;
use super::pair::{Flaw, Irregular, Pair, Pairing};
use super::plan::Reason;
use super::transcript::{Message, Role, Transcript};

/// How much of the end of a transcript is pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinOptions {
    /// The newest messages: a pair with a call or a result in one of them is pinned.
    pub recent_messages: usize,
    /// The newest answered calls.
    pub recent_calls: usize,
    /// Pin the first message and the tools whose results hold what nobody can get again.
    pub protect: bool,
}

/// Results that a person, a plan or another model gave, or that the host keeps as memory: not to be had again.
const PROTECTED: [&str; 9] = [
    "AskUserQuestion",
    "ExitPlanMode",
    "EnterPlanMode",
    "Skill",
    "SlashCommand",
    "memory",
    "ToolSearch",
    "Task",
    "Agent",
];

/// A reason for each pinned pair. O(parts).
#[must_use]
pub fn pinned(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    options: PinOptions,
) -> Vec<Option<Reason>> {
    let pairs = &pairing.pairs;
    let newest_call = pairs.len().saturating_sub(options.recent_calls);
    let newest_message = recent_start(transcript, options.recent_messages);
    let running = running_from(transcript, pairing);
    let latest_todo = pairs.iter().rposition(|pair| pair.call.tool == "TodoWrite");
    let reason = |i: usize, pair: &Pair<'_, '_>| {
        let is_recent = i >= newest_call
            || pair.result_at.message >= newest_message.min(running)
            || pair.call_at.message >= newest_message.min(running)
            || (options.protect && pair.call_at.message == 0);
        let is_protected = options.protect && (is_protected(pair) || latest_todo == Some(i));
        match () {
            () if pair.result.is_opaque => Some(Reason::Opaque),
            () if is_already_pruned(&pair.result.text) => Some(Reason::AlreadyPruned),
            () if is_recent => Some(Reason::Recent),
            () if is_protected => Some(Reason::Protected),
            () => None,
        }
    };
    pairs.iter().enumerate().map(|(i, pair)| reason(i, pair)).collect()
}

/// Index of the first of the newest messages; all of them when there are no more.
fn recent_start(transcript: &Transcript<'_>, recent: usize) -> usize {
    transcript.messages.len().saturating_sub(recent)
}

fn is_protected(pair: &Pair<'_, '_>) -> bool {
    let tool: &str = &pair.call.tool;
    PROTECTED.contains(&tool) || (tool.starts_with("mcp__") && tool.contains("memory"))
}

/// The first message of the newest group of calls while one of them still runs; past the end when none does.
/// Its finished siblings must stay beside it.
fn running_from(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>) -> usize {
    let messages = &transcript.messages;
    let is_assistant = |m: &Message<'_>| m.role == Role::Assistant;
    let Some(last) = messages.iter().rposition(is_assistant) else { return usize::MAX };
    let before = messages[..last].iter().rposition(|m| !is_assistant(m));
    let start = before.map_or(0, |user| user + 1);
    let is_running = |i: &Irregular| i.flaw == Flaw::Unanswered && i.at.message >= start;
    if pairing.irregular.iter().any(is_running) { start } else { usize::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::compact::pair::pair;
    use crate::core::compact::testing::{assistant, call, result, text, user};

    const SEED: PinOptions = PinOptions { recent_messages: 2, recent_calls: 0, protect: true };

    fn check(transcript: &Transcript<'_>, expected: &[Option<Reason>]) {
        let pairing = pair(transcript);
        assert_eq!(pinned(transcript, &pairing, SEED), expected);
    }

    #[test]
    fn recent_protected_and_the_rest() {
        let turn = |id: &'static str, tool: &'static str| {
            [assistant(vec![call(id, tool)]), user(vec![result(id, "x")])]
        };
        let mut messages = vec![user(vec![text("go")])];
        messages.extend(turn("a", "Read"));
        messages.extend(turn("b", "Task"));
        messages.extend(turn("c", "Read"));
        let transcript = Transcript { messages };
        check(&transcript, &[None, Some(Reason::Protected), Some(Reason::Recent)]);
    }

    #[test]
    fn the_siblings_of_a_running_call_are_pinned() {
        let mut messages = vec![user(vec![text("go")])];
        messages.push(assistant(vec![call("a", "Read"), call("b", "Bash")]));
        messages.push(user(vec![result("a", "x")]));
        messages.extend([assistant(vec![text("…")]), assistant(vec![text("…")])]);
        let transcript = Transcript { messages };
        check(&transcript, &[None]);
        let transcript = Transcript { messages: transcript.messages[..3].to_vec() };
        check(&transcript, &[Some(Reason::Recent)]);
    }
}
