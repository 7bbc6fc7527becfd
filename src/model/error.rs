//! Errors of a model request; each variant is a decision for the caller.

use std::fmt;

/// Why there is no answer. The texts can be shown and never contain a key or a part of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelError {
    /// A variable is missing or wrong; nothing was sent. Names the variable and the remedy.
    Setting(String),
    /// The service refuses: key, credits, model, policy, or a request that it cannot read. No other
    /// request will succeed.
    Refused(String),
    /// Even a harmless request is rejected before it reaches the service: a firewall or a proxy
    /// blocks it.
    Blocked(String),
    /// Nothing answers at this address.
    Unreachable(String),
    /// The request is larger than the model's window: ask about less.
    TooLarge(String),
    /// A firewall rejected this text; other texts may pass.
    Rejected(String),
    /// This request got no usable answer, even with retries; others may.
    Failed(String),
    /// The deadline has passed, or another request has ended the run.
    OutOfTime,
    /// The budget of input tokens is spent: no new run starts.
    BudgetSpent {
        /// Input tokens reported so far.
        spent: u64,
        /// The allowed number.
        budget: u64,
    },
    /// Every batch of a run failed, so there is no ranking. Holds the first error.
    NothingScored {
        /// Batches that failed.
        batches: usize,
        /// The error of the first one.
        reason: String,
    },
}

/// The scope of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorScope {
    /// The whole run ends.
    Run,
    /// This request alone; its files score zero and are reported.
    Request,
    /// This request as it is; its halves may succeed.
    Size,
}

impl ModelError {
    /// The scope of the error.
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
