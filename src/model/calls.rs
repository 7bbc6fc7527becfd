//! Asks a decision model about the calls of a transcript: requests at once, one that is too large in halves.
//!
//! In: requests of the compaction. Out: a probability for each question, or why a request has none.

use std::sync::Mutex;

use crate::core::compact::ask::{Asker, Request};
use crate::core::question::{Ask, Probabilities, Question, State};
use crate::model::error::{Error, Reach};
use crate::model::run::{Deadline, Run};
use crate::model::{Client, pool};

/// Questions about one call; they are never separated.
const PAIR: usize = 2;

/// A client that answers questions about calls.
pub struct CallAsker<'c> {
    /// The client.
    pub client: &'c Client,
    /// Requests at once.
    pub in_flight: usize,
    /// When to give up.
    pub deadline: Deadline,
}

/// A part of a request: its index, the first of its questions and the one after the last.
struct Job {
    request: usize,
    first: usize,
    end: usize,
}

impl Asker for CallAsker<'_> {
    fn ask(&self, requests: &[Request<'_>]) -> Vec<Result<Vec<f64>, String>> {
        let run = Run::new(self.in_flight, self.deadline);
        let whole =
            |(request, r): (usize, &Request<'_>)| Job { request, first: 0, end: r.questions.len() };
        let jobs: Vec<Job> = requests.iter().enumerate().map(whole).collect();
        let empty = |r: &Request<'_>| Ok(vec![f64::NAN; r.questions.len()]);
        let answers: Mutex<Vec<Result<Vec<f64>, String>>> =
            Mutex::new(requests.iter().map(empty).collect());
        let work = |job: &Job| self.client.ask(&run, &ask(&requests[job.request], job));
        pool::run(self.in_flight.min(jobs.len().max(1)), jobs, work, |job, result| {
            let half = job.first + (job.end - job.first) / PAIR / 2 * PAIR;
            let error = match result {
                Ok(answer) => match fill(&requests[job.request], &job, &answer.yes, &answers) {
                    Ok(()) => return Vec::new(),
                    Err(error) => error,
                },
                Err(error) if error.reach() == Reach::Size && half > job.first => {
                    return vec![Job { end: half, ..job }, Job { first: half, ..job }];
                }
                Err(error) => error,
            };
            // One failed part makes the whole answer unusable: nothing partial is applied.
            run.stop();
            if let Ok(mut answers) = answers.lock() {
                answers[job.request] = Err(error.to_string());
            }
            Vec::new()
        });
        answers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn ask(request: &Request<'_>, job: &Job) -> Ask {
    let questions = request.questions[job.first..job.end].iter().map(|question| {
        let (yes, no) = question.criteria.unzip();
        let question_about = Question::YesNo {
            instructions: question.statement.clone(),
            yes: yes.map(str::to_owned),
            no: no.map(str::to_owned),
        };
        (question.key.clone(), question_about)
    });
    Ask { state: State::Json(request.state.to_owned()), questions: questions.collect() }
}

/// Puts the answers of a part into their places.
fn fill(
    request: &Request<'_>,
    job: &Job,
    yes: &Probabilities,
    answers: &Mutex<Vec<Result<Vec<f64>, String>>>,
) -> Result<(), Error> {
    let mut answers = answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let Ok(scores) = &mut answers[job.request] else { return Ok(()) };
    for (index, question) in request.questions[job.first..job.end].iter().enumerate() {
        let missing = || Error::Failed(format!("no answer for {}", question.key));
        scores[job.first + index] = *yes.get(&question.key).ok_or_else(missing)?;
    }
    Ok(())
}
