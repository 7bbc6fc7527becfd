//! `context-packer compact`: a transcript on standard output, smaller; or the answer to the function hook; or a table.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::compact_bench;
use crate::args::CompactArgs;
use crate::compact::transcript::Transcript;
use crate::compact::{self, Compacted, pair::pair};
use crate::config::compact::{self as settings, CompactSettings, Flags, Policy};
use crate::config::{self, Environment};
use crate::model::calls::CallAsker;
use crate::model::{self, Deadline};
use crate::transcript::archive;
use crate::{hook, private, render, transcript};

/// A model has so long for everything; the shim waits for 55 s.
const MODEL_TIME: Duration = Duration::from_secs(20);
/// Requests at once: the seed's.
const IN_FLIGHT: usize = 4;

/// Compacts and prints.
///
/// # Errors
/// Unreadable input, wrong settings, nothing to prune, closed standard output. The source is never changed.
pub fn run(args: &CompactArgs) -> Result<()> {
    if args.bench {
        return compact_bench::run(&args.input);
    }
    let environment: Environment<'_> = &config::process_environment;
    match args.host {
        true => print(args, &[claude_code(&args.settings, environment)?]),
        false => file(args, environment),
    }
}

fn print(args: &CompactArgs, parts: &[impl AsRef<[u8]>]) -> Result<()> {
    match &args.output {
        Some(path) => private::write_parts(path, parts)
            .with_context(|| format!("cannot write {}", path.display())),
        None => Ok(private::print(std::io::stdout().lock(), parts)?),
    }
}

/// The answer to the shim; whatever is wrong is part of it.
fn claude_code(flags: Flags<'_>, environment: Environment<'_>) -> Result<String> {
    let mut input = Vec::new();
    std::io::stdin().lock().read_to_end(&mut input)?;
    let answer = hook::compact::answer(&input, environment, &|transcript, environment| {
        let settings = settings::read(flags, environment).map_err(|e| format!("{e:#}"))?;
        let folder = archive_folder(settings.archive, environment);
        run_policy(transcript, &settings, folder.as_deref(), environment)
    });
    Ok(answer)
}

fn file(args: &CompactArgs, environment: Environment<'_>) -> Result<()> {
    let settings = settings::read(&args.settings, environment)?;
    let name = args.input.first().map_or("-", String::as_str);
    let input = transcript::input::read(name).with_context(|| format!("cannot read {name}"))?;
    let document = transcript::read(&input).with_context(|| format!("in {name}"))?;
    let folder = archive_folder(settings.archive && !args.dry_run && !args.json, environment);
    let compacted = run_policy(&document.transcript, &settings, folder.as_deref(), environment)
        .map_err(anyhow::Error::msg)?;
    let compaction = &compacted.compaction;
    let pairing = || pair(&document.transcript);
    let (plan, stats) = (&compaction.plan, &compaction.stats);
    match () {
        () if args.json => print(args, &[render::compact_wire::json(&pairing(), plan, stats)?]),
        () if args.dry_run => print(args, &[render::compact::table(&pairing(), plan, stats)]),
        () => print(args, &document.write(&compaction.edits)),
    }
}

/// Compacts; a policy that asks a model gets a client.
fn run_policy(
    transcript: &Transcript<'_>,
    settings: &CompactSettings,
    folder: Option<&Path>,
    environment: Environment<'_>,
) -> std::result::Result<Compacted, String> {
    if settings.policy == Policy::Local {
        return compact::compact(transcript, settings, folder, None).map_err(|e| e.to_string());
    }
    let model = model::Settings::jev(environment).map_err(|e| e.to_string())?;
    let client = model::Client::new(&model).map_err(|e| e.to_string())?;
    let deadline = Deadline::at(Instant::now() + MODEL_TIME);
    let asker = CallAsker { client: &client, in_flight: IN_FLIGHT, deadline };
    compact::compact(transcript, settings, folder, Some(&asker)).map_err(|e| e.to_string())
}

pub(super) fn archive_folder(is_on: bool, environment: Environment<'_>) -> Option<PathBuf> {
    is_on.then(|| private::folder(environment))?.map(|ours| archive::folder(&ours))
}
