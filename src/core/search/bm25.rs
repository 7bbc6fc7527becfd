//! BM25 (Robertson and Zaragoza, 2009): how much one field of the documents says about a query.

use super::corpus::Posting;

/// How a field is scored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bm25 {
    /// Saturation of the term frequency, dimensionless.
    pub k1: f64,
    /// How far the length of a document counts, 0 to 1; 0 where lengths are not given.
    pub b: f64,
}

/// Inverse document frequency: `ln(1 + (N − df + ½) / (df + ½))`, never negative.
#[must_use]
pub fn idf(n_documents: usize, document_frequency: usize) -> f64 {
    let (n, df) = (n_documents as f64, document_frequency as f64);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// One occurrence count with its document; fields made of history hold fractions.
pub(crate) trait Occurrence {
    fn document(&self) -> usize;
    fn count(&self) -> f64;
}

impl Occurrence for Posting {
    fn document(&self) -> usize {
        self.document as usize
    }
    fn count(&self) -> f64 {
        f64::from(self.count)
    }
}

impl Occurrence for (u32, f64) {
    fn document(&self) -> usize {
        self.0 as usize
    }
    fn count(&self) -> f64 {
        self.1
    }
}

impl Bm25 {
    /// The score of every document for one field.
    ///
    /// `postings`: per term, its documents (each at most once) with their counts; `term_weights`: per term;
    /// `lengths`: per document, or empty for a field without lengths. O(postings + documents).
    pub(crate) fn score<O: Occurrence>(
        self,
        postings: &[Vec<O>],
        term_weights: &[f64],
        n_documents: usize,
        lengths: &[f64],
    ) -> Vec<f64> {
        let mean = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
        let saturation = |document: usize| match lengths.get(document) {
            Some(length) => self.k1 * (1.0 - self.b + self.b * length / mean),
            None => self.k1,
        };
        let mut scores = vec![0.0; n_documents];
        for (list, &term_weight) in postings.iter().zip(term_weights) {
            let weight = term_weight * idf(n_documents, list.len());
            for occurrence in list {
                let (document, tf) = (occurrence.document(), occurrence.count());
                scores[document] += weight * tf * (self.k1 + 1.0) / (tf + saturation(document));
            }
        }
        scores
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn close(got: f64, expected: f64) {
        assert!((got - expected).abs() < 1e-9, "got {got}, expected {expected}");
    }

    #[test]
    fn idf_of_rare_and_common_terms() {
        close(idf(10, 1), (1.0f64 + 9.5 / 1.5).ln());
        close(idf(10, 10), (1.0f64 + 0.5 / 10.5).ln());
        close(idf(0, 0), 2f64.ln());
    }

    /// Worked by hand: two documents of lengths 2 and 6 (mean 4), one term, tf 1 and 3.
    #[test]
    fn score_by_hand() {
        let postings =
            vec![vec![Posting { document: 0, count: 1 }, Posting { document: 1, count: 3 }]];
        let field = Bm25 { k1: 1.2, b: 0.75 };
        let scores = field.score(&postings, &[1.0], 2, &[2.0, 6.0]);
        let idf = (1.0f64 + 0.5 / 2.5).ln();
        close(scores[0], idf * 2.2 / (1.0 + 1.2 * (0.25 + 0.375)));
        close(scores[1], idf * 3.0 * 2.2 / (3.0 + 1.2 * (0.25 + 1.125)));
        let flat = Bm25 { k1: 1.5, b: 0.0 }.score(&postings, &[0.1], 2, &[]);
        close(flat[0], 0.1 * idf * 2.5 / 2.5);
    }
}
