//! `context-packer compact bench DIR…`: measures retention on the user's own transcripts, for our
//! policies and for others.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::compact::policies;
use crate::core::compact::pair::pair;
use crate::core::compact::retention::{self, Cut, Score};
use crate::core::compact::{apply, baseline};
use crate::{render, transcript};

/// The shares of a session's calls after which it is cut.
const SHARES: [f64; 3] = [0.4, 0.6, 0.8];

/// Measures, and prints the tables.
///
/// # Errors
/// No readable folder or file; no session that is long enough.
pub fn run(paths: &[String]) -> Result<()> {
    let mut scores = vec![(Score::default(), Duration::ZERO); policies::ROWS.len()];
    for path in files(paths)? {
        let bytes =
            std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        for document in transcript::read_segments(&bytes).unwrap_or_default() {
            for cut in retention::cuts(&document.transcript, &SHARES) {
                measure(&cut, &mut scores);
            }
        }
    }
    if scores[0].0.cuts == 0 {
        bail!("no session is long enough: the ruler needs {} answered calls", retention::MIN_CALLS);
    }
    let rows =
        policies::ROWS.iter().zip(&scores).map(|((name, ..), (score, time))| (*name, score, *time));
    let table = render::compact::ruler_table(rows)
        + &render::compact::equal_reduction_table(policies::compared(&scores).into_iter());
    Ok(std::io::stdout().lock().write_all(table.as_bytes())?)
}

fn files(paths: &[String]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths.iter().map(PathBuf::from) {
        if path.is_file() {
            files.push(path);
            continue;
        }
        let unreadable = || format!("cannot read the folder {}", path.display());
        for entry in std::fs::read_dir(&path).with_context(unreadable)? {
            files.push(entry?.path());
        }
    }
    files.retain(|file| file.extension().is_some_and(|e| e == "jsonl" || e == "json"));
    files.sort_unstable();
    Ok(files)
}

fn measure(cut: &Cut<'_>, scores: &mut [(Score, Duration)]) {
    let needs = retention::needs(&cut.prefix, &cut.future);
    if needs.identifiers.is_empty() && needs.edit_lines.is_empty() {
        return;
    }
    let pairing = pair(&cut.prefix);
    for ((_, policy, is_charged), (score, time)) in policies::ROWS.iter().zip(scores) {
        let started = Instant::now();
        let plan = policy(&cut.prefix, &pairing);
        *time += started.elapsed();
        let edits = apply::edits(&pairing, &plan, &[]);
        let after = apply::applied(&cut.prefix, &edits);
        let size = match is_charged {
            true => baseline::charged_chars(&cut.prefix, &pairing, &plan),
            false => after.chars(),
        };
        let kept = retention::kept(&needs, &cut.prefix, &after, &plan);
        score.add(&needs, &kept, cut.prefix.chars(), size);
    }
}
