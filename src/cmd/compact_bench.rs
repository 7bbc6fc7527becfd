//! `context-packer compact bench DIR…`: the ruler on the person's own transcripts, for our policies and those of others.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::compact::local::{LocalOptions, local};
use crate::compact::pair::{Pairing, pair};
use crate::compact::plan::Plan;
use crate::compact::ruler::{self, Cut, Score};
use crate::compact::transcript::Transcript;
use crate::compact::{apply, baseline};
use crate::{render, transcript};

/// Shares of a session's calls at which it is cut: the ruler's.
const SHARES: [f64; 3] = [0.4, 0.6, 0.8];

/// A policy of the table; whether the ruler charges its notes, or they are counted as they stand.
type Row = (&'static str, fn(&Transcript<'_>, &Pairing<'_, '_>) -> Plan, bool);

const ROWS: [Row; 12] = [
    ("keep all", |_, pairing| Plan::keep_all(pairing.pairs.len()), true),
    ("exact rules", |_, pairing| baseline::rules_only(pairing), true),
    ("mask all but 20", |_, pairing| baseline::heads(pairing, 20, 0), true),
    ("mask all but 10", |_, pairing| baseline::heads(pairing, 10, 0), true),
    ("first 300 chars", |_, pairing| baseline::heads(pairing, 6, 300), true),
    ("drop old calls", |_, pairing| baseline::drop_old_calls(pairing), true),
    ("reference 0.4", |t, pairing| baseline::reference(t, pairing, 0.6), true),
    ("reference 0.5", |t, pairing| baseline::reference(t, pairing, 0.5), true),
    ("reference 0.6", |t, pairing| baseline::reference(t, pairing, 0.4), true),
    ("local 0.4", |t, pairing| at(t, pairing, 0.4), false),
    ("local 0.5", |t, pairing| at(t, pairing, 0.5), false),
    ("local 0.65", |t, pairing| at(t, pairing, 0.65), false),
];

fn at(transcript: &Transcript<'_>, pairing: &Pairing<'_, '_>, target: f64) -> Plan {
    local(transcript, pairing, &LocalOptions { target, ..LocalOptions::DEFAULT })
}

/// Measures and prints the table.
///
/// # Errors
/// No readable folder or file; no session that is long enough.
pub fn run(paths: &[String]) -> Result<()> {
    let mut scores = vec![(Score::default(), Duration::ZERO); ROWS.len()];
    for path in files(paths)? {
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for document in transcript::read_segments(&bytes).unwrap_or_default() {
            for cut in ruler::cuts(&document.transcript, &SHARES) {
                measure(&cut, &mut scores);
            }
        }
    }
    if scores[0].0.cuts == 0 {
        bail!("no session is long enough: the ruler needs {} answered calls", ruler::MIN_CALLS);
    }
    let rows = ROWS.iter().zip(&scores).map(|((name, ..), (score, time))| (*name, score, *time));
    let table = render::compact::ruler_table(rows);
    Ok(std::io::stdout().lock().write_all(table.as_bytes())?)
}

fn files(paths: &[String]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths.iter().map(PathBuf::from) {
        if !path.is_dir() {
            files.push(path);
            continue;
        }
        for entry in
            std::fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))?
        {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl" || e == "json"));
    files.sort();
    Ok(files)
}

fn measure(cut: &Cut<'_>, scores: &mut [(Score, Duration)]) {
    let needs = ruler::needs(&cut.prefix, &cut.future);
    if needs.identifiers.is_empty() && needs.edit_lines.is_empty() {
        return;
    }
    let pairing = pair(&cut.prefix);
    for ((_, policy, is_charged), (score, time)) in ROWS.iter().zip(scores) {
        let started = Instant::now();
        let plan = policy(&cut.prefix, &pairing);
        *time += started.elapsed();
        let edits = apply::edits(&pairing, &plan, &[]);
        let after = apply::applied(&cut.prefix, &edits);
        let size = match is_charged {
            true => baseline::charged_chars(&cut.prefix, &pairing, &plan),
            false => after.chars(),
        };
        let kept = ruler::kept(&needs, &cut.prefix, &after, &plan);
        score.add(&needs, &kept, cut.prefix.chars(), size);
    }
}
