//! The policies that ask a model, with answers from a script: the ladder, the ceilings, what a model that fails or says nothing
//! leads to.

use std::cell::RefCell;

use context_packer::compact::{Compacted, compact};
use context_packer::config::compact::read;
use context_packer::core::compact::pair::pair;
use context_packer::core::compact::plan::{Outcome, Reason};
use context_packer::core::compact::run::Refusal;
use context_packer::core::compact::scored::ask::{CallRequest, Judge, request_tokens};
use context_packer::core::compact::scored::model_context::{FitOptions, fit};
use context_packer::core::compact::transcript::Transcript;
use context_packer::transcript;
use context_packer::transcript::state_wire::RENDER;
use serde_json::json;

/// Answers by the key of a question, and remembers how large each request was.
struct Script<'s> {
    answer: &'s dyn Fn(&str) -> Result<f64, String>,
    sizes: RefCell<Vec<usize>>,
}

impl Judge for Script<'_> {
    fn ask(&self, requests: &[CallRequest<'_>]) -> Vec<Result<Vec<f64>, String>> {
        self.sizes.borrow_mut().extend(requests.iter().map(request_tokens));
        let answers =
            |r: &CallRequest<'_>| r.questions.iter().map(|q| (self.answer)(&q.key)).collect();
        requests.iter().map(answers).collect()
    }
}

/// A conversation of Anthropic's API with `count` calls, each with so many characters of prose and of result.
fn conversation(count: usize, prose: usize, result: usize) -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "fix the retries"})];
    for i in 0..count {
        let text = format!("step {i} {}", "words of prose ".repeat(prose / 15));
        let command = format!("cat src/part_{i}/mod.rs {}", "--flag ".repeat(prose / 15));
        let call = json!({"type": "tool_use", "id": format!("c{i}"), "name": "Bash", "input": {"command": command}});
        messages
            .push(json!({"role": "assistant", "content": [{"type": "text", "text": text}, call]}));
        let output = format!("line of output {i}\n").repeat(result / 18);
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{i}"), "content": output}]}));
    }
    json!(messages).to_string().into_bytes()
}

fn run(
    transcript: &Transcript<'_>,
    flags: &[(&'static str, String)],
    asker: &dyn Judge,
) -> Result<Compacted, Refusal> {
    compact(transcript, &read(flags, &|_| None).unwrap(), None, Some(asker))
}

fn policy(name: &str) -> Vec<(&'static str, String)> {
    vec![("policy", name.to_owned())]
}

#[test]
fn the_ladder_is_climbed_in_order_as_the_limit_falls() {
    let bytes = conversation(60, 900, 900);
    let document = transcript::read(&bytes).unwrap();
    let pairing = pair(&document.transcript);
    let mut stages: Vec<&str> = Vec::new();
    let mut last = usize::MAX;
    for limit in (1_500..40_000).rev().step_by(50) {
        let options =
            FitOptions { max_tokens: limit, recent_messages: 6, goal: None, with_excerpts: false };
        let Ok(fitted) = fit(&document.transcript, &pairing, options, RENDER) else { break };
        assert!(fitted.tokens <= limit && fitted.tokens <= last);
        last = fitted.tokens;
        if stages.last() != Some(&fitted.stage) {
            stages.push(fitted.stage);
        }
    }
    let expected = [
        "full",
        "inputs<=200",
        "inputs<=60",
        "texts abridged",
        "old messages collapsed",
        "old calls compacted",
    ];
    assert_eq!(stages[..expected.len()], expected);
}

#[test]
fn no_stage_of_the_ladder_shows_a_secret() {
    let command = "export A=1\nAKIAIOSFODNN7EXAMPLE\nexport DB_PASSWORD=\"hunter2hunter2\"";
    let input = json!({"command": command, "password": "hunter2secret", "headers": {"Authorization": "Bearer hunter2def456ghi"}});
    let mut messages =
        vec![json!({"role": "user", "content": "fix it, the password is: \"hunter2prompt\""})];
    for i in 0..40 {
        let result = format!("{}AKIAIOSFODNN7EXAMPLE {}", "x ".repeat(i), "y ".repeat(200));
        let call =
            json!({"type": "tool_use", "id": format!("c{i}"), "name": "Bash", "input": input});
        messages.push(json!({"role": "assistant", "content": [{"type": "text", "text": "token=hunter2token99"}, call]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{i}"), "content": result}]}));
    }
    let bytes = json!(messages).to_string().into_bytes();
    let document = transcript::read(&bytes).unwrap();
    let pairing = pair(&document.transcript);
    let mut stages = std::collections::BTreeSet::new();
    for (limit, with_excerpts) in (600..20_000).step_by(150).flat_map(|n| [(n, false), (n, true)]) {
        let options =
            FitOptions { max_tokens: limit, recent_messages: 6, goal: None, with_excerpts };
        let Ok(fitted) = fit(&document.transcript, &pairing, options, RENDER) else { continue };
        let shown = (RENDER.state)(&fitted.state);
        assert!(!shown.contains("AKIA") && !shown.contains("hunter2"), "{}: {shown}", fitted.stage);
        stages.insert(fitted.stage);
    }
    assert!(stages.len() >= 4, "{stages:?}");
}

#[test]
fn entries_without_calls_are_left_out_and_bare_calls_merged() {
    let mut messages = vec![json!({"role": "user", "content": "go"})];
    for i in 0..60 {
        let call = json!({"type": "tool_use", "id": format!("c{i}"), "name": "Read", "input": {}});
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("c{i}"), "content": "x"}]}));
    }
    for _ in 0..20 {
        messages.insert(1, json!({"role": "user", "content": "words and words"}));
    }
    let bytes = json!(messages).to_string().into_bytes();
    let document = transcript::read(&bytes).unwrap();
    let pairing = pair(&document.transcript);
    let stage = |max_tokens| {
        let options =
            FitOptions { max_tokens, recent_messages: 6, goal: None, with_excerpts: false };
        fit(&document.transcript, &pairing, options, RENDER).map(|fitted| fitted.stage)
    };
    let stages: Vec<&str> =
        (600..4_000).rev().step_by(20).map_while(|limit| stage(limit).ok()).collect();
    assert!(stages.contains(&"old messages left out"), "{stages:?}");
    assert_eq!(stages.last(), Some(&"old calls merged"));
    assert!(stage(100).unwrap_err().to_string().contains("history too large for Jev (~"));
}

#[test]
fn requests_stay_under_both_ceilings() {
    for (count, prose) in [(40, 100), (300, 600)] {
        let bytes = conversation(count, prose, 6_000);
        let document = transcript::read(&bytes).unwrap();
        let script = Script { answer: &|_| Ok(0.3), sizes: RefCell::default() };
        let compacted = run(&document.transcript, &policy("jev"), &script).unwrap();
        assert!(script.sizes.borrow().iter().all(|&size| size <= 30_000), "{:?}", script.sizes);
        assert!(compacted.model_note.contains("request(s)"));
    }
}

#[test]
fn a_ranking_is_cut_by_the_budget_not_by_a_threshold() {
    let bytes = conversation(60, 10, 3_000);
    let document = transcript::read(&bytes).unwrap();
    // As users report: every result far below one half. The lower numbers are the less needed ones.
    let answer = |key: &str| {
        let number: f64 = key.rsplit('t').next().unwrap().parse().unwrap();
        Ok(if key.starts_with("call") { 0.3 } else { 0.05 + number / 400.0 })
    };
    let script = Script { answer: &answer, sizes: RefCell::default() };
    let compaction = run(&document.transcript, &policy("jev"), &script).unwrap().compaction;
    assert!((0.45..0.6).contains(&compaction.stats.reduction()), "{:?}", compaction.stats);
    assert_eq!(compaction.stats.calls_dropped, 0);
    let decisions = &compaction.plan.decisions;
    assert!(decisions[0].is_change() && !decisions[50].is_change());
    let compaction = run(&document.transcript, &policy("jev-seed"), &script).unwrap().compaction;
    let dropped = compaction.plan.decisions.iter().filter(|d| d.outcome == Outcome::DropCall);
    assert_eq!(dropped.count(), 57, "the seed's threshold drops every call that is not pinned");
}

#[test]
fn a_model_that_keeps_nothing_leaves_it_to_the_local_policy() {
    let bytes = conversation(60, 10, 3_000);
    let document = transcript::read(&bytes).unwrap();
    let script = Script { answer: &|_| Ok(0.01), sizes: RefCell::default() };
    let compacted = run(&document.transcript, &policy("jev"), &script).unwrap();
    assert!(compacted.model_note.ends_with("kept nothing: local policy"));
    let reasons = compacted.compaction.plan.decisions.iter().map(|d| d.reason);
    assert!(reasons.into_iter().all(|reason| reason != Reason::Scored));
}

#[test]
fn a_failed_request_or_a_wrong_answer_changes_nothing() {
    let bytes = conversation(60, 10, 3_000);
    let document = transcript::read(&bytes).unwrap();
    let check = |answer: &dyn Fn(&str) -> Result<f64, String>, reason: &str| {
        let script = Script { answer, sizes: RefCell::default() };
        let refusal = run(&document.transcript, &policy("jev"), &script).unwrap_err();
        assert!(matches!(&refusal, Refusal::Model(why) if why.contains(reason)), "{refusal}");
    };
    check(&|_| Err("503".to_owned()), "503");
    check(&|_| Ok(f64::NAN), "invalid answer for call_t1");
    check(&|_| Ok(1.2), "invalid answer for call_t1");
}
