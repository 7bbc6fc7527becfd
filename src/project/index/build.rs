//! Making an index: everything is looked at, what changed is read, the rest is taken over from the index before.

use std::collections::HashSet;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::format::{HEADER_BYTES, Header, N_FIELDS, Paths, Section, hash};
use super::postings::{self, Reader, Terms, Written};
use super::runs::{self, Gathering, Run, Source};
use super::stamp::{self, Moment, UNSURE};
use super::store::{self, Lock, Opened, Place};
use super::tables::{Content, File, Past, Tables, Watch};
use super::tree::Tree;
use super::watch::{self, is_same};
use super::{Error, Task, past};
use crate::core::corpus::{self, Kind};
use crate::core::terms::{self, FIELDS};
use crate::project::files::{self, full_path};
use crate::project::root::Root;
use crate::project::scan::{self, Reading};
use crate::project::{Warning, git};

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
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
    task: &Task<'_>,
    place: &Place,
    lock: &Lock,
) -> Result<Report, Error> {
    let old = store::open(place).filter(|old| !is_crowded(old));
    match build_from(root, task, place, lock, old.as_ref()) {
        // The old one has a bad byte that nobody had read yet.
        Err(Error::Io(error)) if error.kind() == io::ErrorKind::InvalidData && old.is_some() => {
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
    task: &Task<'_>,
    place: &Place,
    lock: &Lock,
    old: Option<&Opened>,
) -> Result<Report, Error> {
    let moment = Moment::now();
    let watch = watch::begin(root, moment).ok_or(Error::Unsuitable)?;
    let known = old.and_then(|old| known_past(&old.tables, &watch));
    let (mut tables, runs, taken, past) = std::thread::scope(|scope| {
        // On a small project git needs longer for its log than we for all the rest.
        let past = scope.spawn(|| read_past(root, task, known));
        let (tables, taken) = look(root, task, moment, watch, old.map(|old| &old.tables))?;
        let (tables, runs) = read_files(root, task, tables, &taken);
        Ok::<_, Error>((tables, runs, taken, past.join().ok().flatten()))
    })?;
    if !moment.is_true() {
        return Err(io::Error::other("the clock was set back meanwhile").into());
    }
    tables.past = past;
    let n_read = taken.iter().filter(|from| from.is_none()).count();
    let report = Report { n_files: tables.files.len(), n_read, is_written: true };
    if let Some(old) = old {
        tables.n_terms = old.tables.n_terms;
        tables.seconds = old.tables.seconds;
        if tables == old.tables {
            return Ok(Report { is_written: false, ..report });
        }
        tables.seconds = moment.seconds();
    }
    write(place, lock, tables, &runs, old, &taken)?;
    Ok(report)
}

/// The tables as far as they are known without reading, and for each file its place in the old ones if it can be
/// taken over from there.
fn look(
    root: &Root,
    task: &Task<'_>,
    moment: Moment,
    mut watch: Watch,
    old: Option<&Tables>,
) -> Result<(Tables, Vec<Option<usize>>), Error> {
    let tree = match &root.git_top {
        Some(_) => Some(Tree::ask(root).ok_or(Error::Unsuitable)?),
        None => None,
    };
    // What changes from the moment on is found out by its stamp, so that the order of the two does not matter.
    let list = std::thread::scope(|scope| {
        scope.spawn(|| watch::walk(root, tree.as_ref(), moment, &mut watch));
        match &tree {
            Some(tree) => Ok(files::listed(root, task.extensions, tree.all())),
            None => files::list(root, task.extensions).map_err(|_| Error::Unsuitable),
        }
    })?;
    let cannot = |w: &Warning| matches!(w, Warning::NoGitProgram | Warning::TooManyFiles(_));
    if list.warnings.iter().any(cannot) {
        return Err(Error::Unsuitable);
    }
    watch.is_kept &= !list.warnings.iter().any(|w| matches!(w, Warning::Unreadable(_)));
    let tracked: HashSet<&[u8]> = tree.iter().flat_map(Tree::tracked).collect();
    let paths = Paths::of(list.paths.iter().map(Vec::as_slice));
    let mut files = Vec::with_capacity(paths.len());
    let mut taken = Vec::with_capacity(paths.len());
    for path in paths.iter() {
        let stamp = stamp::keep(&full_path(&root.path, path), moment);
        let from =
            old.and_then(|old| old.paths.find(path).filter(|&at| can_take(old.files[at], stamp)));
        let file = old.zip(from).map(|(old, at)| old.files[at]);
        let unknown = File { stamp, length: 0, content: Content::Unknown, is_tracked: false };
        files.push(File { is_tracked: tracked.contains(path), ..file.unwrap_or(unknown) });
        taken.push(from);
    }
    let root = root.path.as_os_str().as_bytes().to_vec();
    let seconds = moment.seconds();
    Ok((Tables { root, seconds, paths, files, watch, ..Tables::default() }, taken))
}

fn can_take(old: File, stamp: u64) -> bool {
    stamp != UNSURE && stamp == old.stamp && old.content != Content::Unknown
}

/// The old past, if git's settings are still the same.
fn known_past<'o>(old: &'o Tables, new: &Watch) -> Option<&'o Past> {
    let is_same = old.watch.environment == new.environment && is_same(&old.watch.settings);
    old.past.as_ref().filter(|_| is_same)
}

fn read_past(root: &Root, task: &Task<'_>, known: Option<&Past>) -> Option<Past> {
    let head = git::head(root.git_top.as_ref()?)?;
    past::read(root, &head, known, task.extensions)
}

/// What one thread read.
struct Share {
    files: Vec<(usize, Content, u32)>,
    runs: [Vec<Run>; N_FIELDS],
}

/// Reads every file that is not taken over.
fn read_files(
    root: &Root,
    task: &Task<'_>,
    mut tables: Tables,
    taken: &[Option<usize>],
) -> (Tables, [Vec<Run>; N_FIELDS]) {
    let to_read: Vec<usize> = (0..taken.len()).filter(|&k| taken[k].is_none()).collect();
    let cursor = AtomicUsize::new(0);
    let work = || read_share(root, task, &tables.paths, &to_read, &cursor);
    let shares = match scan::threads(to_read.len()) {
        1 => vec![work()],
        n => std::thread::scope(|scope| {
            let threads: Vec<_> = (0..n).map(|_| scope.spawn(work)).collect();
            threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
        }),
    };
    let mut runs: [Vec<Run>; N_FIELDS] = Default::default();
    for share in shares {
        for (k, content, length) in share.files {
            tables.files[k].content = content;
            tables.files[k].length = length;
        }
        for (runs, own) in runs.iter_mut().zip(share.runs) {
            runs.extend(own);
        }
    }
    (tables, runs)
}

fn read_share(
    root: &Root,
    task: &Task<'_>,
    paths: &Paths,
    to_read: &[usize],
    cursor: &AtomicUsize,
) -> Share {
    let (mut files, mut fields) = (Vec::new(), <[Gathering; N_FIELDS]>::default());
    let mut reader = terms::Reader::default();
    let mut text = Vec::new();
    loop {
        let start = cursor.fetch_add(scan::STRIDE, Ordering::Relaxed);
        if start >= to_read.len() {
            return Share { files, runs: fields.map(Gathering::finish) };
        }
        for &k in to_read.iter().skip(start).take(scan::STRIDE) {
            let mut length = 0;
            let content = match scan::read(&root.path, paths.get(k), task.max_file_bytes, &mut text)
            {
                Reading::Read => Content::Text(corpus::kind(&text)),
                Reading::TooLarge => Content::TooLarge,
                Reading::NotAFile | Reading::Unreadable => Content::Unknown,
            };
            if matches!(content, Content::Text(kind) if kind != Kind::Binary) {
                length = reader.every_term(&text, |field, term, count| {
                    fields[field as usize].add(hash(0, term), k as u32, count);
                });
                fields.iter_mut().for_each(Gathering::end_file);
            }
            files.push((k, content, length));
        }
    }
}

/// Writes the index under a name of its own, and renames it.
fn write(
    place: &Place,
    lock: &Lock,
    mut tables: Tables,
    runs: &[Vec<Run>; N_FIELDS],
    old: Option<&Opened>,
    taken: &[Option<usize>],
) -> Result<(), Error> {
    let places = old.map_or_else(Vec::new, |old| new_places(old.tables.paths.len(), taken));
    let fields = FIELDS.map(|field| field as usize);
    let sections: Vec<_> = std::thread::scope(|scope| {
        let merge = |field: usize| section(&runs[field], old, field, &places);
        let threads = fields.map(|field| scope.spawn(move || merge(field)));
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Unsuitable))).collect()
    });
    let (draft, mut out) = store::draft(place, lock)?;
    let mut header = Header { key: place.key, ..Header::default() };
    out.write_all(&header.to_bytes())?;
    let mut at = HEADER_BYTES as u64;
    for (field, section) in fields.into_iter().zip(sections) {
        let (Written { buckets, directory, bits }, n_terms) = section?;
        tables.n_terms[field] = n_terms;
        out.write_all(&buckets)?;
        out.write_all(&directory)?;
        let end = at + buckets.len() as u64;
        header.sections[field] = Section { start: at, directory: end, bits };
        at = end + directory.len() as u64;
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

/// One field's postings, of the files read now and of those taken over; also how many terms there are.
fn section(
    runs: &[Run],
    old: Option<&Opened>,
    field: usize,
    places: &[Option<u32>],
) -> Result<(Written, u64), Error> {
    let mut sources: Vec<Source<'_>> = runs.iter().map(Source::run).collect();
    let mut bits = postings::bits_for(runs::n_terms(runs));
    if let Some(old) = old {
        let section = old.header.sections[field];
        bits = section.bits;
        let reader = Reader::new(&old.file, section).ok_or(io::ErrorKind::InvalidData)?;
        sources.push(Source::old(Terms::new(reader), places));
    }
    Ok(runs::merge(sources, bits)?)
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
