//! Numbers for tokens and lines: every distinctive token and every different line of a transcript gets a small integer, so
//! that sets are arrays.

use super::line::without_number;
use super::token::{Kind, each_token};
use crate::core::hash::FxMap;

/// The tokens met so far; ids are 0, 1, … in the order of first sight.
#[derive(Debug, Default)]
pub(super) struct Lexicon<'t> {
    ids: FxMap<&'t str, u32>,
    /// For each token, the number of the line that had it last.
    last_line: Vec<u32>,
    line: u32,
    /// By token: what it is.
    pub(super) kinds: Vec<Kind>,
    /// The different lines, without numbers and indentation.
    line_ids: FxMap<&'t str, u32>,
}

impl<'t> Lexicon<'t> {
    pub(super) fn id(&mut self, token: &'t str) -> u32 {
        let next = self.ids.len() as u32;
        let id = *self.ids.entry(token).or_insert(next);
        if id == next {
            self.last_line.push(0);
            self.kinds.push(Kind::of(token));
        }
        id
    }

    /// How many tokens there are; every id is below.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// How many different lines there are; every id is below.
    pub(super) fn line_count(&self) -> usize {
        self.line_ids.len()
    }

    /// The tokens of a text, line by line, without those that a line repeats.
    pub(super) fn lines(&mut self, text: &'t str, is_result: bool) -> Lines<'t> {
        let mut lines = Lines::default();
        for line in text.split('\n') {
            self.line += 1;
            let bare = if is_result { without_number(line) } else { line };
            each_token(bare, |token| {
                let id = self.id(token);
                if self.last_line[id as usize] != self.line {
                    self.last_line[id as usize] = self.line;
                    lines.tokens.push(id);
                }
            });
            let next = self.line_ids.len() as u32;
            lines.ids.push(*self.line_ids.entry(bare.trim()).or_insert(next));
            lines.lines.push(line);
            lines.ends.push(lines.tokens.len() as u32);
        }
        lines
    }
}

/// A text as lines with their tokens.
#[derive(Debug, Default)]
pub(super) struct Lines<'t> {
    /// The lines, without line feeds; at least one.
    pub(super) lines: Vec<&'t str>,
    /// The number of each line: lines that differ only in their number and indentation have the same.
    pub(super) ids: Vec<u32>,
    ends: Vec<u32>,
    /// The tokens of all lines, in order.
    pub(super) tokens: Vec<u32>,
}

impl Lines<'_> {
    /// The distinct tokens of a line.
    pub(super) fn tokens_of(&self, line: usize) -> &[u32] {
        let start = if line == 0 { 0 } else { self.ends[line - 1] };
        &self.tokens[start as usize..self.ends[line] as usize]
    }
}
