//! Distinctive tokens: the paths, identifiers and hashes of a line by which an agent refers to things.
//!
//! One pass over the bytes of a line; no allocation besides the caller's list. Plain words are not reported.

use crate::core::text::tokenize::identifier_end;

/// Shortest identifier looked at; shorter ones are words.
const MIN_IDENTIFIER: usize = 6;
/// Shortest and longest run of hexadecimal digits that counts as a hash: git's abbreviated and full object names.
const HASH: std::ops::RangeInclusive<usize> = 7..=40;
/// Shortest name that is distinctive by its shape; measured together with the selector.
const MIN_NAME: usize = 8;
/// Shortest path that is distinctive (`a/b.rs`).
const MIN_PATH: usize = 6;

/// What a distinctive token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier.
    Name,
    /// A path.
    Path,
    /// Hexadecimal digits alone.
    Hash,
}

impl TokenKind {
    /// The kind of a distinctive token.
    #[must_use]
    pub fn of(token: &str) -> TokenKind {
        match token {
            _ if token.contains('/') => TokenKind::Path,
            _ if token.bytes().all(|b| b.is_ascii_hexdigit()) => TokenKind::Hash,
            _ => TokenKind::Name,
        }
    }
}

/// Bits of [`CLASS`]: what an ASCII character may stand in.
const SEGMENT: u8 = 1;
const FOLDER: u8 = 2;
const HEX: u8 = 4;

/// Class of every byte, 0 beyond ASCII. A table: every byte of a transcript is looked up several times.
static CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let b = byte as u8;
        let is_segment = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'@' | b'-');
        let is_hex = b.is_ascii_digit() || matches!(b, b'a'..=b'f');
        table[byte] = is_segment as u8 * SEGMENT
            + (is_segment || b == b'~') as u8 * FOLDER
            + is_hex as u8 * HEX;
        byte += 1;
    }
    table
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[usize::from(byte)] & class != 0
}

/// Calls `found` for every distinctive token of a line, in order, without dots at its ends. O(bytes).
pub fn each_token<'t>(line: &'t str, mut found: impl FnMut(&'t str)) {
    let bytes = line.as_bytes();
    let (mut at, mut no_path_until) = (0, 0);
    while at < bytes.len() {
        if bytes[at].is_ascii() && !is(bytes[at], FOLDER) {
            // No token starts with it.
            at += 1;
            continue;
        }
        at = match token_end(line, at, &mut no_path_until) {
            Ok((end, is_path)) => {
                let token = &line[at..end];
                if is_distinctive(token, is_path) {
                    found(if is_path { token.trim_matches('.') } else { token });
                }
                end
            }
            Err(next) => next,
        };
    }
}

/// The end of the token that starts here, and whether it is a path; or where the next may start. A path wins over an
/// identifier, an identifier over a hash.
fn token_end(line: &str, at: usize, no_path_until: &mut usize) -> Result<(usize, bool), usize> {
    let bytes = line.as_bytes();
    let name = identifier_end(bytes, at);
    let goes_on = |&byte: &u8| !byte.is_ascii() || is(byte, FOLDER) || byte == b'/';
    if at >= *no_path_until && (name == at || bytes.get(name).is_some_and(goes_on)) {
        match path_end(line, at) {
            Ok(end) => return Ok((end, true)),
            Err(until) => *no_path_until = until.max(at + 1),
        }
    }
    let digits = bytes[at..name].iter().take_while(|b| b.is_ascii_digit()).count();
    if digits == 0 && name - at >= MIN_IDENTIFIER {
        return Ok((name, false));
    }
    if let Some(end) = hash_end(line, at) {
        return Ok((end, false));
    }
    // Digits may stand before a name; the rest of a name that is too short is none.
    let skipped = if digits > 0 { digits } else { name - at };
    Err(at + skipped.max(char_len(bytes[at])))
}

/// `(segment/)+ segment`: the end of the longest path from here, or up to where no path can start.
fn path_end(line: &str, at: usize) -> Result<usize, usize> {
    let bytes = line.as_bytes();
    let first = segment_end(line, at, FOLDER);
    if first == at || bytes.get(first) != Some(&b'/') {
        return Err(first);
    }
    let (mut slash, mut best) = (first, None);
    loop {
        let last = segment_end(line, slash + 1, SEGMENT);
        if last > slash + 1 {
            best = Some(last);
        }
        let next = segment_end(line, slash + 1, FOLDER);
        if next == slash + 1 || bytes.get(next) != Some(&b'/') {
            // Where this chain has no last segment, one that starts later in it has none either.
            return best.ok_or(slash);
        }
        slash = next;
    }
}

/// The end of a run of characters of file names or of folders; these alone may hold a `~`.
fn segment_end(line: &str, at: usize, class: u8) -> usize {
    let bytes = line.as_bytes();
    let mut end = at;
    while let Some(&byte) = bytes.get(end) {
        if byte.is_ascii() {
            if !is(byte, class) {
                break;
            }
            end += 1;
        } else {
            match line[end..].chars().next() {
                Some(c) if c.is_alphanumeric() => end += c.len_utf8(),
                _ => break,
            }
        }
    }
    end
}

/// The end of a hash that is a word of its own.
fn hash_end(line: &str, at: usize) -> Option<usize> {
    let bytes = line.as_bytes();
    if !is(bytes[at], HEX) || line[..at].chars().next_back().is_some_and(is_word) {
        return None;
    }
    let end = at + bytes[at..].iter().take_while(|&&b| is(b, HEX)).count();
    let is_whole = !line[end..].chars().next().is_some_and(is_word);
    (is_whole && HASH.contains(&(end - at))).then_some(end)
}

/// A letter, a digit or an underscore, of any script.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn char_len(first: u8) -> usize {
    match first {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
    }
}

/// A path, a hash of seven, or a name of eight or more with an inner underscore, a digit or camel case. What is no path is
/// ASCII.
fn is_distinctive(token: &str, is_path: bool) -> bool {
    if is_path {
        return token.chars().count() >= MIN_PATH;
    }
    let bytes = token.as_bytes();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    if bytes.len() < MIN_NAME {
        let is_hash = bytes.len() == *HASH.start() && bytes.iter().all(|&b| is(b, HEX));
        return is_hash && has_digit && bytes.iter().any(u8::is_ascii_alphabetic);
    }
    let is_camel = |w: &[u8]| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase();
    let is_joined = || token.trim_matches('_').bytes().any(|b| b == b'_');
    has_digit || bytes.windows(2).any(is_camel) || is_joined()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let mut tokens = Vec::new();
        each_token(line, |token| tokens.push(token));
        assert_eq!(tokens, expected, "{line:?}");
    }

    #[test]
    fn paths_identifiers_and_hashes() {
        check("see src/core/mod.rs.", &["src/core/mod.rs"]);
        check("/usr/bin/env python3", &["usr/bin/env"]);
        check("a//b c/ ~/x/y~ ~/home/file.txt", &["~/home/file.txt"]);
        check("fn read_config(maxTokens: usize)", &["read_config", "maxTokens"]);
        check("plain words only, sentences", &[]);
        check("commit 1a2b3c4 by 0123456 abcdef0", &["1a2b3c4", "abcdef0"]);
        check("9abcdef_gh", &["abcdef_gh"]);
        check("12345678 v12345678", &["12345678", "v12345678"]);
        check("largé_name/ünï.rs", &["largé_name/ünï.rs"]);
    }

    #[test]
    fn kinds_are_told_by_their_characters() {
        for (token, kind) in [
            ("src/lib.rs", TokenKind::Path),
            ("1a2b3c4", TokenKind::Hash),
            ("read_config", TokenKind::Name),
            ("sha256sum", TokenKind::Name),
        ] {
            assert_eq!(TokenKind::of(token), kind, "{token}");
        }
    }

    #[test]
    fn long_runs_without_a_token_stay_linear() {
        let line = format!("{}/ {}", "-".repeat(200_000), "~/".repeat(100_000));
        check(&line, &[]);
        check(&"7".repeat(200_000), &[]);
    }
}
