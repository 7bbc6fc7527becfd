//! What a run would send and cost, before anything is sent. Reads files, opens no connection.

use crate::core::question::{
    Ask, COMPARED, Estimate, POOL, SKETCHES_PER_REQUEST, SOURCE_CHARS, SOURCES_PER_REQUEST,
    TASK_CHARS, ask_tokens, cut, relevance,
};
use crate::core::sketch::{excerpt, sketch};
use crate::model::laya;
use crate::model::pack::{Project, dollars};
use crate::model::settings::Depth;

/// For the hosted model. The files that the sketches will bring up are not known: they count as the first stage's
/// best do, and as if none were among those.
#[must_use]
pub fn jev(depth: &Depth, task: &str, project: &Project<'_>) -> Estimate {
    let task = cut(task.trim(), TASK_CHARS);
    let sketched: Vec<usize> = project.by_rank().take(depth.sketch_files).collect();
    let sketch_text = |&d: &usize| sketch(project.paths[d], &project.bytes(d)).text;
    let (sketch_requests, sketch_tokens) =
        pass(task, &sketched, SKETCHES_PER_REQUEST, &sketch_text);
    let early: Vec<usize> = project.first_stage.iter().copied().take(POOL).collect();
    let source_text = |&d: &usize| excerpt(project.paths[d], &project.bytes(d), SOURCE_CHARS).text;
    let (_, early_tokens) = pass(task, &early, SOURCES_PER_REQUEST, &source_text);
    let per_file = early_tokens.div_ceil(early.len().max(1) as u64);
    // Not more than POOL of the sketched files can follow, and none that started early.
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
pub fn laya(task: &str, project: &Project<'_>) -> Estimate {
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
fn pass(
    task: &str,
    files: &[usize],
    per_request: usize,
    text: &dyn Fn(&usize) -> String,
) -> (usize, u64) {
    let tokens = |files: &[usize]| {
        let texts: Vec<String> = files.iter().map(text).collect();
        let ask: Ask = relevance(task, &texts);
        ask_tokens(&ask)
    };
    let requests = files.chunks(per_request);
    (requests.len(), requests.map(tokens).sum())
}
