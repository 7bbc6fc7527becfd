//! Sends one request and returns the checked answer: retries, delays that the server asks for, and
//! the meaning of each status.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bstr::ByteSlice as _;

use super::error::ModelError;
use super::retry::{LONGEST_SERVER_DELAY, RETRIES, TIMEOUT_RETRIES, backoff, server_delay};
use super::run::Run;
use super::settings::{Endpoint, Settings};
use super::transport::{Http, Response, Transport, TransportError};
use super::wire::{self, Answer, Unusable};
use crate::core::rerank::request::{ModelRequest, Question, Questions, RequestState};

/// Asks a decision model. Shared by all threads and by all runs of a process.
pub struct Client {
    endpoint: Endpoint,
    transport: Box<dyn Transport>,
    budget: u64,
    spent: AtomicU64,
}

/// The outcome of one exchange.
enum Exchange {
    Answered(Answer),
    Ended(ModelError),
    Retryable(Retryable),
}

/// A failed exchange that may be retried.
struct Retryable {
    /// The delay that the server asked for.
    delay: Option<Duration>,
    why: String,
    /// Whether there was no response at all.
    is_down: bool,
    /// Most retries.
    retries: u32,
}

impl Client {
    /// Does not open a connection yet.
    ///
    /// # Errors
    /// A certificate file or a proxy that cannot be used.
    pub fn new(settings: &Settings) -> Result<Client, ModelError> {
        let transport = Http::new(settings.endpoint.clone(), &settings.network)?;
        Ok(Client::over(Box::new(transport), settings))
    }

    /// A client over the given transport.
    #[must_use]
    pub fn over(transport: Box<dyn Transport>, settings: &Settings) -> Client {
        let (endpoint, budget) = (settings.endpoint.clone(), settings.token_budget);
        Client { endpoint, transport, budget, spent: AtomicU64::new(0) }
    }

    /// The endpoint of requests.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Whether another run may start.
    ///
    /// # Errors
    /// [`ModelError::BudgetSpent`].
    pub fn check_budget(&self) -> Result<(), ModelError> {
        let (spent, budget) = (self.spent.load(Ordering::Relaxed), self.budget);
        if spent >= budget { Err(ModelError::BudgetSpent { spent, budget }) } else { Ok(()) }
    }

    /// Sends a request under one of the run's permits. Up to four retries, as far as the deadline
    /// allows.
    ///
    /// # Errors
    /// See [`ModelError`]; [`ModelError::reach`] tells whether other requests may succeed.
    pub fn ask(&self, run: &Run, ask: &ModelRequest) -> Result<Answer, ModelError> {
        self.send(run, &self.body(ask)?, &ask.questions)
    }

    /// The bytes of a request.
    ///
    /// # Errors
    /// A state that claims to be JSON and is not.
    pub fn body(&self, ask: &ModelRequest) -> Result<Vec<u8>, ModelError> {
        wire::request_body(ask, self.endpoint.route, &self.endpoint.model)
            .map_err(ModelError::Failed)
    }

    /// [`Client::ask`] with an encoded request.
    ///
    /// # Errors
    /// The same.
    pub fn send(
        &self,
        run: &Run,
        body: &[u8],
        questions: &Questions,
    ) -> Result<Answer, ModelError> {
        match self.persist(run, body, questions) {
            Err(ModelError::Rejected(why)) if run.is_blocked(|| self.is_blocked(run)) => {
                Err(ModelError::Blocked(format!(
                    "{} turns away even a harmless request ({why}): a firewall or proxy blocks this machine, \
                     or the key is missing",
                    self.host()
                )))
            }
            other => other,
        }
    }

    fn persist(&self, run: &Run, body: &[u8], questions: &Questions) -> Result<Answer, ModelError> {
        let mut retry = 0;
        loop {
            match self.exchange(run, body, questions, retry)? {
                Exchange::Answered(answer) => {
                    self.spent.fetch_add(answer.input_tokens.unwrap_or(0), Ordering::Relaxed);
                    run.count_answer(answer.input_tokens);
                    return Ok(answer);
                }
                Exchange::Ended(error) => {
                    run.count_failure();
                    return Err(error);
                }
                Exchange::Retryable(unlucky) => {
                    run.count_failure();
                    retry += 1;
                    self.wait(run, retry, unlucky)?;
                }
            }
        }
    }

    /// Waits before retry number `retry`, if there is one.
    fn wait(&self, run: &Run, retry: u32, unlucky: Retryable) -> Result<(), ModelError> {
        if run.deadline().has_passed() {
            return Err(ModelError::OutOfTime);
        }
        if retry > unlucky.retries {
            return Err(self.given_up(run, unlucky, retry));
        }
        if unlucky.delay.is_some_and(|delay| delay > LONGEST_SERVER_DELAY) {
            let why = unlucky.why;
            return Err(ModelError::Failed(format!(
                "{why}, and asks to wait for more than a minute"
            )));
        }
        if let Some(delay) = unlucky.delay {
            run.pause_for(delay);
        }
        let wait = unlucky.delay.unwrap_or_else(|| backoff(retry, random()));
        if run.sleep(wait) { Ok(()) } else { Err(ModelError::OutOfTime) }
    }

    /// After the last try. If nothing was ever answered, no other request will be.
    fn given_up(&self, run: &Run, unlucky: Retryable, tries: u32) -> ModelError {
        let (host, why) = (self.host(), unlucky.why);
        if !unlucky.is_down || run.has_answered() {
            return ModelError::Failed(format!("{why} ({tries} tries)"));
        }
        let remedy = match self.endpoint.is_local {
            true => "start the server, or correct",
            false => "check the network, and",
        };
        let variable = self.endpoint.url_variable;
        ModelError::Unreachable(format!("nothing answers at {host} ({why}): {remedy} {variable}"))
    }

    fn exchange(
        &self,
        run: &Run,
        body: &[u8],
        questions: &Questions,
        retry: u32,
    ) -> Result<Exchange, ModelError> {
        let place = run.enter().ok_or(ModelError::OutOfTime)?;
        let longest = Duration::from_secs(self.endpoint.timeout_seconds);
        let timeout = run.deadline().left().map_or(longest, |left| left.min(longest));
        let result = self.transport.post(body, retry, timeout.max(Duration::from_millis(1)));
        if matches!(result, Err(TransportError::Cut(_) | TransportError::TimedOut)) {
            run.halve_concurrency(place.since);
        }
        drop(place);
        Ok(match result {
            Ok(response) => self.judge(&response, questions),
            Err(TransportError::TimedOut) => silence("no answer in time".into(), TIMEOUT_RETRIES),
            // Connection refused: on this machine waiting does not help.
            Err(TransportError::Refused(why)) if self.endpoint.is_local => silence(why, 0),
            Err(
                TransportError::Refused(why)
                | TransportError::Cut(why)
                | TransportError::Network(why),
            ) => silence(self.hide(&why), RETRIES),
            Err(TransportError::Permanent(why)) => {
                Exchange::Ended(ModelError::Unreachable(format!(
                    "{} cannot be asked: {} (behind a company proxy, set CONTEXT_PACKER_CA_FILE)",
                    self.host(),
                    self.hide(&why)
                )))
            }
        })
    }

    fn judge(&self, response: &Response, questions: &Questions) -> Exchange {
        if response.status == 200 {
            return match wire::answer(&response.body, questions) {
                Ok(answer) => Exchange::Answered(answer),
                Err(Unusable::Cut) => again(None, "the answer was cut".into()),
                Err(Unusable::Wrong(why)) => Exchange::Ended(ModelError::Failed(self.hide(&why))),
            };
        }
        // Redacts before a message is truncated, so that no half of a key remains.
        let complaint = wire::complaint(self.hide(&response.body.to_str_lossy()).as_bytes());
        let id = response.request_id.as_ref().map(|id| format!(", id {id}")).unwrap_or_default();
        let what = self.hide(&format!("{}{id}: {}", response.status, complaint.message));
        let is_too_large = complaint.kind.as_deref() == Some("max_tokens_exceeded");
        match response.status {
            408 | 409 | 425 | 429 | 500..=599 => again(delay(response), what),
            400 | 413 if is_too_large || response.status == 413 => {
                Exchange::Ended(ModelError::TooLarge(what))
            }
            403 if !complaint.is_json => Exchange::Ended(ModelError::Rejected(what)),
            _ => Exchange::Ended(ModelError::Refused(self.refusal(response.status, &what))),
        }
    }

    fn refusal(&self, status: u16, what: &str) -> String {
        let (host, variable) = (self.host(), self.endpoint.key_variable);
        let remedy = match status {
            401 | 403 if variable.is_empty() => "is this the right server?".to_owned(),
            401 | 403 => format!("check {variable}"),
            402 => "no credits are left: add some, or do without a model (--provider keywords, --policy local)".to_owned(),
            300..=399 => {
                "redirects are not followed, so that the key stays where it belongs".to_owned()
            }
            404 => format!("check the URL and the model {:?}", self.endpoint.model),
            _ => "the request is not understood; please report this".to_owned(),
        };
        format!("{host} refuses ({what}): {remedy}")
    }

    /// Whether a harmless request is rejected as well.
    fn is_blocked(&self, run: &Run) -> bool {
        let statement = Question::statement("The word in the state is `ok`.".into());
        let probe = ModelRequest {
            state: RequestState::Text("ok".into()),
            questions: vec![("ok".into(), statement)],
        };
        let sent = self.body(&probe).and_then(|body| self.persist(run, &body, &probe.questions));
        matches!(sent, Err(ModelError::Rejected(_)))
    }

    /// The URL without its path, which is enough for the user and holds no secret.
    fn host(&self) -> String {
        let parts: Vec<&str> = self.endpoint.url.splitn(4, '/').take(3).collect();
        parts.join("/")
    }

    fn hide(&self, text: &str) -> String {
        self.endpoint.key.as_ref().map_or_else(|| text.to_owned(), |key| key.hide_in(text))
    }
}

/// The service responded, but not with an answer.
fn again(delay: Option<Duration>, why: String) -> Exchange {
    Exchange::Retryable(Retryable { delay, why, is_down: false, retries: RETRIES })
}

/// There was no response.
fn silence(why: String, retries: u32) -> Exchange {
    Exchange::Retryable(Retryable { delay: None, why, is_down: true, retries })
}

fn delay(response: &Response) -> Option<Duration> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    server_delay(response.retry_after_ms.as_deref(), response.retry_after.as_deref(), now)
}

/// A random number: the standard library seeds its hash maps from the system.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
