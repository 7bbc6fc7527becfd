//! The numbers of the line selector, in one place.

/// What the line selector weighs. All of it is plain arithmetic; `select` says how the numbers combine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineWeights {
    /// Prior of every line.
    pub prior: f64,
    /// Added prior of a result that was just seen.
    pub recency: f64,
    /// After so many calls that is down to 1/e.
    pub recency_decay_calls: f64,
    /// Added prior of a result about a file that a call has just named.
    pub file_recency: f64,
    /// Added prior of the start of a result.
    pub head: f64,
    /// After so many characters that is down to 1/e.
    pub head_decay_chars: f64,
    /// Worth of every line.
    pub base: f64,
    /// Worth of a line with a token that was just used.
    pub used: f64,
    /// After so many calls that is down to 1/e.
    pub used_decay_calls: f64,
    /// Tokens in more lines than this say nothing.
    pub used_max_lines: u32,
    /// Share of that worth that goes to the lines near by.
    pub near: f64,
    /// How many lines are near by, on either side.
    pub near_lines: usize,
    /// Worth of a line that opens a definition.
    pub definition: f64,
    /// Worth of a line of a command's output that names a failure.
    pub failure: f64,
    /// Factor of the worth of a line that stands word for word in what is kept.
    pub repeated: f64,
    /// Factor of lines that are neither of a file nor of a report: of commands and searches.
    pub other_tools: f64,
    /// Worth of a new token that is a path; a name is worth 1.
    pub path: f64,
    /// Worth of one that is a hash.
    pub hash: f64,
    /// A token in *n* lines is worth 1 + this × ln *n* as much.
    pub frequent: f64,
    /// At most so many new tokens of a line count.
    pub max_new_tokens: usize,
    /// Factor for each kept line close by, at most twice.
    pub contiguity: f64,
    /// How many lines are close by, on either side.
    pub close_lines: usize,
    /// Characters added to a line's length before its value is divided by it.
    pub overhead_chars: f64,
    /// Characters that count there, too, for each gap that keeping the line opens; one that it closes counts against them.
    pub break_chars: usize,
    /// A result that keeps this share of its lines or more stays whole.
    pub whole_share: f64,
}

impl LineWeights {
    /// The published baseline of the ruler: `bench` compares with it.
    pub const REFERENCE: LineWeights = LineWeights {
        prior: 0.3,
        recency: 3.0,
        recency_decay_calls: 50.0,
        file_recency: 0.7,
        head: 1.0,
        head_decay_chars: 1500.0,
        base: 0.15,
        used: 1.0,
        used_decay_calls: 100.0,
        used_max_lines: 60,
        near: 0.7,
        near_lines: 4,
        definition: 0.3,
        failure: 0.5,
        repeated: 1.0,
        other_tools: 1.0,
        path: 1.0,
        hash: 1.0,
        frequent: 0.0,
        max_new_tokens: 3,
        contiguity: 1.6,
        close_lines: 2,
        overhead_chars: 12.0,
        break_chars: 0,
        whole_share: 0.95,
    };

    /// What the policy `local` uses: the reference, corrected by how often a line or a token of each kind was needed later in
    /// the dev split and in 88 sessions of three sister projects, per character. A line that is kept elsewhere was never
    /// needed; lines of files were needed two to ten times as often as those of commands, the start of a result no more often
    /// than the rest; tokens of one line in 1.3 % of cases, of five to nine in 3 %, of twenty in 5 %; paths and hashes half and
    /// a quarter as often as names. Definitions need no weight: their new tokens have it.
    ///
    /// Near by and close by are 6 and 8 lines, about half a function each way, and a break counts 25 characters though its gap
    /// line takes half of that: at 48 % 4 points more of identifiers, edit lines and quotes together on the dev split and 5 in
    /// the sister projects than with 4 and 3 lines and the length of the notes before. 5 to 8 lines and a factor of 1.4 to 1.5
    /// do about the same.
    pub const DEFAULT: LineWeights = LineWeights {
        head: 0.3,
        definition: 0.0,
        repeated: 0.2,
        other_tools: 0.4,
        path: 0.5,
        hash: 0.25,
        frequent: 0.5,
        near_lines: 6,
        contiguity: 1.4,
        close_lines: 8,
        break_chars: 25,
        whole_share: 1.0,
        ..LineWeights::REFERENCE
    };
}
