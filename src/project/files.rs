//! Which files can be ranked: tracked and untracked-but-not-ignored source files inside the root.
//!
//! A root in, sorted relative paths out. Git lists them where there is git, the `ignore` walker elsewhere.
//! Nothing is opened here; `scan` looks at each file itself.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::root::Root;
use super::{ProjectError, Warning, git};

/// Extensions of source files: the seed's list, and styles, markup, SQL and templates.
pub const EXTENSIONS: &[&str] = &[
    "astro", "bash", "c", "cc", "cjs", "clj", "cljs", "cpp", "cs", "css", "cxx", "dart", "elm",
    "erl", "ex", "exs", "fs", "go", "gradle", "graphql", "groovy", "h", "hh", "hpp", "hs", "html",
    "java", "jl", "js", "jsx", "kt", "kts", "lua", "m", "mjs", "ml", "mli", "mm", "php", "pl",
    "proto", "ps1", "py", "r", "rb", "rs", "sass", "scala", "scss", "sh", "sol", "sql", "svelte",
    "swift", "tf", "ts", "tsx", "vb", "vue", "zig", "zsh",
];

/// Files that may be ranked. Four times the largest tree we measured (Linux, 78,000 files).
pub const MAX_FILES: usize = 300_000;

/// Folders the walker skips where no git says what is ignored: dependencies, build output, caches.
const SKIPPED_FOLDERS: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    "node_modules",
    "dist",
    "build",
    "out",
    "target",
    "vendor",
    "coverage",
    ".venv",
    "venv",
    "__pycache__",
    ".gradle",
    ".idea",
    ".next",
    ".nuxt",
    ".cache",
    ".tox",
    "bin",
    "obj",
];

/// The extensions that count as source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extensions(Vec<String>);

impl Default for Extensions {
    fn default() -> Extensions {
        Extensions(EXTENSIONS.iter().map(|&e| e.to_owned()).collect())
    }
}

impl Extensions {
    /// Reads `CONTEXT_PACKER_EXTENSIONS`: `py,sql` in place of the usual ones, `+md,+yml` beside them.
    #[must_use]
    pub fn parse(setting: &str) -> Extensions {
        let words = setting.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
        let (added, replacing): (Vec<&str>, Vec<&str>) =
            words.partition(|word| word.starts_with('+'));
        let clean = |word: &str| word.trim_start_matches(['+', '.']).to_ascii_lowercase();
        let mut all = match replacing.is_empty() {
            true => Extensions::default().0,
            false => replacing.into_iter().map(clean).collect(),
        };
        all.extend(added.into_iter().map(clean));
        all.sort_unstable();
        all.dedup();
        Extensions(all)
    }

    /// The same text for the same extensions.
    #[must_use]
    pub fn key(&self) -> String {
        self.0.join(",")
    }

    /// Does the file name end in one of them?
    #[must_use]
    pub fn contain(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&b| b == b'/').next().unwrap_or(path);
        let Some(dot) = name.iter().rposition(|&b| b == b'.') else { return false };
        let extension = name[dot + 1..].to_ascii_lowercase();
        self.0.binary_search_by(|known| known.as_bytes().cmp(&extension)).is_ok()
    }
}

/// What there is to rank.
#[derive(Debug, Default)]
pub struct Listing {
    /// Relative paths, sorted by bytes, each once. They may have vanished since, or be no regular files.
    pub paths: Vec<Vec<u8>>,
    /// What could not be listed.
    pub warnings: Vec<Warning>,
}

/// Lists the source files of a project.
///
/// # Errors
/// A repository that git cannot read.
pub fn list(root: &Root, extensions: &Extensions) -> Result<Listing, ProjectError> {
    let mut listing = match &root.git_top {
        Some(_) => list_by_git(root, extensions)?,
        None => list_by_walk(&root.path, extensions),
    };
    if root.git_top.is_none() {
        listing.warnings.push(Warning::NoGit);
    }
    Ok(finish(root, listing))
}

/// In order, within the limit, and really in the root.
fn finish(root: &Root, mut listing: Listing) -> Listing {
    listing.paths.sort_unstable();
    listing.paths.dedup();
    if listing.paths.len() > MAX_FILES {
        listing.paths.truncate(MAX_FILES);
        listing.warnings.push(Warning::TooManyFiles(MAX_FILES));
    }
    let mut folders = SymlinkGuard::default();
    listing.paths.retain(|path| folders.contain(&root.path, path));
    listing
}

fn list_by_git(root: &Root, extensions: &Extensions) -> Result<Listing, ProjectError> {
    let args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = match git::command(&root.path, &args).output() {
        Ok(output) => output,
        Err(_) => {
            let mut listing = list_by_walk(&root.path, extensions);
            listing.warnings.push(Warning::NoGitProgram);
            return Ok(listing);
        }
    };
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(ProjectError::GitListing(
            message.lines().next().unwrap_or("no message").to_owned(),
        ));
    }
    Ok(sources(root, extensions, output.stdout.split(|&b| b == 0)))
}

/// [`list`] of the paths that git named.
pub(crate) fn listed<'p>(
    root: &Root,
    extensions: &Extensions,
    paths: impl Iterator<Item = &'p [u8]>,
) -> Listing {
    finish(root, sources(root, extensions, paths))
}

fn sources<'p>(
    root: &Root,
    extensions: &Extensions,
    paths: impl Iterator<Item = &'p [u8]>,
) -> Listing {
    // A repository inside this one is listed as `folder/`; its files are its own.
    let paths = paths.filter(|path| extensions.contain(path) && !path.ends_with(b"/"));
    let mut listing = Listing { paths: paths.map(<[u8]>::to_vec).collect(), warnings: Vec::new() };
    let submodules = submodules(root);
    if !submodules.is_empty() {
        listing.warnings.push(Warning::Submodules(submodules));
    }
    listing
}

/// The paths named by `.gitmodules` that lie in the root and are there.
pub(crate) fn submodules(root: &Root) -> Vec<String> {
    let Some(top) = &root.git_top else { return Vec::new() };
    let Ok(text) = fs::read_to_string(top.join(".gitmodules")) else { return Vec::new() };
    text.lines()
        .filter_map(|line| line.trim().strip_prefix("path")?.trim_start().strip_prefix('='))
        .map(|path| top.join(path.trim()))
        .filter(|path| path.join(".git").exists())
        .filter_map(|path| Some(path.strip_prefix(&root.path).ok()?.display().to_string()))
        .collect()
}

/// Every entry that nothing ignores.
pub(crate) fn walk(root: &Path) -> ignore::Walk {
    ignore::WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| entry.depth() == 0 || !is_skipped_folder(entry))
        .build()
}

fn list_by_walk(root: &Path, extensions: &Extensions) -> Listing {
    let mut listing = Listing::default();
    let mut unreadable = Vec::new();
    for entry in walk(root) {
        match entry {
            Ok(entry) if entry.file_type().is_some_and(|t| t.is_file()) => {
                let Ok(path) = entry.path().strip_prefix(root) else { continue };
                let path = path.as_os_str().as_bytes();
                if extensions.contain(path) {
                    listing.paths.push(path.to_vec());
                }
            }
            Ok(_) => {}
            Err(error) => unreadable.push(error.to_string()),
        }
    }
    if !unreadable.is_empty() {
        listing.warnings.push(Warning::Unreadable(unreadable));
    }
    listing
}

pub(crate) fn is_skipped_folder(entry: &ignore::DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|t| t.is_dir());
    let name = entry.file_name();
    // A folder with a repository of its own is another project: a clone, or a worktree of an agent.
    is_folder
        && (SKIPPED_FOLDERS.iter().any(|skipped| name == OsStr::new(skipped))
            || entry.path().join(".git").exists())
}

/// Remembers which folders really lie in the root.
///
/// Git lists a tracked `lib/a.rs` even after someone has put a symlink in place of `lib`; reading it would leave the root.
#[derive(Default)]
pub(crate) struct SymlinkGuard {
    known: HashMap<Vec<u8>, bool>,
    last: Vec<u8>,
}

impl SymlinkGuard {
    pub(crate) fn contain(&mut self, root: &Path, path: &[u8]) -> bool {
        let Some(slash) = path.iter().rposition(|&b| b == b'/') else { return true };
        let folder = &path[..slash];
        // Paths are sorted: most stand in the folder of the one before.
        if folder == self.last.as_slice() {
            return true;
        }
        let is_real = self.is_real(root, folder);
        if is_real {
            self.last = folder.to_vec();
        }
        is_real
    }

    fn is_real(&mut self, root: &Path, folder: &[u8]) -> bool {
        if let Some(&known) = self.known.get(folder) {
            return known;
        }
        let parent_is_real = match folder.iter().rposition(|&b| b == b'/') {
            Some(slash) => self.is_real(root, &folder[..slash]),
            None => true,
        };
        let own = root.join(OsStr::from_bytes(folder));
        let is_real = parent_is_real && fs::symlink_metadata(own).is_ok_and(|m| m.is_dir());
        self.known.insert(folder.to_vec(), is_real);
        is_real
    }
}

/// A root for very many paths: `.` where the process stands in it, as hooks and servers do, so that the system walks down from there.
///
/// Nothing here ever changes the folder of the process.
pub(crate) fn relative_root(root: &Path) -> &Path {
    let here = Path::new(".");
    let id = |folder: &Path| fs::metadata(folder).map(|m| (m.dev(), m.ino())).ok();
    // By what it is, not by its name: something may be mounted over the folder.
    if id(here).is_some_and(|own| Some(own) == id(root)) { here } else { root }
}

/// A relative path on this system.
#[must_use]
pub fn full_path(root: &Path, relative: &[u8]) -> PathBuf {
    root.join(OsStr::from_bytes(relative))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_for_the_search() {
        assert!(EXTENSIONS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn extensions() {
        let check = |setting: &str, path: &str, expected: bool| {
            let extensions = match setting {
                "" => Extensions::default(),
                setting => Extensions::parse(setting),
            };
            assert_eq!(extensions.contain(path.as_bytes()), expected, "{setting:?} {path}");
        };
        check("", "src/main.rs", true);
        check("", "src/Main.RS", true);
        check("", "a.rs/README", false);
        check("", "notes.md", false);
        check("+md, .rst", "notes.md", true);
        check("+md", "src/main.rs", true);
        check("md", "src/main.rs", false);
        check("md, .rst", "a.rst", true);
    }
}
