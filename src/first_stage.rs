//! The local ranking of a project for a task: list, read or look up, rank.
//!
//! A project and a task's text in, a [`FirstStage`] out: what the project holds of the task, and its
//! ranking. No model is asked here.

use std::time::{Duration, Instant};

use crate::core::search::corpus::Corpus;
use crate::core::search::history::History;
use crate::core::search::query::{self, Query};
use crate::core::search::rank::{self, Ranking, Weights};
use crate::index::{self, IndexScope, IndexState, IndexedSurvey};
use crate::project::{Project, ProjectError, Warning, files, history, scan};

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

/// A project ranked locally, with what it was ranked from.
pub struct FirstStage {
    /// The project.
    pub survey: Survey,
    /// Its local ranking.
    pub ranking: Ranking,
    /// Listing and reading.
    pub collect: Duration,
}

/// Surveys and ranks a project. Costs a look-up per file with an index, a read per file without one.
///
/// # Errors
/// A repository that git cannot read.
pub fn first_stage(
    project: &Project,
    text: &str,
    started: Instant,
) -> Result<FirstStage, ProjectError> {
    let survey = survey(project, text)?;
    let collect = started.elapsed();
    let ranking = rank::rank(&survey.query, &survey.corpus, &survey.history, &Weights::default());
    Ok(FirstStage { survey, ranking, collect })
}

/// Finds out what a project holds of a task: by its index where there is one, by reading every file
/// otherwise. Both give the same.
///
/// # Errors
/// A repository that git cannot read.
pub fn survey(project: &Project, text: &str) -> Result<Survey, ProjectError> {
    let query = query::query(text);
    let Some(folder) = &project.index else { return read(project, query, IndexState::Off) };
    let scope = IndexScope::of(project);
    match index::survey(folder, &project.root, &query, &scope) {
        Some(IndexedSurvey { corpus, history, warnings, is_stale }) => {
            let index = if is_stale { IndexState::Stale } else { IndexState::Fresh };
            Ok(Survey { query, corpus, history, warnings, index })
        }
        None => read(project, query, IndexState::Missing),
    }
}

/// Lists and reads a project for a query; git's history is read at the same time.
fn read(project: &Project, query: Query, index: IndexState) -> Result<Survey, ProjectError> {
    let root = &project.root;
    let log = history::start(root);
    let listing = files::list(root, &project.extensions)?;
    let mut warnings = listing.warnings;
    let (corpus, unread) = scan::scan(&root.path, listing.paths, &query, project.max_file_bytes);
    warnings.extend(unread);
    let (history, cut) = log.finish(&corpus.documents);
    warnings.extend(cut);
    Ok(Survey { query, corpus, history, warnings, index })
}
