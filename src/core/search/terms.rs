//! Every term of a document, for an index that must answer any query: what [`super::matcher::Matcher`] counts for one
//! query, this reports for all of them.
//!
//! Bytes in, hashes of terms with counts out. Most of a text is repeated, so it is taken apart in two steps: the runs of
//! identifier characters are counted as they stand, then each different one is split into words, and each different word
//! stemmed. Property-tested against the matcher in `tests`.

use std::ops::Range;

use crate::core::text::blocks::{self, BLOCK_BYTES, Block, LANE_BYTES, bits};
use crate::core::text::hash::{folded, folded_once};
use crate::core::text::tokenize::{self, MAX_WORD_BYTES};

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

/// Largest text that [`TermExtractor::for_each_term`] takes.
pub const MAX_TEXT_BYTES: u64 = COUNT_MASK;

/// Reads documents; holds what one thread reuses from document to document.
#[derive(Default)]
pub struct TermExtractor {
    runs: TallyTable<Span>,
    words: TallyTable<u128>,
    stems: Stems,
}

/// Part of a text.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl TermExtractor {
    /// Calls `found` with the [`hash`] of each term of a text that is no binary, and how often it occurs (a term may come
    /// in several parts); returns its length in sub-words. O(bytes); the text has [`MAX_TEXT_BYTES`] at most.
    pub fn for_each_term(&mut self, text: &[u8], mut found: impl FnMut(Field, u64, u32)) -> u32 {
        let length = self.count_runs(text);
        self.take_runs_apart(text, &mut found);
        let stems = &mut self.stems;
        self.words.drain(|hash, word, count| found(Field::Body, stems.of(hash, word), count));
        tokenize::wide_words(text, |_, word| found(Field::Body, hash(word.as_bytes()), 1));
        length
    }

    /// The pass over the bytes, 64 at a time; returns how many words there are.
    fn count_runs(&mut self, text: &[u8]) -> u32 {
        let (mut n_words, mut open, mut padded) = (0, 0, [0; _]);
        // A block may be empty: what the text ends in ends there.
        for at in (0..=text.len()).step_by(BLOCK_BYTES) {
            let edges = Block::at(text, at, &mut padded).edges();
            n_words += edges.word_starts.count_ones();
            let (mut starts, mut ends) = (bits(edges.run_starts), bits(edges.run_ends));
            // One that started in an earlier block ends before others start.
            if edges.run_ends.trailing_zeros() < edges.run_starts.trailing_zeros()
                && let Some(end) = ends.next()
            {
                self.count_run(text, open, at + end);
            }
            for end in ends {
                let start = starts.next().unwrap_or_default();
                self.count_run(text, at + start, at + end);
            }
            if let Some(start) = starts.next() {
                open = at + start;
            }
        }
        n_words
    }

    #[inline(always)]
    fn count_run(&mut self, text: &[u8], start: usize, end: usize) {
        let hash = hash_of(text, start, end - start);
        self.runs.add(hash, 1, Span { start: start as u32, end: end as u32 });
    }

    /// Counts the words of every different run, and reports the identifiers.
    fn take_runs_apart(&mut self, text: &[u8], found: &mut impl FnMut(Field, u64, u32)) {
        let mut sink = Sink { words: &mut self.words, found };
        self.runs.drain(|_, Span { start, end }, count| {
            let run = &text[start as usize..end as usize];
            if run.len() <= LANE_BYTES {
                sink.short_run(packed(text, start as usize, run.len()), run.len(), count);
            } else if run.len() <= BLOCK_BYTES {
                sink.middle_run(run, count);
            } else {
                sink.long_run(run, count);
            }
        });
    }
}

/// Where the words and identifiers of a run go; `count` is how often it occurs.
struct Sink<'r, F> {
    words: &'r mut TallyTable<u128>,
    found: &'r mut F,
}

impl<F: FnMut(Field, u64, u32)> Sink<'_, F> {
    /// Of up to 16 identifier characters.
    #[inline]
    fn short_run(&mut self, run: u128, length: usize, count: u32) {
        let (places, lower) = blocks::words_of_lane(run);
        let part = |start: usize, end: usize| lower >> (8 * start) & MASKS[end - start];
        for place in places.all(length) {
            let word = part(place.start, place.end);
            self.words.add(folded_once(word), count, word);
        }
        if let Some(start) = places.identifier() {
            (self.found)(Field::Identifiers, folded_once(part(start, length)), count);
        }
    }

    /// Of up to 64.
    fn middle_run(&mut self, run: &[u8], count: u32) {
        let mut lower = [0; BLOCK_BYTES];
        lower[..run.len()].copy_from_slice(run);
        let places = blocks::words_of_block(&mut lower);
        for place in places.all(run.len()) {
            self.word(&lower, place, count);
        }
        if let Some(start) = places.identifier() {
            (self.found)(Field::Identifiers, hash(&lower[start..run.len()]), count);
        }
    }

    /// Of more: data, mostly.
    #[cold]
    fn long_run(&mut self, run: &[u8], count: u32) {
        let lower = run.to_ascii_lowercase();
        for place in tokenize::words(run) {
            self.word(&lower, place, count);
        }
        let n_digits = run.iter().take_while(|b| b.is_ascii_digit()).count();
        let identifier = n_digits..run.len();
        if identifier.len() <= MAX_WORD_BYTES && tokenize::is_compound(&run[identifier.clone()]) {
            (self.found)(Field::Identifiers, hash(&lower[identifier]), count);
        }
    }

    /// A word of a run in lower case.
    #[inline]
    fn word(&mut self, lower: &[u8], place: Range<usize>, count: u32) {
        if place.len() <= LANE_BYTES {
            let word = packed(lower, place.start, place.len());
            self.words.add(folded_once(word), count, word);
        } else if place.len() <= MAX_WORD_BYTES {
            (self.found)(Field::Body, hash(&tokenize::stem(&lower[place])), count);
        }
    }
}

/// The lowest so many bytes of a number.
const MASKS: [u128; LANE_BYTES + 1] = {
    let mut masks = [0; LANE_BYTES + 1];
    let mut bytes = 1;
    while bytes <= LANE_BYTES {
        masks[bytes] = u128::MAX >> (8 * (LANE_BYTES - bytes));
        bytes += 1;
    }
    masks
};

/// One to sixteen bytes of a text as a number, the first one lowest.
#[inline]
fn packed(text: &[u8], start: usize, length: usize) -> u128 {
    let bytes = match text.get(start..start + LANE_BYTES) {
        Some(bytes) => bytes.try_into().unwrap_or_default(),
        None => {
            let mut bytes = [0; LANE_BYTES];
            bytes[..length].copy_from_slice(&text[start..start + length]);
            bytes
        }
    };
    u128::from_le_bytes(bytes) & MASKS[length]
}

/// What a term is known by.
#[must_use]
pub fn hash(term: &[u8]) -> u64 {
    hash_of(term, 0, term.len())
}

#[inline]
fn hash_of(text: &[u8], start: usize, length: usize) -> u64 {
    match length {
        0..=LANE_BYTES => folded_once(packed(text, start, length)),
        _ => folded(0, &text[start..start + length]),
    }
}

/// Stems of words seen lately, by hash: most words are the same few thousand in every file of a project.
struct Stems {
    /// Hash of a word, and of its stem. Arrays of zeros cost nothing until they are used.
    slots: Vec<[u64; 2]>,
}

/// 256 kB: what fits the second cache beside the text.
const STEM_SLOTS: usize = 1 << 14;

impl Default for Stems {
    fn default() -> Stems {
        Stems { slots: vec![[0; 2]; STEM_SLOTS] }
    }
}

impl Stems {
    /// The hash of a word's stem.
    #[inline]
    fn of(&mut self, hash: u64, word: u128) -> u64 {
        // The tally has used the lowest bits.
        let slot = &mut self.slots[(hash >> 32) as usize % STEM_SLOTS];
        if slot[0] != hash {
            *slot = [hash, hash_of_stem(word)];
        }
        slot[1]
    }
}

fn hash_of_stem(word: u128) -> u64 {
    let length = LANE_BYTES - word.leading_zeros() as usize / 8;
    hash(&tokenize::stem(&word.to_le_bytes()[..length]))
}

/// Counts of what has a hash: a table with open addressing, emptied after every document.
struct TallyTable<T> {
    /// The upper bits of a hash and a count, see [`COUNT_BITS`]; 0 for an empty slot.
    slots: Vec<u64>,
    /// How many of them serve this document, a power of two: few fit the cache better.
    n_slots: usize,
    seen: Vec<Seen<T>>,
}

struct Seen<T> {
    hash: u64,
    place: u32,
    what: T,
}

/// 32 kB. An ordinary file has some 400 different runs (370 in Linux): they fill a tenth, and where slots are taken, the
/// processor guesses wrong. Half as many were 3 % slower.
const FIRST_SLOTS: usize = 1 << 12;

/// Slots for each key in use, at least.
const SLOTS_PER_KEY: usize = 4;

/// A text has fewer words than this many bits can count. The other 40 bits of the slot and the 12 or more that chose it tell
/// the few thousand keys of a document apart.
const COUNT_BITS: u32 = 24;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

impl<T> Default for TallyTable<T> {
    fn default() -> TallyTable<T> {
        TallyTable { slots: vec![0; FIRST_SLOTS], n_slots: FIRST_SLOTS, seen: Vec::new() }
    }
}

impl<T> TallyTable<T> {
    #[inline]
    fn add(&mut self, hash: u64, count: u32, what: T) {
        let mask = self.n_slots - 1;
        let mut place = hash as usize & mask;
        loop {
            let slot = &mut self.slots[place];
            if *slot == 0 {
                *slot = hash & !COUNT_MASK | u64::from(count);
                self.seen.push(Seen { hash, place: place as u32, what });
                if self.seen.len() * SLOTS_PER_KEY > self.n_slots {
                    self.grow();
                }
                return;
            }
            if (*slot ^ hash) & !COUNT_MASK == 0 {
                *slot += u64::from(count);
                return;
            }
            place = (place + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let slots = &mut self.slots;
        let seen = self.seen.iter();
        let all: Vec<u64> =
            seen.map(|seen| std::mem::take(&mut slots[seen.place as usize])).collect();
        self.n_slots *= 4;
        slots.resize(slots.len().max(self.n_slots), 0);
        for (seen, slot) in self.seen.iter_mut().zip(all) {
            let mut place = seen.hash as usize & (self.n_slots - 1);
            while slots[place] != 0 {
                place = (place + 1) & (self.n_slots - 1);
            }
            slots[place] = slot;
            seen.place = place as u32;
        }
    }

    /// Hands out every key with its hash and count, and leaves the table empty.
    #[inline]
    fn drain(&mut self, mut found: impl FnMut(u64, T, u32)) {
        for Seen { hash, place, what } in self.seen.drain(..) {
            let slot = std::mem::take(&mut self.slots[place as usize]);
            found(hash, what, (slot & COUNT_MASK) as u32);
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

    use super::*;
    use crate::core::search::corpus::DocumentKind;
    use crate::core::search::matcher::{Matcher, Scratch};
    use crate::core::search::query::query;

    /// Both ways of counting, for a task made of the text itself and for a task in another spelling.
    fn check(text: &str, task: &str) {
        let query = query(task);
        let counts = Matcher::new(&query).count(text.as_bytes(), &mut Scratch::default());
        if counts.kind == DocumentKind::Binary {
            return;
        }
        let mut all: BTreeMap<(u8, u64), u32> = BTreeMap::new();
        let length =
            TermExtractor::default().for_each_term(text.as_bytes(), |field, term, count| {
                *all.entry((field as u8, term)).or_default() += count;
            });
        assert_eq!(length, counts.length, "{text:?}");
        let of = |field: Field, term: &[u8]| {
            all.get(&(field as u8, hash(term))).copied().unwrap_or_default()
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
    fn long_terms_that_end_alike_are_told_apart() {
        let check =
            |a: &str, b: &str| assert_ne!(hash(a.as_bytes()), hash(b.as_bytes()), "{a} {b}");
        check("1000000000000000000", "000000000000000000");
        check(&format!("b{}", "a".repeat(33)), &"a".repeat(33));
        check(&"a".repeat(16), &"a".repeat(17));
        check(&"a".repeat(24), &"a".repeat(32));
    }

    #[test]
    fn agrees_with_the_matcher() {
        for text in [
            "fn parseHTTPResponse(x1: u8) { let my_var = 3dModel; }",
            "class Foo: pass\nfunc (r *Retry) backOff2() {}",
            "webSocket websocket WEBSOCKET _webSocket 12ab_c",
            "größe die Größe fn größe() 修复 retry 逻辑",
            "the \u{212a}elvin unit, \u{212a}",
            "1000000000000000000 000000000000000000 baaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "const const let func (a) (b) type T2x struct { x int }",
            "a1b2c3 __init__ HTTPs HTTPSConnection x_Y_z9",
            "sixteen_letters_ seventeen_letters internationalizations Internationalization2Of 0123456789abcdefg",
        ] {
            check(text, text);
            check(text, &text.to_lowercase());
            check(text, &text.to_uppercase());
            check(
                text,
                "parse_http_response webSocket MyVar my_var __Init__ foo kelvin k 1000000000000000000",
            );
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
