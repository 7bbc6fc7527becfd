//! `context-packer restore ID`: prints a tool result that a compaction removed.

use std::io::Write as _;

use anyhow::{Result, bail};

use super::compact::archive_folder;
use crate::cache::archive;
use crate::config;

/// Prints the result with this id, byte for byte.
///
/// # Errors
/// An id that the archive does not have.
pub fn run(id: &str) -> Result<()> {
    let folder = archive_folder(true, &config::process_environment);
    let Some(text) = folder.and_then(|folder| archive::restore(&folder, id)) else {
        bail!("the archive has no result {id:?}: it keeps 30 days and never what looks like a key");
    };
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}
