//! Postings on disk: term → (file, occurrences), found by two small reads.
//!
//! A section is 2^bits *buckets* and a *directory* of where each starts and its checksum. A term's hash gives its bucket
//! by the first `bits` bits and its place there by the next 32. A bucket is: how many terms, their 32 bits in order, the
//! byte length of each one's list, the lists. A list is files in order: twice the gap to the one before, plus one when
//! the count is 1 (two of three are), else followed by the count.
//!
//! Terms are told apart by their bucket and 32 bits more, 48 bits at most: with 64 terms a bucket, one lookup in 67 million
//! of a term that is not there finds another's list; in a project of ten million terms, one in 28 million.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use super::format::{Bytes, Section, hash, put_number};

/// Terms a bucket has on average: a directory entry (12 bytes) is shared by 64 terms, and a look-up reads about 1 kB.
const TERMS_PER_BUCKET: u64 = 64;

/// Beyond this many terms a bucket the next build starts from nothing, so that buckets are made anew.
const MAX_TERMS_PER_BUCKET: u64 = 4 * TERMS_PER_BUCKET;

/// A directory entry: first byte of the bucket, counted from the section's (u64), and checksum (u32).
const ENTRY_BYTES: usize = 12;

/// Bits of a hash that are kept.
pub(super) const HASH_BITS: u32 = 48;

/// Bits of a hash that are looked at, beyond those of the bucket.
const REMAINDER_BITS: u64 = 32;

/// Largest directory: 2^24 buckets are a billion terms.
const MAX_BITS: u64 = 24;

/// `(file, occurrences)`, sorted by file.
pub(super) type PostingList = Vec<(u32, u32)>;

/// The directory size for about so many terms.
pub(super) fn bits_for(n_terms: u64) -> u64 {
    u64::from(n_terms.div_ceil(TERMS_PER_BUCKET).next_power_of_two().ilog2()).min(MAX_BITS)
}

/// The part of a hash that tells terms apart.
pub(super) fn key(hash: u64, bits: u64) -> u64 {
    const KEPT: u64 = u64::MAX << (u64::BITS - HASH_BITS);
    (hash & KEPT) >> (64 - bits - REMAINDER_BITS)
}

/// A hash that has this key.
pub(super) fn hash_of(key: u64, bits: u64) -> u64 {
    key << (64 - bits - REMAINDER_BITS)
}

/// Appends a list.
pub(super) fn put_list(out: &mut Vec<u8>, list: &[(u32, u32)]) {
    let mut last = 0;
    for &(file, count) in list {
        let once = u64::from(count == 1);
        put_number(out, u64::from(file - last) << 1 | once);
        if once == 0 {
            put_number(out, u64::from(count));
        }
        last = file;
    }
}

/// Appends the postings of a list to `list`.
pub(super) fn read_list(bytes: &[u8], list: &mut PostingList) -> Option<()> {
    let mut bytes = Bytes(bytes);
    let mut file = 0u32;
    while !bytes.0.is_empty() {
        let gap = bytes.number()?;
        let count = if gap & 1 == 1 { 1 } else { u32::try_from(bytes.number()?).ok()? };
        file = file.checked_add(u32::try_from(gap >> 1).ok()?)?;
        list.push((file, count));
    }
    Some(())
}

/// Writes buckets of a section; terms come in order of their [`key`].
pub(super) struct Writer {
    buckets: Range<u64>,
    written: Written,
    n_terms: u64,
    remainders: Vec<u8>,
    lengths: Vec<u8>,
    lists: Vec<u8>,
}

/// Buckets that follow each other.
#[derive(Default)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// Where each starts in them, and its checksum.
    pub(super) entries: Vec<(usize, u32)>,
    pub(super) n_terms: u64,
}

impl Writer {
    pub(super) fn new(buckets: Range<u64>) -> Writer {
        let written = Written::default();
        let [remainders, lengths, lists] = Default::default();
        Writer { buckets, written, n_terms: 0, remainders, lengths, lists }
    }

    pub(super) fn push(&mut self, key: u64, list: &[(u32, u32)]) {
        while self.buckets.start < key >> REMAINDER_BITS {
            self.end_bucket();
        }
        self.n_terms += 1;
        self.remainders.extend_from_slice(&(key as u32).to_le_bytes());
        let before = self.lists.len();
        put_list(&mut self.lists, list);
        put_number(&mut self.lengths, (self.lists.len() - before) as u64);
    }

    fn end_bucket(&mut self) {
        let out = &mut self.written.bytes;
        let start = out.len();
        if self.n_terms > 0 {
            put_number(out, self.n_terms);
            for part in [&mut self.remainders, &mut self.lengths, &mut self.lists] {
                out.append(part);
            }
        }
        self.written.entries.push((start, checksum(self.buckets.start, &out[start..])));
        self.buckets.start += 1;
        self.written.n_terms += self.n_terms;
        self.n_terms = 0;
    }

    pub(super) fn finish(mut self) -> Written {
        while !self.buckets.is_empty() {
            self.end_bucket();
        }
        self.written
    }
}

/// The directory of a section whose buckets are written one after the other.
pub(super) fn directory(buckets: &[Written]) -> Vec<u8> {
    let (mut directory, mut start) = (Vec::new(), 0);
    for Written { bytes, entries, .. } in buckets {
        for (at, checksum) in entries {
            directory.extend_from_slice(&((start + at) as u64).to_le_bytes());
            directory.extend_from_slice(&checksum.to_le_bytes());
        }
        start += bytes.len();
    }
    // The end of the last bucket.
    directory.extend_from_slice(&(start as u64).to_le_bytes());
    directory
}

fn checksum(bucket: u64, bytes: &[u8]) -> u32 {
    hash(bucket, bytes) as u32
}

/// Reads a section. Everything is `None` when a byte is not what was written.
pub(super) struct PostingReader<'f> {
    file: &'f File,
    section: Section,
}

/// A bucket's bytes, verified, and where its parts are.
struct Bucket {
    bytes: Vec<u8>,
    n_terms: usize,
    remainders: usize,
    lengths: usize,
}

impl<'f> PostingReader<'f> {
    pub(super) fn new(file: &'f File, section: Section) -> Option<PostingReader<'f>> {
        (section.bits <= MAX_BITS && section.start <= section.directory)
            .then_some(PostingReader { file, section })
    }

    /// Bytes of all buckets.
    pub(super) fn n_bytes(&self) -> usize {
        (self.section.directory - self.section.start) as usize
    }

    /// The postings of a term; empty when it has none.
    pub(super) fn find(&self, hash: u64) -> Option<PostingList> {
        let key = key(hash, self.section.bits);
        let bucket = self.bucket(key >> REMAINDER_BITS)?;
        let mut list = PostingList::new();
        if let Some(at) = bucket.place(key as u32) {
            read_list(bucket.lists()?.get(at)?, &mut list)?;
        }
        Some(list)
    }

    fn bucket(&self, bucket: u64) -> Option<Bucket> {
        let mut entry = [0; ENTRY_BYTES + 8];
        let at = self.section.directory + bucket * ENTRY_BYTES as u64;
        self.file.read_exact_at(&mut entry, at).ok()?;
        let mut entry = Bytes(&entry);
        let (start, expected, end) = (entry.u64()?, entry.u32()?, entry.u64()?);
        if end < start || end > self.section.directory - self.section.start {
            return None;
        }
        let mut bytes = vec![0; usize::try_from(end - start).ok()?];
        self.file.read_exact_at(&mut bytes, self.section.start + start).ok()?;
        (checksum(bucket, &bytes) == expected).then(|| Bucket::of(bytes)).flatten()
    }
}

impl Bucket {
    fn of(bytes: Vec<u8>) -> Option<Bucket> {
        let mut rest = Bytes(&bytes);
        let n_terms = if bytes.is_empty() { 0 } else { rest.count()? };
        let remainders = bytes.len() - rest.0.len();
        rest.take(n_terms.checked_mul(4)?)?;
        let lengths = bytes.len() - rest.0.len();
        Some(Bucket { n_terms, remainders, lengths, bytes })
    }

    fn remainder(&self, at: usize) -> u32 {
        let start = self.remainders + 4 * at;
        self.bytes.get(start..start + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn place(&self, remainder: u32) -> Option<usize> {
        (0..self.n_terms).find(|&at| self.remainder(at) == remainder)
    }

    fn lists(&self) -> Option<Vec<&[u8]>> {
        let mut bytes = Bytes(&self.bytes[self.lengths..]);
        let lengths: Option<Vec<usize>> = (0..self.n_terms).map(|_| bytes.count()).collect();
        lengths?.into_iter().map(|length| bytes.take(length)).collect()
    }
}

/// All terms of some buckets in order.
pub(super) struct Terms<'r> {
    reader: &'r PostingReader<'r>,
    next_buckets: Range<u64>,
    bucket: Option<Bucket>,
    at: usize,
    list_start: usize,
    length_at: usize,
}

impl<'r> Terms<'r> {
    pub(super) fn new(reader: &'r PostingReader<'r>, buckets: Range<u64>) -> Terms<'r> {
        let (next_buckets, bucket) = (buckets, None);
        Terms { reader, next_buckets, bucket, at: 0, list_start: 0, length_at: 0 }
    }

    /// The next term's key and postings (into `list`, emptied first); `Ok(None)` at the end, `Err` for a bad byte.
    pub(super) fn next(&mut self, list: &mut PostingList) -> Result<Option<u64>, Corrupt> {
        list.clear();
        loop {
            if let Some(bucket) = self.bucket.as_ref().filter(|b| self.at < b.n_terms) {
                let key = (self.next_buckets.start - 1) << REMAINDER_BITS
                    | u64::from(bucket.remainder(self.at));
                let mut lengths = Bytes(bucket.bytes.get(self.length_at..).ok_or(Corrupt)?);
                let length = lengths.count().ok_or(Corrupt)?;
                self.length_at = bucket.bytes.len() - lengths.0.len();
                let end = self.list_start.checked_add(length).ok_or(Corrupt)?;
                let bytes = bucket.bytes.get(self.list_start..end);
                read_list(bytes.ok_or(Corrupt)?, list).ok_or(Corrupt)?;
                self.list_start = end;
                self.at += 1;
                return Ok(Some(key));
            }
            if self.next_buckets.is_empty() {
                return Ok(None);
            }
            let bucket = self.reader.bucket(self.next_buckets.start).ok_or(Corrupt)?;
            self.enter(bucket).ok_or(Corrupt)?;
        }
    }

    fn enter(&mut self, bucket: Bucket) -> Option<()> {
        self.next_buckets.start += 1;
        self.at = 0;
        self.length_at = bucket.lengths;
        let mut lengths = Bytes(bucket.bytes.get(bucket.lengths..)?);
        for _ in 0..bucket.n_terms {
            lengths.count()?;
        }
        self.list_start = bucket.bytes.len() - lengths.0.len();
        self.bucket = Some(bucket);
        Some(())
    }
}

/// A byte is not what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Corrupt;

/// Have the buckets grown so full that a new directory is due?
pub(super) fn is_crowded(n_terms: u64, bits: u64) -> bool {
    n_terms >> bits > MAX_TERMS_PER_BUCKET && bits < MAX_BITS
}
