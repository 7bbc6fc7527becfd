//! How `git` is called: in the project's folder, never writing, never asking, never from the network.

use std::ffi::OsStr;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::os::unix::ffi::OsStrExt as _;
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
    // Into a pipe git flushes after every commit, and each flush would wake the reader.
    git.env("GIT_FLUSH", "0").env("LC_ALL", "C");
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

/// What a command prints; `None` when it fails or there is no git.
#[must_use]
pub fn output(folder: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let output = command(folder, args).output().ok()?;
    output.status.success().then_some(output.stdout)
}

/// Is there a `git` to run? Without starting it: a few looks along `PATH`.
#[must_use]
pub fn is_installed() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join("git").is_file())
}

/// A number for the variables that change what git says; the processes started here inherit them.
#[must_use]
pub fn environment() -> u64 {
    let is_ours = |name: &OsStr| {
        name == "HOME" || name == "XDG_CONFIG_HOME" || name.as_bytes().starts_with(b"GIT_")
    };
    let mut variables: Vec<_> = std::env::vars_os().filter(|(name, _)| is_ours(name)).collect();
    variables.retain(|(name, _)| !REDIRECTIONS.iter().any(|redirection| name == redirection));
    variables.sort_unstable();
    let mut hasher = DefaultHasher::new();
    variables.hash(&mut hasher);
    hasher.finish()
}

/// References may point at references; git follows five.
const MAX_SYMBOLIC: usize = 5;

/// The commit that is checked out, in hexadecimal, read from the files; `None` when there is none or it is stored in
/// a way that only git knows.
#[must_use]
pub fn head(git_top: &Path) -> Option<Vec<u8>> {
    let (own, common) = folders(git_top)?;
    let mut text = std::fs::read(own.join("HEAD")).ok()?;
    for _ in 0..MAX_SYMBOLIC {
        let line = text.trim_ascii();
        let Some(name) = line.strip_prefix(b"ref:").map(<[u8]>::trim_ascii) else {
            return is_id(line).then(|| line.to_vec());
        };
        let path = OsStr::from_bytes(name);
        text = match std::fs::read(own.join(path)).or_else(|_| std::fs::read(common.join(path))) {
            Ok(text) => text,
            Err(_) => return packed(&common, name),
        };
    }
    None
}

fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// A reference in `packed-refs`: lines of id, space, name.
fn packed(common: &Path, name: &[u8]) -> Option<Vec<u8>> {
    let text = std::fs::read(common.join("packed-refs")).ok()?;
    let mut line_end = name.to_vec();
    line_end.insert(0, b' ');
    line_end.push(b'\n');
    let at = memchr::memmem::find(&text, &line_end)?;
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |newline| newline + 1);
    is_id(&text[start..at]).then(|| text[start..at].to_vec())
}
