//! `context-packer hook`: reads a hook's JSON, answers with JSON or nothing, never fails.

use std::io::{Read as _, Write as _};
use std::panic::Location;

use crate::cache::private;
use crate::config::{self, Environment};
use crate::hook::{Reply, journal, pre_compact, session_start, user_prompt_submit, wire};
use crate::index;

/// Largest input that is read: a prompt of 1 MB fits, and an endless stream is cut off.
const MAX_INPUT_BYTES: u64 = 16 << 20;

/// Answers one hook call. An error becomes one line in the log.
pub fn run() {
    let environment: Environment<'_> = &config::process_environment;
    let reply = reply(environment);
    if let Some(error) = &reply.error {
        note(environment, error);
    }
    if let Some(output) = reply.output {
        // The host may have stopped reading; then nobody can be told.
        let _ = std::io::stdout().lock().write_all(output.as_bytes());
    }
    if let Some(root) = &reply.reindex {
        // Without an index the next answer is the same, only slower.
        let _ = index::build_later(root);
    }
}

fn note(environment: Environment<'_>, error: &str) {
    if let Some(folder) = private::folder(environment) {
        journal::note(&folder, "hook", error);
    }
}

/// Logs where a panic happened. Its message may contain the user's words and is not logged.
pub fn log_panic(place: Option<&Location<'_>>) {
    let place = place.map_or_else(|| "an unknown place".to_owned(), Location::to_string);
    note(&config::process_environment, &format!("a bug at {place}: please report this"));
}

fn reply(environment: Environment<'_>) -> Reply {
    #[cfg(debug_assertions)]
    if environment("CONTEXT_PACKER_TEST_PANIC").is_some() {
        panic!("asked for by a test: see `fail_open` in main.rs");
    }
    let mut bytes = Vec::new();
    if let Err(error) = std::io::stdin().lock().take(MAX_INPUT_BYTES).read_to_end(&mut bytes) {
        return Reply::failed(format!("cannot read standard input: {error}"));
    }
    let input = match wire::input(&bytes) {
        Ok(input) => input,
        Err(error) => return Reply::failed(format!("cannot read the hook's JSON: {error}")),
    };
    match input.hook_event_name.as_deref() {
        // Older hosts do not name the event; prompts are the most common one.
        None | Some("UserPromptSubmit") => user_prompt_submit::handle(input, environment),
        Some("PreCompact") => pre_compact::before_summary(&input),
        Some("SessionStart") => session_start::handle(&input, environment),
        Some(other) => Reply::failed(format!("event {other:?} is not one of ours")),
    }
}
