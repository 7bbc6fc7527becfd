//! Sends many requests about one subject concurrently, for callers with their own questions.
//!
//! In: requests of yes/no questions. Out: for each, the probabilities in the order asked, or an
//! error. A request that is too large or rejected is split in half by its questions, down to one.

use super::client::Client;
use super::error::{ErrorScope, ModelError};
use super::pool::{self, Steps};
use super::run::Run;
use super::wire::Answer;
use crate::core::rerank::request::ModelRequest;

/// Most splits of one call; each adds a request.
const HALVINGS: usize = 32;

/// A part of a request: its number and its range of questions.
struct RequestPart {
    request: usize,
    first: usize,
    ask: ModelRequest,
}

/// Answers as they come in.
struct Gathered {
    answers: Vec<Result<Vec<f64>, ModelError>>,
    halvings: usize,
    /// The error that ended the run, if any.
    end: Option<ModelError>,
}

/// Asks all of them with the run's permits, within its deadline. An error that ends a run becomes
/// the error of every open request.
#[must_use]
pub fn ask_all(
    client: &Client,
    run: &Run,
    requests: Vec<ModelRequest>,
) -> Vec<Result<Vec<f64>, ModelError>> {
    let empty = |ask: &ModelRequest| Ok(vec![0.0; ask.questions.len()]);
    let answers = requests.iter().map(empty).collect();
    let mut gathered = Gathered { answers, halvings: 0, end: None };
    let parts = requests.into_iter().enumerate();
    let parts: Vec<RequestPart> =
        parts.map(|(request, ask)| RequestPart { request, first: 0, ask }).collect();
    let (prepare, work) =
        (|_: &RequestPart| (), |part: &RequestPart, ()| client.ask(run, &part.ask));
    let done = |part, result| gathered.take(run, part, result);
    pool::run(client.endpoint().in_flight, parts, Steps { prepare, work, done });
    gathered.answers
}

impl Gathered {
    fn take(
        &mut self,
        run: &Run,
        part: RequestPart,
        result: Result<Answer, ModelError>,
    ) -> Vec<RequestPart> {
        match result {
            Ok(answer) => self.keep(&part, &answer),
            Err(error) if self.may_halve(&part, &error) => {
                self.halvings += 1;
                return halves(part);
            }
            Err(error) => self.miss(run, part.request, error),
        }
        Vec::new()
    }

    fn keep(&mut self, part: &RequestPart, answer: &Answer) {
        let Ok(all) = &mut self.answers[part.request] else { return };
        for ((key, _), slot) in part.ask.questions.iter().zip(&mut all[part.first..]) {
            // The client has checked that every key is answered.
            *slot = answer.yes.get(key).copied().unwrap_or(0.0);
        }
    }

    fn may_halve(&self, part: &RequestPart, error: &ModelError) -> bool {
        error.reach() == ErrorScope::Size
            && part.ask.questions.len() > 1
            && self.halvings < HALVINGS
    }

    fn miss(&mut self, run: &Run, request: usize, error: ModelError) {
        if error.reach() == ErrorScope::Run {
            run.stop();
            self.end.get_or_insert_with(|| error.clone());
        }
        // Requests that the end of the run cut short get its error.
        let reason = self.end.clone().filter(|_| error == ModelError::OutOfTime).unwrap_or(error);
        if self.answers[request].is_ok() {
            self.answers[request] = Err(reason);
        }
    }
}

fn halves(mut part: RequestPart) -> Vec<RequestPart> {
    let middle = part.ask.questions.len() / 2;
    let questions = part.ask.questions.split_off(middle);
    let ask = ModelRequest { state: part.ask.state.clone(), questions };
    let second = RequestPart { request: part.request, first: part.first + middle, ask };
    vec![part, second]
}
