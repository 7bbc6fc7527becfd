//! `SessionStart`: has a project without an index get one, so that the first prompt finds it ready.
//!
//! After a compaction the conversation no longer holds the list of files, so it may be said again; after a summary it
//! adds what summaries lose, see [`super::pre_compact`].

use std::path::{Path, PathBuf};

use super::session::Session;
use super::{Reply, pre_compact, project_folder, wire};
use crate::cache::private;
use crate::config::{self, Environment};
use crate::index;
use crate::project::root::{self, Root};
use crate::project::scan;

/// Forgets what the session was told if it has just been compacted; otherwise looks after the index.
#[must_use]
pub fn handle(input: &wire::Input, environment: Environment<'_>) -> Reply {
    if input.source.as_deref() != Some("compact") {
        return Reply { reindex: without_index(input, environment), ..Reply::silent() };
    }
    if let (Some(id), Some(folder)) = (&input.session_id, private::folder(environment)) {
        Session::open(&folder, id).forget();
    }
    pre_compact::after_summary(input)
}

/// The project, if it needs an index. Outside a repository and in the home folder nobody may ever ask anything; the first
/// prompt that is answered has them indexed all the same, and renews an index that is there.
fn without_index(input: &wire::Input, environment: Environment<'_>) -> Option<Root> {
    // A setting that cannot be read is reported at the prompt.
    let folder = config::index(environment).ok().flatten()?;
    let began = environment("CLAUDE_PROJECT_DIR").map(PathBuf::from);
    let root = root::around(&project_folder(input, began).ok()?).ok()?;
    let is_home = environment("HOME").is_some_and(|home| root.path == Path::new(&home));
    let extensions = config::extensions(environment);
    let task = index::IndexScope { extensions: &extensions, max_file_bytes: scan::MAX_FILE_BYTES };
    let is_wanted = root.git_top.is_some() && !is_home;
    (is_wanted && !index::exists(&folder, &root, &task)).then_some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_compaction_lets_a_list_be_said_again() {
        let name = format!("context-packer-start-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let environment = |name: &str| {
            (name == "CONTEXT_PACKER_CACHE").then(|| folder.to_string_lossy().into_owned())
        };
        std::fs::create_dir_all(&folder).unwrap();
        let session = Session::open(&folder, "s1");
        for (source, is_repeated) in
            [("startup", false), ("resume", true), ("compact", false), ("clear", true)]
        {
            let input = wire::Input {
                session_id: Some("s1".into()),
                source: Some(source.into()),
                cwd: Some(folder.to_string_lossy().into_owned()),
                ..wire::Input::default()
            };
            assert_eq!(handle(&input, &environment), Reply::silent());
            assert_eq!(session.repeats("src/client.rs"), is_repeated, "{source}");
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}
