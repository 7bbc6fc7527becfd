//! The edge to Claude Code's command hooks.
//!
//! A handler returns a [`Reply`]: an output or none, and what went wrong. It cannot return an error, so a hook cannot
//! break the person's turn: trouble is silence and a line in the log.

pub mod journal;
pub mod pre_compact;
pub mod session;
pub mod session_compact;
mod session_compact_wire;
pub mod session_start;
pub mod skip_rules;
pub mod user_prompt_submit;
pub mod wire;

use std::path::PathBuf;

use crate::project::root::Root;

/// What a handler has to say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// JSON for standard output; `None` is the right answer when there is nothing to add.
    pub output: Option<String>,
    /// For the log. Never the person's text, never a key.
    pub error: Option<String>,
    /// A project whose index is to be renewed once the answer is out.
    pub reindex: Option<Root>,
}

impl Reply {
    /// Nothing to add, nothing wrong.
    #[must_use]
    pub fn silent() -> Reply {
        Reply::default()
    }

    /// Nothing to add, because something went wrong.
    #[must_use]
    pub fn failed(error: impl Into<String>) -> Reply {
        Reply { error: Some(error.into()), ..Reply::default() }
    }
}

/// Where to look for the project: the session's folder, where the session began (`CLAUDE_PROJECT_DIR`), where we are.
fn project_folder(input: &wire::Input, began: Option<PathBuf>) -> Result<PathBuf, String> {
    let given = input.cwd.as_ref().map(PathBuf::from).or(began);
    match given.filter(|folder| folder.is_dir()) {
        Some(folder) => Ok(folder),
        None => std::env::current_dir().map_err(|e| format!("no working directory: {e}")),
    }
}
