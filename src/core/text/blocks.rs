//! Where words and identifiers start and end, for 64 bytes of a text at a time.
//!
//! A text and a position in, masks out: bit k stands for byte k of the block. Agrees with
//! [`super::tokenize`], which defines words byte by byte. Compares many bytes at once, without
//! branches.

use std::num::NonZeroU64;
use std::ops::Range;

use wide::u8x16;

/// Bytes examined together: one bit each in a `u64`.
pub(crate) const BLOCK_BYTES: usize = 64;

/// A block and the bytes after it that the first check of its last word needs.
pub(crate) type ByteWindow = [u8; BLOCK_BYTES + 4];

/// 64 bytes of a text with their neighbours.
pub(crate) struct Block<'t> {
    /// The byte before the block, 0 at the start of the text.
    before: u8,
    /// Zeros after the end of the text.
    window: &'t ByteWindow,
}

/// Where words and identifiers start in a block.
pub(crate) struct Starts {
    pub(crate) words: u64,
    /// Identifier characters other than digits that follow a digit or anything but an identifier
    /// character.
    pub(crate) identifiers: u64,
}

/// Where words start, and where runs of identifier characters start and end in a block; an end is
/// the first byte after a run.
pub(crate) struct Edges {
    pub(crate) word_starts: u64,
    pub(crate) run_starts: u64,
    pub(crate) run_ends: u64,
}

impl<'t> Block<'t> {
    /// The block at `start`, which may be at the end of the text; `padded` is a buffer to complete
    /// the last ones.
    #[inline]
    pub(crate) fn at(text: &'t [u8], start: usize, padded: &'t mut ByteWindow) -> Block<'t> {
        let before = start.checked_sub(1).map_or(0, |last| text[last]);
        let rest = &text[start..];
        let window = match rest.first_chunk() {
            Some(whole) => whole,
            None => {
                padded.fill(0);
                padded[..rest.len()].copy_from_slice(rest);
                padded
            }
        };
        Block { before, window }
    }

    /// Four bytes at a position in the block.
    #[inline]
    pub(crate) fn four_bytes(&self, bit: usize) -> [u8; 4] {
        let (at, bytes) = (bit % BLOCK_BYTES, self.window);
        [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
    }

    /// Where words (as of [`super::tokenize::words`]) and identifiers start.
    #[inline]
    pub(crate) fn starts(&self) -> Starts {
        let here = Classes::of_block(self.window);
        let before = here.before(self.before);
        let (letters, before_letters) = (here.letters(), before.letters());
        Starts {
            words: here.word_starts(&before, self.window[BLOCK_BYTES]),
            identifiers: (letters | here.underscore) & !(before_letters | before.underscore),
        }
    }

    /// Where words start, and where runs of identifier characters start and end.
    #[inline]
    pub(crate) fn edges(&self) -> Edges {
        let here = Classes::of_block(self.window);
        let before = here.before(self.before);
        let (runs, after_run) = (here.run(), before.run());
        Edges {
            word_starts: here.word_starts(&before, self.window[BLOCK_BYTES]),
            run_starts: runs & !after_run,
            run_ends: after_run & !runs,
        }
    }
}

/// Which bytes of a block are of which class: bit k stands for byte k.
#[derive(Default)]
struct Classes {
    lower: u64,
    upper: u64,
    digit: u64,
    underscore: u64,
}

impl Classes {
    #[inline]
    fn of_block(window: &ByteWindow) -> Classes {
        let (lanes, _behind) = window.as_chunks::<LANE_BYTES>();
        Classes::of_lanes(lanes)
    }

    #[inline]
    fn of_lanes(lanes: &[[u8; LANE_BYTES]]) -> Classes {
        Classes {
            lower: within(lanes, b'a', b'z'),
            upper: within(lanes, b'A', b'Z'),
            digit: within(lanes, b'0', b'9'),
            underscore: within(lanes, b'_', b'_'),
        }
    }

    /// The mask of the preceding bytes; `last` is the byte before the block.
    fn before(&self, last: u8) -> Classes {
        Classes {
            lower: self.lower << 1 | u64::from(is_lower(last)),
            upper: self.upper << 1 | u64::from(is_upper(last)),
            digit: self.digit << 1 | u64::from(last.is_ascii_digit()),
            underscore: self.underscore << 1 | u64::from(last == b'_'),
        }
    }

    fn letters(&self) -> u64 {
        self.lower | self.upper
    }

    fn run(&self) -> u64 {
        self.letters() | self.digit | self.underscore
    }

    /// The mask of a run that starts with the block and ends in it.
    #[inline]
    fn words(&self) -> Words {
        let before = self.before(0);
        let starts = self.word_starts(&before, 0);
        let (inside, after) = (self.letters() | self.digit, before.letters() | before.digit);
        Words { starts, ends: after & (!inside | starts), digits: self.digit }
    }

    /// `next` is the byte after the block.
    fn word_starts(&self, before: &Classes, next: u8) -> u64 {
        let before_lower = self.lower >> 1 | u64::from(is_lower(next)) << (BLOCK_BYTES - 1);
        let numbers = self.digit & !before.digit;
        let lower = self.lower & !before.letters();
        let upper = self.upper & (!before.upper | before_lower);
        numbers | lower | upper
    }
}

#[inline]
pub(crate) fn is_lower(byte: u8) -> bool {
    byte.wrapping_sub(b'a') < 26
}

#[inline]
pub(crate) fn is_upper(byte: u8) -> bool {
    byte.wrapping_sub(b'A') < 26
}

/// Bytes compared in one step: a vector register of every x86-64 and every 64-bit ARM.
pub(crate) const LANE_BYTES: usize = 16;

/// The words of a run of up to 64 identifier characters: bit k stands for byte k.
pub(crate) struct Words {
    starts: u64,
    /// First bytes after words, except for a word that ends with the block.
    ends: u64,
    digits: u64,
}

impl Words {
    /// Their positions in a run of this many bytes.
    #[inline]
    pub(crate) fn all(&self, length: usize) -> impl Iterator<Item = Range<usize>> {
        bits(self.starts).map(move |start| {
            let rest = (self.ends >> start >> 1).trailing_zeros() as usize;
            start..length.min(start + 1 + rest)
        })
    }

    /// Where the identifier starts, if it has at least two words.
    ///
    /// Digits before an identifier are a separate word, not part of it.
    #[inline]
    pub(crate) fn identifier(&self) -> Option<usize> {
        let n_digits = self.digits.trailing_ones();
        (self.starts.count_ones() - n_digits.min(1) > 1).then_some(n_digits as usize)
    }
}

/// The words of a run of up to 16 bytes followed by zeros, first byte lowest, and the run in lower
/// case.
#[inline]
pub(crate) fn words_of_lane(run: u128) -> (Words, u128) {
    let bytes = u8x16::new(run.to_le_bytes());
    let mask = |low: u8, high: u8| u64::from(is_within(bytes, low, high).to_bitmask());
    let classes = Classes {
        lower: mask(b'a', b'z'),
        upper: mask(b'A', b'Z'),
        digit: mask(b'0', b'9'),
        underscore: 0,
    };
    (classes.words(), u128::from_le_bytes(lower_case(bytes).to_array()))
}

/// The words of a run of up to 64 bytes followed by zeros; converts the run to lower case.
#[inline]
pub(crate) fn words_of_block(run: &mut [u8; BLOCK_BYTES]) -> Words {
    let (lanes, _none) = run.as_chunks_mut::<LANE_BYTES>();
    let words = Classes::of_lanes(lanes).words();
    for lane in lanes {
        *lane = lower_case(u8x16::new(*lane)).to_array();
    }
    words
}

/// Bit 5 distinguishes the cases of a letter.
#[inline]
fn lower_case(bytes: u8x16) -> u8x16 {
    bytes | is_within(bytes, b'A', b'Z') & u8x16::splat(0x20)
}

/// All bits of the bytes from `low` to `high`: shifted to start at zero, so one comparison is
/// enough.
#[inline]
fn is_within(bytes: u8x16, low: u8, high: u8) -> u8x16 {
    (bytes - u8x16::splat(low)).simd_lt(u8x16::splat(high - low + 1))
}

/// Which bytes of a block are from `low` to `high`.
#[inline]
fn within(lanes: &[[u8; LANE_BYTES]], low: u8, high: u8) -> u64 {
    let mask = |k: usize| u64::from(is_within(u8x16::new(lanes[k]), low, high).to_bitmask());
    mask(0) | mask(1) << 16 | mask(2) << 32 | mask(3) << 48
}

/// Which bytes of a block are `byte`.
#[inline]
pub(crate) fn equal(block: &[u8; BLOCK_BYTES], byte: u8) -> u64 {
    within(block.as_chunks::<LANE_BYTES>().0, byte, byte)
}

/// The numbers of the set bits, ascending.
#[inline]
pub(crate) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = NonZeroU64::new(mask)?.trailing_zeros();
        mask &= mask - 1;
        Some(bit as usize)
    })
}
