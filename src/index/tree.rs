//! What git says about a whole tree, for the making of an index: its walks through the tree, side by side.
//!
//! A root in; tracked and untracked paths and the folders git does not look into out.

use std::collections::HashSet;

use crate::project::git;
use crate::project::root::Root;

/// Answers of git, each path ended by a NUL.
pub(super) struct Tree {
    /// Files and folders that are ignored; not what is in such folders.
    ignored: Vec<u8>,
    /// Untracked files, and the folders of other repositories.
    others: Vec<u8>,
    /// Tracked files with mode, id and stage.
    entries: Vec<u8>,
}

impl Tree {
    /// Asks git; `None` when it fails.
    pub(super) fn ask(root: &Root) -> Option<Tree> {
        let ask = |args: &[&str]| git::output(&root.path, &[&["ls-files", "-z"], args].concat());
        let others = ["--others", "--exclude-standard"];
        std::thread::scope(|scope| {
            let ignored = ["--others", "--ignored", "--exclude-standard", "--directory"];
            let ignored = scope.spawn(move || ask(&ignored));
            let entries = scope.spawn(move || ask(&["--stage"]));
            let others = ask(&others)?;
            Some(Tree { ignored: ignored.join().ok()??, others, entries: entries.join().ok()?? })
        })
    }

    /// Folders that git does not look into, relative: ignored ones, other repositories, submodules.
    pub(super) fn closed_folders(&self) -> HashSet<&[u8]> {
        let named = paths(&self.ignored).chain(paths(&self.others));
        let named = named.filter_map(|path| path.strip_suffix(b"/"));
        let submodules = entries(&self.entries).filter(|(mode, _)| *mode == SUBMODULE);
        named.chain(submodules.map(|(_, path)| path)).collect()
    }

    /// Tracked paths; submodules too.
    pub(super) fn tracked(&self) -> impl Iterator<Item = &[u8]> {
        entries(&self.entries).map(|(_, path)| path)
    }

    /// Everything that is tracked or untracked but not ignored.
    pub(super) fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.tracked().chain(paths(&self.others))
    }
}

/// Git's mode of an entry that is another repository's commit.
const SUBMODULE: &[u8] = b"160000";

fn paths(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|&b| b == 0).filter(|path| !path.is_empty())
}

/// Mode and path of `mode id stage<TAB>path`.
fn entries(list: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    paths(list).filter_map(|entry| {
        let tab = memchr::memchr(b'\t', entry)?;
        let mode = entry.split(|&b| b == b' ').next()?;
        Some((mode, &entry[tab + 1..]))
    })
}
