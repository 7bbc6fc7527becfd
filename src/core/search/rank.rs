//! All evidence into one order.
//!
//! A query, its corpus and the project's past in; candidates out, best first, in a total order (score, then
//! path), each with the parts of its score. The recipe: fields scored by BM25 each with its own document
//! frequencies, added with weights; times coverage of the query; plus shares of the best score for priors
//! and for files that changed together with the best.

use std::ops::Range;

use super::bm25::{Bm25, idf};
use super::corpus::{Corpus, Document, DocumentKind};
use super::history::{History, Past};
use super::named_files;
use super::path_kind;
use super::query::{Identifier, Query, Term};

/// The weights of the recipe: one table, chosen by `bench/ranking` from data.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// Weight of a stop word, where others weigh 1.
    pub stop: f64,
    /// Weight of two words joined to one.
    pub joined: f64,
    /// Factor on words between backticks.
    pub quoted: f64,
    /// How much more a word weighs for each e-fold of its occurrences in the task.
    pub repeated: f64,
    /// Content terms up to which history and priors count in full; beyond, the text says enough.
    pub long_task: f64,
    /// Saturation and length normalisation of body, identifiers and history.
    pub text: Bm25,
    /// Saturation of paths, which have no length.
    pub path_k1: f64,
    /// Of the whole path.
    pub path: f64,
    /// Of subjects of past commits.
    pub history: f64,
    /// Of files named in the task.
    pub mentions: f64,
    /// Of whole identifiers.
    pub identifiers: f64,
    /// Weight of two neighbouring words as one identifier, where an identifier of the task weighs 1.
    pub pairs: f64,
    /// How much more a document counts that holds every term.
    pub coverage: f64,
    /// Share of the best score taken from tests, benchmarks and examples (negative).
    pub test: f64,
    /// The same for a task that speaks of them.
    pub asked_test: f64,
    /// Factor on vendored, generated and minified files.
    pub third_party_or_generated: f64,
    /// Share of the best score for the most recently changed file.
    pub recency: f64,
    /// Commits after which recency has halved.
    pub recency_half: f64,
    /// Largest share of the best score lent for changing together.
    pub cochange: f64,
    /// How many of the best files lend.
    pub cochange_top: usize,
}

impl Default for Weights {
    /// Chosen on 675 tasks and 112 requests of repositories outside the published benchmark, from the published
    /// recipe's: `bench/runs/2026-11-29-ranking-weights.md`; `pairs` and `asked_test` in `2026-11-30-ranking.md`.
    fn default() -> Weights {
        Weights {
            stop: 0.1,
            joined: 0.6,
            quoted: 1.5,
            repeated: 0.7,
            long_task: 8.0,
            text: Bm25 { k1: 1.2, b: 0.75 },
            path_k1: 1.5,
            path: 1.25,
            history: 1.7,
            identifiers: 1.5,
            pairs: 0.3,
            mentions: 3.0,
            coverage: 0.4,
            test: -0.05,
            asked_test: 0.05,
            third_party_or_generated: 0.7,
            recency: 0.3,
            recency_half: 10.0,
            cochange: 0.3,
            cochange_top: 3,
        }
    }
}

/// Occurrences of a word in a task beyond which it weighs no more: pasted logs repeat themselves.
const MAX_REPEATED: u32 = 4;

impl Weights {
    fn of_term(&self, term: &Term) -> f64 {
        if term.is_joined {
            return self.joined;
        }
        let base = if term.is_stop { self.stop } else { 1.0 };
        let quoted = if term.is_quoted { self.quoted } else { 1.0 };
        base * quoted * (1.0 + self.repeated * f64::from(term.count.min(MAX_REPEATED)).ln())
    }
}

/// Two files must have changed together this often before it counts: once is chance.
const MIN_TOGETHER: u32 = 2;

/// In a commit of more documents than this, changing together says little.
const MAX_TOGETHER: usize = 20;

/// Up to this many documents any of the task's words is worth an answer.
const FEW_DOCUMENTS: usize = 10;

/// A document with its score and what the score is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// Index in [`Corpus::documents`].
    pub document: u32,
    /// Higher is better; comparable within one ranking only.
    pub score: f64,
}

/// A ranking of every document with evidence, and the parts it came from.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// Best first. Documents without any evidence are not in it.
    pub candidates: Vec<Candidate>,
    /// The parts, per document, for [`Ranking::reasons`].
    parts: Parts,
    /// Does a word of the task occur, in text or path, that tells files of this project apart?
    pub is_distinctive: bool,
}

/// Scores by field, per document.
#[derive(Debug, Clone, Default)]
struct Parts {
    body: Vec<f64>,
    path: Vec<f64>,
    history: Vec<f64>,
    identifiers: Vec<f64>,
    mentions: Vec<f64>,
    last: Vec<Option<u32>>,
    touched: Vec<u32>,
    /// Lent by files that changed together: (share of the best score, the file that lent most).
    together: Vec<(f64, Option<u32>)>,
}

/// Why one document is where it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reasons {
    /// Its place by each field alone, from 1; `None` without a match there.
    pub body_rank: Option<usize>,
    /// By path and file name.
    pub path_rank: Option<usize>,
    /// By subjects of past commits.
    pub history_rank: Option<usize>,
    /// By whole identifiers.
    pub identifier_rank: Option<usize>,
    /// The task names it.
    pub is_mentioned: bool,
    /// Words of the task found in its text, most frequent first: (index of the term, occurrences).
    pub words: Vec<(u32, u32)>,
    /// Commits since it last changed; `None` when not within the window or without history.
    pub last_touched: Option<u32>,
    /// Commits of the window that changed it.
    pub touched: u32,
    /// The better-ranked document it often changes together with.
    pub changes_with: Option<u32>,
}

/// Ranks. O(postings + documents + commits).
#[must_use]
pub fn rank(query: &Query, corpus: &Corpus, history: &History, weights: &Weights) -> Ranking {
    let n = corpus.documents.len();
    if n == 0 || query.terms.is_empty() {
        return Ranking::default();
    }
    let past = history.past(query, n);
    let paths = path_terms(query, corpus);
    let term_weights: Vec<f64> = query.terms.iter().map(|term| weights.of_term(term)).collect();
    // A long request says enough: trust history and priors less.
    let prior_scale = (weights.long_task / query.content_terms().max(1) as f64).min(1.0);

    let fields =
        FieldScores { query, corpus, paths: &paths, past: &past, term_weights: &term_weights };
    let (mut parts, mut scores) = fields.score(weights, prior_scale);
    fields.reward_coverage(weights.coverage, &mut scores);
    apply_priors(query, corpus, &past, weights, prior_scale, &mut scores);
    let has_own = own_evidence(query, corpus, &paths, &past.subjects, &parts.mentions);
    parts.together = boost_cochanged(history, weights, &mut scores);
    parts.last = past.last;
    parts.touched = past.touched;

    // Where no file has any, the best are the newest, and lend nothing that says something of the task.
    let is_any = has_own.contains(&true);
    let has_evidence = |d: usize| has_own[d] || is_any && parts.together[d].0 > 0.0;
    let mut candidates: Vec<Candidate> = (0u32..)
        .zip(scores)
        .filter(|(document, _)| has_evidence(*document as usize))
        .map(|(document, score)| Candidate { document, score })
        .collect();
    // Documents are sorted by path, so the index is the path as the last key.
    candidates
        .sort_unstable_by(|a, b| b.score.total_cmp(&a.score).then(a.document.cmp(&b.document)));
    Ranking { candidates, parts, is_distinctive: is_distinctive(query, corpus, &paths) }
}

/// Per term, the documents with it in their path, with counts.
fn path_terms(query: &Query, corpus: &Corpus) -> Vec<Vec<(u32, f64)>> {
    let index = query.index();
    let mut paths = vec![Vec::new(); query.terms.len()];
    let (mut in_folder, mut in_name) = (Vec::new(), Vec::new());
    for (folder, documents) in folders(corpus) {
        index.terms_in(folder, &mut in_folder);
        for d in documents {
            index.terms_in(corpus.documents[d].folder_and_name().1, &mut in_name);
            for &term in in_folder.iter().chain(&in_name) {
                add(&mut paths[term as usize], d as u32);
            }
        }
    }
    paths
}

/// The folders in which documents are, and the documents: those of one folder follow each other, and what is in most of a path needs
/// to be looked at once.
fn folders(corpus: &Corpus) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let mut start = 0;
    corpus.documents.chunk_by(|a, b| a.folder_and_name().0 == b.folder_and_name().0).map(
        move |all| {
            let documents = start..start + all.len();
            start = documents.end;
            (all[0].folder_and_name().0, documents)
        },
    )
}

fn add(list: &mut Vec<(u32, f64)>, document: u32) {
    match list.last_mut() {
        Some((last, count)) if *last == document => *count += 1.0,
        _ => list.push((document, 1.0)),
    }
}

/// Everything a score is computed from.
struct FieldScores<'a> {
    query: &'a Query,
    corpus: &'a Corpus,
    paths: &'a [Vec<(u32, f64)>],
    past: &'a Past,
    term_weights: &'a [f64],
}

impl FieldScores<'_> {
    /// The parts by field, and their weighted sum.
    fn score(&self, weights: &Weights, prior_scale: f64) -> (Parts, Vec<f64>) {
        let n = self.corpus.documents.len();
        let lengths: Vec<f64> = self.corpus.documents.iter().map(|d| f64::from(d.length)).collect();
        let touches: Vec<f64> = self.past.touched.iter().map(|&t| f64::from(t) + 1.0).collect();
        let flat = Bm25 { k1: weights.path_k1, b: 0.0 };
        let terms = self.term_weights;
        let body = weights.text.score(&self.corpus.body, terms, n, &lengths);
        let path = flat.score(self.paths, terms, n, &[]);
        let history = weights.text.score(&self.past.subjects, terms, n, &touches);
        let weight = |id: &Identifier| if id.is_joined { weights.pairs } else { 1.0 };
        let names: Vec<f64> = self.query.identifiers.iter().map(weight).collect();
        let identifiers = weights.text.score(&self.corpus.identifiers, &names, n, &lengths);
        let mentions = named_files::score(&self.query.mentions, &self.corpus.documents);
        let total = (0..n)
            .map(|d| {
                body[d]
                    + weights.path * path[d]
                    + prior_scale * weights.history * history[d]
                    + weights.identifiers * identifiers[d]
                    + weights.mentions * mentions[d]
            })
            .collect();
        (Parts { body, path, history, identifiers, mentions, ..Parts::default() }, total)
    }

    /// Multiplies by 1 + `coverage` × the share of the query's weight found in body or path.
    fn reward_coverage(&self, coverage: f64, scores: &mut [f64]) {
        let n = scores.len();
        let mut covered = vec![0.0; n];
        let mut all = 0.0;
        let mut seen = vec![u32::MAX; n];
        for (term, body) in (0u32..).zip(&self.corpus.body) {
            let weight = idf(n, body.len()) * self.term_weights[term as usize];
            all += weight;
            let path = &self.paths[term as usize];
            let documents = body.iter().map(|p| p.document).chain(path.iter().map(|(d, _)| *d));
            for document in documents.map(|d| d as usize) {
                if seen[document] != term {
                    seen[document] = term;
                    covered[document] += weight;
                }
            }
        }
        if all > 0.0 {
            for (score, covered) in scores.iter_mut().zip(covered) {
                *score *= 1.0 + coverage * covered / all;
            }
        }
    }
}

fn best(scores: &[f64]) -> f64 {
    let best = scores.iter().copied().fold(0.0, f64::max);
    if best > 0.0 { best } else { 1.0 }
}

/// Tests, third_party_or_generated code, recently changed files: a factor, and shares of the best score.
fn apply_priors(
    query: &Query,
    corpus: &Corpus,
    past: &Past,
    weights: &Weights,
    prior_scale: f64,
    scores: &mut [f64],
) {
    let is_foreign_file = |name: &[u8], kind: DocumentKind| {
        kind != DocumentKind::Source || path_kind::is_minified(name)
    };
    let is_third_party_or_generated = marked(corpus, path_kind::is_foreign_folder, is_foreign_file);
    for (score, _) in scores
        .iter_mut()
        .zip(is_third_party_or_generated)
        .filter(|(_, is_third_party_or_generated)| *is_third_party_or_generated)
    {
        *score *= weights.third_party_or_generated;
    }
    let top = best(scores);
    let aside = if query.asks_for_asides() { weights.asked_test } else { weights.test };
    let is_aside = marked(corpus, path_kind::is_aside, |name, _| path_kind::is_aside(name));
    for (d, score) in scores.iter_mut().enumerate() {
        if is_aside[d] {
            *score += top * aside;
        }
        let recency =
            past.last[d].map_or(0.0, |age| 1.0 / (1.0 + f64::from(age) / weights.recency_half));
        *score += prior_scale * top * weights.recency * recency;
    }
}

/// Which documents have a mark, by their folder or by their own name and kind.
fn marked(
    corpus: &Corpus,
    folder_has: impl Fn(&[u8]) -> bool,
    file_has: impl Fn(&[u8], DocumentKind) -> bool,
) -> Vec<bool> {
    let mut marked = Vec::with_capacity(corpus.documents.len());
    for (folder, documents) in folders(corpus) {
        let all = folder_has(folder);
        let has = |file: &Document| all || file_has(file.folder_and_name().1, file.kind);
        marked.extend(corpus.documents[documents].iter().map(has));
    }
    marked
}

/// The best files lend a share of the best score to the files that changed with them.
fn boost_cochanged(
    history: &History,
    weights: &Weights,
    scores: &mut [f64],
) -> Vec<(f64, Option<u32>)> {
    let lenders = top(scores, weights.cochange_top);
    let best =
        lenders.first().map(|&d| scores[d as usize]).filter(|s| s.abs() > 0.0).unwrap_or(1.0);
    let mut lent: Vec<(f64, Option<u32>)> = vec![(0.0, None); scores.len()];
    let mut largest = vec![0.0; scores.len()];
    for &lender in &lenders {
        let (times, others) = history.together(lender, MAX_TOGETHER);
        let strength = (scores[lender as usize] / best).powi(2) / f64::from(times + 2);
        for (other, together) in others {
            if together >= MIN_TOGETHER {
                let (other, share) = (other as usize, strength * f64::from(together));
                lent[other].0 += share;
                if share > largest[other] {
                    largest[other] = share;
                    lent[other].1 = Some(lender);
                }
            }
        }
    }
    for (score, (share, _)) in scores.iter_mut().zip(&lent) {
        *score += weights.cochange * best * share.min(1.0);
    }
    lent
}

/// The `count` best documents, ties by index.
fn top(scores: &[f64], count: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    let by_score =
        |a: &u32, b: &u32| scores[*b as usize].total_cmp(&scores[*a as usize]).then(a.cmp(b));
    let count = count.min(order.len());
    if count > 0 && count < order.len() {
        order.select_nth_unstable_by(count - 1, by_score);
    }
    order.truncate(count);
    order.sort_unstable_by(by_score);
    order
}

/// Which documents have evidence of their own: a content term in body, path or past subjects, an identifier, or their name in the
/// task. A query of stop words only is taken at its word.
fn own_evidence(
    query: &Query,
    corpus: &Corpus,
    paths: &[Vec<(u32, f64)>],
    subjects: &[Vec<(u32, f64)>],
    mentions: &[f64],
) -> Vec<bool> {
    let mut has: Vec<bool> = mentions.iter().map(|&mention| mention > 0.0).collect();
    let only_stop = query.content_terms() == 0;
    for (k, term) in query.terms.iter().enumerate() {
        if term.is_stop && !only_stop {
            continue;
        }
        corpus.body[k].iter().for_each(|p| has[p.document as usize] = true);
        paths[k].iter().chain(&subjects[k]).for_each(|(d, _)| has[*d as usize] = true);
    }
    corpus.identifiers.iter().flatten().for_each(|p| has[p.document as usize] = true);
    has
}

/// A word that most files hold tells none of them apart; in a project of a handful of files every word does.
fn is_distinctive(query: &Query, corpus: &Corpus, paths: &[Vec<(u32, f64)>]) -> bool {
    let most = (corpus.documents.len() / 2).max(FEW_DOCUMENTS);
    query.terms.iter().enumerate().filter(|(_, term)| !term.is_filler).any(|(k, _)| {
        let in_paths = paths[k].len();
        let in_text = corpus.body[k].len();
        (1..=most).contains(&in_paths) || (1..=most).contains(&in_text)
    })
}

impl Ranking {
    /// Why a document is where it is. O(documents) a call: meant for the few that are shown.
    #[must_use]
    pub fn reasons(&self, corpus: &Corpus, document: u32) -> Reasons {
        let d = document as usize;
        let parts = &self.parts;
        let mut words: Vec<(u32, u32)> = (0u32..)
            .zip(&corpus.body)
            .filter_map(|(term, list)| {
                let at = list.binary_search_by_key(&document, |p| p.document).ok()?;
                Some((term, list[at].count))
            })
            .collect();
        words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        Reasons {
            body_rank: place(&parts.body, d),
            path_rank: place(&parts.path, d),
            history_rank: place(&parts.history, d),
            identifier_rank: place(&parts.identifiers, d),
            is_mentioned: parts.mentions[d] > 0.0,
            words,
            last_touched: parts.last[d],
            touched: parts.touched[d],
            changes_with: parts.together[d].1,
        }
    }
}

/// The place of a document by one field, from 1; `None` when it scores nothing there.
fn place(scores: &[f64], document: usize) -> Option<usize> {
    let own = scores[document];
    (own > 0.0).then(|| 1 + scores.iter().filter(|&&score| score > own).count())
}

#[cfg(test)]
mod tests;
