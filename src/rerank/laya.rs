//! Ranks the first stage's best files with the model on this machine, one request per file.
//!
//! Its server answers one request at a time and its window holds 512 tokens, so it scores short
//! excerpts of sixty files. Any failure ends the ranking, except a deadline, which leaves the
//! verdicts so far.

use std::time::Instant;

use super::jev::{Progress, RankedFiles, Reranked, milliseconds};
use crate::core::rerank::fuse::fuse;
use crate::core::rerank::request::{ModelRequest, POOL, Question, RequestState, cut};
use crate::core::rerank::sketch::body;
use crate::core::text::redact::redact;
use crate::model::client::Client;
use crate::model::error::ModelError;
use crate::model::run::{Deadline, Run};
use crate::model::settings::Settings;

/// Characters of a file and of its path that are sent; as in the reference implementation, for a
/// window of 512 tokens.
const EXCERPT_CHARS: usize = 1_000;
const PATH_CHARS: usize = 240;
/// Longest task. A longer one would push the file out of the window, so it is an error and is not
/// truncated.
const TASK_CHARS: usize = 500;
const KEY: &str = "relevant";

/// Ranks the shortlist.
///
/// # Errors
/// A task that is too long, any failed request, a deadline that passed before the first answer.
/// Cost: about two seconds a file on a CPU.
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
    let (task, _) = redact(checked_task(task)?);
    let run = Run::new(1, deadline);
    let mut verdicts = Vec::new();
    let (mut redacted, mut model, mut partial) = (0, None, false);
    let shortlist = &project.first_stage[..project.first_stage.len().min(POOL)];
    for (n, &document) in shortlist.iter().enumerate() {
        let (ask, hidden) = request(&task, project, document);
        match client.ask(&run, &ask) {
            Ok(answer) => {
                verdicts.push((document, answer.yes.get(KEY).copied().unwrap_or(0.0)));
                model = answer.model.or(model);
            }
            Err(ModelError::OutOfTime) if !verdicts.is_empty() => {
                partial = true;
                break;
            }
            Err(error) => return Err(error),
        }
        redacted += hidden;
        progress(n + 1, shortlist.len());
    }
    let elapsed = milliseconds(started.elapsed());
    Ok(Reranked {
        scored: verdicts.len(),
        files: fuse(&with_the_rest(verdicts, shortlist), project.first_stage),
        model: model.unwrap_or_else(|| settings.endpoint.model.clone()),
        tally: run.tally(),
        failed_batches: 0,
        cost: Some(0.0),
        partial,
        redacted,
        warnings: warnings(partial, redacted),
        sketch_ms: 0,
        source_ms: elapsed,
        compare_ms: 0,
        total_ms: elapsed,
    })
}

/// # Errors
/// More characters than the model's window holds.
fn checked_task(task: &str) -> Result<&str, ModelError> {
    let task = task.trim();
    let length = task.chars().count();
    if length > TASK_CHARS {
        return Err(ModelError::Setting(format!(
            "provider laya takes tasks of up to {TASK_CHARS} characters, but this one has {length}: shorten it, or \
             use --provider keywords"
        )));
    }
    Ok(task)
}

/// Files without a verdict at the deadline keep their keyword rank, with a relevance of zero.
fn with_the_rest(mut verdicts: Vec<(usize, f64)>, shortlist: &[usize]) -> Vec<(usize, f64)> {
    let judged = verdicts.len();
    verdicts.extend(shortlist[judged..].iter().map(|&document| (document, 0.0)));
    verdicts
}

fn warnings(partial: bool, redacted: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    if partial {
        warnings.push("the deadline came before the last answer: verdicts so far".to_owned());
    }
    if redacted > 0 {
        warnings.push(format!("{redacted} credentials were replaced before anything was sent"));
    }
    warnings
}

/// One file, one question.
pub(super) fn request(
    task: &str,
    project: &RankedFiles<'_>,
    document: usize,
) -> (ModelRequest, usize) {
    let path = project.paths[document];
    let mut source = Vec::new();
    (project.read)(document, &mut source);
    let shown = body(path, &source, EXCERPT_CHARS);
    let state = RequestState::Text(format!("File: {}\n{}", cut(path, PATH_CHARS), shown.text));
    let statement =
        format!("This source file is relevant to implementing the following coding task: {task}");
    let questions = vec![(KEY.to_owned(), Question::statement(statement))];
    (ModelRequest { state, questions }, shown.redacted)
}
