//! The past from the index: as it was kept, or extended by the commits since.
//!
//! What comes out is what `git log` says, commit for commit; where that is not certain, `git log` is asked.

use std::collections::HashMap;
use std::path::Path;
use std::thread::JoinHandle;

use super::format::{Paths, hash};
use super::stamp;
use super::tables::{CachedCommit, CachedHistory};
use crate::core::search::corpus::Document;
use crate::core::search::history::{Commit, History};
use crate::project::files::Extensions;
use crate::project::history::{self, LOG, Log, LogCommit};
use crate::project::root::Root;
use crate::project::{Warning, git};

/// Beyond so many new commits the whole log is read: naming them one by one is no cheaper.
const MAX_MISSING: usize = 1_000;

/// What commits depend on beside their ids: where the clone is cut, and replaced commits.
pub(super) fn guard(git_top: &Path) -> u64 {
    let Some((_, common)) = git::folders(git_top) else { return 0 };
    let read = |name: &str| std::fs::read(common.join(name)).unwrap_or_default();
    let replaced = stamp::fingerprint_at(&common.join("refs/replace"));
    hash(hash(replaced, &read("shallow")), &read("info/grafts"))
}

/// Reads the newest commits from `head`; what is in `known` already is not read again. `None` when git fails.
pub(super) fn read(
    root: &Root,
    head: &[u8],
    known: Option<&CachedHistory>,
    extensions: &Extensions,
) -> Option<CachedHistory> {
    let top = root.git_top.as_ref()?;
    let guard = guard(top);
    let skip = history::shallow_commits(top);
    let known = known.filter(|past| past.guard == guard);
    let commits = match known.and_then(|past| extended(root, head, past)) {
        Some(commits) => commits,
        None => {
            let head = String::from_utf8_lossy(head);
            let log =
                git::output(&root.path, &[&LOG[..], &[&history::max_count(), &head]].concat())?;
            history::entries(&log).iter().map(OwnedCommit::of).collect()
        }
    };
    let kept: Vec<OwnedCommit> =
        commits.into_iter().filter(|commit| !skip.contains(&commit.id)).collect();
    // Ids are kept without their lengths.
    let is_one_kind = kept.iter().all(|commit| commit.id.len() == head.len());
    is_one_kind.then(|| collect(head, guard, &kept, extensions))
}

/// A commit with its paths spelled out.
#[derive(Clone)]
struct OwnedCommit {
    id: Vec<u8>,
    subject: Vec<u8>,
    n_files: u64,
    paths: Vec<Vec<u8>>,
}

impl OwnedCommit {
    fn of(entry: &LogCommit<'_>) -> OwnedCommit {
        OwnedCommit {
            id: entry.id.to_vec(),
            subject: entry.subject.to_vec(),
            n_files: entry.paths.len() as u64,
            paths: entry.paths.iter().map(|path| path.to_vec()).collect(),
        }
    }
}

/// The ids in git's order, and the commits that are not known from git.
fn extended(root: &Root, head: &[u8], past: &CachedHistory) -> Option<Vec<OwnedCommit>> {
    let head = String::from_utf8_lossy(head);
    let list = git::output(&root.path, &["rev-list", "--no-merges", &history::max_count(), &head])?;
    let ids: Vec<&[u8]> = list.split(|&b| b == b'\n').filter(|id| !id.is_empty()).collect();
    let known: HashMap<&[u8], &CachedCommit> = past.with_ids().collect();
    let missing: Vec<String> = ids
        .iter()
        .filter(|id| !known.contains_key(*id))
        .map(|id| String::from_utf8_lossy(id).into_owned())
        .collect();
    if missing.len() > MAX_MISSING {
        return None;
    }
    let log = match missing.is_empty() {
        true => Vec::new(),
        false => {
            let names = missing.iter().map(String::as_str);
            let args: Vec<&str> =
                LOG.iter().copied().chain(["--no-walk=unsorted"]).chain(names).collect();
            git::output(&root.path, &args)?
        }
    };
    let new: HashMap<&[u8], OwnedCommit> =
        history::entries(&log).iter().map(|entry| (entry.id, OwnedCommit::of(entry))).collect();
    let loose = |id: &&[u8]| match known.get(*id) {
        Some(commit) => Some(loosen(id, commit, past)),
        None => new.get(*id).cloned(),
    };
    ids.iter().map(loose).collect()
}

fn loosen(id: &[u8], commit: &CachedCommit, past: &CachedHistory) -> OwnedCommit {
    OwnedCommit {
        id: id.to_vec(),
        subject: commit.subject.clone(),
        n_files: commit.n_files,
        paths: commit.paths.iter().map(|&at| past.paths.get(at as usize).to_vec()).collect(),
    }
}

/// Names every path once. Only source files can ever be documents.
fn collect(
    head: &[u8],
    guard: u64,
    commits: &[OwnedCommit],
    extensions: &Extensions,
) -> CachedHistory {
    let is_source = |path: &&Vec<u8>| extensions.contain(path);
    let mut all: Vec<&[u8]> =
        commits.iter().flat_map(|c| &c.paths).filter(is_source).map(Vec::as_slice).collect();
    all.sort_unstable();
    all.dedup();
    let paths = Paths::of(all);
    let ids = commits.iter().flat_map(|commit| &commit.id).copied().collect();
    let commits = commits
        .iter()
        .map(|commit| CachedCommit {
            subject: commit.subject.clone(),
            n_files: commit.n_files,
            paths: commit.paths.iter().filter_map(|p| paths.find(p)).map(|at| at as u32).collect(),
        })
        .collect();
    CachedHistory { head: head.to_vec(), guard, paths, ids, commits }
}

/// The past, known or under way.
pub(super) enum Pending {
    /// Outside git.
    None,
    /// As it was kept.
    Kept,
    /// Being extended.
    Extending(JoinHandle<Option<CachedHistory>>),
    /// Read by `git log` as without an index.
    Whole(Log),
}

/// Starts finding out the past. `past`: kept under the settings git has now.
pub(super) fn start(
    root: &Root,
    past: Option<&CachedHistory>,
    extensions: &Extensions,
) -> Option<Pending> {
    let Some(top) = &root.git_top else { return Some(Pending::None) };
    let head = git::head(top)?;
    let Some(past) = past.filter(|past| past.guard == guard(top)) else {
        return Some(Pending::Whole(history::start(root)));
    };
    if past.head == head {
        return Some(Pending::Kept);
    }
    // The thread outlives no borrow: it takes a copy, which costs less than the processes it starts.
    let (own, old, extensions) = (root.clone(), past.clone(), extensions.clone());
    let work = move || read(&own, &head, Some(&old), &extensions);
    let thread = std::thread::spawn(work);
    Some(Pending::Extending(thread))
}

impl Pending {
    /// Is it other than what the index has?
    pub(super) fn is_stale(&self) -> bool {
        matches!(self, Pending::Extending(_) | Pending::Whole(_))
    }

    /// Waits, and reads the past against the documents (sorted by path).
    pub(super) fn finish(
        self,
        kept: Option<CachedHistory>,
        documents: &[Document],
        root: &Root,
    ) -> (History, Option<Warning>) {
        let past = match self {
            Pending::None => return (History::default(), None),
            Pending::Whole(log) => return log.finish(documents),
            Pending::Kept => return cut(resolve(kept, documents), root),
            Pending::Extending(thread) => thread.join().ok().flatten(),
        };
        match past {
            Some(past) => cut(resolve(Some(past), documents), root),
            None => history::start(root).finish(documents),
        }
    }
}

/// The warning of a shallow clone, as `history` gives it.
fn cut(history: History, root: &Root) -> (History, Option<Warning>) {
    let is_shallow =
        root.git_top.as_ref().is_some_and(|top| !history::shallow_commits(top).is_empty());
    let warning = is_shallow.then_some(Warning::Shallow(history.commits.len()));
    (history, warning)
}

/// Paths to documents: both are sorted, so one pass over both.
fn resolve(past: Option<CachedHistory>, documents: &[Document]) -> History {
    let Some(past) = past else { return History::default() };
    let mut at = 0;
    let places: Vec<Option<u32>> = past
        .paths
        .iter()
        .map(|path| {
            at += documents[at..].iter().take_while(|d| d.path.as_slice() < path).count();
            documents.get(at).filter(|d| d.path == path).map(|_| at as u32)
        })
        .collect();
    // What a commit has is taken over as it is, not copied.
    let commit = |commit: CachedCommit| Commit {
        subject: commit.subject,
        documents: commit.paths.into_iter().filter_map(|path| places[path as usize]).collect(),
        n_files: commit.n_files as usize,
    };
    History { commits: past.commits.into_iter().map(commit).collect() }
}
