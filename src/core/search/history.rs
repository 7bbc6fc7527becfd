//! The project's past: which files changed together, when, and under which subject.
//!
//! Parsed commits in, per-document evidence for one query out. Reading git is `project::history`'s part.

use super::query::Query;
use crate::core::text::hash::FxMap;

/// Commits that are looked at, newest first. Recall@10 at 300, 1,000, 3,000 and 10,000 commits was
/// .846, .855, .864, .866 (retrieval study, nine repositories), and the time git takes grows with it.
pub const MAX_COMMITS: usize = 3_000;

/// A commit of more files says nothing about one of them (mass renames, formatting).
pub const MAX_COMMIT_FILES: usize = 30;

/// One past change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// First line of its message.
    pub subject: Vec<u8>,
    /// The documents it changed that still exist, by index in the corpus.
    pub documents: Vec<u32>,
    /// All files it changed.
    pub n_files: usize,
}

/// Newest first, no merges, at most [`MAX_COMMITS`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The commits.
    pub commits: Vec<Commit>,
}

/// What the past says, per document.
pub(crate) struct Past {
    /// Commits that changed the document.
    pub(crate) touched: Vec<u32>,
    /// How many commits ago it last changed; `None`: not within the window.
    pub(crate) last: Vec<Option<u32>>,
    /// Per term of the query: documents changed under a subject with it; a commit of n files gives 1/√n.
    pub(crate) subjects: Vec<Vec<(u32, f64)>>,
}

impl History {
    /// Reads the past for a query. O(words of subjects + files touched).
    pub(crate) fn past(&self, query: &Query, n_documents: usize) -> Past {
        let mut past = Past {
            touched: vec![0; n_documents],
            last: vec![None; n_documents],
            subjects: vec![Vec::new(); query.terms.len()],
        };
        let index = query.index();
        // Sums are kept in a map per term and sorted at the end: the order of commits must not show.
        let mut sums: Vec<FxMap<u32, f64>> = vec![FxMap::default(); query.terms.len()];
        let mut terms = Vec::new();
        for (age, commit) in (0u32..).zip(&self.commits) {
            for &document in &commit.documents {
                past.touched[document as usize] += 1;
                past.last[document as usize].get_or_insert(age);
            }
            if commit.documents.is_empty() || commit.n_files > MAX_COMMIT_FILES {
                continue;
            }
            index.terms_in(&commit.subject, &mut terms);
            terms.sort_unstable();
            terms.dedup();
            let share = 1.0 / (commit.n_files as f64).sqrt();
            for &term in &terms {
                for &document in &commit.documents {
                    *sums[term as usize].entry(document).or_default() += share;
                }
            }
        }
        for (list, sums) in past.subjects.iter_mut().zip(sums) {
            list.extend(sums);
            list.sort_unstable_by_key(|(document, _)| *document);
        }
        past
    }

    /// How often documents changed together with `document`: (times in all, per other document).
    ///
    /// Only commits of at most [`MAX_COMMIT_FILES`] files count, and only those in which between two and
    /// `max_together` documents changed pair them. Sorted by document.
    pub(crate) fn together(&self, document: u32, max_together: usize) -> (u32, Vec<(u32, u32)>) {
        let mut times = 0;
        let mut others: FxMap<u32, u32> = FxMap::default();
        for commit in &self.commits {
            if commit.n_files > MAX_COMMIT_FILES || !commit.documents.contains(&document) {
                continue;
            }
            times += 1;
            if (2..=max_together).contains(&commit.documents.len()) {
                for &other in commit.documents.iter().filter(|&&other| other != document) {
                    *others.entry(other).or_default() += 1;
                }
            }
        }
        let mut others: Vec<(u32, u32)> = others.into_iter().collect();
        others.sort_unstable();
        (times, others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::query::query;

    fn history(commits: &[(&str, &[u32], usize)]) -> History {
        let commit = |&(subject, documents, n_files): &(&str, &[u32], usize)| Commit {
            subject: subject.as_bytes().to_vec(),
            documents: documents.to_vec(),
            n_files,
        };
        History { commits: commits.iter().map(commit).collect() }
    }

    #[test]
    fn subjects_touches_and_ages() {
        let history = history(&[
            ("Retry the upload", &[1, 2], 4),
            ("mass rename of retry", &[0, 1, 2], 31),
            ("retries: back off", &[1], 1),
        ]);
        let past = history.past(&query("retry; backoff"), 4);
        assert_eq!(past.touched, [1, 3, 2, 0]);
        assert_eq!(past.last, [Some(1), Some(0), Some(0), None]);
        assert_eq!(past.subjects, [vec![(1, 1.5), (2, 0.5)], vec![]]);
    }

    #[test]
    fn pairs() {
        let history = history(&[
            ("a", &[0, 1], 2),
            ("b", &[0, 1], 30),
            ("c", &[0, 1], 31),
            ("d", &[0], 1),
            ("e", &[0, 2, 3], 3),
        ]);
        assert_eq!(history.together(0, 2), (4, vec![(1, 2)]));
        assert_eq!(history.together(0, 20), (4, vec![(1, 2), (2, 1), (3, 1)]));
    }
}
