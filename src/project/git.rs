//! How `git` is called: in the project's folder, never writing, never asking, never from the network.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables that point git at another repository; a hook that runs inside a git hook inherits them.
const REDIRECTIONS: &[&str] = &[
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// A git command in a folder, its output piped.
#[must_use]
pub fn command(folder: &Path, args: &[&str]) -> Command {
    let mut git = Command::new("git");
    // Paths as they are, and no fsmonitor or pager program of the repository's choosing.
    git.args(["-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "--no-pager"]).args(args);
    git.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in REDIRECTIONS {
        git.env_remove(name);
    }
    // No index refresh on disk; no blobs or trees fetched by a partial clone; no prompts; messages in English.
    git.env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0");
    git.env("LC_ALL", "C");
    git
}

/// The repository's own folder (`.git`, or where a `.git` file of a worktree or submodule points), and the one it
/// shares with its other worktrees.
#[must_use]
pub fn folders(git_top: &Path) -> Option<(PathBuf, PathBuf)> {
    let entry = git_top.join(".git");
    let own = if entry.is_dir() {
        entry
    } else {
        let text = std::fs::read_to_string(&entry).ok()?;
        git_top.join(text.strip_prefix("gitdir:")?.trim())
    };
    let common = match std::fs::read_to_string(own.join("commondir")) {
        Ok(relative) => own.join(relative.trim()),
        Err(_) => own.clone(),
    };
    Some((own, common))
}
