//! A System One server for tests: the vendor's API, the gateway's evaluation route and Laya's `/api/predict`, with
//! scripted faults and a record of what was asked. Keys are compared, never recorded.

pub mod engine;
pub mod http;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use http::{Ending, Reply, Request, Server};

/// Laya's own route: one inference at a time, as the real server.
const LAYA_PATH: &str = "/api/predict";
/// Text that the firewall before the fake does not let through.
pub const FIREWALL_MARKER: &str = "WAF_BLOCK_ME";

/// One thing that goes wrong in place of an answer, or on top of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// A status with a body and one more header.
    Status(u16, &'static str, Option<(&'static str, &'static str)>),
    /// The firewall's page.
    Firewall,
    Wait(Duration),
    /// Half of the answer.
    Cut,
    /// The connection ends without an answer.
    Reset,
    Empty,
    NotJson,
    MissingAnswer,
    ExtraAnswer,
    NaN,
    OutOfRange,
    WrongType,
    NoUsage,
}

impl Fault {
    /// The fault of a name on a command line.
    pub fn named(name: &str) -> Option<Fault> {
        const BUSY: &str = r#"{"detail":{"error_type":"rate_limit_error","message":"slow down"}}"#;
        Some(match name {
            "429-ms" => Fault::Status(429, BUSY, Some(("retry-after-ms", "20"))),
            "429-s" => Fault::Status(429, BUSY, Some(("retry-after", "1"))),
            "402" => Fault::Status(402, r#"{"detail":"no credits"}"#, None),
            "404" => Fault::Status(404, r#"{"detail":"no such model"}"#, None),
            "413" => Fault::Status(413, r#"{"detail":"too large"}"#, None),
            "500" => Fault::Status(500, r#"{"detail":"oops"}"#, None),
            "503" => Fault::Status(503, "<html><title>Unavailable</title></html>", None),
            "529" => Fault::Status(529, r#"{"detail":"overloaded"}"#, None),
            "redirect" => Fault::Status(302, "", Some(("location", "http://127.0.0.1:9/"))),
            "firewall" => Fault::Firewall,
            "hang" => Fault::Wait(Duration::from_secs(600)),
            "cut" => Fault::Cut,
            "reset" => Fault::Reset,
            "empty" => Fault::Empty,
            "not-json" => Fault::NotJson,
            "missing-answer" => Fault::MissingAnswer,
            "extra-answer" => Fault::ExtraAnswer,
            "nan" => Fault::NaN,
            "out-of-range" => Fault::OutOfRange,
            "wrong-type" => Fault::WrongType,
            "no-usage" => Fault::NoUsage,
            _ => return None,
        })
    }
}

/// What was asked, and when.
#[derive(Clone, Debug)]
pub struct Seen {
    pub path: String,
    pub body: String,
    pub questions: usize,
    pub status: u16,
    pub retry: Option<String>,
    pub header_names: Vec<String>,
    pub started: Instant,
    pub ended: Instant,
}

type Script = Box<dyn Fn(usize, &Request) -> Option<Fault> + Send + Sync>;

/// How the fake behaves.
#[derive(Default)]
pub struct Behaviour {
    /// The only key that is let in; none lets everybody in.
    pub key: Option<String>,
    /// Each answer takes that long, the fake's own work included.
    pub delay: Duration,
    /// What goes wrong with the n-th question (from 0).
    pub script: Option<Script>,
}

impl Behaviour {
    /// The first `count` questions meet the fault.
    pub fn failing(count: usize, fault: Fault) -> Behaviour {
        Behaviour::scripted(move |n, _| (n < count).then(|| fault.clone()))
    }

    pub fn scripted(
        script: impl Fn(usize, &Request) -> Option<Fault> + Send + Sync + 'static,
    ) -> Behaviour {
        Behaviour { script: Some(Box::new(script)), ..Behaviour::default() }
    }
}

#[derive(Default)]
struct Log {
    seen: Mutex<Vec<Seen>>,
    asked: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

/// A running fake.
pub struct FakeSystemOne {
    server: Server,
    log: Arc<Log>,
}

impl FakeSystemOne {
    pub fn start(behaviour: Behaviour) -> FakeSystemOne {
        FakeSystemOne::on_port(0, behaviour)
    }

    pub fn on_port(port: u16, behaviour: Behaviour) -> FakeSystemOne {
        let log = Arc::new(Log::default());
        let kept = Arc::clone(&log);
        let one_at_a_time = Mutex::new(());
        let handler = move |request: &Request| {
            kept.most.fetch_max(kept.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            let _turn = (request.path == LAYA_PATH).then(|| one_at_a_time.lock().unwrap());
            let started = Instant::now();
            // First, so that requests that come together do not wait for each other's answers.
            std::thread::sleep(behaviour.delay / 2);
            let reply = route(&behaviour, &kept, request);
            let mut seen = seen(request, &reply, started);
            std::thread::sleep(behaviour.delay.saturating_sub(started.elapsed()));
            seen.ended = Instant::now();
            kept.now.fetch_sub(1, Ordering::SeqCst);
            kept.seen.lock().unwrap().push(seen);
            reply
        };
        FakeSystemOne { server: Server::start(port, Arc::new(handler)), log }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address
    }

    /// All questions so far, in the order they were answered.
    pub fn seen(&self) -> Vec<Seen> {
        let mut all = self.log.seen.lock().unwrap().clone();
        for seen in &mut all {
            let body: Value = serde_json::from_str(&seen.body).unwrap_or_default();
            seen.questions = body["questions"].as_object().map_or(0, serde_json::Map::len);
        }
        all
    }

    /// Most questions at one time.
    pub fn most_in_flight(&self) -> usize {
        self.log.most.load(Ordering::SeqCst)
    }
}

fn seen(request: &Request, reply: &Reply, started: Instant) -> Seen {
    Seen {
        path: request.path.clone(),
        questions: 0,
        status: reply.status,
        retry: request.header("x-typesafe-retry-count").map(str::to_owned),
        header_names: request.headers.iter().map(|(name, _)| name.clone()).collect(),
        body: String::from_utf8_lossy(&request.body).into_owned(),
        started,
        ended: started,
    }
}

fn route(behaviour: &Behaviour, log: &Log, request: &Request) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/v1/models" | "/typesafe/v1/models") => {
            refuse_key(behaviour, request).unwrap_or_else(models)
        }
        ("POST", "/v1/systemone" | "/typesafe/v1/systemone") => {
            refuse_key(behaviour, request).unwrap_or_else(|| ask(behaviour, log, request, false))
        }
        ("POST", "/v4/ai/evaluation-model") => {
            refuse_gateway(behaviour, request).unwrap_or_else(|| ask(behaviour, log, request, true))
        }
        ("POST", LAYA_PATH) => predict(behaviour, log, request),
        (_, "/v1/models" | "/v1/systemone") => error(405, "not_allowed", "wrong method"),
        (_, path) => error(404, "not_found", &format!("no route {path}")),
    }
}

fn error(status: u16, kind: &str, message: &str) -> Reply {
    Reply::json(status, &json!({"detail": {"error_type": kind, "message": message}}))
}

fn models() -> Reply {
    let model =
        json!({"name": "jev-latest", "description": "a fake", "release_date": "2026-11-29"});
    Reply::json(200, &json!({"models": [model]}))
}

fn refuse_key(behaviour: &Behaviour, request: &Request) -> Option<Reply> {
    let key = behaviour.key.as_ref()?;
    let kind = "authentication_error";
    match request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")) {
        None => Some(error(403, kind, "Must supply an API key!")),
        Some(given) if given != key => {
            Some(error(401, kind, "Cannot authenticate with the server."))
        }
        Some(_) => None,
    }
}

fn refuse_gateway(behaviour: &Behaviour, request: &Request) -> Option<Reply> {
    let gateway_error = |status, kind: &str, message: &str| {
        Some(Reply::json(status, &json!({"error": {"type": kind, "message": message}})))
    };
    if refuse_key(behaviour, request).is_some() {
        return gateway_error(401, "authentication_error", "invalid key");
    }
    let expected = [
        ("ai-gateway-protocol-version", "0.0.1"),
        ("ai-gateway-auth-method", "api-key"),
        ("ai-evaluation-model-specification-version", "4"),
        ("ai-model-id", "typesafe-ai/jev"),
    ];
    let wrong = expected.iter().find(|(name, value)| request.header(name) != Some(value));
    wrong.and_then(|(name, _)| gateway_error(400, "invalid_request_error", name))
}

fn ask(behaviour: &Behaviour, log: &Log, request: &Request, is_gateway: bool) -> Reply {
    let n = log.asked.fetch_add(1, Ordering::SeqCst);
    let fault = behaviour.script.as_ref().and_then(|script| script(n, request));
    if let Some(reply) = fault.as_ref().and_then(instead) {
        return reply;
    }
    if String::from_utf8_lossy(&request.body).contains(FIREWALL_MARKER) {
        return firewall();
    }
    let Ok(body) = serde_json::from_slice::<Value>(&request.body) else {
        let wrong = json!({"loc": ["body", 0], "msg": "no JSON", "type": "json_invalid"});
        return Reply::json(422, &json!({ "detail": [wrong] }));
    };
    let complaints = engine::complaints(&body, is_gateway);
    if !complaints.is_empty() {
        return Reply::json(422, &json!({ "detail": complaints }));
    }
    let model = body["model"].as_str().unwrap_or("typesafe-ai/jev");
    if !["jev-", "typesafe-ai/jev"].iter().any(|known| model.starts_with(known)) {
        return error(400, "api_usage_error", &format!("unknown model {model}"));
    }
    if engine::is_too_large(&body) {
        return Reply::json(400, &json!({"detail": {"error_type": "max_tokens_exceeded"}}));
    }
    let answer = engine::respond(&body, is_gateway);
    spoilt(answer, fault.as_ref()).with("x-typesafe-request-id", &format!("req_{n}"))
}

/// Faults that take the place of an answer.
fn instead(fault: &Fault) -> Option<Reply> {
    match fault {
        Fault::Status(status, body, header) => {
            let reply = Reply::new(*status, "application/json", *body);
            Some(header.map_or_else(
                || Reply::new(*status, "application/json", *body),
                |(n, v)| reply.with(n, v),
            ))
        }
        Fault::Firewall => Some(firewall()),
        Fault::Wait(time) => {
            std::thread::sleep(*time);
            None
        }
        Fault::Reset => Some(Reply::new(200, "application/json", "").ending(Ending::Nothing)),
        Fault::Empty => Some(Reply::new(200, "application/json", "")),
        Fault::NotJson => Some(Reply::new(200, "text/html", "<html>hello</html>")),
        _ => None,
    }
}

/// Synthetic: nobody has published the page itself.
fn firewall() -> Reply {
    let page = "<html><head><title>Attention Required! | Cloudflare</title></head><body>Sorry, you have been blocked. Ray ID: 8f2fake</body></html>";
    Reply::new(403, "text/html; charset=UTF-8", page)
        .with("cf-ray", "8f2fake-FRA")
        .with("server", "cloudflare")
}

/// Faults in the answer itself.
fn spoilt(mut answer: Value, fault: Option<&Fault>) -> Reply {
    let answers = answer["answers"].as_object_mut().unwrap();
    let first = answers.keys().next().cloned().unwrap_or_default();
    let replace = |json: &Value, from: &str, to: &str| json.to_string().replacen(from, to, 1);
    match fault {
        Some(Fault::MissingAnswer) => drop(answers.remove(&first)),
        Some(Fault::ExtraAnswer) => {
            answers.insert("nobody-asked".into(), json!({"type": "noul", "noul": 0.5}));
        }
        Some(Fault::OutOfRange) => answers[&first] = json!({"type": "noul", "noul": 1.2}),
        Some(Fault::WrongType) => answers[&first] = json!({"type": "score", "score": 1}),
        Some(Fault::NoUsage) => drop(answer.as_object_mut().unwrap().remove("usage")),
        Some(Fault::NaN) => {
            answers[&first] = json!({"type": "noul", "noul": "@"});
            return Reply::new(200, "application/json", replace(&answer, "\"@\"", "NaN"));
        }
        Some(Fault::Cut) => return Reply::json(200, &answer).ending(Ending::Cut),
        _ => {}
    }
    Reply::json(200, &answer)
}

/// Laya's own route: another error shape, four decimals, a check of the host.
fn predict(behaviour: &Behaviour, log: &Log, request: &Request) -> Reply {
    let host = request.header("host").unwrap_or_default().split(':').next().unwrap_or_default();
    if !["127.0.0.1", "localhost"].contains(&host) {
        return Reply::json(403, &json!({"error": "forbidden host"}));
    }
    if request.body.is_empty() || request.body.len() > 1 << 20 {
        return Reply::json(400, &json!({"error": "bad length"}));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if body["model"].as_str().is_some_and(|model| model != "english") {
        return Reply::json(400, &json!({"error": "unknown model; choose one of ['english']"}));
    }
    if body["state"].as_str().unwrap_or_default().is_empty() {
        return Reply::json(400, &json!({"error": "state is empty"}));
    }
    let n = log.asked.fetch_add(1, Ordering::SeqCst);
    let fault = behaviour.script.as_ref().and_then(|script| script(n, request));
    if let Some(reply) = fault.as_ref().and_then(instead) {
        return reply;
    }
    // Some of the task's words, wherever they are in the excerpt.
    let p = 0.1 + 0.8 * f64::from(u8::from(body["state"].as_str().unwrap().contains("retry")));
    let answer = json!({"type": "noul", "noul": p, "confidence": p.max(1.0 - p)});
    let usage = json!({"input_tokens": 212, "output_tokens": 0, "truncated": false});
    Reply::json(
        200,
        &json!({"model": "laya-fake", "answers": {"relevant": answer}, "usage": usage}),
    )
}
