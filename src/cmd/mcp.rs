//! `context-packer mcp`: serves agents on standard input and output until they disconnect.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, Result};

use crate::args::McpArgs;
use crate::config;
use crate::mcp::{self, ServerSettings};
use crate::project::root;
use crate::rerank::Models;

/// Serves.
///
/// # Errors
/// A `--root` that is not a folder, no working directory, errors of standard output.
pub fn run(args: McpArgs) -> Result<()> {
    let fixed_root = args.root.map(|folder| root::exactly(&folder)).transpose()?;
    let start = match config::process_environment("CLAUDE_PROJECT_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => std::env::current_dir().context("cannot tell the working directory")?,
    };
    let settings = ServerSettings {
        fixed_root: fixed_root.map(|root| root.path),
        start,
        environment: config::process_environment,
        models: Arc::new(Models::open(&config::process_environment)),
    };
    mcp::serve(std::io::stdin(), &mut std::io::stdout().lock(), settings)?;
    Ok(())
}
