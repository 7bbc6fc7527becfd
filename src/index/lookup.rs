//! A project surveyed with its index: what changed is read, the rest is looked up.
//!
//! Gives the same corpus, history and warnings as `scan` and `history`, or nothing at all.

use super::IndexedSurvey;
use super::listing::{self, IndexedListing};
use super::postings::{PostingList, PostingReader};
use super::stamp::{self, RACY};
use super::store::{self, IndexFile, Opened};
use super::tables::{FileContent, Tables};
use super::{IndexScope, freshness, history_cache};
use crate::core::search::corpus::{Corpus, Counts, Document, DocumentKind, Posting};
use crate::core::search::query::{Identifier, Query};
use crate::core::search::terms;
use crate::project::git;
use crate::project::root::Root;
use crate::project::scan::{self, ScanCounts};

/// Surveys. `None`: not possible with this index; do without.
pub(super) fn survey(
    mut index: Opened,
    place: &IndexFile,
    root: &Root,
    query: &Query,
    task: &IndexScope<'_>,
) -> Option<IndexedSurvey> {
    let known = index.tables.past.take();
    let tables = &index.tables;
    let known = known.filter(|_| {
        tables.watch.environment == git::environment() && freshness::is_same(&tables.watch.settings)
    });
    let past = history_cache::start(root, known.as_ref(), task.extensions)?;
    let files = stamp::all(&root.path, &tables.paths);
    let listing = listing::listing(root, task.extensions, tables)?;
    let Some(fields) = IndexFields::read(&index, query) else {
        // A byte is not what was written: who renews the index must not take it over.
        let _ = store::remove(&place.path);
        return None;
    };

    let again = Rescan::of(tables, &files, &listing, &fields.suspects);
    let found = scan::count(&root.path, &again.paths, query, task.max_file_bytes);
    let is_stale = listing.is_stale || past.is_stale() || again.is_stale;
    let mut warnings = listing.warnings.clone();
    warnings.extend(again.warnings(tables, &found, task.max_file_bytes));
    let corpus = assemble(tables, query, &again, found, &fields);
    let (history, cut) = past.finish(known, &corpus.documents, root);
    warnings.extend(cut);
    Some(IndexedSurvey { corpus, history, warnings, is_stale })
}

/// The postings of a query, by place in the tables.
struct IndexFields {
    body: Vec<PostingList>,
    identifiers: Vec<PostingList>,
    /// Files that may hold an identifier of the query spelled as one word.
    suspects: PostingList,
}

impl IndexFields {
    fn read(index: &Opened, query: &Query) -> Option<IndexFields> {
        let [body, identifiers] = index.header.sections;
        let body = PostingReader::new(&index.file, body)?;
        let identifiers = PostingReader::new(&index.file, identifiers)?;
        let terms = |reader: &PostingReader<'_>| -> Option<Vec<PostingList>> {
            query.terms.iter().map(|term| reader.find(terms::hash(&term.stem))).collect()
        };
        let mut suspects = PostingList::new();
        for identifier in query.identifiers.iter().filter(|identifier| !identifier.is_joined) {
            if let Some(stem) = terms::only_word(&identifier.name) {
                suspects.extend(body.find(terms::hash(&stem))?);
            }
        }
        let find = |identifier: &Identifier| identifiers.find(terms::hash(&identifier.name));
        let whole: Option<_> = query.identifiers.iter().map(find).collect();
        Some(IndexFields { body: terms(&body)?, identifiers: whole?, suspects })
    }
}

/// The files to read, in order of path, and what the others are.
struct Rescan<'a> {
    paths: Vec<&'a [u8]>,
    /// Per file of the tables: is what they say about it true now?
    holds: Vec<bool>,
    is_stale: bool,
}

impl<'a> Rescan<'a> {
    fn of(
        tables: &'a Tables,
        stamps: &[u64],
        listing: &'a IndexedListing,
        suspects: &PostingList,
    ) -> Rescan<'a> {
        let is_same = |k: usize| {
            let stamp = tables.files[k].stamp;
            stamp != RACY && stamp == stamps[k]
        };
        let all = 0..tables.files.len();
        let is_stale = !listing.added.is_empty()
            || !all.clone().filter(|&k| listing.is_listed[k]).all(is_same);
        let is_known = |k: usize| is_same(k) && tables.files[k].content != FileContent::Unknown;
        let mut holds: Vec<bool> = all.map(is_known).collect();
        for &(file, _) in suspects {
            if let Some(holds) = holds.get_mut(file as usize) {
                *holds = false;
            }
        }
        let old = (0..holds.len()).filter(|&k| listing.is_listed[k] && !holds[k]);
        let mut paths: Vec<&[u8]> = old.map(|k| tables.paths.get(k)).collect();
        paths.extend(listing.added.iter().map(Vec::as_slice));
        paths.sort_unstable();
        for (holds, is_listed) in holds.iter_mut().zip(&listing.is_listed) {
            *holds &= is_listed;
        }
        Rescan { paths, holds, is_stale }
    }

    /// Those of `scan`, about files read now and files that are known.
    fn warnings(
        &self,
        tables: &Tables,
        found: &ScanCounts,
        limit: u64,
    ) -> Vec<crate::project::Warning> {
        let path = |&k: &usize| self.paths[k];
        let mut too_large: Vec<&[u8]> = found.too_large.iter().map(path).collect();
        let known = (0..self.holds.len())
            .filter(|&k| self.holds[k] && tables.files[k].content == FileContent::TooLarge);
        too_large.extend(known.map(|k| tables.paths.get(k)));
        too_large.sort_unstable();
        scan::warnings(too_large, found.unreadable.iter().map(path).collect(), limit)
    }
}

/// Not a document.
const NONE: u32 = u32::MAX;

/// Puts documents from the tables and documents read now in order of their paths, and their counts together.
fn assemble(
    tables: &Tables,
    query: &Query,
    again: &Rescan<'_>,
    found: ScanCounts,
    fields: &IndexFields,
) -> Corpus {
    let mut corpus = Corpus::new(query);
    let mut places = vec![NONE; tables.paths.len()];
    let is_document = |(_, counts): &(usize, Counts)| counts.kind != DocumentKind::Binary;
    let mut fresh = found.counts.into_iter().filter(is_document).peekable();
    for (k, file) in tables.files.iter().enumerate() {
        let FileContent::Text(kind) = file.content else { continue };
        if again.holds[k] && kind != DocumentKind::Binary {
            let path = tables.paths.get(k);
            while let Some((at, counts)) = fresh.next_if(|(at, _)| again.paths[*at] < path) {
                corpus.push(again.paths[at].to_vec(), &counts);
            }
            places[k] = corpus.documents.len() as u32;
            corpus.documents.push(Document { path: path.to_vec(), length: file.length, kind });
        }
    }
    for (at, counts) in fresh {
        corpus.push(again.paths[at].to_vec(), &counts);
    }
    for (list, own) in fields.body.iter().zip(&mut corpus.body) {
        merge(list, &places, own);
    }
    for (list, own) in fields.identifiers.iter().zip(&mut corpus.identifiers) {
        merge(list, &places, own);
    }
    corpus
}

/// Adds looked-up postings to those of files read now.
fn merge(list: &PostingList, places: &[u32], own: &mut Vec<Posting>) {
    let is_read = !own.is_empty();
    own.reserve(list.len());
    for &(file, count) in list {
        let document = places.get(file as usize).copied().unwrap_or(NONE);
        if document != NONE {
            own.push(Posting { document, count });
        }
    }
    if is_read {
        own.sort_unstable();
    }
}
