//! Text that looks like a credential: never written to the archive, never sent to a model.
//!
//! Better a harmless text too many than a key too few; nothing is decided by it but whether a copy is made.

use std::borrow::Cow;

/// What keys of known services begin with, and how many characters follow at least.
const PREFIXES: [(&str, usize); 14] = [
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("sk-", 20),
    ("sk_live_", 16),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("npm_", 30),
    ("eyJ", 40),
];

/// Words of names that hold secrets, in lower case.
const NAMES: [&str; 8] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "private_key"];

/// Shortest value that counts as the secret of such a name.
const MIN_VALUE: usize = 8;

/// What takes the place of a secret in a text that leaves the machine.
const REDACTED: &str = "[redacted]";

/// Whether a text holds something that looks like a credential. O(bytes × names).
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    text.contains("PRIVATE KEY-----") || text.split('\n').any(|line| secret_in(line).is_some())
}

/// The text with what looks like a credential replaced. O(bytes × names).
#[must_use]
pub fn redacted(text: &str) -> Cow<'_, str> {
    if !looks_secret(text) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<String> = text.split('\n').map(redacted_line).collect();
    Cow::Owned(lines.join("\n"))
}

fn redacted_line(line: &str) -> String {
    if line.contains("PRIVATE KEY-----") {
        return REDACTED.to_owned();
    }
    let (mut rest, mut output) = (line, String::new());
    while let Some((start, end)) = secret_in(rest) {
        output.push_str(&rest[..start]);
        output.push_str(REDACTED);
        rest = &rest[end..];
    }
    output + rest
}

/// Where the first secret of a line is.
fn secret_in(line: &str) -> Option<(usize, usize)> {
    let keys = PREFIXES.iter().filter_map(|&(prefix, length)| key(line, prefix, length));
    let values = NAMES.iter().filter_map(|name| value(line, name));
    keys.chain(values).min()
}

fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-./+=".contains(c)
}

/// A key with a known prefix that starts a word.
fn key(line: &str, prefix: &str, length: usize) -> Option<(usize, usize)> {
    line.match_indices(prefix).find_map(|(start, _)| {
        let is_word_start = !line[..start].ends_with(|c: char| c.is_ascii_alphanumeric());
        let body = &line[start + prefix.len()..];
        let end = body.find(|c| !is_key_char(c)).unwrap_or(body.len());
        (is_word_start && end >= length).then_some((start, start + prefix.len() + end))
    })
}

/// The value in `password = "…"` and its like; a value in code (`token: String`) is too short or too plain.
fn value(line: &str, name: &str) -> Option<(usize, usize)> {
    let lower = line.to_ascii_lowercase();
    lower.match_indices(name).find_map(|(at, _)| {
        let after = at + name.len();
        let rest = line[after..].trim_start_matches(['"', '\'', ' ']);
        let rest = rest.strip_prefix(['=', ':'])?.trim_start_matches(['"', '\'', ' ']);
        let start = line.len() - rest.len();
        let end = rest.find(|c| !is_key_char(c)).unwrap_or(rest.len());
        let has_digit = rest[..end].contains(|c: char| c.is_ascii_digit());
        let has_letter = rest[..end].contains(|c: char| c.is_ascii_alphabetic());
        (end >= MIN_VALUE && has_digit && has_letter).then_some((start, start + end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(redacted(text), expected);
        assert_eq!(looks_secret(text), text != expected);
    }

    #[test]
    fn keys_and_named_values_are_redacted() {
        check("key AKIAABCDEFGHIJKLMNOP.", "key [redacted]");
        check("DB_PASSWORD=\"hunter2hunter2\" x", "DB_PASSWORD=\"[redacted]\" x");
        check(
            "api_key: abc123def456, token=ghp_0123456789abcdefghij",
            "api_key: [redacted], token=[redacted]",
        );
        check("-----BEGIN PRIVATE KEY-----", "[redacted]");
    }

    #[test]
    fn code_about_tokens_is_no_secret() {
        for line in
            ["let token: String = next();", "max_tokens = 4096", "tokens: usize,", "task-list"]
        {
            check(line, line);
        }
    }
}
