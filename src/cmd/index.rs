//! `context-packer index status|build|clear`: shows, builds or removes the index of a project.

use std::io::Write as _;
use std::time::Instant;

use anyhow::{Result, bail};

use super::pack::root;
use crate::args::{IndexAction, IndexArgs};
use crate::config::{self, Environment};
use crate::index::{self, BuildReport, IndexError, Status};
use crate::project::scan;
use crate::render;

/// Runs, and prints the result.
///
/// # Errors
/// No readable project, no place for an index, an index that cannot be built, closed standard
/// output.
pub fn run(args: &IndexArgs) -> Result<()> {
    let environment: Environment<'_> = &config::process_environment;
    let root = root(args.root.as_deref(), environment)?;
    let Some(folder) = config::index(environment)? else {
        bail!(
            "indexes are off: CONTEXT_PACKER_INDEX is 0, or neither HOME nor CONTEXT_PACKER_CACHE is set"
        );
    };
    let extensions = config::extensions(environment);
    let task = index::IndexScope { extensions: &extensions, max_file_bytes: scan::MAX_FILE_BYTES };
    let text = match args.action {
        IndexAction::Status => status(&index::status(&folder, &root, &task)),
        IndexAction::Clear => match index::clear(&folder, &root, &task)? {
            true => format!("removed the index of {}\n", root.path.display()),
            false => format!("there is no index of {}\n", root.path.display()),
        },
        IndexAction::Build => {
            let started = Instant::now();
            match index::build(&folder, &root, &task) {
                Ok(report) => built(&report, started),
                // Another process is already building it, and nobody waits for it.
                Err(IndexError::Busy) if args.quiet => String::new(),
                Err(error) => bail!(error),
            }
        }
    };
    if !args.quiet {
        std::io::stdout().lock().write_all(text.as_bytes())?;
    }
    Ok(())
}

fn status(status: &Status) -> String {
    let path = status.path.display();
    let Some(found) = &status.found else {
        return format!("no index at {path}; `context-packer index build` makes one\n");
    };
    format!(
        "{path}\n  {} files and {} commits in {:.1} MB, made {} ago\n",
        found.n_files,
        found.n_commits,
        found.bytes as f64 / 1e6,
        super::doctor::since(found.seconds),
    )
}

fn built(report: &BuildReport, started: Instant) -> String {
    let BuildReport { n_files, n_read, is_written } = report;
    let took = render::text::seconds(started.elapsed());
    match is_written {
        true => format!("indexed {n_files} files, {n_read} of them read, in {took}\n"),
        false => format!("the index of {n_files} files is up to date, seen in {took}\n"),
    }
}
