//! What the documents hold of a query: lengths and, per term, which document has it how often.
//!
//! A [`Matcher`] (a compiled query) counts one document's bytes in one pass; [`Corpus`] collects the counts. The
//! on-disk index fills the same [`Corpus`] from its postings, so that both give the same ranking.

use std::collections::HashMap;

use super::query::Query;
use super::tokenize::{self, CLASS, DIGIT, IDENTIFIER, MAX_WORD_BYTES};

/// One document's occurrences of one term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Posting {
    /// Index of the document in [`Corpus::documents`].
    pub document: u32,
    /// Occurrences, at least 1.
    pub count: u32,
}

/// A ranked file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Path relative to the root, `/` between parts; any bytes.
    pub path: Vec<u8>,
    /// Length in sub-words.
    pub length: u32,
    /// What the bytes look like.
    pub kind: Kind,
}

/// What a file's bytes look like; decided by [`kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Written by people, as far as one can tell.
    #[default]
    Source,
    /// Says that it was generated.
    Generated,
    /// Lines no person writes or reads.
    Minified,
    /// Holds a NUL byte: not text. Never a document.
    Binary,
}

/// The documents and their counts for one query. Postings are sorted by document.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    /// Sorted by path.
    pub documents: Vec<Document>,
    /// Per term of the query: its stem's occurrences.
    pub body: Vec<Vec<Posting>>,
    /// Per term of the query: occurrences in names that the document defines.
    pub definitions: Vec<Vec<Posting>>,
    /// Per identifier of the query: occurrences of the whole identifier, letter case aside.
    pub identifiers: Vec<Vec<Posting>>,
}

impl Corpus {
    /// No documents yet.
    #[must_use]
    pub fn new(query: &Query) -> Corpus {
        Corpus {
            documents: Vec::new(),
            body: vec![Vec::new(); query.terms.len()],
            definitions: vec![Vec::new(); query.terms.len()],
            identifiers: vec![Vec::new(); query.identifiers.len()],
        }
    }

    /// Adds a document, in the order of paths.
    pub fn push(&mut self, path: Vec<u8>, counts: &Counts) {
        let document = self.documents.len() as u32;
        self.documents.push(Document { path, length: counts.length, kind: counts.kind });
        for (list, field) in [
            (&counts.body, &mut self.body),
            (&counts.definitions, &mut self.definitions),
            (&counts.identifiers, &mut self.identifiers),
        ] {
            for &(term, count) in list {
                field[term as usize].push(Posting { document, count });
            }
        }
    }
}

/// One document's counts: `(index in the query, occurrences)`, sorted by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Length in sub-words.
    pub length: u32,
    /// What the bytes look like.
    pub kind: Kind,
    /// Per stem.
    pub body: Vec<(u32, u32)>,
    /// Per stem, in defined names.
    pub definitions: Vec<(u32, u32)>,
    /// Per whole identifier.
    pub identifiers: Vec<(u32, u32)>,
}

/// A query made ready to read documents with. Shared by threads; see [`Matcher::count`].
pub struct Matcher<'q> {
    terms: HashMap<&'q [u8], u32>,
    identifiers: HashMap<&'q [u8], u32>,
    /// First two bytes of every stem, of every identifier, of every keyword that defines a name.
    term_starts: Starts,
    identifier_starts: Starts,
    keyword_starts: Starts,
    has_wide_terms: bool,
}

/// Keywords that are followed by the name they define, in any of the usual languages.
const DEFINING: &[&[u8]] = &[
    b"fn",
    b"func",
    b"def",
    b"class",
    b"struct",
    b"enum",
    b"trait",
    b"interface",
    b"type",
    b"impl",
    b"const",
    b"let",
    b"var",
    b"function",
    b"module",
    b"mod",
    b"macro_rules!",
];

impl<'q> Matcher<'q> {
    /// Compiles a query.
    #[must_use]
    pub fn new(query: &'q Query) -> Matcher<'q> {
        let identifiers: HashMap<&[u8], u32> =
            (0u32..).zip(&query.identifiers).map(|(k, id)| (id.as_slice(), k)).collect();
        Matcher {
            terms: query.index(),
            identifiers,
            term_starts: Starts::of(query.terms.iter().map(|term| term.stem.as_slice())),
            identifier_starts: Starts::of(query.identifiers.iter().map(Vec::as_slice)),
            keyword_starts: Starts::of(DEFINING.iter().copied()),
            has_wide_terms: query.terms.iter().any(|term| !term.stem.is_ascii()),
        }
    }

    /// Counts one document. O(bytes); `scratch` is reused from document to document.
    #[must_use]
    pub fn count(&self, text: &[u8], scratch: &mut Scratch) -> Counts {
        let kind = kind(text);
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
        Counts {
            length,
            kind,
            body: scratch.body.take(),
            definitions: scratch.definitions.take(),
            identifiers: scratch.identifiers.take(),
        }
    }

    /// The pass over the bytes: nearly every word is dismissed by its first two bytes.
    fn count_words(&self, text: &[u8], scratch: &mut Scratch) -> u32 {
        let mut length = 0;
        let mut before = 0;
        // Where the search for the next definition goes on; matches do not overlap.
        let mut definitions_from = 0;
        for (at, &byte) in text.iter().enumerate() {
            let here = CLASS[byte as usize];
            if here & IDENTIFIER != 0 {
                let after = tokenize::class_at(text, at + 1);
                if before & IDENTIFIER == 0 {
                    self.at_identifier(text, at, &mut definitions_from, scratch);
                } else if before == DIGIT && here != DIGIT && text_starts_with_digit(text, at) {
                    // `3dModel` holds the identifier `dModel`.
                    self.count_identifier(text, at, scratch);
                }
                if tokenize::starts_word(before, here, after) {
                    length += 1;
                    if self.term_starts.may_start(byte, text.get(at + 1).copied()) {
                        self.count_term(text, at, scratch);
                    }
                }
            }
            before = here;
        }
        length
    }

    fn count_term(&self, text: &[u8], start: usize, scratch: &mut Scratch) {
        if let Some(term) = self.term_at(text, start, &mut scratch.word) {
            scratch.body.add(term);
        }
    }

    fn term_at(&self, text: &[u8], start: usize, word: &mut Vec<u8>) -> Option<u32> {
        let end = tokenize::word_end(text, start);
        if end - start > MAX_WORD_BYTES {
            return None;
        }
        word.clear();
        word.extend(text[start..end].iter().map(u8::to_ascii_lowercase));
        tokenize::stem_in_place(word);
        self.terms.get(word.as_slice()).copied()
    }

    /// At the first byte of a run of identifier characters.
    fn at_identifier(
        &self,
        text: &[u8],
        at: usize,
        definitions_from: &mut usize,
        scratch: &mut Scratch,
    ) {
        if CLASS[text[at] as usize] == DIGIT {
            return;
        }
        self.count_identifier(text, at, scratch);
        let second = text.get(at + 1).copied();
        if at >= *definitions_from
            && self.keyword_starts.may_start(text[at], second)
            && let Some((start, end)) = defined_name(text, at)
        {
            *definitions_from = end;
            self.count_definition(text, start, end, scratch);
        }
    }

    fn count_identifier(&self, text: &[u8], at: usize, scratch: &mut Scratch) {
        if !self.identifier_starts.may_start(text[at], text.get(at + 1).copied()) {
            return;
        }
        let end = tokenize::identifier_end(text, at);
        if end - at <= MAX_WORD_BYTES {
            scratch.word.clear();
            scratch.word.extend(text[at..end].iter().map(u8::to_ascii_lowercase));
            if let Some(&identifier) = self.identifiers.get(scratch.word.as_slice()) {
                scratch.identifiers.add(identifier);
            }
        }
    }

    fn count_definition(&self, text: &[u8], start: usize, end: usize, scratch: &mut Scratch) {
        for word in tokenize::words(&text[..end][start..]) {
            if let Some(term) = self.term_at(&text[..end], start + word.start, &mut scratch.word) {
                scratch.definitions.add(term);
            }
        }
    }
}

/// Is the run of identifier characters before `at` made of digits only?
fn text_starts_with_digit(text: &[u8], at: usize) -> bool {
    let digits = text[..at].iter().rev().take_while(|&&b| CLASS[b as usize] == DIGIT).count();
    at == digits || CLASS[text[at - digits - 1] as usize] & IDENTIFIER == 0
}

/// The name defined by the keyword at `at`, if there is one there: `fn name`, `func (r *T) name`.
fn defined_name(text: &[u8], at: usize) -> Option<(usize, usize)> {
    if text[..at].last().is_some_and(|b| !b.is_ascii()) && ends_in_letter(&text[..at]) {
        return None;
    }
    let keyword = DEFINING.iter().find(|k| {
        let word = k.strip_suffix(b"!").unwrap_or(k);
        text[at..].starts_with(k) && tokenize::identifier_end(text, at) == at + word.len()
    })?;
    let space = at + keyword.len();
    let mut name = skip_space(text, space);
    if name == space {
        return None;
    }
    if text.get(name) == Some(&b'(') {
        let close = memchr::memchr(b')', &text[name..])?;
        name = skip_space(text, name + close + 1);
    }
    let class = tokenize::class_at(text, name);
    if class & IDENTIFIER == 0 || class == DIGIT {
        return None;
    }
    Some((name, tokenize::identifier_end(text, name)))
}

fn ends_in_letter(text: &[u8]) -> bool {
    let (last, _) = bstr::decode_last_utf8(text);
    last.is_some_and(char::is_alphanumeric)
}

fn skip_space(text: &[u8], from: usize) -> usize {
    let is_space = |b: &u8| matches!(b, b' ' | b'\t'..=b'\r' | 0x1c..=0x1f);
    from + text[from..].iter().take_while(|b| is_space(b)).count()
}

/// A set of first-two-byte pairs, letter case aside: one bit for each of 65,536 pairs.
struct Starts {
    pairs: Box<[u64; 1024]>,
}

impl Starts {
    fn of<'a>(words: impl Iterator<Item = &'a [u8]>) -> Starts {
        let mut starts = Starts { pairs: Box::new([0; 1024]) };
        for word in words.filter(|word| !word.is_empty()) {
            match word {
                // A word of one byte may be followed by anything.
                [first] => (0..=255).for_each(|second| starts.insert(*first, second)),
                [first, second, ..] => starts.insert(*first, *second),
                [] => {}
            }
        }
        starts
    }

    fn insert(&mut self, first: u8, second: u8) {
        let pair = pair(first, second);
        self.pairs[pair >> 6] |= 1 << (pair & 63);
    }

    #[inline]
    fn may_start(&self, first: u8, second: Option<u8>) -> bool {
        let pair = pair(first, second.unwrap_or(0));
        self.pairs[pair >> 6] >> (pair & 63) & 1 == 1
    }
}

/// Both bytes with bit 5 set: letters lose their case, and the few others that fall together cost a look-up.
#[inline]
fn pair(first: u8, second: u8) -> usize {
    usize::from(first | 0x20) << 8 | usize::from(second | 0x20)
}

/// Working memory of one thread.
#[derive(Default)]
pub struct Scratch {
    word: Vec<u8>,
    body: Tally,
    definitions: Tally,
    identifiers: Tally,
}

impl Scratch {
    fn reset(&mut self, terms: usize, identifiers: usize) {
        self.body.counts.resize(terms, 0);
        self.definitions.counts.resize(terms, 0);
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

/// How far into a file a generator's notice is looked for: licence headers come first, then the notice.
const NOTICE_BYTES: usize = 2_048;

/// What generators write at the top: Go's convention (`Code generated … DO NOT EDIT`), `@generated` (Rust, Meta),
/// and the wording of protoc, bindgen and OpenAPI.
const NOTICES: &[&[u8]] = &[
    b"DO NOT EDIT",
    b"@generated",
    b"autogenerated",
    b"auto-generated",
    b"automatically generated",
];

/// A file of at least this size with lines this long on average is minified: hand-written source stays under 100
/// bytes a line, bundlers write thousands.
const MINIFIED_MIN_BYTES: usize = 2_000;
const MINIFIED_LINE_BYTES: usize = 500;

/// What a file's bytes look like. O(bytes), by memchr.
#[must_use]
pub fn kind(text: &[u8]) -> Kind {
    if memchr::memchr(0, text).is_some() {
        return Kind::Binary;
    }
    if text.len() >= MINIFIED_MIN_BYTES {
        let lines = memchr::memchr_iter(b'\n', text).count() + 1;
        if text.len() / lines >= MINIFIED_LINE_BYTES {
            return Kind::Minified;
        }
    }
    let head = &text[..text.len().min(NOTICE_BYTES)];
    let noted = NOTICES.iter().any(|notice| memchr::memmem::find(head, notice).is_some());
    if noted { Kind::Generated } else { Kind::Source }
}
