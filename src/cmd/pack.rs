//! `context-packer pack "<task>"`: rank the project's files and print the best.

use anyhow::Result;

use crate::args::PackArgs;

/// Ranks and prints.
///
/// # Errors
/// No readable project, wrong settings, closed standard output.
pub fn run(args: &PackArgs) -> Result<()> {
    anyhow::bail!("pack {:?}: not wired yet", args.task)
}
