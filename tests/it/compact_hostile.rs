//! Transcripts that nobody should have: cut off, doubled, not UTF-8, nested without end. A clear error or a right result, and
//! the source is never changed.

use std::fmt::Write as _;
use std::io::Write as _;

use crate::harness::{Output, Repo};

/// A session of `count` reads, as lines.
fn session(count: usize) -> Vec<String> {
    let mut lines = vec![r#"{"type":"user","uuid":"p","message":{"content":"fix it"}}"#.to_owned()];
    for i in 0..count {
        lines.push(format!(
            r#"{{"type":"assistant","uuid":"a{i}","message":{{"content":[{{"type":"tool_use","id":"c{i}","name":"Read","input":{{"file_path":"src/f{i}.rs"}}}}]}}}}"#
        ));
        let mut text = String::new();
        for line in 0..80 {
            let _ = write!(text, "src/f{i}.rs:{line}: fn handler_{i}_{line}()\\n");
        }
        lines.push(format!(
            r#"{{"type":"user","uuid":"r{i}","message":{{"content":[{{"type":"tool_result","tool_use_id":"c{i}","content":"{text}"}}]}}}}"#
        ));
    }
    lines
}

fn compact(input: &[u8]) -> Output {
    let repo = Repo::plain();
    repo.file("session.jsonl", input);
    let output = repo.packer().args(&["compact", "session.jsonl", "--archive", "false"]).run();
    assert_eq!(std::fs::read(repo.root.join("session.jsonl")).unwrap(), input);
    output
}

/// The session with a line in its middle; the rest must be compacted and the line kept as it is.
#[track_caller]
fn check_line(line: &str) {
    let mut lines = session(30);
    lines.insert(31, line.to_owned());
    let output = compact((lines.join("\n") + "\n").as_bytes());
    let output = output.expect_code(0);
    assert!(output.lines().any(|kept| kept == line), "the line is gone");
    assert!(output.contains("excerpt"));
    assert_eq!(output.lines().count(), lines.len());
}

#[test]
fn strange_lines_are_carried_along() {
    let deep = format!(
        r#"{{"type":"user","message":{{"content":{}{}}}}}"#,
        "[".repeat(50_000),
        "]".repeat(50_000)
    );
    for line in [
        "not json",
        "{\"type\":\"user\",\"message\":",
        r#"{"type":"user","message":{"content":"\ud800 half a character"}}"#,
        r#"{"__proto__":{"type":"user"},"constructor":1e400,"n":-1E999999}"#,
        r#"{"type":"user","type":"assistant","message":{"content":"twice"}}"#,
        r#"{"type":["user"],"message":7}"#,
        r#"{"type":"user","message":{"content":[7,null,{"type":"tool_result"},{"type":"tool_use","id":7}]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"nobody","content":"orphan"}]}}"#,
        r#"{"type":"user","isSidechain":true,"message":{"content":"elsewhere"}}"#,
        deep.as_str(),
    ] {
        check_line(line);
    }
}

#[test]
fn a_file_that_is_cut_off_or_doubled_is_compacted() {
    let whole = session(30).join("\n");
    let cut = &whole[..whole.len() - 300];
    assert!(compact(cut.as_bytes()).expect_code(0).contains("excerpt"));
    let doubled = format!("{whole}\n{whole}\n");
    let output = compact(doubled.as_bytes());
    assert!(
        output.expect_code(0).ends_with(&format!("{whole}\n")),
        "repeated rows are not read twice"
    );
}

#[test]
fn windows_line_ends_and_other_encodings() {
    let lines = session(30).join("\r\n");
    assert!(compact(lines.as_bytes()).expect_code(0).contains("excerpt"));
    let mut latin = session(30).join("\n").into_bytes();
    latin.extend_from_slice(b"\n{\"type\":\"user\",\"message\":{\"content\":\"caf\xe9\"}}\n");
    let output = compact(&latin);
    output.expect_code(0);
    let utf16: Vec<u8> = "{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(compact(&utf16).stderr.contains("no messages found"));
    assert!(compact(b"").stderr.contains("no messages found"));
    assert!(compact(b"\0\0\0").stderr.contains("no messages found"));
}

/// The host's own record of a result is no part of the conversation: bytes of any encoding in it stand in nobody's way.
#[test]
fn records_of_the_host_need_not_be_text() {
    let mut input = Vec::new();
    for line in session(30) {
        input.extend(line.strip_suffix('}').unwrap().as_bytes());
        input.extend(b",\"toolUseResult\":\"caf\xe9\"}\n");
    }
    let output = compact(&input);
    let output = output.expect_code(0);
    assert!(output.contains("excerpt"));
    assert_eq!(output.matches("\"toolUseResult\":\"caf\u{fffd}\"}\n").count(), 61);
}

#[test]
fn a_line_of_ten_million_characters_takes_no_minute() {
    let mut lines = session(30);
    let text = "x9_".repeat(2_000_000) + &"ab/".repeat(1_000_000) + &"-~".repeat(500_000);
    lines.insert(2, lines[2].replace("src/f0.rs:0:", &text));
    lines.remove(3);
    let output = compact(lines.join("\n").as_bytes());
    assert!(output.expect_code(0).len() < 200_000);
    assert!(output.elapsed.as_secs() < 20, "{:?}", output.elapsed);
}

/// Twice the file, for input and output, and 150 MB for everything else: in kilobytes, as `ulimit -v` takes them.
const MEMORY_KB: usize = 560_000;

#[cfg(target_os = "linux")]
#[test]
fn two_hundred_megabytes_are_compacted_in_bounded_memory() {
    let repo = Repo::plain();
    let path = repo.root.join("session.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let text = "fn handler() -> Result<(), Error>;".repeat(30_000);
    for i in 0..210 {
        let row = format!(r#"{{"type":"user","uuid":"old{i}","message":{{"content":"{text}"}}}}"#);
        writeln!(file, "{row}").unwrap();
    }
    writeln!(file, r#"{{"type":"system","subtype":"compact_boundary","uuid":"b"}}"#).unwrap();
    writeln!(file, "{}", session(30).join("\n")).unwrap();
    drop(file);
    let size = path.metadata().unwrap().len();
    assert!(size > 200 << 20, "{size}");
    let limited = format!(
        "ulimit -v {MEMORY_KB}; exec \"$0\" compact session.jsonl -o small.jsonl --archive false"
    );
    let binary = env!("CARGO_BIN_EXE_context-packer");
    let status = std::process::Command::new("sh")
        .args(["-c", &limited, binary])
        .current_dir(&repo.root)
        .status();
    assert!(status.unwrap().success());
    assert_eq!(path.metadata().unwrap().len(), size);
    let small = repo.root.join("small.jsonl").metadata().unwrap().len();
    assert!(small < size && small > 200 << 20, "{small}");
}

#[test]
fn what_is_too_large_is_refused() {
    let repo = Repo::plain();
    std::fs::File::create(repo.root.join("huge.jsonl")).unwrap().set_len(300 << 20).unwrap();
    let output = repo.packer().args(&["compact", "huge.jsonl"]).run();
    assert!(output.expect_code(1).is_empty());
    assert!(output.stderr.contains("huge.jsonl: larger than 256 MB"), "{}", output.stderr);
}
