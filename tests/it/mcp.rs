//! The MCP server as a client meets it: golden transcripts, and what needs a clock, a signal or a changing project.

mod model;
mod session;
mod transcripts;

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::session::{Session, text};
use crate::harness::{Packer, Repo};

/// A small project in which every task of these tests has one right answer.
fn project() -> Repo {
    let repo = Repo::new();
    repo.file("Cargo.toml", "[package]\n");
    repo.file("src/client.rs", "fn retry_backoff() {\n    let delay_seconds = 1;\n}\n");
    repo.file("src/server.rs", "fn listen(port: u16) {}\n");
    repo.file("web/upload.rs", "fn upload_form() {}\n");
    repo.commit("client with retries and a server");
    repo
}

/// A `git` that waits before it works, first on the PATH: a call that takes its time.
fn slow_git(repo: &Repo, seconds: &str) -> Packer {
    let folder = repo.outside().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let paths = std::env::var("PATH").unwrap();
    let script = format!("#!/bin/sh\nsleep {seconds}\nPATH='{paths}' exec git \"$@\"\n");
    // A child process writes it: a descriptor of ours, inherited by another test's child, would make it "busy".
    let write = "cat >\"$0\" && chmod 755 \"$0\"";
    let mut shell = Command::new("sh");
    let mut shell =
        shell.args(["-c", write]).arg(folder.join("git")).stdin(Stdio::piped()).spawn().unwrap();
    shell.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
    repo.packer().env("PATH", format!("{}:{paths}", folder.display()))
}

#[test]
fn two_calls_at_once_and_a_ping_between() {
    let repo = project();
    let mut session = Session::open(slow_git(&repo, "0.3"), &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    session.call(2, &json!({ "task": "listen on the port" }));
    session.request(3, "ping", &json!({}));
    assert_eq!(session.receive()["id"], 3, "a ping does not wait for a ranking");
    let mut answers = [session.receive(), session.receive()];
    answers.sort_by_key(|answer| answer["id"].as_u64());
    assert!(text(&answers[0]).contains("#1   src/client.rs"), "{answers:#?}");
    assert!(text(&answers[1]).contains("#1   src/server.rs"), "{answers:#?}");
}

#[test]
fn more_calls_than_threads_are_all_answered() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({}));
    for id in 1..=50 {
        session.call(id, &json!({ "task": "retry backoff", "limit": 1 }));
    }
    let mut ids: Vec<u64> = (0..50).map(|_| session.receive()["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(ids, (1..=50).collect::<Vec<u64>>());
}

#[test]
fn a_running_call_that_is_cancelled_is_never_answered() {
    let repo = project();
    let mut session = Session::open(slow_git(&repo, "0.3"), &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    session.request(2, "ping", &json!({}));
    assert_eq!(session.receive()["id"], 2);
    session.cancel(1);
    session.call(3, &json!({ "task": "listen on the port" }));
    assert_eq!(session.receive()["id"], 3);
    // Its thread has ended by now, and the same id may be used again.
    session.cancel(1);
    session.call(1, &json!({ "task": "upload form" }));
    let answer = session.receive();
    assert_eq!(answer["id"], 1);
    assert!(text(&answer).contains("#1   web/upload.rs"), "{answer:#}");
}

#[test]
fn a_slow_call_tells_progress_before_its_answer() {
    let repo = project();
    let mut session = Session::open(slow_git(&repo, "0.8"), &json!({}));
    for (id, token) in [(1, json!("a token")), (2, json!(7))] {
        let arguments = json!({ "task": "retry backoff" });
        let meta = json!({ "progressToken": token });
        let params = json!({ "name": "pack_context", "arguments": arguments, "_meta": meta });
        session.request(id, "tools/call", &params);
        let progress = session.receive();
        assert_eq!(progress["method"], "notifications/progress");
        assert_eq!(progress["params"]["progressToken"], token);
        assert!(progress["params"]["progress"].as_u64() < progress["params"]["total"].as_u64());
        assert_eq!(session.receive()["id"], id);
    }
    session.call(3, &json!({ "task": "retry backoff" }));
    assert_eq!(session.receive()["id"], 3, "no progress without a token");
}

#[test]
fn a_line_of_ten_megabytes() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({}));
    let task = "retry backoff ".repeat(10_000_000 / 14);
    session.call(1, &json!({ "task": task }));
    assert!(text(&session.receive()).contains("#1   src/client.rs"));
    session.raw(&vec![b'['; 10_000_000]);
    assert_eq!(session.receive()["error"]["code"], -32700);
    session.raw(&vec![b'x'; 17 << 20]);
    let answer = session.receive();
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    session.request(2, "ping", &json!({}));
    assert_eq!(session.receive()["id"], 2, "the line after it is read again");
}

#[test]
fn closed_input_ends_the_server() {
    let repo = project();
    let (rest, status, elapsed) = Session::open(repo.packer(), &json!({})).close();
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)));
    assert!(elapsed < Duration::from_millis(500), "{elapsed:?}");
}

#[test]
fn calls_under_way_are_answered_before_it_ends() {
    let repo = project();
    // The client can be asked for its roots, but has gone: nobody waits for its answer.
    let mut session = Session::open(repo.packer(), &json!({ "roots": {} }));
    session.receive();
    session.call(1, &json!({ "task": "retry backoff" }));
    let (rest, status, _) = session.close();
    assert_eq!((rest.len(), status.code()), (1, Some(0)));
    assert!(rest[0].contains("src/client.rs"), "{rest:?}");
}

#[test]
fn a_call_that_hangs_does_not_keep_the_server() {
    let repo = project();
    let mut session = Session::open(slow_git(&repo, "6"), &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    let (rest, status, elapsed) = session.close();
    assert_eq!((rest, status.code()), (Vec::new(), Some(0)));
    assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
}

#[test]
fn closed_output_ends_the_server() {
    let repo = project();
    let mut command = repo.packer().args(&["mcp"]).command;
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.unwrap();
    drop(child.stdout.take());
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    // The input stays open: it is the failed answer that ends the server.
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn an_interrupt_ends_the_server() {
    let repo = project();
    let mut session = Session::open(slow_git(&repo, "6"), &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    session.request(2, "ping", &json!({}));
    session.receive();
    let pid = session.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let started = Instant::now();
    session.wait();
    assert!(started.elapsed() < Duration::from_millis(500));
}

#[test]
fn a_client_that_never_names_its_roots_is_served_all_the_same() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({ "roots": {} }));
    assert_eq!(session.receive()["method"], "roots/list");
    session.call(1, &json!({ "task": "retry backoff" }));
    assert!(text(&session.receive()).contains("src/client.rs"));
}

/// The folder that a call without a `root` ranks.
fn ranked_folder(packer: Packer) -> PathBuf {
    let mut session = Session::open(packer, &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    let answer = session.receive();
    PathBuf::from(answer["result"]["structuredContent"]["root"].as_str().unwrap())
}

#[test]
fn without_roots_the_host_or_the_working_directory_says_where() {
    let repo = project();
    let mut inner = repo.packer();
    inner.command.current_dir(repo.root.join("src"));
    assert_eq!(ranked_folder(inner), repo.root, "the project around the working directory");
    let mut outer = repo.packer();
    outer.command.current_dir(repo.outside());
    let outer = outer.env("CLAUDE_PROJECT_DIR", repo.root.join("web"));
    assert_eq!(ranked_folder(outer), repo.root, "the project around the session's");
    let fixed = repo.packer().args(&["mcp", "--root", "web"]);
    let fixed = fixed.env("CLAUDE_PROJECT_DIR", repo.outside());
    assert_eq!(ranked_folder(fixed), repo.root.join("web"), "exactly what the person says");
}

#[test]
fn a_root_that_is_no_folder_is_told_at_once() {
    let repo = project();
    let output = repo.packer().args(&["mcp", "--root", "gone"]).run();
    assert_eq!(output.expect_code(1), "");
    assert!(output.stderr.contains("cannot read project gone"), "{output:#?}");
}

#[test]
fn a_wrong_setting_is_told_to_the_call() {
    let repo = project();
    let packer = repo.packer().env("CONTEXT_PACKER_PROVIDER", "oracle");
    let mut session = Session::open(packer, &json!({}));
    session.call(1, &json!({ "task": "retry backoff" }));
    let answer = session.receive();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("CONTEXT_PACKER_PROVIDER"), "{answer}");
    session.call(2, &json!({ "task": "retry backoff", "provider": "keywords" }));
    assert_eq!(session.receive()["result"]["isError"], false);
}

#[test]
fn a_symlink_does_not_lead_out_of_the_root() {
    let repo = project();
    fs::create_dir(repo.outside().join("secret")).unwrap();
    std::os::unix::fs::symlink(repo.outside().join("secret"), repo.root.join("link")).unwrap();
    let mut session = Session::open(repo.packer(), &json!({}));
    session.call(1, &json!({ "task": "retry backoff", "root": "link" }));
    let answer = session.receive();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).starts_with("root \"link\" is no folder inside "), "{answer}");
}

#[test]
fn every_call_sees_the_files_as_they_are() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({}));
    for round in 0..40 {
        // Every version of the file has the same length, and the clock may not have moved on since the one before.
        repo.file("src/server.rs", format!("fn marker{round:03}() {{}}\n"));
        session.call(round, &json!({ "task": format!("marker{round:03}"), "limit": 1, "code": 1 }));
        let answer = session.receive();
        assert!(text(&answer).contains(&format!("fn marker{round:03}")), "{answer:#}");
    }
    repo.file("src/brand_new.rs", "fn zeppelin() {}\n");
    session.call(100, &json!({ "task": "zeppelin" }));
    assert!(text(&session.receive()).contains("src/brand_new.rs"));
    fs::remove_file(repo.root.join("src/brand_new.rs")).unwrap();
    session.call(101, &json!({ "task": "zeppelin" }));
    assert!(!text(&session.receive()).contains("brand_new"));
}

/// Holds a value against the part of JSON Schema that our schema uses, and against having members it does not name.
fn hold(schema: &Value, value: &Value, at: &str) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let allowed = schema["type"].to_string();
    let is_allowed = |kind: &str| allowed.contains(&format!("\"{kind}\""));
    assert!(is_allowed(kind) || kind == "integer" && is_allowed("number"), "{at}: {kind}");
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(name.as_str().unwrap()).is_some(), "{at} has no {name}");
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let property = schema["properties"].get(name);
        hold(property.unwrap_or_else(|| panic!("{at}.{name}")), member, &format!("{at}.{name}"));
    }
    for member in value.as_array().into_iter().flatten() {
        hold(&schema["items"], member, &format!("{at}[]"));
    }
}

#[test]
fn structured_answers_are_what_the_schema_says_and_what_pack_prints() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({}));
    session.request(1, "tools/list", &json!({}));
    let tool = session.receive()["result"]["tools"][0].clone();
    session.call(2, &json!({ "task": "retry backoff of the client", "code": 2 }));
    let answer = session.receive()["result"]["structuredContent"].clone();
    hold(&tool["outputSchema"], &answer, "");
    let printed = repo.pack("retry backoff of the client", &["--json", "--code", "2"]);
    let printed: Value = serde_json::from_str(printed.expect_code(0)).unwrap();
    hold(&tool["outputSchema"], &printed, "");
    assert_eq!(answer["result"]["files"], printed["result"]["files"]);
    assert_eq!(answer["snippets"], printed["snippets"]);
}
