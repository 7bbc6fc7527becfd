//! `context-packer pack "<task>"`: rank the project's files and print the best.

use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Result, bail};

use crate::args::PackArgs;
use crate::config::{self, Environment, Provider};
use crate::pack::{self, Task};
use crate::project::root::{self, Root};
use crate::project::scan;
use crate::render;

/// Files picked when nothing says how many: the seed's default.
const DEFAULT_LIMIT: usize = 10;

/// Ranks and prints.
///
/// # Errors
/// No readable project, wrong settings, closed standard output.
pub fn run(args: &PackArgs) -> Result<()> {
    let started = Instant::now();
    let environment: Environment<'_> = &config::process_environment;
    let provider = match &args.provider {
        Some(name) => Provider::parse(name)?,
        None => config::provider(environment)?,
    };
    if provider != Provider::Keywords {
        bail!("provider {} is not built in yet", provider.name());
    }
    let root = project(args.root.as_deref(), environment)?;
    let task = Task {
        text: args.task.clone(),
        limit: args.limit.unwrap_or(DEFAULT_LIMIT),
        code: args.code.unwrap_or(0),
        extensions: config::extensions(environment),
        max_file_bytes: scan::MAX_FILE_BYTES,
    };
    let pack = pack::keywords(&root, &task, started)?;
    let text = match args.json {
        true => render::json::pack(&pack, &args.task, &root.path)?,
        false => render::text::pack(&pack, &root.path, args.explain),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

/// `--root` as it is; else the project around the session's or the working directory.
pub(crate) fn project(given: Option<&Path>, environment: Environment<'_>) -> Result<Root> {
    if let Some(folder) = given {
        return Ok(root::exactly(folder)?);
    }
    match environment("CLAUDE_PROJECT_DIR") {
        Some(folder) => Ok(root::around(Path::new(&folder))?),
        None => Ok(root::around(&std::env::current_dir()?)?),
    }
}
