//! The whole way of a task through a project: list, read, rank, pick.
//!
//! The command line, the hook and the MCP server all call [`keywords`], or [`first_stage`] with a model of [`crate::rerank`] on
//! top; they differ in how the task comes in and how the [`Pack`] goes out.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::config::Provider;
use crate::core::rerank::fuse::ScoredFile;
use crate::core::search::corpus::{Corpus, Document};
use crate::core::search::history::History;
use crate::core::search::path_kind;
use crate::core::search::query::{self, Query};
use crate::core::search::rank::{self, Ranking, Reasons, Weights};
use crate::core::search::snippet::{self, Window};
use crate::index::{self, IndexState};
use crate::project::files::{self, Extensions};
use crate::project::root::Root;
use crate::project::{ProjectError, Warning, history, scan};
use crate::rerank::ModelRanking;

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
    /// The folder of indexes; without one every file is read.
    pub index: Option<PathBuf>,
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
    /// What a decision model said, when one was asked.
    pub decided: Option<ModelRanking>,
    /// How the index served.
    pub index: IndexState,
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
    /// Place by the local ranking, from 1; `None` without any evidence there.
    pub keyword_rank: Option<usize>,
    /// Who ranked it.
    pub by: Provider,
    /// What a decision model said about it, when one was asked.
    pub judged: Option<ScoredFile>,
    /// A test, by its name.
    pub is_test: bool,
    /// Why it was picked.
    pub reasons: Reasons,
    /// Words of the task in its text with their counts, most frequent first; stop words are left out.
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
    /// How the index served.
    pub index: IndexState,
}

/// Finds out what a project holds of a query: by its index where there is one, by reading everything otherwise.
///
/// # Errors
/// A repository that git cannot read.
pub fn survey(root: &Root, task: &Task) -> Result<Survey, ProjectError> {
    let query = query::query(&task.text);
    let Some(folder) = &task.index else { return read(root, task, query, IndexState::Off) };
    let of =
        index::IndexScope { extensions: &task.extensions, max_file_bytes: task.max_file_bytes };
    match index::survey(folder, root, &query, &of) {
        Some(index::IndexedSurvey { corpus, history, warnings, is_stale }) => {
            let index = if is_stale { IndexState::Stale } else { IndexState::Fresh };
            Ok(Survey { query, corpus, history, warnings, index })
        }
        None => read(root, task, query, IndexState::Missing),
    }
}

/// Lists and reads a project for a query; git's history is read at the same time.
fn read(root: &Root, task: &Task, query: Query, index: IndexState) -> Result<Survey, ProjectError> {
    let log = history::start(root);
    let listing = files::list(root, &task.extensions)?;
    let mut warnings = listing.warnings;
    let (corpus, unread) = scan::scan(&root.path, listing.paths, &query, task.max_file_bytes);
    warnings.extend(unread);
    let (history, cut) = log.finish(&corpus.documents);
    warnings.extend(cut);
    Ok(Survey { query, corpus, history, warnings, index })
}

/// A project ranked locally, with what it was ranked from.
pub struct FirstStage {
    /// The project.
    pub survey: Survey,
    /// Its local ranking.
    pub ranking: Ranking,
    /// Listing and reading.
    pub collect: Duration,
}

/// Surveys and ranks a project, locally.
///
/// # Errors
/// A repository that git cannot read.
pub fn first_stage(root: &Root, task: &Task, started: Instant) -> Result<FirstStage, ProjectError> {
    let survey = survey(root, task)?;
    let collect = started.elapsed();
    let ranking = rank::rank(&survey.query, &survey.corpus, &survey.history, &Weights::default());
    Ok(FirstStage { survey, ranking, collect })
}

/// Ranks a project's files for a task, locally.
///
/// # Errors
/// A repository that git cannot read.
pub fn keywords(root: &Root, task: &Task, started: Instant) -> Result<Pack, ProjectError> {
    Ok(first_stage(root, task, started)?.pack(root, task, None, started))
}

impl FirstStage {
    /// Picks the best: in the model's order if one was asked, else in the local one.
    #[must_use]
    pub fn pack(
        self,
        root: &Root,
        task: &Task,
        decided: Option<ModelRanking>,
        started: Instant,
    ) -> Pack {
        let files = match &decided {
            Some(decided) => self.judged(task, decided),
            None => self.ranked(task),
        };
        let documents = files.iter().take(task.code).map(|(document, _)| *document);
        let snippets =
            documents.filter_map(|document| snippet(root, task, &self.survey, document)).collect();
        Pack {
            files: files.into_iter().map(|(_, pick)| pick).collect(),
            n_candidates: self.survey.corpus.documents.len(),
            is_distinctive: self.ranking.is_distinctive,
            snippets,
            warnings: self.survey.warnings,
            decided,
            index: self.survey.index,
            collect: self.collect,
            total: started.elapsed(),
        }
    }

    fn ranked(&self, task: &Task) -> Vec<(u32, Pick)> {
        let best = (1..).zip(self.ranking.candidates.iter().take(task.limit));
        let with_pick = |(place, candidate): (usize, &rank::Candidate)| {
            let pick = pick(&self.survey, &self.ranking, candidate.document, candidate.score);
            (candidate.document, Pick { keyword_rank: Some(place), ..pick })
        };
        best.map(with_pick).collect()
    }

    fn judged(&self, task: &Task, decided: &ModelRanking) -> Vec<(u32, Pick)> {
        let with_pick = |file: &ScoredFile| {
            let document = u32::try_from(file.document).ok()?;
            let pick = pick(&self.survey, &self.ranking, document, file.score);
            let keyword_rank = file.keyword_rank.map(|rank| rank + 1);
            let judged = Some(file.clone());
            Some((document, Pick { keyword_rank, by: decided.provider, judged, ..pick }))
        };
        decided.reranked.files.iter().take(task.limit).filter_map(with_pick).collect()
    }
}

fn pick(survey: &Survey, ranking: &Ranking, document: u32, score: f64) -> Pick {
    let Document { path, .. } = &survey.corpus.documents[document as usize];
    let reasons = ranking.reasons(&survey.corpus, document);
    let terms = &survey.query.terms;
    // "the×36" explains nothing.
    let says_something = |term: u32| !terms[term as usize].is_stop;
    let words = reasons.words.iter().filter(|&&(term, _)| says_something(term));
    Pick {
        path: display(path),
        score,
        keyword_rank: None,
        by: Provider::Keywords,
        judged: None,
        is_test: path_kind::is_test(path),
        words: words.map(|&(term, n)| (terms[term as usize].word.clone(), n)).collect(),
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
        scan::Reading::Read(_) => {
            let windows = snippet::windows(&text, &survey.query);
            (!windows.is_empty()).then(|| Snippet { path: display(path), windows })
        }
        _ => None,
    }
}

fn display(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
