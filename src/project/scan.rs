//! Reads the files once and counts what a query asks for: the way without an index.
//!
//! Relative paths in, a [`Corpus`] out. Two or more threads share one cursor; the result does not depend on which
//! thread read what.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Warning;
use super::files::{full_path, relative_root};
use crate::core::search::corpus::{Corpus, Counts, DocumentKind};
use crate::core::search::matcher::{Matcher, Scratch};
use crate::core::search::query::Query;
use crate::threads;

/// Largest file that is ranked. The seed's 100 kB lost 28 of 310 needed files of prometheus.
pub const MAX_FILE_BYTES: u64 = 1_000_000;

/// Below this many files one thread has read them before `git log`, which runs beside it, has ended (20 µs a file against
/// 60 to 100 ms); a second thread would only take the processor from git.
const THREADED_FROM: usize = 2_000;

/// Files a thread takes at a time: enough to keep the cursor cool, few enough to end together.
pub(crate) const STRIDE: usize = 16;

/// One file of the project, or why there is none.
pub enum Reading {
    /// Its bytes are in the buffer. What it was when it was opened.
    Read(Metadata),
    /// Gone, a folder, a link, a pipe: not a file to rank, and nobody needs to know.
    NotAFile,
    /// Over the limit.
    TooLarge(Metadata),
    /// It is there but cannot be read.
    Unreadable,
}

/// Links are not followed: one could leave the root. A pipe does not block.
const OPENED_HOW: i32 = libc::O_NOFOLLOW | libc::O_NONBLOCK;

/// Reads a file into a buffer. What it is, the open file is asked: nothing can take its place in between.
pub fn read(root: &Path, relative: &[u8], max_bytes: u64, buffer: &mut Vec<u8>) -> Reading {
    buffer.clear();
    let path = full_path(root, relative);
    let file = match fs::OpenOptions::new().read(true).custom_flags(OPENED_HOW).open(&path) {
        Ok(file) => file,
        Err(error) if is_no_file(&error) => return Reading::NotAFile,
        Err(_) => return Reading::Unreadable,
    };
    let metadata = match file.metadata() {
        Ok(metadata) if metadata.is_file() => metadata,
        Ok(_) => return Reading::NotAFile,
        Err(_) => return Reading::Unreadable,
    };
    let size = metadata.len();
    if size > max_bytes {
        return Reading::TooLarge(metadata);
    }
    // As many bytes as it had a moment ago: one that grows is as it was then, and no second read looks for an end.
    buffer.reserve_exact(size as usize);
    match file.take(size).read_to_end(buffer) {
        Ok(_) => Reading::Read(metadata),
        Err(_) => Reading::Unreadable,
    }
}

/// Gone, a link, or a socket.
fn is_no_file(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(error.raw_os_error(), Some(libc::ELOOP | libc::ENXIO))
}

/// What reading found; places in the list of paths, sorted.
#[derive(Default)]
pub(crate) struct ScanCounts {
    pub(crate) counts: Vec<(usize, Counts)>,
    pub(crate) too_large: Vec<usize>,
    pub(crate) unreadable: Vec<usize>,
}

/// Reads and counts every path, sorted as given.
#[must_use]
pub fn scan(
    root: &Path,
    paths: Vec<Vec<u8>>,
    query: &Query,
    max_bytes: u64,
) -> (Corpus, Vec<Warning>) {
    let found = count(root, &paths, query, max_bytes);
    let names = |places: &[usize]| places.iter().map(|&k| paths[k].as_slice()).collect();
    let warnings = warnings(names(&found.too_large), names(&found.unreadable), max_bytes);
    (collect(query, paths, found.counts), warnings)
}

/// Reads and counts, on several threads when that is worth it.
pub(crate) fn count<P: AsRef<[u8]> + Sync>(
    root: &Path,
    paths: &[P],
    query: &Query,
    max_bytes: u64,
) -> ScanCounts {
    let (matcher, root) = (Matcher::new(query), relative_root(root));
    let cursor = AtomicUsize::new(0);
    let work = || scan_share(root, paths, &matcher, max_bytes, &cursor);
    let mut found = ScanCounts::default();
    for share in threads::run_workers(n_threads(paths.len()), work) {
        found.counts.extend(share.counts);
        found.too_large.extend(share.too_large);
        found.unreadable.extend(share.unreadable);
    }
    found.counts.sort_unstable_by_key(|(at, _)| *at);
    found.too_large.sort_unstable();
    found.unreadable.sort_unstable();
    found
}

/// What a person should know about files that were not counted; both lists sorted.
pub(crate) fn warnings(too_large: Vec<&[u8]>, unreadable: Vec<&[u8]>, limit: u64) -> Vec<Warning> {
    let names = |paths: Vec<&[u8]>| -> Vec<String> {
        paths.into_iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    };
    let mut warnings = Vec::new();
    if !too_large.is_empty() {
        warnings.push(Warning::TooLarge(names(too_large), limit));
    }
    if !unreadable.is_empty() {
        warnings.push(Warning::Unreadable(names(unreadable)));
    }
    warnings
}

/// How many threads are worth starting.
pub(crate) fn n_threads(n_files: usize) -> usize {
    match n_files {
        n if n < THREADED_FROM => 1,
        _ => threads::processors(),
    }
}

fn scan_share<P: AsRef<[u8]>>(
    root: &Path,
    paths: &[P],
    matcher: &Matcher<'_>,
    max_bytes: u64,
    cursor: &AtomicUsize,
) -> ScanCounts {
    let mut found = ScanCounts::default();
    let mut scratch = Scratch::default();
    let mut buffer = Vec::new();
    loop {
        let start = cursor.fetch_add(STRIDE, Ordering::Relaxed);
        if start >= paths.len() {
            return found;
        }
        for (at, path) in paths.iter().enumerate().skip(start).take(STRIDE) {
            match read(root, path.as_ref(), max_bytes, &mut buffer) {
                Reading::Read(_) => found.counts.push((at, matcher.count(&buffer, &mut scratch))),
                Reading::TooLarge(_) => found.too_large.push(at),
                Reading::Unreadable => found.unreadable.push(at),
                Reading::NotAFile => {}
            }
        }
    }
}

fn collect(query: &Query, mut paths: Vec<Vec<u8>>, counts: Vec<(usize, Counts)>) -> Corpus {
    let mut corpus = Corpus::new(query);
    for (at, counts) in counts {
        if counts.kind != DocumentKind::Binary {
            corpus.push(std::mem::take(&mut paths[at]), &counts);
        }
    }
    corpus
}
