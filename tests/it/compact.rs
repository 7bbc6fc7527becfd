//! `compact` and `restore` on files of every format and on the function hook's object.

use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Repo;

/// A result of a hundred distinct lines.
fn listing(seed: usize) -> String {
    (0..100)
        .map(|i| format!("src/part_{seed}/file_{i}.rs:{i}: fn handler_{seed}_{i}()\n"))
        .collect()
}

/// One call of a session: id, tool, argument, result.
pub struct Step {
    id: String,
    path: String,
    pub result: String,
}

pub fn steps(count: usize) -> Vec<Step> {
    let step = |i| Step {
        id: format!("call_{i}"),
        path: format!("src/part_{i}/mod.rs"),
        result: listing(i),
    };
    (0..count).map(step).collect()
}

/// A line of Claude Code's file; `parent` is the line before.
fn row(index: usize, kind: &str, content: &Value) -> Value {
    let parent = index.checked_sub(1).map(|before| format!("u{before}"));
    json!({"type": kind, "uuid": format!("u{index}"), "parentUuid": parent, "unknown": {"kept": [1, 2]},
        "message": {"role": kind, "content": content}})
}

pub fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

pub fn claude(steps: &[Step]) -> Vec<Value> {
    let mut rows = vec![row(0, "user", &json!("fix the retries"))];
    for step in steps {
        let input = json!({"file_path": step.path});
        let call = json!([{"type": "tool_use", "id": step.id, "name": "Read", "input": input}]);
        rows.push(row(rows.len(), "assistant", &call));
        let answer =
            json!([{"type": "tool_result", "tool_use_id": step.id, "content": step.result}]);
        rows.push(row(rows.len(), "user", &answer));
    }
    rows.push(row(rows.len(), "assistant", &json!([{"type": "text", "text": "done"}])));
    rows
}

fn anthropic(steps: &[Step]) -> Value {
    let message = |row: &Value| row["message"].clone();
    let mut messages: Vec<Value> = claude(steps).iter().map(message).collect();
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "c2ln"});
    let last = messages.len() - 1;
    messages[last]["content"].as_array_mut().unwrap().insert(0, thinking);
    json!({"model": "m", "messages": messages, "max_tokens": 1})
}

fn openai(steps: &[Step]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "fix the retries"})];
    for step in steps {
        let arguments = json!({"path": step.path}).to_string();
        let call = json!({"id": step.id, "type": "function",
            "function": {"name": "read", "arguments": arguments}});
        messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
        messages.push(json!({"role": "tool", "tool_call_id": step.id, "content": step.result}));
    }
    Value::Array(messages)
}

fn codex(steps: &[Step]) -> Vec<Value> {
    let item =
        |payload: Value| json!({"timestamp": "t", "type": "response_item", "payload": payload});
    let mut rows = vec![json!({"type": "session_meta", "payload": {"id": "s"}})];
    let content = json!([{"type": "input_text", "text": "fix the retries"}]);
    rows.push(item(json!({"type": "message", "role": "user", "content": content})));
    for step in steps {
        let arguments = json!({"command": ["cat", step.path]}).to_string();
        rows.push(item(json!({"type": "function_call", "name": "shell", "arguments": arguments, "call_id": step.id})));
        rows.push(item(
            json!({"type": "function_call_output", "call_id": step.id, "output": step.result}),
        ));
    }
    rows
}

fn pi(steps: &[Step]) -> Vec<Value> {
    let entry = |id: usize, message: Value| json!({"type": "message", "id": id, "parentId": id - 1, "message": message});
    let mut rows = vec![json!({"type": "session", "id": 0})];
    rows.push(entry(1, json!({"role": "user", "content": [{"type": "text", "text": "fix"}]})));
    for step in steps {
        let call = json!([{"type": "toolCall", "id": step.id, "name": "read", "arguments": {"path": step.path}}]);
        rows.push(entry(rows.len(), json!({"role": "assistant", "content": call})));
        let content = json!([{"type": "text", "text": step.result}]);
        rows.push(entry(
            rows.len(),
            json!({"role": "toolResult", "toolCallId": step.id, "content": content}),
        ));
    }
    rows
}

/// Compacts a file, holds what every format promises, and returns the output.
#[track_caller]
fn check(input: &str) -> String {
    let repo = Repo::plain();
    repo.file("session.jsonl", input);
    let output = repo.packer().args(&["compact", "session.jsonl"]).run();
    let output = output.expect_code(0).to_owned();
    assert!(output.len() < input.len() * 6 / 10, "{} of {}", output.len(), input.len());
    assert_eq!(std::fs::read_to_string(repo.root.join("session.jsonl")).unwrap(), input);
    assert!(output.contains("fix"), "the person's words are gone");
    assert!(output.contains("handler_39_99()"), "a recent result was cut");
    assert!(output.contains("[context-packer: 0 of "), "a cut result does not say so");
    repo.file("again.jsonl", &output);
    let again = repo.packer().args(&["compact", "again.jsonl"]).run();
    assert!(again.expect_code(1).is_empty());
    assert!(again.stderr.contains("nothing left to prune"), "{again:?}");
    output
}

#[test]
fn every_format_keeps_its_shape_and_compacting_twice_is_compacting_once() {
    let steps = steps(40);
    let output = check(&lines(&claude(&steps)));
    assert_eq!(output.lines().count(), 82);
    for line in output.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(row["unknown"], json!({"kept": [1, 2]}));
    }
    let output = check(&anthropic(&steps).to_string());
    let request: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(request["messages"].as_array().unwrap().len(), 82);
    assert!(!output.contains("signature"), "thinking is bound to what was before it");
    let output = check(&openai(&steps).to_string());
    assert_eq!(serde_json::from_str::<Value>(&output).unwrap().as_array().unwrap().len(), 81);
    check(&lines(&codex(&steps)));
    check(&lines(&pi(&steps)));
}

#[test]
fn standard_input_and_an_output_file() {
    let repo = Repo::plain();
    let input = lines(&claude(&steps(40)));
    let line = ["compact", "-", "-o", "out.jsonl", "--target", "0.7"];
    let output = repo.packer().args(&line).stdin(input.clone()).run();
    assert_eq!(output.expect_code(0), "");
    let written = std::fs::read_to_string(repo.root.join("out.jsonl")).unwrap();
    assert!(written.len() < input.len() * 4 / 10);
}

#[test]
fn the_transcript_itself_is_no_output() {
    let repo = Repo::plain();
    let input = lines(&claude(&steps(40)));
    repo.file("session.jsonl", &input);
    std::os::unix::fs::symlink("session.jsonl", repo.root.join("link.jsonl")).unwrap();
    std::fs::hard_link(repo.root.join("session.jsonl"), repo.root.join("hard.jsonl")).unwrap();
    let absolute = repo.root.join("session.jsonl").display().to_string();
    let outputs = ["session.jsonl", "./session.jsonl", "link.jsonl", "hard.jsonl", &absolute];
    for output in outputs {
        for more in [&[][..], &["--dry-run"], &["--json"]] {
            let run = repo.packer().args(&["compact", "session.jsonl", "-o", output]).args(more);
            let run = run.run();
            assert_eq!(run.expect_code(1), "");
            let expected = format!("{output} is the transcript itself (session.jsonl)");
            assert!(run.stderr.contains(&expected) && run.stderr.contains("--output"), "{run:?}");
            let bytes = std::fs::read_to_string(repo.root.join("session.jsonl")).unwrap();
            assert_eq!(bytes, input, "{output} {more:?}");
        }
    }
    repo.file("other.jsonl", "old");
    let line = ["compact", "session.jsonl", "-o", "other.jsonl"];
    assert_eq!(repo.packer().args(&line).run().expect_code(0), "");
    assert!(std::fs::read(repo.root.join("other.jsonl")).unwrap().len() > 1000);
    // Behind a link the file is replaced; a device stays one.
    std::os::unix::fs::symlink("other.jsonl", repo.root.join("to-other.jsonl")).unwrap();
    repo.file("other.jsonl", "old");
    for output in ["to-other.jsonl", "/dev/null"] {
        let line = ["compact", "session.jsonl", "-o", output];
        assert_eq!(repo.packer().args(&line).run().expect_code(0), "");
    }
    assert!(std::fs::read(repo.root.join("other.jsonl")).unwrap().len() > 1000);
    assert!(repo.root.join("to-other.jsonl").is_symlink() && !Path::new("/dev/null").is_file());
}

#[test]
fn restore_prints_the_original_bytes() {
    let repo = Repo::plain();
    let steps = steps(40);
    repo.file("session.jsonl", lines(&claude(&steps)));
    let output = repo.packer().args(&["compact", "session.jsonl"]).run();
    let (_, note) = output.expect_code(0).split_once("context-packer restore ").unwrap();
    let restored = repo.packer().args(&["restore", &note[..12]]).run();
    let restored = restored.expect_code(0);
    assert!(steps.iter().any(|step| step.result == restored), "{restored}");
    let unknown = repo.packer().args(&["restore", "000000000000"]).run();
    assert!(unknown.expect_code(1).is_empty() && unknown.stderr.contains("archive has no result"));
}

#[test]
fn what_looks_like_a_key_is_never_archived() {
    let repo = Repo::plain();
    let mut steps = steps(40);
    for step in &mut steps {
        step.result.push_str("AWS_SECRET=AKIAABCDEFGHIJKLMNOP\n");
    }
    repo.file("session.jsonl", lines(&claude(&steps)));
    let output = repo.packer().args(&["compact", "session.jsonl"]).run();
    assert!(!output.expect_code(0).contains("context-packer restore"));
    assert!(!repo.home().join(".cache/context-packer/archive").exists());
}

#[test]
fn a_dry_run_is_a_table_and_writes_nothing() {
    let repo = Repo::plain();
    repo.file("session.jsonl", lines(&claude(&steps(40))));
    let output = repo.packer().args(&["compact", "session.jsonl", "--dry-run"]).run();
    let table = output.expect_code(0);
    assert_eq!(table.lines().count(), 42, "{table}");
    assert!(table.contains("t1     Read") && table.contains("% smaller)"), "{table}");
    let first: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((first[0], first[3], first[4], first[5]), ("t1", "cut", "selected", "0"), "{table}");
    assert!(!repo.home().join(".cache").exists());
}

#[test]
fn tokens_are_estimated_from_what_the_api_counted() {
    let repo = Repo::plain();
    let check = |rows: &[Value], expected: f64| {
        let packer = repo.packer().args(&["compact", "-", "--json"]).stdin(lines(rows));
        let report: Value = serde_json::from_str(packer.run().expect_code(0)).unwrap();
        let chars_per_token =
            report["chars_before"].as_f64().unwrap() / report["tokens_before"].as_f64().unwrap();
        assert!((chars_per_token / expected - 1.0).abs() < 0.01, "{report}");
        assert!(report["tokens_after"].as_u64() < report["tokens_before"].as_u64());
    };
    let steps = steps(40);
    let mut rows = claude(&steps);
    check(&rows, 2.8);
    let step = listing(20).chars().count() + r#"Read {"file_path": "src/part_20/mod.rs"}"#.len();
    let mut read = 20_000;
    for row in rows.iter_mut().filter(|row| row["type"] == "assistant") {
        row["message"]["usage"] = json!({"input_tokens": 7, "cache_creation_input_tokens": null,
            "cache_read_input_tokens": read, "output_tokens": 9_999_999});
        read += step / 2;
    }
    check(&rows, 2.0);
    for odd in
        [json!(null), json!("many"), json!({"input_tokens": -1}), json!({"input_tokens": 1e300})]
    {
        for row in rows.iter_mut().filter(|row| row["type"] == "assistant") {
            row["message"]["usage"] = odd.clone();
        }
        check(&rows, 2.8);
    }
}

#[test]
fn refusals_and_wrong_settings_are_errors() {
    let repo = Repo::plain();
    let check = |args: &[&str], input: String, expected: &str| {
        let output = repo.packer().args(args).stdin(input).run();
        assert!(output.expect_code(1).is_empty());
        assert!(output.stderr.contains(expected), "{output:?}");
    };
    let long = || lines(&claude(&steps(40)));
    let short = || lines(&claude(&steps(3)));
    check(&["compact", "-"], short(), "in standard input: nothing left to prune; raise --target");
    check(&["compact", "-", "--dry-run"], short(), "nothing left to prune");
    repo.file("long.jsonl", long());
    let line = ["compact", "long.jsonl", "--min-reduction", "0.9"];
    check(&line, String::new(), "in long.jsonl: below 90% minimum: ");
    check(&line, String::new(), "would go; lower --min-reduction, or raise --target");
    check(&["compact", "-"], String::new(), "in standard input: no messages found");
    check(&["compact", "bench", "/nope"], String::new(), "cannot read the folder /nope: ");
    check(&["compact", "-", "--target", "2"], long(), "--target must be from 0.05 to 0.95");
    check(&["compact", "-"], "not json\n".into(), "no messages found");
    check(&["compact", "missing.jsonl"], String::new(), "cannot read missing.jsonl");
}

#[test]
fn a_dry_run_shows_the_table_of_what_is_refused() {
    let repo = Repo::plain();
    let line = ["compact", "-", "--dry-run", "--min-reduction", "0.9"];
    let output = repo.packer().args(&line).stdin(lines(&claude(&steps(40)))).run();
    assert!(output.expect_code(1).contains("% smaller)"), "{output:?}");
    assert!(output.stderr.contains("in standard input: below 90% minimum"), "{output:?}");
}

/// The rows that the function hook gets for these steps.
pub fn hook_rows(steps: &[Step]) -> Vec<Value> {
    let mut rows =
        vec![json!({"role": "user", "text": "fix the retries", "toolUses": [], "handle": "h0"})];
    for step in steps {
        rows.push(json!({"role": "assistant", "text": "", "toolUses": [], "handle": "thinking"}));
        let call =
            json!({"tool_use_id": step.id, "tool": "Read", "input": {"file_path": step.path}});
        rows.push(json!({"role": "assistant", "text": "", "toolUses": [call]}));
        let answer = json!({"tool_use_id": step.id, "text": step.result, "isError": false, "result": {"type": "text"}});
        rows.push(json!({"role": "user", "text": "", "toolUses": [], "toolResults": [answer]}));
    }
    rows
}

fn hook(repo: &Repo, request: &Value) -> Value {
    let output =
        repo.packer().args(&["compact", "--host", "claude-code"]).stdin(request.to_string()).run();
    serde_json::from_str(output.expect_code(0)).unwrap()
}

#[test]
fn the_function_hook_gets_numbers_and_rows() {
    let repo = Repo::plain();
    let request =
        json!({"v": 1, "trigger": "manual", "options": {}, "messages": hook_rows(&steps(40))});
    let answer = hook(&repo, &request);
    let rows = answer["rows"].as_array().unwrap();
    assert_eq!(rows[0], json!(0));
    assert_eq!(rows.len(), 81, "thinking-only rows go, the others stay");
    assert_eq!(rows[1]["toolUses"][0]["input"], json!({"file_path": "src/part_0/mod.rs"}));
    assert_eq!(rows[2]["toolResults"][0]["tool_use_id"], rows[1]["toolUses"][0]["tool_use_id"]);
    let toast = answer["toast"].as_str().unwrap();
    assert!(toast.starts_with("kept 81/121 messages, no summary ("), "{toast}");
    assert!(answer["log"][0].as_str().unwrap().starts_with("decisions: t1:Read:excerpt/selected"));
    assert!(answer["tokensAfter"].as_u64() < answer["tokensBefore"].as_u64());
}

#[test]
fn parallel_rows_are_merged_and_images_keep_their_row() {
    let repo = Repo::plain();
    let mut rows = hook_rows(&steps(40));
    let call = |id: &str| json!({"role": "assistant", "text": id, "toolUses": [{"tool_use_id": id, "tool": "Read", "input": {}}]});
    let answer = |id: &str, kind: &str| {
        let answer =
            json!({"tool_use_id": id, "text": "", "isError": false, "result": {"type": kind}});
        json!({"role": "user", "text": "", "toolUses": [], "toolResults": [answer]})
    };
    rows.extend([call("a"), call("b"), answer("a", "image"), answer("b", "text")]);
    let answer = hook(&repo, &json!({"messages": rows}));
    let rows = answer["rows"].as_array().unwrap();
    let [.., calls, image, text] = rows.as_slice() else { panic!("{rows:?}") };
    assert_eq!(calls["text"], json!("a\n\nb"));
    assert_eq!(calls["toolUses"].as_array().unwrap().len(), 2);
    assert_eq!(*image, json!(123));
    assert_eq!(text["toolResults"][0]["tool_use_id"], json!("b"));
}

#[test]
fn the_function_hook_falls_back_with_a_reason() {
    let repo = Repo::plain();
    let check = |request: &Value, reason: &str| {
        let answer = hook(&repo, request);
        assert!(answer["fallback"].as_str().unwrap().contains(reason), "{answer}");
        let toast = answer["toast"].as_str().unwrap();
        assert!(toast.starts_with("fallback to built-in summary ("), "{toast}");
    };
    let rows = hook_rows(&steps(40));
    check(&json!({"messages": hook_rows(&steps(3))}), "nothing left to prune");
    check(&json!({"trigger": "precompute", "messages": rows}), "pruned when it is needed");
    check(
        &json!({"options": {"compact_target": 7}, "messages": rows}),
        "must be from 0.05 to 0.95",
    );
    check(
        &json!({"options": {"compact_min_reduction": 0.9}, "messages": rows}),
        "below 90% minimum",
    );
    check(&json!({"messages": [{"role": 7}]}), "cannot read the conversation");
    check(&json!([]), "cannot read the conversation");
}
