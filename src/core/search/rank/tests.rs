//! Tables and properties of the ranking.

use proptest::prelude::*;

use super::*;
use crate::core::search::history::Commit;
use crate::core::search::matcher::{Matcher, Scratch};
use crate::core::search::query::query;
use crate::core::text::tokenize;

fn corpus(query: &Query, files: &[(&str, &str)]) -> Corpus {
    let mut files = files.to_vec();
    files.sort_unstable();
    let matcher = Matcher::new(query);
    let mut scratch = Scratch::default();
    let mut corpus = Corpus::new(query);
    for (path, text) in files {
        corpus.push(path.into(), &matcher.count(text.as_bytes(), &mut scratch));
    }
    corpus
}

fn paths(task: &str, files: &[(&str, &str)], history: &History) -> Vec<String> {
    let query = query(task);
    let corpus = corpus(&query, files);
    rank(&query, &corpus, history, &Weights::default())
        .candidates
        .iter()
        .map(|c| String::from_utf8(corpus.documents[c.document as usize].path.clone()).unwrap())
        .collect()
}

const FILES: &[(&str, &str)] = &[
    ("src/client.rs", "fn retry(backoff: u32) { retry_later(backoff) }"),
    ("src/server.rs", "fn serve() { accept() }"),
    ("src/backoff.rs", "pub struct Policy { limit: u32 }"),
    ("tests/client.rs", "fn retry(backoff: u32) { retry_later(backoff) }"),
];

#[test]
fn text_path_and_tests() {
    let order = paths("retry with backoff", FILES, &History::default());
    assert_eq!(order, ["src/client.rs", "tests/client.rs", "src/backoff.rs"]);
}

#[test]
fn files_without_evidence_are_not_returned() {
    assert!(paths("quantum flux", FILES, &History::default()).is_empty());
    assert!(paths("", FILES, &History::default()).is_empty());
    assert!(paths("retry", &[], &History::default()).is_empty());
    // New files have nothing to lend to those that changed with them.
    let together = || Commit { subject: b"x".to_vec(), documents: vec![0, 2], n_files: 2 };
    let history = History { commits: vec![together(), together(), together()] };
    assert!(paths("quantum flux", FILES, &history).is_empty());
}

#[test]
fn history_brings_in_files_whose_text_says_nothing() {
    let commit = |subject: &str, documents: &[u32]| Commit {
        subject: subject.into(),
        documents: documents.to_vec(),
        n_files: documents.len(),
    };
    // Sorted: src/backoff.rs 0, src/client.rs 1, src/server.rs 2, tests/client.rs 3.
    let history =
        History { commits: vec![commit("quota for tenants", &[2]), commit("init", &[0, 1, 2, 3])] };
    assert_eq!(paths("tenants quota", FILES, &history), ["src/server.rs"]);
}

#[test]
fn companions_follow_the_best_file() {
    let together = || Commit { subject: b"x".to_vec(), documents: vec![0, 2], n_files: 2 };
    let history = History { commits: vec![together(), together()] };
    let query = query("policy limit");
    let corpus = corpus(&query, FILES);
    let ranking = rank(&query, &corpus, &history, &Weights::default());
    let second = ranking.candidates[1].document;
    assert_eq!(corpus.documents[second as usize].path, b"src/server.rs");
    assert_eq!(ranking.reasons(&corpus, second).changes_with, Some(0));
}

#[test]
fn reasons_tell_places_and_words() {
    let query = query("retry with backoff");
    let corpus = corpus(&query, FILES);
    let ranking = rank(&query, &corpus, &History::default(), &Weights::default());
    let reasons = ranking.reasons(&corpus, 1);
    assert_eq!((reasons.body_rank, reasons.path_rank, reasons.history_rank), (Some(1), None, None));
    let words: Vec<(&str, u32)> =
        reasons.words.iter().map(|&(t, n)| (query.terms[t as usize].word.as_str(), n)).collect();
    assert_eq!(words, [("retry", 2), ("backoff", 2)]);
}

#[test]
fn a_file_that_the_task_names_comes_first_and_says_so() {
    let task = "retry with backoff, see ./src/server.rs:12";
    assert_eq!(paths(task, FILES, &History::default())[0], "src/server.rs");
    let query = query(task);
    let corpus = corpus(&query, FILES);
    let ranking = rank(&query, &corpus, &History::default(), &Weights::default());
    let is_mentioned = |document| ranking.reasons(&corpus, document).is_mentioned;
    assert!(is_mentioned(2) && !is_mentioned(1));
}

#[test]
fn distinctive_needs_a_content_word_in_text_or_path() {
    let is_distinctive = |task: &str| {
        let query = query(task);
        rank(&query, &corpus(&query, FILES), &History::default(), &Weights::default())
            .is_distinctive
    };
    assert!(is_distinctive("make the retry better"));
    assert!(is_distinctive("backoff"));
    assert!(!is_distinctive("please make it better than before"));
}

proptest! {
    #[test]
    fn a_ranking_is_a_repeatable_permutation_of_documents(
        files in prop::collection::btree_map("[a-c]{1,2}(/[a-c_]{1,3}){0,2}", "[a-cA-C_ \\n0-1]{0,40}", 0..12),
        task in "[a-cA-C_ 0-1]{0,20}",
    ) {
        let query = query(&task);
        let files: Vec<(&str, &str)> = files.iter().map(|(p, t)| (p.as_str(), t.as_str())).collect();
        let corpus = corpus(&query, &files);
        let ranking = rank(&query, &corpus, &History::default(), &Weights::default());
        let mut documents: Vec<u32> = ranking.candidates.iter().map(|c| c.document).collect();
        prop_assert!(ranking.candidates.windows(2).all(|w| w[0].score >= w[1].score));
        let again = rank(&query, &corpus, &History::default(), &Weights::default());
        prop_assert_eq!(&again.candidates, &ranking.candidates);
        documents.sort_unstable();
        let count = documents.len();
        documents.dedup();
        prop_assert_eq!(documents.len(), count);
        prop_assert!(count <= files.len());
    }

    #[test]
    fn counting_survives_any_bytes(text in prop::collection::vec(any::<u8>(), 0..300), task in ".{0,60}") {
        let query = query(&task);
        let counts = Matcher::new(&query).count(&text, &mut Scratch::default());
        prop_assert!(counts.length as usize <= text.len());
    }

    /// Whatever the stemmer makes of a word, the filter before it must let the word through.
    #[test]
    fn words_of_a_stem_are_all_found(word in "[a-z]{1,5}(|s|es|ies|sses|ed|ing|e|y|ll|nning)", upper in any::<bool>()) {
        let query = query(&String::from_utf8(tokenize::stem(word.as_bytes())).unwrap());
        let text = if upper { word.to_uppercase() } else { word.clone() };
        let stem = tokenize::stem(word.as_bytes());
        let again = tokenize::stem(&stem);
        prop_assume!(again == stem);
        let counts = Matcher::new(&query).count(text.as_bytes(), &mut Scratch::default());
        prop_assert_eq!(counts.body, [(0, 1)]);
    }

    /// The one-pass counter against the plain way: every word, every stem.
    #[test]
    fn counts_are_those_of_the_words(text in "[a-dA-D0-1_ .(){}\\n]{0,300}", task in "[a-dA-D0-1_ ]{1,30}") {
        let query = query(&task);
        let counts = Matcher::new(&query).count(text.as_bytes(), &mut Scratch::default());
        let index = query.index();
        let mut expected = std::collections::BTreeMap::new();
        let mut length = 0;
        for range in tokenize::words(text.as_bytes()) {
            length += 1;
            if let Some(term) = index.get(&tokenize::stem(&text.as_bytes()[range])) {
                *expected.entry(term).or_insert(0) += 1;
            }
        }
        prop_assert_eq!(counts.length, length);
        prop_assert_eq!(counts.body, expected.into_iter().collect::<Vec<(u32, u32)>>());
        let mut whole = std::collections::BTreeMap::new();
        tokenize::identifiers(text.as_bytes(), |id| {
            let lower = id.to_ascii_lowercase();
            let has_seam = tokenize::is_compound(id);
            let place = query.identifiers.iter().position(|known| known.name == lower);
            if let Some(k) = place.filter(|&k| has_seam || !query.identifiers[k].is_joined) {
                *whole.entry(k as u32).or_insert(0) += 1;
            }
        });
        prop_assert_eq!(counts.identifiers, whole.into_iter().collect::<Vec<(u32, u32)>>());
    }
}
