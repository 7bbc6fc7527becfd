//! Reads a document for a query: one pass over its bytes counts what the query asks for.
//!
//! A [`Matcher`] is a compiled query; bytes in, [`Counts`] out. Where words start is found for 64 bytes at a time, and nearly
//! every word is dismissed by its first bytes.

use super::blocks::{BLOCK_BYTES, Block, bits, is_lower, is_upper};
use super::corpus::{self, Counts, Kind};
use super::hash::FxMap;
use super::query::{Identifier, Query};
use super::tokenize::{self, CLASS, DIGIT, IDENTIFIER, MAX_WORD_BYTES};

/// A query made ready to read documents with. Shared by threads; see [`Matcher::count`].
pub struct Matcher<'q> {
    terms: FxMap<&'q [u8], u32>,
    identifiers: FxMap<&'q [u8], (u32, &'q Identifier)>,
    /// The first two bytes of both, see [`pair`]: small enough to stay at hand for every word of a project.
    pairs: Pairs,
    /// How words of the stems, and identifiers, start.
    term_starts: Starts,
    identifier_starts: Starts,
    /// Does an identifier start with what is no letter?
    has_underscored: bool,
    has_wide_terms: bool,
}

impl<'q> Matcher<'q> {
    /// Compiles a query.
    #[must_use]
    pub fn new(query: &'q Query) -> Matcher<'q> {
        let names = || query.identifiers.iter().map(|identifier| identifier.name.as_slice());
        let term_starts = Starts::of_stems(query.terms.iter().map(|term| term.stem.as_slice()));
        let identifier_starts = Starts::of_names(names());
        let pairs = std::array::from_fn(|k| term_starts.pairs[k] | identifier_starts.pairs[k]);
        Matcher {
            terms: query.index(),
            identifiers: names().zip((0..).zip(&query.identifiers)).collect(),
            pairs,
            term_starts,
            identifier_starts,
            has_underscored: names().any(|name| name.starts_with(b"_")),
            has_wide_terms: query.terms.iter().any(|term| !term.stem.is_ascii()),
        }
    }

    /// Counts one document. O(bytes); `scratch` is reused from document to document.
    #[must_use]
    pub fn count(&self, text: &[u8], scratch: &mut Scratch) -> Counts {
        let kind = corpus::kind(text);
        if kind == Kind::Binary {
            return Counts { kind, ..Counts::default() };
        }
        scratch.reset(self.terms.len(), self.identifiers.len());
        let length = self.count_words(text, scratch);
        if self.has_wide_terms {
            tokenize::wide_words(text, |_, word| {
                if let Some(&term) = self.terms.get(word.as_bytes()) {
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
                if !has_pair(&self.pairs, first) {
                    continue;
                }
                if self.term_starts.contain(first_of_word(first, text, start + bit)) {
                    self.count_term(text, start + bit, scratch);
                }
                if starts.identifiers >> bit & 1 == 1 && self.identifier_starts.contain(first) {
                    self.at_identifier(text, start + bit, scratch);
                }
            }
            // Every other identifier starts where a word does.
            if self.has_underscored {
                for bit in bits(starts.identifiers & !starts.words) {
                    if self.identifier_starts.contain(block.four_bytes(bit)) {
                        self.at_identifier(text, start + bit, scratch);
                    }
                }
            }
        }
        length
    }

    fn count_term(&self, text: &[u8], start: usize, scratch: &mut Scratch) {
        let end = tokenize::word_end(text, start);
        if end - start <= MAX_WORD_BYTES {
            scratch.word.clear();
            scratch.word.extend(text[start..end].iter().map(u8::to_ascii_lowercase));
            tokenize::stem_in_place(&mut scratch.word);
            if let Some(&term) = self.terms.get(scratch.word.as_slice()) {
                scratch.body.add(term);
            }
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
                let has_seam = || tokenize::words(&text[at..end]).nth(1).is_some();
                if !identifier.is_joined || has_seam() {
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

/// One bit for each two bytes (five bits of each).
type Pairs = [u64; 16];

#[inline]
fn has_pair(pairs: &Pairs, first: [u8; 4]) -> bool {
    let pair = pair(first);
    pairs[pair >> 6] >> (pair & 63) & 1 == 1
}

/// A filter on how words start, letter case aside: on two bytes, and on four.
///
/// What [`tokenize::stem`] may do to a word decides which four bytes the words of a stem can start with.
struct Starts {
    pairs: Pairs,
    /// One bit for each of 2^16 hashes of four bytes.
    bits: Box<[u64; 1024]>,
}

impl Starts {
    fn new() -> Starts {
        Starts { pairs: [0; 16], bits: Box::new([0; 1024]) }
    }

    /// Lets every word through that has one of these stems.
    fn of_stems<'a>(stems: impl Iterator<Item = &'a [u8]>) -> Starts {
        let mut starts = Starts::new();
        for stem in stems {
            match *stem {
                // No ending is taken off a word to leave fewer than three bytes: the word itself.
                [a] => starts.insert([a, 0, 0, 0]),
                [a, b] => starts.insert([a, b, 0, 0]),
                // The word itself, or with -s, -ed, -ing, its last letter doubled before them.
                [a, b, c] => {
                    [0, b's', b'e', b'i', c].into_iter().for_each(|d| starts.insert([a, b, c, d]));
                }
                [a, b, c, d, ..] => starts.insert([a, b, c, d]),
                [] => {}
            }
            // -ies has become -y.
            match *stem {
                [a, b, b'y'] => starts.insert([a, b, b'i', b'e']),
                [a, b, c, b'y'] => starts.insert([a, b, c, b'i']),
                _ => {}
            }
        }
        starts
    }

    /// Lets everything through that starts with one of these names of two or more bytes.
    fn of_names<'a>(names: impl Iterator<Item = &'a [u8]>) -> Starts {
        let mut starts = Starts::new();
        for name in names {
            match *name {
                [a, b] => (0..32).for_each(|c| (0..32).for_each(|d| starts.insert([a, b, c, d]))),
                [a, b, c] => (0..32).for_each(|d| starts.insert([a, b, c, d])),
                [a, b, c, d, ..] => starts.insert([a, b, c, d]),
                _ => {}
            }
        }
        starts
    }

    fn insert(&mut self, first: [u8; 4]) {
        // Whatever follows a word of one byte, the longer look decides.
        let seconds = if first[1] == 0 { 0..32 } else { first[1]..first[1] + 1 };
        for pair in seconds.map(|second| pair([first[0], second, 0, 0])) {
            self.pairs[pair >> 6] |= 1 << (pair & 63);
        }
        let hash = hash(first);
        self.bits[hash >> 6] |= 1 << (hash & 63);
    }

    #[inline]
    fn contain(&self, first: [u8; 4]) -> bool {
        let hash = hash(first);
        self.bits[hash >> 6] >> (hash & 63) & 1 == 1
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
    body: Tally,
    identifiers: Tally,
}

impl Scratch {
    fn reset(&mut self, terms: usize, identifiers: usize) {
        self.body.counts.resize(terms, 0);
        self.identifiers.counts.resize(identifiers, 0);
    }
}

/// Counts by index, and which indices are not zero.
#[derive(Default)]
struct Tally {
    counts: Vec<u32>,
    touched: Vec<u32>,
}

impl Tally {
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
