//! The use case behind every way in: rank a project's files for a request and pick the best.
//!
//! The command line, the hook and the MCP server all call [`run`]. They differ only in how the
//! request comes in and how the [`Pack`] goes out.

use std::fmt;
use std::time::{Duration, Instant};

use crate::config::{Environment, Provider};
use crate::core::rerank::fuse::ScoredFile;
use crate::core::rerank::request::Estimate;
use crate::core::search::corpus::Document;
use crate::core::search::path_kind;
use crate::core::search::rank::{self, Ranking, Reasons};
use crate::core::search::snippet::{self, Window};
use crate::first_stage::{FirstStage, Survey, first_stage};
use crate::index::{self, IndexState};
use crate::model::{Deadline, ModelError};
use crate::project::{Project, ProjectError, Warning, scan};
use crate::rerank::{self, Model, ModelRanking, Progress};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct PackRequest {
    /// The task, in the user's words.
    pub text: String,
    /// Files to pick.
    pub limit: usize,
    /// Of how many of them to show the most relevant lines.
    pub code: usize,
    /// Pick nothing, and ask no model, unless the task says something about this project.
    pub only_if_distinctive: bool,
}

/// A decision model to ask on top of the local ranking.
pub struct Reranker<'a> {
    /// Whom to ask.
    pub model: &'a Model,
    /// When to stop asking; the verdicts so far are the answer then.
    pub deadline: Deadline,
    /// Told how many requests of how many are done.
    pub progress: Progress<'a>,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Pack {
    /// The best files, best first; at most `limit`, fewer when fewer have any evidence.
    pub files: Vec<Pick>,
    /// Files that were ranked.
    pub n_candidates: usize,
    /// Whether a word of the task tells files of this project apart. The hook adds nothing otherwise.
    pub is_distinctive: bool,
    /// The most relevant lines of the first files.
    pub snippets: Vec<Snippet>,
    /// What makes the answer poorer.
    pub warnings: Vec<Warning>,
    /// What a decision model said, when one was asked.
    pub decided: Option<ModelRanking>,
    /// How the index served.
    pub index: IndexState,
    /// Whether the index should be built or rebuilt after this answer.
    pub needs_index: bool,
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

/// Why there is no pack.
#[derive(Debug)]
pub enum PackError {
    /// The project cannot be read.
    Project(ProjectError),
    /// The decision model cannot be asked, or has not answered.
    Model(ModelError),
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::Project(error) => error.fmt(f),
            PackError::Model(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PackError {}

impl From<ProjectError> for PackError {
    fn from(error: ProjectError) -> PackError {
        PackError::Project(error)
    }
}

impl From<ModelError> for PackError {
    fn from(error: ModelError) -> PackError {
        PackError::Model(error)
    }
}

/// Ranks a project's files for a request, locally, then with a decision model if one is given.
///
/// # Errors
/// A repository that git cannot read; a model that cannot be asked. Never a local ranking in the
/// model's name.
pub fn run(
    project: &Project,
    request: &PackRequest,
    reranker: Option<Reranker<'_>>,
    started: Instant,
) -> Result<Pack, PackError> {
    let stage = first_stage(project, &request.text, started)?;
    if request.only_if_distinctive && !stage.ranking.is_distinctive {
        return Ok(pack(project, stage, Vec::new(), None, 0, started));
    }
    let ask =
        |r: Reranker<'_>| r.model.rerank(&stage, project, &request.text, r.deadline, r.progress);
    let decided = reranker.map(ask).transpose()?;
    let picks = match &decided {
        Some(decided) => judged(&stage, request.limit, decided),
        None => ranked(&stage, request.limit),
    };
    Ok(pack(project, stage, picks, decided, request.code, started))
}

/// What ranking with the provider would send and cost. Needs no key and sends nothing.
///
/// # Errors
/// A repository that git cannot read; a setting that is out of range.
pub fn estimate(
    project: &Project,
    request: &PackRequest,
    provider: Provider,
    environment: Environment<'_>,
) -> Result<Estimate, PackError> {
    let stage = first_stage(project, &request.text, Instant::now())?;
    Ok(rerank::estimate(provider, &stage, project, &request.text, environment)?)
}

/// Has the index rebuilt in the background if this answer showed that it should be. Called after the
/// answer is written: without an index the next answer is as right, only slower.
pub fn refresh_index(project: &Project, pack: &Pack) {
    if pack.needs_index {
        let _ = index::build_later(&project.root);
    }
}

/// Puts the answer together; shows the lines of the first `code` files.
fn pack(
    project: &Project,
    stage: FirstStage,
    picks: Vec<(u32, Pick)>,
    decided: Option<ModelRanking>,
    code: usize,
    started: Instant,
) -> Pack {
    let documents = picks.iter().take(code).map(|(document, _)| *document);
    let snippets =
        documents.filter_map(|document| snippet(project, &stage.survey, document)).collect();
    let n_candidates = stage.survey.corpus.documents.len();
    Pack {
        files: picks.into_iter().map(|(_, pick)| pick).collect(),
        n_candidates,
        is_distinctive: stage.ranking.is_distinctive,
        snippets,
        warnings: stage.survey.warnings,
        decided,
        needs_index: index::is_due(stage.survey.index, n_candidates),
        index: stage.survey.index,
        collect: stage.collect,
        total: started.elapsed(),
    }
}

fn ranked(stage: &FirstStage, limit: usize) -> Vec<(u32, Pick)> {
    let best = (1..).zip(stage.ranking.candidates.iter().take(limit));
    let with_pick = |(place, candidate): (usize, &rank::Candidate)| {
        let pick = pick(&stage.survey, &stage.ranking, candidate.document, candidate.score);
        (candidate.document, Pick { keyword_rank: Some(place), ..pick })
    };
    best.map(with_pick).collect()
}

fn judged(stage: &FirstStage, limit: usize, decided: &ModelRanking) -> Vec<(u32, Pick)> {
    let with_pick = |file: &ScoredFile| {
        let document = u32::try_from(file.document).ok()?;
        let pick = pick(&stage.survey, &stage.ranking, document, file.score);
        let keyword_rank = file.keyword_rank.map(|rank| rank + 1);
        let judged = Some(file.clone());
        Some((document, Pick { keyword_rank, by: decided.provider, judged, ..pick }))
    };
    decided.reranked.files.iter().take(limit).filter_map(with_pick).collect()
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
fn snippet(project: &Project, survey: &Survey, document: u32) -> Option<Snippet> {
    let path = &survey.corpus.documents[document as usize].path;
    let mut text = Vec::new();
    match scan::read(&project.root.path, path, project.max_file_bytes, &mut text) {
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
