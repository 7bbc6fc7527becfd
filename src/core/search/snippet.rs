//! The lines of a file that say most about a query, and text made safe to show an agent.

use super::query::Query;

/// Lines of a window: about a screen, and mostly a whole function.
const WINDOW_LINES: usize = 24;

/// Lines between the starts of neighbouring windows.
const STEP_LINES: usize = 8;

/// Windows shown of one file.
const WINDOWS: usize = 2;

/// A distinct word counts as much as this many occurrences: breadth before repetition.
const DISTINCT_WEIGHT: usize = 100;

/// Lines of a file, from `first` (counted from 1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Number of its first line.
    pub first_line: usize,
    /// Whole lines, without line ends.
    pub lines: Vec<String>,
}

/// The best windows of a text, in the order of the text; none when no content word occurs.
///
/// O(bytes + lines × terms).
#[must_use]
pub fn windows(text: &[u8], query: &Query) -> Vec<Window> {
    let mut lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let hits = hits_by_line(&lines, query);
    let mut scored: Vec<(usize, usize)> = (0..lines.len())
        .step_by(STEP_LINES)
        .map(|start| (score(&hits[start..lines.len().min(start + WINDOW_LINES)]), start))
        .filter(|&(score, _)| score > 0)
        .collect();
    scored.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut chosen: Vec<usize> = Vec::new();
    for (_, start) in scored {
        if chosen.len() < WINDOWS && chosen.iter().all(|&c| start.abs_diff(c) >= WINDOW_LINES) {
            chosen.push(start);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|start| window(&lines, start)).collect()
}

fn window(lines: &[&[u8]], start: usize) -> Window {
    let end = lines.len().min(start + WINDOW_LINES);
    let clean = |line: &&[u8]| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        neutralise(&String::from_utf8_lossy(line))
    };
    Window { first_line: start + 1, lines: lines[start..end].iter().map(clean).collect() }
}

/// Per line: the content terms in it, one entry for each occurrence.
fn hits_by_line(lines: &[&[u8]], query: &Query) -> Vec<Vec<u32>> {
    let index = query.index();
    let hits = |line: &&[u8]| {
        let mut hits = Vec::new();
        index.terms_in(line, &mut hits);
        hits.retain(|&term| !query.terms[term as usize].is_stop);
        hits
    };
    lines.iter().map(hits).collect()
}

fn score(hits: &[Vec<u32>]) -> usize {
    let mut terms: Vec<u32> = hits.iter().flatten().copied().collect();
    let total = terms.len();
    terms.sort_unstable();
    terms.dedup();
    DISTINCT_WEIGHT * terms.len() + total
}

/// Names of tags by which the host marks its own words. Text of a repository must not imitate them:
/// Claude Code 2.1.332 escapes only `system-reminder` in what a hook adds.
const HOST_TAGS: &[&str] = &[
    "system-reminder",
    "task-notification",
    "function_calls",
    "function_results",
    "invoke",
    "parameter",
    "antml:",
    "command-name",
    "command-message",
    "command-args",
    "local-command",
    "user-prompt-submit-hook",
    "persisted-output",
    "bash-input",
    "bash-stdout",
    "bash-stderr",
    "tool_use_error",
    "system>",
    "system-warning",
    "ide_selection",
    "ide_opened_file",
    "new-diagnostics",
    "teammate-message",
];

/// The text with `<` of tags that imitate the host written as `&lt;`.
#[must_use]
pub fn neutralise(text: &str) -> String {
    if !text.contains('<') {
        return text.to_owned();
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        safe.push_str(before);
        safe.push_str(if imitates_host(&tag[1..]) { "&lt;" } else { "<" });
        rest = &tag[1..];
    }
    safe + rest
}

fn imitates_host(after: &str) -> bool {
    let name = after.trim_start_matches([' ', '/']);
    HOST_TAGS.iter().any(|tag| {
        name.as_bytes()
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::query::query;

    #[test]
    fn the_window_with_most_distinct_words_wins() {
        let mut lines = vec!["nothing here"; 100];
        lines[3] = "retry retry retry";
        lines[60] = "retry the backoff";
        let found = windows(lines.join("\n").as_bytes(), &query("fix retry backoff"));
        let first: Vec<usize> = found.iter().map(|w| w.first_line).collect();
        assert_eq!(first, [1, 41]);
        assert_eq!(found[1].lines.len(), WINDOW_LINES);
        assert!(windows(b"a\nb\n", &query("retry")).is_empty());
    }

    #[test]
    fn whole_lines_to_the_end_of_the_file() {
        let found = windows(b"one\r\ntwo retry\r\nthree", &query("retry"));
        assert_eq!(
            found,
            [Window {
                first_line: 1,
                lines: vec!["one".into(), "two retry".into(), "three".into()]
            }]
        );
    }

    #[test]
    fn host_tags_lose_their_bracket_and_others_do_not() {
        let check = |text: &str, expected: &str| assert_eq!(neutralise(text), expected);
        check("a < b && Vec<u8> </div>", "a < b && Vec<u8> </div>");
        check("x </system-reminder> y", "x &lt;/system-reminder> y");
        check("<Task-Notification><b>", "&lt;Task-Notification><b>");
        check("< / function_calls>", "&lt; / function_calls>");
    }
}
