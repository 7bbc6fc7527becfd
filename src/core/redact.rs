//! Finds credentials in text, so that they never become part of a request or a file of ours.
//!
//! In: any text. Out: the text with every find replaced by [`MARK`], and how many there were; or whether there is one.
//! Hand-written byte scanners: nothing is compiled at start. What is sent is redacted on the side of hiding: a hash or a
//! base64 picture that is taken for a key costs a model nothing.

use std::borrow::Cow;
use std::ops::Range;

/// What stands in place of a credential.
pub const MARK: &str = "[redacted]";

/// Published prefixes of issued tokens and the fewest characters that follow them. From the issuers' own
/// documentation of their formats (GitHub, GitLab, Slack, Stripe, AWS, Google, npm, PyPI, Hugging Face,
/// Anthropic, OpenAI, OpenRouter, SendGrid, DigitalOcean, Shopify, Vercel, age, TypeSafe).
const PREFIXES: &[(&str, usize)] = &[
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xoxs-", 10),
    ("xapp-", 10),
    ("sk-", 20),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("whsec_", 16),
    ("AKIA", 16),
    ("ASIA", 16),
    ("AIza", 30),
    ("ya29.", 20),
    ("npm_", 30),
    ("pypi-", 30),
    ("hf_", 30),
    ("SG.", 30),
    ("dop_v1_", 30),
    ("shpat_", 20),
    ("vck_", 16),
    ("apikey_", 12),
    ("AGE-SECRET-KEY-", 20),
];

/// A name that holds one of these is given a secret: any literal of six characters or more.
const SECRET_NAMES: &[&str] = &["password", "passwd", "passphrase", "secret", "credential"];
/// A name that holds one of these may be given a secret: only a literal that looks random counts,
/// because lexers have tokens and maps have keys.
const MAYBE_NAMES: &[&str] = &["token", "apikey", "api_key", "api-key", "accesskey", "access_key"];
const MAYBE_NAMES_MORE: &[&str] =
    &["private_key", "privatekey", "auth", "signing_key", "account_key"];

/// Shortest literal after a secret's name that is hidden; `""`, `"x"` and `"test"` are not secrets.
const MIN_LITERAL: usize = 6;
/// Shortest literal that may look random.
const MIN_RANDOM_LITERAL: usize = 12;
/// Bits per character from which a short literal looks random: English identifiers of this length stay below.
const LITERAL_ENTROPY: f64 = 3.0;
/// Shortest word without any name that is hidden for its randomness: 128 bits in hexadecimal.
const MIN_RANDOM: usize = 32;
/// Bits per character of random base64 of 32 characters: 4.6 ± 0.15 (mean of 10,000 draws), minus two deviations.
const RANDOM_ENTROPY: f64 = 4.2;
/// Share of neighbours in random base64 that differ in class (upper, lower, digit): 0.64 ± 0.085, minus two
/// deviations; camel case reaches 0.4.
const RANDOM_CHANGES: f64 = 0.45;
/// How far before a literal the name that it is given to may start.
const NAME_REACH: usize = 64;

/// The text without its credentials, and their number. Linear in the text.
#[must_use]
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    replace(text, find_all(text, is_random))
}

/// Whether the text holds a credential that shows by its form or its name; a word that merely looks random is none here. For
/// decisions about whole texts: of 5,145 long tool results of public sessions (entireio/cli dev and three sisters) 6.6 % hold a
/// random word, nearly all hashes and session ids, and 0.7 % what this finds. Linear in the text.
#[must_use]
pub fn holds_credential(text: &str) -> bool {
    !find_all(text, |_| false).is_empty()
}

fn find_all(text: &str, is_random: fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    private_keys(text, &mut found);
    if memchr::memchr(b'@', text.as_bytes()).is_some() {
        url_passwords(text, &mut found);
    }
    // No other token is without a digit; most lines of code are.
    let holds_aws_id = || AWS_IDS.iter().any(|prefix| find(text, prefix).is_some());
    if text.bytes().any(|b| b.is_ascii_digit()) || holds_aws_id() {
        bearer_tokens(text, &mut found);
        words(text, is_random, &mut found);
    }
    for line in lines(text) {
        literals(text, line.clone(), &mut found);
        bare_values(text, line, &mut found);
    }
    found
}

/// Whether a file holds credentials by its very name; its text is then never sent.
#[must_use]
pub fn is_secret_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_lowercase();
    let is_template =
        [".example", ".sample", ".template", ".dist"].iter().any(|e| name.ends_with(e));
    let exact =
        [".npmrc", ".pypirc", ".netrc", ".pgpass", ".htpasswd", "credentials", ".git-credentials"];
    let endings = [".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdbx", ".ppk", ".tfvars"];
    let is_env = name == ".env" || name.starts_with(".env.") || name.ends_with(".env");
    let is_ssh =
        name.starts_with("id_") && ["rsa", "dsa", "ecdsa", "ed25519"].contains(&&name[3..]);
    !is_template
        && (is_env
            || is_ssh
            || exact.contains(&name.as_str())
            || endings.iter().any(|e| name.ends_with(e)))
}

fn replace(text: &str, mut found: Vec<Range<usize>>) -> (Cow<'_, str>, usize) {
    if found.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    found.sort_by_key(|span| (span.start, span.end));
    let mut clean = String::with_capacity(text.len());
    let (mut copied, mut count) = (0, 0);
    for span in found {
        if span.start >= copied {
            clean.push_str(&text[copied..span.start]);
            clean.push_str(MARK);
            count += 1;
        }
        copied = copied.max(span.end);
    }
    clean.push_str(&text[copied..]);
    (Cow::Owned(clean), count)
}

/// The lines of a text, without the white space at their ends.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    ends.map(move |end| {
        let range = start..start + text[start..end].trim_ascii_end().len();
        start = end + 1;
        range
    })
}

/// `-----BEGIN … PRIVATE KEY-----` to its end; a block that was cut off goes to the end of the text.
fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(begin) = find(&text[from..], "-----BEGIN ").map(|at| from + at) {
        let line_end = text[begin..].find('\n').map_or(text.len(), |at| begin + at);
        from = line_end;
        if !text[begin..line_end].contains("PRIVATE KEY") {
            continue;
        }
        let end = find(&text[begin..], "-----END ").map_or(text.len(), |at| {
            let end = begin + at;
            text[end..].find('\n').map_or(text.len(), |at| end + at)
        });
        found.push(begin..end);
        from = end;
    }
}

fn find(text: &str, needle: &str) -> Option<usize> {
    memchr::memmem::find(text.as_bytes(), needle.as_bytes())
}

/// The password in `scheme://user:password@host`.
fn url_passwords(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let ends = |c: char| c.is_whitespace() || "/\"'`<>".contains(c);
        let authority = text[start..].split(ends).next().unwrap_or_default();
        let Some((user, _host)) = authority.rsplit_once('@') else { continue };
        let Some((name, password)) = user.split_once(':') else { continue };
        if !password.is_empty() && !password.starts_with(['$', '{', '%']) {
            let from = start + name.len() + 1;
            found.push(from..from + password.len());
        }
    }
}

/// What follows `Bearer ` or `Basic ` when it looks like more than a word of a sentence.
fn bearer_tokens(text: &str, found: &mut Vec<Range<usize>>) {
    for scheme in ["Bearer ", "bearer ", "Basic "] {
        for at in memchr::memmem::find_iter(text.as_bytes(), scheme) {
            let start = at + scheme.len();
            let length = text[start..].bytes().take_while(|&b| is_word(b) || b == b'=').count();
            let token = &text[start..start + length];
            if length >= MIN_RANDOM_LITERAL && token.bytes().any(|b| b.is_ascii_digit()) {
                found.push(start..start + length);
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    IS_WORD[usize::from(byte)]
}

/// Bytes that tokens consist of. A table: every byte that is sent is looked up.
const IS_WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/' | b'+');
        byte += 1;
    }
    table
};

/// Shortest token: a prefix of three and ten characters.
const MIN_TOKEN: usize = 13;

/// Runs of word characters that are a known token or look random.
fn words(text: &str, is_random: fn(&str) -> bool, found: &mut Vec<Range<usize>>) {
    for range in long_words(text.as_bytes()) {
        let word = &text[range.clone()];
        // Every token has a digit, but for one in 28 of AWS's key ids.
        let has_digit = word.bytes().any(|b| b.is_ascii_digit());
        if !has_digit && !word.contains('A') {
            continue;
        }
        let is_token = || has_digit && (is_jwt(word) || is_random(word));
        let start = known_token(word).or_else(|| is_token().then_some(0));
        found.extend(start.map(|start| range.start + start..range.end));
    }
}

/// Runs of at least [`MIN_TOKEN`] word characters. From the end of each window, so that most bytes are never looked at.
fn long_words(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(window) = bytes.get(at..at + MIN_TOKEN) {
            if let Some(gap) = window.iter().rposition(|&b| !is_word(b)) {
                at += gap + 1;
                continue;
            }
            let start = at;
            at += MIN_TOKEN;
            at += bytes[at..].iter().take_while(|&&b| is_word(b)).count();
            return Some(start..at);
        }
        None
    })
}

/// What AWS's key ids begin with: base 32 follows, so that one in 28 has no digit.
const AWS_IDS: [&str; 2] = ["AKIA", "ASIA"];

/// Bytes that a published prefix begins with: few places in a text are looked at twice.
const FIRST_OF_PREFIX: [bool; 256] = {
    let mut table = [false; 256];
    let mut k = 0;
    while k < PREFIXES.len() {
        table[PREFIXES[k].0.as_bytes()[0] as usize] = true;
        k += 1;
    }
    table
};

/// Where a token with a published prefix starts in the word.
fn known_token(word: &str) -> Option<usize> {
    let bytes = word.as_bytes();
    let is_token = |at: usize, &(prefix, least): &(&str, usize)| {
        let tail = bytes[at..].strip_prefix(prefix.as_bytes());
        let is_body = |tail: &[u8]| match AWS_IDS.contains(&prefix) {
            true => tail[..least].iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
            false => tail.iter().any(u8::is_ascii_digit),
        };
        tail.is_some_and(|tail| tail.len() >= least && is_body(tail))
    };
    let starts = |at: &usize| {
        FIRST_OF_PREFIX[usize::from(bytes[*at])]
            && (*at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
    };
    // Two bytes are compared in place; a whole prefix is a call.
    let begins = |at: usize, prefix: &str| {
        prefix.as_bytes()[0] == bytes[at] && prefix.as_bytes().get(1) == bytes.get(at + 1)
    };
    let is_start =
        |&at: &usize| PREFIXES.iter().any(|prefix| begins(at, prefix.0) && is_token(at, prefix));
    (0..bytes.len()).filter(starts).find(is_start)
}

fn is_jwt(word: &str) -> bool {
    word.starts_with("eyJ") && word.split('.').count() == 3 && word.len() >= MIN_RANDOM
}

fn is_random(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    if word.len() < MIN_RANDOM || !word.bytes().any(|b| b.is_ascii_digit()) {
        return false;
    }
    let is_hex = word.bytes().all(|b| b.is_ascii_hexdigit());
    let entropy = entropy(word.as_bytes());
    let looks_random =
        entropy >= RANDOM_ENTROPY && class_changes(word.as_bytes()) >= RANDOM_CHANGES;
    (is_hex && entropy >= LITERAL_ENTROPY) || looks_random
}

/// Shannon entropy in bits per byte.
#[expect(clippy::cast_precision_loss, reason = "counts of a few hundred bytes")]
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    bytes.iter().for_each(|&b| counts[usize::from(b)] += 1);
    let total = bytes.len() as f64;
    counts
        .iter()
        .filter(|&&n| n > 0)
        .map(|&n| f64::from(n) / total)
        .map(|share| -share * share.log2())
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts of a few hundred bytes")]
fn class_changes(bytes: &[u8]) -> f64 {
    let class = |b: u8| (b.is_ascii_uppercase(), b.is_ascii_lowercase(), b.is_ascii_digit());
    let changes = bytes.windows(2).filter(|pair| class(pair[0]) != class(pair[1])).count();
    changes as f64 / bytes.len() as f64
}

/// Quoted literals of a line that are given to a secret's name.
fn literals(text: &str, line: Range<usize>, found: &mut Vec<Range<usize>>) {
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
fn bare_values(text: &str, line: Range<usize>, found: &mut Vec<Range<usize>>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text).0, expected);
    }

    #[test]
    fn tokens_keys_and_passwords_are_hidden() {
        check("let t = \"ghp_1234567890abcdefghijABCDEFGHIJ123456\";", "let t = \"[redacted]\";");
        check("id AKIAIOSFODNN7EXAMPL1 end", "id [redacted] end");
        check("postgres://app:hunter2@db/prod", "postgres://app:[redacted]@db/prod");
        check("Authorization: Bearer abc123def456ghi", "Authorization: Bearer [redacted]");
        check(
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted]\nb",
        );
        check("-----BEGIN EC PRIVATE KEY-----\nMIIE", "[redacted]");
        check("password: \"hunter22\"", "password: \"[redacted]\"");
        check(
            "{\"client_secret\": \"abcdef\", \"b\": \"plain1\"}",
            "{\"client_secret\": \"[redacted]\", \"b\": \"plain1\"}",
        );
        check("const API_KEY: &str = \"q8Zr41Lm0cXw\";", "const API_KEY: &str = \"[redacted]\";");
        check("export DB_PASSWORD=s3cr3tpass", "export DB_PASSWORD=[redacted]");
        check("sha = 9f86d081884c7d659a2feaa0c55ad015", "sha = [redacted]");
        check("x = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9kQ2aB4t", "x = [redacted]");
        check("DB_PASSWORD=\"hunter2hunter2\" x", "DB_PASSWORD=\"[redacted]\" x");
        check(
            "api_key: abc123def456, token=ghp_0123456789abcdefghij",
            "api_key: [redacted], token=[redacted]",
        );
        check("curl --token=abc123def456 url", "curl --token=[redacted] url");
        check("-----BEGIN PRIVATE KEY-----", "[redacted]");
    }

    #[test]
    fn a_credential_shows_by_form_or_name_not_by_randomness() {
        for text in [
            "key AKIAABCDEFGHIJ234567.",
            "api_key: abc123def456",
            "AWS_ID=AKIAABCDEFGHIJKLMNOP",
            "a\nTOKEN=ghp_0123456789abcdefghij",
        ] {
            assert!(holds_credential(text), "{text}");
        }
        for text in ["sha 9f86d081884c7d659a2feaa0c55ad015", "let token: String = next();"] {
            assert!(!holds_credential(text), "{text}");
        }
    }

    #[test]
    fn ordinary_code_is_left_alone() {
        for text in [
            "token = \"identifier\"",
            "let token: String = next();",
            "let token = next_token_2(input)",
            "max_tokens = 4096",
            "tokens: usize,",
            "task-list",
            "let password = read_password()?;",
            "password: \"${DB_PASSWORD}\"",
            "https://example.org/a:b@c",
            "fn thisIsAVeryLongCamelCaseIdentifierName2() {}",
            "import { a } from './components/settings/AccountSettingsDialog2'",
            "uuid 123e4567-e89b-12d3-a456-426614174000",
            "Basic understanding of the protocol",
            "const key = 'data-testid-12';",
            "größe = \"übermäßig\" // naïve",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn long_words_are_found_wherever_they_start() {
        for before in 0..2 * MIN_TOKEN {
            let text =
                format!("{:before$}a-long.word+1 too_short_12 {:before$}another/longer", "", "");
            let found: Vec<&str> = long_words(text.as_bytes()).map(|range| &text[range]).collect();
            assert_eq!(found, ["a-long.word+1", "another/longer"], "{text:?}");
        }
    }

    #[test]
    fn counts_what_it_hid() {
        assert_eq!(redact("sk-abcdefghij0123456789 and xoxb-123456789012").1, 2);
    }

    #[test]
    fn credential_files_are_known_by_name() {
        for path in [".env", "a/.env.local", "prod.env", "certs/server.key", "id_rsa", ".npmrc"] {
            assert!(is_secret_file(path), "{path}");
        }
        for path in [".env.example", "src/env.rs", "keys.ts", "id_card.py", "a.key/b.rs"] {
            assert!(!is_secret_file(path), "{path}");
        }
    }

    proptest::proptest! {
        #[test]
        fn a_planted_token_never_survives(before in "(?s).{0,80}", after in "(?s).{0,80}") {
            let token = "ghp_1234567890abcdefghijABCDEFGHIJ123456";
            let planted = format!("{before} {token} {after}");
            proptest::prop_assert!(!redact(&planted).0.contains(token));
        }
    }
}
