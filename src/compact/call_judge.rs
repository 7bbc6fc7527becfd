//! The decision model as the asker of the compaction: its requests and questions in the model's terms.

use crate::core::compact::scored::ask::{Asker, Request};
use crate::core::rerank::request::{Ask, Question, State};
use crate::model::run::{Deadline, Run};
use crate::model::{Client, batch};

/// A client that answers questions about calls.
pub struct CallAsker<'c> {
    /// The client.
    pub client: &'c Client,
    /// Requests at once.
    pub in_flight: usize,
    /// When to give up.
    pub deadline: Deadline,
}

impl Asker for CallAsker<'_> {
    fn ask(&self, requests: &[Request<'_>]) -> Vec<Result<Vec<f64>, String>> {
        let run = Run::new(self.in_flight, self.deadline.clone());
        let answers = batch::ask_all(self.client, &run, requests.iter().map(ask).collect());
        answers.into_iter().map(|answer| answer.map_err(|error| error.to_string())).collect()
    }
}

fn ask(request: &Request<'_>) -> Ask {
    let questions = request.questions.iter().map(|question| {
        let (yes, no) = question.criteria.unzip();
        let about = Question::YesNo {
            instructions: question.statement.clone(),
            yes: yes.map(str::to_owned),
            no: no.map(str::to_owned),
        };
        (question.key.clone(), about)
    });
    Ask { state: State::Json(request.state.to_owned()), questions: questions.collect() }
}
