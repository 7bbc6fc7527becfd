//! Reads a document for a query: one pass over its bytes counts what the query asks for.
//!
//! A [`Matcher`] is a compiled query; bytes in, [`Counts`] out. Where words start is found for 64 bytes at a time, and nearly
//! every word is dismissed by its first bytes.

use super::corpus::{self, Counts, DocumentKind};
use super::query::{Identifier, Index, Query};
use crate::core::text::blocks::{BLOCK_BYTES, Block, bits, is_lower, is_upper};
use crate::core::text::hash::FxMap;
use crate::core::text::tokenize::{self, CLASS, DIGIT, IDENTIFIER, MAX_WORD_BYTES};

/// A query made ready to read documents with. Shared by threads; see [`Matcher::count`].
pub struct Matcher<'q> {
    terms: Index<'q>,
    identifiers: FxMap<&'q [u8], (u32, &'q Identifier)>,
    /// How words of the stems, and identifiers, start.
    starts: StartMasks,
    /// Does an identifier start with what is no letter?
    has_underscored: bool,
    has_wide_terms: bool,
}

impl<'q> Matcher<'q> {
    /// Compiles a query.
    #[must_use]
    pub fn new(query: &'q Query) -> Matcher<'q> {
        let names = || query.identifiers.iter().map(|identifier| identifier.name.as_slice());
        Matcher {
            terms: query.index(),
            identifiers: names().zip((0..).zip(&query.identifiers)).collect(),
            starts: StartMasks::of(query.terms.iter().map(|term| term.stem.as_slice()), names()),
            has_underscored: names().any(|name| name.starts_with(b"_")),
            has_wide_terms: query.terms.iter().any(|term| !term.stem.is_ascii()),
        }
    }

    /// Counts one document. O(bytes); `scratch` is reused from document to document.
    #[must_use]
    pub fn count(&self, text: &[u8], scratch: &mut Scratch) -> Counts {
        let kind = corpus::kind(text);
        if kind == DocumentKind::Binary {
            return Counts { kind, ..Counts::default() };
        }
        scratch.reset(self.terms.len(), self.identifiers.len());
        let length = self.count_words(text, scratch);
        if self.has_wide_terms {
            tokenize::wide_words(text, |_, word| {
                if let Some(term) = self.terms.get(word.as_bytes()) {
                    scratch.body.add(term);
                }
            });
        }
        Counts { length, kind, body: scratch.body.take(), identifiers: scratch.identifiers.take() }
    }

    /// The pass over the bytes: where words start is found for 64 bytes at a time, and nearly every word is dismissed
    /// by its first four bytes.
    fn count_words(&self, text: &[u8], scratch: &mut Scratch) -> u32 {
        let (mut length, mut padded) = (0, [0; _]);
        for start in (0..text.len()).step_by(BLOCK_BYTES) {
            let block = Block::at(text, start, &mut padded);
            let starts = block.starts();
            length += starts.words.count_ones();
            for bit in bits(starts.words) {
                let first = block.four_bytes(bit);
                if !self.starts.may_contain(first) {
                    continue;
                }
                if has(&self.starts.of_words, first_of_word(first, text, start + bit)) {
                    self.count_term(text, start + bit, scratch);
                }
                if starts.identifiers >> bit & 1 == 1 && has(&self.starts.of_names, first) {
                    self.at_identifier(text, start + bit, scratch);
                }
            }
            // Every other identifier starts where a word does.
            if self.has_underscored {
                for bit in bits(starts.identifiers & !starts.words) {
                    if has(&self.starts.of_names, block.four_bytes(bit)) {
                        self.at_identifier(text, start + bit, scratch);
                    }
                }
            }
        }
        length
    }

    fn count_term(&self, text: &[u8], start: usize, scratch: &mut Scratch) {
        let end = tokenize::word_end(text, start);
        if end - start <= MAX_WORD_BYTES
            && let Some(term) = self.terms.of_word(&text[start..end], &mut scratch.word)
        {
            scratch.body.add(term);
        }
    }

    /// At a byte where an identifier may start: not a digit, and no identifier character but digits before it.
    fn at_identifier(&self, text: &[u8], at: usize, scratch: &mut Scratch) {
        let follows_digit = at > 0 && CLASS[text[at - 1] as usize] == DIGIT;
        if !follows_digit || follows_digits_alone(text, at) {
            self.count_identifier(text, at, scratch);
        }
    }

    fn count_identifier(&self, text: &[u8], at: usize, scratch: &mut Scratch) {
        let end = tokenize::identifier_end(text, at);
        if end - at <= MAX_WORD_BYTES {
            scratch.word.clear();
            scratch.word.extend(text[at..end].iter().map(u8::to_ascii_lowercase));
            if let Some(&(k, identifier)) = self.identifiers.get(scratch.word.as_slice()) {
                // Without a seam the joined term counts.
                if !identifier.is_joined || tokenize::is_compound(&text[at..end]) {
                    scratch.identifiers.add(k);
                }
            }
        }
    }
}

/// Is the run of identifier characters before `at` made of digits only?
fn follows_digits_alone(text: &[u8], at: usize) -> bool {
    let digits = text[..at].iter().rev().take_while(|&&b| CLASS[b as usize] == DIGIT).count();
    at == digits || CLASS[text[at - digits - 1] as usize] & IDENTIFIER == 0
}

/// A filter on how words and identifiers start, letter case aside: first on two bytes, then on four.
struct StartMasks {
    /// One bit for each two bytes, see [`pair`], of both: small enough to stay at hand for every word of a project.
    pairs: [u64; 16],
    of_words: Fours,
    of_names: Fours,
}

/// One bit for each of 2^16 hashes of four bytes.
type Fours = Box<[u64; 1024]>;

#[inline]
fn has(fours: &Fours, first: [u8; 4]) -> bool {
    let hash = hash(first);
    fours[hash >> 6] >> (hash & 63) & 1 == 1
}

impl StartMasks {
    /// Lets every word through that has one of the stems, and everything that starts with one of the names.
    fn of<'a>(
        stems: impl Iterator<Item = &'a [u8]>,
        names: impl Iterator<Item = &'a [u8]>,
    ) -> StartMasks {
        let fours = || Box::new([0; 1024]);
        let mut starts = StartMasks { pairs: [0; 16], of_words: fours(), of_names: fours() };
        stems.for_each(|stem| {
            starts_of_stem(stem, |first| insert(&mut starts.pairs, &mut starts.of_words, first));
        });
        names.for_each(|name| {
            starts_of_name(name, |first| insert(&mut starts.pairs, &mut starts.of_names, first));
        });
        starts
    }

    /// By the first two bytes alone.
    #[inline]
    fn may_contain(&self, first: [u8; 4]) -> bool {
        let pair = pair(first);
        self.pairs[pair >> 6] >> (pair & 63) & 1 == 1
    }
}

fn insert(pairs: &mut [u64; 16], fours: &mut Fours, first: [u8; 4]) {
    // Whatever follows a word of one byte, the longer look decides.
    let seconds = if first[1] == 0 { 0..32 } else { first[1]..first[1] + 1 };
    for pair in seconds.map(|second| pair([first[0], second, 0, 0])) {
        pairs[pair >> 6] |= 1 << (pair & 63);
    }
    let hash = hash(first);
    fours[hash >> 6] |= 1 << (hash & 63);
}

/// The first four bytes that a word of the stem can have: what [`tokenize::stem`] may do to a word decides.
fn starts_of_stem(stem: &[u8], mut start: impl FnMut([u8; 4])) {
    match *stem {
        // No ending is taken off a word to leave fewer than three bytes: the word itself.
        [a] => start([a, 0, 0, 0]),
        [a, b] => start([a, b, 0, 0]),
        // The word itself, or with -s, -ed, -ing, its last letter doubled before them.
        [a, b, c] => [0, b's', b'e', b'i', c].into_iter().for_each(|d| start([a, b, c, d])),
        [a, b, c, d, ..] => start([a, b, c, d]),
        [] => {}
    }
    // -ies has become -y.
    match *stem {
        [a, b, b'y'] => start([a, b, b'i', b'e']),
        [a, b, c, b'y'] => start([a, b, c, b'i']),
        _ => {}
    }
}

/// The first four bytes of what starts with a name of two or more bytes.
fn starts_of_name(name: &[u8], mut start: impl FnMut([u8; 4])) {
    match *name {
        [a, b] => (0..32).for_each(|c| (0..32).for_each(|d| start([a, b, c, d]))),
        [a, b, c] => (0..32).for_each(|d| start([a, b, c, d])),
        [a, b, c, d, ..] => start([a, b, c, d]),
        _ => {}
    }
}

/// Five bits of each of the first two bytes, which letter case does not touch.
#[inline]
fn pair(first: [u8; 4]) -> usize {
    usize::from(first[0] & 31) | usize::from(first[1] & 31) << 5
}

/// Five bits of each byte, spread over 16.
#[inline]
fn hash(first: [u8; 4]) -> usize {
    let five = |byte: u8, at: u32| u32::from(byte & 31) << at;
    let key = five(first[0], 0) | five(first[1], 5) | five(first[2], 10) | five(first[3], 15);
    // 2^32 divided by the golden ratio, as in Fibonacci hashing.
    (key.wrapping_mul(0x9E37_79B9) >> 16) as usize
}

/// The first four bytes of the word at `at`, zeros past its end. `first` is what stands there.
#[inline]
fn first_of_word(first: [u8; 4], text: &[u8], at: usize) -> [u8; 4] {
    let [a, b, c, d] = first;
    if is_lower(a) | (is_upper(a) & is_lower(b)) {
        // A run of lower-case letters, after a capital or not.
        let has_b = is_lower(b);
        let has_c = has_b & is_lower(c);
        let has_d = has_c & is_lower(d);
        return [a, b * u8::from(has_b), c * u8::from(has_c), d * u8::from(has_d)];
    }
    // Digits and runs of capitals are rare, and their ends less simple.
    let length = tokenize::word_end(text, at) - at;
    [a, b, c, d].map({
        let mut k = 0;
        move |byte| {
            k += 1;
            if k <= length { byte } else { 0 }
        }
    })
}

/// Working memory of one thread.
#[derive(Default)]
pub struct Scratch {
    word: Vec<u8>,
    body: TermTally,
    identifiers: TermTally,
}

impl Scratch {
    fn reset(&mut self, terms: usize, identifiers: usize) {
        self.body.counts.resize(terms, 0);
        self.identifiers.counts.resize(identifiers, 0);
    }
}

/// Counts by index, and which indices are not zero.
#[derive(Default)]
struct TermTally {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl TermTally {
    fn add(&mut self, index: u32) {
        let count = &mut self.counts[index as usize];
        if *count == 0 {
            self.touched.push(index);
        }
        *count += 1;
    }

    /// The counts, sorted by index; the tally is empty afterwards.
    fn take(&mut self) -> Vec<(u32, u32)> {
        self.touched.sort_unstable();
        let counts = &mut self.counts;
        self.touched.drain(..).map(|k| (k, std::mem::take(&mut counts[k as usize]))).collect()
    }
}
