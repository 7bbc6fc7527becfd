//! `context-packer compact`: selects one of its three forms, answers the function hook, and
//! resolves the policy.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::{compact_bench, compact_file};
use crate::args::CompactArgs;
use crate::cache::archive;
use crate::cache::private;
use crate::compact::call_judge::CallJudge;
use crate::compact::{self, Compacted};
use crate::config::compact as settings;
use crate::config::compact::{CompactSettings, Flags, Policy};
use crate::config::{self, Environment};
use crate::core::compact::run::Refusal;
use crate::core::compact::transcript::Transcript;
use crate::hook;
use crate::model::{self, Deadline};

/// Time for all requests to a model; the shim waits for 55 s.
const MODEL_TIME: Duration = Duration::from_secs(20);
/// Requests at once: the seed's.
const IN_FLIGHT: usize = 4;

/// Compacts and prints.
///
/// # Errors
/// Unreadable input, wrong settings, nothing to prune, closed standard output. The source is never
/// changed.
pub fn run(args: &CompactArgs) -> Result<()> {
    if args.bench {
        return compact_bench::run(&args.input);
    }
    let environment: Environment<'_> = &config::process_environment;
    match args.host {
        true => compact_file::print(args, &[claude_code(&args.settings, environment)?]),
        false => compact_file::run(args, environment),
    }
}

/// The answer to the shim; errors are part of it.
fn claude_code(flags: Flags<'_>, environment: Environment<'_>) -> Result<String> {
    let mut input = Vec::new();
    std::io::stdin().lock().read_to_end(&mut input)?;
    let answer = hook::session_compact::answer(&input, environment, &|transcript, environment| {
        let settings = settings::read(flags, environment).map_err(|e| format!("{e:#}"))?;
        let folder = archive_folder(settings.archive, environment);
        run_policy(transcript, &settings, folder.as_deref(), environment).map_err(|e| e.to_string())
    });
    Ok(answer)
}

/// Compacts; a policy that asks a model gets a client.
pub(super) fn run_policy(
    transcript: &Transcript<'_>,
    settings: &CompactSettings,
    folder: Option<&Path>,
    environment: Environment<'_>,
) -> std::result::Result<Compacted, Refusal> {
    if settings.policy == Policy::Local {
        return compact::compact(transcript, settings, folder, None);
    }
    let no_model = |error: model::ModelError| Refusal::Model(error.to_string());
    let model = model::Settings::jev(environment).map_err(no_model)?;
    let client = model::Client::new(&model).map_err(no_model)?;
    let deadline = Deadline::at(Instant::now() + MODEL_TIME);
    let asker = CallJudge { client: &client, in_flight: IN_FLIGHT, deadline };
    compact::compact(transcript, settings, folder, Some(&asker))
}

pub(super) fn archive_folder(is_on: bool, environment: Environment<'_>) -> Option<PathBuf> {
    is_on.then(|| private::folder(environment))?.map(|ours| archive::folder(&ours))
}
