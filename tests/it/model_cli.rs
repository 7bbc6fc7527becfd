//! The program with a decision model: what it prints, how it fails, what the hook does, and that no key is ever shown.

use std::time::Duration;

use serde_json::{Value, json};

use crate::fake::{Behaviour, FakeSystemOne, Fault};
use crate::harness::{KEY, Output, Packer, Repo, assert_no_key};

const TASK: &str = "add jitter to the retry backoff";

fn project() -> Repo {
    let repo = Repo::new();
    repo.file("src/client.py", "def call(send):\n    retry(send, backoff=1, jitter=0)\n");
    repo.file("src/server.py", "def serve():\n    accept()\n");
    repo.file("tests/test_client.py", "def test_call():\n    retry(backoff)\n");
    repo.file("src/secrets.py", "PASSWORD = \"hunter22\"\ndef backoff(): pass\n");
    repo.commit("client with fixed retry");
    repo
}

fn with_key(repo: &Repo, fake: &FakeSystemOne, args: &[&str]) -> Packer {
    let run = repo.packer().args(args);
    run.env("TYPESAFE_API_KEY", KEY).env("TYPESAFE_BASE_URL", fake.url())
}

fn pack(repo: &Repo, fake: &FakeSystemOne, args: &[&str]) -> Output {
    with_key(repo, fake, &[&["pack", TASK, "-p", "jev"], args].concat()).run()
}

/// A failure that nobody can take for a ranking.
#[track_caller]
fn assert_fails(output: &Output, part: &str) {
    assert_eq!(output.expect_code(1), "");
    assert!(output.stderr.contains(part), "{output:#?}");
}

#[test]
fn text_names_scores_roles_and_costs() {
    let fake = FakeSystemOne::start(Behaviour { key: Some(KEY.into()), ..Behaviour::default() });
    let output = pack(&project(), &fake, &["--explain", "-n", "2"]);
    let text = output.expect_code(0);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("Picked 2 of 4 files in "), "{text}");
    assert!(lines[1].starts_with("0.") && lines[1].contains("src/client.py  (edit)"), "{text}");
    let why = lines[2];
    assert!(
        why.starts_with("       jev 0.") && why.contains(" · keyword #1 · compared 0."),
        "{text}"
    );
    assert!(why.contains(" · edit 0.") && why.contains(" · words: "), "{text}");
    assert!(text.contains("Provider: jev (jev-fake-1); scored 4 files. 4 requests, "), "{text}");
    assert!(text.contains("WARNING: 1 credentials were replaced"), "{text}");
    assert_eq!(output.stderr, "");
    assert!(fake.seen().iter().all(|seen| !seen.body.contains("hunter22")));
}

#[test]
fn json_carries_the_models_figures() {
    let fake = FakeSystemOne::start(Behaviour::default());
    let output = pack(&project(), &fake, &["--json"]);
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    assert_eq!((&json["provider"], &json["model"]), (&json!("jev"), &json!("jev-fake-1")));
    assert_eq!(
        (&json["calls"], &json["failedCalls"], &json["scored"]),
        (&json!(4), &json!(0), &json!(4))
    );
    assert!(json["inputTokens"].as_u64() > Some(100) && json["costUsd"].as_f64() > Some(0.0));
    assert_eq!((&json["partial"], &json["redacted"]), (&json!(false), &json!(1)));
    let first = &json["result"]["files"][0];
    assert_eq!((&first["path"], &first["role"]), (&json!("src/client.py"), &json!("edit")));
    assert!(first["relevance"].as_f64() > Some(0.5) && first["choice"].is_number());
    assert_eq!(json["result"]["failedBatches"], 0);
}

#[test]
fn without_usage_the_cost_is_null() {
    let fake = FakeSystemOne::start(Behaviour::failing(1, Fault::NoUsage));
    let output = pack(&project(), &fake, &["--json"]);
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    assert_eq!((&json["inputTokens"], &json["costUsd"]), (&Value::Null, &Value::Null));
}

#[test]
fn an_estimate_needs_no_key_and_sends_nothing() {
    let repo = project();
    let output = repo.pack(TASK, &["-p", "jev", "--estimate"]);
    let text = output.expect_code(0);
    assert!(
        text.starts_with("Provider jev would send: 4 files, at most 4 requests, about "),
        "{text}"
    );
    let output = repo.pack(TASK, &["-p", "laya", "--estimate", "--json"]);
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    assert_eq!((&json["provider"], &json["costUsd"]), (&json!("laya"), &json!(0.0)));
    assert!(repo.pack(TASK, &["--estimate"]).expect_code(0).contains("sends nothing"));
}

#[test]
fn every_way_of_having_no_model_is_an_error() {
    let repo = project();
    let jev = ["pack", TASK, "-p", "jev"];
    assert_fails(&repo.pack(TASK, &["-p", "jev"]), "set TYPESAFE_API_KEY");
    let wrong_backend = repo.packer().args(&jev).env("JEV_BACKEND", "gateway").run();
    assert_fails(&wrong_backend, "AI_GATEWAY_API_KEY");

    let other_key =
        FakeSystemOne::start(Behaviour { key: Some("other".into()), ..Behaviour::default() });
    assert_fails(&pack(&repo, &other_key, &["--json"]), "check TYPESAFE_API_KEY");

    let no_credits =
        FakeSystemOne::start(Behaviour::failing(usize::MAX, Fault::named("402").unwrap()));
    assert_fails(&pack(&repo, &no_credits, &[]), "no credits");

    let failing = FakeSystemOne::start(Behaviour::failing(usize::MAX, Fault::NotJson));
    assert_fails(&pack(&repo, &failing, &[]), "requests to the model failed");

    let fake = FakeSystemOne::start(Behaviour::default());
    let broke = with_key(&repo, &fake, &jev).env("CONTEXT_PACKER_TOKEN_BUDGET", "0").run();
    assert_fails(&broke, "CONTEXT_PACKER_TOKEN_BUDGET");

    let dead = repo.packer().args(&jev).env("TYPESAFE_BASE_URL", "http://127.0.0.1:9").run();
    assert_fails(&dead, "nothing answers at http://127.0.0.1:9");
    let dead = repo.pack(TASK, &["-p", "laya"]);
    assert!(dead.stderr.contains("nothing answers at http://127.0.0.1:8770"), "{dead:#?}");
}

#[test]
fn hosts_on_the_network_are_reached_through_the_proxy() {
    let proxy = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", proxy.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (stream, _) = proxy.accept().unwrap();
        let mut lines = std::io::BufRead::lines(std::io::BufReader::new(&stream));
        let head: Vec<String> =
            lines.by_ref().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        let _ = std::io::Write::write_all(&mut &stream, b"HTTP/1.1 403 Forbidden\r\n\r\n");
        head.join("\n")
    });
    let repo = project();
    let run = repo.packer().args(&["pack", TASK, "-p", "jev"]).env("TYPESAFE_API_KEY", KEY);
    let mut child = run.env("HTTPS_PROXY", url).command;
    let mut child = child
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let head = asked.join().unwrap();
    assert!(head.starts_with("CONNECT api.typesafe.ai:443 "), "{head}");
    assert_no_key("what the proxy was told", head.as_bytes());
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_certificate_file_that_is_none_is_named() {
    let repo = project();
    repo.file("ca.pem", "nothing");
    let run = |file: &str| {
        let run = repo.packer().args(&["pack", TASK, "-p", "jev"]).env("TYPESAFE_API_KEY", KEY);
        run.env("CONTEXT_PACKER_CA_FILE", file).run()
    };
    assert_fails(&run("ca.pem"), "holds no certificate");
    assert_fails(&run("missing.pem"), "CONTEXT_PACKER_CA_FILE \"missing.pem\" cannot be read");
}

fn hook(repo: &Repo, fake: &FakeSystemOne, deadline_ms: &str) -> Output {
    let input = json!({
        "hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": repo.root, "prompt": TASK,
    });
    let run = with_key(repo, fake, &["hook"]).env("CONTEXT_PACKER_HOOK_PROVIDER", "jev");
    run.env("CONTEXT_PACKER_HOOK_DEADLINE", deadline_ms).stdin(input.to_string()).run()
}

#[test]
fn the_hook_adds_the_models_ranking() {
    let fake = FakeSystemOne::start(Behaviour::default());
    let output = hook(&project(), &fake, "5000");
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    let context = json["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("by the decision model jev-fake-1. "), "{context}");
    assert!(context.contains("src/client.py  (edit)"), "{context}");
    assert!(json["systemMessage"].as_str().unwrap().contains("by jev in "), "{json}");
}

#[test]
fn the_hook_asks_no_model_about_a_prompt_that_says_nothing() {
    let fake = FakeSystemOne::start(Behaviour::default());
    let repo = project();
    let input = json!({"hook_event_name": "UserPromptSubmit", "cwd": repo.root, "prompt": "please look at the weather tomorrow"});
    let run = with_key(&repo, &fake, &["hook"]).env("CONTEXT_PACKER_HOOK_PROVIDER", "jev");
    assert_eq!(run.stdin(input.to_string()).run().expect_code(0), "");
    assert!(fake.seen().is_empty());
}

#[test]
fn a_hook_whose_model_hangs_is_silent_at_the_deadline() {
    let fake =
        FakeSystemOne::start(Behaviour::failing(usize::MAX, Fault::Wait(Duration::from_secs(20))));
    let repo = project();
    let output = hook(&repo, &fake, "600");
    assert_eq!(output.expect_code(0), "");
    assert!(output.elapsed < Duration::from_millis(900), "{output:#?}");
    let doctor = repo.packer().args(&["doctor"]).run();
    assert!(doctor.stdout.contains("the deadline passed"), "{doctor:#?}");
}

#[test]
fn a_hook_gives_the_verdicts_so_far_and_says_so() {
    // The comparison never comes back.
    let fake = FakeSystemOne::start(Behaviour::scripted(|_, request| {
        let body = String::from_utf8_lossy(&request.body);
        body.contains("\"pick\"").then(|| Fault::Wait(Duration::from_secs(20)))
    }));
    let output = hook(&project(), &fake, "900");
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    let context = json["hookSpecificOutput"]["additionalContext"].as_str().unwrap();
    assert!(context.contains("jev-fake-1, its verdicts so far"), "{context}");
    assert!(output.elapsed < Duration::from_millis(1_000), "{output:#?}");
}

#[test]
fn the_hook_is_silent_when_its_model_fails() {
    let repo = project();
    let failing =
        FakeSystemOne::start(Behaviour { key: Some("other".into()), ..Behaviour::default() });
    let output = hook(&repo, &failing, "5000");
    assert_eq!((output.expect_code(0), output.stderr.as_str()), ("", ""));
    let log = repo.packer().args(&["doctor"]).run();
    assert!(log.stdout.contains("check TYPESAFE_API_KEY"), "{log:#?}");
}

#[test]
fn the_mcp_tool_asks_the_model_it_is_told_to() {
    let fake = FakeSystemOne::start(Behaviour::default());
    let repo = project();
    let call = |id: u32, provider: &str| {
        let arguments = json!({"task": TASK, "provider": provider});
        let params = json!({"name": "pack_context", "arguments": arguments});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let ask = |provider: &str| {
        let lines = format!("{hello}\n{ready}\n{}\n", call(2, provider));
        let output = with_key(&repo, &fake, &["mcp"]).stdin(lines).run();
        let answer = output
            .expect_code(0)
            .lines()
            .find(|line| line.contains("\"id\":2"))
            .unwrap()
            .to_owned();
        serde_json::from_str::<Value>(&answer).unwrap()["result"].clone()
    };
    let said = ask("jev");
    assert_ne!(said["isError"], true, "{said}");
    assert_eq!(said["structuredContent"]["model"], "jev-fake-1");
    let said = ask("laya");
    assert_eq!(said["isError"], true);
    assert!(said["content"][0]["text"].as_str().unwrap().contains("nothing answers at"), "{said}");
}
