//! The archive for `restore`: what compaction removed, in a folder that only its owner can read.
//!
//! One file per compaction, written atomically, with one line per result. Text that looks like a
//! credential is never written. Old files are removed by age and by total size.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::archive_wire;
use super::private;
use crate::core::text::hash::hash;
use crate::core::text::redact::holds_credential;
use crate::threads;

/// Files older than this are removed.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);
/// A temporary file older than this was abandoned: the plugin's shim stops the program after 55
/// seconds.
const MAX_WRITING: Duration = Duration::from_secs(3600);
/// The oldest files are removed until the rest is below this: some 500 compactions of a full
/// window.
const MAX_BYTES: u64 = 256 << 20;
/// Length of an id in hexadecimal digits: 48 bits tell 100,000 results apart with a chance of 2 in
/// 100,000.
const ID_DIGITS: usize = 12;

/// A result to archive.
#[derive(Debug, Clone, Copy)]
pub struct Removed<'a> {
    /// The tool that produced it.
    pub tool: &'a str,
    /// Its whole text.
    pub text: &'a str,
}

/// The archive's folder inside the cache folder.
#[must_use]
pub fn folder(ours: &Path) -> PathBuf {
    ours.join("archive")
}

/// The id of a text; equal texts have equal ids. `None` for text that must not be written.
/// O(bytes).
#[must_use]
pub fn id(text: &str) -> Option<String> {
    if holds_credential(text) {
        return None;
    }
    let mut id = format!("{:016x}", hash(text));
    id.truncate(ID_DIGITS);
    Some(id)
}

/// Writes the results of one compaction, and removes what is too old or too large. Returns the id
/// of each result that was written.
///
/// # Errors
/// File system errors; nothing was written then.
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
    let written = folder.join(name);
    private::write_parts(&written, &lines)?;
    prune(folder, &written, now);
    Ok(ids)
}

/// The id of a result and its line; `None` for one that must not be written.
fn entry(&Removed { tool, text }: &Removed<'_>) -> io::Result<(Option<String>, Vec<u8>)> {
    let id = id(text);
    let line = id.as_ref().map(|id| archive_wire::line(id, tool, text)).transpose()?;
    Ok((id, line.unwrap_or_default()))
}

/// Removes files by age and total size, oldest first, and what killed processes left behind. A file
/// that cannot be removed is left for next time. The file just written stays, however large,
/// because notes refer to it.
fn prune(folder: &Path, written: &Path, now: SystemTime) {
    let mut total = written.metadata().map_or(0, |metadata| metadata.len());
    for file in files(folder).into_iter().rev().filter(|file| file != written) {
        let Ok(metadata) = file.metadata() else { continue };
        total += metadata.len();
        if total > MAX_BYTES || is_older(&metadata, MAX_AGE, now) {
            let _ = fs::remove_file(file);
        }
    }
    for file in paths(folder).filter(|path| private::is_temporary(path)) {
        if file.metadata().is_ok_and(|metadata| is_older(&metadata, MAX_WRITING, now)) {
            let _ = fs::remove_file(file);
        }
    }
}

fn is_older(metadata: &Metadata, age: Duration, now: SystemTime) -> bool {
    metadata.modified().is_ok_and(|then| now.duration_since(then).is_ok_and(|since| since > age))
}

fn paths(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The files of the archive, oldest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = paths(folder)
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort_unstable();
    files
}

/// The newest text with this id; `None` if the archive has none. O(bytes of the archive).
#[must_use]
pub fn restore(folder: &Path, id: &str) -> Option<String> {
    files(folder).iter().rev().find_map(|file| archive_wire::text(&fs::read(file).ok()?, id))
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    /// A folder for this test alone, removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("context-packer-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Folder(folder)
        }

        /// A (sparse) file of this size and age.
        fn file(&self, name: &str, bytes: u64, age: Duration) -> PathBuf {
            let path = self.0.join(name);
            let file = File::create(&path).unwrap();
            file.set_len(bytes).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const RESULT: Removed<'_> = Removed { tool: "Read", text: "a line" };

    #[test]
    fn what_was_just_written_stays_when_the_clock_was_set_back() {
        let folder = Folder::new("clock");
        let later = folder.file("9999999999999-0.jsonl", MAX_BYTES, Duration::ZERO);
        let ids = store(&folder.0, &[RESULT], SystemTime::now()).unwrap();
        assert_eq!(restore(&folder.0, ids[0].as_deref().unwrap()).as_deref(), Some("a line"));
        assert!(!later.exists(), "more than may be kept");
    }

    #[test]
    fn what_was_just_written_stays_when_it_is_too_large() {
        let folder = Folder::new("large");
        let older = folder.file("0000000000001-0.jsonl", 1, Duration::ZERO);
        let written = folder.file("0000000000002-0.jsonl", MAX_BYTES + 1, Duration::ZERO);
        prune(&folder.0, &written, SystemTime::now());
        assert!(written.exists() && !older.exists());
    }

    #[test]
    fn what_a_killed_process_left_goes_after_an_hour() {
        let folder = Folder::new("left");
        let hours = |hours: u64| Duration::from_secs(hours * 3600);
        let left = folder.file(".0000000000001-0.jsonl.4242", 1, hours(2));
        let young = folder.file(".0000000000001-0.jsonl.4243", 1, hours(0));
        let third_party_or_generated = folder.file("notes.txt", 1, hours(2));
        store(&folder.0, &[RESULT], SystemTime::now()).unwrap();
        assert!(!left.exists() && young.exists() && third_party_or_generated.exists());
    }
}
