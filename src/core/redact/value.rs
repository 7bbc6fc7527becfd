//! Values that are credentials by the name they are given to: quoted literals and bare values.
//!
//! In: a text and one of its lines. Out: where such values are.

use std::ops::Range;

use super::MIN_RANDOM_LITERAL;
use super::token::{LITERAL_ENTROPY, entropy, is_word};

/// A name that holds one of these is given a secret: any literal of six characters or more.
const SECRET_NAMES: &[&str] = &["password", "passwd", "passphrase", "secret", "credential"];
/// A name that holds one of these may be given a secret: only a literal that looks random counts,
/// because lexers have tokens and maps have keys.
const MAYBE_NAMES: &[&str] = &["token", "apikey", "api_key", "api-key", "accesskey", "access_key"];
const MAYBE_NAMES_MORE: &[&str] =
    &["private_key", "privatekey", "auth", "signing_key", "account_key"];

/// Shortest literal after a secret's name that is hidden; `""`, `"x"` and `"test"` are not secrets.
const MIN_LITERAL: usize = 6;
/// How far before a literal the name that it is given to may start.
const NAME_REACH: usize = 64;

/// Quoted literals of a line that are given to a secret's name.
pub(super) fn literals(text: &str, line: Range<usize>, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut at = line.start;
    while let Some(quote) = memchr::memchr3(b'"', b'\'', b'`', &bytes[at..line.end]) {
        let quote = at + quote;
        at = quote + 1;
        let Some(length) = memchr::memchr(bytes[quote], &bytes[at..line.end]) else {
            return;
        };
        let (name, literal) = (name_before(text, line.start, quote), &text[at..at + length]);
        if is_secret_value(name, literal) {
            found.push(at..at + length);
        }
        // A key in quotes (`"password": "x"`) is part of the name of the next literal.
        at += length + 1;
    }
}

/// The text before a literal, back to the start of its statement but not further than [`NAME_REACH`].
fn name_before(text: &str, line_start: usize, quote: usize) -> &str {
    let mut from = quote.saturating_sub(NAME_REACH).max(line_start);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = text[from..quote].trim_end();
    if !before.ends_with(['=', ':', '(', '>']) {
        return "";
    }
    before.rsplit([';', ',', '{']).next().unwrap_or(before)
}

/// `NAME=value` and `name: value` without quotes, as in shell, dotenv, YAML and command lines.
pub(super) fn bare_values(text: &str, line: Range<usize>, found: &mut Vec<Range<usize>>) {
    for at in memchr::memchr2_iter(b'=', b':', text[line.clone()].as_bytes()) {
        let after = &text[line.start + at + 1..line.end];
        let start = line.end - after.trim_start().len();
        let is_plain = |b: &u8| is_word(*b) || b"=!#@%".contains(b);
        let length = text.as_bytes()[start..line.end].iter().take_while(|b| is_plain(b)).count();
        if length < MIN_LITERAL {
            continue;
        }
        let before = text[line.start..line.start + at].trim_end_matches([' ', '"', '\'']);
        let name =
            before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).next();
        let value = &text[start..start + length];
        let is_call = text[start + length..line.end].starts_with(['(', '[', ':']);
        let looks_random =
            || value.bytes().any(|b| b.is_ascii_digit()) && entropy(value.as_bytes()) >= 2.5;
        if !is_call && is_secret_value(name.unwrap_or_default(), value) && looks_random() {
            found.push(start..start + length);
        }
    }
}

fn is_secret_value(name: &str, value: &str) -> bool {
    if value.len() < MIN_LITERAL
        || value.contains(char::is_whitespace)
        || value.contains(['$', '{', '<'])
    {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
    let looks_random = || {
        value.len() >= MIN_RANDOM_LITERAL
            && value.bytes().any(|b| b.is_ascii_digit())
            && entropy(value.as_bytes()) >= LITERAL_ENTROPY
    };
    holds(SECRET_NAMES) || ((holds(MAYBE_NAMES) || holds(MAYBE_NAMES_MORE)) && looks_random())
}
