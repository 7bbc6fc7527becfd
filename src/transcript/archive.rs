//! The archive: what compaction removed, in a folder that only its owner reads, for `restore`.
//!
//! One file for each compaction, written whole; a line for each result. Text that looks like a credential is never
//! written. Old files go by age and by total size.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::archive_wire;
use crate::core::hash::hash;
use crate::core::redact::holds_credential;
use crate::private;
use crate::threads;

/// Files older than this go.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// Oldest files go until the rest is below this: some 500 compactions of a full window.
const MAX_BYTES: u64 = 256 << 20;
/// Length of an id in hexadecimal digits: 48 bits tell 100,000 results apart with a chance of 2 in 100,000.
const ID_DIGITS: usize = 12;

/// A result to be kept.
#[derive(Debug, Clone, Copy)]
pub struct Removed<'a> {
    /// The tool that gave it.
    pub tool: &'a str,
    /// Its whole text.
    pub text: &'a str,
}

/// The folder of the archive inside our own.
#[must_use]
pub fn folder(ours: &Path) -> PathBuf {
    ours.join("archive")
}

/// The id of a text: the same text always has the same. `None` for text that must not be written. O(bytes).
#[must_use]
pub fn id(text: &str) -> Option<String> {
    if holds_credential(text) {
        return None;
    }
    let mut id = format!("{:016x}", hash(text));
    id.truncate(ID_DIGITS);
    Some(id)
}

/// Writes the results of one compaction, and removes what is too old or too much; the id of each that was written.
///
/// # Errors
/// Those of the file system; then nothing was written.
pub fn store(
    folder: &Path,
    removed: &[Removed<'_>],
    now: SystemTime,
) -> io::Result<Vec<Option<String>>> {
    let entries = threads::map(removed, |removed| removed.text.len(), entry);
    let entries = entries.into_iter().collect::<io::Result<Vec<_>>>()?;
    let (ids, lines): (Vec<Option<String>>, Vec<Vec<u8>>) = entries.into_iter().unzip();
    if lines.iter().all(Vec::is_empty) {
        return Ok(ids);
    }
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let name = format!("{:013}-{:016x}.jsonl", since.as_millis(), hash(&ids));
    private::write_parts(&folder.join(name), &lines)?;
    prune(folder, now);
    Ok(ids)
}

/// The id of a result and its line; neither for one that must not be written.
fn entry(&Removed { tool, text }: &Removed<'_>) -> io::Result<(Option<String>, Vec<u8>)> {
    let id = id(text);
    let line = id.as_ref().map(|id| archive_wire::line(id, tool, text)).transpose()?;
    Ok((id, line.unwrap_or_default()))
}

/// Removes files by age and total size, oldest first; a file that cannot be removed is left for next time.
fn prune(folder: &Path, now: SystemTime) {
    let mut total = 0;
    for file in files(folder).into_iter().rev() {
        let Ok(metadata) = file.metadata() else { continue };
        total += metadata.len();
        let age = metadata.modified().ok().and_then(|then| now.duration_since(then).ok());
        if total > MAX_BYTES || age.is_some_and(|age| age > MAX_AGE) {
            let _ = fs::remove_file(file);
        }
    }
}

/// The files of the archive, oldest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort_unstable();
    files
}

/// The text with this id, the newest if there are several; `None` when the archive has none. O(bytes of the archive).
#[must_use]
pub fn restore(folder: &Path, id: &str) -> Option<String> {
    files(folder).iter().rev().find_map(|file| archive_wire::text(&fs::read(file).ok()?, id))
}
