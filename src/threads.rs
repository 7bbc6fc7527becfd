//! Shares a list between all processors, for the edges: the core has no threads.
//!
//! In: items, their sizes, the work for one item. Out: the results in the order of the items.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::thread::{self, Builder, ScopedJoinHandle};

/// Bytes that justify a thread: at 0.3 to 2 ns each they take about as long as starting one, some
/// 50 µs.
const WORTH_A_THREAD: usize = 128 << 10;

/// The number of processors available.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs `work` for every item. Items are divided in order, so that every thread gets about as many
/// `bytes`.
pub(crate) fn map<T: Sync, R: Send>(
    items: &[T],
    bytes: impl Fn(&T) -> usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let total: usize = items.iter().map(&bytes).sum();
    let share = total / processors().min(total / WORTH_A_THREAD).max(1) + 1;
    let mut parts = parts(items, bytes, share).into_iter();
    let all = |part: &[T]| part.iter().map(&work).collect::<Vec<R>>();
    thread::scope(|scope| {
        let own = parts.next().unwrap_or_default();
        let all = &all;
        let start = |part| Builder::new().spawn_scoped(scope, move || all(part)).map_err(|_| part);
        let others: Vec<_> = parts.map(start).collect();
        let mut results = all(own);
        for other in others {
            results.extend(match other {
                Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                // The system cannot start a thread.
                Err(part) => all(part),
            });
        }
        results
    })
}

/// Runs `work` on this many threads, including this one, which divide it among themselves. Returns
/// the result of each.
pub(crate) fn run_workers<R: Send>(n_threads: usize, work: impl Fn() -> R + Sync) -> Vec<R> {
    thread::scope(|scope| {
        // If the system cannot start a thread, the others do its share.
        let start = |_| Builder::new().spawn_scoped(scope, &work).ok();
        let others: Vec<_> = (1..n_threads).filter_map(start).collect();
        let mut results = vec![work()];
        let join =
            |other: ScopedJoinHandle<'_, R>| other.join().unwrap_or_else(|e| resume_unwind(e));
        results.extend(others.into_iter().map(join));
        results
    })
}

/// Splits the items into pieces of about equal weight.
fn parts<T>(items: &[T], bytes: impl Fn(&T) -> usize, share: usize) -> Vec<&[T]> {
    let (mut parts, mut start, mut sum) = (Vec::new(), 0, 0);
    for (at, item) in items.iter().enumerate() {
        sum += bytes(item);
        if sum >= share {
            parts.push(&items[start..=at]);
            (start, sum) = (at + 1, 0);
        }
    }
    if start < items.len() {
        parts.push(&items[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_about_as_much_each() {
        let lengths = |items: &[usize], share: usize| -> Vec<usize> {
            parts(items, |&item| item, share).into_iter().map(<[usize]>::len).collect()
        };
        assert_eq!(lengths(&[1, 1, 1, 1, 1], 2), [2, 2, 1]);
        assert_eq!(lengths(&[9, 1, 1], 4), [1, 2]);
        assert_eq!(lengths(&[1, 1], 2), [2]);
        assert!(lengths(&[], 1).is_empty());
    }

    #[test]
    fn each_thread_takes_its_part() {
        use std::sync::atomic::{AtomicUsize, Ordering};
        for n_threads in [1, 2, 5] {
            let cursor = AtomicUsize::new(0);
            let work = || {
                let next = || Some(cursor.fetch_add(1, Ordering::Relaxed)).filter(|&k| k < 1_000);
                std::iter::from_fn(next).collect::<Vec<usize>>()
            };
            let shares = run_workers(n_threads, work);
            assert_eq!(shares.len(), n_threads);
            let mut all = shares.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1_000));
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for n in [0, 1, 2, 1_000] {
            let items: Vec<usize> = (0..n).collect();
            let doubled = map(&items, |_| WORTH_A_THREAD, |item| item * 2);
            assert!(doubled.into_iter().eq((0..n).map(|item| item * 2)));
        }
    }
}
