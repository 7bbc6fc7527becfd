//! What the requests of one run share: the deadline, permits, pauses, cancellation, statistics.
//!
//! A request takes a place with [`Run::enter`] and gives it back when its [`Permit`] is dropped. A
//! server that resets connections or times out gets half as many concurrent requests from then on;
//! one that asks for a delay gets no requests for that long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often a waiting request checks whether it is still wanted.
const FLAG_PERIOD: Duration = Duration::from_millis(50);

/// When an answer is due, if ever; immediately once nobody waits for it any longer.
#[derive(Debug, Clone, Default)]
pub struct Deadline {
    at: Option<Instant>,
    is_cancelled: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// No deadline.
    pub const NEVER: Deadline = Deadline { at: None, is_cancelled: None };

    /// At this instant.
    #[must_use]
    pub fn at(moment: Instant) -> Deadline {
        Deadline { at: Some(moment), is_cancelled: None }
    }

    /// Also when the flag is set. Requests in flight still finish; nothing more is sent.
    #[must_use]
    pub fn or_when(self, is_cancelled: Arc<AtomicBool>) -> Deadline {
        Deadline { is_cancelled: Some(is_cancelled), ..self }
    }

    /// The time left; zero if it has passed, `None` without a deadline.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        if self.is_cancelled.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            return Some(Duration::ZERO);
        }
        self.at.map(|moment| moment.saturating_duration_since(Instant::now()))
    }

    /// Whether it has passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.left() == Some(Duration::ZERO)
    }
}

/// One run: a pack, or one compaction.
pub struct Run {
    deadline: Deadline,
    places: Mutex<Places>,
    wakeup: Condvar,
    /// Whether any request of this run got an answer.
    answered: AtomicBool,
    /// Whether a harmless request was rejected as well, once that was tested.
    blocked: OnceLock<bool>,
    calls: AtomicU64,
    failed_calls: AtomicU64,
    input_tokens: AtomicU64,
    usage_missing: AtomicBool,
}

struct Places {
    taken: usize,
    limit: usize,
    halved_at: Option<Instant>,
    silent_until: Option<Instant>,
    stopped: bool,
}

/// Permission for one request in flight; returned when dropped.
pub(crate) struct Permit<'a> {
    run: &'a Run,
    /// When it was acquired.
    pub(crate) since: Instant,
}

/// Statistics of a run's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunStats {
    /// Requests sent, retries included.
    pub calls: u64,
    /// Requests without an answer.
    pub failed_calls: u64,
    /// Input tokens reported by the service; `None` if an answer came without them.
    pub input_tokens: Option<u64>,
}

impl Run {
    /// At most `in_flight` requests at a time, until the deadline.
    #[must_use]
    pub fn new(in_flight: usize, deadline: Deadline) -> Run {
        let limit = in_flight.max(1);
        let places =
            Places { taken: 0, limit, halved_at: None, silent_until: None, stopped: false };
        Run {
            deadline,
            places: Mutex::new(places),
            wakeup: Condvar::new(),
            answered: AtomicBool::new(false),
            blocked: OnceLock::new(),
            calls: AtomicU64::new(0),
            failed_calls: AtomicU64::new(0),
            input_tokens: AtomicU64::new(0),
            usage_missing: AtomicBool::new(false),
        }
    }

    /// When the run is due.
    #[must_use]
    pub fn deadline(&self) -> &Deadline {
        &self.deadline
    }

    /// Statistics so far.
    #[must_use]
    pub fn tally(&self) -> RunStats {
        let known = !self.usage_missing.load(Ordering::Relaxed);
        RunStats {
            calls: self.calls.load(Ordering::Relaxed),
            failed_calls: self.failed_calls.load(Ordering::Relaxed),
            input_tokens: known.then(|| self.input_tokens.load(Ordering::Relaxed)),
        }
    }

    /// Ends the run: nothing more is sent, and sleepers wake up.
    pub fn stop(&self) {
        self.lock().stopped = true;
        self.wakeup.notify_all();
    }

    /// Whether the run has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline.has_passed() || self.lock().stopped
    }

    /// Waits for a permit. `None`: the deadline has passed or the run has ended.
    pub(crate) fn enter(&self) -> Option<Permit<'_>> {
        let mut places = self.lock();
        loop {
            if places.stopped || self.deadline.has_passed() {
                return None;
            }
            let now = Instant::now();
            let silence = places.silent_until.map(|until| until.saturating_duration_since(now));
            match silence.filter(|silence| !silence.is_zero()) {
                Some(silence) => places = self.wait(places, Some(silence)),
                None if places.taken >= places.limit => places = self.wait(places, None),
                None => {
                    places.taken += 1;
                    self.calls.fetch_add(1, Ordering::Relaxed);
                    return Some(Permit { run: self, since: now });
                }
            }
        }
    }

    /// Sleeps. Returns false if the run ended or its deadline passed first.
    pub(crate) fn sleep(&self, duration: Duration) -> bool {
        let end = Instant::now() + duration;
        let mut places = self.lock();
        while !places.stopped && !self.deadline.has_passed() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            places = self.wait(places, Some(left));
        }
        false
    }

    /// Stops all sending for this long, because the server asked for it.
    pub(crate) fn pause_for(&self, duration: Duration) {
        let until = Instant::now() + duration;
        let mut places = self.lock();
        places.silent_until = places.silent_until.max(Some(until));
    }

    /// Halves the number of concurrent requests, once for all that were in flight together.
    pub(crate) fn halve_concurrency(&self, since: Instant) {
        let mut places = self.lock();
        if places.halved_at.is_none_or(|at| since > at) {
            places.limit = (places.limit / 2).max(1);
            places.halved_at = Some(Instant::now());
        }
    }

    pub(crate) fn count_answer(&self, input_tokens: Option<u64>) {
        self.answered.store(true, Ordering::Relaxed);
        match input_tokens {
            Some(tokens) => drop(self.input_tokens.fetch_add(tokens, Ordering::Relaxed)),
            None => self.usage_missing.store(true, Ordering::Relaxed),
        }
    }

    pub(crate) fn count_failure(&self) {
        self.failed_calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn has_answered(&self) -> bool {
        self.answered.load(Ordering::Relaxed)
    }

    /// Tests once per run whether everything is rejected; other requests wait for the result.
    pub(crate) fn is_blocked(&self, probe: impl FnOnce() -> bool) -> bool {
        !self.has_answered() && *self.blocked.get_or_init(probe)
    }

    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(
        &self,
        places: MutexGuard<'a, Places>,
        most: Option<Duration>,
    ) -> MutexGuard<'a, Places> {
        // A flag rings no wakeup: it is looked at again and again.
        let look = self.deadline.is_cancelled.as_ref().map(|_| FLAG_PERIOD);
        let most = [most, self.deadline.left(), look].into_iter().flatten().min();
        match most {
            // The deadline counts as passed only at zero, so never wait for a zero duration.
            Some(most) => {
                let most = most.max(Duration::from_millis(1));
                self.wakeup.wait_timeout(places, most).unwrap_or_else(PoisonError::into_inner).0
            }
            None => self.wakeup.wait(places).unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.run.lock().taken -= 1;
        self.run.wakeup.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back_and_halved_once_per_wave() {
        let run = Run::new(4, Deadline::NEVER);
        let first = run.enter().unwrap();
        let second = run.enter().unwrap();
        run.halve_concurrency(first.since);
        run.halve_concurrency(second.since);
        assert_eq!(run.lock().limit, 2);
        drop((first, second));
        assert_eq!(run.lock().taken, 0);
        assert_eq!(run.tally().calls, 2);
    }

    #[test]
    fn a_stopped_run_lets_nobody_in_and_nobody_sleep() {
        let run = Run::new(1, Deadline::NEVER);
        run.stop();
        assert!(run.enter().is_none());
        assert!(!run.sleep(Duration::from_secs(60)));
    }

    #[test]
    fn the_deadline_ends_a_wait() {
        let started = Instant::now();
        let run = Run::new(1, Deadline::at(started + Duration::from_millis(30)));
        let place = run.enter().unwrap();
        assert!(run.enter().is_none());
        drop(place);
        assert!(!run.sleep(Duration::from_secs(60)));
        assert!(started.elapsed() < Duration::from_millis(130));
    }

    #[test]
    fn a_wait_ends_when_nobody_wants_the_answer() {
        let flag = Arc::new(AtomicBool::new(false));
        let run = Run::new(1, Deadline::NEVER.or_when(flag.clone()));
        let _place = run.enter().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| flag.store(true, Ordering::Relaxed));
            assert!(run.enter().is_none());
            assert!(!run.sleep(Duration::from_secs(60)));
        });
    }

    #[test]
    fn a_cancelled_run_lets_nobody_in() {
        let flag = Arc::new(AtomicBool::new(false));
        let run = Run::new(1, Deadline::NEVER.or_when(flag.clone()));
        assert!(run.enter().is_some());
        flag.store(true, Ordering::Relaxed);
        assert!(run.enter().is_none());
        assert!(!run.sleep(Duration::from_secs(60)));
    }

    #[test]
    fn silence_holds_everybody_back() {
        let run = Run::new(2, Deadline::NEVER);
        run.pause_for(Duration::from_millis(40));
        let started = Instant::now();
        assert!(run.enter().is_some());
        assert!(started.elapsed() >= Duration::from_millis(40));
    }

    #[test]
    fn one_answer_without_usage_makes_the_total_unknown() {
        let run = Run::new(1, Deadline::NEVER);
        run.count_answer(Some(5));
        assert_eq!(run.tally().input_tokens, Some(5));
        run.count_answer(None);
        assert_eq!(run.tally().input_tokens, None);
    }
}
