//! Where words and identifiers start and end, for 64 bytes of a text at a time.
//!
//! A text and a place in it in, masks out: bit k stands for byte k of the block. Agrees with [`super::tokenize`], which
//! says byte by byte what a word is. All of it is arithmetic on eight bytes at once, without branches.

/// Bytes looked at together: one bit each in a `u64`.
pub(crate) const BLOCK_BYTES: usize = 64;

/// Where words and identifiers start in a block.
pub(crate) struct BlockStarts {
    pub(crate) words: u64,
    /// Identifier characters other than digits after anything but an identifier character, or after a digit.
    pub(crate) identifiers: u64,
}

/// Where words (as of [`super::tokenize::words`]) and identifiers start in the block at `start`.
pub(crate) fn block_starts(text: &[u8], start: usize) -> BlockStarts {
    let here = Classes::of_block(&text[start..]);
    let before = here.before(text, start);
    BlockStarts {
        words: here.word_starts(&before, text, start),
        identifiers: (here.letters() | here.underscore) & !(before.letters() | before.underscore),
    }
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
    let here = Classes::of_block(&text[start..]);
    let before = here.before(text, start);
    let word_starts = here.word_starts(&before, text, start);
    let (words, after_word) = (here.letters() | here.digit, before.letters() | before.digit);
    let (runs, after_run) = (words | here.underscore, after_word | before.underscore);
    BlockEdges {
        word_starts,
        word_ends: after_word & (!words | word_starts),
        run_starts: runs & !after_run,
        run_ends: after_run & !runs,
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
    /// Of the first bytes of a text; what is missing to a whole block is of no class.
    fn of_block(text: &[u8]) -> Classes {
        let mut padded = [0; BLOCK_BYTES];
        let block: &[u8; BLOCK_BYTES] = match text.first_chunk() {
            Some(whole) => whole,
            None => {
                padded[..text.len()].copy_from_slice(text);
                &padded
            }
        };
        let mut classes = Classes::default();
        let (eights, _) = block.as_chunks::<8>();
        for (eight, chunk) in (0u32..).zip(eights) {
            let (bytes, at) = (u64::from_le_bytes(*chunk), 8 * eight);
            classes.lower |= bits_of(within(bytes, b'a', b'z')) << at;
            classes.upper |= bits_of(within(bytes, b'A', b'Z')) << at;
            classes.digit |= bits_of(within(bytes, b'0', b'9')) << at;
            classes.underscore |= bits_of(within(bytes, b'_', b'_')) << at;
        }
        classes
    }

    /// Of the bytes one before those of the block at `start`; before the text is nothing.
    fn before(&self, text: &[u8], start: usize) -> Classes {
        let last = start.checked_sub(1).map_or(0, |at| text[at]);
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

    fn word_starts(&self, before: &Classes, text: &[u8], start: usize) -> u64 {
        let next = text.get(start + BLOCK_BYTES).copied().unwrap_or(0);
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

/// The top bit of each byte.
const TOPS: u64 = 0x8080_8080_8080_8080;

/// Eight bytes at once: the top bit of each that is ASCII and from `low` to `high` (Hacker's Delight, 6-1).
#[inline]
fn within(bytes: u64, low: u8, high: u8) -> u64 {
    let repeat = |byte: u8| u64::from(byte) * 0x0101_0101_0101_0101;
    let seven = bytes & !TOPS;
    // Seven bits plus at most seven bits never carry into the next byte.
    let at_least = seven + repeat(0x80 - low);
    let beyond = seven + repeat(0x7f - high);
    at_least & !beyond & !bytes & TOPS
}

/// The top bits of eight bytes as eight bits. The factor moves bit 0 of byte k to bit 56 + k.
#[inline]
fn bits_of(tops: u64) -> u64 {
    (tops >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
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
