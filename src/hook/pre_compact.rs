//! `PreCompact` and `SessionStart` after a compaction, where the host writes a summary: what summaries lose is said before
//! and after it. Where the function hook has answered there is no summary, and nothing is said.

use std::path::Path;

use super::{Reply, wire};
use crate::core::compact::brief::{Brief, brief};
use crate::core::compact::pair::pair;
use crate::core::compact::transcript::Transcript;
use crate::transcript;

/// Larger files are left alone, in bytes: a summary must not wait for them.
const MAX_FILE_BYTES: u64 = 200 << 20;
/// A live conversation with so many calls was not summarized.
const CALLS_WITHOUT_SUMMARY: usize = 4;

/// `PreCompact`: instructions for the summarizer, as plain text.
#[must_use]
pub fn before_summary(input: &wire::Input) -> Reply {
    let brief = read(input, |segments| segments.last().map(brief));
    Reply { output: brief.and_then(|brief| brief.instructions()), ..Reply::silent() }
}

/// `SessionStart` after a compaction: a reminder, unless the conversation is still there.
#[must_use]
pub fn after_summary(input: &wire::Input) -> Reply {
    let brief = read(input, |segments| {
        let [.., before, live] = segments else { return None };
        (pair(live).pairs.len() < CALLS_WITHOUT_SUMMARY).then(|| brief(before))
    });
    let Some(reminder) = brief.and_then(|brief| brief.reminder()) else { return Reply::silent() };
    match wire::start_output(&reminder) {
        Ok(output) => Reply { output: Some(output), ..Reply::silent() },
        Err(error) => Reply::failed(format!("cannot write the reminder: {error}")),
    }
}

/// What the file of the conversation says. A file that is missing or cannot be read says nothing.
fn read(input: &wire::Input, about: impl Fn(&[Transcript<'_>]) -> Option<Brief>) -> Option<Brief> {
    let path: &Path = input.transcript_path.as_deref()?;
    let metadata = std::fs::metadata(path).ok()?;
    // A pipe would not end.
    if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let documents = transcript::read_segments(&bytes).ok()?;
    let segments: Vec<Transcript<'_>> = documents.into_iter().map(|d| d.transcript).collect();
    about(&segments)
}
