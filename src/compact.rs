//! A whole compaction: settings and a transcript in, edits and a log out. Combines the core, the
//! archive and a model.
//!
//! The parts are plain functions of [`crate::core::compact`], re-exported here.

use std::path::Path;
use std::time::SystemTime;

pub mod call_judge;
pub mod policies;

use crate::cache::archive::{self, Removed};
use crate::config::compact::{CompactSettings, Policy};
use crate::core::compact::local::{fixed_decisions, local, original_size, pinned_only};
use crate::core::compact::pair::{Pairing, pair};
use crate::core::compact::plan::{Decision, Plan};
use crate::core::compact::run::{Compaction, Refusal, finish};
use crate::core::compact::scored::ask::{Answers, Judge, JudgeOptions, ask};
use crate::core::compact::scored::decide::{RankOptions, by_rank, by_threshold};
use crate::core::compact::scored::question::Wording;
use crate::core::compact::transcript::Transcript;
use crate::render;
use crate::transcript::state_wire::RENDER;

/// A compaction with its log.
#[derive(Debug)]
pub struct Compacted {
    /// What to change.
    pub compaction: Compaction,
    /// Lines for a debug log.
    pub log: Vec<String>,
    /// What a model contributed; empty without one. Ends the line that the user sees.
    pub model_note: String,
}

/// Compacts a transcript. With an archive folder, what is removed is written there first. Policies
/// that ask a model need a judge. O(bytes).
///
/// # Errors
/// Why nothing is changed.
pub fn compact(
    transcript: &Transcript<'_>,
    settings: &CompactSettings,
    archive_folder: Option<&Path>,
    asker: Option<&dyn Judge>,
) -> Result<Compacted, Refusal> {
    let pairing = pair(transcript);
    let (plan, model_note) = match settings.policy {
        Policy::Local => (local(transcript, &pairing, &settings.local), String::new()),
        Policy::Jev | Policy::JevSeed => asked(transcript, &pairing, settings, asker)?,
    };
    let archived = archived(&pairing, &plan, archive_folder);
    let compaction = finish(transcript, &pairing, plan, &archived, settings.min_reduction)?;
    let log = vec![render::compact::decisions(&pairing, &compaction.plan)];
    Ok(Compacted { compaction, log, model_note })
}

/// The plan of a policy that asks a model, and what the user is told about it.
fn asked(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    settings: &CompactSettings,
    asker: Option<&dyn Judge>,
) -> Result<(Plan, String), Refusal> {
    let no_key = || Refusal::Model("no key for Jev: set TYPESAFE_API_KEY".to_owned());
    let asker = asker.ok_or_else(no_key)?;
    let is_seed = settings.policy == Policy::JevSeed;
    let fixed_decisions = match is_seed {
        true => pinned_only(transcript, pairing, settings.local.pin),
        false => fixed_decisions(transcript, pairing, settings.local.pin),
    };
    let options = JudgeOptions {
        wording: if is_seed { Wording::Seed } else { Wording::Criteria },
        max_state_tokens: settings.max_state_tokens,
        max_request_tokens: settings.max_request_tokens,
        recent_messages: settings.local.pin.recent_messages,
        goal: settings.goal.as_deref(),
    };
    let answers = ask(transcript, pairing, &fixed_decisions, &options, RENDER, asker);
    let answers = answers.map_err(Refusal::Model)?;
    let Answers { scores, stage, state_tokens, requests } = answers;
    let note = format!("; state ~{state_tokens} tokens ({stage}) in {requests} request(s)");
    let head = settings.truncate_head_chars;
    if is_seed {
        let threshold = settings.keep_threshold;
        return Ok((by_threshold(pairing, fixed_decisions, &scores, threshold, head), note));
    }
    let size = original_size(transcript) as f64;
    let rank = RankOptions {
        goal: (size * (1.0 - settings.local.target)) as usize,
        enough: (size * (1.0 - settings.min_reduction)) as usize,
        result_threshold: settings.keep_result_threshold,
        call_threshold: settings.keep_call_threshold,
        head_chars: head,
    };
    Ok(match by_rank(transcript, pairing, fixed_decisions, &scores, rank) {
        Some(plan) => (plan, note),
        None => {
            (local(transcript, pairing, &settings.local), note + ", kept nothing: local policy")
        }
    })
}

/// Archives what the plan removes and returns the id of each archived result. Without a folder, or
/// if it cannot be written, there are no ids, and no note promises a restore.
fn archived(pairing: &Pairing<'_, '_>, plan: &Plan, folder: Option<&Path>) -> Vec<Option<String>> {
    let none = vec![None; pairing.pairs.len()];
    let Some(folder) = folder else { return none };
    let is_changed: Vec<bool> = plan.decisions.iter().map(Decision::is_change).collect();
    let changed = pairing.pairs.iter().zip(&is_changed).filter(|(_, is_changed)| **is_changed);
    let removed: Vec<Removed<'_>> =
        changed.map(|(p, _)| Removed { tool: &p.call.tool, text: &p.result.text }).collect();
    let Ok(ids) = archive::store(folder, &removed, SystemTime::now()) else { return none };
    let mut ids = ids.into_iter();
    is_changed.into_iter().map(|is_changed| is_changed.then(|| ids.next().flatten())?).collect()
}
