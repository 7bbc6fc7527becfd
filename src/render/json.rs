//! A [`Pack`] as JSON: the shape of the reference implementation plus our own fields. The names are
//! a public format.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::config::Provider;
use crate::core::rerank::request::Estimate;
use crate::pack::{Pack, Pick};
use crate::rerank::jev::Reranked;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PackJson<'a> {
    root: String,
    provider: &'a str,
    model: Option<&'a str>,
    result: ResultJson<'a>,
    /// Files that were ranked.
    scored: usize,
    collect_ms: f64,
    total_ms: f64,
    calls: u64,
    failed_calls: u64,
    input_tokens: Option<u64>,
    cost_usd: Option<f64>,
    /// Number of credentials redacted before sending; absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    redacted: Option<usize>,
    /// Whether a deadline cut verdicts short; absent without a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    snippets: Vec<SnippetJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultJson<'a> {
    task: &'a str,
    files: Vec<FileJson<'a>>,
    candidates: usize,
    pass1_ms: f64,
    pass2_ms: f64,
    stage3_ms: f64,
    total_ms: f64,
    failed_batches: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileJson<'a> {
    path: &'a str,
    /// Probability by a decision model; null without one.
    relevance: Option<f64>,
    score: f64,
    /// Rank in the local ranking, from 1; null without any evidence there.
    bm25_rank: Option<usize>,
    is_test: bool,
    /// Share in the comparison of the best files.
    #[serde(skip_serializing_if = "Option::is_none")]
    choice: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_confidence: Option<f64>,
    matches: Vec<WordJson<'a>>,
    reasons: ReasonsJson<'a>,
}

#[derive(Serialize)]
struct WordJson<'a> {
    word: &'a str,
    count: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReasonsJson<'a> {
    text_rank: Option<usize>,
    path_rank: Option<usize>,
    history_rank: Option<usize>,
    identifier_rank: Option<usize>,
    /// The task names the file.
    is_mentioned: bool,
    commits_since_change: Option<u32>,
    commits: u32,
    changes_with: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SnippetJson<'a> {
    path: &'a str,
    start_line: usize,
    end_line: usize,
    text: String,
}

/// JSON Schema of [`pack()`] and [`structured`].
pub const PACK_SCHEMA: &str = include_str!("pack.schema.json");

/// Pretty JSON, with a line break at the end.
///
/// # Errors
/// None in practice: every value here has a JSON form.
pub fn pack(pack: &Pack, task: &str, root: &Path) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&json(pack, task, root))? + "\n")
}

/// The same on one line, for use inside another document.
///
/// # Errors
/// As for [`pack()`].
pub fn structured(pack: &Pack, task: &str, root: &Path) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&json(pack, task, root))
}

fn json<'a>(pack: &'a Pack, task: &'a str, root: &Path) -> PackJson<'a> {
    let run = pack.decided.as_ref().map(|decided| &decided.reranked);
    let took = |ms: fn(&Reranked) -> u64| run.map_or(0.0, |run| ms(run) as f64);
    PackJson {
        root: root.to_string_lossy().into_owned(),
        provider: pack.decided.as_ref().map_or(Provider::Keywords, |d| d.provider).name(),
        model: run.map(|run| run.model.as_str()),
        result: ResultJson {
            task,
            files: pack.files.iter().map(file).collect(),
            candidates: pack.n_candidates,
            pass1_ms: took(|run| run.sketch_ms),
            pass2_ms: took(|run| run.source_ms),
            stage3_ms: took(|run| run.compare_ms),
            total_ms: ms(pack.total.saturating_sub(pack.collect)),
            failed_batches: run.map_or(0, |run| run.failed_batches),
        },
        scored: run.map_or(pack.n_candidates, |run| run.scored),
        collect_ms: ms(pack.collect),
        total_ms: ms(pack.total),
        calls: run.map_or(0, |run| run.tally.calls),
        failed_calls: run.map_or(0, |run| run.tally.failed_calls),
        input_tokens: run.map_or(Some(0), |run| run.tally.input_tokens),
        cost_usd: run.map_or(Some(0.0), |run| run.cost),
        redacted: run.map(|run| run.redacted),
        partial: run.map(|run| run.partial),
        warnings: warnings(pack),
        snippets: snippets(pack),
    }
}

fn warnings(pack: &Pack) -> Vec<String> {
    let of_model =
        pack.decided.iter().flat_map(|decided| decided.reranked.warnings.iter().cloned());
    pack.warnings.iter().map(ToString::to_string).chain(of_model).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EstimateJson {
    provider: &'static str,
    files: usize,
    requests: usize,
    input_tokens: u64,
    cost_usd: f64,
}

/// An estimate as pretty JSON, with a line break at the end.
///
/// # Errors
/// None in practice: every value here has a JSON form.
pub fn estimate(provider: Provider, estimate: &Estimate) -> serde_json::Result<String> {
    let json = EstimateJson {
        provider: provider.name(),
        files: estimate.files,
        requests: estimate.requests,
        input_tokens: estimate.input_tokens,
        cost_usd: estimate.dollars,
    };
    Ok(serde_json::to_string_pretty(&json)? + "\n")
}

fn file(pick: &Pick) -> FileJson<'_> {
    let reasons = &pick.reasons;
    let judged = pick.judged.as_ref();
    let role = judged.and_then(|judged| judged.role);
    FileJson {
        path: &pick.path,
        relevance: judged.map(|judged| judged.relevance),
        score: pick.score,
        bm25_rank: pick.keyword_rank,
        is_test: pick.is_test,
        choice: judged.and_then(|judged| judged.choice),
        role: role.map(|(role, _)| role.name()),
        role_confidence: role.map(|(_, p)| p),
        matches: pick.words.iter().map(|(word, count)| WordJson { word, count: *count }).collect(),
        reasons: ReasonsJson {
            text_rank: reasons.body_rank,
            path_rank: reasons.path_rank,
            history_rank: reasons.history_rank,
            identifier_rank: reasons.identifier_rank,
            is_mentioned: reasons.is_mentioned,
            commits_since_change: reasons.last_touched,
            commits: reasons.touched,
            changes_with: pick.changes_with.as_deref(),
        },
    }
}

fn snippets(pack: &Pack) -> Vec<SnippetJson<'_>> {
    let windows = pack.snippets.iter().flat_map(|s| s.windows.iter().map(move |w| (&s.path, w)));
    windows
        .map(|(path, window)| SnippetJson {
            path,
            start_line: window.first_line,
            end_line: window.first_line + window.lines.len() - 1,
            text: window.lines.join("\n"),
        })
        .collect()
}

/// Milliseconds, rounded to a hundredth.
fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}
