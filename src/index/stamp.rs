//! Is a file what it was? One number for all that `lstat` says about it, and the doubt that follows a recent write.
//!
//! A write within the same tick of the clock as our look leaves the stamp as it was, so what changed just before we
//! looked is [`RACY`], as git has it for its own index: such a file is read again.

use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::format::{Paths, hash};
use crate::project::files::relative_root;

/// Equal to no stamp: look again.
pub(super) const RACY: u64 = 0;

/// There is nothing at this path.
pub(super) const ABSENT: u64 = 1;

/// How long after a write a stamp is doubtful where times have fractions: kernels stamp files by a clock that ticks
/// every 1 to 10 ms (`CONFIG_HZ` 1000 to 100).
pub const FINE_DOUBT: Duration = Duration::from_millis(100);

/// The same where times are whole seconds (HFS+, ext3, some network file systems); FAT counts in steps of two.
const COARSE_DOUBT: Duration = Duration::from_secs(3);

/// When a look began. Everything stamped is read after it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Nanoseconds of the clock that files are stamped by.
    time: i128,
    /// The same by one that nobody sets.
    steady: Instant,
}

impl Moment {
    pub(super) fn now() -> Moment {
        Moment { time: nanoseconds(), steady: Instant::now() }
    }

    pub(super) fn seconds(self) -> u64 {
        u64::try_from(self.time / 1_000_000_000).unwrap_or(0)
    }

    /// Has the clock gone on since as clocks do? If it was set back, later changes may look older than the moment.
    pub(super) fn clock_not_set_back(self) -> bool {
        let (by_clock, really) =
            (nanoseconds() - self.time, self.steady.elapsed().as_nanos() as i128);
        by_clock + FINE_DOUBT.as_nanos() as i128 > really
    }
}

fn nanoseconds() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as i128)
}

/// What `lstat` says, for comparison. Never [`RACY`] or [`ABSENT`].
pub(super) fn fingerprint(metadata: &Metadata) -> u64 {
    let m = metadata;
    let numbers = [
        m.size(),
        m.mtime() as u64,
        m.mtime_nsec() as u64,
        m.ctime() as u64,
        m.ctime_nsec() as u64,
        m.ino(),
        u64::from(m.mode()),
    ];
    let mut bytes = [0; 56];
    for (slot, number) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(numbers) {
        *slot = number.to_le_bytes();
    }
    hash(0, &bytes).max(2)
}

/// [`fingerprint`] for keeping: [`RACY`] when the last change is too close to the moment, or after it.
pub(super) fn settled_fingerprint(metadata: &Metadata, moment: Moment) -> u64 {
    let time = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    let m = metadata;
    let last = time(m.mtime(), m.mtime_nsec()).max(time(m.ctime(), m.ctime_nsec()));
    let is_coarse = m.mtime_nsec() == 0 || m.ctime_nsec() == 0;
    let doubt = if is_coarse { COARSE_DOUBT } else { FINE_DOUBT };
    if last + doubt.as_nanos() as i128 > moment.time { RACY } else { fingerprint(m) }
}

/// [`fingerprint`] at a path; [`ABSENT`] when nothing can be seen there.
pub(super) fn fingerprint_at(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(ABSENT, |m| fingerprint(&m))
}

/// [`settled_fingerprint`] at a path.
pub(super) fn settled_fingerprint_at(path: &Path, moment: Moment) -> u64 {
    fs::symlink_metadata(path).map_or(ABSENT, |m| settled_fingerprint(&m, moment))
}

/// Files from which a second thread pays: 1.5 µs each, against 130 µs to start one.
const THREADED_FROM: usize = 1_000;

/// [`fingerprint_at`] for every path of a list. One `lstat` each, by all processors when there are many.
pub(super) fn all(root: &Path, paths: &Paths) -> Vec<u64> {
    let (mut stamps, root) = (vec![ABSENT; paths.len()], relative_root(root));
    let n_threads = match paths.len() {
        n if n < THREADED_FROM => 1,
        _ => crate::threads::processors(),
    };
    let share = paths.len().div_ceil(n_threads).max(1);
    std::thread::scope(|scope| {
        let mut shares = stamps.chunks_mut(share).enumerate();
        let own = shares.next();
        for (k, stamps) in shares {
            scope.spawn(move || share_of(root, paths, k * share, stamps));
        }
        if let Some((_, stamps)) = own {
            share_of(root, paths, 0, stamps);
        }
    });
    stamps
}

fn share_of(root: &Path, paths: &Paths, first: usize, stamps: &mut [u64]) {
    let mut full = root.as_os_str().as_bytes().to_vec();
    full.push(b'/');
    let stem = full.len();
    for (k, stamp) in stamps.iter_mut().enumerate() {
        full.truncate(stem);
        full.extend_from_slice(paths.get(first + k));
        *stamp = fingerprint_at(Path::new(std::ffi::OsStr::from_bytes(&full)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_true_until_the_clock_is_set_back() {
        let moment = Moment::now();
        assert!(moment.clock_not_set_back());
        let second = 1_000_000_000;
        assert!(!Moment { time: moment.time + second, ..moment }.clock_not_set_back());
        // Set forward, everything later looks later still.
        assert!(Moment { time: moment.time - second, ..moment }.clock_not_set_back());
    }
}
