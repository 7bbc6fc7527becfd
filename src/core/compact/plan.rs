//! The plan: for every paired call, what becomes of it and why. Plain data, made by the policies, read by `apply`.

use super::line::names_failure;
use super::pair::Pair;
use super::transcript::char_count;
use crate::core::text::lines::lines;

/// What becomes of every pair of a transcript; parallel to `Pairing::pairs`.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One decision for each pair.
    pub decisions: Vec<Decision>,
}

/// What becomes of one call and its result, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// What becomes of it.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// What a model answered, when one was asked.
    pub scores: Option<Scores>,
    /// Arguments of the call that a note takes the place of, by index.
    pub stubs: Vec<usize>,
}

/// What becomes of a call and its result.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Both stay as they are.
    Keep,
    /// The call stays; of the result only these lines, in order.
    Excerpt(Vec<Kept>),
    /// Both go.
    DropCall,
}

/// A line that stays, or the first characters of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Index of the line in the result.
    pub line: usize,
    /// How many of its characters stay.
    pub chars: usize,
}

/// Two probabilities in [0, 1]: that the call, and that the full result, is needed later.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// That the call is needed.
    pub call: f64,
    /// That the whole result is needed.
    pub result: f64,
}

/// Why a decision was taken. `name` is what tables, logs and notes print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Among the newest calls or messages, in the first message, or beside a call that is still running.
    Recent,
    /// A tool whose results hold what nobody can get again: questions to the person, plans, subagents, memory.
    Protected,
    /// Holds an image or another part that text cannot carry.
    Opaque,
    /// Was cut by an earlier compaction.
    AlreadyPruned,
    /// Nothing asked for its removal.
    Whole,
    /// A later read of the file covers these lines.
    Superseded,
    /// The same text comes again later.
    Duplicate,
    /// The same command or search ran again later.
    RunAgain,
    /// Boilerplate of a call that says itself what it changed.
    Notice,
    /// An error; the tool soon succeeded on the same file.
    Retried,
    /// The line selector chose.
    Selected,
    /// A model's answers decided.
    Scored,
}

impl Reason {
    /// The word for tables and logs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Recent => "recent",
            Reason::Protected => "protected",
            Reason::Opaque => "opaque",
            Reason::AlreadyPruned => "tombstone",
            Reason::Whole => "whole",
            Reason::Superseded => "superseded",
            Reason::Duplicate => "duplicate",
            Reason::RunAgain => "run again",
            Reason::Notice => "notice",
            Reason::Retried => "retried",
            Reason::Selected => "selected",
            Reason::Scored => "scored",
        }
    }
}

impl Plan {
    /// The plan that keeps everything.
    #[must_use]
    pub fn keep_all(calls: usize) -> Plan {
        Plan { decisions: vec![Decision::keep(Reason::Whole); calls] }
    }
}

impl Decision {
    /// Keeps a pair for a reason.
    #[must_use]
    pub fn keep(reason: Reason) -> Decision {
        Decision { outcome: Outcome::Keep, reason, scores: None, stubs: Vec::new() }
    }

    /// Keeps some lines of a result.
    #[must_use]
    pub fn excerpt(kept: Vec<Kept>, reason: Reason) -> Decision {
        Decision { outcome: Outcome::Excerpt(kept), ..Decision::keep(reason) }
    }

    /// Whether anything changes.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.outcome != Outcome::Keep || !self.stubs.is_empty()
    }
}

/// The first characters of a text as kept lines; the last of them may be cut short. O(limit).
#[must_use]
pub fn head(text: &str, limit_chars: usize) -> Vec<Kept> {
    let mut start = 0;
    let mut kept = Vec::new();
    for (line, content) in lines(text).enumerate() {
        if start >= limit_chars {
            break;
        }
        let chars = char_count(content);
        kept.push(Kept { line, chars: chars.min(limit_chars - start) });
        start += chars + 1;
    }
    kept
}

/// Whether a result reports a failure: by its flag, or by its words where a command wrote it.
#[must_use]
pub fn reports_failure(pair: &Pair<'_, '_>) -> bool {
    pair.result.is_error
        || (is_tool(pair, &["Bash", "bash"]) && lines(&pair.result.text).any(names_failure))
}

/// Whether the call's tool has one of these names.
#[must_use]
pub fn is_tool(pair: &Pair<'_, '_>, names: &[&str]) -> bool {
    names.iter().any(|name| pair.call.tool == *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_a_prefix_counted_in_characters() {
        let kept = |pairs: &[(usize, usize)]| {
            pairs.iter().map(|&(line, chars)| Kept { line, chars }).collect::<Vec<_>>()
        };
        assert_eq!(head("abc\ndéf\nghi", 6), kept(&[(0, 3), (1, 2)]));
        assert_eq!(head("abc\ndef", 4), kept(&[(0, 3)]));
        assert_eq!(head("abc", 0), kept(&[]));
    }
}
