//! Postings in the making: gathered file by file, sorted into runs, merged into sections.
//!
//! A run is what fits the memory set aside for gathering, sorted by term and packed; runs and the sections of the index
//! that is being renewed are merged in one pass.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use super::format::{Bytes, put_bytes, put_number};
use super::postings::{self, List, Terms, Writer, Written};

/// Postings gathered before they are sorted into a run: 16 MB, and
/// as much again while they are sorted. Two threads with two fields stay under 130 MB.
const RUN_POSTINGS: usize = 1 << 20;

/// Sorted postings: per term the distance of its hash to the one before, and its list.
pub(super) struct Run(Vec<u8>);

/// Term, file, occurrences.
type Posting = (u64, u32, u32);

/// Gathers the postings of one field.
#[derive(Default)]
pub(super) struct Gathering {
    /// A term of a file may come in several parts.
    postings: Vec<Posting>,
    runs: Vec<Run>,
}

impl Gathering {
    /// Takes the hash of a term of a file and how often it occurs, or a part of that.
    #[inline]
    pub(super) fn add(&mut self, hash: u64, file: u32, count: u32) {
        self.postings.push((hash, file, count));
    }

    /// To be called between files: sorts and packs what was gathered, when it is much.
    pub(super) fn end_file(&mut self) {
        if self.postings.len() >= RUN_POSTINGS {
            self.end_run();
        }
    }

    fn end_run(&mut self) {
        let mut bytes = Vec::with_capacity(self.postings.len() * 4);
        let (mut last, mut list, mut packed) = (0, List::new(), Vec::new());
        for same in sorted(&self.postings).chunk_by(|a, b| a.0 == b.0) {
            let hash = same[0].0;
            list.clear();
            list.extend(same.iter().map(|&(_, file, count)| (file, count)));
            add_up(&mut list);
            packed.clear();
            postings::put_list(&mut packed, &list);
            put_number(&mut bytes, hash - last);
            put_bytes(&mut bytes, &packed);
            last = hash;
        }
        self.postings.clear();
        bytes.shrink_to_fit();
        self.runs.push(Run(bytes));
    }

    /// The runs.
    pub(super) fn finish(mut self) -> Vec<Run> {
        if !self.postings.is_empty() {
            self.end_run();
        }
        self.runs
    }
}

/// A pass of counting sort by so many bits of the hash leaves parts of 256 postings of a full run.
const FIRST_BITS: u32 = 12;

/// One number to compare: quicker than the parts one by one.
#[inline]
fn by_term_and_file(&(hash, file, _): &Posting) -> u128 {
    u128::from(hash) << 32 | u128::from(file)
}

/// The postings sorted by term and file. Hashes are spread evenly, so that parts of one start are short and stay in the cache.
fn sorted(postings: &[Posting]) -> Vec<Posting> {
    let part = |posting: &Posting| (posting.0 >> (u64::BITS - FIRST_BITS)) as usize;
    let mut ends = vec![0; 1 << FIRST_BITS];
    postings.iter().for_each(|posting| ends[part(posting)] += 1);
    let mut end = 0;
    for place in &mut ends {
        (*place, end) = (end, end + *place);
    }
    let mut sorted = vec![(0, 0, 0); postings.len()];
    for posting in postings {
        let place = &mut ends[part(posting)];
        sorted[*place] = *posting;
        *place += 1;
    }
    let mut start = 0;
    for end in ends {
        sorted[start..end].sort_unstable_by_key(by_term_and_file);
        start = end;
    }
    sorted
}

impl Run {
    fn hashes(&self) -> impl Iterator<Item = u64> + '_ {
        let (mut bytes, mut hash) = (Bytes(&self.0), 0);
        std::iter::from_fn(move || {
            hash += bytes.number()?;
            bytes.bytes()?;
            Some(hash)
        })
    }
}

/// Of every so many terms one is counted for [`n_terms`].
const SAMPLE: u64 = 64;

/// About how many different terms runs have. Hashes are spread evenly: the lowest ones are a fair sample.
pub(super) fn n_terms(runs: &[Run]) -> u64 {
    let is_sample = |hash: &u64| *hash < u64::MAX / SAMPLE;
    let mut sample: Vec<u64> =
        runs.iter().flat_map(|run| run.hashes().take_while(is_sample)).collect();
    sample.sort_unstable();
    sample.dedup();
    sample.len() as u64 * SAMPLE
}

/// Terms in order, from a run or from a section of an older index.
pub(super) enum Source<'s> {
    Run {
        bytes: Bytes<'s>,
        hash: u64,
        /// The list of the term it is at, packed.
        packed: &'s [u8],
    },
    /// With the new place of each file, `None` for those that are left out.
    Old {
        terms: Terms<'s>,
        places: &'s [Option<u32>],
        /// The list of the term it is at.
        list: List,
    },
}

impl<'s> Source<'s> {
    pub(super) fn run(run: &'s Run) -> Source<'s> {
        Source::Run { bytes: Bytes(&run.0), hash: 0, packed: &[] }
    }

    pub(super) fn old(terms: Terms<'s>, places: &'s [Option<u32>]) -> Source<'s> {
        Source::Old { terms, places, list: List::new() }
    }

    /// Goes on to the next term that has postings.
    fn next(&mut self, bits: u64) -> io::Result<Option<u64>> {
        match self {
            Source::Run { bytes, .. } if bytes.0.is_empty() => Ok(None),
            Source::Run { bytes, hash, packed } => {
                *hash += bytes.number().ok_or_else(corrupt)?;
                *packed = bytes.bytes().ok_or_else(corrupt)?;
                Ok(Some(postings::key(*hash, bits)))
            }
            Source::Old { terms, places, list } => loop {
                let Some(key) = terms.next(list).map_err(|_| corrupt())? else { return Ok(None) };
                list.retain_mut(|(file, _)| match places.get(*file as usize).copied().flatten() {
                    Some(place) => {
                        *file = place;
                        true
                    }
                    None => false,
                });
                if !list.is_empty() {
                    return Ok(Some(key));
                }
            },
        }
    }

    /// The list of the term it is at, as it is written.
    fn packed(&self) -> Option<&'s [u8]> {
        match self {
            Source::Run { packed, .. } => Some(packed),
            Source::Old { .. } => None,
        }
    }

    /// Appends the postings of the term it is at.
    fn append(&self, to: &mut List) -> io::Result<()> {
        match self {
            Source::Run { packed, .. } => postings::read_list(packed, to).ok_or_else(corrupt),
            Source::Old { list, .. } => {
                to.extend_from_slice(list);
                Ok(())
            }
        }
    }
}

fn corrupt() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Merges sources into a section; also how many terms it has.
///
/// # Errors
/// `InvalidData` for an older index that is not what was written.
pub(super) fn merge(mut sources: Vec<Source<'_>>, bits: u64) -> io::Result<(Written, u64)> {
    let mut writer = Writer::new(bits);
    let mut next = BinaryHeap::new();
    for (k, source) in sources.iter_mut().enumerate() {
        next.extend(source.next(bits)?.map(|key| Reverse((key, k))));
    }
    let (mut n_terms, mut merged) = (0, List::new());
    while let Some(Reverse((key, first))) = next.pop() {
        let packed = sources[first].packed();
        merged.clear();
        sources[first].append(&mut merged)?;
        next.extend(sources[first].next(bits)?.map(|key| Reverse((key, first))));
        let mut is_alone = true;
        while let Some(&Reverse((_, k))) = next.peek().filter(|Reverse((other, _))| *other == key) {
            is_alone = false;
            next.pop();
            sources[k].append(&mut merged)?;
            next.extend(sources[k].next(bits)?.map(|key| Reverse((key, k))));
        }
        match packed.filter(|_| is_alone) {
            // Most terms are rare, and in one run only.
            Some(packed) => writer.push_packed(key, packed),
            None => {
                // A stable sort makes use of the order that the lists have.
                merged.sort_by_key(|&(file, _)| file);
                add_up(&mut merged);
                writer.push(key, &merged);
            }
        }
        n_terms += 1;
    }
    Ok((writer.finish(), n_terms))
}

/// What a list sorted by file says of one file is one.
fn add_up(list: &mut List) {
    list.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 = kept.1.saturating_add(next.1);
        }
        is_same
    });
}
