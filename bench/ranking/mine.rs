//! Tasks out of a history, by the protocol published with the first context-packer: a commit's subject is the task,
//! the files it modified are the answer, the project is seen as it stood at the parent.

use std::path::Path;
use std::sync::LazyLock;

use anyhow::Result;
use regex::{Regex, RegexBuilder};
use sha2::{Digest as _, Sha256};

use crate::clones::{self, Change, ChangedFile};

/// Source files by the published protocol. What is ranked may be more; what can be an answer is this.
pub const EXTENSIONS: &str = "kt kts java scala groovy clj cljs ts tsx js jsx mjs cjs vue svelte py rb php pl lua r jl go rs c h cc \
    cpp cxx hpp hh m mm swift zig cs fs vb dart ex exs erl hs ml mli elm sh bash zsh ps1 gradle proto graphql tf sol";

/// Largest file that can be part of an answer, in bytes.
pub const MAX_BYTES: u64 = 100_000;

/// Most files a task may have.
const MAX_FILES: usize = 5;

/// Fewest words of a task.
const MIN_WORDS: usize = 4;

/// Tasks kept of one repository: the first for tuning, the next for reporting, the rest for more tuning.
pub const SPLITS: [(&str, usize); 3] = [("dev", 10), ("test", 30), ("extra", 120)];

/// Subjects of maintenance, which nobody asks a search for.
static MAINTENANCE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let words = r"\b(bump|release|version|changelog|typo|readme|docs?|merge|revert|format|lint|ci|deps|dependabot|prettier|rename|cleanup|refactor|chore|wip)\b|update .*\.md";
    RegexBuilder::new(words).case_insensitive(true).build().ok()
});

/// What is cut from a subject: an issue tag, a conventional prefix, the number of a pull request.
static DECORATION: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let patterns = [r"^\[[A-Z]+-\d+\]:?\s*", r"^\w+(\([^)]*\))?!?:\s*", r"\s*\(#\d+\)\s*$"];
    patterns.iter().filter_map(|pattern| Regex::new(pattern).ok()).collect()
});

static TEST_NAME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(Tests?|Spec|IT)\.[^.]+$|[._](test|spec)\.[^.]+$|^test_.*\.py$").ok()
});

/// The task a subject stands for.
pub fn task(subject: &str) -> String {
    let cut = |text: String, pattern: &Regex| pattern.replace(&text, "").into_owned();
    DECORATION.iter().fold(subject.to_owned(), cut).trim().to_owned()
}

/// Has a path one of the protocol's extensions?
pub fn is_source(path: &[u8]) -> bool {
    let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
    let extension = name.iter().rposition(|&b| b == b'.').map(|dot| &name[dot + 1..]);
    extension.is_some_and(|own| EXTENSIONS.split_whitespace().any(|e| e.as_bytes() == own))
}

/// Is it a test, by the protocol's rule? Decides which files the second column leaves out, too.
pub fn is_test(path: &[u8]) -> bool {
    let path = String::from_utf8_lossy(path);
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
    let folder = folders.split('/').any(|f| f.contains("test") || f.contains("Test"));
    folder || TEST_NAME.as_ref().is_some_and(|pattern| pattern.is_match(name))
}

/// The answer a commit gives: the source files it modified.
pub fn answer(change: &Change) -> Vec<Vec<u8>> {
    let modified = |f: &&ChangedFile| is_source(&f.path) && f.status == b'M' && f.was_regular;
    change.files.iter().filter(modified).map(|f| f.path.clone()).collect()
}

/// Is a commit a task, as far as its subject and its list of files say?
fn is_task(change: &Change) -> bool {
    let answer = answer(change);
    let only_modifies = change.files.iter().filter(|f| is_source(&f.path)).count() == answer.len();
    change.parent.is_some()
        && MAINTENANCE.as_ref().is_some_and(|words| !words.is_match(&change.subject))
        && task(&change.subject).split_whitespace().count() >= MIN_WORDS
        && only_modifies
        && (1..=MAX_FILES).contains(&answer.len())
        && !answer.iter().all(|path| is_test(path))
}

/// The ids of a repository's tasks, in the protocol's order: by SHA-256 of the commit id.
pub fn mine(git_dir: &Path, head: &str) -> Result<Vec<String>> {
    let mut tasks: Vec<Change> =
        clones::all_changes(git_dir, head)?.into_iter().filter(is_task).collect();
    tasks.sort_by_cached_key(|change| Sha256::digest(change.commit.as_bytes()));
    let most: usize = SPLITS.iter().map(|(_, count)| count).sum();
    let mut kept = Vec::new();
    for change in tasks {
        if kept.len() == most {
            break;
        }
        let Some(parent) = &change.parent else { continue };
        let tree = clones::tree(git_dir, parent)?;
        let is_there = |path: &Vec<u8>| {
            tree.binary_search_by(|f| f.path.cmp(path)).is_ok_and(|at| tree[at].bytes <= MAX_BYTES)
        };
        if answer(&change).iter().all(is_there) {
            kept.push(change.commit);
        }
    }
    Ok(kept)
}
