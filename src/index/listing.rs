//! The list of files as it is now, from the list that was kept and what changed since.
//!
//! Gives exactly what `files::list` gives, which is asked when in doubt.

use std::fs::{self, FileType};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::format::Paths;
use super::freshness::{self, child};
use super::stamp::{self, RACY};
use super::tables::Tables;
use crate::project::files::{self, Extensions, MAX_FILES, SymlinkGuard, full_path};
use crate::project::git;
use crate::project::root::Root;
use crate::project::{ProjectError, Warning};

/// More new names than this, and git lists everything: a command line has an end.
const MAX_ASKED: usize = 200;

/// The files there are.
pub(super) struct IndexedListing {
    /// Per file of the tables: is it listed?
    pub(super) is_listed: Vec<bool>,
    /// Listed files that the tables do not have, sorted.
    pub(super) added: Vec<Vec<u8>>,
    /// As of `files::list`.
    pub(super) warnings: Vec<Warning>,
    /// Is the kept list other than this, or in doubt?
    pub(super) is_stale: bool,
}

/// Makes the list. `None`: only `files::list` can say, and it fails or finds too many.
pub(super) fn listing(
    root: &Root,
    extensions: &Extensions,
    tables: &Tables,
) -> Option<IndexedListing> {
    if root.git_top.is_some() && !git::is_installed() {
        return None;
    }
    let changed = from_changes(root, extensions, tables);
    changed.or_else(|| whole(files::list(root, extensions), tables))
}

/// Everything listed anew.
fn whole(list: Result<files::Listing, ProjectError>, tables: &Tables) -> Option<IndexedListing> {
    let list = list.ok()?;
    let mut is_listed = vec![false; tables.paths.len()];
    let mut added = Vec::new();
    for path in list.paths {
        match tables.paths.find(&path) {
            Some(at) => is_listed[at] = true,
            None => added.push(path),
        }
    }
    Some(IndexedListing { is_listed, added, warnings: list.warnings, is_stale: true })
}

/// What changed, if that can be told.
fn from_changes(root: &Root, extensions: &Extensions, tables: &Tables) -> Option<IndexedListing> {
    let watch = &tables.watch;
    let is_guarded = watch.is_kept
        && watch.environment == git::environment()
        && freshness::is_same(&watch.settings)
        && freshness::is_same(&watch.ignores);
    if !is_guarded {
        return None;
    }
    let folders = stamp::all(&root.path, &watch.folders.paths);
    let changed: Vec<usize> = (0..folders.len())
        .filter(|&k| watch.folders.stamps[k] == RACY || watch.folders.stamps[k] != folders[k])
        .collect();
    let mut listing = IndexedListing {
        is_listed: vec![true; tables.paths.len()],
        added: Vec::new(),
        warnings: Vec::new(),
        is_stale: !changed.is_empty(),
    };
    let Some(top) = &root.git_top else {
        listing.warnings.push(Warning::NoGit);
        return changed.is_empty().then_some(listing);
    };
    let mark = freshness::git_index(top);
    let is_index_same = mark != RACY && mark == watch.git_index;
    if !is_index_same {
        listing.is_stale = true;
        listing.added = newly_tracked(root, extensions, tables)?;
    }
    let mut asked = Vec::new();
    for k in changed {
        look_into(root, extensions, tables, watch.folders.paths.get(k), &mut listing, &mut asked)?;
    }
    listing.added.extend(below(root, extensions, &asked)?);
    settle(root, tables, &mut listing)?;
    let submodules = files::submodules(root);
    if !submodules.is_empty() {
        listing.warnings.push(Warning::Submodules(submodules));
    }
    Some(listing)
}

/// Files that git's index has and the tables have not. `None` when it has lost one that is still there: that one may
/// be ignored now.
fn newly_tracked(root: &Root, extensions: &Extensions, tables: &Tables) -> Option<Vec<Vec<u8>>> {
    let output = git::output(&root.path, &["ls-files", "-z", "--cached"])?;
    let mut still = vec![false; tables.paths.len()];
    let mut added = Vec::new();
    for path in output.split(|&b| b == 0).filter(|path| extensions.contain(path)) {
        match tables.paths.find(path) {
            Some(at) => still[at] = true,
            None => added.push(path.to_vec()),
        }
    }
    let is_lost = |k: usize| {
        tables.files[k].is_tracked
            && !still[k]
            && fs::symlink_metadata(full_path(&root.path, tables.paths.get(k))).is_ok()
    };
    (!(0..still.len()).any(is_lost)).then_some(added)
}

/// What is new in a folder that changed: its files leave the list when it is no folder any more, names that are not
/// known are put to `asked`. `None`: what is ignored there may have changed.
fn look_into(
    root: &Root,
    extensions: &Extensions,
    tables: &Tables,
    folder: &[u8],
    listing: &mut IndexedListing,
    asked: &mut Vec<Vec<u8>>,
) -> Option<()> {
    let full = full_path(&root.path, folder);
    if !fs::symlink_metadata(&full).is_ok_and(|m| m.is_dir()) {
        unlist(&tables.paths, folder, &mut listing.is_listed);
        return Some(());
    }
    for entry in fs::read_dir(&full).ok()?.flatten() {
        let name = entry.file_name();
        let path = child(folder, name.as_bytes());
        if name == ".gitignore"
            && tables.watch.ignores.paths.find(entry.path().as_os_str().as_bytes()).is_none()
        {
            return None;
        }
        if name == ".git" {
            // The repository's own is no news.
            (folder.is_empty() && root.git_top.as_ref() == Some(&root.path)).then_some(())?;
            continue;
        }
        if is_new(entry.file_type().ok()?, &path, extensions, tables) {
            asked.push(path);
        }
    }
    Some(())
}

fn is_new(kind: FileType, path: &[u8], extensions: &Extensions, tables: &Tables) -> bool {
    if kind.is_dir() {
        tables.watch.folders.paths.find(path).is_none()
    } else {
        kind.is_file() && extensions.contain(path) && tables.paths.find(path).is_none()
    }
}

/// Takes everything below a folder off the list.
fn unlist(paths: &Paths, folder: &[u8], is_listed: &mut [bool]) {
    let below = child(folder, b"");
    for (path, is_listed) in paths.iter().zip(is_listed) {
        if folder.is_empty() || path.starts_with(&below) {
            *is_listed = false;
        }
    }
}

/// The files among or below the paths asked for that git lists.
fn below(root: &Root, extensions: &Extensions, asked: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    if asked.is_empty() {
        return Some(Vec::new());
    }
    if asked.len() > MAX_ASKED {
        return None;
    }
    // Tracked ones too: a folder that comes back brings files that were off the list only for want of it.
    let args = ["--literal-pathspecs", "ls-files", "-z", "--cached", "--others"];
    let mut command = git::command(&root.path, &args);
    command.args(["--exclude-standard", "--"]);
    command.args(asked.iter().map(|path| std::ffi::OsString::from_vec(path.clone())));
    let output = command.output().ok().filter(|output| output.status.success())?.stdout;
    let is_source = |path: &&[u8]| extensions.contain(path) && !path.ends_with(b"/");
    Some(output.split(|&b| b == 0).filter(is_source).map(<[u8]>::to_vec).collect())
}

/// Sorts what was added, and leaves out what lies behind a link or is known.
fn settle(root: &Root, tables: &Tables, listing: &mut IndexedListing) -> Option<()> {
    let mut folders = SymlinkGuard::default();
    listing.added.sort_unstable();
    listing.added.dedup();
    listing
        .added
        .retain(|path| tables.paths.find(path).is_none() && folders.contain(&root.path, path));
    (tables.paths.len() + listing.added.len() <= MAX_FILES).then_some(())
}
