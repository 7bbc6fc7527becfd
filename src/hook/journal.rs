//! The private log of hooks that failed: one line a failure, read by `doctor`.
//!
//! A line is `seconds-since-1970 event message`. Never the person's text, never a key, never the environment.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::cache::private;

/// The log starts anew beyond this size; a few hundred failures are enough to see a pattern.
const MAX_BYTES: u64 = 64 * 1024;

/// Where the log is, in our folder.
#[must_use]
pub fn path(folder: &Path) -> PathBuf {
    folder.join("hook.log")
}

/// Notes a failure. A log that cannot be written is nobody's concern: there is no one to tell.
pub fn note(folder: &Path, event: &str, message: &str) {
    let file = path(folder);
    let is_full = fs::metadata(&file).is_ok_and(|m| m.len() > MAX_BYTES);
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let message: String =
        message.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
    let line = format!("{seconds} {event} {message}\n");
    let mut options = OpenOptions::new();
    options.create(true).mode(0o600);
    let options = if is_full { options.write(true).truncate(true) } else { options.append(true) };
    let _ = private::create_folder(folder)
        .and_then(|()| options.open(&file))
        .and_then(|mut file| file.write_all(line.as_bytes()));
}

/// One noted failure.
#[derive(Debug, PartialEq, Eq)]
pub struct LogEntry {
    /// Seconds since 1970.
    pub seconds: u64,
    /// Event and message.
    pub text: String,
}

/// The newest entries, oldest first.
#[must_use]
pub fn last(folder: &Path, count: usize) -> Vec<LogEntry> {
    let text = fs::read(path(folder)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut entries: Vec<LogEntry> = text
        .lines()
        .filter_map(|line| {
            let (seconds, text) = line.split_once(' ')?;
            Some(LogEntry { seconds: seconds.parse().ok()?, text: text.to_owned() })
        })
        .collect();
    entries.split_off(entries.len().saturating_sub(count))
}
