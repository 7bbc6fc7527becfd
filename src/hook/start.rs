//! `SessionStart`: after a compaction the conversation no longer holds the list of files, so it may be said again.
//!
//! After a summary it adds what summaries lose; see [`brief`]. At any other start it adds and forgets nothing.

use super::session::Session;
use super::{Reply, brief, wire};
use crate::config::Environment;
use crate::private;

/// Forgets what the session was told, if it has just been compacted.
#[must_use]
pub fn handle(input: &wire::Input, environment: Environment<'_>) -> Reply {
    let is_compacted = input.source.as_deref() == Some("compact");
    if let (true, Some(id), Some(folder)) =
        (is_compacted, &input.session_id, private::folder(environment))
    {
        Session::open(&folder, id).forget();
    }
    if is_compacted {
        return brief::after_summary(input);
    }
    Reply::silent()
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
        let session = Session::open(&folder, "s1");
        for (source, is_repeated) in
            [("startup", false), ("resume", true), ("compact", false), ("clear", true)]
        {
            let input = wire::Input {
                session_id: Some("s1".into()),
                source: Some(source.into()),
                ..wire::Input::default()
            };
            assert_eq!(handle(&input, &environment), Reply::silent());
            assert_eq!(session.repeats("src/client.rs"), is_repeated, "{source}");
        }
        let _ = std::fs::remove_dir_all(&folder);
    }
}
