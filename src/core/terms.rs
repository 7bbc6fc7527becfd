//! Every term of a document, for an index that must answer any query: what [`super::matcher::Matcher`] counts for one
//! query, this reports for all of them.
//!
//! Bytes in, terms with counts out. Property-tested against the matcher in `tests`.

use std::ops::Range;

use super::blocks::{BLOCK_BYTES, Block, Edges, bits};
use super::tokenize::{self, MAX_WORD_BYTES};

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
    words: Tally,
    identifiers: Tally,
    term: Vec<u8>,
}

impl Reader {
    /// Calls `found` with the terms of a text that is no binary and how often they occur (a term may come in several
    /// parts); returns its length in sub-words. O(bytes).
    pub fn every_term(&mut self, text: &[u8], mut found: impl FnMut(Field, &[u8], u32)) -> u32 {
        let length = self.count(text, &mut found);
        // Most words of a text are repeated: each different one is stemmed once.
        let term = &mut self.term;
        self.words.drain(|word, count| {
            unpack(word, term);
            tokenize::stem_in_place(term);
            found(Field::Body, term, count);
        });
        self.identifiers.drain(|identifier, count| {
            unpack(identifier, term);
            found(Field::Identifiers, term, count);
        });
        tokenize::wide_words(text, |_, word| found(Field::Body, word.as_bytes(), 1));
        length
    }

    /// The pass over the bytes, 64 at a time.
    fn count(&mut self, text: &[u8], found: &mut impl FnMut(Field, &[u8], u32)) -> u32 {
        let mut n_words = 0;
        let (mut word, mut run) = (0, Run::default());
        let mut padded = [0; _];
        // A block may be empty: what the text ends in ends there.
        for start in (0..=text.len()).step_by(BLOCK_BYTES) {
            let edges = Block::at(text, start, &mut padded).edges();
            n_words += edges.word_starts.count_ones();
            word = self.words_of(text, start, &edges, word, found);
            run = self.identifiers_of(text, start, &edges, run, found);
        }
        n_words
    }

    /// The words that end in a block; `word` and what is returned: where the last one started.
    #[inline]
    fn words_of(
        &mut self,
        text: &[u8],
        start: usize,
        edges: &Edges,
        mut word: usize,
        found: &mut impl FnMut(Field, &[u8], u32),
    ) -> usize {
        let mut starts = edges.word_starts;
        for end in bits(edges.word_ends) {
            // Of the words that have not ended, only the first can start before this end.
            let first = starts & below(end);
            if first != 0 {
                word = start + first.trailing_zeros() as usize;
                starts ^= first;
            }
            self.word(text, word..start + end, found);
        }
        if starts == 0 { word } else { start + starts.trailing_zeros() as usize }
    }

    /// The identifiers that end in a block; `run` and what is returned: the last run of their characters.
    #[inline]
    fn identifiers_of(
        &mut self,
        text: &[u8],
        start: usize,
        edges: &Edges,
        mut run: Run,
        found: &mut impl FnMut(Field, &[u8], u32),
    ) -> Run {
        let (mut starts, mut words) = (edges.run_starts, edges.word_starts);
        for end in bits(edges.run_ends) {
            let first = starts & below(end);
            if first != 0 {
                run = Run { start: start + first.trailing_zeros() as usize, n_words: 0 };
                starts ^= first;
            }
            run.n_words += (words & below(end)).count_ones();
            words &= !below(end);
            if run.n_words > 1 {
                self.identifier(text, run.start..start + end, run.n_words, found);
            }
        }
        if starts != 0 {
            run = Run { start: start + starts.trailing_zeros() as usize, n_words: 0 };
        }
        run.n_words += words.count_ones();
        run
    }

    #[inline]
    fn word(&mut self, text: &[u8], word: Range<usize>, found: &mut impl FnMut(Field, &[u8], u32)) {
        if word.len() <= PACKED_BYTES {
            self.words.add(pack(text, word.start, word.len()));
        } else if word.len() <= MAX_WORD_BYTES {
            self.lower(&text[word]);
            tokenize::stem_in_place(&mut self.term);
            found(Field::Body, &self.term, 1);
        }
    }

    /// A run of identifier characters with so many words: the identifier starts at its first non-digit.
    #[inline]
    fn identifier(
        &mut self,
        text: &[u8],
        run: Range<usize>,
        n_words: u32,
        found: &mut impl FnMut(Field, &[u8], u32),
    ) {
        let n_digits = text[run.clone()].iter().take_while(|b| b.is_ascii_digit()).count();
        // The digits before the identifier are a word of their own, and no part of it.
        let n_own = n_words - u32::from(n_digits > 0);
        let length = run.len() - n_digits;
        if n_own < 2 || length > MAX_WORD_BYTES {
            return;
        }
        let start = run.start + n_digits;
        if length <= PACKED_BYTES {
            self.identifiers.add(pack(text, start, length));
        } else {
            self.lower(&text[start..run.end]);
            found(Field::Identifiers, &self.term, 1);
        }
    }

    fn lower(&mut self, text: &[u8]) {
        self.term.clear();
        self.term.extend(text.iter().map(u8::to_ascii_lowercase));
    }
}

/// A run of identifier characters that may go on.
#[derive(Clone, Copy, Default)]
struct Run {
    start: usize,
    /// Words that started in it so far.
    n_words: u32,
}

/// The bits below number `bit` (under 64).
#[inline]
fn below(bit: usize) -> u64 {
    (1 << bit) - 1
}

/// Identifier characters that fit a key.
const PACKED_BYTES: usize = 16;

/// Bit 5 of every byte: sets letters lower-case, leaves digits, and makes of `_` 0x7f, which no other character is.
const BIT_5: u128 = u128::from_le_bytes([0x20; PACKED_BYTES]);
const ONES: u128 = u128::from_le_bytes([1; PACKED_BYTES]);

/// One to sixteen identifier characters as a number, letter case aside. Never 0.
#[inline]
fn pack(text: &[u8], start: usize, length: usize) -> u128 {
    let bytes = match text.get(start..start + PACKED_BYTES) {
        Some(bytes) => u128::from_le_bytes(bytes.try_into().unwrap_or_default()),
        None => {
            let mut bytes = [0; PACKED_BYTES];
            bytes[..length].copy_from_slice(&text[start..start + length]);
            u128::from_le_bytes(bytes)
        }
    };
    (bytes | BIT_5) & (u128::MAX >> (8 * (PACKED_BYTES - length)))
}

fn unpack(key: u128, term: &mut Vec<u8>) {
    // Only the packed underscore carries into the top bit of its byte; bit 5 of that byte is what is too much.
    let underscores = (key + ONES) & (ONES << 7);
    let bytes = (key ^ underscores >> 2).to_le_bytes();
    term.clear();
    term.extend_from_slice(&bytes[..PACKED_BYTES - key.leading_zeros() as usize / 8]);
}

/// Counts of packed words: a table with open addressing, emptied after every document.
struct Tally {
    /// Key and count; a key of 0 is an empty slot.
    slots: Vec<(u128, u32)>,
    /// How many of them serve this document, a power of two: few fit the cache better.
    n_slots: usize,
    used: Vec<u32>,
}

/// Room for the different words of an ordinary file; grows with larger ones.
const FIRST_SLOTS: usize = 1 << 10;

impl Default for Tally {
    fn default() -> Tally {
        Tally { slots: vec![(0, 0); FIRST_SLOTS], n_slots: FIRST_SLOTS, used: Vec::new() }
    }
}

impl Tally {
    #[inline]
    fn add(&mut self, key: u128) {
        let at = self.place(key);
        let slot = &mut self.slots[at];
        slot.1 += 1;
        if slot.0 == 0 {
            slot.0 = key;
            self.used.push(at as u32);
            if self.used.len() * 2 > self.n_slots {
                self.grow();
            }
        }
    }

    /// Where a key is, or would be.
    #[inline]
    fn place(&self, key: u128) -> usize {
        // Folded multiplication: every character counts in the lowest bits. The numbers are the fractional bits of √2
        // and √3.
        let (low, high) =
            (key as u64 ^ 0x6A09_E667_F3BC_C909, (key >> 64) as u64 ^ 0xBB67_AE85_84CA_A73B);
        let product = u128::from(low) * u128::from(high);
        let mask = self.n_slots - 1;
        let mut at = (product as u64 ^ (product >> 64) as u64) as usize & mask;
        while self.slots[at].0 != 0 && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = &mut self.slots;
        let all: Vec<_> =
            self.used.drain(..).map(|at| std::mem::take(&mut slots[at as usize])).collect();
        self.n_slots *= 4;
        slots.resize(slots.len().max(self.n_slots), (0, 0));
        for (key, count) in all {
            let at = self.place(key);
            self.slots[at] = (key, count);
            self.used.push(at as u32);
        }
    }

    /// Hands out every key with its count, and leaves the table empty.
    fn drain(&mut self, mut found: impl FnMut(u128, u32)) {
        for at in self.used.drain(..) {
            let (key, count) = std::mem::take(&mut self.slots[at as usize]);
            found(key, count);
        }
        self.n_slots = FIRST_SLOTS;
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

    use super::super::corpus::Kind;
    use super::super::matcher::{Matcher, Scratch};
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
        let length = Reader::default().every_term(text.as_bytes(), |field, term, count| {
            *all.entry((field as u8, term.to_vec())).or_default() += count;
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
                (of(Field::Identifiers, &identifier.name), matched(&counts.identifiers, k));
            // Spelled as one word somewhere: then the document is found by that word.
            let by_word = !identifier.is_joined
                && only_word(&identifier.name).is_some_and(|stem| of(Field::Body, &stem) > 0);
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
            "sixteen_letters_ seventeen_letters internationalizations Internationalization2Of 0123456789abcdefg",
        ] {
            check(text, text);
            check(text, &text.to_lowercase());
            check(text, &text.to_uppercase());
            check(text, "parse_http_response webSocket MyVar my_var __Init__ foo");
        }
    }

    proptest::proptest! {
        #[test]
        fn agrees_on_many_words(words in proptest::collection::vec("[a-cA-C_0-1]{1,20}", 0..3_000)) {
            check(&words.join(" "), "aB_c ABa a_b");
        }

        #[test]
        fn agrees_on_any_text(text in "([a-cA-C0-1_ (){}é修]|fn |let |\\n){0,40}", task in "[a-cA-C0-1_ é修]{0,30}") {
            check(&text, &text);
            check(&text, &task);
        }
    }
}
