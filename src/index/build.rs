//! Making an index: everything is looked at, what changed is read, the rest is taken over from the index before.

use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::format::{HEADER_BYTES, Header, N_FIELDS, Paths, Section, hash};
use super::freshness::{self, is_same};
use super::posting_buffer::{self, Old, PostingBuffer, Unit};
use super::postings::{self, Written};
use super::stamp::{self, Moment, RACY};
use super::store::{self, IndexFile, Lock, Opened};
use super::tables::{CachedHistory, File, FileContent, ListingFingerprint, Tables};
use super::tree::Tree;
use super::{IndexError, IndexScope, history_cache};
use crate::core::search::corpus::{self, DocumentKind};
use crate::core::search::terms::{MAX_TEXT_BYTES, TermExtractor};
use crate::core::text::hash::FxSet;
use crate::project::files::{self, full_path};
use crate::project::root::Root;
use crate::project::scan::{self, Reading};
use crate::project::{Warning, git};
use crate::threads;

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildReport {
    /// Files in the index.
    pub n_files: usize,
    /// Of them read now.
    pub n_read: usize,
    /// Was there anything to write?
    pub is_written: bool,
}

/// Makes or renews the index of a project.
///
/// # Errors
/// A project that cannot have one, and those of the file system.
pub(super) fn build(
    root: &Root,
    task: &IndexScope<'_>,
    place: &IndexFile,
    lock: &Lock,
) -> Result<BuildReport, IndexError> {
    let old = store::open(place).filter(|old| !is_crowded(old));
    match build_from(root, task, place, lock, old.as_ref()) {
        // The old one has a bad byte that nobody had read yet.
        Err(IndexError::Io(error))
            if error.kind() == io::ErrorKind::InvalidData && old.is_some() =>
        {
            build_from(root, task, place, lock, None)
        }
        result => result,
    }
}

fn is_crowded(old: &Opened) -> bool {
    let mut fields = old.header.sections.iter().zip(old.tables.n_terms);
    fields.any(|(section, n_terms)| postings::is_crowded(n_terms, section.bits))
}

fn build_from(
    root: &Root,
    task: &IndexScope<'_>,
    place: &IndexFile,
    lock: &Lock,
    old: Option<&Opened>,
) -> Result<BuildReport, IndexError> {
    if task.max_file_bytes > MAX_TEXT_BYTES {
        return Err(IndexError::Unsuitable);
    }
    let moment = Moment::now();
    let watch = freshness::begin(root, moment).ok_or(IndexError::Unsuitable)?;
    let known = old.and_then(|old| known_past(&old.tables, &watch));
    let (mut tables, read) = std::thread::scope(|scope| {
        // On a small project git needs longer for its log than we for all the rest.
        let past = scope.spawn(|| read_past(root, task, known));
        let (mut tables, read) = look(root, task, moment, watch, old.map(|old| &old.tables))?;
        tables.past = past.join().ok().flatten();
        Ok::<_, IndexError>((tables, read))
    })?;
    if !moment.clock_not_set_back() {
        return Err(io::Error::other("the clock was set back meanwhile").into());
    }
    let n_read = read.taken.iter().filter(|from| from.is_none()).count();
    let report = BuildReport { n_files: tables.files.len(), n_read, is_written: true };
    if let Some(old) = old {
        tables.n_terms = old.tables.n_terms;
        tables.seconds = old.tables.seconds;
        if tables == old.tables {
            return Ok(BuildReport { is_written: false, ..report });
        }
        tables.seconds = moment.seconds();
    }
    write(place, lock, tables, read, old)?;
    Ok(report)
}

/// The tables but for the past, and what the files hold.
fn look(
    root: &Root,
    task: &IndexScope<'_>,
    moment: Moment,
    mut watch: ListingFingerprint,
    old: Option<&Tables>,
) -> Result<(Tables, Read), IndexError> {
    let tree = match &root.git_top {
        Some(_) => Some(Tree::ask(root).ok_or(IndexError::Unsuitable)?),
        None => None,
    };
    // What changes from the moment on is found out by its stamp, so that the order of the two does not matter.
    let (paths, is_complete, mut read) = std::thread::scope(|scope| {
        scope.spawn(|| freshness::walk(root, tree.as_ref(), moment, &mut watch));
        let (paths, is_complete) = list(root, task, tree.as_ref())?;
        let read = read_files(root, task, moment, &paths, old);
        Ok::<_, IndexError>((paths, is_complete, read))
    })?;
    watch.is_kept &= is_complete;
    let tracked: FxSet<&[u8]> = tree.iter().flat_map(Tree::tracked).collect();
    let mut files = std::mem::take(&mut read.files);
    for (file, path) in files.iter_mut().zip(paths.iter()) {
        file.is_tracked = tracked.contains(path);
    }
    let root = root.path.as_os_str().as_bytes().to_vec();
    let seconds = moment.seconds();
    Ok((Tables { root, seconds, paths, files, watch, ..Tables::default() }, read))
}

/// The paths of the files, and whether they are all that can be ranked.
fn list(
    root: &Root,
    task: &IndexScope<'_>,
    tree: Option<&Tree>,
) -> Result<(Paths, bool), IndexError> {
    let list = match tree {
        Some(tree) => files::listed(root, task.extensions, tree.all()),
        None => files::list(root, task.extensions).map_err(|_| IndexError::Unsuitable)?,
    };
    let cannot = |w: &Warning| matches!(w, Warning::NoGitProgram | Warning::TooManyFiles(_));
    if list.warnings.iter().any(cannot) {
        return Err(IndexError::Unsuitable);
    }
    let is_complete = !list.warnings.iter().any(|w| matches!(w, Warning::Unreadable(_)));
    Ok((Paths::of(list.paths.iter().map(Vec::as_slice)), is_complete))
}

/// A file of the old tables and its place there, if it is as it was.
fn take(old: &Tables, path: &[u8], stamp: u64) -> Option<(usize, File)> {
    let at = old.paths.find(path)?;
    let file = old.files[at];
    let is_same = stamp != RACY && stamp == file.stamp && file.content != FileContent::Unknown;
    is_same.then_some((at, file))
}

/// The old past, if git's settings are still the same.
fn known_past<'o>(old: &'o Tables, new: &ListingFingerprint) -> Option<&'o CachedHistory> {
    let is_same = old.watch.environment == new.environment && is_same(&old.watch.settings);
    old.past.as_ref().filter(|_| is_same)
}

fn read_past(
    root: &Root,
    task: &IndexScope<'_>,
    known: Option<&CachedHistory>,
) -> Option<CachedHistory> {
    let head = git::head(root.git_top.as_ref()?)?;
    history_cache::read(root, &head, known, task.extensions)
}

/// What was read, and what was not.
struct Read {
    files: Vec<File>,
    /// For each file its place in the old tables, if it is taken over from there.
    taken: Vec<Option<usize>>,
    /// The postings of the others: what each thread has of each field.
    gathered: [Vec<PostingBuffer>; N_FIELDS],
}

/// What one thread read.
#[derive(Default)]
struct Share {
    /// By place in the list of paths.
    files: Vec<(usize, File, Option<usize>)>,
    fields: [PostingBuffer; N_FIELDS],
}

/// Reads every file that cannot be taken over.
fn read_files(
    root: &Root,
    task: &IndexScope<'_>,
    moment: Moment,
    paths: &Paths,
    old: Option<&Tables>,
) -> Read {
    let (cursor, root) = (AtomicUsize::new(0), files::relative_root(&root.path));
    let work = || read_share(root, task, moment, paths, old, &cursor);
    let n = paths.len();
    let (files, gathered) = (vec![File::UNKNOWN; n], Default::default());
    let mut read = Read { files, taken: vec![None; n], gathered };
    for share in threads::run_workers(scan::n_threads(paths.len()), work) {
        for (k, file, from) in share.files {
            (read.files[k], read.taken[k]) = (file, from);
        }
        for (gathered, own) in read.gathered.iter_mut().zip(share.fields) {
            gathered.push(own);
        }
    }
    read
}

fn read_share(
    root: &Path,
    task: &IndexScope<'_>,
    moment: Moment,
    paths: &Paths,
    old: Option<&Tables>,
    cursor: &AtomicUsize,
) -> Share {
    let (mut share, mut reader, mut text) =
        (Share::default(), TermExtractor::default(), Vec::new());
    loop {
        let start = cursor.fetch_add(scan::STRIDE, Ordering::Relaxed);
        if start >= paths.len() {
            return share;
        }
        for k in start..paths.len().min(start + scan::STRIDE) {
            let path = paths.get(k);
            let is_kept = |old| {
                take(old, path, stamp::settled_fingerprint_at(&full_path(root, path), moment))
            };
            if let Some((from, file)) = old.and_then(is_kept) {
                share.files.push((k, file, Some(from)));
                continue;
            }
            let (content, stamp) = read(root, path, task.max_file_bytes, moment, &mut text);
            let mut length = 0;
            if matches!(content, FileContent::Text(kind) if kind != DocumentKind::Binary) {
                length = reader.for_each_term(&text, |field, term, count| {
                    share.fields[field as usize].add(term, k as u32, count);
                });
            }
            share.files.push((k, File { stamp, length, content, is_tracked: false }, None));
        }
    }
}

/// Reads a file into a buffer: what it is, and its stamp.
fn read(
    root: &Path,
    path: &[u8],
    max_bytes: u64,
    moment: Moment,
    text: &mut Vec<u8>,
) -> (FileContent, u64) {
    let (content, seen) = match scan::read(root, path, max_bytes, text) {
        Reading::Read(seen) => (FileContent::Text(corpus::kind(text)), seen),
        Reading::TooLarge(seen) => (FileContent::TooLarge, seen),
        Reading::NotAFile | Reading::Unreadable => {
            return (
                FileContent::Unknown,
                stamp::settled_fingerprint_at(&full_path(root, path), moment),
            );
        }
    };
    // What an open file says of itself was true before its bytes were read.
    (content, stamp::settled_fingerprint(&seen, moment))
}

/// Writes the index under a name of its own, and renames it.
fn write(
    place: &IndexFile,
    lock: &Lock,
    mut tables: Tables,
    read: Read,
    old: Option<&Opened>,
) -> Result<(), IndexError> {
    let places = old.map_or_else(Vec::new, |old| new_places(old.tables.paths.len(), &read.taken));
    let (draft, mut out) = store::draft(place, lock)?;
    let mut header = Header { key: place.key, ..Header::default() };
    out.write_all(&header.to_bytes())?;
    let mut at = HEADER_BYTES as u64;
    for (field, gathered) in read.gathered.into_iter().enumerate() {
        let old = old.map(|old| (old, places.as_slice()));
        let (bits, buckets) = section(&gathered, old, field)?;
        let directory = postings::directory(&buckets);
        buckets.iter().try_for_each(|written| out.write_all(&written.bytes))?;
        out.write_all(&directory)?;
        let n_bytes: usize = buckets.iter().map(|written| written.bytes.len()).sum();
        let section = Section { start: at, directory: at + n_bytes as u64, bits };
        at = section.directory + directory.len() as u64;
        header.sections[field] = section;
        tables.n_terms[field] = buckets.iter().map(|written| written.n_terms).sum();
    }
    let bytes = tables.to_bytes();
    header.tables = at;
    header.tables_bytes = bytes.len() as u64;
    header.tables_checksum = hash(header.key, &bytes);
    out.write_all(&bytes)?;
    out.seek(SeekFrom::Start(0))?;
    out.write_all(&header.to_bytes())?;
    out.flush()?;
    Ok(draft.finish(place)?)
}

/// One field's postings, of the files read now and of those taken over, in 2^bits buckets.
fn section(
    gathered: &[PostingBuffer],
    old: Option<(&Opened, &[Option<u32>])>,
    field: usize,
) -> Result<(u64, Vec<Written>), IndexError> {
    let corrupt = || IndexError::from(io::ErrorKind::InvalidData);
    let (bits, old) = match old {
        None => (postings::bits_for(posting_buffer::n_terms(gathered)), None),
        Some((old, places)) => {
            let section = old.header.sections[field];
            let reader = postings::PostingReader::new(&old.file, section).ok_or_else(corrupt)?;
            (section.bits, Some(Old { reader, places }))
        }
    };
    let units: Vec<Unit> = Unit::all(bits).collect();
    let n_units = units.len();
    let old_bytes = old.as_ref().map_or(0, |old| old.reader.n_bytes() / n_units);
    let bytes =
        |unit: &Unit| old_bytes + gathered.iter().map(|own| own.bytes(*unit)).sum::<usize>();
    let work = |unit: &Unit| posting_buffer::buckets(gathered, old.as_ref(), *unit);
    let buckets: Result<_, _> = threads::map(&units, bytes, work).into_iter().collect();
    Ok((bits, buckets.map_err(|_| corrupt())?))
}

/// For every file of the old tables its place in the new ones.
fn new_places(n_old: usize, taken: &[Option<usize>]) -> Vec<Option<u32>> {
    let mut places = vec![None; n_old];
    for (new, old) in taken.iter().enumerate() {
        if let Some(old) = *old {
            places[old] = Some(new as u32);
        }
    }
    places
}
