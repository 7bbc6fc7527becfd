//! The task's text as a query: distinct stems with weights, whole identifiers.
//!
//! Text in, [`Query`] out. Pure; costs one pass over the text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::named_files;
use crate::core::text::blocks::{BLOCK_BYTES, Block, bits};
use crate::core::text::hash::FxMap;
use crate::core::text::tokenize::{self, MAX_WORD_BYTES, letter_bit};

/// Distinct terms a query may have. A pasted log must not turn every word of a project into a match: on real
/// prompts the first 60 to 100 words rank as well as all of them (retrieval study, 208 prompts: .557 against .552).
const MAX_TERMS: usize = 128;

/// Whole identifiers a query may have; they are few in any task a person writes.
const MAX_IDENTIFIERS: usize = 64;

/// English words that say little about which file is meant: they weigh [`super::rank::Weights::stop`].
const STOP_WORDS: &str = "a an the of to in on for and or with without by from at as is are be been it its \
    this that these those into when if not no do does can could should would will may so than then there \
    their them they we you i my our your all any some more most only also but via per up out off over under \
    use using used fix fixes fixed add adds added remove removes removed update updates updated change \
    changes changed make makes made allow allows support supports improve improves improved refactor feat \
    chore perf test tests";

/// Further words that fill requests and tell no file apart. They rank like any other, but a prompt of nothing else gets
/// no files (the seed's list, less what [`STOP_WORDS`] has).
const FILLERS: &str = "about after again any anything back because before being between both code come could did \
    doing down each even every everything file files first get good had has have help her here him his how into \
    just know last let like long many may maybe more much need new next now old one other over please project \
    really repo right same say see she should some something such take tell than thanks thing things think time \
    through too today two understand until very want was way well were what where which while who why work wrong \
    explain write look done next";

/// Words of a task that want what surrounds the product.
const ASIDES: &str =
    "test tests testing tested spec specs coverage benchmark benchmarks bench example examples";

/// Function words of other languages people write requests in. They count as stop words once two of them
/// occur in a task, so that an English *die* or *no* stays a word.
const FOREIGN_STOP_WORDS: &str = "der die das den dem ein eine einen und oder nicht ist sind wird werden wie \
    ich wir sie bitte wenn dass mit von bei auf aus nach beim zum zur für soll kann muss auch noch \
    le la les des une est sont dans pour avec sur qui que pas plus ne quand faut \
    el los las una por para con cuando como del se es en hay este esta muy pero \
    il lo gli di che per sono nella quando não uma os ao mais isso";

/// How much of a task is looked at to tell its language; a page of text is plenty.
const LANGUAGE_SAMPLE_CHARS: usize = 2_000;

/// One distinct stem of the task.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The stem, lower-case; at most [`MAX_WORD_BYTES`].
    pub stem: Vec<u8>,
    /// The word as first written, lower-cased, for people.
    pub word: String,
    /// Says little about which file is meant, and weighs little.
    pub is_stop: bool,
    /// Says nothing about whether the task is about files at all. Every stop word is a filler.
    pub is_filler: bool,
    /// Occurrences in the task, at least 1.
    pub count: u32,
    /// Stands between backticks.
    pub is_quoted: bool,
    /// Two neighbouring words written as one (`web socket`: `websocket`), which the task does not have itself.
    pub is_joined: bool,
}

/// A name as code writes it: two or more sub-words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identifier {
    /// Lower-case; at most [`MAX_WORD_BYTES`].
    pub name: Vec<u8>,
    /// Two neighbouring words of the task (`remote write`: `remoteWrite`, `remote_write`), not a name it has itself. Where
    /// a text writes the two without a seam, the joined [`Term`] counts instead.
    pub is_joined: bool,
}

/// What to look for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Query {
    /// Distinct stems in order of appearance.
    pub terms: Vec<Term>,
    /// Distinct whole identifiers: those of the task first.
    pub identifiers: Vec<Identifier>,
    /// Files that the task names, lower-case: see [`super::named_files`].
    pub mentions: Vec<Vec<u8>>,
}

impl Query {
    /// Words of the task that are not stop words.
    #[must_use]
    pub fn content_terms(&self) -> usize {
        self.terms.iter().filter(|term| !term.is_stop && !term.is_joined).count()
    }

    /// Does the task speak of tests, benchmarks or examples?
    #[must_use]
    pub fn asks_for_asides(&self) -> bool {
        self.terms.iter().any(|term| has_word(ASIDES, &term.word))
    }

    /// Stem to index in [`Query::terms`].
    #[must_use]
    pub(crate) fn index(&self) -> Index<'_> {
        let stems = || self.terms.iter().map(|term| term.stem.as_slice());
        let firsts =
            stems().flat_map(<[u8]>::first).fold(0, |firsts, &byte| firsts | letter_bit(byte));
        Index { terms: stems().zip(0..).collect(), firsts }
    }
}

/// Finds the terms of a query by their stems.
pub(crate) struct Index<'q> {
    terms: FxMap<&'q [u8], u32>,
    /// How stems start, which is how their words do, see [`letter_bit`]: most words start otherwise.
    firsts: u32,
}

impl Index<'_> {
    pub(crate) fn len(&self) -> usize {
        self.terms.len()
    }

    /// The term of a stem.
    #[inline]
    pub(crate) fn get(&self, stem: &[u8]) -> Option<u32> {
        self.terms.get(stem).copied()
    }

    /// The term of a word in any letter case; `scratch` is overwritten.
    #[inline]
    pub(crate) fn of_word(&self, word: &[u8], scratch: &mut Vec<u8>) -> Option<u32> {
        scratch.clear();
        scratch.extend(word.iter().map(u8::to_ascii_lowercase));
        tokenize::stem_in_place(scratch);
        self.get(scratch)
    }

    /// The terms in a short text, a path or a subject: each as often as it occurs, into `terms`, which is emptied first.
    pub(crate) fn terms_in(&self, text: &[u8], terms: &mut Vec<u32>) {
        terms.clear();
        let (mut scratch, mut padded) = (Vec::new(), [0; _]);
        for block in (0..text.len()).step_by(BLOCK_BYTES) {
            let starts = Block::at(text, block, &mut padded).starts().words;
            for start in bits(starts).map(|bit| block + bit) {
                if self.firsts & letter_bit(text[start]) == 0 {
                    continue;
                }
                let end = tokenize::word_end(text, start);
                terms.extend(self.of_word(&text[start..end], &mut scratch));
            }
        }
        tokenize::wide_words(text, |_, word| terms.extend(self.get(word.as_bytes())));
    }
}

/// Reads a task.
#[must_use]
pub fn query(task: &str) -> Query {
    let words = all_words(task);
    let terms = terms(task, &words);
    let pairs = pairs(&words, &terms);
    let identifiers = identifiers(task, &pairs);
    Query { terms: with_joined(terms, &pairs), identifiers, mentions: named_files::extract(task) }
}

/// The names in a task, and those its pairs of words may have in code.
fn identifiers(task: &str, pairs: &[[&str; 2]]) -> Vec<Identifier> {
    let mut identifiers: Vec<Identifier> = Vec::new();
    let mut add = |name: Vec<u8>, is_joined: bool| {
        let room = identifiers.len() < MAX_IDENTIFIERS && name.len() <= MAX_WORD_BYTES;
        if room && identifiers.iter().all(|known| known.name != name) {
            identifiers.push(Identifier { name, is_joined });
        }
    };
    tokenize::identifiers(task.as_bytes(), |identifier| {
        if tokenize::is_compound(identifier) {
            add(identifier.to_ascii_lowercase(), false);
        }
    });
    for pair in pairs {
        for seam in ["", "_"] {
            add(pair.join(seam).to_ascii_lowercase().into_bytes(), true);
        }
    }
    identifiers
}

/// A word of the task where it stands.
struct Word<'a> {
    range: Range<usize>,
    stem: Vec<u8>,
    /// As the task has it; `wide_words` lower-cases.
    text: Cow<'a, str>,
}

/// All words of a task, in order.
fn all_words(task: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    tokenize::wide_words(task.as_bytes(), |range, word| {
        words.push(Word { range, stem: word.into(), text: Cow::Owned(word.to_owned()) });
    });
    let n_wide = words.len();
    for range in tokenize::words(task.as_bytes()) {
        // A word with a letter beyond ASCII is one term; its ASCII fragments (`gr` of `größe`) are none.
        let next = words[..n_wide].partition_point(|wide| wide.range.start <= range.start);
        let is_covered = next > 0 && words[next - 1].range.contains(&range.start);
        if range.len() <= MAX_WORD_BYTES && !is_covered {
            let text = &task[range.clone()];
            words.push(Word { range, stem: tokenize::stem(text.as_bytes()), text: text.into() });
        }
    }
    words.sort_by_key(|word| word.range.start);
    words
}

/// The distinct stems of a task's words.
fn terms(task: &str, words: &[Word<'_>]) -> Vec<Term> {
    let stop = StopWords::of(task);
    let quoted = quoted_ranges(task);
    let mut terms: Vec<Term> = Vec::new();
    let mut index: HashMap<Vec<u8>, usize> = HashMap::new();
    for Word { range, stem, text } in words {
        // Sorted: a pasted page may hold thousands.
        let next = quoted.partition_point(|q| q.start <= range.start);
        let is_quoted = next > 0 && quoted[next - 1].contains(&range.start);
        if let Some(&known) = index.get(stem) {
            terms[known].count += 1;
            terms[known].is_quoted |= is_quoted;
        } else if terms.len() < MAX_TERMS {
            index.insert(stem.clone(), terms.len());
            let word = text.to_lowercase();
            let is_stop = stop.contains(stem, &word);
            let is_filler = is_stop || has_word(FILLERS, &word);
            let stem = stem.clone();
            terms.push(Term {
                stem,
                word,
                is_stop,
                is_filler,
                count: 1,
                is_quoted,
                is_joined: false,
            });
        }
    }
    terms
}

/// Neighbouring content words with at most one byte between them: code writes many such compounds as one.
fn pairs<'w>(words: &'w [Word<'_>], terms: &[Term]) -> Vec<[&'w str; 2]> {
    let content: HashSet<&[u8]> =
        terms.iter().filter(|term| !term.is_stop).map(|term| term.stem.as_slice()).collect();
    let is_content = |word: &Word<'_>| {
        word.text.is_ascii() && word.text.len() > 1 && content.contains(word.stem.as_slice())
    };
    let pair = |pair: &'w [Word<'_>]| {
        let [first, second] = pair else { return None };
        let is_near = second.range.start <= first.range.end + 1;
        (is_near && is_content(first) && is_content(second)).then(|| [&*first.text, &*second.text])
    };
    words.windows(2).filter_map(pair).collect()
}

/// Adds the pairs, written as one word, that are no terms yet.
fn with_joined(mut terms: Vec<Term>, pairs: &[[&str; 2]]) -> Vec<Term> {
    let mut known: HashSet<Vec<u8>> = terms.iter().map(|term| term.stem.clone()).collect();
    for word in pairs.iter().map(|pair| pair.concat().to_ascii_lowercase()) {
        let stem = tokenize::stem(word.as_bytes());
        let room = terms.len() < MAX_TERMS && word.len() <= MAX_WORD_BYTES;
        if room && known.insert(stem.clone()) {
            terms.push(Term {
                stem,
                word,
                is_stop: false,
                is_filler: true,
                count: 1,
                is_quoted: false,
                is_joined: true,
            });
        }
    }
    terms
}

/// What stands between backticks on one line.
fn quoted_ranges(task: &str) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let mut line_start = 0;
    for line in task.split_inclusive('\n') {
        let ticks: Vec<usize> = line.match_indices('`').map(|(at, _)| line_start + at).collect();
        ranges.extend(ticks.chunks_exact(2).map(|pair| pair[0]..pair[1]));
        line_start += line.len();
    }
    ranges
}

/// The stop words that apply to one task: stems of English ones, other languages' words as they are.
struct StopWords {
    english: Vec<Vec<u8>>,
    third_party_or_generated: &'static str,
}

impl StopWords {
    fn of(task: &str) -> StopWords {
        let english = STOP_WORDS.split_whitespace().map(|w| tokenize::stem(w.as_bytes())).collect();
        let lower = task.chars().take(LANGUAGE_SAMPLE_CHARS).collect::<String>().to_lowercase();
        let mut third_party_or_generated: Vec<&str> = lower
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| has_word(FOREIGN_STOP_WORDS, word) && !has_word(STOP_WORDS, word))
            .collect();
        third_party_or_generated.sort_unstable();
        third_party_or_generated.dedup();
        StopWords {
            english,
            third_party_or_generated: if third_party_or_generated.len() >= 2 {
                FOREIGN_STOP_WORDS
            } else {
                ""
            },
        }
    }

    fn contains(&self, stem: &[u8], word: &str) -> bool {
        self.english.iter().any(|stop| stop == stem)
            || has_word(self.third_party_or_generated, word)
    }
}

fn has_word(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split_whitespace().any(|listed| listed == word)
}

#[cfg(test)]
mod tests {
    use bstr::ByteSlice as _;

    use super::*;

    fn check(task: &str, content: &[&str], stop: &[&str], identifiers: &[&str]) {
        let query = query(task);
        let of = |is_stop: bool| -> Vec<&str> {
            let plain = query.terms.iter().filter(|t| t.is_stop == is_stop && !t.is_joined);
            plain.map(|t| t.word.as_str()).collect()
        };
        assert_eq!(of(false), content, "{task}");
        assert_eq!(of(true), stop, "{task}");
        let own = query.identifiers.iter().filter(|identifier| !identifier.is_joined);
        let found: Vec<_> = own.map(|identifier| identifier.name.to_str_lossy()).collect();
        assert_eq!(found, identifiers, "{task}");
    }

    #[test]
    fn english() {
        check("Fix caching of cached files", &["caching", "files"], &["fix", "of"], &[]);
        check(
            "use parse_HTTPResponse now",
            &["parse", "http", "response", "now"],
            &["use"],
            &["parse_httpresponse"],
        );
        check("die on error", &["die", "error"], &["on"], &[]);
    }

    #[test]
    fn other_languages() {
        check(
            "wie kann ich die Größe ändern",
            &["größe", "ändern"],
            &["wie", "kann", "ich", "die"],
            &[],
        );
        check("修复 retry 逻辑", &["修复", "retry", "逻辑"], &[], &[]);
    }

    #[test]
    fn repeated_quoted_and_joined_words() {
        let query = query("Web socket closes the `socket` twice;\n`web` not web-hook, `open");
        let term = |word: &str| query.terms.iter().find(|t| t.word == word).unwrap();
        let facts = |word: &str| (term(word).count, term(word).is_quoted, term(word).is_joined);
        assert_eq!(facts("socket"), (2, true, false));
        assert_eq!(facts("web"), (3, true, false));
        assert_eq!(facts("open"), (1, false, false));
        assert_eq!(facts("websocket"), (1, false, true));
        assert_eq!(facts("webhook"), (1, false, true));
        assert!(query.terms.iter().all(|t| t.word != "closesthe" && t.word != "twiceweb"));
        let names = query.identifiers.iter().filter(|identifier| identifier.is_joined);
        let names: Vec<_> = names.map(|identifier| identifier.name.to_str_lossy()).collect();
        let pairs = ["websocket", "web_socket", "socketcloses", "socket_closes"];
        assert_eq!(names[..4], pairs);
    }

    #[test]
    fn bounded() {
        let paste: String = (0..20_000).map(|n| format!("word{n}x ")).collect();
        let query = query(&paste);
        assert_eq!(query.terms.len(), MAX_TERMS);
        assert_eq!(query.identifiers.len(), MAX_IDENTIFIERS);
        assert_eq!(super::query(&"x".repeat(1 << 20)), Query::default());
    }
}
