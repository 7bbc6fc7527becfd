//! Estimates what a run would send and cost. Reads files, opens no connection.

use super::jev::{RankedFiles, dollars};
use super::laya;
use super::passes::Pass;
use crate::core::rerank::request::{
    COMPARED, Estimate, POOL, SOURCES_PER_REQUEST, TASK_CHARS, ask_tokens, cut, relevance,
};
use crate::model::settings::Depth;

/// For the hosted model. Which files the sketches will promote is unknown: they are estimated like
/// the first stage's best, and as if none of those were among them.
#[must_use]
pub fn jev(depth: &Depth, task: &str, project: &RankedFiles<'_>) -> Estimate {
    let task = cut(task.trim(), TASK_CHARS);
    let sketched: Vec<usize> = project.by_rank().take(depth.sketch_files).collect();
    let (sketch_requests, sketch_tokens) = requests(task, project, Pass::Sketch, &sketched);
    let early: Vec<usize> = project.first_stage.iter().copied().take(POOL).collect();
    let (_, early_tokens) = requests(task, project, Pass::Source, &early);
    let per_file = early_tokens.div_ceil(early.len().max(1) as u64);
    // At most POOL of the sketched files can follow, and none whose source was sent early.
    let late = sketched.len().saturating_sub(early.len()).min(POOL);
    let source_requests =
        early.len().div_ceil(SOURCES_PER_REQUEST) + late.div_ceil(SOURCES_PER_REQUEST);
    let best = COMPARED.min(early.len() + late);
    let steps = usize::from(depth.compare && best > 1) + usize::from(depth.roles && best > 0);
    let input_tokens =
        sketch_tokens + early_tokens + per_file * (late as u64 + (steps * best) as u64);
    Estimate {
        files: sketched.len().max(early.len()),
        requests: sketch_requests + source_requests + steps,
        input_tokens,
        dollars: dollars(input_tokens),
    }
}

/// For the model on this machine: one request per file of the shortlist, no price.
#[must_use]
pub fn laya(task: &str, project: &RankedFiles<'_>) -> Estimate {
    let shortlist = &project.first_stage[..project.first_stage.len().min(POOL)];
    let tokens = |&document: &usize| ask_tokens(&laya::request(task, project, document).0);
    Estimate {
        files: shortlist.len(),
        requests: shortlist.len(),
        input_tokens: shortlist.iter().map(tokens).sum(),
        dollars: 0.0,
    }
}

/// Requests and tokens of one pass.
fn requests(task: &str, project: &RankedFiles<'_>, pass: Pass, files: &[usize]) -> (usize, u64) {
    let mut source = Vec::new();
    let mut text = |&document: &usize| {
        (project.read)(document, &mut source);
        pass.show(project.paths[document], &source).text
    };
    let mut tokens =
        |files: &[usize]| ask_tokens(&relevance(task, files.iter().map(&mut text).collect()));
    let requests = files.chunks(pass.files_per_request());
    (requests.len(), requests.map(&mut tokens).sum())
}
