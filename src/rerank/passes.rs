//! The two overlapping passes over a project's files: a sketch of each, and the full source of the
//! best.
//!
//! The sources of the first stage's best files are sent at once, together with the sketches. The
//! sources that the sketches promote follow when the last sketch is scored. A request that is too
//! large or rejected is split in half, down to one file.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::jev::RerankContext;
use crate::core::rerank::fuse::pool as best_of;
use crate::core::rerank::request::{
    POOL, Question, SKETCHES_PER_REQUEST, SOURCE_CHARS, SOURCES_PER_REQUEST, file_key, relevance,
    shuffled,
};
use crate::core::rerank::sketch::{Shown, excerpt, sketch};
use crate::model::error::{ErrorScope, ModelError};
use crate::model::pool::{self, Steps};
use crate::model::wire::Answer;

/// Most splits of one run: isolating one offending file among sixty takes six, so this allows ten
/// of them.
const HALVINGS: usize = 64;

/// Which part of a file is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pass {
    /// Its declarations.
    Sketch,
    /// The start of its source.
    Source,
}

impl Pass {
    pub(super) fn files_per_request(self) -> usize {
        match self {
            Pass::Sketch => SKETCHES_PER_REQUEST,
            Pass::Source => SOURCES_PER_REQUEST,
        }
    }

    pub(super) fn show(self, path: &str, source: &[u8]) -> Shown {
        match self {
            Pass::Sketch => sketch(path, source),
            Pass::Source => excerpt(path, source, SOURCE_CHARS),
        }
    }
}

/// The files of one request.
struct Batch {
    pass: Pass,
    files: Vec<usize>,
}

/// An encoded request and its question keys.
type Prepared = (Vec<u8>, Vec<(String, Question)>);

/// The verdicts of the passes.
#[derive(Default)]
pub(super) struct Verdicts {
    /// Probability by document; 0 for the files of a failed request.
    pub(super) sketches: BTreeMap<usize, f64>,
    /// The same for full sources.
    pub(super) sources: BTreeMap<usize, f64>,
    /// Documents that may appear in the answer, unordered.
    pub(super) pool: Vec<usize>,
    /// Files that a firewall rejected because of their text.
    pub(super) rejected: BTreeSet<usize>,
    /// Failed requests, and why.
    pub(super) failures: Vec<String>,
    /// Requests answered, by pass.
    pub(super) answered: BTreeMap<Pass, usize>,
    /// Whether the deadline cut the passes short.
    pub(super) out_of_time: bool,
    /// The name that the model gives itself.
    pub(super) model: Option<String>,
    /// When each pass ended, from the start.
    pub(super) sketches_took: Duration,
    pub(super) sources_took: Duration,
    batches_left: BTreeMap<Pass, usize>,
    batches_done: usize,
    halvings: usize,
    fatal: Option<ModelError>,
}

/// Both passes over the files.
///
/// # Errors
/// Errors that end a run. Other failed requests are part of the verdicts.
pub(super) fn judge(pack: &RerankContext<'_>) -> Result<Verdicts, ModelError> {
    let started = Instant::now();
    let (sketched, early) = first_batches(pack);
    let mut verdicts = Verdicts::default();
    verdicts.batches_left.insert(Pass::Sketch, sketched.len());
    verdicts.batches_left.insert(Pass::Source, early.len());
    // The sources that the sketches promote must wait for the last sketch, so sketches are prepared
    // first.
    let mut batches = sketched;
    batches.extend(early);
    if verdicts.batches_left[&Pass::Sketch] == 0 {
        verdicts.pool = best_of(&[], pack.project.first_stage);
    }
    let prepare = |batch: &Batch| -> Result<Prepared, ModelError> {
        let ask = relevance(pack.task, pack.texts(batch.pass, &batch.files));
        // Drops the texts once the body is made: fifty requests are in flight.
        Ok((pack.client.body(&ask)?, ask.questions))
    };
    let work = |_: &Batch, prepared: Result<Prepared, ModelError>| {
        let (body, questions) = prepared?;
        pack.client.send(pack.run, &body, &questions)
    };
    let done = |batch, result| {
        let next = verdicts.take(pack, batch, result, started);
        (pack.progress)(verdicts.batches_done, verdicts.batches_done + verdicts.open());
        next
    };
    pool::run(pack.client.endpoint().in_flight, batches, Steps { prepare, work, done });
    match verdicts.fatal.take() {
        Some(error) => Err(error),
        None => verdicts.checked(),
    }
}

/// Requests for the sketches of all files and for the sources of the first stage's best.
fn first_batches(pack: &RerankContext<'_>) -> (Vec<Batch>, Vec<Batch>) {
    let early = pack.project.first_stage.iter().copied().take(POOL).collect();
    let sketched = pack.project.by_rank().take(pack.settings.depth.sketch_files).collect();
    (
        batches(Pass::Sketch, &shuffled(sketched, pack.task)),
        batches(Pass::Source, &shuffled(early, pack.task)),
    )
}

fn batches(pass: Pass, files: &[usize]) -> Vec<Batch> {
    files
        .chunks(pass.files_per_request())
        .map(|files| Batch { pass, files: files.to_vec() })
        .collect()
}

impl Verdicts {
    /// Records the result of one batch and returns the batches that follow from it.
    fn take(
        &mut self,
        pack: &RerankContext<'_>,
        batch: Batch,
        result: Result<Answer, ModelError>,
        started: Instant,
    ) -> Vec<Batch> {
        self.count(batch.pass, -1);
        self.batches_done += 1;
        let pass = batch.pass;
        let mut next = match result {
            Ok(answer) => self.keep(&batch, &answer),
            Err(error) => self.miss(pack, batch, error),
        };
        self.count(pass, isize::try_from(next.len()).unwrap_or(0));
        if pass == Pass::Sketch && self.batches_left[&Pass::Sketch] == 0 {
            self.sketches_took = started.elapsed();
            next.extend(self.late_sources(pack));
        }
        if pass == Pass::Source {
            self.sources_took = started.elapsed();
        }
        next
    }

    fn keep(&mut self, batch: &Batch, answer: &Answer) -> Vec<Batch> {
        *self.answered.entry(batch.pass).or_default() += 1;
        self.model = answer.model.clone().or(self.model.take());
        for (n, &document) in batch.files.iter().enumerate() {
            if let Some(&p) = answer.yes.get(&file_key(n)) {
                self.of(batch.pass).insert(document, p);
            }
        }
        Vec::new()
    }

    fn miss(&mut self, pack: &RerankContext<'_>, batch: Batch, error: ModelError) -> Vec<Batch> {
        match error.reach() {
            ErrorScope::Run => {
                pack.run.stop();
                self.fatal.get_or_insert(error);
                return Vec::new();
            }
            ErrorScope::Size if batch.files.len() > 1 && self.halvings < HALVINGS => {
                self.halvings += 1;
                return halves(batch);
            }
            _ if error == ModelError::OutOfTime => {
                self.out_of_time = true;
                return Vec::new();
            }
            _ => {}
        }
        let is_known = match (&error, batch.files.as_slice()) {
            (ModelError::Rejected(_), &[only]) => !self.rejected.insert(only),
            _ => false,
        };
        // A file that is rejected in both passes counts as one failure.
        if !is_known {
            self.failures.push(error.to_string());
        }
        for document in batch.files {
            self.of(batch.pass).insert(document, 0.0);
        }
        Vec::new()
    }

    /// Requests for the sources that the sketches promoted.
    fn late_sources(&mut self, pack: &RerankContext<'_>) -> Vec<Batch> {
        let first_stage = pack.project.first_stage;
        let sketches: Vec<(usize, f64)> = self.sketches.iter().map(|(&d, &p)| (d, p)).collect();
        self.pool = best_of(&sketches, first_stage);
        let early: BTreeSet<usize> = first_stage.iter().copied().take(POOL).collect();
        let is_late =
            |document: &usize| !early.contains(document) && !self.rejected.contains(document);
        let late: Vec<usize> = self.pool.iter().copied().filter(is_late).collect();
        let late = batches(Pass::Source, &shuffled(late, pack.task));
        self.count(Pass::Source, isize::try_from(late.len()).unwrap_or(0));
        late
    }

    /// A model's ranking needs verdicts: the keyword order alone is never presented as one.
    fn checked(self) -> Result<Verdicts, ModelError> {
        let answered = |pass| self.answered.get(&pass).copied().unwrap_or(0);
        if self.out_of_time {
            let any = answered(Pass::Sketch) + answered(Pass::Source) > 0;
            return if any { Ok(self) } else { Err(ModelError::OutOfTime) };
        }
        if answered(Pass::Source) == 0 && !self.pool.is_empty() {
            let reason = self.failures.first().cloned().unwrap_or_default();
            return Err(ModelError::NothingScored { batches: self.failures.len(), reason });
        }
        Ok(self)
    }

    fn of(&mut self, pass: Pass) -> &mut BTreeMap<usize, f64> {
        match pass {
            Pass::Sketch => &mut self.sketches,
            Pass::Source => &mut self.sources,
        }
    }

    fn count(&mut self, pass: Pass, change: isize) {
        let left = self.batches_left.entry(pass).or_default();
        *left = left.saturating_add_signed(change);
    }

    fn open(&self) -> usize {
        self.batches_left.values().sum()
    }
}

fn halves(mut batch: Batch) -> Vec<Batch> {
    let second = batch.files.split_off(batch.files.len() / 2);
    let pass = batch.pass;
    vec![batch, Batch { pass, files: second }]
}
