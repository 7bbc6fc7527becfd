//! Runs many jobs concurrently on scoped threads; the result of one may add others.
//!
//! In: jobs, how to prepare each, what to do with it. Out: every job has run once; results go to
//! `done`, one at a time, in the order they arrive. The work itself decides when to stop: work that
//! returns at once drains the queue.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};

use crate::threads;

/// The steps of a job.
pub struct Steps<P, W, D> {
    /// Work for the processor, in the order of the jobs. At most one thread per processor does it,
    /// so that the first job is sent while the next is prepared.
    pub prepare: P,
    /// Work that waits, on all threads.
    pub work: W,
    /// Receives each job with its result and returns the jobs that follow from it.
    pub done: D,
}

struct Queue<J, D> {
    waiting: VecDeque<J>,
    /// Threads that prepare, and their maximum.
    preparing: usize,
    processors: usize,
    /// Threads that prepare or work, and threads that wait for a job.
    running: usize,
    idle: usize,
    /// Threads started, including the caller's, and their maximum.
    threads: usize,
    most: usize,
    done: D,
}

/// State shared by the threads.
struct Pool<J, P, W, D> {
    queue: Mutex<Queue<J, D>>,
    wakeup: Condvar,
    prepare: P,
    work: W,
}

/// Runs all jobs through the steps on up to `most` threads. The first is the caller's. Each thread
/// that takes a job starts another while there are jobs, so few jobs need few threads.
pub fn run<J, T, R, P, W, D>(most: usize, jobs: Vec<J>, steps: Steps<P, W, D>)
where
    J: Send,
    P: Fn(&J) -> T + Sync,
    W: Fn(&J, T) -> R + Sync,
    D: FnMut(J, R) -> Vec<J> + Send,
{
    let processors = threads::processors();
    let Steps { prepare, work, done } = steps;
    let (waiting, preparing, running, idle, threads) = (jobs.into(), 0, 0, 0, 1);
    let queue = Queue { waiting, preparing, processors, running, idle, threads, most, done };
    let pool = Pool { queue: Mutex::new(queue), wakeup: Condvar::new(), prepare, work };
    std::thread::scope(|scope| pool.serve(scope));
}

impl<J, T, R, P, W, D> Pool<J, P, W, D>
where
    J: Send,
    P: Fn(&J) -> T + Sync,
    W: Fn(&J, T) -> R + Sync,
    D: FnMut(J, R) -> Vec<J> + Send,
{
    fn serve<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) {
        while let Some((job, wants_thread)) = self.next() {
            if wants_thread {
                // If the system cannot start a thread, the existing ones do all the work; it is not
                // asked again.
                let _ = Builder::new().spawn_scoped(scope, || self.serve(scope));
            }
            let prepared = (self.prepare)(&job);
            let mut queue = self.lock();
            queue.preparing -= 1;
            self.wake(&queue);
            drop(queue);
            let result = (self.work)(&job, prepared);
            let mut queue = self.lock();
            queue.running -= 1;
            let more = (queue.done)(job, result);
            queue.waiting.extend(more);
            self.wake(&queue);
        }
    }

    /// Waits for a job and a processor to prepare it on, and tells whether the next job needs
    /// another thread. `None`: all are done.
    fn next(&self) -> Option<(J, bool)> {
        let mut queue = self.lock();
        loop {
            if queue.preparing < queue.processors
                && let Some(job) = queue.waiting.pop_front()
            {
                queue.preparing += 1;
                queue.running += 1;
                let nobody_waits = queue.idle == 0 && queue.threads < queue.most;
                let wants_thread = nobody_waits && !queue.waiting.is_empty();
                queue.threads += usize::from(wants_thread);
                return Some((job, wants_thread));
            }
            if queue.running == 0 {
                return None;
            }
            queue.idle += 1;
            queue = self.wakeup.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    /// Wakes only as many threads as there is work for: a needless wake-up costs a context switch.
    fn wake(&self, queue: &Queue<J, D>) {
        if queue.running == 0 && queue.waiting.is_empty() {
            self.wakeup.notify_all();
        }
        let places = queue.processors - queue.preparing;
        (0..queue.waiting.len().min(places)).for_each(|_| self.wakeup.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, Queue<J, D>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
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
    fn as_many_threads_work_at_once_as_there_are_jobs_for() {
        for (most, n_jobs, expected) in [(4, 16, 4), (48, 3, 3)] {
            let (working, all_there) = (Mutex::new(HashSet::new()), Condvar::new());
            // No job ends before all have started.
            let work = |_: &usize, ()| {
                let mut ids = working.lock().unwrap();
                ids.insert(std::thread::current().id());
                all_there.notify_all();
                let is_alone = |ids: &mut HashSet<_>| ids.len() < expected;
                let waited = all_there.wait_timeout_while(ids, Duration::from_secs(20), is_alone);
                assert!(!waited.unwrap().1.timed_out());
            };
            let steps = Steps { prepare: |_: &usize| (), work, done: |_, ()| Vec::new() };
            run(most, (0..n_jobs).collect(), steps);
            assert_eq!(working.into_inner().unwrap().len(), expected);
        }
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
