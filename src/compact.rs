//! A whole compaction: settings and a transcript in, edits and a log out. Puts the core, the archive and a model together.
//!
//! The parts are plain functions of [`crate::core::compact`], re-exported here.

use std::path::Path;
use std::time::SystemTime;

pub use crate::core::compact::*;

use crate::config::compact::{CompactSettings, Policy};
use crate::render;
use crate::transcript::archive::{self, Removed};
use local::local;
use pair::{Pairing, pair};
use plan::Plan;
use run::{Compaction, Refusal, finish};
use transcript::Transcript;

/// A compaction with its log.
#[derive(Debug)]
pub struct Compacted {
    /// What to change.
    pub compaction: Compaction,
    /// Lines for a debug log.
    pub log: Vec<String>,
    /// What a model had to do with it; empty without one. Ends the line that the person sees.
    pub model_note: String,
}

/// Compacts a transcript. With an archive folder, what goes is written there first. O(bytes).
///
/// # Errors
/// Why nothing is changed.
pub fn compact(
    transcript: &Transcript<'_>,
    settings: &CompactSettings,
    archive_folder: Option<&Path>,
) -> Result<Compacted, Refusal> {
    let pairing = pair(transcript);
    let plan = match settings.policy {
        Policy::Local | Policy::Jev | Policy::JevSeed => {
            local(transcript, &pairing, &settings.local)
        }
    };
    let archived = archived(&pairing, &plan, archive_folder);
    let compaction = finish(transcript, &pairing, plan, &archived, settings.min_reduction)?;
    let log = vec![render::compact::decisions(&pairing, &compaction.plan)];
    Ok(Compacted { compaction, log, model_note: String::new() })
}

/// Writes what the plan removes; the id of each result that the archive now has. Without a folder, and when it cannot
/// be written, no result has one, and no note promises a way back.
fn archived(pairing: &Pairing<'_, '_>, plan: &Plan, folder: Option<&Path>) -> Vec<Option<String>> {
    let none = vec![None; pairing.pairs.len()];
    let Some(folder) = folder else { return none };
    let changed = || pairing.pairs.iter().zip(&plan.decisions).map(|(p, d)| (p, d.is_change()));
    let removed: Vec<Removed<'_>> = changed()
        .filter(|(_, is_change)| *is_change)
        .map(|(p, _)| Removed { tool: &p.call.tool, text: &p.result.text })
        .collect();
    if archive::store(folder, &removed, SystemTime::now()).is_err() {
        return none;
    }
    let id = |(pair, is_change): (&pair::Pair<'_, '_>, bool)| {
        is_change.then(|| archive::id(&pair.result.text))?
    };
    changed().map(id).collect()
}
