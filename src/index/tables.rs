//! What an index remembers beside the postings: the files, what guards their list, and the past.
//!
//! Plain data to bytes and back; `None` for bytes that are not ours.

use super::format::{Bytes, N_FIELDS, Paths, put_bytes, put_number, put_u64};
use super::stamp::RACY;
use crate::core::search::corpus::DocumentKind;

/// Everything but the postings.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Tables {
    /// The project, absolute.
    pub(super) root: Vec<u8>,
    /// When it was made, seconds since 1970.
    pub(super) seconds: u64,
    /// Terms of each field.
    pub(super) n_terms: [u64; N_FIELDS],
    /// Every listed file, by path relative to the root; a posting's file is the place here.
    pub(super) paths: Paths,
    /// Beside `paths`.
    pub(super) files: Vec<File>,
    pub(super) watch: ListingFingerprint,
    pub(super) past: Option<CachedHistory>,
}

/// One listed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct File {
    pub(super) stamp: u64,
    /// In sub-words.
    pub(super) length: u32,
    pub(super) content: FileContent,
    /// In git's index.
    pub(super) is_tracked: bool,
}

/// What a file was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileContent {
    /// A document or a binary.
    Text(DocumentKind),
    /// Over the size limit.
    TooLarge,
    /// No file, or unreadable: look again.
    Unknown,
}

/// Paths with their stamps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Stamped {
    pub(super) paths: Paths,
    pub(super) stamps: Vec<u64>,
}

/// What must be as it was for the list of files to be as it was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ListingFingerprint {
    /// False: the list is made anew every time.
    pub(super) is_kept: bool,
    /// Git's variables.
    pub(super) environment: u64,
    /// Git's index file.
    pub(super) git_index: u64,
    /// Git's settings files, absolute.
    pub(super) settings: Stamped,
    /// Files that say what is ignored, and repositories inside this one; absolute.
    pub(super) ignores: Stamped,
    /// Every folder that may hold a listed file, relative; the root is the empty path.
    pub(super) folders: Stamped,
}

/// The newest commits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CachedHistory {
    /// Where they start: a commit id in hexadecimal.
    pub(super) head: Vec<u8>,
    /// Of what else they depend on: where the clone is cut, replaced commits.
    pub(super) guard: u64,
    /// Paths of source files that they touched.
    pub(super) paths: Paths,
    /// Beside `commits`, one after the other: each is as long as `head`.
    pub(super) ids: Vec<u8>,
    pub(super) commits: Vec<CachedCommit>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CachedCommit {
    pub(super) subject: Vec<u8>,
    pub(super) n_files: u64,
    /// Into [`CachedHistory::paths`], in git's order.
    pub(super) paths: Vec<u32>,
}

impl Stamped {
    pub(super) fn push(&mut self, path: &[u8], stamp: u64) {
        self.paths.push(path);
        self.stamps.push(stamp);
    }

    fn put(&self, out: &mut Vec<u8>) {
        self.paths.put(out);
        self.stamps.iter().for_each(|&stamp| put_u64(out, stamp));
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<Stamped> {
        let paths = Paths::read(bytes)?;
        let stamps = bytes.list(paths.len(), Bytes::u64)?;
        Some(Stamped { paths, stamps })
    }
}

const TRACKED: u8 = 0x80;

impl File {
    /// One that nobody has looked at.
    pub(super) const UNKNOWN: File =
        File { stamp: RACY, length: 0, content: FileContent::Unknown, is_tracked: false };

    fn put(self, out: &mut Vec<u8>) {
        let content = match self.content {
            FileContent::Text(DocumentKind::Source) => 0,
            FileContent::Text(DocumentKind::Generated) => 1,
            FileContent::Text(DocumentKind::Minified) => 2,
            FileContent::Text(DocumentKind::Binary) => 3,
            FileContent::TooLarge => 4,
            FileContent::Unknown => 5,
        };
        out.push(content | if self.is_tracked { TRACKED } else { 0 });
        put_number(out, u64::from(self.length));
        put_u64(out, self.stamp);
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<File> {
        let flags = bytes.u8()?;
        let content = match flags & !TRACKED {
            0 => FileContent::Text(DocumentKind::Source),
            1 => FileContent::Text(DocumentKind::Generated),
            2 => FileContent::Text(DocumentKind::Minified),
            3 => FileContent::Text(DocumentKind::Binary),
            4 => FileContent::TooLarge,
            5 => FileContent::Unknown,
            _ => return None,
        };
        let length = u32::try_from(bytes.number()?).ok()?;
        Some(File { stamp: bytes.u64()?, length, content, is_tracked: flags & TRACKED != 0 })
    }
}

impl Tables {
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, &self.root);
        put_number(&mut out, self.seconds);
        self.n_terms.iter().for_each(|&n| put_number(&mut out, n));
        self.paths.put(&mut out);
        self.files.iter().for_each(|file| file.put(&mut out));
        let watch = &self.watch;
        out.push(u8::from(watch.is_kept));
        put_u64(&mut out, watch.environment);
        put_u64(&mut out, watch.git_index);
        for stamped in [&watch.settings, &watch.ignores, &watch.folders] {
            stamped.put(&mut out);
        }
        out.push(u8::from(self.past.is_some()));
        if let Some(past) = &self.past {
            past.put(&mut out);
        }
        out
    }

    pub(super) fn read(bytes: &[u8]) -> Option<Tables> {
        let mut bytes = Bytes(bytes);
        let root = bytes.bytes()?.to_vec();
        let seconds = bytes.number()?;
        let n_terms = [bytes.number()?, bytes.number()?];
        let paths = Paths::read(&mut bytes)?;
        let files = bytes.list(paths.len(), File::read)?;
        let watch = ListingFingerprint {
            is_kept: bytes.u8()? == 1,
            environment: bytes.u64()?,
            git_index: bytes.u64()?,
            settings: Stamped::read(&mut bytes)?,
            ignores: Stamped::read(&mut bytes)?,
            folders: Stamped::read(&mut bytes)?,
        };
        let past = if bytes.u8()? == 1 { Some(CachedHistory::read(&mut bytes)?) } else { None };
        bytes.0.is_empty().then_some(())?;
        Some(Tables { root, seconds, n_terms, paths, files, watch, past })
    }
}

impl CachedHistory {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, &self.head);
        put_u64(out, self.guard);
        self.paths.put(out);
        put_bytes(out, &self.ids);
        put_number(out, self.commits.len() as u64);
        for commit in &self.commits {
            put_bytes(out, &commit.subject);
            put_number(out, commit.n_files);
            put_number(out, commit.paths.len() as u64);
            commit.paths.iter().for_each(|&path| put_number(out, u64::from(path)));
        }
    }

    fn read(bytes: &mut Bytes<'_>) -> Option<CachedHistory> {
        let head = bytes.bytes()?.to_vec();
        let guard = bytes.u64()?;
        let paths = Paths::read(bytes)?;
        let ids = bytes.bytes()?.to_vec();
        let count = bytes.count()?;
        let commits = bytes.list(count, |bytes| CachedCommit::read(bytes, paths.len()))?;
        (count.checked_mul(head.len())? == ids.len()).then_some(())?;
        Some(CachedHistory { head, guard, paths, ids, commits })
    }

    /// Ids and commits, newest first.
    pub(super) fn with_ids(&self) -> impl Iterator<Item = (&[u8], &CachedCommit)> {
        self.ids.chunks(self.head.len().max(1)).zip(&self.commits)
    }
}

impl CachedCommit {
    fn read(bytes: &mut Bytes<'_>, n_paths: usize) -> Option<CachedCommit> {
        let subject = bytes.bytes()?.to_vec();
        let n_files = bytes.number()?;
        let count = bytes.count()?;
        let paths = bytes.list(count, |bytes| {
            let path = bytes.number()?;
            (path < n_paths as u64).then_some(path as u32)
        })?;
        Some(CachedCommit { subject, n_files, paths })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tables {
        let stamped = |path: &str| Stamped { paths: Paths::of([path.as_bytes()]), stamps: vec![9] };
        let file = |content, is_tracked| File { stamp: 3, length: 400, content, is_tracked };
        let commit = CachedCommit { subject: b"fix".to_vec(), n_files: 300, paths: vec![1, 0] };
        Tables {
            root: b"/r".to_vec(),
            seconds: 1_700_000_000,
            n_terms: [1, 2],
            paths: Paths::of([&b"a.rs"[..], b"b.rs"]),
            files: vec![
                file(FileContent::Text(DocumentKind::Minified), true),
                file(FileContent::TooLarge, false),
            ],
            watch: ListingFingerprint {
                is_kept: true,
                environment: 1,
                git_index: 2,
                settings: stamped("/r/.git/config"),
                ignores: stamped("/r/.gitignore"),
                folders: stamped(""),
            },
            past: Some(CachedHistory {
                head: b"00".to_vec(),
                guard: 4,
                paths: Paths::of([&b"a.rs"[..], b"old.rs"]),
                ids: b"ab".to_vec(),
                commits: vec![commit],
            }),
        }
    }

    #[test]
    fn come_back_and_end_where_they_end() {
        let bytes = sample().to_bytes();
        assert_eq!(Tables::read(&bytes), Some(sample()));
        for end in 0..bytes.len() {
            assert_eq!(Tables::read(&bytes[..end]), None, "cut at {end}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_change_is_survived(at: usize, byte: u8) {
            let mut bytes = sample().to_bytes();
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = Tables::read(&bytes);
        }
    }
}
