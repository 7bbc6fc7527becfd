//! A path on the first line, a file behind it: what of it may be sent to a model stays below its limits, and a token in it
//! never shows.

#![no_main]

use context_packer::core::rerank::request::SOURCE_CHARS;
use context_packer::core::text::redact::{holds_credential, redact};
use context_packer::core::rerank::sketch::{SKETCH_CHARS, excerpt, sketch};
use libfuzzer_sys::fuzz_target;

const TOKEN: &str = "ghp_1234567890abcdefghijABCDEFGHIJ123456";

fuzz_target!(|input: &[u8]| {
    let end = input.iter().position(|&b| b == b'\n').unwrap_or(input.len());
    let (path, source) = (String::from_utf8_lossy(&input[..end]), &input[end..]);
    let heading = format!("path: {path}\n").chars().count();
    let sketched = sketch(&path, source).text;
    assert!(sketched.chars().count() <= SKETCH_CHARS.max(heading + 64), "{sketched:?}");
    let shown = excerpt(&path, source, SOURCE_CHARS).text;
    assert!(shown.chars().count() <= heading + SOURCE_CHARS, "{shown:?}");

    let text = String::from_utf8_lossy(source);
    let (clean, found) = redact(&text);
    assert!(found > 0 || clean == text, "{text:?}");
    // The fuzzer finds out about the token; inside of another word it is none.
    if text.contains(TOKEN) {
        return;
    }
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let planted = format!("{} {TOKEN} {}", &text[..middle], &text[middle..]);
    assert!(holds_credential(&planted) && !redact(&planted).0.contains(TOKEN), "{planted:?}");
});
