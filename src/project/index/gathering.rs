//! Postings in the making: gathered file by file, by parts of the range of hashes, and sorted into a section part by part.
//!
//! A part fits the cache when it is sorted, and parts come in the order of the section: nothing is merged.

use std::io;

use super::postings::{self, List, Terms, Writer, Written};
use crate::project::files::MAX_FILES;

/// A term's hash less the bits of its part, the file, and how often it occurs there: one number, to be sorted as it is.
type Posting = u64;

/// 256 parts: of Linux (25 million postings in two fields) one has 50,000, or 400 kB.
const PART_BITS: u32 = 8;
const N_PARTS: usize = 1 << PART_BITS;

const FILE_BITS: u32 = 19;
const COUNT_BITS: u32 = 5;
const _: () = assert!(MAX_FILES <= 1 << FILE_BITS);
const _: () = assert!(postings::HASH_BITS - PART_BITS + FILE_BITS + COUNT_BITS == Posting::BITS);

/// Where the bits of the hash start.
const TERM_SHIFT: u32 = FILE_BITS + COUNT_BITS;

/// Highest count of a posting; more is several postings.
const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// Gathers the postings of one field in one thread.
pub(super) struct Gathering {
    parts: Vec<Vec<Posting>>,
}

impl Default for Gathering {
    fn default() -> Gathering {
        Gathering { parts: vec![Vec::new(); N_PARTS] }
    }
}

impl Gathering {
    /// Takes the hash of a term of a file and how often it occurs, or a part of that.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, file: u32, count: u32) {
        let part = &mut self.parts[(hash >> (u64::BITS - PART_BITS)) as usize];
        push(part, hash, file, count);
    }
}

#[inline]
fn push(part: &mut Vec<Posting>, hash: u64, file: u32, mut count: u32) {
    let posting = hash_bits(hash) | u64::from(file) << COUNT_BITS;
    while count > MAX_COUNT {
        part.push(posting | u64::from(MAX_COUNT));
        count -= MAX_COUNT;
    }
    part.push(posting | u64::from(count));
}

/// What a posting has of a hash.
#[inline]
fn hash_bits(hash: u64) -> Posting {
    hash << PART_BITS >> TERM_SHIFT << TERM_SHIFT
}

/// The hash of the term of a posting of a part.
fn hash(part: usize, posting: Posting) -> u64 {
    (part as u64) << (u64::BITS - PART_BITS) | posting >> TERM_SHIFT << TERM_SHIFT >> PART_BITS
}

/// About how many different terms there are. Hashes are spread evenly: one part stands for all.
pub(super) fn n_terms(gathered: &[Gathering]) -> u64 {
    let first = gathered.iter().flat_map(|own| &own.parts[0]);
    let mut terms: Vec<u64> = first.map(|&posting| hash(0, posting)).collect();
    terms.sort_unstable();
    terms.dedup();
    (terms.len() * N_PARTS) as u64
}

/// The section of the index that is being renewed.
pub(super) struct Old<'o> {
    terms: Terms<'o>,
    /// The new place of each file, `None` for those that are left out.
    places: &'o [Option<u32>],
    bits: u64,
    /// The term it is at, and its postings.
    key: Option<u64>,
    list: List,
}

impl<'o> Old<'o> {
    /// # Errors
    /// `InvalidData` when it is not what was written, here and in [`section`].
    pub(super) fn new(
        terms: Terms<'o>,
        places: &'o [Option<u32>],
        bits: u64,
    ) -> io::Result<Old<'o>> {
        let mut old = Old { terms, places, bits, key: None, list: List::new() };
        old.go_on()?;
        Ok(old)
    }

    fn go_on(&mut self) -> io::Result<()> {
        let next = self.terms.next(&mut self.list);
        self.key = next.map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        Ok(())
    }

    /// Appends the postings of a part; parts are to be taken in order.
    fn take(&mut self, part: usize, to: &mut Vec<Posting>) -> io::Result<()> {
        while let Some(key) = self.key {
            let hash = postings::hash_of(key, self.bits);
            if hash >> (u64::BITS - PART_BITS) != part as u64 {
                break;
            }
            for &(file, count) in &self.list {
                if let Some(place) = self.places.get(file as usize).copied().flatten() {
                    push(to, hash, place, count);
                }
            }
            self.go_on()?;
        }
        Ok(())
    }
}

/// A section of what was gathered and what there was; also how many terms it has.
///
/// # Errors
/// `InvalidData` for an older index that is not what was written.
pub(super) fn section(
    mut gathered: Vec<Gathering>,
    mut old: Option<Old<'_>>,
    bits: u64,
) -> io::Result<(Written, u64)> {
    // What the index cannot tell apart must not be apart when it is sorted.
    let told_apart = hash_bits(postings::hash_of(postings::key(u64::MAX, bits), bits));
    let cut = told_apart | ((1 << TERM_SHIFT) - 1);
    let mut writer = Writer::new(bits);
    let (mut all, mut sorted, mut list) = (Vec::new(), Vec::new(), List::new());
    let mut n_terms = 0;
    for part in 0..N_PARTS {
        all.clear();
        for own in &mut gathered {
            // The memory is needed for what is written.
            let own = std::mem::take(&mut own.parts[part]);
            all.extend(own.iter().map(|posting| posting & cut));
        }
        if let Some(old) = &mut old {
            old.take(part, &mut all)?;
        }
        sort(&all, &mut sorted);
        for same in sorted.chunk_by(|a, b| a >> TERM_SHIFT == b >> TERM_SHIFT) {
            list.clear();
            same.iter().for_each(|&posting| add_up(&mut list, posting));
            writer.push(postings::key(hash(part, same[0]), bits), &list);
            n_terms += 1;
        }
    }
    Ok((writer.finish(), n_terms))
}

/// Appends a posting, or adds it to the last one when that is of the same file.
fn add_up(list: &mut List, posting: Posting) {
    let file = (posting >> COUNT_BITS) as u32 & ((1 << FILE_BITS) - 1);
    let count = posting as u32 & MAX_COUNT;
    match list.last_mut() {
        Some(last) if last.0 == file => last.1 = last.1.saturating_add(count),
        _ => list.push((file, count)),
    }
}

/// A pass of counting sort by so many bits leaves slices of 200 postings of a large project's part.
const PASS_BITS: u32 = 8;

fn sort(postings: &[Posting], sorted: &mut Vec<Posting>) {
    let slice = |posting: Posting| (posting >> (Posting::BITS - PASS_BITS)) as usize;
    let mut ends = [0; 1 << PASS_BITS];
    postings.iter().for_each(|&posting| ends[slice(posting)] += 1);
    let mut end = 0;
    for place in &mut ends {
        (*place, end) = (end, end + *place);
    }
    sorted.resize(postings.len(), 0);
    for &posting in postings {
        let place = &mut ends[slice(posting)];
        sorted[*place] = posting;
        *place += 1;
    }
    let mut start = 0;
    for end in ends {
        sorted[start..end].sort_unstable();
        start = end;
    }
}
