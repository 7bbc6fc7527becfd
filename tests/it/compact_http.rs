//! The policies that ask a model, over HTTP: what is sent, what the answers lead to, and how each failure ends.

use serde_json::{Value, json};

use crate::compact::{Step, claude, hook_rows, lines, steps};
use crate::fake::{Behaviour, FakeSystemOne, Fault};
use crate::harness::{KEY, Packer, Repo};

const SECRET: &str = "AKIAABCDEFGHIJKLMNOP";
/// Results have a hundred lines; a model sees the first and last of them, 500 characters in all.
const MIDDLE: &str = "handler_0_50()";

fn with_key(repo: &Repo, fake: &FakeSystemOne, args: &[&str]) -> Packer {
    let run = repo.packer().args(&["compact"]).args(args);
    run.env("TYPESAFE_API_KEY", KEY).env("TYPESAFE_BASE_URL", fake.url())
}

fn session() -> Vec<Step> {
    let mut steps = steps(40);
    steps[0].result.insert_str(0, &format!("AWS_SECRET={SECRET}\n"));
    steps
}

/// The data of a dry run.
fn report(policy: &str, fake: &FakeSystemOne) -> Value {
    let repo = Repo::plain();
    let args = ["-", "--policy", policy, "--json"];
    let output = with_key(&repo, fake, &args).stdin(lines(&claude(&session()))).run();
    let text = output.expect_code(0);
    assert!(output.stderr.is_empty(), "{output:#?}");
    serde_json::from_str(text).unwrap()
}

/// The answer to the function hook.
fn hook(fake: &FakeSystemOne, policy: &str) -> Value {
    let repo = Repo::plain();
    let options = json!({"compact_policy": policy});
    let request =
        json!({"v": 1, "trigger": "auto", "options": options, "messages": hook_rows(&session())});
    let run = with_key(&repo, fake, &["--host", "claude-code"]).stdin(request.to_string()).run();
    let text = run.expect_code(0);
    assert!(run.stderr.is_empty(), "{run:#?}");
    serde_json::from_str(text).unwrap()
}

/// Two scores for each call that is not pinned, none for the others.
#[track_caller]
fn check_scores(report: &Value, pinned: u64) {
    assert_eq!(report["pinned"], json!(pinned));
    let calls = report["calls"].as_array().unwrap();
    assert_eq!(calls.len(), 40);
    for (i, call) in calls.iter().enumerate() {
        let is_asked = i < 40 - usize::try_from(pinned).unwrap();
        for score in [&call["call"], &call["result"]] {
            assert_eq!(
                score.as_f64().is_some_and(|s| (0.0..=1.0).contains(&s)),
                is_asked,
                "{call}"
            );
        }
    }
}

#[test]
fn the_lowest_ranked_results_go() {
    let fake = FakeSystemOne::start(Behaviour { key: Some(KEY.into()), ..Behaviour::default() });
    let report = report("jev", &fake);
    check_scores(&report, 12);
    // The fake scores most results above the threshold: they go only until the least reduction is reached.
    let reduction = report["reduction"].as_f64().unwrap();
    assert!((0.25..0.3).contains(&reduction), "{reduction}");
    let asked = report["calls"].as_array().unwrap()[..28].iter();
    let (kept, cut): (Vec<&Value>, Vec<&Value>) =
        asked.partition(|call| call["outcome"] == json!("keep"));
    let score = |call: &&Value| call["result"].as_f64().unwrap();
    let best_cut = cut.iter().map(score).fold(0.0, f64::max);
    assert!(!cut.is_empty() && kept.iter().map(score).all(|score| score >= best_cut), "{report}");
    let seen = fake.seen();
    assert_eq!(seen.iter().map(|seen| seen.questions).sum::<usize>(), 2 * 28);
    for seen in &seen {
        assert_eq!((seen.status, seen.path.as_str()), (200, "/v1/systemone"));
        assert!(!seen.body.contains(SECRET) && !seen.body.contains(MIDDLE));
        assert!(seen.body.contains("fix the retries") && seen.body.contains("handler_0_1()"));
    }
}

#[test]
fn the_words_of_the_seed_are_sent_without_results() {
    let fake = FakeSystemOne::start(Behaviour::default());
    let report = report("jev-seed", &fake);
    // The newest 6 of 82 messages: the last holds no call, two calls lie wholly inside, one by its result.
    check_scores(&report, 3);
    let threshold = |call: &Value, score: &str| call[score].as_f64().is_none_or(|s| s >= 0.5);
    for call in report["calls"].as_array().unwrap() {
        let expected = match (threshold(call, "call"), threshold(call, "result")) {
            (_, true) => "keep",
            (true, false) => "drop_result",
            (false, false) => "drop_call",
        };
        assert_eq!(call["outcome"], json!(expected), "{call}");
    }
    assert!(fake.seen().iter().all(|seen| !seen.body.contains("handler_0_1()")));
}

#[test]
fn the_function_hook_is_told_what_was_asked() {
    let fake = FakeSystemOne::start(Behaviour::failing(1, Fault::named("429-ms").unwrap()));
    let answer = hook(&fake, "jev");
    assert_eq!(answer["rows"][0], json!(0));
    let toast = answer["toast"].as_str().unwrap();
    assert!(toast.contains("no summary (") && toast.contains("; state ~"), "{toast}");
    let log = answer["log"][0].as_str().unwrap();
    assert!(log.contains("/call=0.") && log.contains("/result=0."), "{log}");
    let retries = fake.seen().iter().filter(|seen| seen.retry.as_deref() == Some("1")).count();
    assert_eq!(retries, 1);
}

#[test]
fn a_model_that_fails_leaves_it_to_the_host() {
    let check = |fault: &str, reason: &str| {
        let fake =
            FakeSystemOne::start(Behaviour::failing(usize::MAX, Fault::named(fault).unwrap()));
        let answer = hook(&fake, "jev");
        let said = answer["fallback"].as_str().unwrap();
        assert!(said.contains(reason) && answer.get("rows").is_none(), "{fault}: {answer}");
        assert!(answer["toast"].as_str().unwrap().contains(said));
    };
    check("402", "no credits are left");
    check("404", "check the URL and the model");
    check("not-json", "the answer is not as agreed");
    check("nan", "the answer is not as agreed");
    check("out-of-range", "outside of 0 to 1");
    check("missing-answer", "is missing");
    check("wrong-type", "the answer");
    check("redirect", "redirects are not followed");
    let fake =
        FakeSystemOne::start(Behaviour { key: Some("another".into()), ..Behaviour::default() });
    assert!(hook(&fake, "jev")["fallback"].as_str().unwrap().contains("check TYPESAFE_API_KEY"));
}
