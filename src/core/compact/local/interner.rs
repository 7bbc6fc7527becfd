//! Numbers for tokens and lines: every distinctive token and every different line of a transcript gets a small integer, so
//! that sets are arrays.

use std::ops::Range;

use crate::core::compact::line::without_number;
use crate::core::compact::token::{TokenKind, each_token};
use crate::core::text::hash::FxMap;
use crate::core::text::lines::lines;

/// Characters for each different line: 59 in the median of 226 public sessions of 50,000 characters and more (entireio/cli).
const LINE_CHARS: usize = 64;
/// Room made ahead, in lines: 6 MB.
const MAX_ROOM: usize = 1 << 17;

/// The tokens met so far; ids are 0, 1, … in the order of first sight.
#[derive(Debug, Default)]
pub(super) struct Interner<'t> {
    ids: FxMap<&'t str, u32>,
    /// For each token, the number of the line that had it last.
    last_line: Vec<u32>,
    line: u32,
    /// By token: what it is.
    pub(super) kinds: Vec<TokenKind>,
    /// The different lines, without numbers and indentation.
    line_ids: FxMap<&'t str, u32>,
}

impl<'t> Interner<'t> {
    /// An empty one, with room for what so many characters mostly hold: maps that grow are built again and again.
    pub(super) fn of(chars: usize) -> Interner<'t> {
        let n_lines = (chars / LINE_CHARS).min(MAX_ROOM);
        let mut lexicon = Interner::default();
        lexicon.line_ids.reserve(n_lines);
        lexicon.ids.reserve(n_lines / 2);
        lexicon
    }

    fn id(&mut self, token: &'t str) -> u32 {
        let next = self.ids.len() as u32;
        let id = *self.ids.entry(token).or_insert(next);
        if id == next {
            self.last_line.push(0);
            self.kinds.push(TokenKind::of(token));
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

    /// Appends the lines of a text, each with its tokens but without those that it repeats; where they are.
    pub(super) fn read(
        &mut self,
        text: &'t str,
        is_result: bool,
        all: &mut Lines<'t>,
    ) -> Range<usize> {
        let first = all.len();
        for line in lines(text) {
            self.line += 1;
            let bare = if is_result { without_number(line) } else { line };
            each_token(bare, |token| {
                let id = self.id(token);
                if self.last_line[id as usize] != self.line {
                    self.last_line[id as usize] = self.line;
                    all.tokens.push(id);
                }
            });
            let next = self.line_ids.len() as u32;
            all.ids.push(*self.line_ids.entry(bare.trim_ascii()).or_insert(next));
            all.texts.push(line);
            all.ends.push(all.tokens.len() as u32);
        }
        first..all.len()
    }
}

/// Lines with their tokens.
#[derive(Debug, Default)]
pub(super) struct Lines<'t> {
    /// The lines, without line feeds.
    pub(super) texts: Vec<&'t str>,
    /// The number of each line: lines that differ only in their number and indentation have the same.
    pub(super) ids: Vec<u32>,
    /// For each line, how many tokens it and those before it have.
    ends: Vec<u32>,
    /// The tokens of all lines, in order.
    tokens: Vec<u32>,
}

impl Lines<'_> {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The distinct tokens of a line.
    pub(super) fn tokens_of(&self, line: usize) -> &[u32] {
        &self.tokens[self.tokens_before(line)..self.tokens_before(line + 1)]
    }

    /// The tokens from a line on.
    pub(super) fn tokens_from(&self, line: usize) -> &[u32] {
        &self.tokens[self.tokens_before(line)..]
    }

    /// Forgets the lines from one on.
    pub(super) fn truncate(&mut self, line: usize) {
        self.tokens.truncate(self.tokens_before(line));
        self.texts.truncate(line);
        self.ids.truncate(line);
        self.ends.truncate(line);
    }

    fn tokens_before(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |last| self.ends[last] as usize)
    }
}
