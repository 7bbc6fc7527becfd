//! The whole way of a task through a project: list, read, rank, pick.
//!
//! The command line, the hook and the MCP server all call [`keywords`]; they differ in how the task comes in and how
//! the [`Pack`] goes out.

use std::time::{Duration, Instant};

use crate::core::corpus::{Corpus, Document};
use crate::core::history::History;
use crate::core::query::{self, Query};
use crate::core::rank::{self, Ranking, Reasons, Weights};
use crate::core::signal;
use crate::core::snippet::{self, Window};
use crate::project::files::{self, Extensions};
use crate::project::root::Root;
use crate::project::{Error, Warning, history, scan};

/// What to rank for.
#[derive(Debug, Clone)]
pub struct Task {
    /// What is to be done, in the person's words.
    pub text: String,
    /// Files to pick.
    pub limit: usize,
    /// Of how many of them to show the most relevant lines.
    pub code: usize,
    /// Which files count as source.
    pub extensions: Extensions,
    /// Largest file to rank.
    pub max_file_bytes: u64,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Pack {
    /// The best files, best first; at most `limit`, fewer when fewer have any evidence.
    pub files: Vec<Pick>,
    /// Files that were ranked.
    pub n_candidates: usize,
    /// Whether a word of the task says anything about this project. The hook is silent otherwise.
    pub is_distinctive: bool,
    /// The most relevant lines of the first files.
    pub snippets: Vec<Snippet>,
    /// What makes the answer poorer.
    pub warnings: Vec<Warning>,
    /// Listing and reading.
    pub collect: Duration,
    /// All of it.
    pub total: Duration,
}

/// One picked file.
#[derive(Debug, Clone)]
pub struct Pick {
    /// Relative to the root; bytes that are not UTF-8 are replaced.
    pub path: String,
    /// Comparable within one answer only.
    pub score: f64,
    /// A test, by its name.
    pub is_test: bool,
    /// Why it was picked.
    pub reasons: Reasons,
    /// Words of the task in its text with their counts, most frequent first.
    pub words: Vec<(String, u32)>,
    /// The better file it often changes together with.
    pub changes_with: Option<String>,
}

/// Lines of one file.
#[derive(Debug, Clone)]
pub struct Snippet {
    /// As in [`Pick::path`].
    pub path: String,
    /// In the order of the file.
    pub windows: Vec<Window>,
}

/// Everything known about a project for one query.
pub struct Survey {
    /// The query.
    pub query: Query,
    /// What the documents hold of it.
    pub corpus: Corpus,
    /// The project's past.
    pub history: History,
    /// What could not be read.
    pub warnings: Vec<Warning>,
}

/// Lists and reads a project for a query; git's history is read at the same time.
///
/// # Errors
/// A repository that git cannot read.
pub fn survey(root: &Root, task: &Task) -> Result<Survey, Error> {
    let log = history::start(root);
    let query = query::query(&task.text);
    let listing = files::list(root, &task.extensions)?;
    let mut warnings = listing.warnings;
    let (corpus, unread) = scan::scan(&root.path, listing.paths, &query, task.max_file_bytes);
    warnings.extend(unread);
    let (history, cut) = log.finish(&corpus.documents);
    warnings.extend(cut);
    Ok(Survey { query, corpus, history, warnings })
}

/// Ranks a project's files for a task, locally.
///
/// # Errors
/// A repository that git cannot read.
pub fn keywords(root: &Root, task: &Task, started: Instant) -> Result<Pack, Error> {
    let survey = survey(root, task)?;
    let collect = started.elapsed();
    let ranking = rank::rank(&survey.query, &survey.corpus, &survey.history, &Weights::default());
    let best = ranking.candidates.iter().take(task.limit);
    let files: Vec<Pick> = best.map(|c| pick(&survey, &ranking, c.document, c.score)).collect();
    let documents = ranking.candidates.iter().take(task.limit.min(task.code));
    let snippets = documents.filter_map(|c| snippet(root, task, &survey, c.document)).collect();
    Ok(Pack {
        files,
        n_candidates: survey.corpus.documents.len(),
        is_distinctive: ranking.is_distinctive,
        snippets,
        warnings: survey.warnings,
        collect,
        total: started.elapsed(),
    })
}

fn pick(survey: &Survey, ranking: &Ranking, document: u32, score: f64) -> Pick {
    let Document { path, .. } = &survey.corpus.documents[document as usize];
    let reasons = ranking.reasons(&survey.corpus, document);
    let word = |term: u32| survey.query.terms[term as usize].word.clone();
    Pick {
        path: display(path),
        score,
        is_test: signal::is_test(path),
        words: reasons.words.iter().map(|&(term, count)| (word(term), count)).collect(),
        changes_with: reasons
            .changes_with
            .map(|d| display(&survey.corpus.documents[d as usize].path)),
        reasons,
    }
}

/// The file is read again: only a few are shown, and none was kept.
fn snippet(root: &Root, task: &Task, survey: &Survey, document: u32) -> Option<Snippet> {
    let path = &survey.corpus.documents[document as usize].path;
    let mut text = Vec::new();
    match scan::read(&root.path, path, task.max_file_bytes, &mut text) {
        scan::Reading::Read => {
            let windows = snippet::windows(&text, &survey.query);
            (!windows.is_empty()).then(|| Snippet { path: display(path), windows })
        }
        _ => None,
    }
}

fn display(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
