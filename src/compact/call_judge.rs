//! The decision model as a judge of calls: translates requests and questions into the model's
//! terms.

use crate::core::compact::scored::ask::{CallRequest, Judge};
use crate::core::rerank::request::{ModelRequest, Question, RequestState};
use crate::model::run::{Deadline, Run};
use crate::model::{Client, batch};

/// A client that answers questions about calls.
pub struct CallJudge<'c> {
    /// The client.
    pub client: &'c Client,
    /// Requests at once.
    pub in_flight: usize,
    /// The deadline.
    pub deadline: Deadline,
}

impl Judge for CallJudge<'_> {
    fn ask(&self, requests: &[CallRequest<'_>]) -> Vec<Result<Vec<f64>, String>> {
        let run = Run::new(self.in_flight, self.deadline.clone());
        let answers = batch::ask_all(self.client, &run, requests.iter().map(ask).collect());
        answers.into_iter().map(|answer| answer.map_err(|error| error.to_string())).collect()
    }
}

fn ask(request: &CallRequest<'_>) -> ModelRequest {
    let questions = request.questions.iter().map(|question| {
        let (yes, no) = question.criteria.unzip();
        let about = Question::YesNo {
            instructions: question.statement.clone(),
            yes: yes.map(str::to_owned),
            no: no.map(str::to_owned),
        };
        (question.key.clone(), about)
    });
    ModelRequest {
        state: RequestState::Json(request.state.to_owned()),
        questions: questions.collect(),
    }
}
