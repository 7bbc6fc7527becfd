//! The lines of a text, found 64 bytes at a time: every byte of a transcript goes through here, and
//! one search per short line would cost more.
//!
//! There is always at least one line; line feeds belong to none.

use std::ops::Range;

use super::blocks::{BLOCK_BYTES, bits, equal};

/// The positions of the lines of a text or of bytes.
pub(crate) fn ranges(text: &(impl AsRef<[u8]> + ?Sized)) -> impl Iterator<Item = Range<usize>> {
    let (bytes, mut start) = (text.as_ref(), 0);
    feeds(bytes).chain([bytes.len()]).map(move |end| {
        let range = start..end;
        start = end + 1;
        range
    })
}

/// The lines themselves.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    ranges(text).map(|range| &text[range])
}

/// The positions of the line feeds.
fn feeds(bytes: &[u8]) -> impl Iterator<Item = usize> {
    let (blocks, rest) = bytes.as_chunks();
    let mut last = [0; BLOCK_BYTES];
    last[..rest.len()].copy_from_slice(rest);
    let last = equal(&last, b'\n');
    let masks = blocks.iter().map(|block| equal(block, b'\n')).chain([last]);
    masks.enumerate().flat_map(|(k, mask)| bits(mask).map(move |bit| k * BLOCK_BYTES + bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_lines_are_those_of_a_split(text in "(?s)([a\n]|.){0,300}") {
            proptest::prop_assert!(lines(&text).eq(text.split('\n')));
        }
    }
}
