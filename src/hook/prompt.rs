//! `UserPromptSubmit`: which prompts need files, and which do not.
//!
//! [`skip`] decides by the text alone and touches no file; a prompt that passes is ranked, and still gets nothing
//! when none of its words says anything about the project.

use std::fmt;

/// Fewer words than this name no task (the seed's rule).
const MIN_WORDS: usize = 4;

/// An acknowledgement of at most this many words is one; "stop writing to the event stream when the client has
/// gone" is a task (the seed's rule, after it had skipped that one).
const MAX_ACKNOWLEDGEMENT_WORDS: usize = 8;

/// How acknowledgements start.
const ACKNOWLEDGEMENTS: &[&str] = &[
    "thanks",
    "thank you",
    "thx",
    "ok",
    "okay",
    "yes",
    "yep",
    "yeah",
    "no",
    "nope",
    "sure",
    "great",
    "nice",
    "cool",
    "perfect",
    "continue",
    "go ahead",
    "go on",
    "proceed",
    "looks good",
    "lgtm",
    "sounds good",
    "do it",
    "commit",
    "push",
    "undo",
    "stop",
    "wait",
    "danke",
    "merci",
    "gracias",
];

/// First characters of what no person typed as a task: a command (`/init`), a machine's message
/// (`<task-notification>`), a shell line (`!ls`), a note to memory (`#`).
const NOT_A_TASK: &[char] = &['/', '<', '!', '#'];

/// Writers of prompts that are people. `sdk` is `claude -p`.
const HUMAN_SOURCES: &[&str] = &["user", "sdk"];

/// Why a prompt gets no files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// Nothing was typed.
    Empty,
    /// A command, a shell line or a machine's message.
    NotATask,
    /// Written by a schedule, another session or an agent.
    Machine,
    /// Too few words.
    Short,
    /// "thanks", "ok do it".
    Acknowledgement,
}

impl fmt::Display for Skip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Skip::Empty => f.write_str("the prompt is empty"),
            Skip::NotATask => {
                f.write_str("it starts like a command, a shell line or a machine's message")
            }
            Skip::Machine => f.write_str("no person wrote it"),
            Skip::Short => write!(f, "it has fewer than {MIN_WORDS} words"),
            Skip::Acknowledgement => f.write_str("it is an acknowledgement"),
        }
    }
}

/// Decides by the text alone. O(length) for the first few thousand characters.
#[must_use]
pub fn skip(prompt: &str, source: Option<&str>) -> Option<Skip> {
    let prompt = prompt.trim();
    if source.is_some_and(|source| !HUMAN_SOURCES.contains(&source)) {
        return Some(Skip::Machine);
    }
    if prompt.is_empty() {
        return Some(Skip::Empty);
    }
    if prompt.starts_with(NOT_A_TASK) {
        return Some(Skip::NotATask);
    }
    let words = words(prompt);
    if words < MIN_WORDS {
        return Some(Skip::Short);
    }
    if words <= MAX_ACKNOWLEDGEMENT_WORDS && starts_as_acknowledgement(prompt) {
        return Some(Skip::Acknowledgement);
    }
    None
}

fn starts_as_acknowledgement(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    ACKNOWLEDGEMENTS.iter().any(|start| {
        let rest = lower.strip_prefix(start);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Words between spaces; where a script has none, two characters are about a word. Counts no further than needed.
fn words(prompt: &str) -> usize {
    let enough = MAX_ACKNOWLEDGEMENT_WORDS + 1;
    let mut words = 0;
    for word in prompt.split_whitespace() {
        let unspaced = word.chars().take(4 * enough).filter(|&c| is_unspaced(c)).count();
        words += unspaced.div_ceil(2).max(1);
        if words >= enough {
            break;
        }
    }
    words
}

/// Scripts written without spaces: Chinese, Japanese, Korean (partly), Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    crate::core::tokenize::is_cjk(c)
        || matches!(c as u32, 0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_prompts_are_skipped() {
        let check = |prompt: &str, expected: Option<Skip>| {
            assert_eq!(skip(prompt, None), expected, "{prompt:?}");
        };
        check("", Some(Skip::Empty));
        check("  \n", Some(Skip::Empty));
        check("thanks", Some(Skip::Short));
        check("Thanks, that is exactly right!", Some(Skip::Acknowledgement));
        check("ok do it", Some(Skip::Short));
        check("OK, do it for all of them", Some(Skip::Acknowledgement));
        check("/init and then write docs", Some(Skip::NotATask));
        check("<task-notification>\n<task-id>b1</task-id> done and dusted", Some(Skip::NotATask));
        check("!ls -la the whole tree", Some(Skip::NotATask));
        check("# remember to use tabs here", Some(Skip::NotATask));
        check("fix the parser", Some(Skip::Short));
        check("fix the retry backoff", None);
        check("node crashes when closing twice", None);
        check("no_std build fails with alloc", None);
        check("stop writing to the event stream when the client has gone", None);
        check("修复登录页面的重试逻辑", None);
        check("好的，继续", Some(Skip::Short));
        check("リトライ処理のバックオフを直して", None);
        check("behebe den Absturz beim Start", None);
    }

    #[test]
    fn only_people_are_answered() {
        let prompt = "fix the retry backoff in the client";
        assert_eq!(skip(prompt, Some("user")), None);
        assert_eq!(skip(prompt, Some("sdk")), None);
        assert_eq!(skip(prompt, Some("loop_wakeup")), Some(Skip::Machine));
    }
}
