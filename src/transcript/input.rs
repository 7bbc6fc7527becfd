//! Reading a transcript whole: a file or standard input in, its bytes out, or an error when it is too large.

use std::fs::File;
use std::io::{self, Read};

/// Larger inputs are refused, in bytes: up to here a compaction takes about twice the input in memory, and the largest public
/// session has 11 MB.
const MAX_INPUT: u64 = 256 << 20;

/// The bytes of a file, or of standard input for `-`.
///
/// # Errors
/// Those of the file system, and an input that is too large.
pub fn read(path: &str) -> io::Result<Vec<u8>> {
    if path == "-" {
        return bounded(io::stdin().lock(), 0);
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    bounded(file, size)
}

/// `size` bytes are expected; a pipe tells none.
fn bounded(source: impl Read, size: u64) -> io::Result<Vec<u8>> {
    // Room for one more byte, or the last read would double it.
    let mut bytes = Vec::with_capacity(size.min(MAX_INPUT) as usize + 1);
    source.take(MAX_INPUT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 <= MAX_INPUT {
        return Ok(bytes);
    }
    let limit = MAX_INPUT >> 20;
    let message = format!("larger than {limit} MB: give its newest part, from a compaction on");
    Err(io::Error::new(io::ErrorKind::FileTooLarge, message))
}
