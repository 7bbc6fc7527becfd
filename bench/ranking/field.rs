//! What the yardsticks share: words counted, and BM25 over the counts, plain and slow.

use std::collections::{HashMap, HashSet};

use context_packer::core::search::bm25::idf;

/// The words that any task of a repository asks for: no other need be kept of its files.
pub type Asked = HashSet<Vec<u8>>;

/// How often each word occurs in a text.
pub type Tally = HashMap<Vec<u8>, u32>;

/// Per term, the documents that have it and how much of it.
pub type Postings = Vec<Vec<(usize, f64)>>;

pub fn tally(words: impl Iterator<Item = Vec<u8>>) -> Tally {
    let mut tally = Tally::new();
    words.for_each(|word| *tally.entry(word).or_default() += 1);
    tally
}

/// Each word once, in order.
pub fn distinct(words: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut distinct = Vec::new();
    for word in words {
        if !distinct.contains(&word) {
            distinct.push(word);
        }
    }
    distinct
}

/// The terms in every document's tally.
pub fn postings<'a>(terms: &[Vec<u8>], tallies: impl Iterator<Item = &'a Tally>) -> Postings {
    let mut postings = vec![Vec::new(); terms.len()];
    for (document, tally) in tallies.enumerate() {
        for (list, term) in postings.iter_mut().zip(terms) {
            if let Some(&count) = tally.get(term) {
                list.push((document, f64::from(count)));
            }
        }
    }
    postings
}

/// What the lengths of documents do to saturation, which `b` sets.
pub fn norms(b: f64, lengths: Vec<f64>) -> Vec<f64> {
    let mean = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
    lengths.into_iter().map(|length| 1.0 - b + b * length / mean).collect()
}

/// Every document's score by one field; a term's weight multiplies its idf.
pub fn bm25(k1: f64, norms: &[f64], field: &Postings, weights: &[f64]) -> Vec<f64> {
    let mut scores = vec![0.0; norms.len()];
    for (list, weight) in field.iter().zip(weights) {
        let weight = weight * idf(norms.len(), list.len());
        for &(document, tf) in list {
            scores[document] += weight * tf * (k1 + 1.0) / (tf + k1 * norms[document]);
        }
    }
    scores
}

/// Best first, ties by document.
pub fn order(scores: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
    order
}
