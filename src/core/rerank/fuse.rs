//! Combines the verdicts of a decision model with the order of the first stage.
//!
//! In: probabilities per file and keyword ranks. Out: the pool of files worth a closer look, and
//! the final order, total: score, then keyword rank, then file number. Verdicts are hints: a file's
//! text can influence the model, so the first stage keeps half the weight.

use super::request::{FileRole, POOL};

/// Rank at which the first stage's weight has fallen to one half, as in the reference
/// implementation.
const RANK_SCALE: f64 = 10.0;
/// Weight of the comparison, relative to one for the probability and one for the rank; as in the
/// reference implementation.
const CHOICE_WEIGHT: f64 = 2.0;
/// Roles are shown from this probability on. A display choice of the reference implementation, not
/// calibrated.
const ROLE_SHOWN: f64 = 0.5;

/// A file that the model has scored.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredFile {
    /// Number of the document.
    pub document: usize,
    /// Position in the first stage's order, from 0; `None` when the first stage found no evidence.
    pub keyword_rank: Option<usize>,
    /// Probability that the file is needed; 0 when its request failed.
    pub relevance: f64,
    /// Share in the comparison of the best files; `None` if not compared.
    pub choice: Option<f64>,
    /// Most probable role and its probability, from .5 on and never [`FileRole::Unrelated`].
    pub role: Option<(FileRole, f64)>,
    /// From 0 to 1; comparable only within one answer.
    pub score: f64,
}

/// The documents worth a closer look: the best by verdict, then the best of the first stage, each
/// once.
#[must_use]
pub fn pool(verdicts: &[(usize, f64)], first_stage: &[usize]) -> Vec<usize> {
    let mut by_verdict: Vec<(usize, f64)> = verdicts.to_vec();
    let rank = ranks(first_stage);
    by_verdict.sort_unstable_by(|a, b| {
        b.1.total_cmp(&a.1).then_with(|| rank(a.0).cmp(&rank(b.0))).then(a.0.cmp(&b.0))
    });
    let mut pool: Vec<usize> = Vec::with_capacity(2 * POOL);
    let best = by_verdict.iter().take(POOL).map(|&(document, _)| document);
    for document in best.chain(first_stage.iter().copied().take(POOL)) {
        if !pool.contains(&document) {
            pool.push(document);
        }
    }
    pool
}

/// Position in the first stage; documents without one come last.
fn ranks(first_stage: &[usize]) -> impl Fn(usize) -> usize + '_ {
    let highest = first_stage.iter().copied().max().map_or(0, |m| m + 1);
    let mut table = vec![usize::MAX; highest];
    for (rank, &document) in first_stage.iter().enumerate() {
        table[document] = rank;
    }
    move |document| table.get(document).copied().unwrap_or(usize::MAX)
}

/// ScoredFile documents in their order before any comparison. A document without a place in the
/// first stage counts as ranked behind all `first_stage` ones.
#[must_use]
pub fn fuse(verdicts: &[(usize, f64)], first_stage: &[usize]) -> Vec<ScoredFile> {
    let rank = ranks(first_stage);
    let judged = verdicts.iter().map(|&(document, relevance)| {
        let place = rank(document);
        let keyword_rank = (place != usize::MAX).then_some(place);
        ScoredFile { document, keyword_rank, relevance, choice: None, role: None, score: 0.0 }
    });
    let mut judged: Vec<ScoredFile> = judged.collect();
    score(&mut judged, first_stage.len());
    judged
}

/// Scores and sorts. `last_rank` stands in for a missing keyword rank.
pub fn score(judged: &mut [ScoredFile], last_rank: usize) {
    let compared = judged.iter().any(|file| file.choice.is_some());
    for file in judged.iter_mut() {
        let choice = file.choice.unwrap_or(0.0);
        let weights = if compared { 2.0 + CHOICE_WEIGHT } else { 2.0 };
        file.score = (fused(file, last_rank) + CHOICE_WEIGHT * choice) / weights;
    }
    judged.sort_unstable_by(|a, b| {
        let rank = |file: &ScoredFile| file.keyword_rank.unwrap_or(usize::MAX);
        b.score.total_cmp(&a.score).then(rank(a).cmp(&rank(b))).then(a.document.cmp(&b.document))
    });
}

#[expect(clippy::cast_precision_loss, reason = "ranks are far below 2^52")]
fn fused(file: &ScoredFile, last_rank: usize) -> f64 {
    let rank = file.keyword_rank.unwrap_or(last_rank) as f64;
    file.relevance + 1.0 / (1.0 + rank / RANK_SCALE)
}

/// The role to show, if any.
#[must_use]
pub fn shown_role(probabilities: &[(FileRole, f64)]) -> Option<(FileRole, f64)> {
    let mut best: Option<(FileRole, f64)> = None;
    for &(role, p) in probabilities {
        if best.is_none_or(|(_, most)| p > most) {
            best = Some((role, p));
        }
    }
    best.filter(|&(role, p)| p >= ROLE_SHOWN && role != FileRole::Unrelated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pool_is_the_best_of_both_each_once() {
        let verdicts: Vec<(usize, f64)> =
            (0..200).map(|d| (d, if d == 180 { 0.9 } else { 0.1 })).collect();
        let first_stage: Vec<usize> = (100..200).collect();
        let pool = pool(&verdicts, &first_stage);
        assert_eq!(pool[0], 180);
        // Ties follow the first stage: 59 of its best join 180, and one of its own sixty places is
        // unused.
        assert_eq!(pool.len(), 61);
        assert!(pool.contains(&159) && !pool.contains(&0));
    }

    #[track_caller]
    fn check(verdicts: &[(usize, f64)], first_stage: &[usize], expected: &[(usize, f64)]) {
        let got: Vec<(usize, f64)> =
            fuse(verdicts, first_stage).iter().map(|f| (f.document, f.score)).collect();
        assert_eq!(got.len(), expected.len());
        for (got, expected) in got.iter().zip(expected) {
            assert_eq!(got.0, expected.0, "{got:?}");
            assert!((got.1 - expected.1).abs() < 1e-9, "{got:?} {expected:?}");
        }
    }

    #[test]
    fn probability_and_rank_weigh_the_same() {
        check(&[(0, 0.5), (1, 0.5)], &[1, 0], &[(1, 0.75), (0, (0.5 + 1.0 / 1.1) / 2.0)]);
        check(&[(0, 0.2), (1, 0.9)], &[0, 1], &[(1, (0.9 + 1.0 / 1.1) / 2.0), (0, 0.6)]);
        // Without keyword evidence, ranked after the one document that has some.
        check(&[(0, 0.5), (1, 0.5)], &[1], &[(1, 0.75), (0, (0.5 + 1.0 / 1.1) / 2.0)]);
    }

    #[test]
    fn the_comparison_decides_among_the_best() {
        let mut judged = fuse(&[(0, 0.8), (1, 0.8), (2, 0.1)], &[0, 1, 2]);
        for file in &mut judged {
            file.choice = Some(if file.document == 1 { 0.9 } else { 0.05 });
        }
        score(&mut judged, 3);
        let order: Vec<usize> = judged.iter().map(|f| f.document).collect();
        assert_eq!(order, [1, 0, 2]);
        assert!((judged[0].score - (0.8 + 1.0 / 1.1 + 1.8) / 4.0).abs() < 1e-9);
    }

    #[test]
    fn roles_below_a_half_and_unrelated_are_not_shown() {
        assert_eq!(shown_role(&[(FileRole::Edit, 0.49), (FileRole::Test, 0.3)]), None);
        assert_eq!(shown_role(&[(FileRole::Edit, 0.1), (FileRole::Unrelated, 0.9)]), None);
        assert_eq!(
            shown_role(&[(FileRole::Edit, 0.5), (FileRole::Test, 0.5)]),
            Some((FileRole::Edit, 0.5))
        );
    }
}
