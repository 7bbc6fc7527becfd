//! Clones on disk: finding them, and asking git about their objects. Nothing is checked out or written.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// The git folder of a repository (`owner/name`, or `name` alone) in a folder of clones.
pub fn find(clones: &Path, repo: &str) -> Option<PathBuf> {
    let (owner, name) = repo.split_once('/').unwrap_or(("", repo));
    let plus = format!("{owner}+{name}");
    let mut places = vec![clones.join(repo), clones.join(&plus).join("repo"), clones.join(name)];
    if owner.is_empty() {
        places.extend(children(clones).into_iter().filter_map(|child| {
            let (_, last) = child.file_name()?.to_str()?.rsplit_once('+')?;
            (last == name).then(|| child.join("repo"))
        }));
        places.extend(children(clones).into_iter().map(|child| child.join(name)));
    }
    places.iter().find_map(|place| git_folder(place))
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut children: Vec<PathBuf> = entries.filter_map(|e| Some(e.ok()?.path())).collect();
    children.sort();
    children
}

fn git_folder(place: &Path) -> Option<PathBuf> {
    let dot_git = place.join(".git");
    let is_repository = |folder: &Path| folder.join("objects").is_dir();
    [dot_git, place.to_owned()].into_iter().find(|folder| is_repository(folder))
}

fn git(git_dir: &Path) -> Command {
    let mut git = Command::new("git");
    git.arg("--git-dir").arg(git_dir).args(["--no-pager", "-c", "core.quotePath=false"]);
    git.env("GIT_NO_LAZY_FETCH", "1").env("LC_ALL", "C");
    git.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    git
}

fn output(git_dir: &Path, args: &[&str]) -> Result<Vec<u8>> {
    let output = git(git_dir).args(args).output().context("cannot run git")?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        let message = message.lines().next().unwrap_or("no message").to_owned();
        bail!("git {} in {}: {message}", args.join(" "), git_dir.display());
    }
    Ok(output.stdout)
}

/// A commit with one parent: what it says and which files it changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub commit: String,
    /// `None` for a root or a merge.
    pub parent: Option<String>,
    pub subject: String,
    pub files: Vec<ChangedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: Vec<u8>,
    /// As git says it: `M`, `A`, `D`, `T`.
    pub status: u8,
    /// A regular file before the commit.
    pub was_regular: bool,
}

/// Every non-merge commit up to `head`, newest first.
pub fn all_changes(git_dir: &Path, head: &str) -> Result<Vec<Change>> {
    changes(git_dir, &["--no-merges", head])
}

/// Single commits, by full or abbreviated id.
pub fn changes_of(git_dir: &Path, commits: &[&str]) -> Result<Vec<Change>> {
    if commits.is_empty() {
        return Ok(Vec::new());
    }
    let mut args = vec!["--no-walk=unsorted"];
    args.extend(commits);
    changes(git_dir, &args)
}

fn changes(git_dir: &Path, selection: &[&str]) -> Result<Vec<Change>> {
    let mut args =
        vec!["log", "-z", "--raw", "--no-abbrev", "--no-renames", "--format=%x01%H %P%x02%s"];
    args.extend(selection);
    let log = output(git_dir, &args)?;
    let mut changes: Vec<Change> = Vec::new();
    let mut tokens = log.split(|&b| b == 0);
    while let Some(token) = tokens.next() {
        let token = token.strip_prefix(b"\n").unwrap_or(token);
        if let Some(head) = token.strip_prefix(&[1]) {
            changes.push(change(&String::from_utf8_lossy(head)));
        } else if token.starts_with(b":") {
            let file = changed_file(token, tokens.next().unwrap_or_default());
            if let (Some(change), Some(file)) = (changes.last_mut(), file) {
                change.files.push(file);
            }
        }
    }
    Ok(changes)
}

fn change(head: &str) -> Change {
    let (ids, subject) = head.split_once('\x02').unwrap_or((head, ""));
    let mut ids = ids.split_whitespace().map(str::to_owned);
    let commit = ids.next().unwrap_or_default();
    let parents: Vec<String> = ids.collect();
    let parent = (parents.len() == 1).then(|| parents.into_iter().next()).flatten();
    Change { commit, parent, subject: subject.to_owned(), files: Vec::new() }
}

/// Reads `:100644 100644 <id> <id> M`, which the path follows.
fn changed_file(raw: &[u8], path: &[u8]) -> Option<ChangedFile> {
    let status = *raw.rsplit(|&b| b == b' ').next()?.first()?;
    Some(ChangedFile { path: path.to_vec(), status, was_regular: raw.starts_with(b":100") })
}

/// A file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    pub path: Vec<u8>,
    pub blob: String,
    pub bytes: u64,
}

/// The regular files of a commit's tree whose size is known, sorted by path.
pub fn tree(git_dir: &Path, commit: &str) -> Result<Vec<TreeFile>> {
    let listing = output(git_dir, &["ls-tree", "-r", "-l", "-z", commit])?;
    let mut files: Vec<TreeFile> = listing.split(|&b| b == 0).filter_map(tree_file).collect();
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// Reads `100644 blob <id> <size>\t<path>`.
fn tree_file(entry: &[u8]) -> Option<TreeFile> {
    let tab = entry.iter().position(|&b| b == b'\t')?;
    let head = std::str::from_utf8(&entry[..tab]).ok()?;
    let mut words = head.split_whitespace();
    let (mode, kind, blob, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_regular = mode.starts_with("100") && kind == "blob";
    // A blob that the clone lacks has no size.
    let bytes = size.parse().ok()?;
    is_regular.then(|| TreeFile { path: entry[tab + 1..].to_vec(), blob: blob.to_owned(), bytes })
}

/// The log that `project::history` reads, as seen at a commit.
pub fn history_log(git_dir: &Path, commit: &str, max_commits: usize) -> Result<Vec<u8>> {
    let count = format!("--max-count={max_commits}");
    let args = ["log", "-z", "--no-merges", "--no-renames", "--name-only", "--format=%x01%H %s"];
    output(git_dir, &[&args[..], &[count.as_str(), commit]].concat())
}

/// Calls `found` with the bytes of every blob that is there, in the order given.
pub fn read_blobs(
    git_dir: &Path,
    blobs: &[&str],
    mut found: impl FnMut(usize, &[u8]),
) -> Result<()> {
    let mut child = git(git_dir)
        .args(["cat-file", "--batch", "--buffer"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot run git cat-file")?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        bail!("git cat-file has no pipes");
    };
    let request = blobs.join("\n") + "\n";
    let index: HashMap<&str, usize> = (0..).zip(blobs).map(|(k, &blob)| (blob, k)).collect();
    std::thread::scope(|scope| {
        // Written beside the reading: git blocks on a full pipe otherwise.
        scope.spawn(move || stdin.write_all(request.as_bytes()));
        let mut answers = BufReader::with_capacity(1 << 20, stdout);
        let (mut line, mut bytes) = (String::new(), Vec::new());
        while answers.read_line(&mut line)? > 0 {
            let mut words = line.split_whitespace();
            if let (Some(blob), Some("blob"), Some(size)) =
                (words.next(), words.next(), words.next())
            {
                bytes.resize(size.parse::<usize>().context("size of a blob")? + 1, 0);
                answers.read_exact(&mut bytes)?;
                bytes.pop();
                if let Some(&at) = index.get(blob) {
                    found(at, &bytes);
                }
            }
            line.clear();
        }
        Ok::<(), anyhow::Error>(())
    })?;
    child.wait().context("git cat-file")?;
    Ok(())
}
