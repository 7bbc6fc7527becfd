//! The edge to the project on disk: its root, its files, their bytes and its git history.

pub mod files;
pub mod git;
pub mod history;
pub mod root;
pub mod scan;

use std::fmt;
use std::io;
use std::path::PathBuf;

use self::files::Extensions;
use self::root::Root;

/// A project to rank, and which of its files count.
#[derive(Debug, Clone)]
pub struct Project {
    /// Its folder.
    pub root: Root,
    /// Which files count as source.
    pub extensions: Extensions,
    /// Largest file to rank.
    pub max_file_bytes: u64,
    /// The folder of indexes; without one every file is read.
    pub index: Option<PathBuf>,
}

/// Why a project cannot be ranked. Everything less is a [`Warning`].
#[derive(Debug)]
pub enum ProjectError {
    /// The root does not exist or is no folder: the caller named the wrong place.
    Root(PathBuf, io::Error),
    /// `git` started but could not list the files: the repository is damaged or not ours to read.
    GitListing(String),
}

impl fmt::Display for ProjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProjectError::Root(path, error) => {
                write!(f, "cannot read project {}: {error}; check --root", path.display())
            }
            ProjectError::GitListing(message) => {
                write!(f, "git cannot list this project's files: {message}; try `git status` there")
            }
        }
    }
}

impl std::error::Error for ProjectError {}

/// Something that makes a result poorer and that the person should know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// Not in a git repository: no history.
    NoGit,
    /// A repository, but no `git` program to read it with.
    NoGitProgram,
    /// A repository without any commit.
    NoCommits,
    /// History is cut short; this many commits could be read.
    Shallow(usize),
    /// Files over the size limit, with the limit in bytes.
    TooLarge(Vec<String>, u64),
    /// Files or folders that could not be read.
    Unreadable(Vec<String>),
    /// More files than the limit; the rest was not looked at.
    TooManyFiles(usize),
    /// Repositories inside this one, whose files are not listed here.
    Submodules(Vec<String>),
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Warning::NoGit => f.write_str("not a git repository: ranked without history"),
            Warning::NoGitProgram => f.write_str("git is not installed: ranked without history"),
            Warning::NoCommits => f.write_str("no commits yet: ranked without history"),
            Warning::Shallow(n) => {
                write!(
                    f,
                    "shallow clone: only {n} commits of history; `git fetch --unshallow` brings the rest"
                )
            }
            Warning::TooLarge(paths, limit) => {
                write!(
                    f,
                    "{} over {} kB not ranked: {}",
                    counted(paths.len()),
                    limit / 1000,
                    few(paths)
                )
            }
            Warning::Unreadable(paths) => {
                write!(f, "{} could not be read: {}", counted(paths.len()), few(paths))
            }
            Warning::TooManyFiles(limit) => {
                write!(
                    f,
                    "more than {limit} source files: the rest was not ranked; use --root on a part"
                )
            }
            Warning::Submodules(paths) => {
                write!(f, "submodules not ranked: {}; use --root on one", few(paths))
            }
        }
    }
}

/// `1 file`, `8 files`.
#[must_use]
pub fn counted(n: usize) -> String {
    if n == 1 { "1 file".to_owned() } else { format!("{n} files") }
}

/// The first three names, and how many more there are.
fn few(paths: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = paths[..paths.len().min(SHOWN)].join(", ");
    if paths.len() > SHOWN {
        text += &format!(" and {} more", paths.len() - SHOWN);
    }
    text
}
