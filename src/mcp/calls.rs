//! Which calls wait, which run, and which answers are outstanding. Starts no threads and writes
//! nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::arguments::Arguments;
use super::tools::Tool;
use super::wire::{self, Id};

/// Concurrent calls. A local ranking already uses every core; the others are for models, which wait
/// for the network.
const MAX_RUNNING: usize = 4;

/// Time from the start of a call to its first progress message, and from one to the next. Most
/// answers come earlier: Claude Code (2.1.332, tried) reports a connection error if progress
/// arrives in one read with the answer.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(500);

/// The progress of a call.
#[derive(Debug)]
pub(super) struct CallProgress {
    /// Steps done.
    pub(super) done: usize,
    /// Total steps.
    pub(super) total: usize,
    /// The current step in words.
    pub(super) message: String,
}

/// Where an answer goes: to the request of that id, alone or in a batch.
#[derive(Debug, Clone)]
pub(super) struct Address {
    pub(super) id: Id,
    pub(super) batch: Option<u64>,
}

/// A tool call that has not started.
#[derive(Debug)]
pub(super) struct PendingCall {
    pub(super) address: Address,
    /// The client's progress token.
    pub(super) progress_token: Option<Id>,
    pub(super) tool: &'static Tool,
    pub(super) arguments: Arguments,
}

/// A running tool call.
#[derive(Debug)]
pub(super) struct Running {
    number: u64,
    pub(super) address: Address,
    progress_token: Option<Id>,
    /// The newest progress that has not been sent.
    progress: Option<CallProgress>,
    /// The protocol requires progress to increase.
    done: Option<usize>,
    /// When progress was last sent; initially, when the call started.
    told_at: Instant,
    is_cancelled: Arc<AtomicBool>,
}

/// What the thread of a call receives.
pub(super) struct Started {
    pub(super) number: u64,
    pub(super) call: PendingCall,
    pub(super) is_cancelled: Arc<AtomicBool>,
}

/// All calls with an outstanding answer.
#[derive(Debug, Default)]
pub(super) struct Calls {
    waiting: VecDeque<PendingCall>,
    running: Vec<Running>,
    /// Running threads, including those of cancelled calls.
    n_threads: usize,
    n_started: u64,
}

impl Calls {
    pub(super) fn wait(&mut self, call: PendingCall) {
        self.waiting.push_back(call);
    }

    pub(super) fn any_wait(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Whether an answer is outstanding.
    pub(super) fn any(&self) -> bool {
        self.any_wait() || !self.running.is_empty()
    }

    /// The next call that may start now.
    pub(super) fn start(&mut self) -> Option<Started> {
        if self.n_threads == MAX_RUNNING {
            return None;
        }
        let call = self.waiting.pop_front()?;
        self.n_threads += 1;
        self.n_started += 1;
        let running = Running {
            number: self.n_started,
            address: call.address.clone(),
            progress_token: call.progress_token.clone(),
            progress: None,
            done: None,
            told_at: Instant::now(),
            is_cancelled: Arc::new(AtomicBool::new(false)),
        };
        let is_cancelled = running.is_cancelled.clone();
        self.running.push(running);
        Some(Started { number: self.n_started, call, is_cancelled })
    }

    /// Records progress, which is sent when due.
    pub(super) fn note(&mut self, number: u64, progress: CallProgress) {
        if let Some(call) = self.running.iter_mut().find(|call| call.number == number)
            && call.progress_token.is_some()
            && Some(progress.done) > call.done
        {
            call.done = Some(progress.done);
            call.progress = Some(progress);
        }
    }

    /// When the next progress is due.
    pub(super) fn progress_due(&self) -> Option<Instant> {
        let due = |call: &Running| call.progress.as_ref().map(|_| call.told_at + PROGRESS_INTERVAL);
        self.running.iter().filter_map(due).min()
    }

    /// The progress that is due, with its token.
    pub(super) fn take_progress(&mut self) -> Vec<(Id, CallProgress)> {
        let now = Instant::now();
        let due = self.running.iter_mut().filter(|call| now >= call.told_at + PROGRESS_INTERVAL);
        due.filter_map(|call| {
            let progress = call.progress.take()?;
            call.told_at = now;
            Some((call.progress_token.clone()?, progress))
        })
        .collect()
    }

    /// Records that a thread has ended, and returns its call unless that was cancelled.
    pub(super) fn end(&mut self, number: u64) -> Option<Running> {
        self.n_threads -= 1;
        let at = self.running.iter().position(|call| call.number == number)?;
        Some(self.running.swap_remove(at))
    }

    /// Forgets a call and returns where its answer would have gone. `None` if there is no such call
    /// any more: a cancellation may cross the answer.
    pub(super) fn cancel(&mut self, id: &Id) -> Option<Address> {
        if let Some(at) = self.waiting.iter().position(|call| call.address.id == *id) {
            return self.waiting.remove(at).map(|call| call.address);
        }
        let at = self.running.iter().position(|call| call.address.id == *id)?;
        let call = self.running.swap_remove(at);
        call.is_cancelled.store(true, Ordering::Relaxed);
        Some(call.address)
    }
}

/// Lines to write, and incomplete batches.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    lines: Vec<String>,
    batches: Vec<CallBatch>,
    n_batches: u64,
}

#[derive(Debug)]
struct CallBatch {
    number: u64,
    n_missing: usize,
    answers: Vec<String>,
}

impl Outbox {
    /// A line that belongs to no request.
    pub(super) fn push(&mut self, line: String) {
        self.lines.push(line);
    }

    /// Opens a batch of this many answers, at least one.
    pub(super) fn open_batch(&mut self, n_answers: usize) -> u64 {
        self.n_batches += 1;
        let batch = CallBatch { number: self.n_batches, n_missing: n_answers, answers: Vec::new() };
        self.batches.push(batch);
        self.n_batches
    }

    /// Completes one request, with its answer or, if it was cancelled, without. A batch is sent
    /// with its last answer.
    pub(super) fn settle(&mut self, batch: Option<u64>, answer: Option<String>) {
        let Some(at) = self.batches.iter().position(|b| Some(b.number) == batch) else {
            self.lines.extend(answer);
            return;
        };
        let batch = &mut self.batches[at];
        batch.answers.extend(answer);
        batch.n_missing -= 1;
        if batch.n_missing == 0 {
            let batch = self.batches.swap_remove(at);
            if !batch.answers.is_empty() {
                self.lines.push(wire::batch(&batch.answers));
            }
        }
    }

    /// The lines that can be written now.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = String> + '_ {
        self.lines.drain(..)
    }
}
