//! The smallest parts of the file format: checksums, numbers, path lists, the header.
//!
//! Bytes in, values out, `None` for anything that is not what we wrote. Everything is little-endian.

use crate::core::search::terms::FIELDS;
pub(super) use crate::core::text::hash::folded as hash;

/// Changes whenever the layout or the meaning of a byte does.
const FORMAT: u32 = 4;

/// Fields that have postings.
pub(super) const N_FIELDS: usize = FIELDS.len();

const MAGIC: [u8; 8] = *b"cpindex\n";

/// Bytes of a [`Header`] on disk.
pub(super) const HEADER_BYTES: usize = 24 + 8 * (N_FIELDS * SECTION_NUMBERS + 3) + 8;
const SECTION_NUMBERS: usize = 3;

/// Appends a number, 7 bits a byte, low bits first.
#[inline]
pub(super) fn put_number(out: &mut Vec<u8>, value: u64) {
    // Most numbers are small.
    match value {
        0..0x80 => out.push(value as u8),
        _ => put_large_number(out, value),
    }
}

fn put_large_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes with their count.
pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Reads what the `put_` functions wrote; every step fails on bytes that end early.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        Some(self.take(1)?[0])
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for (at, &byte) in self.0.iter().enumerate().take(10) {
            value |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Some(value);
            }
        }
        None
    }

    pub(super) fn count(&mut self) -> Option<usize> {
        usize::try_from(self.number()?).ok()
    }

    pub(super) fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    /// So many things, each of a byte or more: a wrong count asks for no more room than there are bytes.
    pub(super) fn list<T>(
        &mut self,
        count: usize,
        read: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut list = Vec::with_capacity(count.min(self.0.len()));
        for _ in 0..count {
            list.push(read(self)?);
        }
        Some(list)
    }
}

/// Sorted paths in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Paths {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Paths {
    pub(super) fn push(&mut self, path: &[u8]) {
        self.bytes.extend_from_slice(path);
        self.ends.push(self.bytes.len() as u32);
    }

    pub(super) fn of<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Paths {
        let mut all = Paths::default();
        paths.into_iter().for_each(|path| all.push(path));
        all
    }

    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, at: usize) -> &[u8] {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start as usize..self.ends[at] as usize]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|at| self.get(at))
    }

    pub(super) fn find(&self, path: &[u8]) -> Option<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            match self.get(middle).cmp(path) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Equal => return Some(middle),
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        None
    }

    /// Each path as the number of bytes it shares with the one before, and the rest.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        let mut last: &[u8] = &[];
        for path in self.iter() {
            let shared = last.iter().zip(path).take_while(|(a, b)| a == b).count();
            put_number(out, shared as u64);
            put_bytes(out, &path[shared..]);
            last = path;
        }
    }

    pub(super) fn read(bytes: &mut Bytes<'_>) -> Option<Paths> {
        let count = bytes.count()?;
        let mut paths = Paths::default();
        let mut last = 0..0;
        for _ in 0..count {
            let shared = bytes.count()?;
            let rest = bytes.bytes()?;
            if shared > last.len() {
                return None;
            }
            let start = paths.bytes.len();
            paths.bytes.extend_from_within(last.start..last.start + shared);
            paths.bytes.extend_from_slice(rest);
            last = start..paths.bytes.len();
            paths.ends.push(u32::try_from(last.end).ok()?);
        }
        Some(paths)
    }
}

/// Where the postings of one field are; see `postings`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Section {
    /// First byte of the buckets.
    pub(super) start: u64,
    /// First byte of the directory.
    pub(super) directory: u64,
    /// The directory has 2^bits buckets.
    pub(super) bits: u64,
}

/// The first bytes of an index.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// What the index was made for and with; see `store`.
    pub(super) key: u64,
    pub(super) sections: [Section; N_FIELDS],
    /// The tables: where, how many bytes, their checksum.
    pub(super) tables: u64,
    pub(super) tables_bytes: u64,
    pub(super) tables_checksum: u64,
}

impl Header {
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut out = Vec::with_capacity(HEADER_BYTES);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT.to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        put_u64(&mut out, self.key);
        for section in self.sections {
            for number in [section.start, section.directory, section.bits] {
                put_u64(&mut out, number);
            }
        }
        for number in [self.tables, self.tables_bytes, self.tables_checksum] {
            put_u64(&mut out, number);
        }
        let checksum = hash(0, &out);
        put_u64(&mut out, checksum);
        let mut bytes = [0; HEADER_BYTES];
        bytes.copy_from_slice(&out);
        bytes
    }

    pub(super) fn read(bytes: &[u8; HEADER_BYTES]) -> Option<Header> {
        let (content, checksum) = bytes.split_at(HEADER_BYTES - 8);
        if Bytes(checksum).u64()? != hash(0, content) {
            return None;
        }
        let mut bytes = Bytes(content);
        if bytes.take(8)? != MAGIC || bytes.u32()? != FORMAT || bytes.u32()? != 0 {
            return None;
        }
        let mut header = Header { key: bytes.u64()?, ..Header::default() };
        for section in &mut header.sections {
            section.start = bytes.u64()?;
            section.directory = bytes.u64()?;
            section.bits = bytes.u64()?;
        }
        header.tables = bytes.u64()?;
        header.tables_bytes = bytes.u64()?;
        header.tables_checksum = bytes.u64()?;
        Some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_paths_come_back() {
        let mut out = Vec::new();
        let numbers = [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX];
        numbers.iter().for_each(|&n| put_number(&mut out, n));
        let paths = Paths::of([&b"a/b.rs"[..], b"a/bc.rs", b"b", b"b/\xff.rs"]);
        paths.put(&mut out);
        let mut bytes = Bytes(&out);
        assert_eq!(numbers.map(|_| bytes.number().unwrap()), numbers);
        assert_eq!(Paths::read(&mut bytes).unwrap(), paths);
        assert!(bytes.0.is_empty());
        assert_eq!(paths.find(b"b"), Some(2));
        assert_eq!(paths.find(b"c"), None);
    }

    #[test]
    fn a_header_with_any_flipped_bit_is_refused() {
        let header = Header { key: 7, tables: 9, ..Header::default() };
        let bytes = header.to_bytes();
        assert_eq!(Header::read(&bytes), Some(header));
        for bit in 0..8 * HEADER_BYTES {
            let mut bad = bytes;
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::read(&bad), None, "bit {bit}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>) {
            let _ = Paths::read(&mut Bytes(&bytes));
            let _ = Bytes(&bytes).bytes();
        }
    }
}
