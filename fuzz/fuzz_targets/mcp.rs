//! Lines of a client: every line of the answer is JSON, and the server ends when its input does.

#![no_main]

use std::io::Cursor;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use context_packer::mcp::{ServerSettings, serve};
use context_packer::rerank::Models;
use libfuzzer_sys::fuzz_target;

/// A project without files: a call answers at once.
static PROJECT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder =
        std::env::temp_dir().join(format!("context-packer-fuzz-mcp-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for temporary files");
    folder
});

fuzz_target!(|input: &[u8]| {
    let settings = ServerSettings {
        fixed_root: Some(PROJECT.clone()),
        start: PROJECT.clone(),
        environment: |_| None,
        models: Arc::new(Models::open(&|_| None)),
    };
    let mut output = Vec::new();
    serve(Cursor::new(input.to_vec()), &mut output, settings).expect("memory does not fail");
    for line in output.split(|&b| b == b'\n').filter(|line| !line.is_empty()) {
        serde_json::from_slice::<serde_json::Value>(line).expect("a line is JSON");
    }
});
