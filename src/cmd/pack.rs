//! `context-packer pack "<task>"`: ranks the project's files and prints the best.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::args::PackArgs;
use crate::config::{self, Environment, Provider};
use crate::core::rerank::request::Estimate;
use crate::model::Deadline;
use crate::pack::{self, PackRequest, Reranker};
use crate::project::Project;
use crate::project::root::{self, Root};
use crate::render;
use crate::rerank::Model;

/// Files picked by default, as in the reference implementation.
const DEFAULT_LIMIT: usize = 10;

/// Ranks and prints. `progress` gets the number of requests done and of all requests.
///
/// # Errors
/// No readable project, wrong settings, a decision model that cannot be asked, closed standard
/// output.
pub fn run(args: &PackArgs, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<()> {
    let started = Instant::now();
    let environment: Environment<'_> = &config::process_environment;
    let provider = match &args.provider {
        Some(name) => Provider::parse(name)?,
        None => config::provider(environment)?,
    };
    // Before any work: a missing key is reported at once.
    let model = if args.estimate { None } else { Model::open(provider, environment)? };
    let project = project(args.root.as_deref(), environment)?;
    let text = given(&args.task)?;
    let request = PackRequest {
        text: text.clone(),
        limit: args.limit.unwrap_or(DEFAULT_LIMIT),
        code: args.code.unwrap_or(0),
        only_if_distinctive: false,
    };
    if args.estimate {
        let estimate = pack::estimate(&project, &request, provider, environment)?;
        return print(&estimated(provider, &estimate, args.json)?);
    }
    let deadline = Deadline::NEVER;
    let reranker = model.as_ref().map(|model| Reranker { model, deadline, progress });
    let pack = pack::run(&project, &request, reranker, started)?;
    let root = &project.root.path;
    print(&match args.json {
        true => render::json::pack(&pack, &text, root)?,
        false => render::text::pack(&pack, root, args.explain),
    })?;
    pack::refresh_index(&project, &pack);
    Ok(())
}

/// The task's words; `-` stands for standard input.
fn given(task: &str) -> Result<String> {
    if task != "-" {
        return Ok(task.to_owned());
    }
    let input = std::io::read_to_string(std::io::stdin().lock());
    let text = input.context("cannot read the task from standard input")?;
    if text.trim().is_empty() {
        bail!("no task on standard input: echo \"fix the retry backoff\" | context-packer pack -");
    }
    Ok(text.trim().to_owned())
}

fn estimated(provider: Provider, estimate: &Estimate, json: bool) -> Result<String> {
    Ok(match json {
        true => render::json::estimate(provider, estimate)?,
        false => render::text::estimate(provider, estimate),
    })
}

fn print(text: &str) -> Result<()> {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// The project at `--root`; without one, around the session's or the working directory.
pub(crate) fn project(folder: Option<&Path>, environment: Environment<'_>) -> Result<Project> {
    config::project(root(folder, environment)?, environment)
}

/// `--root` as it is; without one, the project around the session's or the working directory.
pub(crate) fn root(folder: Option<&Path>, environment: Environment<'_>) -> Result<Root> {
    if let Some(folder) = folder {
        return Ok(root::exactly(folder)?);
    }
    match environment("CLAUDE_PROJECT_DIR") {
        Some(folder) => Ok(root::around(Path::new(&folder))?),
        None => Ok(root::around(&std::env::current_dir()?)?),
    }
}
