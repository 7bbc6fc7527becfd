//! Many jobs at once on scoped threads, where the end of one may bring others.
//!
//! In: jobs, how to prepare each, what to do with it. Out: every job was done once; results go to `done`, one at a time, in
//! the order they arrive. Stopping is the work's own affair: work that returns at once drains the queue.

use std::collections::VecDeque;
use std::num::NonZero;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the jobs are put through.
pub struct Steps<P, W, D> {
    /// Work for the processor, in the order of the jobs. No more threads are at it than there are processors, so that the first
    /// job is on its way while the next is prepared.
    pub prepare: P,
    /// Work that waits, on as many threads as there are.
    pub work: W,
    /// Gets each job with its result and returns the jobs that follow.
    pub done: D,
}

struct Queue<J, D> {
    waiting: VecDeque<J>,
    /// Threads that prepare, and how many may.
    preparing: usize,
    processors: usize,
    /// Threads that prepare or work.
    running: usize,
    done: D,
}

/// Puts all jobs through the steps on up to `threads` threads.
pub fn run<J, T, R, P, W, D>(threads: usize, jobs: Vec<J>, steps: Steps<P, W, D>)
where
    J: Send,
    P: Fn(&J) -> T + Sync,
    W: Fn(&J, T) -> R + Sync,
    D: FnMut(J, R) -> Vec<J> + Send,
{
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let Steps { prepare, work, done } = steps;
    let queue = Queue { waiting: jobs.into(), preparing: 0, processors, running: 0, done };
    let (queue, bell) = (Mutex::new(queue), Condvar::new());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|| serve(&queue, &bell, &prepare, &work));
        }
        serve(&queue, &bell, &prepare, &work);
    });
}

fn serve<J, T, R, D>(
    queue: &Mutex<Queue<J, D>>,
    bell: &Condvar,
    prepare: &impl Fn(&J) -> T,
    work: &impl Fn(&J, T) -> R,
) where
    D: FnMut(J, R) -> Vec<J>,
{
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    while let Some(job) = next(lock(), bell) {
        let prepared = prepare(&job);
        let mut state = lock();
        state.preparing -= 1;
        wake(&state, bell);
        drop(state);
        let result = work(&job, prepared);
        let mut state = lock();
        state.running -= 1;
        let more = (state.done)(job, result);
        state.waiting.extend(more);
        wake(&state, bell);
    }
}

/// Waits for a job and for a processor to prepare it on. `None`: all are done.
fn next<J, D>(mut state: MutexGuard<'_, Queue<J, D>>, bell: &Condvar) -> Option<J> {
    loop {
        if state.preparing < state.processors
            && let Some(job) = state.waiting.pop_front()
        {
            state.preparing += 1;
            state.running += 1;
            return Some(job);
        }
        if state.running == 0 {
            return None;
        }
        state = bell.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Wakes as many threads as there is something for: each that wakes for nothing costs a switch.
fn wake<J, D>(state: &Queue<J, D>, bell: &Condvar) {
    if state.running == 0 && state.waiting.is_empty() {
        bell.notify_all();
    }
    let places = state.processors - state.preparing;
    (0..state.waiting.len().min(places)).for_each(|_| bell.notify_one());
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
            Steps {
                prepare: |job: &u32| job / 2,
                work: |_: &u32, half| half,
                done: |job, half| {
                    finished.push(job);
                    if half > 0 { vec![half, half] } else { Vec::new() }
                },
            },
        );
        finished.sort_unstable();
        assert_eq!(finished, [1, 1, 1, 1, 2, 2, 4]);
    }

    #[test]
    fn no_more_than_the_given_threads_work_at_once() {
        let counted = |now: &AtomicUsize, most: &AtomicUsize| {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(5));
            now.fetch_sub(1, Ordering::SeqCst);
        };
        let [preparing, most_preparing, working, most_working] =
            std::array::from_fn(|_| AtomicUsize::new(0));
        let prepare = |_: &usize| counted(&preparing, &most_preparing);
        let work = |_: &usize, ()| counted(&working, &most_working);
        run(4, (0..16).collect(), Steps { prepare, work, done: |_, ()| Vec::new() });
        let processors = std::thread::available_parallelism().unwrap().get();
        assert!(most_preparing.load(Ordering::SeqCst) <= processors.min(4));
        assert!((2..=4).contains(&most_working.load(Ordering::SeqCst)));
    }

    #[test]
    fn jobs_are_prepared_in_their_order() {
        let order = Mutex::new(Vec::new());
        let prepare = |job: &usize| order.lock().unwrap().push(*job);
        let work = |_: &usize, ()| std::thread::sleep(Duration::from_millis(1));
        run(1, (0..9).collect(), Steps { prepare, work, done: |_, ()| Vec::new() });
        assert_eq!(order.into_inner().unwrap(), (0..9).collect::<Vec<_>>());
    }

    #[test]
    fn no_jobs_end_at_once() {
        let (prepare, work) = (|_: &u8| (), |_: &u8, ()| ());
        run(8, Vec::<u8>::new(), Steps { prepare, work, done: |_, ()| Vec::new() });
    }
}
