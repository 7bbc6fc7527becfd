//! The policies that `compact bench` compares: ours, those of other programs, and a stand-in for
//! the model that some of them ask.

use std::time::Duration;

use crate::compact::compact;
use crate::config::compact as settings;
use crate::core::compact::baseline;
use crate::core::compact::local::{LocalOptions, local};
use crate::core::compact::pair::Pairing;
use crate::core::compact::plan::Plan;
use crate::core::compact::retention::{Score, interpolated};
use crate::core::compact::scored::ask::{CallRequest, Judge};
use crate::core::compact::scored::question::CallQuestion;
use crate::core::compact::transcript::Transcript;

/// A policy of the table, and whether its notes are charged at a fixed size or counted as they are.
pub type BenchRow = (&'static str, fn(&Transcript<'_>, &Pairing<'_, '_>) -> Plan, bool);

/// The table of `bench`.
pub const ROWS: [BenchRow; 18] = [
    ("keep all", |_, pairing| Plan::keep_all(pairing.pairs.len()), true),
    ("exact rules", |_, pairing| baseline::rules_only(pairing), true),
    ("mask all but 20", |_, pairing| baseline::heads(pairing, 20, 0), true),
    ("mask all but 10", |_, pairing| baseline::heads(pairing, 10, 0), true),
    ("first 300 chars", |_, pairing| baseline::heads(pairing, 6, 300), true),
    ("drop old calls", |_, pairing| baseline::drop_old_calls(pairing), true),
    ("jev-seed", |t, pairing| asked(t, pairing, "jev-seed"), false),
    ("jev", |t, pairing| asked(t, pairing, "jev"), false),
    ("reference 0.3", |t, pairing| baseline::reference(t, pairing, 0.7), true),
    ("reference 0.4", |t, pairing| baseline::reference(t, pairing, 0.6), true),
    ("reference 0.5", |t, pairing| baseline::reference(t, pairing, 0.5), true),
    ("reference 0.6", |t, pairing| baseline::reference(t, pairing, 0.4), true),
    ("reference 0.7", |t, pairing| baseline::reference(t, pairing, 0.3), true),
    ("local 0.3", |t, pairing| at(t, pairing, 0.3), false),
    ("local 0.4", |t, pairing| at(t, pairing, 0.4), false),
    ("local 0.5", |t, pairing| at(t, pairing, 0.5), false),
    ("local 0.6", |t, pairing| at(t, pairing, 0.6), false),
    ("local 0.7", |t, pairing| at(t, pairing, 0.7), false),
];

/// Policies that are compared at the same reduction. The rows of each begin with its name.
const COMPARED: [&str; 2] = ["reference", "local"];
/// The reductions: around the default target, the aim of its design, and as far as transcripts go.
const REDUCTIONS: [f64; 5] = [0.4, 0.48, 0.5, 0.6, 0.65];

fn at(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>, target: f64) -> Plan {
    local(transcript, pairing, &LocalOptions { target, ..LocalOptions::DEFAULT })
}

/// A policy that asks a model, with answers as in [`Reported`]. If it gives up, nothing changes.
fn asked(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>, policy: &str) -> Plan {
    let flags = [("policy", policy.to_owned()), ("min-reduction", "0".to_owned())];
    let compacted = settings::read(&flags, &|_| None)
        .ok()
        .and_then(|settings| compact(transcript, &settings, None, Some(&Reported)).ok());
    compacted.map_or_else(|| Plan::keep_all(pairing.pairs.len()), |c| c.compaction.plan)
}

/// Answers as users of fast-jev-compaction report them: a probability of 0.16 to 0.48 that a call
/// must stay, and of 0.05 to 0.21 that its result must. They are spread evenly by key and
/// statement, so they carry no information about the call.
struct Reported;

/// Range of the answers about calls, and of those about results (its issues 26, 52, 53 and 56).
const CALL_ANSWERS: (f64, f64) = (0.16, 0.48);
const RESULT_ANSWERS: (f64, f64) = (0.05, 0.21);

impl Judge for Reported {
    fn ask(&self, requests: &[CallRequest<'_>]) -> Vec<Result<Vec<f64>, String>> {
        let answer = |question: &CallQuestion| {
            let (low, high) =
                if question.key.starts_with("call") { CALL_ANSWERS } else { RESULT_ANSWERS };
            // FNV-1a: any even spread that is the same on every machine would do.
            let hash = question.statement.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
                (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
            });
            low + (high - low) * f64::from(hash) / f64::from(u32::MAX)
        };
        requests.iter().map(|request| Ok(request.questions.iter().map(answer).collect())).collect()
    }
}

/// The compared policies at each reduction, interpolated between their rows.
#[must_use]
pub fn compared(scores: &[(Score, Duration)]) -> Vec<(&'static str, f64, Option<[f64; 6]>)> {
    let points = |name: &str| -> Vec<[f64; 6]> {
        let rows = ROWS.iter().zip(scores).filter(|((row, ..), _)| row.starts_with(name));
        rows.map(|(_, (score, _))| score.shares()).collect()
    };
    let of_policy = |reduction: f64| {
        COMPARED.map(|name| (name, reduction, interpolated(&points(name), reduction)))
    };
    REDUCTIONS.into_iter().flat_map(of_policy).collect()
}
