//! What guards the list of files: made when an index is built, compared when it is used.
//!
//! Files that were listed stay listed as long as they exist and nothing that decides about ignoring changes. New ones
//! can only come from git's index or appear in a folder, whose times change then. So a list is as it was when git's
//! settings, its index, the ignore files and the folders are; and when only folders changed, what is new in them is all
//! that has to be asked about.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::format::hash;
use super::stamp::{self, ABSENT, Moment, RACY};
use super::tables::{ListingFingerprint, Stamped};
use super::tree::Tree;
use crate::project::files::{self, full_path};
use crate::project::git;
use crate::project::root::Root;

/// Bytes at the end of git's index that hold its checksum: 20 of SHA-1, 32 of SHA-256.
const GIT_CHECKSUM_BYTES: u64 = 32;

/// Identifies the content of git's index file: its length and checksum.
pub(super) fn git_index(git_top: &Path) -> u64 {
    let Some((own, _)) = git::folders(git_top) else { return RACY };
    let Ok(file) = fs::File::open(own.join("index")) else { return ABSENT };
    let Ok(length) = file.metadata().map(|m| m.len()) else { return RACY };
    let mut end = [0; GIT_CHECKSUM_BYTES as usize];
    let Some(start) = length.checked_sub(GIT_CHECKSUM_BYTES) else { return RACY };
    // `index.skipHash` leaves zeros.
    if file.read_exact_at(&mut end, start).is_err() || end[12..].iter().all(|&b| b == 0) {
        return RACY;
    }
    hash(length, &end).max(2)
}

/// Looks at git's index and settings: the first half of what guards the list of files. To be called before all else.
///
/// `None` when git has this project in another way than we think (a work tree set in its settings, a broken `.git`).
pub(super) fn begin(root: &Root, moment: Moment) -> Option<ListingFingerprint> {
    let mut watch = ListingFingerprint {
        is_kept: true,
        environment: git::environment(),
        ..ListingFingerprint::default()
    };
    if let Some(top) = &root.git_top {
        watch.git_index = git_index(top);
        watch.settings = settings(root, top, moment)?;
    }
    Some(watch)
}

/// Looks at the folders and ignore files: the second half. `tree` is what git says, where there is git.
pub(super) fn walk(
    root: &Root,
    tree: Option<&Tree>,
    moment: Moment,
    watch: &mut ListingFingerprint,
) {
    match tree {
        Some(tree) => walk_for_git(root, &tree.closed_folders(), moment, watch),
        None => walk_without_git(root, moment, watch),
    }
}

fn stamped(mut paths: Vec<PathBuf>, moment: Moment) -> Stamped {
    paths.sort_unstable();
    paths.dedup();
    let mut stamped = Stamped::default();
    for path in paths {
        // Settings may be links to where a person keeps them; then both count.
        let own = stamp::settled_fingerprint_at(&path, moment);
        let target = fs::metadata(&path).map_or(ABSENT, |m| stamp::settled_fingerprint(&m, moment));
        stamped.push(path.as_os_str().as_bytes(), join(own, target));
    }
    stamped
}

/// Two stamps as one.
fn join(a: u64, b: u64) -> u64 {
    if a == RACY || b == RACY {
        return RACY;
    }
    hash(a, &b.to_le_bytes()).max(2)
}

/// Are files at absolute paths as they were?
pub(super) fn is_same(stamped: &Stamped) -> bool {
    stamped.paths.iter().zip(&stamped.stamps).all(|(path, &expected)| {
        let path = Path::new(OsStr::from_bytes(path));
        let target = fs::metadata(path).map_or(ABSENT, |m| stamp::fingerprint(&m));
        expected != RACY && join(stamp::fingerprint_at(path), target) == expected
    })
}

/// Git's settings files: those it names, and those it would read if they were there.
fn settings(root: &Root, top: &Path, moment: Moment) -> Option<Stamped> {
    let (own, common) = git::folders(top)?;
    let places = git::output(&root.path, &["rev-parse", "--absolute-git-dir", "--show-toplevel"])?;
    let mut places = places.split(|&b| b == b'\n').map(|p| PathBuf::from(OsStr::from_bytes(p)));
    if places.next()?.canonicalize().ok()? != own.canonicalize().ok()? || places.next()? != top {
        return None;
    }
    let mut paths = vec![
        own.join("config.worktree"),
        common.join("config"),
        common.join("info/exclude"),
        PathBuf::from("/etc/gitconfig"),
    ];
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let user = xdg.or_else(|| Some(home.as_ref()?.join(".config")));
    paths.extend(home.map(|home| home.join(".gitconfig")));
    paths.extend(user.iter().flat_map(|u| [u.join("git/config"), u.join("git/ignore")]));
    let list = git::output(&root.path, &["config", "--list", "--show-origin", "--includes", "-z"])?;
    let (mut is_origin, mut depends_on_branch) = (true, false);
    for token in list.split(|&b| b == 0) {
        match token.strip_prefix(b"file:").filter(|_| is_origin) {
            Some(path) => paths.push(top.join(OsStr::from_bytes(path))),
            None => depends_on_branch |= token.starts_with(b"includeif."),
        }
        is_origin = !is_origin;
    }
    if depends_on_branch {
        paths.push(own.join("HEAD"));
    }
    let excludes = ["config", "-z", "--type=path", "--get", "core.excludesFile"];
    if let Some(path) = git::output(&root.path, &excludes) {
        let path = path.strip_suffix(b"\0").unwrap_or(&path);
        paths.extend([top, &root.path].map(|base| base.join(OsStr::from_bytes(path))));
    }
    Some(stamped(paths, moment))
}

/// Every folder git looks into, its ignore files, and where other repositories begin.
fn walk_for_git(
    root: &Root,
    closed: &HashSet<&[u8]>,
    moment: Moment,
    watch: &mut ListingFingerprint,
) {
    let mut folders = Vec::new();
    let mut ignores = above(&root.path, &[".gitignore"], root.git_top.as_deref());
    let mut open = vec![Vec::new()];
    while let Some(folder) = open.pop() {
        let full = full_path(&root.path, &folder);
        folders.push((folder.clone(), stamp::settled_fingerprint_at(&full, moment)));
        // One that cannot be listed has nothing for git either; its own stamp guards it.
        let Ok(entries) = fs::read_dir(&full) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == ".gitignore" {
                ignores.push(entry.path());
            }
            if name == ".git" || !entry.file_type().is_ok_and(|t| t.is_dir()) {
                continue;
            }
            let inner = child(&folder, name.as_bytes());
            if !closed.contains(inner.as_slice()) {
                open.push(inner);
            } else if entry.path().join(".git").exists() {
                ignores.push(entry.path().join(".git"));
            }
        }
    }
    finish(folders, ignores, moment, watch);
}

/// The same where the `ignore` walker lists: it also heeds `.ignore` files, and both kinds in the folders above.
fn walk_without_git(root: &Root, moment: Moment, watch: &mut ListingFingerprint) {
    const NAMES: [&str; 2] = [".gitignore", ".ignore"];
    let mut folders = Vec::new();
    let mut ignores = above(&root.path, &NAMES, None);
    for entry in files::walk(&root.path) {
        let Ok(entry) = entry else {
            watch.is_kept = false;
            continue;
        };
        if !entry.file_type().is_some_and(|t| t.is_dir()) {
            continue;
        }
        let Ok(path) = entry.path().strip_prefix(&root.path) else { continue };
        let path = path.as_os_str().as_bytes().to_vec();
        folders.push((path, stamp::settled_fingerprint_at(entry.path(), moment)));
        ignores.extend(NAMES.map(|name| entry.path().join(name)));
        // A folder with a `.git` in it is left out; it comes back when that is taken away.
        let inner = fs::read_dir(entry.path()).into_iter().flatten().flatten();
        let inner = inner.map(|entry| entry.path().join(".git")).filter(|path| path.exists());
        ignores.extend(inner);
    }
    let config = ignore::gitignore::gitconfig_excludes_path();
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".gitconfig"));
    watch.settings = stamped(config.into_iter().chain(home).collect(), moment);
    finish(folders, ignores, moment, watch);
}

/// Ignore files in the folders above, up to the top of the work tree or of the file system.
fn above(root: &Path, names: &[&str], top: Option<&Path>) -> Vec<PathBuf> {
    let is_above = |folder: &&Path| top.is_none_or(|top| folder.starts_with(top));
    let folders = root.ancestors().take_while(is_above);
    folders.flat_map(|folder| names.iter().map(|name| folder.join(name))).collect()
}

fn finish(
    mut folders: Vec<(Vec<u8>, u64)>,
    ignores: Vec<PathBuf>,
    moment: Moment,
    watch: &mut ListingFingerprint,
) {
    folders.sort_unstable();
    for (path, stamp) in folders {
        watch.folders.push(&path, stamp);
    }
    watch.ignores = stamped(ignores, moment);
}

/// The relative path of something in a folder.
pub(super) fn child(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = folder.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
