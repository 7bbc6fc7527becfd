//! Many requests about one thing at once, for callers that have their own questions.
//!
//! In: requests of yes/no questions. Out: for each, the probabilities in the order asked, or why there are none. A request
//! that is too large or turned away is halved by its questions, down to one.

use super::client::Client;
use super::error::{Error, Reach};
use super::pool::{self, Steps};
use super::run::Run;
use super::wire::Answer;
use crate::core::rerank::request::Ask;

/// Halvings of one call: each adds a request.
const HALVINGS: usize = 32;

/// A part of a request: its number, and which of its questions.
struct Part {
    request: usize,
    first: usize,
    ask: Ask,
}

/// Answers as they come in.
struct Gathered {
    answers: Vec<Result<Vec<f64>, Error>>,
    halvings: usize,
    /// What ended the run, if anything did.
    end: Option<Error>,
}

/// Asks all of them in the run's places, within its deadline. An error that ends a run is every open request's.
#[must_use]
pub fn ask_all(client: &Client, run: &Run, requests: Vec<Ask>) -> Vec<Result<Vec<f64>, Error>> {
    let empty = |ask: &Ask| Ok(vec![0.0; ask.questions.len()]);
    let answers = requests.iter().map(empty).collect();
    let mut gathered = Gathered { answers, halvings: 0, end: None };
    let parts = requests.into_iter().enumerate();
    let parts: Vec<Part> = parts.map(|(request, ask)| Part { request, first: 0, ask }).collect();
    let (prepare, work) = (|_: &Part| (), |part: &Part, ()| client.ask(run, &part.ask));
    let done = |part, result| gathered.take(run, part, result);
    pool::run(client.endpoint().in_flight, parts, Steps { prepare, work, done });
    gathered.answers
}

impl Gathered {
    fn take(&mut self, run: &Run, part: Part, result: Result<Answer, Error>) -> Vec<Part> {
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

    fn keep(&mut self, part: &Part, answer: &Answer) {
        let Ok(all) = &mut self.answers[part.request] else { return };
        for ((key, _), slot) in part.ask.questions.iter().zip(&mut all[part.first..]) {
            // The client has checked that every key asked is answered.
            *slot = answer.yes.get(key).copied().unwrap_or(0.0);
        }
    }

    fn may_halve(&self, part: &Part, error: &Error) -> bool {
        error.reach() == Reach::Size && part.ask.questions.len() > 1 && self.halvings < HALVINGS
    }

    fn miss(&mut self, run: &Run, request: usize, error: Error) {
        if error.reach() == Reach::Run {
            run.stop();
            self.end.get_or_insert_with(|| error.clone());
        }
        // What the end of the run cut short has the end's reason.
        let reason = self.end.clone().filter(|_| error == Error::OutOfTime).unwrap_or(error);
        if self.answers[request].is_ok() {
            self.answers[request] = Err(reason);
        }
    }
}

fn halves(mut part: Part) -> Vec<Part> {
    let middle = part.ask.questions.len() / 2;
    let questions = part.ask.questions.split_off(middle);
    let ask = Ask { state: part.ask.state.clone(), questions };
    let second = Part { request: part.request, first: part.first + middle, ask };
    vec![part, second]
}
