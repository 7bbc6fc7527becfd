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

/// What somebody asks for after a "yes, …": then it is a task, however short.
const WORK: &[&str] = &[
    "fix",
    "add",
    "remove",
    "implement",
    "refactor",
    "rename",
    "change",
    "update",
    "write",
    "move",
    "replace",
    "delete",
    "improve",
];
/// How many words after the opening may come before it ("yes please now fix …").
const WORK_REACH: usize = 3;

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
    if prompt.starts_with(NOT_A_TASK) && !starts_as_path(prompt) {
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

/// `/etc/hosts`: no command has a second slash.
fn starts_as_path(prompt: &str) -> bool {
    let first = prompt.split_whitespace().next().unwrap_or_default();
    first.strip_prefix('/').is_some_and(|rest| rest.contains('/'))
}

fn starts_as_acknowledgement(prompt: &str) -> bool {
    let lower = prompt.to_lowercase();
    let is_end = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let rests = ACKNOWLEDGEMENTS.iter().filter_map(|start| lower.strip_prefix(start));
    let mut rests = rests.filter(|rest| is_end(rest)).peekable();
    rests.peek().is_some() && !rests.any(asks_for_work)
}

fn asks_for_work(rest: &str) -> bool {
    let words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(WORK_REACH).any(|word| WORK.contains(&word))
}

/// Words between spaces; where a script has none, two characters are about a word, and what stands in another script between
/// them is one. Counts no further than needed.
fn words(prompt: &str) -> usize {
    let enough = MAX_ACKNOWLEDGEMENT_WORDS + 1;
    let mut words = 0;
    for word in prompt.split_whitespace() {
        let word = word.char_indices().nth(4 * enough).map_or(word, |(end, _)| &word[..end]);
        let unspaced = word.chars().filter(|&c| is_unspaced(c)).count();
        let is_letter = |run: &&str| run.contains(char::is_alphanumeric);
        let others = word.split(is_unspaced).filter(is_letter).count();
        words += if unspaced == 0 { 1 } else { unspaced.div_ceil(2) + others };
        if words >= enough {
            break;
        }
    }
    words
}

/// Scripts written without spaces: Chinese, Japanese, Korean (partly), Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    crate::core::text::tokenize::is_cjk(c)
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
        check("/etc/hosts style paths break the router", None);
        check("yes please fix the cookie parser", None);
        check("ok, now rename the cookie helper", None);
        check("ok commit it and push to main", Some(Skip::Acknowledgement));
        check("修复cookie解析错误", None);
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
