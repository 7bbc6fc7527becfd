//! Postings in the making: gathered file by file, by parts of the range of hashes, and sorted into a section part by part.
//!
//! A part fits the cache when it is sorted, and parts come in the order of the section: nothing is merged. What is taken
//! over from an older index is gathered again.

use std::ops::Range;

use super::postings::{self, Corrupt, PostingList, PostingReader, Terms, Writer, Written};
use crate::core::search::terms::MAX_TEXT_BYTES;
use crate::project::files::MAX_FILES;

/// A term's hash less the bits of its part, the file, and how often it occurs there: one number, to be sorted as it is.
type HashedPosting = u64;

/// 256 parts: of Linux (25 million postings in two fields) one has 50,000, or 400 kB.
const PART_BITS: u32 = 8;
const N_PARTS: usize = 1 << PART_BITS;

const FILE_BITS: u32 = 19;
const COUNT_BITS: u32 = 5;
const _: () = assert!(MAX_FILES <= 1 << FILE_BITS);
const _: () =
    assert!(postings::HASH_BITS - PART_BITS + FILE_BITS + COUNT_BITS == HashedPosting::BITS);

/// Where the bits of the hash start.
const TERM_SHIFT: u32 = FILE_BITS + COUNT_BITS;

/// Highest count of a posting; more is several postings.
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// Postings of one part, in pieces: what is there is not copied when there is more.
#[derive(Default, Clone)]
struct HashPart {
    full: Vec<Vec<HashedPosting>>,
    last: Vec<HashedPosting>,
}

/// Postings of a piece: 32 kB. Smaller ones make the allocator ask the system for each.
const PIECE: usize = 4_096;

impl HashPart {
    #[inline]
    fn push(&mut self, posting: HashedPosting) {
        if self.last.len() == PIECE {
            self.full.push(std::mem::replace(&mut self.last, Vec::with_capacity(PIECE)));
        }
        self.last.push(posting);
    }

    fn pieces(&self) -> impl Iterator<Item = &Vec<HashedPosting>> {
        self.full.iter().chain([&self.last])
    }
}

/// Gathers the postings of one field in one thread.
pub(super) struct PostingBuffer {
    parts: Vec<HashPart>,
}

impl Default for PostingBuffer {
    fn default() -> PostingBuffer {
        PostingBuffer { parts: vec![HashPart::default(); N_PARTS] }
    }
}

impl PostingBuffer {
    /// Takes the hash of a term of a file and how often it occurs, or a part of that.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, file: u32, count: u32) {
        let part = &mut self.parts[(hash >> (u64::BITS - PART_BITS)) as usize];
        let posting = hash_bits(hash) | u64::from(file) << COUNT_BITS;
        let n_full = count.saturating_sub(1) / MAX_COUNT;
        // The rest comes first: what is gathered in order is sorted then.
        part.push(posting | u64::from(count - n_full * MAX_COUNT));
        (0..n_full).for_each(|_| part.push(posting | u64::from(MAX_COUNT)));
    }

    /// Bytes of the postings of a unit.
    pub(super) fn bytes(&self, unit: Unit) -> usize {
        let pieces = self.parts[unit.parts()].iter().flat_map(HashPart::pieces);
        pieces.map(|piece| size_of_val(piece.as_slice())).sum()
    }
}

/// What a posting has of a hash.
#[inline]
fn hash_bits(hash: u64) -> HashedPosting {
    hash << PART_BITS >> TERM_SHIFT << TERM_SHIFT
}

/// The hash of the term of a posting of a part.
fn hash(part: usize, posting: HashedPosting) -> u64 {
    (part as u64) << (u64::BITS - PART_BITS) | posting >> TERM_SHIFT << TERM_SHIFT >> PART_BITS
}

/// Terms that are counted before [`n_terms`] guesses from them: it is off by an eighth then, and a bucket may have four times
/// as many terms as it should.
const ENOUGH: u64 = 64;

/// About how many different terms there are. Hashes are spread evenly: a few parts stand for all, where they are not empty.
pub(super) fn n_terms(gathered: &[PostingBuffer]) -> u64 {
    let mut terms = 0;
    for (part, n_parts) in (0..N_PARTS).zip(1..) {
        terms += n_terms_of(gathered, part);
        if terms >= ENOUGH {
            return terms * N_PARTS as u64 / n_parts;
        }
    }
    terms
}

fn n_terms_of(gathered: &[PostingBuffer], part: usize) -> u64 {
    let postings = gathered.iter().flat_map(|own| own.parts[part].pieces()).flatten();
    let mut terms: Vec<u64> = postings.map(|posting| posting >> TERM_SHIFT).collect();
    terms.sort_unstable();
    terms.dedup();
    terms.len() as u64
}

/// Buckets of a section that one thread makes, of whole parts.
#[derive(Clone, Copy)]
pub(super) struct Unit {
    bits: u64,
    at: u64,
}

/// 16 units: enough to be shared out evenly, few enough to reuse the memory that sorting needs.
const UNIT_BITS: u64 = 4;

impl Unit {
    /// Of a section with 2^`bits` buckets, in order.
    pub(super) fn all(bits: u64) -> impl Iterator<Item = Unit> {
        (0..1 << bits.min(UNIT_BITS)).map(move |at| Unit { bits, at })
    }

    /// Its share of 2^`bits` things.
    fn share(self, bits: u64) -> Range<u64> {
        let each = bits - self.bits.min(UNIT_BITS);
        self.at << each..(self.at + 1) << each
    }

    fn buckets(self) -> Range<u64> {
        self.share(self.bits)
    }

    fn parts(self) -> Range<usize> {
        let parts = self.share(PART_BITS.into());
        parts.start as usize..parts.end as usize
    }
}

/// The section of the index that is being renewed.
pub(super) struct Old<'o> {
    pub(super) reader: PostingReader<'o>,
    /// The new place of each file, `None` for those that are left out.
    pub(super) places: &'o [Option<u32>],
}

impl Old<'_> {
    fn gather(&self, unit: Unit) -> Result<PostingBuffer, Corrupt> {
        let (mut gathered, mut list) = (PostingBuffer::default(), PostingList::new());
        let mut terms = Terms::new(&self.reader, unit.buckets());
        while let Some(key) = terms.next(&mut list)? {
            let hash = postings::hash_of(key, unit.bits);
            for &(file, count) in &list {
                if u64::from(count) > MAX_TEXT_BYTES {
                    return Err(Corrupt);
                }
                if let Some(place) = self.places.get(file as usize).copied().flatten() {
                    gathered.add(hash, place, count);
                }
            }
        }
        Ok(gathered)
    }
}

/// The buckets of a unit, of what was gathered and what there was.
pub(super) fn buckets(
    gathered: &[PostingBuffer],
    old: Option<&Old<'_>>,
    unit: Unit,
) -> Result<Written, Corrupt> {
    let kept = old.map(|old| old.gather(unit)).transpose()?;
    let gathered = || gathered.iter().chain(&kept);
    // What the index cannot tell apart must not be apart when it is sorted.
    let told_apart = postings::hash_of(postings::key(u64::MAX, unit.bits), unit.bits);
    let cut = hash_bits(told_apart) | ((1 << TERM_SHIFT) - 1);
    let mut writer = Writer::new(unit.buckets());
    let (mut sorted, mut list) = (Vec::new(), PostingList::new());
    for part in unit.parts() {
        let pieces = || gathered().flat_map(|own| own.parts[part].pieces()).flatten();
        sort(|| pieces().map(|posting| posting & cut), &mut sorted);
        for same in sorted.chunk_by(|a, b| a >> TERM_SHIFT == b >> TERM_SHIFT) {
            list.clear();
            same.iter().for_each(|&posting| add_up(&mut list, posting));
            writer.push(postings::key(hash(part, same[0]), unit.bits), &list);
        }
    }
    Ok(writer.finish())
}

/// Appends a posting, or adds it to the last one when that is of the same file.
fn add_up(list: &mut PostingList, posting: HashedPosting) {
    let file = (posting >> COUNT_BITS) as u32 & ((1 << FILE_BITS) - 1);
    let count = posting as u32 & MAX_COUNT;
    match list.last_mut() {
        Some(last) if last.0 == file => last.1 = last.1.saturating_add(count),
        _ => list.push((file, count)),
    }
}

/// A pass of counting sort by so many bits leaves slices of 200 postings of a large project's part.
const PASS_BITS: u32 = 8;

fn sort<I: Iterator<Item = HashedPosting>>(
    postings: impl Fn() -> I,
    sorted: &mut Vec<HashedPosting>,
) {
    let slice = |posting: HashedPosting| (posting >> (HashedPosting::BITS - PASS_BITS)) as usize;
    let mut ends = [0; 1 << PASS_BITS];
    postings().for_each(|posting| ends[slice(posting)] += 1);
    let mut end = 0;
    for place in &mut ends {
        (*place, end) = (end, end + *place);
    }
    sorted.resize(end, 0);
    postings().for_each(|posting| {
        let place = &mut ends[slice(posting)];
        sorted[*place] = posting;
        *place += 1;
    });
    let mut start = 0;
    for end in ends {
        sorted[start..end].sort_unstable();
        start = end;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs::File;

    use proptest::prelude::*;

    use super::*;
    use crate::index::format::Section;

    type OldPostings = BTreeMap<(u64, u32), u32>;

    /// A section as it stands in a file, and how many terms it has.
    fn written(
        gathered: &[PostingBuffer],
        old: Option<&Old<'_>>,
        bits: u64,
    ) -> (File, Section, u64) {
        let units = Unit::all(bits).map(|unit| buckets(gathered, old, unit).unwrap());
        let buckets: Vec<Written> = units.collect();
        let mut bytes: Vec<u8> =
            buckets.iter().flat_map(|written| &written.bytes).copied().collect();
        let section = Section { start: 0, directory: bytes.len() as u64, bits };
        bytes.extend(postings::directory(&buckets));
        let path = std::env::temp_dir().join(format!("gathering-{}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        let file = File::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        (file, section, buckets.iter().map(|written| written.n_terms).sum())
    }

    fn read((file, section, _): &(File, Section, u64)) -> PostingReader<'_> {
        PostingReader::new(file, *section).unwrap()
    }

    /// Every posting, by look-ups of its term.
    fn look_up(reader: &PostingReader<'_>, expected: &OldPostings) -> OldPostings {
        let hashes = expected.keys().map(|&(hash, _)| hash);
        let lists = hashes.map(|hash| (hash, reader.find(hash).unwrap()));
        let postings = |(hash, list): (u64, PostingList)| {
            list.into_iter().map(move |(file, count)| ((hash, file), count))
        };
        lists.flat_map(postings).collect()
    }

    /// Like the hashes of words, of 48 bits: some the same, some of one part. 32 bits tell them apart.
    fn hashes() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..6u32).prop_map(|(random, kind)| match kind {
            0 => 0,
            1 => (random % 4) << 62,
            2 => random >> 58 << 32,
            3 => !0xffff,
            _ => random & !0xffff,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_gathered_is_found(
            first in prop::collection::vec((hashes(), 0..9u32, 1..99u32), 0..99),
            second in prop::collection::vec((hashes(), 0..9u32, 1..99u32), 0..99),
            // Below and above what is told apart by the parts and by 48 bits.
            bits in prop::sample::select(vec![0, 1, 3, 4, 7, 9, 17]),
            shift in 0..3usize,
        ) {
            let mut was = OldPostings::new();
            let mut halves = [PostingBuffer::default(), PostingBuffer::default()];
            for (at, &(hash, file, count)) in first.iter().enumerate() {
                halves[at % 2].add(hash, file + MAX_FILES as u32 - 9, count);
                *was.entry((hash, file + MAX_FILES as u32 - 9)).or_default() += count;
            }
            let index = written(&halves, None, bits);
            prop_assert_eq!(look_up(&read(&index), &was), was.clone());

            // Of nine files the first ones are gone, the others have moved.
            let mut places = vec![None; MAX_FILES];
            for file in shift..9 {
                places[MAX_FILES - 9 + file] = Some((file - shift) as u32);
            }
            let mut is = OldPostings::new();
            for (&(hash, file), &count) in &was {
                if let Some(place) = places[file as usize] {
                    is.insert((hash, place), count);
                }
            }
            let mut fresh = PostingBuffer::default();
            for &(hash, file, count) in &second {
                fresh.add(hash, 9 + file, count);
                *is.entry((hash, 9 + file)).or_default() += count;
            }
            let old = Old { reader: read(&index), places: &places };
            let renewed = written(&[fresh], Some(&old), bits);
            prop_assert_eq!(look_up(&read(&renewed), &is), is.clone());
            let terms: BTreeSet<u64> = is.keys().map(|&(hash, _)| hash).collect();
            prop_assert_eq!(renewed.2, terms.len() as u64);
        }
    }
}
