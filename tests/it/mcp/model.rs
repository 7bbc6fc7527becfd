//! Calls that ask a decision model: the answer, progress, and an end when nobody waits.

use std::time::Duration;

use serde_json::{Value, json};

use super::session::{Session, text};
use super::{hold, project};
use crate::fake::{Behaviour, FakeSystemOne};
use crate::harness::{KEY, Packer, Repo};

fn with_key(repo: &Repo, fake: &FakeSystemOne) -> Packer {
    let packer = repo.packer().env("TYPESAFE_API_KEY", KEY);
    packer.env("TYPESAFE_BASE_URL", fake.url()).env("CONTEXT_PACKER_IN_FLIGHT", "1")
}

fn slow(delay_ms: u64) -> FakeSystemOne {
    let delay = Duration::from_millis(delay_ms);
    FakeSystemOne::start(Behaviour { delay, ..Behaviour::default() })
}

fn call(session: &mut Session, id: u64, meta: &Value) {
    let arguments = json!({ "task": "fix the retry backoff", "provider": "jev" });
    let params = json!({ "name": "pack_context", "arguments": arguments, "_meta": meta });
    session.request(id, "tools/call", &params);
}

#[test]
fn the_answer_is_the_models_and_has_the_declared_shape() {
    let (repo, fake) = (project(), slow(0));
    let mut session = Session::open(with_key(&repo, &fake), &json!({}));
    session.request(1, "tools/list", &json!({}));
    let tool = session.receive()["result"]["tools"][0].clone();
    call(&mut session, 2, &json!({}));
    let answer = session.receive();
    let structured = &answer["result"]["structuredContent"];
    hold(&tool["outputSchema"], structured, "");
    assert_eq!(structured["provider"], "jev");
    assert!(structured["result"]["files"][0]["relevance"].is_f64(), "{answer:#}");
    assert!(text(&answer).contains("Provider: jev"), "{answer:#}");
}

#[test]
fn without_a_key_the_call_says_what_is_missing() {
    let repo = project();
    let mut session = Session::open(repo.packer(), &json!({}));
    call(&mut session, 1, &json!({}));
    let answer = session.receive();
    assert_eq!(answer["result"]["isError"], true);
    assert!(text(&answer).contains("TYPESAFE_API_KEY"), "{answer}");
}

#[test]
fn progress_counts_the_requests() {
    let (repo, fake) = (project(), slow(400));
    let mut session = Session::open(with_key(&repo, &fake), &json!({}));
    call(&mut session, 1, &json!({ "progressToken": "t" }));
    let mut seen = Vec::new();
    let answer = loop {
        let message = session.receive();
        if message["method"] != "notifications/progress" {
            break message;
        }
        seen.push(message["params"]["progress"].as_u64().unwrap());
    };
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(false)));
    assert!(seen.len() >= 2 && seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
}

#[test]
fn a_cancelled_call_sends_nothing_more() {
    let (repo, fake) = (project(), slow(300));
    let mut session = Session::open(with_key(&repo, &fake), &json!({}));
    call(&mut session, 1, &json!({}));
    while fake.seen().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    session.cancel(1);
    // What is in flight is answered, and would be followed by the next within milliseconds.
    std::thread::sleep(Duration::from_millis(700));
    let asked = fake.seen().len();
    assert!(asked <= 2, "{asked} requests");
    call(&mut session, 2, &json!({}));
    assert_eq!(session.receive()["id"], 2);
    assert!(fake.seen().len() - asked > 2, "a whole call takes more requests");
}
