//! The published recipe that the product's ranking grew from, as a yardstick that later changes of the product do not move.
//!
//! A task, the documents' words and the project's past in, every document out, best first. Plain and slow beside
//! `core::rank`, with which it shares words, stems and inverse document frequencies only. Every number and word list here
//! is the recipe's own; its weights were chosen on 1,626 tasks of 21 repositories, none of the published benchmark's.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::LazyLock;

use context_packer::core::search::bm25::idf;
use context_packer::core::search::history::History;
use context_packer::core::text::tokenize;
use regex::bytes::Regex;

use crate::field::{Asked, Postings, Tally, bm25, distinct, norms, order, postings, tally};

/// Words that say little about which file is meant.
const STOP_WORDS: &str = "a an the of to in on for and or with without by from at as is are be been it its \
    this that these those into when if not no do does can could should would will may so than then there \
    their them they we you i my our your all any some more most only also but via per up out off over under \
    use using used fix fixes fixed add adds added remove removes removed update updates updated change \
    changes changed make makes made allow allows support supports improve improves improved refactor feat \
    chore perf test tests";

/// Weight of a stop word, where others weigh 1.
const STOP: f64 = 0.1;

/// Other words up to which the past counts in full; beyond, the task says enough.
const LONG_TASK: f64 = 8.0;

/// Saturation and length normalisation of body, identifiers and history.
const K1: f64 = 1.2;
const B: f64 = 0.75;

/// Saturation of paths and base names, and of definitions; none has a length.
const PATH_K1: f64 = 1.5;
const DEFINITIONS_K1: f64 = 1.0;

/// Weights of the fields beside the body, which weighs 1.
const PATH: f64 = 1.25;
const BASENAME: f64 = 0.15;
const HISTORY: f64 = 1.7;
const DEFINITIONS: f64 = 0.1;
const IDENTIFIERS: f64 = 1.2;

/// How much more a document counts that has all of the task.
const COVERAGE: f64 = 0.4;

/// Shares of the best score: for a test, for the last file changed, for the file changed most.
const TEST: f64 = -0.05;
const RECENCY: f64 = 0.2;
const CHURN: f64 = 0.05;

/// Commits after which recency has halved.
const RECENCY_HALF: f64 = 10.0;

/// Parts of a path, between `/`, `_`, `.` and `-`, that make it a test.
const TEST_PARTS: &str =
    "test tests spec specs testing testdata benchmark benchmarks bench example examples e2e";

/// Largest share of the best score lent to companions, and how many documents lend.
const COCHANGE: f64 = 0.3;
const LENDERS: usize = 3;

/// Companions changed together so often, in commits of so many documents.
const MIN_TOGETHER: u32 = 2;
const TOGETHER: RangeInclusive<usize> = 2..=20;

/// A commit of more files says nothing about one of them.
const MAX_COMMIT_FILES: usize = 30;

/// A name behind a keyword that defines it, and behind the receiver of a method in Go.
static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let keywords = "fn|func|def|class|struct|enum|trait|interface|type|impl|const|let|var|function|module|mod|macro_rules!";
    Regex::new(&format!(r"\b(?:{keywords})\s+(?:\([^)]*\)\s*)?([A-Za-z_][A-Za-z0-9_]*)")).ok()
});

/// What a text holds of the words asked for.
pub struct Words {
    /// In sub-words.
    length: u32,
    /// Stems.
    body: Tally,
    /// Stems of names that the text defines.
    definitions: Tally,
    /// Whole identifiers, lower-case.
    identifiers: Tally,
}

impl Words {
    pub fn of(text: &[u8], asked: &Asked) -> Words {
        let is_asked = |word: &Vec<u8>| asked.contains(word);
        let defined = DEFINITION.iter().flat_map(|pattern| pattern.captures_iter(text));
        let defined = defined.filter_map(|captures| captures.get(1)).map(|name| name.as_bytes());
        let identifiers = identifiers(text).into_iter().map(<[u8]>::to_ascii_lowercase);
        Words {
            length: tokenize::words(text).count() as u32,
            body: tally(stems(text).filter(is_asked)),
            definitions: tally(defined.flat_map(stems).filter(is_asked)),
            identifiers: tally(identifiers.filter(is_asked)),
        }
    }
}

/// The words that tasks ask for.
pub fn asked<'a>(tasks: impl Iterator<Item = &'a str>) -> Asked {
    tasks.map(str::as_bytes).flat_map(|task| stems(task).chain(names(task))).collect()
}

fn stems(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    tokenize::words(text).map(|word| tokenize::stem(&text[word]))
}

fn identifiers(text: &[u8]) -> Vec<&[u8]> {
    let mut identifiers = Vec::new();
    tokenize::identifiers(text, |identifier| identifiers.push(identifier));
    identifiers
}

/// The identifiers that a task names: those of two or more sub-words, lower-case. A document may write them as one.
fn names(task: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let compounds = identifiers(task).into_iter().filter(|name| tokenize::is_compound(name));
    compounds.map(<[u8]>::to_ascii_lowercase)
}

/// A path and what its file holds; sorted by path.
pub type Document<'a> = (&'a [u8], &'a Words);

/// A task as the recipe reads it.
struct Task {
    /// Distinct stems, and what each weighs.
    terms: Vec<Vec<u8>>,
    weights: Vec<f64>,
    /// Distinct [`names`].
    names: Vec<Vec<u8>>,
    /// How far the past counts, up to 1.
    prior_scale: f64,
}

impl Task {
    fn read(text: &str) -> Task {
        let stop: Vec<_> = stems(STOP_WORDS.as_bytes()).collect();
        let terms = distinct(stems(text.as_bytes()));
        let weight = |term| if stop.contains(term) { STOP } else { 1.0 };
        let n_content = terms.iter().filter(|term| !stop.contains(term)).count();
        Task {
            weights: terms.iter().map(weight).collect(),
            terms,
            names: distinct(names(text.as_bytes())),
            prior_scale: (LONG_TASK / n_content.max(1) as f64).min(1.0),
        }
    }
}

/// What the past says of a task's documents.
struct Past {
    /// Commits that changed the document.
    touched: Vec<f64>,
    /// How many commits ago it last changed.
    last: Vec<Option<usize>>,
    /// Documents changed under a subject with the term; a commit of n files gives each 1/√n.
    subjects: Postings,
}

impl Past {
    fn read(history: &History, terms: &[Vec<u8>], n_documents: usize) -> Past {
        let mut touched = vec![0.0; n_documents];
        let mut last = vec![None; n_documents];
        let mut subjects: Vec<BTreeMap<usize, f64>> = vec![BTreeMap::new(); terms.len()];
        for (age, commit) in history.commits.iter().enumerate() {
            let documents = || commit.documents.iter().map(|&d| d as usize);
            for document in documents() {
                touched[document] += 1.0;
                last[document].get_or_insert(age);
            }
            if commit.n_files > MAX_COMMIT_FILES {
                continue;
            }
            let subject = tally(stems(&commit.subject));
            let share = 1.0 / (commit.n_files as f64).sqrt();
            for (term, sums) in terms.iter().zip(&mut subjects) {
                if subject.contains_key(term) {
                    documents().for_each(|document| *sums.entry(document).or_default() += share);
                }
            }
        }
        let subjects = subjects.into_iter().map(|sums| sums.into_iter().collect()).collect();
        Past { touched, last, subjects }
    }
}

/// Every document, best first, ties by path: the recipe pads with those that nothing speaks for.
pub fn rank(task: &str, documents: &[Document<'_>], history: &History) -> Vec<u32> {
    order(&scores(task, documents, history))
}

fn scores(task: &str, documents: &[Document<'_>], history: &History) -> Vec<f64> {
    let task = Task::read(task);
    let past = Past::read(history, &task.terms, documents.len());
    let mut scores = add_fields(&task, documents, &past);
    add_priors(task.prior_scale, documents, &past, &mut scores);
    boost_cochanged(history, &mut scores);
    scores
}

/// The fields' BM25, and what covering the task makes of it.
fn add_fields(task: &Task, documents: &[Document<'_>], past: &Past) -> Vec<f64> {
    let words = || documents.iter().map(|(_, words)| *words);
    let paths: Vec<Tally> = documents.iter().map(|(path, _)| tally(stems(path))).collect();
    let basenames: Vec<Tally> =
        documents.iter().map(|(path, _)| tally(stems(basename(path)))).collect();
    let body = postings(&task.terms, words().map(|w| &w.body));
    let path = postings(&task.terms, paths.iter());
    let basename = postings(&task.terms, basenames.iter());
    let definitions = postings(&task.terms, words().map(|w| &w.definitions));
    let identifiers = postings(&task.names, words().map(|w| &w.identifiers));
    let by_length = norms(B, words().map(|w| f64::from(w.length)).collect());
    let by_touches = norms(B, past.touched.iter().map(|touched| touched + 1.0).collect());
    let flat = vec![1.0; documents.len()];

    let mut scores = vec![0.0; documents.len()];
    let mut add = |weight: f64, field: Vec<f64>| {
        scores.iter_mut().zip(field).for_each(|(score, field)| *score += weight * field);
    };
    add(1.0, bm25(K1, &by_length, &body, &task.weights));
    add(PATH, bm25(PATH_K1, &flat, &path, &task.weights));
    add(BASENAME, bm25(PATH_K1, &flat, &basename, &task.weights));
    add(task.prior_scale * HISTORY, bm25(K1, &by_touches, &past.subjects, &task.weights));
    add(DEFINITIONS, bm25(DEFINITIONS_K1, &flat, &definitions, &task.weights));
    add(IDENTIFIERS, bm25(K1, &by_length, &identifiers, &vec![1.0; task.names.len()]));
    reward_coverage(task, &body, &path, &mut scores);
    scores
}

fn basename(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

/// × 1 + `COVERAGE` × the share of the task's weight in the body that body or path have.
fn reward_coverage(task: &Task, body: &Postings, path: &Postings, scores: &mut [f64]) {
    let n = scores.len();
    let (mut covered, mut all) = (vec![0.0; n], 0.0);
    for ((body, path), weight) in body.iter().zip(path).zip(&task.weights) {
        let weight = weight * idf(n, body.len());
        let mut documents: Vec<usize> = body.iter().chain(path).map(|(d, _)| *d).collect();
        documents.sort_unstable();
        documents.dedup();
        documents.iter().for_each(|&d| covered[d] += weight);
        all += weight;
    }
    for (score, covered) in scores.iter_mut().zip(covered).filter(|_| all > 0.0) {
        *score *= 1.0 + COVERAGE * covered / all;
    }
}

/// Tests, and files changed lately or often: shares of the best score.
fn add_priors(prior_scale: f64, documents: &[Document<'_>], past: &Past, scores: &mut [f64]) {
    let top = or_one(scores.iter().copied().fold(0.0, f64::max));
    let most = or_one(past.touched.iter().copied().fold(0.0, f64::max).ln_1p());
    for (d, (path, _)) in documents.iter().enumerate() {
        let recency = past.last[d].map_or(0.0, |age| 1.0 / (1.0 + age as f64 / RECENCY_HALF));
        let churn = past.touched[d].ln_1p() / most;
        let test = if is_test(path) { TEST } else { 0.0 };
        scores[d] += top * (test + prior_scale * (RECENCY * recency + CHURN * churn));
    }
}

fn is_test(path: &[u8]) -> bool {
    let mut parts = path.split(|b| b"/_.-".contains(b));
    parts.any(|part| TEST_PARTS.split(' ').any(|test| part.eq_ignore_ascii_case(test.as_bytes())))
}

fn or_one(value: f64) -> f64 {
    if value == 0.0 { 1.0 } else { value }
}

/// The best documents lend a share of the best score to those that changed with them.
fn boost_cochanged(history: &History, scores: &mut [f64]) {
    let lenders: Vec<u32> = order(scores).into_iter().take(LENDERS).collect();
    let best = or_one(lenders.first().map_or(0.0, |&d| scores[d as usize]));
    let mut lent = vec![0.0; scores.len()];
    for lender in lenders {
        let (times, together) = companions(history, lender);
        let strength = (scores[lender as usize] / best).powi(2) / f64::from(times + 2);
        for (other, together) in together.into_iter().filter(|(_, n)| *n >= MIN_TOGETHER) {
            lent[other as usize] += strength * f64::from(together);
        }
    }
    for (score, lent) in scores.iter_mut().zip(lent) {
        *score += COCHANGE * best * f64::min(lent, 1.0);
    }
}

/// How often a document changed, and how often each other one did with it.
fn companions(history: &History, document: u32) -> (u32, BTreeMap<u32, u32>) {
    let (mut times, mut together) = (0, BTreeMap::new());
    for commit in &history.commits {
        if commit.n_files > MAX_COMMIT_FILES || !commit.documents.contains(&document) {
            continue;
        }
        times += 1;
        if TOGETHER.contains(&commit.documents.len()) {
            for &other in commit.documents.iter().filter(|&&other| other != document) {
                *together.entry(other).or_default() += 1;
            }
        }
    }
    (times, together)
}

#[cfg(test)]
mod tests {
    use context_packer::core::search::history::Commit;

    use super::*;

    #[track_caller]
    fn check(got: &[f64], expected: &[f64]) {
        let is_close = |(got, expected): (&f64, &f64)| (got - expected).abs() < 1e-12;
        assert!(got.iter().zip(expected).all(is_close), "{got:?} is not {expected:?}");
    }

    fn commit(subject: &str, documents: &[u32], n_files: usize) -> Commit {
        Commit { subject: subject.into(), documents: documents.to_vec(), n_files }
    }

    /// Three documents of three sub-words each, so that lengths do not matter. Terms: *fix*, a stop word that no document
    /// has, *get* in one, *page* in two; the name get_page in one.
    #[test]
    fn scores_by_hand() {
        let asked = asked(["fix get_page"].into_iter());
        let texts = ["fn get_page() {}", "page page x", "let x y"];
        let texts = texts.map(|text| Words::of(text.as_bytes(), &asked));
        let paths: [&[u8]; 3] = [b"a/page.rs", b"b/test.rs", b"c.rs"];
        let documents: Vec<_> = paths.into_iter().zip(&texts).collect();
        let with = |commits: Vec<Commit>| scores("fix get_page", &documents, &History { commits });

        let [in_none, in_one, in_two] = [8.0f64.ln(), (8.0f64 / 3.0).ln(), 1.6f64.ln()];
        let all = 0.1 * in_none + in_one + in_two;
        let coverage = [1.0 + 0.4 * (in_one + in_two) / all, 1.0 + 0.4 * in_two / all];
        // get and page in the body; page in path and base name; get and page defined; get_page named.
        let first = (in_one + in_two) + (1.25 + 0.15) * in_one + 0.1 * 2.0 * in_one + 1.2 * in_one;
        let second = in_two * 2.0 * 2.2 / 3.2 * coverage[1];
        let top = first * coverage[0];
        check(&with(vec![]), &[top, second - 0.05 * top, 0.0]);

        // Touched 3, 0 and 2 times; the length of a past is that and one, 8/3 on average.
        let twice = || commit("tidy", &[0, 2], 4);
        let past = 1.7 * in_one * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 4.0 / (8.0 / 3.0)));
        let top = (first + past) * coverage[0];
        let best = top + top * (0.2 + 0.05);
        let third = top * (0.2 / 1.1 + 0.05 * 3.0f64.ln() / 4.0f64.ln());
        // The first lends 2 of (3 + 2), the third 2 of (2 + 2) of its own strength.
        let lent = [0.5 * (third / best).powi(2), 2.0 / 5.0];
        check(
            &with(vec![commit("get it", &[0], 1), twice(), twice()]),
            &[best + 0.3 * best * lent[0], second - 0.05 * top, third + 0.3 * best * lent[1]],
        );
    }

    #[test]
    fn a_long_task_trusts_the_past_less() {
        let prior_scale = |task: &str| Task::read(task).prior_scale;
        check(
            &[prior_scale("fix the parser"), prior_scale("b c d e f g h j k l m n o p q r")],
            &[1.0, 0.5],
        );
    }
}
