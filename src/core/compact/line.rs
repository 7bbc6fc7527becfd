//! What a line of tool output looks like: numbered by the Read tool, a definition, an error. Text in, answers out.

use super::token::is_word;

/// The line without the number that Claude Code's Read tool puts before it (`   12→` or `12⇥`).
#[must_use]
pub fn without_number(line: &str) -> &str {
    let after = |start: usize, is: fn(&u8) -> bool| {
        start + line.as_bytes()[start..].iter().take_while(|b| is(b)).count()
    };
    let spaces = after(0, |&b| b == b' ');
    let digits = after(spaces, u8::is_ascii_digit);
    let rest = &line[digits..];
    match rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t')) {
        Some(bare) if digits > spaces => bare,
        _ => line,
    }
}

/// Words that name a failure, in lower case; longest 9 letters.
const FAILURES: [&str; 10] = [
    "error",
    "fail",
    "failed",
    "failure",
    "panic",
    "fatal",
    "exception",
    "traceback",
    "undefined",
    "cannot",
];

/// Whether a word of the line names a failure.
#[must_use]
pub fn names_failure(line: &str) -> bool {
    line.split(|c: char| !is_word(c))
        .filter(|word| (4..=9).contains(&word.len()))
        .any(|word| FAILURES.iter().any(|failure| word.eq_ignore_ascii_case(failure)))
}

/// Words that may stand before the keyword of a definition.
const MODIFIERS: [&str; 6] = ["export", "pub", "async", "static", "public", "private"];
/// Keywords that open a definition or a test, in the languages of the measured transcripts and their neighbours.
const KEYWORDS: [&str; 18] = [
    "func",
    "fn",
    "def",
    "class",
    "type",
    "struct",
    "interface",
    "enum",
    "trait",
    "impl",
    "const",
    "var",
    "let",
    "module",
    "package",
    "test",
    "it",
    "describe",
];

/// Whether the line opens a definition.
#[must_use]
pub fn is_definition(line: &str) -> bool {
    let mut rest = without_number(line).trim_start();
    loop {
        let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        if KEYWORDS.contains(&word) {
            return true;
        }
        let after = rest[end..].trim_start();
        if !MODIFIERS.contains(&word) || after.len() == rest[end..].len() {
            return false;
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_read_tool_are_taken_off() {
        for (line, bare) in
            [("    12→\tlet x", "\tlet x"), ("7\tx", "x"), ("12 x", "12 x"), ("", ""), ("→", "→")]
        {
            assert_eq!(without_number(line), bare);
        }
    }

    #[test]
    fn failures_are_whole_words_in_any_case() {
        for line in ["ERROR: x", "--- FAIL: TestX", "it failed.", "a (fatal) b"] {
            assert!(names_failure(line), "{line}");
        }
        for line in ["error_code", "terror", "failing", "no problem"] {
            assert!(!names_failure(line), "{line}");
        }
    }

    #[test]
    fn definitions_may_be_numbered_and_modified() {
        for line in ["fn x()", "  12→pub fn x", "export async function", "\tdef f(self):"] {
            assert_eq!(is_definition(line), !line.contains("function"), "{line}");
        }
        assert!(is_definition("export const x = 1"));
        assert!(!is_definition("pubfn x"));
        assert!(!is_definition("return fn"));
    }
}
