//! Text → words: identifiers are split into sub-words, lower-cased and lightly stemmed, in code and
//! task alike.
//!
//! Bytes in, byte ranges and stems out. `cachedContentTokenCount` gives *cached content token
//! count*, `parse_HTTPResponse2` gives *parse http response 2*. ASCII words follow the reference
//! implementation's rules (shared by code and English tasks). Other scripts are [`wide_words`], a
//! separate set that does not count towards a document's length.

use std::ops::Range;

use bstr::ByteSlice as _;

/// Longest word that can be a term, in bytes: longer ones are hashes and encoded data, which nobody
/// searches for.
pub const MAX_WORD_BYTES: usize = 64;

/// Bits of [`CLASS`].
pub(crate) const LOWER: u8 = 1;
pub(crate) const UPPER: u8 = 2;
pub(crate) const DIGIT: u8 = 4;
pub(crate) const UNDERSCORE: u8 = 8;
/// Characters of an identifier.
pub(crate) const IDENTIFIER: u8 = LOWER | UPPER | DIGIT | UNDERSCORE;

/// Class of every byte; everything that is not ASCII alphanumeric or `_` is a separator.
pub(crate) static CLASS: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            _ => 0,
        };
        byte += 1;
    }
    table
}

/// Class of the byte at `at`, 0 after the end.
#[inline]
pub(crate) fn class_at(text: &[u8], at: usize) -> u8 {
    text.get(at).map_or(0, |&byte| CLASS[byte as usize])
}

/// A bit for a letter in either case, for filters on how words start. Other bytes share the bits.
#[inline]
pub(crate) const fn letter_bit(byte: u8) -> u32 {
    1 << (byte & 31)
}

/// End of the word that starts at `start`.
#[inline]
pub(crate) fn word_end(text: &[u8], start: usize) -> usize {
    let run = |from: usize, class: u8| {
        from + text[from..].iter().take_while(|&&b| CLASS[b as usize] == class).count()
    };
    match class_at(text, start) {
        UPPER => {
            let capitals = run(start, UPPER);
            match class_at(text, capitals) {
                LOWER if capitals == start + 1 => run(capitals, LOWER),
                LOWER => capitals - 1,
                _ => capitals,
            }
        }
        class => run(start, class),
    }
}

/// The sub-words of a text, as byte ranges in order.
///
/// A run of digits or lower-case letters is a word (a lower-case run includes the capital before
/// it). A run of capitals is a word, without its last capital if a lower-case letter follows.
pub fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at
            + text[at..].iter().position(|&b| CLASS[b as usize] & (LOWER | UPPER | DIGIT) != 0)?;
        at = word_end(text, start);
        Some(start..at)
    })
}

/// Whether it has two or more sub-words.
#[must_use]
pub fn is_compound(text: &[u8]) -> bool {
    words(text).nth(1).is_some()
}

/// The lower-case stem of a word: plural, *-ing*, *-ed* and final *e* are removed.
///
/// `core::matcher` relies on what happens to the first four bytes of a word (`starts_of_stem`);
/// `query::Index` relies on the first byte staying the same.
#[must_use]
pub fn stem(word: &[u8]) -> Vec<u8> {
    let mut stem = word.to_ascii_lowercase();
    stem_in_place(&mut stem);
    stem
}

/// [`stem`] without an allocation, for a word that is already lower-case.
pub(crate) fn stem_in_place(word: &mut Vec<u8>) {
    let len = word.len();
    if len > 4 && word.ends_with(b"ies") {
        word.truncate(len - 3);
        word.push(b'y');
        return;
    }
    if len > 4 && word.ends_with(b"sses") {
        word.truncate(len - 2);
        return;
    }
    if len > 3 && word.ends_with(b"s") && !matches!(word[len - 2], b's' | b'u' | b'i') {
        word.pop();
    }
    let cut = match word.len() {
        len if len > 5 && word.ends_with(b"ing") => 3,
        len if len > 4 && word.ends_with(b"ed") => 2,
        _ => 0,
    };
    if cut > 0 {
        word.truncate(word.len() - cut);
        let len = word.len();
        let doubled = len > 3 && word[len - 1] == word[len - 2];
        if doubled && !matches!(word[len - 1], b'l' | b's') {
            word.pop();
        }
    }
    if word.len() > 4 && word.ends_with(b"e") {
        word.pop();
    }
}

/// Calls `found` with every whole identifier (`[A-Za-z_][A-Za-z0-9_]*`, three characters or more),
/// in order.
pub fn identifiers<'a>(text: &'a [u8], mut found: impl FnMut(&'a [u8])) {
    let mut at = 0;
    while at < text.len() {
        let class = CLASS[text[at] as usize];
        if class & IDENTIFIER == 0 || class == DIGIT {
            at += 1;
            continue;
        }
        let end = identifier_end(text, at);
        if end - at >= 3 {
            found(&text[at..end]);
        }
        at = end;
    }
}

/// End of the identifier that `start` lies in.
#[inline]
pub(crate) fn identifier_end(text: &[u8], start: usize) -> usize {
    start + text[start..].iter().take_while(|&&b| CLASS[b as usize] & IDENTIFIER != 0).count()
}

/// Calls `found` with every word that is not plain ASCII, its range, and its lower-case form.
///
/// Chinese, Japanese and Korean runs give their overlapping pairs of characters (words are not
/// separated there); every other alphabetic run that holds a letter beyond ASCII (`größe`,
/// `ошибка`) is one word.
pub fn wide_words(text: &[u8], mut found: impl FnMut(Range<usize>, &str)) {
    let mut at = 0;
    // Most text is ASCII, so jump from one non-ASCII byte to the next.
    while let Some(wide) = text[at..].find_non_ascii_byte().map(|offset| at + offset) {
        let is_letter = |b: &&u8| b.is_ascii_alphabetic();
        let start = wide - text[at..wide].iter().rev().take_while(is_letter).count();
        let ends = |b: &u8| b.is_ascii() && !b.is_ascii_alphabetic();
        let end = text[wide..].iter().position(ends).map_or(text.len(), |n| wide + n);
        wide_runs(text, start..end, &mut found);
        at = end;
    }
}

/// The words of a part of a text without ASCII separators.
fn wide_runs(text: &[u8], part: Range<usize>, found: &mut impl FnMut(Range<usize>, &str)) {
    let mut run: Vec<(usize, char)> = Vec::new();
    let mut flush = |run: &mut Vec<(usize, char)>, end: usize| {
        wide_run(run, end, found);
        run.clear();
    };
    for (start, _, c) in text[part.clone()].char_indices() {
        let start = part.start + start;
        let broken = run.last().is_some_and(|&(_, last)| is_cjk(last) != is_cjk(c));
        if broken || !c.is_alphabetic() {
            flush(&mut run, start);
        }
        // Invalid bytes become replacement characters, which are not alphabetic.
        if c.is_alphabetic() {
            run.push((start, c));
        }
    }
    flush(&mut run, part.end);
}

fn wide_run(run: &[(usize, char)], end: usize, found: &mut impl FnMut(Range<usize>, &str)) {
    let Some(&(start, first)) = run.first() else { return };
    if !is_cjk(first) {
        if run.iter().any(|&(_, c)| !c.is_ascii()) {
            let word: String = run.iter().flat_map(|&(_, c)| c.to_lowercase()).collect();
            // The Kelvin sign becomes a k.
            if !word.is_ascii() {
                found(start..end, &word);
            }
        }
        return;
    }
    let end_of = |k: usize| run.get(k).map_or(end, |&(start, _)| start);
    let pairs = if run.len() == 1 { 1 } else { run.len() - 1 };
    for k in 0..pairs {
        let pair: String = run[k..].iter().take(2).map(|&(_, c)| c).collect();
        found(run[k].0..end_of(k + 2), &pair);
    }
}

/// Scripts written without spaces between words: Han, Hiragana, Katakana, Hangul (Unicode 16
/// blocks).
#[must_use]
pub fn is_cjk(c: char) -> bool {
    matches!(c as u32,
        0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str) -> Vec<String> {
        words(text.as_bytes()).map(|r| text[r].to_lowercase()).collect()
    }

    #[test]
    fn sub_words() {
        let check = |text: &str, expected: &[&str]| assert_eq!(split(text), expected, "{text}");
        check("cachedContentTokenCount", &["cached", "content", "token", "count"]);
        check("parse_HTTPResponse x", &["parse", "http", "response", "x"]);
        check("HTTPs IOError2 utf8", &["htt", "ps", "io", "error", "2", "utf", "8"]);
        check("ABC aB A1b", &["abc", "a", "b", "a", "1", "b"]);
        check("größe", &["gr", "e"]);
        check("", &[]);
    }

    #[test]
    fn stems() {
        for (word, expected) in [
            ("queries", "query"),
            ("classes", "class"),
            ("caches", "cach"),
            ("caching", "cach"),
            ("cached", "cach"),
            ("running", "run"),
            ("calling", "call"),
            ("status", "status"),
            ("this", "this"),
            ("uses", "use"),
            ("ties", "tie"),
            ("flies", "fly"),
            ("Stopped", "stop"),
            ("bring", "bring"),
            ("red", "red"),
        ] {
            assert_eq!(stem(word.as_bytes()), expected.as_bytes(), "{word}");
        }
    }

    #[test]
    fn whole_identifiers() {
        let mut found = Vec::new();
        identifiers(b"let my_var2 = 3dModel(x1, ab, _hidden);", |id| found.push(id.to_vec()));
        assert_eq!(found, [&b"let"[..], b"my_var2", b"dModel", b"_hidden"]);
    }

    #[test]
    fn other_scripts() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = Vec::new();
            wide_words(text.as_bytes(), |range, word| {
                assert_eq!(text[range].to_lowercase(), word);
                found.push(word.to_owned());
            });
            assert_eq!(found, expected, "{text}");
        };
        check("plain ascii", &[]);
        check("修复 retry 逻辑错", &["修复", "逻辑", "辑错"]);
        check("die Größe ändern", &["größe", "ändern"]);
        check("錯 ошибка", &["錯", "ошибка"]);
        check("日本語APIのテスト", &["日本", "本語", "のテ", "テス", "スト"]);
    }
}
