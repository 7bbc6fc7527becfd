//! The ranking of the first context-packer, as the baseline: one BM25 (k1 1.2, b 0.75) over path and full text,
//! sub-words of two letters or more, no stems, no stop words.

use std::collections::HashMap;

use context_packer::core::bm25::idf;
use context_packer::core::corpus::{Counts, Posting};
use context_packer::core::tokenize;

const K1: f64 = 1.2;
const B: f64 = 0.75;

/// The distinct words of a task.
pub struct FirstCounter {
    terms: HashMap<Vec<u8>, u32>,
}

/// What the documents hold of a task.
pub struct FirstCounts {
    postings: Vec<Vec<Posting>>,
    lengths: Vec<f64>,
}

fn words(text: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    tokenize::words(text).filter(|r| r.len() > 1).map(|r| text[r].to_ascii_lowercase())
}

impl FirstCounter {
    pub fn new(task: &str) -> FirstCounter {
        let mut terms = HashMap::new();
        for word in words(task.as_bytes()) {
            let next = terms.len() as u32;
            terms.entry(word).or_insert(next);
        }
        FirstCounter { terms }
    }

    /// One document's text.
    pub fn count(&self, text: &[u8]) -> Counts {
        let mut tally = vec![0; self.terms.len()];
        let mut length = 0;
        for word in words(text) {
            length += 1;
            if let Some(&term) = self.terms.get(&word) {
                tally[term as usize] += 1;
            }
        }
        let body = (0u32..).zip(tally).filter(|&(_, count)| count > 0).collect();
        Counts { length, body, ..Counts::default() }
    }

    pub fn empty(&self) -> FirstCounts {
        FirstCounts { postings: vec![Vec::new(); self.terms.len()], lengths: Vec::new() }
    }
}

impl FirstCounts {
    /// Adds a document: its text's counts, and its path's.
    pub fn push(&mut self, counter: &FirstCounter, path: &[u8], text: &Counts) {
        let document = self.lengths.len() as u32;
        let path = counter.count(path);
        let mut sums: Vec<(u32, u32)> = [&text.body[..], &path.body[..]].concat();
        sums.sort_unstable();
        for (term, count) in sums {
            let list = &mut self.postings[term as usize];
            match list.last_mut() {
                Some(last) if last.document == document => last.count += count,
                _ => list.push(Posting { document, count }),
            }
        }
        self.lengths.push(f64::from(text.length + path.length));
    }

    /// Documents with a score, best first, ties by path.
    pub fn rank(&self) -> Vec<u32> {
        let n = self.lengths.len();
        let mean = (self.lengths.iter().sum::<f64>() / n.max(1) as f64).max(1.0);
        let mut scores = vec![0.0; n];
        for list in &self.postings {
            let weight = idf(n, list.len());
            for posting in list {
                let at = posting.document as usize;
                let tf = f64::from(posting.count);
                let norm = K1 * (1.0 - B + B * self.lengths[at] / mean);
                scores[at] += weight * tf * (K1 + 1.0) / (tf + norm);
            }
        }
        let mut order: Vec<u32> = (0..n as u32).filter(|&d| scores[d as usize] > 0.0).collect();
        order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]).then(a.cmp(&b)));
        order
    }
}
