//! The persistent index: what a project's files hold, kept between runs, so that a run reads only what changed.
//!
//! Derived and private: a file in our cache folder that anyone may delete at any time. Whatever is wrong with it, it is
//! ignored and made again; no answer depends on whether there is one. How it is found to be true is in [`stamp`] and
//! [`freshness`]; what is in it in [`tables`] and [`postings`].

mod build;
mod format;
mod freshness;
mod history_cache;
mod listing;
mod lookup;
mod posting_buffer;
mod postings;
mod stamp;
mod store;
mod tables;
mod tree;

use std::fmt;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::core::search::corpus::Corpus;
use crate::core::search::history::History;
use crate::core::search::query::Query;
use crate::project::files::Extensions;
use crate::project::root::Root;
use crate::project::{Project, Warning};

pub use self::build::BuildReport;
pub use self::stamp::FINE_DOUBT;

/// What an index is for, beside the project.
#[derive(Debug, Clone, Copy)]
pub struct IndexScope<'a> {
    /// Which files count as source.
    pub extensions: &'a Extensions,
    /// Largest file to rank.
    pub max_file_bytes: u64,
}

impl IndexScope<'_> {
    /// What a project's index is for.
    #[must_use]
    pub fn of(project: &Project) -> IndexScope<'_> {
        let Project { extensions, max_file_bytes, .. } = project;
        IndexScope { extensions, max_file_bytes: *max_file_bytes }
    }
}

/// How an index served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IndexState {
    /// Switched off, or there is nowhere to keep one.
    #[default]
    Off,
    /// There was none that could be used.
    Missing,
    /// It served, and something changed since.
    Stale,
    /// It served and nothing changed.
    Fresh,
}

/// What is known of a project for one query; as without an index.
#[derive(Debug)]
pub struct IndexedSurvey {
    /// What the documents hold of the query.
    pub corpus: Corpus,
    /// The project's past.
    pub history: History,
    /// What could not be read.
    pub warnings: Vec<Warning>,
    /// Did anything change since the index was made?
    pub is_stale: bool,
}

/// Why there is no index.
#[derive(Debug)]
pub enum IndexError {
    /// Another process is making it.
    Busy,
    /// The project is stored in a way that cannot be watched, or has too many files.
    Unsuitable,
    /// It could not be written.
    Io(io::Error),
}

impl fmt::Display for IndexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IndexError::Busy => f.write_str("another process is making the index; try again later"),
            IndexError::Unsuitable => f.write_str(
                "this project cannot be indexed: git keeps it in an unusual way or it has too many files",
            ),
            IndexError::Io(error) => write!(f, "cannot write the index: {error}; check CONTEXT_PACKER_CACHE"),
        }
    }
}

impl std::error::Error for IndexError {}

impl From<io::Error> for IndexError {
    fn from(error: io::Error) -> IndexError {
        match error.kind() {
            io::ErrorKind::WouldBlock => IndexError::Busy,
            _ => IndexError::Io(error),
        }
    }
}

impl From<io::ErrorKind> for IndexError {
    fn from(kind: io::ErrorKind) -> IndexError {
        IndexError::from(io::Error::from(kind))
    }
}

/// The folder of all indexes in our cache folder.
#[must_use]
pub fn folder(cache: &Path) -> PathBuf {
    cache.join("index")
}

/// Surveys a project with its index. `None`: there is none that could be used.
#[must_use]
pub fn survey(
    folder: &Path,
    root: &Root,
    query: &Query,
    task: &IndexScope<'_>,
) -> Option<IndexedSurvey> {
    let place = store::place(folder, root, task);
    lookup::survey(store::open(&place)?, &place, root, query, task)
}

/// Makes or renews the index of a project, and removes old ones of others.
///
/// # Errors
/// Another process is at it, the project cannot have one, the file system says no.
pub fn build(folder: &Path, root: &Root, task: &IndexScope<'_>) -> Result<BuildReport, IndexError> {
    let place = store::place(folder, root, task);
    let lock = store::lock(&place)?;
    let report = build::build(root, task, &place, &lock)?;
    store::tidy(folder);
    Ok(report)
}

/// Projects of fewer documents are read faster than a process is started to index them.
const MIN_DOCUMENTS: usize = 50;

/// Should the index be rebuilt after this lookup?
#[must_use]
pub fn is_due(index: IndexState, n_documents: usize) -> bool {
    matches!(index, IndexState::Missing | IndexState::Stale) && n_documents >= MIN_DOCUMENTS
}

/// Starts [`build()`] in a process of its own that outlives this one, and does not wait for it.
///
/// # Errors
/// Those of starting a process.
pub fn build_later(root: &Root) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["index", "build", "--quiet", "--root"]).arg(&root.path).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // In a process that lives on, the child must be waited for.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// What there is of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// `None`: there is none, or none that can be used.
    pub found: Option<FoundIndex>,
}

/// An index that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundIndex {
    /// Its size.
    pub bytes: u64,
    /// When it was made, seconds since 1970.
    pub seconds: u64,
    /// Files in it.
    pub n_files: usize,
    /// Commits in it.
    pub n_commits: usize,
}

/// Has this project an index, usable or not? One look at the file system.
#[must_use]
pub fn exists(folder: &Path, root: &Root, task: &IndexScope<'_>) -> bool {
    store::place(folder, root, task).path.exists()
}

/// Looks at the index of a project, without comparing it with the project.
#[must_use]
pub fn status(folder: &Path, root: &Root, task: &IndexScope<'_>) -> Status {
    let place = store::place(folder, root, task);
    let found = store::open(&place).map(|index| FoundIndex {
        bytes: index.bytes,
        seconds: index.tables.seconds,
        n_files: index.tables.files.len(),
        n_commits: index.tables.past.as_ref().map_or(0, |past| past.commits.len()),
    });
    Status { path: place.path, found }
}

/// Removes the index of a project. True if there was one.
///
/// # Errors
/// Those of the file system.
pub fn clear(folder: &Path, root: &Root, task: &IndexScope<'_>) -> io::Result<bool> {
    store::remove(&store::place(folder, root, task).path)
}
