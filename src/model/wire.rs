//! The System One wire format: [`ModelRequest`] → JSON, JSON → [`Answer`] or the message of an
//! error.
//!
//! Supports the vendor's, the gateway's and Laya's spelling. Answers are checked per key: extra
//! keys are ignored; a missing or out-of-range answer is an error, never a default.

use std::collections::BTreeMap;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::settings::Route;
use crate::core::rerank::request::{
    ModelRequest, Probabilities, Question, Questions, RequestState,
};

/// Characters of an error's text that are shown.
const MESSAGE_CHARS: usize = 200;

/// The answers to one request.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    /// Probability of "true" by key, for every yes/no question.
    pub yes: Probabilities,
    /// Probability by label, for every choice.
    pub choices: BTreeMap<String, Probabilities>,
    /// The name that the model gives itself.
    pub model: Option<String>,
    /// Reported input tokens.
    pub input_tokens: Option<u64>,
}

#[derive(Serialize)]
struct RequestBody<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    state: StateBody<'a>,
    #[serde(serialize_with = "pairs")]
    questions: Vec<(&'a str, QuestionBody<'a>)>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum StateBody<'a> {
    #[serde(serialize_with = "pairs")]
    Fields(Vec<(&'a str, &'a str)>),
    Text(&'a str),
    Json(&'a RawValue),
}

#[derive(Serialize)]
struct QuestionBody<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    instructions: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    criteria: Option<Criteria<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Criteria<'a> {
    Sides {
        #[serde(rename = "true", skip_serializing_if = "Option::is_none")]
        yes: Option<&'a str>,
        #[serde(rename = "false", skip_serializing_if = "Option::is_none")]
        no: Option<&'a str>,
    },
    #[serde(serialize_with = "pairs")]
    Options(Vec<(&'a str, &'a str)>),
}

/// An object with its keys in the given order: the model reads the task first.
fn pairs<V: Serialize, S: Serializer>(pairs: &[(&str, V)], out: S) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(pairs.len()))?;
    for (key, value) in pairs {
        map.serialize_entry(key, value)?;
    }
    map.end()
}

/// The body of a request.
///
/// # Errors
/// [`RequestState::Json`] that is no JSON.
pub fn request_body(ask: &ModelRequest, route: Route, model: &str) -> Result<Vec<u8>, String> {
    let state = match &ask.state {
        RequestState::Fields(fields) => StateBody::Fields(borrowed(fields)),
        RequestState::Text(text) => StateBody::Text(text),
        RequestState::Json(json) => StateBody::Json(
            serde_json::from_str(json).map_err(|error| format!("the state is no JSON: {error}"))?,
        ),
    };
    let question = |(key, question)| (str_of(key), question_body(question, route));
    let questions = ask.questions.iter().map(|(k, q)| (k, q)).map(question).collect();
    // On the gateway's own route the model is named in a header.
    let model = (route == Route::SystemOne).then_some(model);
    let mut body = Vec::with_capacity(room(ask));
    serde_json::to_writer(&mut body, &RequestBody { model, state, questions })
        .map_err(|error| error.to_string())?;
    Ok(body)
}

/// Initial size of a request's buffer: a body that outgrows it is copied again and again.
fn room(ask: &ModelRequest) -> usize {
    let state = match &ask.state {
        RequestState::Fields(fields) => {
            fields.iter().map(|(_, text)| text.len() + text.len() / 8).sum()
        }
        RequestState::Text(text) | RequestState::Json(text) => text.len(),
    };
    state + 256 * ask.questions.len()
}

fn str_of(text: &String) -> &str {
    text
}

fn borrowed(pairs: &[(String, String)]) -> Vec<(&str, &str)> {
    pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

fn question_body(question: &Question, route: Route) -> QuestionBody<'_> {
    match question {
        Question::YesNo { instructions, yes, no } => {
            let kind = if route == Route::GatewayEvaluation { "boolean" } else { "noul" };
            let sides = Criteria::Sides { yes: yes.as_deref(), no: no.as_deref() };
            let criteria = (yes.is_some() || no.is_some()).then_some(sides);
            QuestionBody { kind, instructions, criteria }
        }
        Question::Choice { instructions, options } => {
            let criteria = Some(Criteria::Options(borrowed(options)));
            QuestionBody { kind: "choice", instructions, criteria }
        }
    }
}

#[derive(Deserialize)]
struct AnswerBody {
    answers: BTreeMap<String, Value>,
    #[serde(default)]
    usage: Value,
    #[serde(default)]
    model: Value,
}

/// Why a 200 contains no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unusable {
    /// The body ends early: it was cut on the way.
    Cut,
    /// It does not answer the question.
    Wrong(String),
}

/// Reads the body of a 200.
///
/// # Errors
/// Not JSON, a missing answer, or a probability that is missing, not a number or outside 0 to 1.
pub fn answer(body: &[u8], questions: &Questions) -> Result<Answer, Unusable> {
    let wrong = Unusable::Wrong;
    if body.is_empty() {
        return Err(wrong("the answer is empty".into()));
    }
    let read: AnswerBody = serde_json::from_slice(body).map_err(|error| match error.is_eof() {
        true => Unusable::Cut,
        false => wrong(format!("the answer is not as agreed: {error}")),
    })?;
    let mut answer = Answer {
        model: read.model.as_str().map(str::to_owned),
        input_tokens: tokens(&read.usage),
        ..Answer::default()
    };
    for (key, question) in questions {
        let missing = || wrong(format!("the answer to {key:?} is missing"));
        let value = read.answers.get(key).ok_or_else(missing)?;
        let bad = |why| wrong(format!("the answer to {key:?} {why}"));
        match question {
            Question::YesNo { .. } => {
                answer.yes.insert(key.clone(), yes(value).map_err(bad)?);
            }
            Question::Choice { options, .. } => {
                answer.choices.insert(key.clone(), choice(value, options).map_err(bad)?);
            }
        }
    }
    Ok(answer)
}

fn tokens(usage: &Value) -> Option<u64> {
    let value = usage.get("input_tokens").or_else(|| usage.get("inputTokens"))?;
    value.as_u64()
}

fn yes(value: &Value) -> Result<f64, &'static str> {
    kind(value, &["noul", "boolean"])?;
    probability(value.get("noul").or_else(|| value.get("probability")))
}

fn choice(value: &Value, options: &[(String, String)]) -> Result<Probabilities, &'static str> {
    kind(value, &["choice"])?;
    let given = value.get("probabilities").ok_or("holds no probabilities")?;
    options.iter().map(|(label, _)| Ok((label.clone(), probability(given.get(label))?))).collect()
}

/// The type may be absent, but not differ.
fn kind(value: &Value, allowed: &[&str]) -> Result<(), &'static str> {
    match value.get("type") {
        None => Ok(()),
        Some(kind) if kind.as_str().is_some_and(|kind| allowed.contains(&kind)) => Ok(()),
        Some(_) => Err("is of another type than the question"),
    }
}

fn probability(value: Option<&Value>) -> Result<f64, &'static str> {
    let number = value.and_then(Value::as_f64).ok_or("holds no probability")?;
    if (0.0..=1.0).contains(&number) {
        Ok(number)
    } else {
        Err("holds a probability outside of 0 to 1")
    }
}

/// The body of an error.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ErrorBody {
    /// Whether it is a JSON object, so it comes from the service itself and not from a firewall
    /// before it.
    pub is_json: bool,
    /// `error_type` or `type`, if given.
    pub kind: Option<String>,
    /// One line for people.
    pub message: String,
}

/// Reads the body of an error in any of the services' shapes. Never fails: an unreadable body is
/// shown as it is.
#[must_use]
pub fn complaint(body: &[u8]) -> ErrorBody {
    let text = String::from_utf8_lossy(body);
    let Ok(Value::Object(json)) = serde_json::from_slice::<Value>(body) else {
        return ErrorBody { message: plain(&text), ..ErrorBody::default() };
    };
    let json = Value::Object(json);
    let word = |pointer: &str| json.pointer(pointer).and_then(Value::as_str);
    let kind = ["/detail/error_type", "/error/type", "/error_type"].into_iter().find_map(word);
    let message = ["/error", "/error/message", "/message", "/detail", "/detail/message"]
        .into_iter()
        .find_map(word)
        .map(str::to_owned)
        .or_else(|| json.get("detail").and_then(Value::as_array).map(|list| details(list)))
        .or_else(|| kind.map(str::to_owned))
        .unwrap_or_else(|| text.into_owned());
    ErrorBody { is_json: true, kind: kind.map(str::to_owned), message: one_line(&message) }
}

/// `questions.q1.criteria: should be an object; …`
fn details(list: &[Value]) -> String {
    let one = |item: &Value| {
        let path: Vec<String> = item["loc"].as_array().map_or_else(Vec::new, |parts| {
            let named =
                parts.iter().map(|part| part.as_str().map_or(part.to_string(), str::to_owned));
            named.filter(|part| part != "body").collect()
        });
        format!("{}: {}", path.join("."), item["msg"].as_str().unwrap_or_default())
    };
    list.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// The title of a page, or the start of a text.
fn plain(text: &str) -> String {
    let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    match title {
        Some((title, _)) => one_line(title),
        None if text.trim().is_empty() => "(no body)".into(),
        None => one_line(text),
    }
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").chars().filter(|c| !c.is_control()).take(MESSAGE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask() -> ModelRequest {
        let options =
            vec![("f000".to_owned(), "one".to_owned()), ("f001".to_owned(), "two".to_owned())];
        ModelRequest {
            state: RequestState::Fields(vec![
                ("task".into(), "t".into()),
                ("f000".into(), "x".into()),
            ]),
            questions: vec![
                ("f000".into(), Question::statement("s".into())),
                ("pick".into(), Question::Choice { instructions: "i".into(), options }),
            ],
        }
    }

    #[test]
    fn requests_keep_their_order_and_speak_each_route() {
        let body = |route| String::from_utf8(request_body(&ask(), route, "m").unwrap()).unwrap();
        assert_eq!(
            body(Route::SystemOne),
            r#"{"model":"m","state":{"task":"t","f000":"x"},"questions":{"f000":{"type":"noul","instructions":"s"},"pick":{"type":"choice","instructions":"i","criteria":{"f000":"one","f001":"two"}}}}"#
        );
        let gateway = body(Route::GatewayEvaluation);
        assert!(gateway.starts_with(r#"{"state":"#) && gateway.contains(r#""type":"boolean""#));
    }

    #[test]
    fn a_rendered_state_goes_in_as_it_is() {
        let mut ask = ask();
        ask.questions.truncate(1);
        ask.questions[0].1 =
            Question::YesNo { instructions: "s".into(), yes: Some("y".into()), no: None };
        ask.state = RequestState::Json(r#"{"b":1,"a":[ ]}"#.into());
        let body = String::from_utf8(request_body(&ask, Route::SystemOne, "m").unwrap()).unwrap();
        assert!(body.contains(r#""state":{"b":1,"a":[ ]}"#), "{body}");
        assert!(body.contains(r#""criteria":{"true":"y"}"#), "{body}");
        ask.state = RequestState::Json("{".into());
        assert!(request_body(&ask, Route::SystemOne, "m").is_err());
    }

    #[test]
    fn both_spellings_of_an_answer_are_read() {
        for body in [
            r#"{"model":"jev-1.13.0","answers":{"pick":{"type":"choice","choice":"f000","probabilities":{"f001":0.13,"f000":0.87}},"f000":{"type":"noul","noul":0.96},"more":{}},"usage":{"input_tokens":318,"output_tokens":34}}"#,
            r#"{"model":"jev-1.13.0","answers":{"f000":{"type":"boolean","probability":0.96},"pick":{"probabilities":{"f001":0.13,"f000":0.87}}},"usage":{"inputTokens":318}}"#,
        ] {
            let answer = answer(body.as_bytes(), &ask().questions).unwrap();
            assert_eq!(answer.yes["f000"].to_string(), "0.96");
            assert_eq!(answer.choices["pick"]["f000"].to_string(), "0.87");
            assert_eq!(answer.input_tokens, Some(318));
            assert_eq!(answer.model.as_deref(), Some("jev-1.13.0"));
        }
    }

    #[track_caller]
    fn unusable(f000: &str, pick: &str, part: &str) {
        let body = format!(r#"{{"answers":{{"f000":{f000},"pick":{pick}}}}}"#);
        match answer(body.as_bytes(), &ask().questions) {
            Err(Unusable::Wrong(text)) => assert!(text.contains(part), "{text}"),
            other => panic!("{body}: {other:?}"),
        }
    }

    #[test]
    fn answers_are_checked_per_asked_key() {
        let pick = r#"{"probabilities":{"f000":0.5,"f001":0.5}}"#;
        unusable(r#"{"noul":1.2}"#, pick, "outside of 0 to 1");
        unusable(r#"{"noul":-0.1}"#, pick, "outside of 0 to 1");
        unusable(r#"{"noul":"0.5"}"#, pick, "no probability");
        unusable(r#"{"noul":null}"#, pick, "no probability");
        unusable("{}", pick, "no probability");
        unusable(r#"{"type":"score","noul":0.5}"#, pick, "another type");
        unusable(r#"{"noul":NaN}"#, pick, "not as agreed");
        unusable(r#"{"noul":0.5}"#, r#"{"choice":"f000"}"#, "no probabilities");
        unusable(r#"{"noul":0.5}"#, r#"{"probabilities":{"f000":0.5}}"#, "no probability");
        let missing = answer(br#"{"answers":{}}"#, &ask().questions);
        assert_eq!(missing, Err(Unusable::Wrong("the answer to \"f000\" is missing".into())));
        assert_eq!(answer(br#"{"answers":{"f0"#, &ask().questions), Err(Unusable::Cut));
        assert!(matches!(answer(b"", &ask().questions), Err(Unusable::Wrong(_))));
        assert!(matches!(answer(b")]}'\n{}", &ask().questions), Err(Unusable::Wrong(_))));
    }

    #[track_caller]
    fn says(body: &str, kind: Option<&str>, message: &str) {
        let complaint = complaint(body.as_bytes());
        assert_eq!((complaint.kind.as_deref(), complaint.message.as_str()), (kind, message));
    }

    #[test]
    fn complaints_are_read_in_every_shape() {
        let auth = r#"{"detail":{"error_type":"authentication_error","message":"Must supply an API key!"}}"#;
        says(auth, Some("authentication_error"), "Must supply an API key!");
        says(
            r#"{"detail":{"error_type":"max_tokens_exceeded"}}"#,
            Some("max_tokens_exceeded"),
            "max_tokens_exceeded",
        );
        says(r#"{"error":{"message":"no","type":"forbidden"}}"#, Some("forbidden"), "no");
        says(r#"{"error":"state is empty"}"#, None, "state is empty");
        says(r#"{"detail":"too many questions (65 > 64)"}"#, None, "too many questions (65 > 64)");
        says(
            r#"{"detail":[{"loc":["body","questions","q1"],"msg":"bad","type":"t"},{"loc":["body",0],"msg":"worse"}]}"#,
            None,
            "questions.q1: bad; 0: worse",
        );
        says(
            "<html><title>Attention Required!\n | Cloudflare</title>",
            None,
            "Attention Required! | Cloudflare",
        );
        says("", None, "(no body)");
        assert_eq!(complaint("x".repeat(999).as_bytes()).message.len(), MESSAGE_CHARS);
    }
}
