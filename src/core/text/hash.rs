//! Fast hashes: for maps keyed by words of a prompt, a project or a transcript, and of bytes for
//! the index.
//!
//! Maps use the multiply-and-rotate hash of the Rust compiler. Keys come from local files, so
//! whoever could choose collisions would slow down only themselves. The default hasher took a third
//! of the line selector's time.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hash, Hasher};

pub(crate) type FxMap<K, V> = HashMap<K, V, BuildHasherDefault<FxHasher>>;
pub(crate) type FxSet<K> = HashSet<K, BuildHasherDefault<FxHasher>>;

/// The hash of a value.
pub(crate) fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

/// See the module documentation.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct FxHasher(u64);

/// The multiplier of rustc-hash 1.x.
const FX_MULTIPLIER: u64 = 0x51_7c_c1_b7_27_22_0a_95;

/// That of rustc-hash 2.x.
const FINISH_ROTATION: u32 = 26;

impl FxHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(FX_MULTIPLIER);
    }
}

impl Hasher for FxHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.add(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.add(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    #[inline]
    fn write_u32(&mut self, word: u32) {
        self.add(u64::from(word));
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.add(word);
    }

    #[inline]
    fn write_usize(&mut self, word: usize) {
        self.add(word as u64);
    }

    /// The low bits select the slot in a map, but only the high bits of a product depend on all
    /// bits of its factors.
    fn finish(&self) -> u64 {
        self.0.rotate_left(FINISH_ROTATION)
    }
}

/// Odd constants with about as many ones as zeros: the fractional bits of √2, √3 and √5.
const K: [u64; 3] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b, 0x3c6e_f372_fe94_f82b];

/// A 64-bit hash of bytes by folded multiplication, as in wyhash. It guards against accidents, not
/// attackers.
pub(crate) fn folded(seed: u64, bytes: &[u8]) -> u64 {
    // The length goes first: it must change more than a few bits of what is folded next.
    let mut state = fold(seed ^ K[0], bytes.len() as u64 ^ K[1]);
    for word in bytes.as_chunks::<8>().0 {
        state = fold(state ^ u64::from_le_bytes(*word), K[1]);
    }
    // The last eight bytes, some of them a second time.
    let last = bytes.last_chunk().copied().unwrap_or_else(|| {
        let mut all = [0; 8];
        all[..bytes.len()].copy_from_slice(bytes);
        all
    });
    fold(state ^ u64::from_le_bytes(last), K[2])
}

/// A hash of sixteen bytes in one step; differs from [`folded`].
#[inline]
pub(crate) fn folded_once(bytes: u128) -> u64 {
    fold(bytes as u64 ^ K[0], (bytes >> 64) as u64 ^ K[1])
}

/// Every input bit affects every output bit.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
