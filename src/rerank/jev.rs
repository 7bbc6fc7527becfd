//! Ranks a project's files with the hosted model: sketches, sources, fusion, comparison, roles.
//!
//! In: the task, the paths, a way to read a file, and the first stage's order. Out: [`Reranked`],
//! or an error, never the keyword order under the model's name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::passes::{self, Pass, Verdicts};
use crate::core::rerank::fuse::{self, ScoredFile};
use crate::core::rerank::request::{
    COMPARED, FileRole, ModelRequest, PICK, TASK_CHARS, cut, role_key,
};
use crate::core::rerank::request::{comparison, roles};
use crate::core::rerank::sketch::Shown;
use crate::model::client::Client;
use crate::model::error::{ErrorScope, ModelError};
use crate::model::pool::{self, Steps};
use crate::model::run::{Deadline, Run, RunStats};
use crate::model::settings::{DOLLARS_PER_MILLION, Settings};
use crate::model::wire::Answer;

/// The files of a project as the first stage knows them.
pub struct RankedFiles<'a> {
    /// Path of each document, relative to the root, with `/`.
    pub paths: &'a [&'a str],
    /// Documents from best to worst; those without any evidence may be missing.
    pub first_stage: &'a [usize],
    /// Replaces the buffer's content by the bytes of a document; empty if it cannot be read any
    /// longer. Called from many threads, up to three times per document.
    pub read: &'a (dyn Fn(usize, &mut Vec<u8>) + Sync),
}

impl RankedFiles<'_> {
    /// All documents: those of the first stage in its order, then the rest in theirs.
    pub(super) fn by_rank(&self) -> impl Iterator<Item = usize> + '_ {
        let mut is_ranked = vec![false; self.paths.len()];
        for &document in self.first_stage {
            is_ranked[document] = true;
        }
        let rest = (0..self.paths.len()).filter(move |&document| !is_ranked[document]);
        self.first_stage.iter().copied().chain(rest)
    }
}

/// Receives the number of requests done and of all requests so far.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// The combined ranking of the model and the first stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranked {
    /// The scored files of the pool, best first.
    pub files: Vec<ScoredFile>,
    /// The name that the model gives itself, or the requested one.
    pub model: String,
    /// Files of which at least a sketch was scored.
    pub scored: usize,
    /// Statistics of the requests.
    pub tally: RunStats,
    /// Failed requests; their files score 0.
    pub failed_batches: usize,
    /// Price in dollars; `None` if the service did not report tokens.
    pub cost: Option<f64>,
    /// Whether the deadline cut the verdicts short.
    pub partial: bool,
    /// Credentials redacted before sending.
    pub redacted: usize,
    /// One line each, for users.
    pub warnings: Vec<String>,
    /// When the last sketch was scored, in milliseconds from the start.
    pub sketch_ms: u64,
    /// When the last source was scored.
    pub source_ms: u64,
    /// Time of the comparison and the roles alone.
    pub compare_ms: u64,
    /// Total time.
    pub total_ms: u64,
}

/// State shared by the steps of one ranking.
pub(super) struct RerankContext<'a> {
    pub(super) client: &'a Client,
    pub(super) settings: &'a Settings,
    pub(super) run: &'a Run,
    pub(super) task: &'a str,
    pub(super) project: &'a RankedFiles<'a>,
    pub(super) progress: Progress<'a>,
    /// Redacted credentials by document, because a document is sent up to three times.
    pub(super) redacted: Mutex<BTreeMap<usize, usize>>,
}

/// Ranks the files.
///
/// # Errors
/// A spent budget; a service that refuses, cannot be reached or gave no usable answer to any
/// request; a deadline that passed before the first answer. Cost: one request per 60 files, about
/// 20 for the best, 2 for the comparison.
pub fn rerank(
    client: &Client,
    settings: &Settings,
    task: &str,
    project: &RankedFiles<'_>,
    deadline: Deadline,
    progress: Progress<'_>,
) -> Result<Reranked, ModelError> {
    client.check_budget()?;
    let started = Instant::now();
    let run = Run::new(settings.endpoint.in_flight, deadline);
    let clean_task = crate::core::text::redact::redact(task.trim()).0;
    let shown_task = cut(&clean_task, TASK_CHARS);
    let redacted = Mutex::default();
    let pack = RerankContext {
        client,
        settings,
        run: &run,
        task: shown_task,
        project,
        progress,
        redacted,
    };
    let mut verdicts = passes::judge(&pack)?;
    let mut files = fuse::fuse(&relevances(&verdicts), project.first_stage);
    let comparing = Instant::now();
    compare(&pack, &mut verdicts, &mut files)?;
    let compare_ms = milliseconds(comparing.elapsed());
    let redacted = pack.redactions();
    Ok(Reranked {
        model: verdicts.model.take().unwrap_or_else(|| settings.endpoint.model.clone()),
        scored: scored(&verdicts),
        tally: run.tally(),
        failed_batches: verdicts.failures.len(),
        cost: run.tally().input_tokens.map(dollars),
        partial: verdicts.out_of_time,
        redacted,
        warnings: warnings(&verdicts, redacted, task),
        sketch_ms: milliseconds(verdicts.sketches_took),
        source_ms: milliseconds(verdicts.sources_took),
        compare_ms,
        total_ms: milliseconds(started.elapsed()),
        files,
    })
}

/// Price in dollars of input tokens; output is free.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
pub fn dollars(input_tokens: u64) -> f64 {
    input_tokens as f64 * DOLLARS_PER_MILLION / 1e6
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The verdict on the source, or on the sketch if the deadline came first.
fn relevances(verdicts: &Verdicts) -> Vec<(usize, f64)> {
    let verdict = |document: &usize| {
        let source = verdicts.sources.get(document).copied();
        source.or_else(|| verdicts.sketches.get(document).copied()).unwrap_or(0.0)
    };
    verdicts.pool.iter().map(|document| (*document, verdict(document))).collect()
}

fn scored(verdicts: &Verdicts) -> usize {
    let only_source = verdicts.sources.keys().filter(|d| !verdicts.sketches.contains_key(d));
    verdicts.sketches.len() + only_source.count()
}

fn warnings(verdicts: &Verdicts, redacted: usize, task: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    if verdicts.out_of_time {
        warnings.push("the deadline came before the last answer: verdicts so far".to_owned());
    }
    if let Some(first) = verdicts.failures.first() {
        let count = verdicts.failures.len();
        warnings.push(format!("{count} failed batches, whose files score 0; the first: {first}"));
    }
    if redacted > 0 {
        warnings.push(format!("{redacted} credentials were replaced before anything was sent"));
    }
    let length = task.trim().chars().count();
    if length > TASK_CHARS {
        warnings.push(format!(
            "the model read the first {TASK_CHARS} of the task's {length} characters"
        ));
    }
    warnings
}

impl RerankContext<'_> {
    /// The text that a pass sends for each document, in order. One buffer serves all.
    pub(super) fn texts(&self, pass: Pass, documents: &[usize]) -> Vec<String> {
        let mut source = Vec::new();
        let text = |&document: &usize| {
            // A run that has ended sends nothing.
            if self.run.is_over() {
                return String::new();
            }
            (self.project.read)(document, &mut source);
            let path = self.project.paths[document];
            self.keep_count(document, pass.show(path, &source))
        };
        documents.iter().map(text).collect()
    }

    fn keep_count(&self, document: usize, shown: Shown) -> String {
        if shown.redacted > 0 {
            let mut counts = self.redacted.lock().unwrap_or_else(PoisonError::into_inner);
            let count = counts.entry(document).or_default();
            *count = (*count).max(shown.redacted);
        }
        shown.text
    }

    fn redactions(&self) -> usize {
        self.redacted.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

/// Lets the model compare the best files with each other and name their roles, concurrently; then
/// sorts again.
fn compare(
    pack: &RerankContext<'_>,
    verdicts: &mut Verdicts,
    files: &mut [ScoredFile],
) -> Result<(), ModelError> {
    let best: Vec<usize> = files.iter().take(COMPARED).map(|file| file.document).collect();
    let mut jobs = Vec::new();
    if pack.settings.depth.compare && best.len() > 1 {
        jobs.push(Step::Compare);
    }
    if pack.settings.depth.roles && !best.is_empty() {
        jobs.push(Step::Roles);
    }
    let rejected = verdicts.rejected.clone();
    let shown = Best { pack, documents: &best, rejected: &rejected };
    let prepare = |step: &Step| step.request(&shown, Pass::Source);
    let work = |step: &Step, request: ModelRequest| step.ask(&shown, &request);
    let mut fatal = None;
    let done = |step: Step, result| {
        match result {
            Ok(answer) => step.apply(&answer, &mut files[..best.len()]),
            Err(ModelError::OutOfTime) => verdicts.out_of_time = true,
            Err(error) if error.reach() == ErrorScope::Run => fatal = Some(error),
            Err(error) => verdicts.failures.push(error.to_string()),
        }
        Vec::new()
    };
    pool::run(pack.settings.endpoint.in_flight, jobs, Steps { prepare, work, done });
    fuse::score(files, pack.project.first_stage.len());
    fatal.map_or(Ok(()), Err)
}

/// The texts of the best files for the second look.
struct Best<'a> {
    pack: &'a RerankContext<'a>,
    documents: &'a [usize],
    /// Only the path of these is sent.
    rejected: &'a BTreeSet<usize>,
}

impl Best<'_> {
    fn texts(&self, pass: Pass) -> Vec<String> {
        let mut texts = self.pack.texts(pass, self.documents);
        for (document, text) in self.documents.iter().zip(&mut texts) {
            if self.rejected.contains(document) {
                *text = format!("path: {}\n", self.pack.project.paths[*document]);
            }
        }
        texts
    }
}

/// The two requests about the best files.
#[derive(Clone, Copy)]
enum Step {
    Compare,
    Roles,
}

impl Step {
    /// If the request is too large or rejected, tries again with the sketches.
    fn ask(self, best: &Best<'_>, request: &ModelRequest) -> Result<Answer, ModelError> {
        let RerankContext { client, run, .. } = best.pack;
        match client.ask(run, request) {
            Err(error) if error.reach() == ErrorScope::Size => {
                client.ask(run, &self.request(best, Pass::Sketch))
            }
            other => other,
        }
    }

    fn request(self, best: &Best<'_>, pass: Pass) -> ModelRequest {
        let (task, paths) = (best.pack.task, best.pack.project.paths);
        let paths: Vec<&str> = best.documents.iter().map(|&document| paths[document]).collect();
        match self {
            Step::Compare => comparison(task, &paths, best.texts(pass)),
            Step::Roles => roles(task, best.texts(pass)),
        }
    }

    fn apply(self, answer: &Answer, files: &mut [ScoredFile]) {
        for (n, file) in files.iter_mut().enumerate() {
            match self {
                Step::Compare => {
                    let shares = answer.choices.get(PICK);
                    let key = crate::core::rerank::request::file_key(n);
                    file.choice = shares.and_then(|shares| shares.get(&key)).copied();
                }
                Step::Roles => file.role = role(answer, n),
            }
        }
    }
}

fn role(answer: &Answer, n: usize) -> Option<(FileRole, f64)> {
    let given = answer.choices.get(&role_key(n))?;
    let known = FileRole::ALL.iter().filter_map(|&role| Some((role, *given.get(role.name())?)));
    fuse::shown_role(&known.collect::<Vec<_>>())
}
