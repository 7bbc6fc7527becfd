//! Values that are credentials by the name they are assigned to: quoted literals and bare values.
//!
//! In: any text. Out: the ranges of such values. O(bytes).

use std::ops::Range;

use super::MIN_RANDOM_LITERAL;
use super::token::{LITERAL_ENTROPY, entropy, is_word};

/// A name that contains one of these holds a secret: any literal of six characters or more.
const SECRET_NAMES: &[&str] = &["password", "passwd", "passphrase", "secret", "credential"];
/// A name that contains one of these may hold a secret: only a random-looking literal counts,
/// because lexers have tokens and maps have keys.
const MAYBE_NAMES: &[&str] = &["token", "apikey", "api_key", "api-key", "accesskey", "access_key"];
const MAYBE_NAMES_MORE: &[&str] =
    &["private_key", "privatekey", "auth", "signing_key", "account_key"];

/// Shortest literal after a secret's name that is redacted; `""`, `"x"` and `"test"` are not
/// secrets.
const MIN_LITERAL: usize = 6;
/// Bits per character from which a bare value looks random: `hunter22` has 2.8, an address like
/// `127.0.0.1` 2.2.
const BARE_ENTROPY: f64 = 2.5;
/// How far before a literal its name may start: leaves room for a type between the two.
const NAME_REACH: usize = 64;
/// Bytes of a bare value that are examined: these are enough, and a run of any length is read only
/// once.
const JUDGED: usize = 256;

/// Quoted literals that are assigned to a secret's name. They end on the line on which they start.
/// Any quote may start one, because apostrophes and lifetimes make it impossible to pair quotes.
pub(super) fn literals(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for quote in memchr::memchr3_iter(b'"', b'\'', b'`', bytes) {
        let start = quote + 1;
        let length = memchr::memchr2(bytes[quote], b'\n', &bytes[start..]);
        let end = length.map(|length| start + length).filter(|&end| bytes[end] != b'\n');
        let is_secret = |end: &usize| is_secret_value(name_before(text, quote), &text[start..*end]);
        found.extend(end.filter(is_secret).map(|end| start..end));
    }
}

/// The text before a literal, back to the start of its statement but not further than
/// [`NAME_REACH`].
fn name_before(text: &str, quote: usize) -> &str {
    let mut from = quote.saturating_sub(NAME_REACH);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let before = text[from..quote].trim_end_matches(|c: char| c != '\n' && c.is_whitespace());
    if !before.ends_with(['=', ':', '(', '>']) {
        return "";
    }
    before.rsplit([';', ',', '{', '\n']).next().unwrap_or(before)
}

/// `NAME=value` and `name: value` without quotes, as in shell, dotenv, YAML and command lines. On
/// one line.
pub(super) fn bare_values(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let is_plain = |b: &&u8| is_word(**b) || b"=!#@%".contains(b);
    let mut end = 0;
    for at in memchr::memchr2_iter(b'=', b':', bytes) {
        let after = text[at + 1..].trim_start_matches(|c: char| c != '\n' && c.is_whitespace());
        let start = text.len() - after.len();
        // `a=b=c`: a run is measured only once, however many values it contains.
        if start >= end {
            end = start + bytes[start..].iter().take_while(is_plain).count();
        }
        if end - start < MIN_LITERAL {
            continue;
        }
        let before = text[..at].trim_end_matches([' ', '"', '\'']);
        let name =
            before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || "_-.".contains(c))).next();
        let value = &text[start..end.min(start + JUDGED)];
        let is_call = matches!(bytes.get(end), Some(b'(' | b'[' | b':'));
        if !is_call
            && is_secret_value(name.unwrap_or_default(), value)
            && is_random(value, BARE_ENTROPY)
        {
            found.push(start..end);
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
    let looks_random = || value.len() >= MIN_RANDOM_LITERAL && is_random(value, LITERAL_ENTROPY);
    holds(SECRET_NAMES) || ((holds(MAYBE_NAMES) || holds(MAYBE_NAMES_MORE)) && looks_random())
}

/// Whether a value has a digit and at least this many bits per character.
fn is_random(value: &str, bits: f64) -> bool {
    value.bytes().any(|b| b.is_ascii_digit()) && entropy(value.as_bytes()) >= bits
}
