//! `context-packer compact`: a transcript on standard output, smaller; or the answer to the function hook; or a table.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::args::CompactArgs;
use crate::compact::{self, pair::pair};
use crate::config::compact::{self as settings, Flags};
use crate::config::{self, Environment};
use crate::transcript::archive;
use crate::{hook, private, render, transcript};

/// Compacts and prints.
///
/// # Errors
/// Unreadable input, wrong settings, nothing to prune, closed standard output. The source is never changed.
pub fn run(args: &CompactArgs) -> Result<()> {
    let environment: Environment<'_> = &config::process_environment;
    let bytes = match args.host {
        true => claude_code(&args.settings, environment)?,
        false => file(args, environment)?,
    };
    match &args.output {
        Some(path) => private::write(path, &bytes)
            .with_context(|| format!("cannot write {}", path.display()))?,
        None => std::io::stdout().lock().write_all(&bytes)?,
    }
    Ok(())
}

/// The answer to the shim; whatever is wrong is part of it.
fn claude_code(flags: Flags<'_>, environment: Environment<'_>) -> Result<Vec<u8>> {
    let mut input = Vec::new();
    std::io::stdin().lock().read_to_end(&mut input)?;
    let answer = hook::compact::answer(&input, environment, &|transcript, environment| {
        let settings = settings::read(flags, environment).map_err(|e| format!("{e:#}"))?;
        let folder = archive_folder(settings.archive, environment);
        compact::compact(transcript, &settings, folder.as_deref(), None).map_err(|e| e.to_string())
    });
    Ok(answer.into_bytes())
}

fn file(args: &CompactArgs, environment: Environment<'_>) -> Result<Vec<u8>> {
    let settings = settings::read(&args.settings, environment)?;
    let input = read(&args.input)?;
    let document = transcript::read(&input).with_context(|| format!("in {}", args.input))?;
    let folder = archive_folder(settings.archive && !args.dry_run, environment);
    let compacted = compact::compact(&document.transcript, &settings, folder.as_deref(), None)?;
    let compaction = &compacted.compaction;
    if args.dry_run {
        let pairing = pair(&document.transcript);
        let table = render::compact::table(&pairing, &compaction.plan, &compaction.stats);
        return Ok(table.into_bytes());
    }
    Ok(document.write(&compaction.edits))
}

fn read(input: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match input {
        "-" => std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())?,
        path => bytes = std::fs::read(path).with_context(|| format!("cannot read {path}"))?,
    }
    Ok(bytes)
}

fn archive_folder(is_on: bool, environment: Environment<'_>) -> Option<PathBuf> {
    is_on.then(|| private::folder(environment))?.map(|ours| archive::folder(&ours))
}

/// `context-packer restore ID`: prints what compaction removed.
///
/// # Errors
/// An id that the archive does not have.
pub fn restore(id: &str) -> Result<()> {
    let folder = archive_folder(true, &config::process_environment);
    let Some(text) = folder.and_then(|folder| archive::restore(&folder, id)) else {
        bail!("the archive has no result {id:?}: it keeps 30 days and never what looks like a key");
    };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
