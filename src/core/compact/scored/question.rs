//! The questions about calls, and how they are put into requests.

use crate::core::compact::pair::Pair;
use crate::core::rerank::tokens::tokens;

/// What the model is told about the state; the seed's wording.
pub const CONTEXT: &str = "A coding assistant conversation is being compacted to free context. `history` is the whole \
conversation so far, oldest first; tool outputs are replaced by a short `result` note and long texts may be abridged. Each \
question asks whether one tool call, or the full output of that call, still needs to stay in the history verbatim. Whatever \
is not kept is deleted permanently, but the assistant can always re-run a tool or re-read a file.";

/// Tokens that the envelope of a request adds: the seed's allowance.
const REQUEST_OVERHEAD: usize = 20;
/// Tokens that a question adds to its text: key, type and quotes.
const QUESTION_OVERHEAD: usize = 12;

/// A question that is answered with a probability.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallQuestion {
    /// `call_t3` or `result_t3`.
    pub key: String,
    /// The statement.
    pub statement: String,
    /// What true and false mean, where the statement alone leaves it open.
    pub criteria: Option<(&'static str, &'static str)>,
}

/// Whose wording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wording {
    /// The seed's, without criteria.
    Seed,
    /// Ours: what the seed's users measured to rank better, with criteria.
    Criteria,
}

/// The two questions about a call: whether it, and whether its full result, must stay.
#[must_use]
pub fn about(pair: &Pair<'_, '_>, wording: Wording) -> [CallQuestion; 2] {
    let (id, tool) = (format!("t{}", pair.number), &pair.call.tool);
    let chars = pair.result.chars;
    let (call, result, criteria) = match wording {
        Wording::Seed => (
            format!(
                "Tool call {id} ({tool}) should stay in the history: knowing this call was made, with its input, \
                 still matters for what the assistant does next"
            ),
            format!(
                "The full output of tool call {id} ({tool}, {chars} chars) should stay in the history verbatim: the \
                 assistant still needs its contents and re-running the tool would not do"
            ),
            [None, None],
        ),
        Wording::Criteria => (
            format!(
                "What the assistant does next still depends on tool call {id} ({tool}) having been made"
            ),
            format!(
                "The assistant is likely to need the exact contents of the output of {id} ({tool}, {chars} chars) again"
            ),
            [
                Some((
                    "the call records a change, a decision or a fact that later work builds on",
                    "the call was a search or a look around whose outcome is known or no longer matters",
                )),
                Some((
                    "it shows code that is being edited, an error that is not solved, or data that stands nowhere else",
                    "it was acted upon already, stands again later in the history, or does not concern the goal",
                )),
            ],
        ),
    };
    let [of_call, of_result] = criteria;
    [
        CallQuestion { key: format!("call_{id}"), statement: call, criteria: of_call },
        CallQuestion { key: format!("result_{id}"), statement: result, criteria: of_result },
    ]
}

impl CallQuestion {
    /// Its size in a request, in estimated tokens.
    #[must_use]
    pub fn tokens(&self) -> usize {
        let criteria = self.criteria.map_or(0, |(yes, no)| tokens(yes) + tokens(no));
        tokens(&self.key) + tokens(&self.statement) + criteria + QUESTION_OVERHEAD
    }
}

/// What is left of a request for the state when the largest pair of questions must fit beside it.
#[must_use]
pub fn room_for_state(asked: &[[CallQuestion; 2]], max_request_tokens: usize) -> usize {
    let largest = asked.iter().map(of_pair).max().unwrap_or(0);
    max_request_tokens.saturating_sub(REQUEST_OVERHEAD + largest)
}

fn of_pair(pair: &[CallQuestion; 2]) -> usize {
    pair.iter().map(CallQuestion::tokens).sum()
}

/// Splits the pairs of questions into requests that each carry the whole state; ranges of indices. O(questions).
#[must_use]
pub fn batches(
    asked: &[[CallQuestion; 2]],
    state_tokens: usize,
    max_request_tokens: usize,
) -> Vec<std::ops::Range<usize>> {
    let budget = max_request_tokens.saturating_sub(state_tokens + REQUEST_OVERHEAD);
    let mut batches = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (index, pair) in asked.iter().enumerate() {
        let tokens = of_pair(pair);
        if index > start && size + tokens > budget {
            batches.push(start..index);
            (start, size) = (index, 0);
        }
        size += tokens;
    }
    if start < asked.len() {
        batches.push(start..asked.len());
    }
    batches
}
