//! Golden transcripts.
//!
//! A transcript is `tests/golden/mcp/NAME.jsonl`: `{">": message}` is sent, `{">>": text}` is sent as it stands, `{"<": message}`
//! is what must come back, in that order and nothing else. `[root]` stands for the project's folder, `[ms]` for a time.
//! `SNAPSHOTS=overwrite cargo test --test it mcp` writes what came back into the files.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::project;
use super::session::Session;

/// Replays a transcript.
fn replay(name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/mcp/{name}.jsonl"));
    let transcript = fs::read_to_string(&path).unwrap();
    let repo = project();
    let root = repo.root.to_str().unwrap().to_owned();
    let mut session = Session::start(repo.packer());
    let mut seen = String::new();
    for line in transcript.lines() {
        let entry: Value = serde_json::from_str(&line.replace("[root]", &root)).unwrap();
        if let Some(message) = entry.get(">") {
            session.send(message);
            let _ = writeln!(seen, "{line}");
        } else if let Some(text) = entry.get(">>") {
            session.raw(text.as_str().unwrap().as_bytes());
            let _ = writeln!(seen, "{line}");
        } else {
            let mut answer = session.receive();
            mask(&mut answer, &root);
            let _ = writeln!(seen, "{}", json!({ "<": answer }));
        }
    }
    let (rest, status, _) = session.close();
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)), "{name}");
    if std::env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
        return fs::write(&path, &seen).unwrap();
    }
    for (expected, seen) in transcript.lines().zip(seen.lines()) {
        assert_eq!(expected, seen, "{name}");
    }
}

/// Replaces what differs from run to run or is tested elsewhere: times, the folder, the version, the figures of a ranking.
fn mask(value: &mut Value, root: &str) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match name.as_str() {
                    "score" | "reasons" | "version" => *member = json!(format!("[{name}]")),
                    name if name.ends_with("Ms") => *member = json!("[ms]"),
                    _ => mask(member, root),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(|member| mask(member, root)),
        Value::String(text) => *text = without_time(&text.replace(root, "[root]")),
        _ => {}
    }
}

/// `Picked 1 of 3 files in 12 ms. Paths are …` without its number.
fn without_time(text: &str) -> String {
    let Some((before, after)) = text.split_once(". Paths are relative to ") else {
        return text.to_owned();
    };
    let (picked, _) = before.rsplit_once(" in ").unwrap();
    format!("{picked} in [ms]. Paths are relative to {after}")
}

macro_rules! transcripts {
    ($($test:ident: $name:literal,)*) => { $(
        #[test]
        fn $test() {
            replay($name);
        }
    )* };
}

transcripts! {
    speaks_2024_11_05: "version-2024-11-05",
    speaks_2025_03_26: "version-2025-03-26",
    speaks_2025_06_18: "version-2025-06-18",
    speaks_2025_11_25: "version-2025-11-25",
    an_unknown_version_gets_the_newest: "version-unknown",
    errors_have_their_codes: "errors",
    garbage_is_answered_and_survived: "garbage",
    notifications_and_answers_are_not_answered: "unanswered",
    arguments_are_coerced_or_explained: "arguments",
    explain_and_code: "explain-code",
    batches: "batches",
    a_quick_call_has_no_progress: "progress",
    a_client_that_shows_json_to_the_model_gets_text: "text-client",
    roots_of_the_client: "roots",
    a_call_cancelled_before_it_starts: "cancelled",
}

#[test]
fn every_transcript_is_replayed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/mcp");
    let source = include_str!("transcripts.rs");
    for entry in fs::read_dir(folder).unwrap() {
        let name = entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(source.contains(&format!(": \"{name}\",")), "{name}.jsonl");
    }
}
