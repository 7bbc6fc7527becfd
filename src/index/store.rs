//! Where indexes are: one private file a project, opened and checked, written beside and renamed, removed when old.
//!
//! Names are made of a hash of all an index depends on beside the files: the root, which files count as source, how large
//! they may be, how words are made. Beside each stands an empty `.lock`, held by whoever is making it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::IndexScope;
use super::format::{HEADER_BYTES, Header, hash};
use super::tables::Tables;
use crate::cache::private;
use crate::project::root::Root;

/// All indexes together: some eight trees of the size of Linux (1 GB of source, an index of an eighth of it).
const MAX_TOTAL_BYTES: u64 = 1 << 30;

/// An index nobody used for so long is removed; it takes seconds to make again.
const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 3600);

/// How exact the time of the last use is kept, so that not every use is a write.
const USE_NOTED_EVERY: Duration = Duration::from_secs(24 * 3600);

/// Largest tables that are believed: ten times those of Linux (78,000 files, 4 MB).
const MAX_TABLES_BYTES: u64 = 64 << 20;

/// A draft nobody finished in so long never will be: making the largest index takes under a minute.
const DRAFT_ABANDONED_AFTER: Duration = Duration::from_secs(3600);

const ENDING: &str = "idx";
const DRAFT_ENDING: &str = "new";

/// The index of one project.
#[derive(Debug, Clone)]
pub(super) struct IndexFile {
    pub(super) path: PathBuf,
    pub(super) key: u64,
}

/// An index whose header and tables are as they were written.
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) header: Header,
    pub(super) tables: Tables,
    pub(super) bytes: u64,
}

/// Where the index of a project is in a folder of indexes.
pub(super) fn place(folder: &Path, root: &Root, task: &IndexScope<'_>) -> IndexFile {
    let mut key = hash(RULES_VERSION, env!("CARGO_PKG_VERSION").as_bytes());
    key = hash(key, root.path.as_os_str().as_bytes());
    let top = root.git_top.as_ref().map(|top| top.as_os_str().as_bytes());
    key = hash(key, top.unwrap_or_default());
    key = hash(key, task.extensions.key().as_bytes());
    key = hash(key, &task.max_file_bytes.to_le_bytes());
    IndexFile { path: folder.join(format!("{key:016x}.{ENDING}")), key }
}

/// Raise this when the rules for words or for kinds of files change between two releases: an index
/// made by other rules is not found. A release changes the package's version, which counts too.
const RULES_VERSION: u64 = 2;

/// Opens an index and notes that it was used.
pub(super) fn open(place: &IndexFile) -> Option<Opened> {
    let opened = read(&place.path)?;
    if opened.header.key != place.key {
        return None;
    }
    let now = SystemTime::now();
    let last = opened.file.metadata().and_then(|m| m.modified()).ok();
    if last.and_then(|last| now.duration_since(last).ok()).is_none_or(|age| age > USE_NOTED_EVERY) {
        let _ = opened.file.set_modified(now);
    }
    Some(opened)
}

/// Opens an index of any project.
pub(super) fn read(path: &Path) -> Option<Opened> {
    let file = File::open(path).ok()?;
    let bytes = file.metadata().ok()?.len();
    let mut header = [0; HEADER_BYTES];
    file.read_exact_at(&mut header, 0).ok()?;
    let header = Header::read(&header)?;
    if header.tables_bytes > MAX_TABLES_BYTES {
        return None;
    }
    let mut tables = vec![0; usize::try_from(header.tables_bytes).ok()?];
    file.read_exact_at(&mut tables, header.tables).ok()?;
    if hash(header.key, &tables) != header.tables_checksum {
        return None;
    }
    Some(Opened { tables: Tables::read(&tables)?, file, header, bytes })
}

/// Held while an index is made. The system takes it back from a process that dies.
pub(super) struct Lock {
    _file: File,
}

/// # Errors
/// Those of the file system; `WouldBlock` when another process is at it.
pub(super) fn lock(place: &IndexFile) -> io::Result<Lock> {
    private::create_folder(place.path.parent().unwrap_or(Path::new(".")))?;
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600);
    let file = file.open(place.path.with_extension("lock"))?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// A file to be renamed to the index; removed when dropped before that.
pub(super) struct Draft {
    path: PathBuf,
}

/// Starts writing an index under a name of its own. The lock is held: what killed writers left behind is removed.
///
/// # Errors
/// Those of the file system.
pub(super) fn draft(place: &IndexFile, _: &Lock) -> io::Result<(Draft, BufWriter<File>)> {
    let folder = place.path.parent().unwrap_or(Path::new("."));
    let name = place.path.file_stem().unwrap_or_default();
    for path in fs::read_dir(folder)?.flatten().map(|entry| entry.path()) {
        if is_draft(&path)
            && path.file_stem().map(Path::new).and_then(Path::file_stem) == Some(name)
        {
            let _ = fs::remove_file(&path);
        }
    }
    let path = place.path.with_extension(format!("{}.{DRAFT_ENDING}", std::process::id()));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    Ok((Draft { path }, BufWriter::with_capacity(1 << 18, file)))
}

impl Draft {
    /// # Errors
    /// Those of the file system; the draft is removed.
    pub(super) fn finish(self, place: &IndexFile) -> io::Result<()> {
        fs::rename(&self.path, &place.path)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Renamed: there is nothing of this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes one index. True if there was one.
///
/// # Errors
/// Those of the file system.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes what is left of projects that are gone, what was not used for long, and the longest unused over the limit.
pub(super) fn tidy(folder: &Path) {
    tidy_to(folder, MAX_TOTAL_BYTES, SystemTime::now());
}

fn tidy_to(folder: &Path, max_total_bytes: u64, now: SystemTime) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut kept = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(metadata) = path.metadata() else { continue };
        let used = metadata.modified().unwrap_or(now);
        let limit = if is_draft(&path) { DRAFT_ABANDONED_AFTER } else { UNUSED_FOR };
        let is_old = now.duration_since(used).is_ok_and(|age| age > limit);
        let is_index = path.extension().is_some_and(|ending| ending == ENDING);
        if is_old || is_index && !has_project(&path) {
            let _ = remove(&path);
        } else {
            kept.push((used, path, metadata.len()));
        }
    }
    kept.sort_unstable();
    let mut total: u64 = kept.iter().map(|(.., bytes)| bytes).sum();
    for (_, path, bytes) in kept {
        if total <= max_total_bytes {
            return;
        }
        let _ = remove(&path);
        total -= bytes;
    }
}

fn is_draft(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == DRAFT_ENDING)
}

fn has_project(path: &Path) -> bool {
    // An index of another version cannot be read; age will take it.
    read(path)
        .is_none_or(|index| Path::new(std::ffi::OsStr::from_bytes(&index.tables.root)).is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_surplus_files_are_removed_longest_unused_first() {
        let folder =
            std::env::temp_dir().join(format!("context-packer-tidy-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let now = SystemTime::now();
        let file = |name: &str, bytes: usize, unused: Duration| {
            let path = folder.join(name);
            fs::write(&path, vec![0; bytes]).unwrap();
            File::options().write(true).open(path).unwrap().set_modified(now - unused).unwrap();
        };
        let hours = |n: u64| Duration::from_secs(n * 3600);
        file(&format!("ancient.{ENDING}"), 10, UNUSED_FOR + hours(1));
        file(&format!("older.{ENDING}"), 40, hours(3));
        file(&format!("newer.{ENDING}"), 40, hours(2));
        file(&format!("newest.{ENDING}"), 40, hours(1));
        file(&format!("newest.1.{DRAFT_ENDING}"), 10, DRAFT_ABANDONED_AFTER + hours(1));
        file(&format!("newest.2.{DRAFT_ENDING}"), 10, Duration::ZERO);
        tidy_to(&folder, 90, now);
        let left = fs::read_dir(&folder).unwrap().flatten();
        let mut left: Vec<_> = left.map(|e| e.file_name().into_string().unwrap()).collect();
        left.sort_unstable();
        let expected = [
            format!("newer.{ENDING}"),
            format!("newest.2.{DRAFT_ENDING}"),
            format!("newest.{ENDING}"),
        ];
        assert_eq!(left, expected);
        fs::remove_dir_all(&folder).unwrap();
    }
}
