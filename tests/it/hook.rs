//! `context-packer hook`: when it speaks, what it says, and that it never breaks a turn.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{KEY, Output, Packer, Repo};

fn project() -> Repo {
    let repo = Repo::new();
    repo.file("src/client.py", "def call(send, tries=3):\n    retry(send, backoff=1)\n");
    repo.file("src/server.py", "def serve():\n    accept()\n").commit("initial import");
    repo
}

fn hook(repo: &Repo) -> Packer {
    repo.packer().args(&["hook"])
}

fn submit(repo: &Repo, prompt: &str) -> Output {
    hook(repo).stdin(input(repo, prompt)).run()
}

fn input(repo: &Repo, prompt: &str) -> String {
    json!({"session_id": "s1", "cwd": repo.root, "hook_event_name": "UserPromptSubmit", "prompt": prompt}).to_string()
}

#[track_caller]
fn is_silent(output: &Output) {
    assert_eq!(output.expect_code(0), "");
    assert_eq!(output.stderr, "");
}

#[track_caller]
fn context(output: &Output) -> String {
    let json: Value = serde_json::from_str(output.expect_code(0)).unwrap();
    assert_eq!(json["hookSpecificOutput"]["hookEventName"], "UserPromptSubmit");
    json["hookSpecificOutput"]["additionalContext"].as_str().unwrap().to_owned()
}

fn log(repo: &Repo) -> String {
    fs::read_to_string(repo.home().join(".cache/context-packer/hook.log")).unwrap_or_default()
}

#[test]
fn a_task_gets_a_list_and_the_person_a_notice() {
    let repo = project();
    let output = submit(&repo, "fix the retry backoff in the client");
    let context = context(&output);
    assert!(context.contains("#1   src/client.py\n"), "{context}");
    assert!(context.contains("search result") && context.contains("no instruction"), "{context}");
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    let notice = json["systemMessage"].as_str().unwrap();
    assert!(
        notice.starts_with("context-packer: 1 file in ") && notice.ends_with(" ms"),
        "{notice}"
    );
    assert_eq!(log(&repo), "");
}

#[test]
fn prompts_that_need_nothing_get_nothing() {
    let repo = project();
    for prompt in [
        "thanks",
        "/init",
        "ok do it",
        "OK, go ahead with the client change",
        "<task-notification>\n<task-id>b1</task-id> retry in the client is done",
        "!cat src/client.py and retry it",
        "# always retry the client twice",
        "",
        "what do you think about all this then",
        "quantum flux capacitor alignment procedure",
    ] {
        is_silent(&submit(&repo, prompt));
    }
    let machine = json!({"cwd": repo.root, "prompt": "fix the retry backoff in the client", "source": "loop_wakeup"});
    is_silent(&hook(&repo).stdin(machine.to_string()).run());
    assert_eq!(log(&repo), "");
}

#[test]
fn the_same_list_is_not_said_twice_in_a_row() {
    let repo = project();
    context(&submit(&repo, "fix the retry backoff in the client"));
    is_silent(&submit(&repo, "now make the client retry backoff longer"));
    context(&submit(&repo, "let the server accept more connections"));
    context(&submit(&repo, "fix the retry backoff in the client"));
    let other = json!({"session_id": "s2", "cwd": repo.root, "prompt": "fix the retry backoff in the client"});
    context(&hook(&repo).stdin(other.to_string()).run());
}

/// A project in which `retry` tells a third of the files apart.
fn many_files(folder: &str, count: usize) -> Repo {
    let repo = Repo::new();
    for n in 0..count {
        repo.file(format!("{folder}m{n}.rs"), "fn retry() {}\n");
        repo.file(format!("{folder}other{n}.rs"), "\n").file(format!("{folder}more{n}.rs"), "\n");
    }
    repo.commit("many");
    repo
}

#[test]
fn settings() {
    let repo = many_files("src/", 12);
    let run = |name: &str, value: &str, session: &str| {
        let prompt =
            json!({"session_id": session, "cwd": repo.root, "prompt": "fix the retry of modules"});
        hook(&repo).env(name, value).stdin(prompt.to_string()).run()
    };
    let lines = |output: &Output| context(output).lines().filter(|l| l.starts_with('#')).count();
    assert_eq!(lines(&run("CONTEXT_PACKER_HOOK_CODE", "0", "a")), 8);
    assert_eq!(lines(&run("CONTEXT_PACKER_HOOK_LIMIT", "3", "b")), 3);
    assert_eq!(lines(&run("CLAUDE_PLUGIN_OPTION_HOOK_LIMIT", "2", "c")), 2);
    assert!(context(&run("CONTEXT_PACKER_HOOK_CODE", "2", "d")).contains("    1  fn retry() {}"));
    let quiet = run("CONTEXT_PACKER_HOOK_NOTICE", "0", "e");
    assert!(!quiet.stdout.contains("systemMessage") && !context(&quiet).is_empty());
    is_silent(&run("CONTEXT_PACKER_HOOK_LIMIT", "99", "f"));
    assert!(
        log(&repo).contains("CONTEXT_PACKER_HOOK_LIMIT must be from 1 to 20"),
        "{}",
        log(&repo)
    );
}

#[test]
fn the_project_is_found_by_cwd_then_by_the_variable() {
    let repo = project();
    let prompt = "fix the retry backoff in the client";
    let elsewhere = |cwd: Value, variable: &str| {
        let mut packer = hook(&repo).env("CLAUDE_PROJECT_DIR", variable);
        packer.command.current_dir(repo.outside());
        packer.stdin(json!({"cwd": cwd, "prompt": prompt}).to_string()).run()
    };
    let root = repo.root.to_str().unwrap();
    context(&elsewhere(json!(root), "/nonexistent"));
    context(&elsewhere(Value::Null, root));
    is_silent(&elsewhere(json!(repo.home()), root));
}

#[test]
fn bad_input_is_silence_and_a_line_in_the_log() {
    let repo = project();
    let whole = input(&repo, "fix the retry backoff in the client");
    for bytes in [
        &b""[..],
        b"\n",
        &whole.as_bytes()[..whole.len() / 2],
        b"[]",
        b"nonsense",
        br#"{"prompt": 7}"#,
        br#"{"prompt": "fix the retry backoff", "cwd": ["a"]}"#,
        br#"{"hook_event_name": "Unheard", "prompt": "fix the retry backoff in the client"}"#,
        b"\xff\xfe{}",
    ] {
        is_silent(&hook(&repo).stdin(bytes).run());
    }
    assert_eq!(log(&repo).lines().count(), 9);
    let mode =
        fs::metadata(repo.home().join(".cache/context-packer/hook.log")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

#[test]
fn unknown_keys_and_a_byte_order_mark_are_fine() {
    let repo = project();
    let mut bytes = b"\xEF\xBB\xBF".to_vec();
    let prompt = json!({"cwd": repo.root, "prompt": "fix the retry backoff in the client", "effort": {"level": "x"}});
    bytes.extend(prompt.to_string().bytes());
    context(&hook(&repo).stdin(bytes).run());
}

#[test]
fn hostile_surroundings_are_silence() {
    let repo = project();
    let prompt = "fix the retry backoff in the client";
    fs::write(repo.root.join(".git/HEAD"), "nonsense").unwrap();
    is_silent(&submit(&repo, prompt));
    assert!(log(&repo).contains("git cannot list"));
    // No home, no cache folder: nothing can be remembered, and nothing breaks.
    let repo = project();
    let mut packer = hook(&repo);
    packer.command.env_remove("HOME");
    context(&packer.stdin(input(&repo, prompt)).run());
    let file = repo.outside().join("a-file");
    fs::write(&file, "").unwrap();
    let packer = hook(&repo).env("CONTEXT_PACKER_CACHE", &file);
    context(&packer.stdin(input(&repo, prompt)).run());
}

#[test]
fn a_listener_that_has_gone_is_silence() {
    let repo = project();
    let mut command = hook(&repo).command;
    let piped = std::process::Stdio::piped;
    let mut child = command.stdin(piped()).stdout(piped()).stderr(piped()).spawn().unwrap();
    drop(child.stdout.take());
    let prompt = input(&repo, "fix the retry backoff in the client");
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), prompt.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
#[cfg(debug_assertions)]
fn a_panic_is_silence() {
    let repo = project();
    let packer = hook(&repo).env("CONTEXT_PACKER_TEST_PANIC", "1");
    is_silent(&packer.stdin(input(&repo, "fix the retry backoff in the client")).run());
    let log = log(&repo);
    assert!(log.contains("a bug at src/cmd/hook.rs:") && !log.contains("asked for"), "{log}");
}

#[test]
fn a_deadline_is_kept() {
    let repo = project();
    // A git that never answers.
    let bin = repo.outside().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("git"), "#!/bin/sh\nexec sleep 30\n").unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let packer = hook(&repo).env("PATH", path).env("CONTEXT_PACKER_HOOK_DEADLINE", "200");
    let output = packer.stdin(input(&repo, "fix the retry backoff in the client")).run();
    is_silent(&output);
    assert!(output.elapsed < Duration::from_secs(5), "{:?}", output.elapsed);
    assert!(log(&repo).contains("no answer within 200 ms"));
}

#[test]
fn long_prompts_and_long_paths_stay_within_the_cap() {
    let repo = many_files(&format!("{}/{}", "deep/".repeat(40), "n".repeat(200)), 20);
    let prompt = json!({"session_id": "x", "cwd": repo.root, "prompt": "fix the retry of modules"})
        .to_string();
    let mut packer = hook(&repo).env("CONTEXT_PACKER_HOOK_LIMIT", "20");
    packer = packer.env("CONTEXT_PACKER_HOOK_CODE", "10");
    let text = context(&packer.stdin(prompt).run());
    assert!(text.encode_utf16().count() <= 9_800, "{}", text.encode_utf16().count());
    assert!(text.lines().filter(|l| l.starts_with('#')).all(|l| l.ends_with(".rs")));

    let megabyte = "fix the retry of modules ".repeat(42_000);
    context(&submit(&repo, &megabyte));
}

#[test]
fn doctor_says_why() {
    let repo = project();
    let ask = |prompt: &str| {
        let packer = repo.packer().env("TYPESAFE_API_KEY", KEY);
        packer.args(&["doctor", prompt]).run().expect_code(0).to_owned()
    };
    assert!(ask("thanks").contains("stays silent: it has fewer than 4 words"));
    assert!(ask("quantum flux capacitor alignment procedure").contains("no word of the prompt"));
    let report = ask("fix the retry backoff in the client");
    assert!(
        report.contains("the hook adds 1 file:") && report.contains("src/client.py"),
        "{report}"
    );
    assert!(report.contains("TYPESAFE_API_KEY set"));
    assert!(report.contains("no failures"));
    let packer = repo.packer().env("CONTEXT_PACKER_HOOK_LIMIT", "99");
    let wrong = packer.args(&["doctor", "fix the retry backoff in the client"]).run();
    assert!(
        wrong
            .expect_code(0)
            .contains("stays silent: CONTEXT_PACKER_HOOK_LIMIT must be from 1 to 20")
    );
    assert!(wrong.stdout.contains("\n  files ?, with lines of 0, within 8000 ms\n  wrong: CONT"));
    let no_key = repo.packer().env("CONTEXT_PACKER_HOOK_PROVIDER", "jev");
    let no_key = no_key.args(&["doctor", "fix the retry backoff in the client"]).run();
    assert!(no_key.expect_code(0).contains("stays silent: provider jev needs a key"), "{no_key:?}");
    let nowhere = repo.packer().args(&["doctor", "--root", "/nope"]).run();
    assert!(nowhere.expect_code(1).is_empty() && nowhere.stderr.contains("/nope"), "{nowhere:?}");
    let indexed = || repo.packer().env("CONTEXT_PACKER_INDEX", "1");
    let doctor = || indexed().args(&["doctor"]).run().expect_code(0).to_owned();
    assert!(
        doctor().contains("For the example prompt \"fix") && doctor().contains("index   none;")
    );
    indexed().args(&["index", "build"]).run().expect_code(0);
    assert!(doctor().contains("index   of 2 files, made "), "{}", doctor());
    assert!(report.contains("index   off: "), "{report}");
    hook(&repo).stdin("{").run();
    assert!(ask("thanks").contains("ago: hook cannot read the hook's JSON"));
}
