//! `context-packer compact FILE`: a transcript in, a smaller one out, or the table of decisions.
//! The source is never changed.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};

use super::compact::{archive_folder, run_policy};
use crate::args::CompactArgs;
use crate::cache::private;
use crate::config::Environment;
use crate::config::compact as settings;
use crate::config::compact::{CompactSettings, Policy};
use crate::core::compact::pair::pair;
use crate::core::compact::run::Refusal;
use crate::{render, transcript};

/// Compacts and prints.
///
/// # Errors
/// Unreadable input, an output that is the input, wrong settings, nothing to prune, closed standard
/// output.
pub(super) fn run(args: &CompactArgs, environment: Environment<'_>) -> Result<()> {
    let settings = settings::read(&args.settings, environment)?;
    let name = args.input.first().map_or("-", String::as_str);
    if let Some(output) = args.output.as_deref().filter(|output| is_source(name, output)) {
        let output = output.display();
        bail!(
            "{output} is the transcript itself ({name}), which is never changed: give another name to --output"
        );
    }
    let shown = if name == "-" { "standard input" } else { name };
    let input = transcript::input::read(name).with_context(|| format!("cannot read {shown}"))?;
    let document = transcript::read(&input).with_context(|| format!("in {shown}"))?;
    let folder = archive_folder(settings.archive && !args.dry_run && !args.json, environment);
    let run = |settings: &CompactSettings| {
        run_policy(&document.transcript, settings, folder.as_deref(), environment)
    };
    let (compacted, refusal) = match run(&settings) {
        // The table explains why so little would be removed. A model is not asked twice.
        Err(refusal) if args.dry_run && is_too_little(&refusal, &settings) => {
            (run(&CompactSettings { min_reduction: 0.0, ..settings }), Some(refusal))
        }
        other => (other, None),
    };
    let compacted = compacted.map_err(|refusal| refused(shown, &refusal))?;
    let compaction = &compacted.compaction;
    let pairing = || pair(&document.transcript);
    let (plan, stats) = (&compaction.plan, &compaction.stats);
    match () {
        () if args.json => print(args, &[render::compact_wire::json(&pairing(), plan, stats)?]),
        () if args.dry_run => print(args, &[render::compact::table(&pairing(), plan, stats)]),
        () => print(args, &document.write(&compaction.edits)),
    }?;
    refusal.map_or(Ok(()), |refusal| Err(refused(shown, &refusal)))
}

fn is_too_little(refusal: &Refusal, settings: &CompactSettings) -> bool {
    matches!(refusal, Refusal::TooLittle { .. }) && settings.policy == Policy::Local
}

/// A refusal for the command line: where, why, and the remedy.
fn refused(shown: &str, refusal: &Refusal) -> anyhow::Error {
    let remedy = match refusal {
        Refusal::NothingToPrune => "; raise --target, or lower --preserve-recent-calls",
        Refusal::TooLittle { .. } => "; lower --min-reduction, or raise --target",
        Refusal::Model(_) | Refusal::Invalid(_) => "",
    };
    anyhow!("in {shown}: {refusal}{remedy}")
}

/// Whether both paths are one file, links resolved. Only regular files can be lost, not pipes or
/// terminals.
fn is_source(name: &str, output: &Path) -> bool {
    let name = if name == "-" { "/dev/stdin" } else { name };
    let (Ok(source), Ok(output)) = (std::fs::metadata(name), std::fs::metadata(output)) else {
        return false;
    };
    source.is_file() && (source.dev(), source.ino()) == (output.dev(), output.ino())
}

/// Writes to `--output` or standard output.
pub(super) fn print(args: &CompactArgs, parts: &[impl AsRef<[u8]>]) -> Result<()> {
    match &args.output {
        Some(path) => {
            write(path, parts).with_context(|| format!("cannot write {}", path.display()))
        }
        None => Ok(private::write_parts_to(std::io::stdout().lock(), parts)?),
    }
}

/// A regular file, also behind a link, is replaced atomically. Anything else (a pipe, a device) is
/// written to.
fn write(path: &Path, parts: &[impl AsRef<[u8]>]) -> std::io::Result<()> {
    match std::fs::canonicalize(path) {
        Ok(real) if real.is_file() => private::write_parts(&real, parts),
        Ok(real) => {
            private::write_parts_to(std::fs::OpenOptions::new().write(true).open(real)?, parts)
        }
        Err(_) => private::write_parts(path, parts),
    }
}
