//! Where words and identifiers start and end, for 64 bytes of a text at a time.
//!
//! A text and a place in it in, masks out: bit k stands for byte k of the block. Agrees with [`super::tokenize`], which
//! says byte by byte what a word is.

/// Bytes looked at together: one bit each in a `u64`.
pub(crate) const BLOCK_BYTES: usize = 64;

/// A block with one byte of context on each side.
type Window = [u8; BLOCK_BYTES + 2];

/// Where words and identifiers start in a block.
pub(crate) struct BlockStarts {
    pub(crate) words: u64,
    /// Identifier characters other than digits after anything but an identifier character, or after a digit.
    pub(crate) identifiers: u64,
}

/// Where words (as of [`super::tokenize::words`]) and identifiers start in the block at `start`.
pub(crate) fn block_starts(text: &[u8], start: usize) -> BlockStarts {
    let mut padded = [0; BLOCK_BYTES + 2];
    let window = window(text, start, &mut padded);
    let mut words = [0; BLOCK_BYTES];
    let mut identifiers = [0; BLOCK_BYTES];
    // Plain arithmetic on bytes, without branches: the compiler makes it 16 bytes at a time.
    for k in 0..BLOCK_BYTES {
        let (before, here, after) = (window[k], window[k + 1], window[k + 2]);
        words[k] = u8::from(starts_word(before, here, after));
        let names = is_lower(here) | is_upper(here) | (here == b'_');
        let named = is_lower(before) | is_upper(before) | (before == b'_');
        identifiers[k] = u8::from(names & !named);
    }
    BlockStarts { words: mask(&words), identifiers: mask(&identifiers) }
}

/// Where words and runs of identifier characters start and end in a block; an end is the first byte behind.
pub(crate) struct BlockEdges {
    pub(crate) word_starts: u64,
    pub(crate) word_ends: u64,
    pub(crate) run_starts: u64,
    pub(crate) run_ends: u64,
}

/// The edges in the block at `start`, which may lie at the end of the text.
pub(crate) fn block_edges(text: &[u8], start: usize) -> BlockEdges {
    let mut padded = [0; BLOCK_BYTES + 2];
    let window = window(text, start, &mut padded);
    let mut starts = [0; BLOCK_BYTES];
    let mut words = [0; BLOCK_BYTES];
    let mut runs = [0; BLOCK_BYTES];
    for k in 0..BLOCK_BYTES {
        let (before, here, after) = (window[k], window[k + 1], window[k + 2]);
        starts[k] = u8::from(starts_word(before, here, after));
        words[k] = u8::from(is_in_word(here));
        runs[k] = u8::from(is_in_word(here) | (here == b'_'));
    }
    let (word_starts, words, runs) = (mask(&starts), mask(&words), mask(&runs));
    let after_word = words << 1 | u64::from(is_in_word(window[0]));
    let after_run = runs << 1 | u64::from(is_in_word(window[0]) | (window[0] == b'_'));
    BlockEdges {
        word_starts,
        word_ends: after_word & (!words | word_starts),
        run_starts: runs & !after_run,
        run_ends: after_run & !runs,
    }
}

/// The block at `start` with its context; where the text ends, in `padded` with zeros, which separate.
#[inline]
fn window<'a>(text: &'a [u8], start: usize, padded: &'a mut Window) -> &'a Window {
    let inside = start.checked_sub(1).and_then(|from| text.get(from..)?.first_chunk());
    if let Some(inside) = inside {
        return inside;
    }
    let from = start.saturating_sub(1);
    let rest = &text[from..text.len().min(start + BLOCK_BYTES + 1)];
    let offset = usize::from(start == 0);
    padded[offset..offset + rest.len()].copy_from_slice(rest);
    padded
}

#[inline]
fn starts_word(before: u8, here: u8, after: u8) -> bool {
    let starts_number = is_digit(here) & !is_digit(before);
    let starts_lower = is_lower(here) & !is_lower(before) & !is_upper(before);
    let starts_upper = is_upper(here) & (!is_upper(before) | is_lower(after));
    starts_number | starts_lower | starts_upper
}

#[inline]
fn is_in_word(byte: u8) -> bool {
    // Bit 5 makes letters lower-case, and no other byte a letter.
    is_lower(byte | 0x20) | is_digit(byte)
}

#[inline]
pub(crate) fn is_lower(byte: u8) -> bool {
    byte.wrapping_sub(b'a') < 26
}

#[inline]
pub(crate) fn is_upper(byte: u8) -> bool {
    byte.wrapping_sub(b'A') < 26
}

#[inline]
fn is_digit(byte: u8) -> bool {
    byte.wrapping_sub(b'0') < 10
}

/// Bytes of 0 and 1 as bits. The factor moves bit 0 of byte k to bit 56 + k.
#[inline]
fn mask(bytes: &[u8; BLOCK_BYTES]) -> u64 {
    let (eights, _) = bytes.as_chunks::<8>();
    let eight =
        |chunk: &[u8; 8]| u64::from_le_bytes(*chunk).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    eights.iter().rev().fold(0, |mask, chunk| mask << 8 | eight(chunk))
}

/// The numbers of the bits set, ascending.
#[inline]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (bit < 64).then_some(bit)
    })
}
