//! What Claude Code sends on standard input: a prompt, and a conversation to compact. Neither may panic, and the answer to a
//! conversation is always one line of JSON.

#![no_main]

use context_packer::compact::compact;
use context_packer::config::compact as settings;
use context_packer::hook::{self, skip_rules, wire};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Ok(input) = wire::input(input) {
        let _ = prompt::skip(input.prompt.as_deref().unwrap_or_default(), input.source.as_deref());
    }
    let no_environment = |_: &str| None;
    let answer = hook::compact::answer(input, &no_environment, &|transcript, environment| {
        let settings = settings::read(&[], environment).map_err(|error| error.to_string())?;
        compact(transcript, &settings, None, None).map_err(|error| error.to_string())
    });
    let is_object = |json: serde_json::Value| json.is_object();
    assert!(
        answer.lines().count() == 1 && serde_json::from_str(&answer).is_ok_and(is_object),
        "{answer}"
    );
});
