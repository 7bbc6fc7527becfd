//! Words that are credentials by their form: tokens with a published prefix, and random-looking
//! words.
//!
//! In: any text. Out: the ranges of such words. The name that a word is assigned to does not matter
//! here; `value.rs` looks at names.

use std::ops::Range;

/// Published prefixes of tokens and the least number of characters that follow them, from the
/// issuers' documentation of their formats (GitHub, GitLab, Slack, Stripe, AWS, Google, npm, PyPI,
/// Hugging Face, Anthropic, OpenAI, OpenRouter, SendGrid, DigitalOcean, Shopify, Vercel, age,
/// TypeSafe).
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

/// Bits per character from which a short literal looks random; English identifiers of this length
/// stay below it.
pub(super) const LITERAL_ENTROPY: f64 = 3.0;
/// Shortest word that is redacted for its randomness alone: 128 bits in hexadecimal.
const MIN_RANDOM: usize = 32;
/// Bits per character of random base64 of 32 characters: 4.6 ± 0.15 (mean of 10,000 draws), minus
/// two deviations.
const RANDOM_ENTROPY: f64 = 4.2;
/// Share of neighbours in random base64 that differ in class (upper, lower, digit): 0.64 ± 0.085,
/// minus two deviations; camel case reaches 0.4.
const RANDOM_CHANGES: f64 = 0.45;

/// Whether a byte may occur in a token.
pub(super) fn is_word(byte: u8) -> bool {
    IS_WORD[usize::from(byte)]
}

/// Bytes that tokens consist of. A table, because every byte that is sent is looked up.
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
pub(super) fn words(text: &str, is_random: fn(&str) -> bool, found: &mut Vec<Range<usize>>) {
    for range in long_words(text.as_bytes()) {
        let word = &text[range.clone()];
        // Every token has a digit, except for one in 28 of AWS's key ids.
        let has_digit = word.bytes().any(|b| b.is_ascii_digit());
        if !has_digit && !word.contains('A') {
            continue;
        }
        let is_token = || has_digit && (is_jwt(word) || is_random(word));
        let start = known_token(word).or_else(|| is_token().then_some(0));
        found.extend(start.map(|start| range.start + start..range.end));
    }
}

/// Runs of at least [`MIN_TOKEN`] word characters. Searched from the end of each window, so that
/// most bytes are never examined.
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

/// The start of AWS's key ids: base 32 follows, so one in 28 has no digit.
const AWS_IDS: [&str; 2] = ["AKIA", "ASIA"];

/// First bytes of published prefixes, so that few positions in a text are examined twice.
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
    // Only once: a word may contain a prefix at every third byte.
    let last_digit = bytes.iter().rposition(u8::is_ascii_digit);
    let is_token = |at: usize, &(prefix, least): &(&str, usize)| {
        let tail = bytes[at..].strip_prefix(prefix.as_bytes());
        let is_body = |tail: &[u8]| match AWS_IDS.contains(&prefix) {
            true => tail[..least].iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()),
            false => last_digit.is_some_and(|last| last >= bytes.len() - tail.len()),
        };
        tail.is_some_and(|tail| tail.len() >= least && is_body(tail))
    };
    let starts = |at: &usize| {
        FIRST_OF_PREFIX[usize::from(bytes[*at])]
            && (*at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
    };
    // Comparing two bytes is inlined; comparing a whole prefix is a call.
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

pub(super) fn is_random(word: &str) -> bool {
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
pub(super) fn entropy(bytes: &[u8]) -> f64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_words_are_found_wherever_they_start() {
        for before in 0..2 * MIN_TOKEN {
            let text =
                format!("{:before$}a-long.word+1 too_short_12 {:before$}another/longer", "", "");
            let found: Vec<&str> = long_words(text.as_bytes()).map(|range| &text[range]).collect();
            assert_eq!(found, ["a-long.word+1", "another/longer"], "{text:?}");
        }
    }
}
