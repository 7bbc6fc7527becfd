//! The ranking of the first context-packer, as the baseline: one BM25 (k1 1.2, b 0.75) over path and full text,
//! sub-words of two letters or more, no stems, no stop words.

use context_packer::core::text::tokenize;

use crate::field::{Asked, Tally, bm25, distinct, norms, order, tally};

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// What a text holds of the words asked for.
pub struct Words {
    length: u32,
    words: Tally,
}

/// The words that tasks ask for.
pub fn asked<'a>(tasks: impl Iterator<Item = &'a str>) -> Asked {
    tasks.flat_map(|task| words(task.as_bytes())).collect()
}

impl Words {
    pub fn of(text: &[u8], asked: &Asked) -> Words {
        let found = tally(words(text).filter(|word| asked.contains(word)));
        Words { length: words(text).count() as u32, words: found }
    }
}

fn words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    tokenize::words(text).filter(|r| r.len() > 1).map(|r| text[r].to_ascii_lowercase())
}

/// Documents with a score, best first, ties by path.
pub fn rank(task: &str, documents: &[(&[u8], &Words)]) -> Vec<u32> {
    let terms = distinct(words(task.as_bytes()));
    let asked = terms.iter().cloned().collect();
    let paths: Vec<Words> = documents.iter().map(|(path, _)| Words::of(path, &asked)).collect();
    let both = || documents.iter().map(|(_, text)| *text).zip(&paths);
    let norms = norms(B, both().map(|(t, p)| f64::from(t.length + p.length)).collect());
    let of_term = |term: &Vec<u8>| {
        let count = |words: &Words| words.words.get(term).copied().unwrap_or_default();
        let counts = both().map(|(text, path)| f64::from(count(text) + count(path)));
        counts.enumerate().filter(|(_, count)| *count > 0.0).collect()
    };
    let postings = terms.iter().map(of_term).collect();
    let scores = bm25(K1, &norms, &postings, &vec![1.0; terms.len()]);
    let mut order = order(&scores);
    order.retain(|&document| scores[document as usize] > 0.0);
    order
}
