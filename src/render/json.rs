//! A [`Pack`] as JSON: the seed's shape and our extra fields. The names here are a public format.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::pack::{Pack, Pick};

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
    calls: u32,
    failed_calls: u32,
    input_tokens: Option<u64>,
    cost_usd: Option<f64>,
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
    failed_batches: u32,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FileJson<'a> {
    path: &'a str,
    /// Probability by a decision model; null without one.
    relevance: Option<f64>,
    score: f64,
    /// Place by the local ranking, from 1.
    bm25_rank: usize,
    is_test: bool,
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

/// The same on one line, to stand inside another document.
///
/// # Errors
/// As for [`pack()`].
pub fn structured(pack: &Pack, task: &str, root: &Path) -> serde_json::Result<Box<RawValue>> {
    to_raw_value(&json(pack, task, root))
}

fn json<'a>(pack: &'a Pack, task: &'a str, root: &Path) -> PackJson<'a> {
    PackJson {
        root: root.to_string_lossy().into_owned(),
        provider: "keywords",
        model: None,
        result: ResultJson {
            task,
            files: (1..).zip(&pack.files).map(|(place, pick)| file(place, pick)).collect(),
            candidates: pack.n_candidates,
            pass1_ms: 0.0,
            pass2_ms: 0.0,
            stage3_ms: 0.0,
            total_ms: ms(pack.total.saturating_sub(pack.collect)),
            failed_batches: 0,
        },
        scored: pack.n_candidates,
        collect_ms: ms(pack.collect),
        total_ms: ms(pack.total),
        calls: 0,
        failed_calls: 0,
        input_tokens: Some(0),
        cost_usd: Some(0.0),
        warnings: pack.warnings.iter().map(ToString::to_string).collect(),
        snippets: snippets(pack),
    }
}

fn file(place: usize, pick: &Pick) -> FileJson<'_> {
    let reasons = &pick.reasons;
    FileJson {
        path: &pick.path,
        relevance: None,
        score: pick.score,
        bm25_rank: place,
        is_test: pick.is_test,
        matches: pick.words.iter().map(|(word, count)| WordJson { word, count: *count }).collect(),
        reasons: ReasonsJson {
            text_rank: reasons.body_rank,
            path_rank: reasons.path_rank,
            history_rank: reasons.history_rank,
            identifier_rank: reasons.identifier_rank,
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

/// Milliseconds to a hundredth.
fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e5).round() / 100.0
}
