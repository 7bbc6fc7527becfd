//! Finds credentials in text, so that they never become part of a request or of our files.
//!
//! In: any text. Out: the text with every credential replaced by [`MARK`], and how many there were;
//! or whether there is one. Hand-written byte scanners, because a regex would be compiled at start.
//! When in doubt, text to be sent is redacted: a hash or a base64 image that is taken for a key
//! costs a model nothing.

mod token;
mod value;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use self::token::{is_random, is_word, words};
use self::value::{bare_values, literals};

/// Replaces a credential.
pub const MARK: &str = "[redacted]";

/// Shortest literal that may look random: 72 bits in base64. Shorter ones are mostly words with a
/// digit.
const MIN_RANDOM_LITERAL: usize = 12;

/// The text without its credentials, and their number. O(bytes).
#[must_use]
pub fn redact(text: &str) -> (Cow<'_, str>, usize) {
    replace(text, find_all(text, is_random))
}

/// Whether the text contains a credential that is recognized by its form or its name; a word that
/// merely looks random does not count. For decisions about whole texts: of 5,145 long tool results
/// of public sessions (entireio/cli dev and three sister projects), 6.6 % contain a random word,
/// nearly all hashes and session ids, and 0.7 % contain what this finds. O(bytes).
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
    bearer_tokens(text, &mut found);
    words(text, is_random, &mut found);
    literals(text, &mut found);
    bare_values(text, &mut found);
    found
}

/// Whether a file's name says that it holds credentials; its text is then never sent.
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
    // What was redacted before is not counted again.
    found.retain(|span| &text[span.clone()] != MARK);
    if found.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    found.sort_unstable_by_key(|span| (span.start, span.end));
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

/// Made once, because making one takes as long as scanning a sketch.
static BEGIN: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("-----BEGIN "));
static SCHEMES: LazyLock<[Finder<'static>; 3]> =
    LazyLock::new(|| ["Bearer ", "bearer ", "Basic "].map(Finder::new));

/// `-----BEGIN … PRIVATE KEY-----` to its end; a truncated block extends to the end of the text.
fn private_keys(text: &str, found: &mut Vec<Range<usize>>) {
    let mut from = 0;
    while let Some(begin) = BEGIN.find(&text.as_bytes()[from..]).map(|at| from + at) {
        let line_end = text[begin..].find('\n').map_or(text.len(), |at| begin + at);
        from = line_end;
        if !text[begin..line_end].contains("PRIVATE KEY") {
            continue;
        }
        let end = text[begin..].find("-----END ").map_or(text.len(), |at| {
            let end = begin + at;
            text[end..].find('\n').map_or(text.len(), |at| end + at)
        });
        found.push(begin..end);
        from = end;
    }
}

/// The password in `scheme://user:password@host`.
fn url_passwords(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _) in text.match_indices("://") {
        let start = at + 3;
        let ends = |c: char| c.is_whitespace() || "/\"'`<>".contains(c);
        let authority = text[start..].split(ends).next().unwrap_or_default();
        let Some((user, _host)) = authority.rsplit_once('@') else { continue };
        let Some((name, password)) = user.split_once(':') else { continue };
        if !password.is_empty() && !is_placeholder(password) {
            let from = start + name.len() + 1;
            found.push(from..from + password.len());
        }
    }
}

/// `$NAME`, `${name}`, `{name}`, `%s`, `%(name)s`, `%NAME%`: placeholders for a password.
fn is_placeholder(password: &str) -> bool {
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    let inside = |start: &str, end: &str| password.starts_with(start) && password.ends_with(end);
    let variable = password.strip_prefix('$').is_some_and(is_name);
    let between = password.strip_prefix('%').and_then(|rest| rest.strip_suffix('%'));
    variable
        || inside("{", "}")
        || inside("${", "}")
        || inside("%(", ")s")
        || matches!(password, "%s" | "%v" | "%d")
        || between.is_some_and(is_name)
}

/// What follows `Bearer ` or `Basic `, unless it looks like a word of a sentence.
fn bearer_tokens(text: &str, found: &mut Vec<Range<usize>>) {
    for scheme in SCHEMES.iter() {
        for at in scheme.find_iter(text.as_bytes()) {
            let start = at + scheme.needle().len();
            let length = text[start..].bytes().take_while(|&b| is_word(b) || b == b'=').count();
            let token = &text[start..start + length];
            if length >= MIN_RANDOM_LITERAL && token.bytes().any(|b| b.is_ascii_digit()) {
                found.push(start..start + length);
            }
        }
    }
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
        check("postgres://app:%40bcdefg1@db/prod", "postgres://app:[redacted]@db/prod");
        check("postgres://app:$ecret99x@db/prod", "postgres://app:[redacted]@db/prod");
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
            "postgres://app:${DB_PASSWORD}@db postgres://app:$DB_PASSWORD@db https://%s:%s@host https://{user}:{key}@host",
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
    fn a_literal_and_a_value_end_with_their_line() {
        check("password = \"\nhunter22 \"", "password = \"\nhunter22 \"");
        check("password:\ns3cr3tpass", "password:\ns3cr3tpass");
        check("it's\npassword: 'hunter22'", "it's\npassword: '[redacted]'");
        for (before, after) in [
            ("const PASSWORD: &'static str = \"", "\";"),
            ("let password: &'a str = \"", "\"; let other: &'a str = x;"),
            ("# it's the staging db; password = \"", "\""),
            ("# isn't; password = \"", "\"; don't"),
        ] {
            check(&format!("{before}hunter22{after}"), &format!("{before}{MARK}{after}"));
        }
    }

    /// If it were read once for each of its signs, this would take minutes.
    #[test]
    fn a_long_run_of_signs_is_read_once() {
        for run in ["=", "token=", "password=!", "\"", "'\"`", ":", "sk-", "A-sk-"] {
            let text = format!("1-{}", run.repeat(400_000 / run.len()));
            assert_eq!(redact(&text).1, 0, "{run}");
        }
    }

    #[test]
    fn counts_what_it_hid() {
        assert_eq!(redact("sk-abcdefghij0123456789 and xoxb-123456789012").1, 2);
        assert_eq!(redact("password: \"[redacted]\" postgres://app:[redacted]@db").1, 0);
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
