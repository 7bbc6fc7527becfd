//! Many jobs at once on scoped threads, where the end of one may bring others.
//!
//! In: jobs and what to do with each. Out: every job was done once; results go to `done`, one at a time, in the
//! order they arrive. Stopping is the work's own affair: work that returns at once drains the queue.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, PoisonError};

struct Queue<J, D> {
    waiting: VecDeque<J>,
    running: usize,
    done: D,
}

/// Does all jobs on up to `threads` threads; `done` gets each with its result and returns the jobs that follow.
pub fn run<J, R, D>(threads: usize, jobs: Vec<J>, work: impl Fn(&J) -> R + Sync, done: D)
where
    J: Send,
    D: FnMut(J, R) -> Vec<J> + Send,
{
    let queue = Mutex::new(Queue { waiting: jobs.into(), running: 0, done });
    let bell = Condvar::new();
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| serve(&queue, &bell, &work));
        }
        serve(&queue, &bell, &work);
    });
}

fn serve<J, R, D>(queue: &Mutex<Queue<J, D>>, bell: &Condvar, work: &(impl Fn(&J) -> R + Sync))
where
    D: FnMut(J, R) -> Vec<J>,
{
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let mut state = lock();
    loop {
        let Some(job) = state.waiting.pop_front() else {
            if state.running == 0 {
                return;
            }
            state = bell.wait(state).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        state.running += 1;
        drop(state);
        let result = work(&job);
        state = lock();
        state.running -= 1;
        let more = (state.done)(job, result);
        state.waiting.extend(more);
        bell.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    #[test]
    fn jobs_that_follow_are_done_too() {
        let mut finished = Vec::new();
        run(
            3,
            vec![4_u32],
            |job| job / 2,
            |job, half| {
                finished.push(job);
                if half > 0 { vec![half, half] } else { Vec::new() }
            },
        );
        finished.sort_unstable();
        assert_eq!(finished, [1, 1, 1, 1, 2, 2, 4]);
    }

    #[test]
    fn no_more_than_the_given_threads_work_at_once() {
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |_: &usize| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        run(4, (0..16).collect(), work, |_, ()| Vec::new());
        assert_eq!(most.load(Ordering::SeqCst), 4);
    }

    #[test]
    fn no_jobs_end_at_once() {
        run(8, Vec::<u8>::new(), |_| (), |_, ()| Vec::new());
    }
}
