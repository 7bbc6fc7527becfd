//! What can go wrong when a model is asked; each variant is a decision for the caller.

use std::fmt;

/// Why there is no answer. Texts are ready to be shown and never hold a key or a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// A variable is missing or wrong: nothing was sent. Names the variable and the remedy.
    Setting(String),
    /// The service refuses us: key, credits, model, policy, or a request it cannot read. No other request will do better.
    Refused(String),
    /// Even a harmless request is turned away before it reaches the service: a firewall or a proxy is in the way.
    Blocked(String),
    /// Nothing answers there.
    Unreachable(String),
    /// The request holds more than the model reads: ask about less.
    TooLarge(String),
    /// A firewall turned this text away: other texts may pass.
    Rejected(String),
    /// This request has no usable answer, retries included; others may.
    Failed(String),
    /// The deadline has passed, or another request has ended the run.
    OutOfTime,
    /// The budget of input tokens is used up: no new run is started.
    BudgetSpent {
        /// Input tokens reported so far.
        spent: u64,
        /// What was allowed.
        budget: u64,
    },
    /// Every batch of a run failed, so there is no ranking; the first reason.
    NothingScored {
        /// Batches that failed.
        batches: usize,
        /// Why the first one did.
        reason: String,
    },
}

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorScope {
    /// The whole run ends.
    Run,
    /// This request alone; its files score zero and are reported.
    Request,
    /// This request as it is; its halves may do better.
    Size,
}

impl ModelError {
    /// How far the error reaches.
    #[must_use]
    pub fn reach(&self) -> ErrorScope {
        match self {
            ModelError::TooLarge(_) | ModelError::Rejected(_) => ErrorScope::Size,
            ModelError::Failed(_) | ModelError::OutOfTime => ErrorScope::Request,
            _ => ErrorScope::Run,
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelError::Setting(text)
            | ModelError::Refused(text)
            | ModelError::Blocked(text)
            | ModelError::Unreachable(text)
            | ModelError::TooLarge(text)
            | ModelError::Rejected(text)
            | ModelError::Failed(text) => f.write_str(text),
            ModelError::OutOfTime => {
                f.write_str("the deadline passed before the model had answered")
            }
            ModelError::BudgetSpent { spent, budget } => write!(
                f,
                "the token budget is spent: {spent} of {budget} input tokens; raise CONTEXT_PACKER_TOKEN_BUDGET or start anew"
            ),
            ModelError::NothingScored { batches, reason } => {
                write!(f, "all {batches} requests to the model failed; the first: {reason}")
            }
        }
    }
}

impl std::error::Error for ModelError {}
