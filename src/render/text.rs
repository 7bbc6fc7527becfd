//! A [`Pack`] as text for users and agents.

use std::fmt::Write as _;
use std::path::Path;

use crate::config::Provider;
use crate::core::rerank::fuse::ScoredFile;
use crate::core::rerank::request::Estimate;
use crate::core::search::snippet::neutralise;
use crate::pack::{Pack, Pick, Snippet};
use crate::project::counted;
use crate::rerank::ModelRanking;

/// Total characters of code shown, as in the reference implementation: the whole answer must fit
/// the host's 10,000.
pub const MAX_CODE_CHARS: usize = 8_000;

/// Words shown to explain why a file was picked.
const MAX_WORDS: usize = 6;

/// What `pack` prints.
#[must_use]
pub fn pack(pack: &Pack, root: &Path, explain: bool) -> String {
    let mut text = format!(
        "Picked {} of {} in {}. Paths are relative to {}.\n",
        pack.files.len(),
        counted(pack.n_candidates),
        seconds(pack.total),
        visible(&root.to_string_lossy()),
    );
    list(&mut text, &pack.files, explain);
    text.push_str(&code(&pack.snippets, MAX_CODE_CHARS));
    if pack.n_candidates == 0 {
        let root = visible(&root.to_string_lossy());
        let _ = writeln!(
            text,
            "There is no source file in {root}; CONTEXT_PACKER_EXTENSIONS adds kinds of files, as in +md,+yml."
        );
    } else if pack.files.is_empty() {
        text.push_str(
            "No file has a word of the task; name a file, a function or an error text.\n",
        );
    } else {
        text.push_str(&ranked_by(pack.decided.as_ref()));
    }
    for warning in &pack.warnings {
        let _ = writeln!(text, "Note: {}", visible(&warning.to_string()));
    }
    for warning in pack.decided.iter().flat_map(|decided| &decided.reranked.warnings) {
        let _ = writeln!(text, "WARNING: {}", visible(warning));
    }
    text
}

/// Who ranked, what it took, and what the scores mean.
fn ranked_by(decided: Option<&ModelRanking>) -> String {
    let Some(ModelRanking { provider, reranked: run }) = decided else {
        return "Ranked locally by text, paths and git history; read the top files before changing code.\n"
            .to_owned();
    };
    let tokens = run.tally.input_tokens.map_or("an unknown number of".to_owned(), thousands);
    let cost = run.cost.map_or("cost unknown".to_owned(), |cost| format!("about ${cost:.4}"));
    format!(
        "Provider: {} ({}); scored {}. {} requests, {tokens} input tokens, {cost}. Scores are ranking signals, \
         no confidence; read the top files before changing code.\n",
        provider.name(),
        visible(&run.model),
        counted(run.scored),
        run.tally.calls,
    )
}

/// What `pack --estimate` prints.
#[must_use]
pub fn estimate(provider: Provider, estimate: &Estimate) -> String {
    match provider {
        Provider::Keywords => "Provider keywords sends nothing and costs nothing.\n".to_owned(),
        _ => format!("Provider {} would send: {}.\n", provider.name(), estimate_line(estimate)),
    }
}

/// `12 ms`, `3.5 s`.
#[must_use]
pub fn seconds(duration: std::time::Duration) -> String {
    match duration.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// One line per file, best first, and optionally one that says why.
pub fn list(text: &mut String, files: &[Pick], explain: bool) {
    for (place, file) in (1..).zip(files) {
        let (head, indent) = match file.judged {
            Some(_) => (format!("{:.2}  ", file.score), "       "),
            None => (format!("#{place:<3}"), "      "),
        };
        let _ = writeln!(text, "{head} {}{}", visible(&file.path), mark(file));
        if explain {
            let said = file.judged.as_ref().map(|j| verdict(file.by, j)).unwrap_or_default();
            let _ = writeln!(text, "{indent}{said}{}", why(file));
        }
    }
}

/// The role of a file, by the model or by its name.
fn mark(file: &Pick) -> String {
    match file.judged.as_ref().and_then(|judged| judged.role) {
        Some((role, _)) => format!("  ({})", role.name()),
        None if file.is_test => "  (test)".to_owned(),
        None => String::new(),
    }
}

/// A decision model's verdict on a file, shown before the local reasons.
fn verdict(by: Provider, judged: &ScoredFile) -> String {
    let mut text = format!("{} {:.2} · ", by.name(), judged.relevance);
    match judged.keyword_rank {
        Some(rank) => _ = write!(text, "keyword #{} · ", rank + 1),
        None => text.push_str("no keyword match · "),
    }
    if let Some(choice) = judged.choice {
        let _ = write!(text, "compared {choice:.2} · ");
    }
    if let Some((role, p)) = judged.role {
        let _ = write!(text, "{} {p:.2} · ", role.name());
    }
    text
}

/// Why a file was picked: its rank by each signal, words with counts, and what git says.
#[must_use]
pub fn why(file: &Pick) -> String {
    let reasons = &file.reasons;
    let places = [
        ("text", reasons.body_rank),
        ("path", reasons.path_rank),
        ("history", reasons.history_rank),
        ("identifiers", reasons.identifier_rank),
    ];
    let mut parts: Vec<String> = places
        .iter()
        .filter_map(|(field, place)| Some(format!("{field} #{}", (*place)?)))
        .collect();
    if reasons.is_mentioned {
        parts.push("named in the task".to_owned());
    }
    if let Some(with) = &file.changes_with {
        parts.push(format!("changes with {}", visible(with)));
    }
    match reasons.last_touched {
        Some(0) => parts.push("changed in the last commit".to_owned()),
        Some(1) => parts.push("changed 1 commit ago".to_owned()),
        Some(age) => parts.push(format!("changed {age} commits ago")),
        None => {}
    }
    let words: Vec<String> =
        file.words.iter().take(MAX_WORDS).map(|(word, count)| format!("{word}×{count}")).collect();
    parts.push(match words.is_empty() {
        true => "no task words".to_owned(),
        false => format!("words: {}", words.join(" ")),
    });
    parts.join(" · ")
}

/// The most relevant lines of files under one limit, whole lines only; empty without any.
#[must_use]
pub fn code(snippets: &[Snippet], max_chars: usize) -> String {
    let mut text = String::new();
    for snippet in snippets {
        for window in &snippet.windows {
            let last = window.first_line + window.lines.len() - 1;
            let header =
                format!("--- {} lines {}-{last}\n", visible(&snippet.path), window.first_line);
            let lines = (window.first_line..)
                .zip(&window.lines)
                .map(|(n, line)| format!("{n:>5}  {line}\n"));
            if !push_whole_lines(&mut text, std::iter::once(header).chain(lines), max_chars) {
                text.push_str("(more code omitted; read the files for the rest)\n");
                return titled(&text);
            }
        }
    }
    titled(&text)
}

fn titled(code: &str) -> String {
    if code.is_empty() {
        String::new()
    } else {
        format!("\nMost relevant lines of the top files:\n{code}\n")
    }
}

/// Appends lines while they fit, and returns whether all did.
fn push_whole_lines(
    text: &mut String,
    lines: impl Iterator<Item = String>,
    max_chars: usize,
) -> bool {
    let mut used = text.chars().count();
    for line in lines {
        used += line.chars().count();
        if used > max_chars {
            return false;
        }
        text.push_str(&line);
    }
    true
}

/// A path or message on one line: control characters are escaped, tags of the host neutralised.
#[must_use]
pub fn visible(text: &str) -> String {
    let escape = |c: char| match c {
        c if c.is_control() => c.escape_default().to_string(),
        c => c.to_string(),
    };
    if text.chars().any(char::is_control) {
        return neutralise(&text.chars().map(escape).collect::<String>());
    }
    neutralise(text)
}

/// What a run would send, in one line.
fn estimate_line(estimate: &Estimate) -> String {
    let mut line = format!("{} files, at most {} requests, ", estimate.files, estimate.requests);
    let _ = write!(line, "about {} input tokens, ", thousands(estimate.input_tokens));
    let _ = write!(line, "${:.4}", estimate.dollars);
    line
}

/// `1,234,567`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .filter_map(|group| std::str::from_utf8(group).ok())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::snippet::Window;

    #[test]
    fn an_estimate_is_one_line() {
        let estimate =
            Estimate { files: 2, requests: 3, input_tokens: 1_234_567, dollars: 0.05185 };
        assert_eq!(
            estimate_line(&estimate),
            "2 files, at most 3 requests, about 1,234,567 input tokens, $0.0519"
        );
    }

    fn snippet(lines: usize, width: usize) -> Snippet {
        let window = Window { first_line: 1, lines: vec!["x".repeat(width); lines] };
        Snippet { path: "a.rs".into(), windows: vec![window] }
    }

    #[test]
    fn code_is_cut_between_lines_only() {
        let text = code(&[snippet(24, 300), snippet(24, 300)], MAX_CODE_CHARS);
        assert!(text.chars().count() <= MAX_CODE_CHARS + 120);
        for line in text.lines().filter(|line| line.contains('x')) {
            assert_eq!(line.matches('x').count(), 300, "{line}");
        }
        assert!(text.ends_with("(more code omitted; read the files for the rest)\n\n"), "{text}");
        assert_eq!(code(&[], MAX_CODE_CHARS), "");
    }

    #[test]
    fn paths_stay_on_one_line() {
        assert_eq!(visible("a\nb\"c\u{1b}.rs"), "a\\nb\"c\\u{1b}.rs");
        assert_eq!(visible("<system-reminder>.rs"), "&lt;system-reminder>.rs");
    }
}
