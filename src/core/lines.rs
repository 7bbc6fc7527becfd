//! The lines of a text, found by a vector search, which `split('\n')` is not: every byte of a transcript goes through here.
//!
//! There is always at least one; line feeds belong to none.

use std::ops::Range;

/// Where the lines are.
pub(crate) fn ranges(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]).map(move |end| {
        let range = start..end;
        start = end + 1;
        range
    })
}

/// The lines themselves.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    ranges(text).map(|range| &text[range])
}
