//! Asking a decision model about calls whose decision is not yet fixed. The client is behind a trait of one method.

use super::model_context::{FitOptions, Render, fit};
use super::question::{CallQuestion, Wording, about, batches, room_for_state};
use crate::core::compact::pair::{Pair, Pairing};
use crate::core::compact::plan::{Decision, Scores};
use crate::core::compact::transcript::Transcript;
use crate::core::rerank::tokens;

/// Answers requests with a probability for each question, in order; a request that failed says why. Concurrency, retries,
/// deadlines and splitting of requests that are too large are the client's affair.
pub trait Judge {
    /// Answers for each request.
    fn ask(&self, requests: &[CallRequest<'_>]) -> Vec<Result<Vec<f64>, String>>;
}

/// A request: the state and some of the questions about it.
#[derive(Debug, Clone, Copy)]
pub struct CallRequest<'r> {
    /// The state as JSON.
    pub state: &'r str,
    /// The questions.
    pub questions: &'r [CallQuestion],
}

/// What is asked, and within which limits.
#[derive(Debug, Clone, Copy)]
pub struct JudgeOptions<'o> {
    /// Whose questions.
    pub wording: Wording,
    /// Ceiling of the state, in estimated tokens.
    pub max_state_tokens: usize,
    /// Ceiling of a request, in estimated tokens.
    pub max_request_tokens: usize,
    /// Newest messages that stay legible in the state.
    pub recent_messages: usize,
    /// The goal; found in the transcript when absent.
    pub goal: Option<&'o str>,
}

/// The answers of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answers {
    /// For each pair; `None` where nothing was asked.
    pub scores: Vec<Option<Scores>>,
    /// The stage of the ladder that made the state fit.
    pub stage: &'static str,
    /// Size of the state, in estimated tokens.
    pub state_tokens: usize,
    /// How many requests were made.
    pub requests: usize,
}

/// Asks about every pair without a fixed decision. If there is none, nothing is asked.
///
/// # Errors
/// The conversation does not fit, a request failed, or an answer is no probability; nothing partial is used.
pub fn ask(
    transcript: &Transcript<'_>,
    pairing: &Pairing<'_, '_>,
    fixed_decisions: &[Option<Decision>],
    options: &JudgeOptions<'_>,
    render: Render,
    asker: &dyn Judge,
) -> Result<Answers, String> {
    let open: Vec<usize> =
        (0..pairing.pairs.len()).filter(|&i| fixed_decisions[i].is_none()).collect();
    let mut scores = vec![None; pairing.pairs.len()];
    if open.is_empty() {
        return Ok(Answers { scores, stage: "", state_tokens: 0, requests: 0 });
    }
    let questions_about = |&i: &usize| about(&pairing.pairs[i], options.wording);
    let asked: Vec<[CallQuestion; 2]> = open.iter().map(questions_about).collect();
    let room = room_for_state(&asked, options.max_request_tokens);
    let fit_options = FitOptions {
        max_tokens: options.max_state_tokens.min(room),
        recent_messages: options.recent_messages,
        goal: options.goal,
        with_excerpts: options.wording == Wording::Criteria,
    };
    let fitted = fit(transcript, pairing, fit_options, render).map_err(|e| e.to_string())?;
    let state = (render.state)(&fitted.state);
    let ranges = batches(&asked, fitted.tokens, options.max_request_tokens);
    let questions = asked.as_flattened();
    let requests: Vec<CallRequest<'_>> = ranges
        .iter()
        .map(|range| CallRequest {
            state: &state,
            questions: &questions[2 * range.start..2 * range.end],
        })
        .collect();
    let answers = asker.ask(&requests);
    if answers.len() != requests.len() {
        return Err(format!("{} requests, but {} answers", requests.len(), answers.len()));
    }
    let mut open = open.into_iter();
    for (request, answer) in requests.iter().zip(answers) {
        for pair in checked(request, answer?)?.chunks_exact(2) {
            if let Some(i) = open.next() {
                scores[i] = Some(Scores { call: pair[0], result: pair[1] });
            }
        }
    }
    let (stage, state_tokens) = (fitted.stage, fitted.tokens);
    Ok(Answers { scores, stage, state_tokens, requests: requests.len() })
}

/// One finite probability for each question.
fn checked(request: &CallRequest<'_>, answers: Vec<f64>) -> Result<Vec<f64>, String> {
    if answers.len() != request.questions.len() {
        return Err(format!(
            "{} questions, but {} answers",
            request.questions.len(),
            answers.len()
        ));
    }
    let wrong = answers.iter().position(|answer| !(0.0..=1.0).contains(answer));
    match wrong {
        Some(i) => Err(format!("invalid answer for {}", request.questions[i].key)),
        None => Ok(answers),
    }
}

/// Estimated tokens of a request, for limits of clients.
#[must_use]
pub fn request_tokens(request: &CallRequest<'_>) -> usize {
    let questions: usize = request.questions.iter().map(CallQuestion::tokens).sum();
    tokens::tokens(request.state) + questions
}

/// Whether a pair may go together with its result: never the record of a change.
#[must_use]
pub fn may_drop(pair: &Pair<'_, '_>) -> bool {
    !crate::core::compact::plan::is_tool(pair, &["Edit", "Write", "MultiEdit", "NotebookEdit"])
}
