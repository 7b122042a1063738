//! Between a worker and the coordinator: who it is, what it tells, the gate at which all wait, the word
//! to stop, and the budget they share. The same for threads here and for processes of other hosts.

use std::{
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
        mpsc::Sender,
    },
    time::Instant,
};

use serde::{Deserialize, Serialize};

use super::tally::{Interval, WorkerEnd};
use crate::workload::Workload;

/// Which worker this is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Seat {
    /// Number over all workers of the run.
    pub id: usize,
    /// Number of the target in the run.
    pub target: usize,
    /// Number among the workers of the target.
    pub worker: u32,
    /// URL of the target, without secrets.
    pub url: String,
    /// What to do.
    pub workload: Workload,
    /// Number of the run, in stamps.
    pub run: u64,
}

/// What a worker tells.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Open and waiting for the gate.
    Ready {
        /// Worker.
        id: usize,
        /// Size of the datastore.
        capacity_bytes: u64,
        /// Serial number or export path.
        identity: String,
    },
    /// Writing the working set before the measurement.
    Filling {
        /// Worker.
        id: usize,
        /// Bytes written.
        bytes: u64,
    },
    /// A second is over.
    Second {
        /// Worker.
        id: usize,
        /// Its tally.
        interval: Box<Interval>,
    },
    /// Finished.
    End {
        /// Worker.
        id: usize,
        /// Last words.
        end: Box<WorkerEnd>,
    },
    /// Could not go on.
    Failed {
        /// Worker.
        id: usize,
        /// Why.
        error: String,
    },
}

impl Event {
    /// The worker that speaks.
    #[must_use]
    pub fn id(&self) -> usize {
        match self {
            Self::Ready { id, .. }
            | Self::Filling { id, .. }
            | Self::Second { id, .. }
            | Self::End { id, .. }
            | Self::Failed { id, .. } => *id,
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Door {
    Shut,
    Open(Instant),
    Gone,
}

/// Where all workers wait for the common start.
#[derive(Debug)]
pub struct Gate {
    door: Mutex<Door>,
    moved: Condvar,
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, Door> {
        self.door.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits; `None` when there will be no run.
    pub fn wait(&self) -> Option<Instant> {
        let mut door = self.lock();
        loop {
            match *door {
                Door::Open(start) => return Some(start),
                Door::Gone => return None,
                Door::Shut => {
                    door = self.moved.wait(door).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Lets all through; the ramp starts at `start`.
    pub fn open(&self, start: Instant) {
        *self.lock() = Door::Open(start);
        self.moved.notify_all();
    }

    /// Sends home whoever waits.
    pub fn close(&self) {
        let mut door = self.lock();
        if matches!(*door, Door::Shut) {
            *door = Door::Gone;
        }
        self.moved.notify_all();
    }
}

/// A worker's line to the coordinator.
#[derive(Debug)]
pub struct Link {
    events: Sender<Event>,
    /// The common start.
    pub gate: Gate,
    stop: AtomicBool,
    #[expect(clippy::vec_box, reason = "the boxes themselves go round")]
    spares: Mutex<Vec<Box<Interval>>>,
    budget: Option<AtomicI64>,
}

impl Link {
    /// A link whose events go to `events`; `budget_bytes` is shared by all workers.
    #[must_use]
    pub fn new(events: Sender<Event>, budget_bytes: Option<u64>) -> Self {
        Self {
            events,
            gate: Gate { door: Mutex::new(Door::Shut), moved: Condvar::new() },
            stop: AtomicBool::new(false),
            spares: Mutex::new(Vec::new()),
            budget: budget_bytes
                .map(|bytes| AtomicI64::new(i64::try_from(bytes).unwrap_or(i64::MAX))),
        }
    }

    /// Tells; nobody listens any more when the coordinator is gone, and then nothing is left to tell.
    pub fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Ends the measurement of all workers.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.gate.close();
    }

    /// Whether to stop.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes bytes from the common budget; stops all when it is used up.
    pub fn spend(&self, bytes: u64) {
        if let Some(budget) = &self.budget {
            let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
            if budget.fetch_sub(bytes, Ordering::Relaxed) <= bytes {
                self.stop();
            }
        }
    }

    /// What is left of the common budget.
    #[must_use]
    pub fn budget_left(&self) -> Option<u64> {
        let left = |budget: &AtomicI64| u64::try_from(budget.load(Ordering::Relaxed)).unwrap_or(0);
        self.budget.as_ref().map(left)
    }

    /// Whether the common budget is used up.
    #[must_use]
    pub fn is_spent(&self) -> bool {
        self.budget.as_ref().is_some_and(|budget| budget.load(Ordering::Relaxed) <= 0)
    }

    /// An empty interval: a used one when there is one.
    #[must_use]
    pub fn fresh_interval(&self) -> Box<Interval> {
        let spare = self.spares.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_default()
    }

    /// Takes back an interval that has been merged.
    pub fn give_back(&self, mut interval: Box<Interval>) {
        interval.clear();
        self.spares.lock().unwrap_or_else(PoisonError::into_inner).push(interval);
    }
}
