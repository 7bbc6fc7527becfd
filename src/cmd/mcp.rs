//! `context-packer mcp`: serve agents on standard input and output until they leave.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use crate::args::McpArgs;
use crate::config::{self, Environment};
use crate::mcp::{self, Settings};
use crate::pack::decide::Models;
use crate::project::root;

/// Serves. Settings that are wrong are told to the calls they concern, where someone reads them.
///
/// # Errors
/// A `--root` that is no folder, no working directory, trouble with standard output.
pub fn run(args: McpArgs) -> Result<()> {
    let environment: Environment<'_> = &config::process_environment;
    let fixed_root = args.root.map(|folder| root::exactly(&folder)).transpose()?;
    let start = match environment("CLAUDE_PROJECT_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir().context("cannot tell the working directory")?,
    };
    let settings = Settings {
        fixed_root: fixed_root.map(|root| root.path),
        start,
        provider: config::provider(environment).map_err(|error| format!("{error:#}")),
        models: Models::open(environment),
        extensions: config::extensions(environment),
        index: config::index(environment)?,
    };
    mcp::serve(std::io::stdin(), &mut std::io::stdout().lock(), settings)?;
    Ok(())
}
