//! Every term of a document, for an index that must answer any query: what [`super::corpus::Matcher`] counts for one
//! query, [`every_term`] reports for all of them.
//!
//! Bytes in, terms out, each as often as it occurs. Property-tested against the matcher in `tests`.

use super::tokenize::{self, CLASS, DIGIT, IDENTIFIER, MAX_WORD_BYTES};

/// Where a term occurs; the lists of [`super::corpus::Corpus`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The text: stems, and words of other scripts.
    Body,
    /// Whole identifiers, lower-case, of two or more sub-words *as spelled there*; see [`only_word`] for the others.
    Identifiers,
}

/// Every field, in the order of the file format.
pub const FIELDS: [Field; 2] = [Field::Body, Field::Identifiers];

/// Reads documents; holds what one thread reuses from document to document.
#[derive(Default)]
pub struct Reader {
    word: Vec<u8>,
}

impl Reader {
    /// Calls `found` with every term of a text that is no binary; returns its length in sub-words. O(bytes).
    pub fn every_term(&mut self, text: &[u8], mut found: impl FnMut(Field, &[u8])) -> u32 {
        let mut length = 0;
        let mut at = 0;
        while at < text.len() {
            if CLASS[text[at] as usize] & IDENTIFIER == 0 {
                at += 1;
                continue;
            }
            let end = tokenize::identifier_end(text, at);
            length += self.run(&text[at..end], &mut found);
            at = end;
        }
        tokenize::wide_words(text, |_, word| found(Field::Body, word.as_bytes()));
        length
    }

    /// One run of identifier characters: its words, and the identifier that starts at its first non-digit.
    fn run(&mut self, run: &[u8], found: &mut impl FnMut(Field, &[u8])) -> u32 {
        let n_words = self.words(run, found);
        let n_digits = run.iter().take_while(|&&b| CLASS[b as usize] == DIGIT).count();
        // The digits before the identifier are a word of their own, and no part of it.
        let n_own = n_words - u32::from(n_digits > 0);
        let identifier = &run[n_digits..];
        if n_own >= 2 && identifier.len() <= MAX_WORD_BYTES {
            self.word.clear();
            self.word.extend(identifier.iter().map(u8::to_ascii_lowercase));
            found(Field::Identifiers, &self.word);
        }
        n_words
    }

    /// The stems of the words of a text; how many words there are.
    fn words(&mut self, text: &[u8], found: &mut impl FnMut(Field, &[u8])) -> u32 {
        let mut n_words = 0;
        for range in tokenize::words(text) {
            n_words += 1;
            if range.len() <= MAX_WORD_BYTES {
                self.word.clear();
                self.word.extend(text[range].iter().map(u8::to_ascii_lowercase));
                tokenize::stem_in_place(&mut self.word);
                found(Field::Body, &self.word);
            }
        }
        n_words
    }
}

/// The stem of the only word of a lower-case identifier; `None` when it has several.
///
/// A document may spell such an identifier as one word (`websocket` for the task's `webSocket`), and then it is not in
/// [`Field::Identifiers`], but its word is in the body: the documents with this stem are the only ones that can hold it.
#[must_use]
pub fn only_word(identifier: &[u8]) -> Option<Vec<u8>> {
    let mut words = tokenize::words(identifier);
    let first = words.next()?;
    words.next().is_none().then(|| tokenize::stem(&identifier[first]))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::corpus::{Kind, Matcher, Scratch};
    use super::super::query::query;
    use super::*;

    /// Both ways of counting, for a task made of the text itself and for a task in another spelling.
    fn check(text: &str, task: &str) {
        let query = query(task);
        let counts = Matcher::new(&query).count(text.as_bytes(), &mut Scratch::default());
        if counts.kind == Kind::Binary {
            return;
        }
        let mut all: BTreeMap<(u8, Vec<u8>), u32> = BTreeMap::new();
        let length = Reader::default().every_term(text.as_bytes(), |field, term| {
            *all.entry((field as u8, term.to_vec())).or_default() += 1;
        });
        assert_eq!(length, counts.length, "{text:?}");
        let of = |field: Field, term: &[u8]| {
            all.get(&(field as u8, term.to_vec())).copied().unwrap_or_default()
        };
        let matched = |list: &[(u32, u32)], k: usize| {
            list.iter().find(|(term, _)| *term as usize == k).map_or(0, |(_, count)| *count)
        };
        for (k, term) in query.terms.iter().enumerate() {
            assert_eq!(of(Field::Body, &term.stem), matched(&counts.body, k), "{text:?} {term:?}");
        }
        for (k, identifier) in query.identifiers.iter().enumerate() {
            let (here, there) =
                (of(Field::Identifiers, identifier), matched(&counts.identifiers, k));
            // Spelled as one word somewhere: then the document is found by that word.
            let by_word = only_word(identifier).is_some_and(|stem| of(Field::Body, &stem) > 0);
            assert!(here == there || by_word && here < there, "{text:?} {identifier:?}");
        }
    }

    #[test]
    fn agrees_with_the_matcher() {
        for text in [
            "fn parseHTTPResponse(x1: u8) { let my_var = 3dModel; }",
            "class Foo: pass\nfunc (r *Retry) backOff2() {}",
            "webSocket websocket WEBSOCKET _webSocket 12ab_c",
            "größe die Größe fn größe() 修复 retry 逻辑",
            "const const let func (a) (b) type T2x struct { x int }",
            "a1b2c3 __init__ HTTPs HTTPSConnection x_Y_z9",
        ] {
            check(text, text);
            check(text, &text.to_lowercase());
            check(text, &text.to_uppercase());
            check(text, "parse_http_response webSocket MyVar my_var __Init__ foo");
        }
    }

    proptest::proptest! {
        #[test]
        fn agrees_on_any_text(text in "([a-cA-C0-1_ (){}é修]|fn |let |\\n){0,40}", task in "[a-cA-C0-1_ é修]{0,30}") {
            check(&text, &text);
            check(&text, &task);
        }
    }
}
