//! Which folder is the project: the nearest one with a manifest, up to the top of the git work tree.

use std::path::{Path, PathBuf};

use super::ProjectError;

/// Files that mark the root of a project or of a package in a larger one.
pub const MANIFESTS: &[&str] = &[
    "package.json",
    "deno.json",
    "pyproject.toml",
    "setup.py",
    "go.mod",
    "Cargo.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle.kts",
    "composer.json",
    "Gemfile",
    "mix.exs",
    "Package.swift",
    "CMakeLists.txt",
];

/// A project folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// Absolute, without symlinks.
    pub path: PathBuf,
    /// The top of the git work tree it lies in.
    pub git_top: Option<PathBuf>,
}

/// Exactly this folder.
///
/// # Errors
/// It does not exist or is no folder.
pub fn exactly(folder: &Path) -> Result<Root, ProjectError> {
    let path = canonical(folder)?;
    let git_top =
        path.ancestors().find(|folder| folder.join(".git").exists()).map(Path::to_path_buf);
    Ok(Root { path, git_top })
}

/// The project around a folder: the nearest ancestor with a manifest, at most the git top; outside git, the folder itself.
///
/// # Errors
/// The folder does not exist or is no folder.
pub fn around(folder: &Path) -> Result<Root, ProjectError> {
    let here = exactly(folder)?;
    let Some(top) = here.git_top.clone() else { return Ok(here) };
    let within: Vec<&Path> = here.path.ancestors().take_while(|a| a.starts_with(&top)).collect();
    let path = within.into_iter().find(|folder| has_manifest(folder)).unwrap_or(&top).to_path_buf();
    Ok(Root { path, git_top: Some(top) })
}

fn has_manifest(folder: &Path) -> bool {
    MANIFESTS.iter().any(|name| folder.join(name).is_file())
}

fn canonical(folder: &Path) -> Result<PathBuf, ProjectError> {
    let failed = |error| ProjectError::Root(folder.to_path_buf(), error);
    let path = folder.canonicalize().map_err(failed)?;
    // A file would only fail later, and less clearly.
    path.read_dir().map_err(failed)?;
    Ok(path)
}
