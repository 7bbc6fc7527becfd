//! Files that a task names: paths, file names, frames of stack traces.
//!
//! A task's text in, the names in it out ([`extract`]); names and documents in, how sure each document is meant out
//! ([`score`]). Names that no document bears cost nothing.

use std::collections::HashMap;

use super::bm25::idf;
use super::corpus::Document;

/// Names looked for in one task. A pasted stack trace has some dozens of frames, and the first say most.
const MAX_MENTIONS: usize = 64;

/// Longest extension of a name without a folder: `svelte`, `gradle`, `graphql`.
const MAX_EXTENSION_CHARS: usize = 7;

/// What stands around a name: brackets, quotes, and the `:` before a line number.
const AROUND: &[char] =
    &['`', '\'', '"', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', ':', '@', '='];

/// The names in a task, lower-case, each once: what holds a `/` or ends like a file.
#[must_use]
pub(crate) fn extract(task: &str) -> Vec<Vec<u8>> {
    let mut mentions: Vec<Vec<u8>> = Vec::new();
    for token in task.split(|c: char| c.is_whitespace() || AROUND.contains(&c)) {
        let token = token.trim_start_matches("./").trim_end_matches(['.', '!', '?']);
        if !(token.contains('/') && !token.contains("//") || is_file_name(token)) {
            continue;
        }
        let name = token.replace('\\', "/").to_ascii_lowercase().into_bytes();
        if mentions.len() < MAX_MENTIONS && !mentions.contains(&name) {
            mentions.push(name);
        }
    }
    mentions
}

/// `router.ts`, but neither `e.g`, `2.0` nor a sentence's end.
fn is_file_name(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(name, extension)| {
        name.len() > 1
            && (1..=MAX_EXTENSION_CHARS).contains(&extension.len())
            && extension.starts_with(|c: char| c.is_ascii_alphabetic())
            && extension.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

/// How sure it is that the task means each document: the idf of the names it bears; few documents, few bearers.
///
/// A name with a folder is borne by the documents that share most of its end, and at least its folder; a frame's
/// `/home/me/app/src/a.rs` means `src/a.rs`. O(documents × folders + mentions).
pub(crate) fn score(mentions: &[Vec<u8>], documents: &[Document]) -> Vec<f64> {
    let mut scores = vec![0.0; documents.len()];
    if mentions.is_empty() {
        return scores;
    }
    let mut by_name: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (at, mention) in mentions.iter().enumerate() {
        by_name.entry(last_part(mention)).or_default().push(at);
    }
    // Per mention: the most parts that any document shares with it, and those that do.
    let mut bearers: Vec<(usize, Vec<usize>)> = vec![(0, Vec::new()); mentions.len()];
    for (d, document) in documents.iter().enumerate() {
        let path = document.path.to_ascii_lowercase();
        let name = last_part(&path);
        // `hono/router` may stand for `hono/router.ts`.
        let stem = name.iter().rposition(|&b| b == b'.').map_or(name, |dot| &name[..dot]);
        let whole = by_name.get(name).into_iter().flatten().map(|&at| (at, false));
        let bare = by_name.get(stem).into_iter().flatten().map(|&at| (at, true));
        for (at, is_bare) in whole.chain(bare) {
            let shared = shared_parts(&mentions[at], &path, name.len() - stem.len(), is_bare);
            let (most, documents) = &mut bearers[at];
            if shared > *most {
                (*most, *documents) = (shared, Vec::new());
            }
            if shared > 0 && shared == *most {
                documents.push(d);
            }
        }
    }
    for (_, bearers) in bearers {
        let weight = idf(documents.len(), bearers.len());
        bearers.into_iter().for_each(|d| scores[d] += weight);
    }
    scores
}

fn last_part(path: &[u8]) -> &[u8] {
    path.rsplit(|&b| b == b'/').next().unwrap_or(path)
}

/// The parts that a name and a path have in common at their ends; 0 when that is too little to mean the file.
fn shared_parts(mention: &[u8], path: &[u8], extension: usize, is_bare: bool) -> usize {
    let path = if is_bare { &path[..path.len() - extension] } else { path };
    let parts = |text: &[u8]| text.split(|&b| b == b'/').count();
    let pairs = mention.rsplit(|&b| b == b'/').zip(path.rsplit(|&b| b == b'/'));
    let shared = pairs.take_while(|(a, b)| a == b).count();
    let enough = parts(mention).min(parts(path)).min(2);
    // A bare word without a folder is a word, not a file.
    if shared < enough || is_bare && shared < 2 { 0 } else { shared }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::corpus::DocumentKind;

    #[test]
    fn names_in_a_task() {
        let check = |task: &str, expected: &[&str]| {
            let found: Vec<String> =
                extract(task).into_iter().map(|m| String::from_utf8(m).unwrap()).collect();
            assert_eq!(found, expected, "{task}");
        };
        check("fix @src/App.tsx and ./lib/a.rs:12:5.", &["src/app.tsx", "lib/a.rs"]);
        check("File \".../requests/api.py\", line 107", &[".../requests/api.py"]);
        check("see https://example.org/a, e.g. 2.0 or v1.2 (setup.py)", &["setup.py"]);
        check("nothing here. At all", &[]);
    }

    #[test]
    fn documents_that_are_meant() {
        let paths =
            ["a/api.py", "gin.go", "lib/router/index.js", "requests/api.py", "src/router.ts"];
        let document =
            |path: &&str| Document { path: (*path).into(), length: 1, kind: DocumentKind::Source };
        let documents: Vec<Document> = paths.iter().map(document).collect();
        let check = |task: &str, expected: &[&str]| {
            let scores = score(&extract(task), &documents);
            let found = (0..paths.len()).filter(|&d| scores[d] > 0.0).map(|d| paths[d]);
            assert_eq!(found.collect::<Vec<_>>(), expected, "{task}");
        };
        check("api.py", &["a/api.py", "requests/api.py"]);
        check(".../requests/api.py", &["requests/api.py"]);
        check("/home/me/gin.go:12", &["gin.go"]);
        check("node_modules/express/index.js", &[]);
        check("src/router", &["src/router.ts"]);
        check("router", &[]);
    }
}
