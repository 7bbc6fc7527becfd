//! The answers of the fake: a deterministic stand-in for a decision model, and the checks of the published schema.
//!
//! A yes/no question that names a field of the state (`f000` in backticks) is answered by how many words of `task` that
//! field holds; anything else by a hash of its content. Never by a question's key, its place, or its neighbours.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value, json};

/// Tokens that one request, and a state with its longest question, may hold.
const REQUEST_TOKENS: usize = 64_000;
const STATE_TOKENS: usize = 32_000;

/// The answers to a request that [`complaints`] has no objection to.
pub fn respond(body: &Value, is_gateway: bool) -> Value {
    let (state, questions) = (&body["state"], body["questions"].as_object().unwrap());
    let answers: Map<String, Value> = questions
        .iter()
        .map(|(key, question)| (key.clone(), answer(state, question, is_gateway)))
        .collect();
    let (input, output) = (tokens(body), 20 * questions.len());
    if is_gateway {
        let usage = json!({"inputTokens": input, "outputTokens": output});
        let rounding = json!({"probabilityDecimals": 2, "scoreDecimals": 2});
        return json!({"answers": answers, "usage": usage, "rounding": rounding, "warnings": []});
    }
    let usage = json!({"input_tokens": input, "output_tokens": output});
    json!({"model": "jev-fake-1", "answers": answers, "usage": usage})
}

fn tokens(value: &Value) -> usize {
    characters(value) / 4
}

/// About the length of the JSON.
fn characters(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(characters).sum::<usize>() + 2,
        Value::Object(map) => {
            map.iter().map(|(key, value)| key.len() + 4 + characters(value)).sum::<usize>() + 2
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 5,
    }
}

/// Whether the request is over one of the two ceilings.
pub fn is_too_large(body: &Value) -> bool {
    let questions = body["questions"].as_object();
    let longest = questions.and_then(|q| q.values().map(tokens).max()).unwrap_or(0);
    tokens(body) > REQUEST_TOKENS || tokens(&body["state"]) + longest > STATE_TOKENS
}

fn answer(state: &Value, question: &Value, is_gateway: bool) -> Value {
    let instructions = &question["instructions"];
    match question["type"].as_str().unwrap() {
        "choice" => {
            let options = question["criteria"].as_object().unwrap();
            let logit =
                |(label, text): (&String, &Value)| option_logit(state, instructions, label, text);
            let p = softmax(&options.iter().map(logit).collect::<Vec<_>>());
            let best = argmax(&p);
            let labels: Vec<&String> = options.keys().collect();
            // In another order than asked: readers look probabilities up by label.
            let shares: Map<String, Value> = labels
                .iter()
                .zip(&p)
                .rev()
                .map(|(l, p)| ((*l).clone(), json!(round(*p))))
                .collect();
            let mut answer =
                json!({"type": "choice", "choice": labels[best], "probabilities": shares});
            if !is_gateway {
                answer["confidence"] = json!(round(choice_confidence(&p)));
            }
            answer
        }
        "score" => score(state, instructions, question["criteria"].as_array().unwrap()),
        _ => {
            let criteria = &question["criteria"];
            let p = overlap(state, instructions).map_or_else(
                || sigmoid(hashed(&[state, instructions, criteria])),
                |share| 0.03 + 0.94 * share,
            );
            if is_gateway {
                json!({"type": "boolean", "probability": round(p)})
            } else {
                json!({"type": "noul", "noul": round(p)})
            }
        }
    }
}

fn score(state: &Value, instructions: &Value, levels: &[Value]) -> Value {
    let logits: Vec<f64> = levels
        .iter()
        .enumerate()
        .map(|(i, l)| hashed(&[state, instructions, &json!(i), l]))
        .collect();
    let p = softmax(&logits);
    let expected: f64 = p.iter().enumerate().map(|(i, p)| i as f64 * p).sum();
    let by_index = |value: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        (0..levels.len()).map(|i| (i.to_string(), value(i))).collect()
    };
    json!({
        "type": "score",
        "score": round(expected),
        "confidence": round(score_confidence(&p)),
        "legend": by_index(&|i| levels[i].clone()),
        "probabilities": by_index(&|i| json!(round(p[i]))),
    })
}

/// The share of the task's words in the field of the state that a text names in backticks.
fn overlap(state: &Value, text: &Value) -> Option<f64> {
    let named = text.as_str()?.split('`').skip(1).step_by(2);
    let field = named.filter(|name| *name != "task").find_map(|name| state.get(name)?.as_str())?;
    let task: BTreeSet<String> =
        words(state.get("task")?.as_str()?).map(str::to_ascii_lowercase).collect();
    let mut missing: Vec<&String> = task.iter().collect();
    for word in words(field) {
        missing.retain(|missing| !missing.eq_ignore_ascii_case(word));
    }
    Some((task.len() - missing.len()) as f64 / task.len().max(1) as f64)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2)
}

fn option_logit(state: &Value, instructions: &Value, label: &str, text: &Value) -> f64 {
    if let Some(share) = overlap(state, text) {
        return 6.0 * share;
    }
    // The part a file plays: tests are tests, and what shares words with the task is edited.
    match (label, overlap(state, instructions)) {
        ("edit", Some(share)) => 8.0 * share,
        ("test", Some(_)) if instructions_name_test(state, instructions) => 9.0,
        (_, Some(_)) => 1.0,
        (_, None) => hashed(&[state, instructions, &json!(label), text]),
    }
}

fn instructions_name_test(state: &Value, instructions: &Value) -> bool {
    let name = instructions.as_str().and_then(|text| text.split('`').nth(1)).unwrap_or_default();
    let first_line = state[name].as_str().and_then(|text| text.lines().next()).unwrap_or_default();
    first_line.contains("test")
}

/// From -3 to 3.
fn hashed(parts: &[&Value]) -> f64 {
    let mut hasher = DefaultHasher::new();
    parts.iter().for_each(|part| part.to_string().hash(&mut hasher));
    (hasher.finish() as f64 / u64::MAX as f64).mul_add(6.0, -3.0)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let most = logits.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = logits.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|x| x / sum).collect()
}

fn argmax(p: &[f64]) -> usize {
    (0..p.len()).max_by(|&a, &b| p[a].total_cmp(&p[b]).then(b.cmp(&a))).unwrap_or(0)
}

/// Two decimals, as the hosted model.
fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

pub fn choice_confidence(p: &[f64]) -> f64 {
    let n = p.len() as f64;
    if p.len() < 2 { 1.0 } else { (p[argmax(p)] - 1.0 / n) / (1.0 - 1.0 / n) }
}

pub fn score_confidence(p: &[f64]) -> f64 {
    if p.len() < 2 {
        return 1.0;
    }
    let mode = argmax(p) as f64;
    let spread: f64 = p.iter().enumerate().map(|(i, p)| p * (i as f64 - mode).abs()).sum();
    let middle = (p.len() - 1) as f64 / 2.0;
    let widest: f64 = (0..p.len()).map(|i| (i as f64 - middle).abs()).sum::<f64>() / p.len() as f64;
    (1.0 - spread / widest).max(0.0)
}

/// What the published schema objects to; the `detail` of a 422.
pub fn complaints(body: &Value, is_gateway: bool) -> Vec<Value> {
    let mut found = Vec::new();
    let Some(object) = body.as_object() else {
        return vec![complaint(&[], "should be an object", "dict_type")];
    };
    let needed: &[&str] =
        if is_gateway { &["state", "questions"] } else { &["model", "state", "questions"] };
    let missing = needed.iter().filter(|key| !object.contains_key(**key));
    found.extend(missing.map(|key| complaint(&[key], "is required", "missing")));
    if object.get("state").is_some_and(|state| !is_text(state)) {
        found.push(complaint(&["state"], "should be a string, object or array", "union_type"));
    }
    if object.get("model").is_some_and(|model| !model.is_string()) {
        found.push(complaint(&["model"], "should be a string", "string_type"));
    }
    match object.get("questions").map(Value::as_object) {
        None => {}
        Some(None) => found.push(complaint(&["questions"], "should be an object", "dict_type")),
        Some(Some(questions)) if questions.is_empty() => {
            found.push(complaint(&["questions"], "should have at least 1 item", "too_short"));
        }
        Some(Some(questions)) => {
            let of =
                |(key, question): (&String, &Value)| question_complaint(key, question, is_gateway);
            found.extend(questions.iter().filter_map(of));
        }
    }
    found
}

fn question_complaint(key: &str, question: &Value, is_gateway: bool) -> Option<Value> {
    let wrong = |what: &[&str], why, kind| {
        Some(complaint(&[&["questions", key], what].concat(), why, kind))
    };
    if !question.is_object() {
        return wrong(&[], "should be an object", "model_attributes_type");
    }
    let Some(kind) = question["type"].as_str() else {
        return wrong(&[], "has no type", "union_tag_not_found");
    };
    let instructions = &question["instructions"];
    if !instructions.is_null() && !is_text(instructions) {
        return wrong(
            &[kind, "instructions"],
            "should be a string, object or array",
            "string_type",
        );
    }
    let criteria = &question["criteria"];
    let yes_no = if is_gateway { "boolean" } else { "noul" };
    match kind {
        kind if kind == yes_no && (criteria.is_null() || are_sides(criteria)) => None,
        kind if kind == yes_no => {
            wrong(&[kind, "criteria"], "should hold true or false", "model_type")
        }
        "choice" => match criteria.as_object() {
            None => wrong(&["choice", "criteria"], "should be an object", "dict_type"),
            Some(map) if !(1..=255).contains(&map.len()) => {
                wrong(&["choice", "criteria"], "should hold 1 to 255 options", "too_long")
            }
            Some(map) if map.values().any(|text| !text.is_null() && !is_text(text)) => {
                wrong(&["choice", "criteria"], "holds a description that is no text", "string_type")
            }
            Some(_) => None,
        },
        "score" => match criteria.as_array() {
            None => wrong(&["score", "criteria"], "should be a list", "list_type"),
            Some(list) if !(1..=10).contains(&list.len()) || !list.iter().all(is_text) => {
                wrong(&["score", "criteria"], "should hold 1 to 10 texts", "too_long")
            }
            Some(_) => None,
        },
        _ => wrong(&[], "has an unknown type", "union_tag_invalid"),
    }
}

fn are_sides(criteria: &Value) -> bool {
    criteria.as_object().is_some_and(|map| map.keys().all(|key| key == "true" || key == "false"))
}

fn is_text(value: &Value) -> bool {
    value.is_string() || value.is_object() || value.is_array()
}

fn complaint(path: &[&str], message: &str, kind: &str) -> Value {
    let loc: Vec<&str> = std::iter::once("body").chain(path.iter().copied()).collect();
    json!({"loc": loc, "msg": message, "type": kind})
}
