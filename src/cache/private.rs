//! Private files: written atomically, readable by their owner alone.
//!
//! [`folder`] says where they are. They can be deleted at any time.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::config::Environment;

/// The capacity of a pipe.
const BUFFER_BYTES: usize = 64 << 10;

/// The cache folder: `$CONTEXT_PACKER_CACHE`, `$XDG_CACHE_HOME/context-packer`,
/// `~/.cache/context-packer`, and, without a home folder, the plugin's own folder. The command
/// line, the hook and the MCP server must agree on it. The plugin's folder comes last because only
/// hooks know it.
#[must_use]
pub fn folder(environment: Environment<'_>) -> Option<PathBuf> {
    let named = |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("CONTEXT_PACKER_CACHE")
        .or_else(|| Some(named("XDG_CACHE_HOME")?.join("context-packer")))
        .or_else(|| Some(named("HOME")?.join(".cache/context-packer")))
        .or_else(|| named("CLAUDE_PLUGIN_DATA"))
}

/// Creates a folder and its parents, for the owner only (0700). An existing folder is left as it
/// is.
///
/// # Errors
/// File system errors.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a file for the owner only (0600) under a temporary name and renames it, so that readers
/// see either the old bytes or the new ones, and a crash leaves the old ones.
///
/// # Errors
/// File system errors; the temporary file is removed.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_parts(path, &[bytes])
}

/// [`write()`] for a file that comes in parts.
///
/// # Errors
/// The same.
pub fn write_parts(path: &Path, parts: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    create_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)
        .and_then(|file| write_parts_to(file, parts))
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Whether a path is the temporary name of a file being written, which stays behind when the
/// process is killed.
#[must_use]
pub fn is_temporary(path: &Path) -> bool {
    let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let is_id = |id: &OsStr| id.as_encoded_bytes().iter().all(u8::is_ascii_digit);
    is_hidden && path.extension().is_some_and(is_id)
}

/// Writes parts in order, combining small ones.
///
/// # Errors
/// Errors of `out`.
pub fn write_parts_to(out: impl io::Write, parts: &[impl AsRef<[u8]>]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, out);
    parts.iter().try_for_each(|part| out.write_all(part.as_ref()))?;
    out.flush()
}
