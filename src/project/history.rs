//! The project's past from `git log`: subjects and the files they touched.
//!
//! The process is started before the files are read and asked for its answer afterwards, so that the two
//! run side by side. No git, no history: a warning, never an error.

use std::collections::HashSet;
use std::io;
use std::process::Output;
use std::thread::JoinHandle;

use super::root::Root;
use super::{Warning, git};
use crate::core::search::corpus::Document;
use crate::core::search::history::{Commit, History, MAX_COMMITS};

/// Stands before each commit in git's output; a file name cannot reasonably start with it.
const COMMIT_MARK: u8 = 1;

/// The command that [`entries`] reads the output of.
pub(crate) const LOG: [&str; 10] = [
    "log",
    "-z",
    "--no-merges",
    "--no-renames",
    "--no-ext-diff",
    "--no-show-signature",
    "--no-color",
    "--relative",
    "--name-only",
    "--format=%x01%H %s",
];

/// The flag that says how many commits are looked at.
pub(crate) fn max_count() -> String {
    format!("--max-count={MAX_COMMITS}")
}

/// A `git log` under way.
pub struct Log {
    /// Reads the pipe, so that git never waits for us; `None` outside git.
    reader: Option<JoinHandle<io::Result<Output>>>,
    shallow: HashSet<Vec<u8>>,
}

/// Starts reading the past of a project.
#[must_use]
pub fn start(root: &Root) -> Log {
    let Some(top) = &root.git_top else { return Log { reader: None, shallow: HashSet::new() } };
    let mut git = git::command(&root.path, &[&LOG[..], &[&max_count()]].concat());
    let reader = std::thread::spawn(move || git.output());
    Log { reader: Some(reader), shallow: shallow_commits(top) }
}

/// Where a shallow clone was cut: full commit ids.
pub(crate) fn shallow_commits(git_top: &std::path::Path) -> HashSet<Vec<u8>> {
    let Some((_, common)) = git::folders(git_top) else { return HashSet::new() };
    let text = std::fs::read(common.join("shallow")).unwrap_or_default();
    text.split(|&b| b == b'\n').filter(|id| !id.is_empty()).map(<[u8]>::to_vec).collect()
}

impl Log {
    /// Waits for git and reads its answer against the documents (sorted by path).
    #[must_use]
    pub fn finish(self, documents: &[Document]) -> (History, Option<Warning>) {
        let Some(reader) = self.reader else { return (History::default(), None) };
        // No git program: `files` has said so already.
        let Ok(Ok(output)) = reader.join() else { return (History::default(), None) };
        let history = parse(&output.stdout, documents, &self.shallow);
        let warning = if !output.status.success() && history.commits.is_empty() {
            Some(Warning::NoCommits)
        } else if !self.shallow.is_empty() {
            Some(Warning::Shallow(history.commits.len()))
        } else {
            None
        };
        (history, warning)
    }
}

/// One commit of git's output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogCommit<'a> {
    pub(crate) id: &'a [u8],
    pub(crate) subject: &'a [u8],
    pub(crate) paths: Vec<&'a [u8]>,
}

/// Reads the output of [`LOG`].
pub(crate) fn entries(log: &[u8]) -> Vec<LogCommit<'_>> {
    let mut entries: Vec<LogCommit<'_>> = Vec::new();
    for token in log.split(|&b| b == 0) {
        if let Some((&COMMIT_MARK, commit)) = token.split_first() {
            let (id, subject) = split_once(commit, b' ');
            entries.push(LogCommit { id, subject, paths: Vec::new() });
            continue;
        }
        // A line break stands between the commit and its first file.
        let path = token.strip_prefix(b"\n").unwrap_or(token);
        if let Some(commit) = entries.last_mut().filter(|_| !path.is_empty()) {
            commit.paths.push(path);
        }
    }
    entries
}

/// Reads git's output against the documents (sorted by path).
///
/// The commits of `skip` are left out: the oldest ones of a shallow clone look as if they had created every file.
#[must_use]
pub fn parse(log: &[u8], documents: &[Document], skip: &HashSet<Vec<u8>>) -> History {
    let place = |path: &&[u8]| documents.binary_search_by(|d| d.path.as_slice().cmp(path)).ok();
    let commit = |entry: LogCommit<'_>| Commit {
        subject: entry.subject.to_vec(),
        documents: entry.paths.iter().filter_map(place).map(|at| at as u32).collect(),
        n_files: entry.paths.len(),
    };
    let kept = entries(log).into_iter().filter(|entry| !skip.contains(entry.id));
    History { commits: kept.map(commit).collect() }
}

fn split_once(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(separator, text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::search::corpus::DocumentKind;

    #[test]
    fn git_output() {
        let document =
            |path: &str| Document { path: path.into(), length: 1, kind: DocumentKind::Source };
        let documents = [document("a b.rs"), document("dir/c\n\".rs"), document("z.rs")];
        let log = b"\x01aa fix: the thing\0\na b.rs\0gone.rs\0dir/c\n\".rs\0\x01bb empty\0\x01cc root\0\nz.rs\0";
        let history = parse(log, &documents, &HashSet::new());
        let commit = |subject: &str, documents: &[u32], n_files: usize| Commit {
            subject: subject.into(),
            documents: documents.to_vec(),
            n_files,
        };
        let expected = [
            commit("fix: the thing", &[0, 1], 3),
            commit("empty", &[], 0),
            commit("root", &[2], 1),
        ];
        assert_eq!(history.commits, expected);
        let shallow = parse(log, &documents, &HashSet::from([b"cc".to_vec()]));
        assert_eq!(shallow.commits, expected[..2]);
    }
}
