//! Calls of one connection that wait for a limit: what to do, and when.
//!
//! A call waits as little memory: a READ as its arguments, a WRITE as its answer, because its data is in
//! the store already (only the answer tells the client that it may send the next).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use plimsoll_fabric::Payload;

use crate::access::Caller;
use crate::link::Target;

/// A READ to be done.
pub(crate) struct PendingRead {
    pub target: Target,
    pub caller: Caller,
    pub xid: u32,
    pub offset: u64,
    pub count: usize,
}

/// An answer, ready to be sent.
pub(crate) struct Answer {
    /// A record, or its beginning.
    pub head: Vec<u8>,
    /// Data and padding after it.
    pub data: Option<Payload>,
}

pub(crate) enum Waiting {
    Read(PendingRead),
    Answer(Answer),
}

struct Timed {
    due: Instant,
    /// Order of arrival among those due at one time.
    number: u64,
    waiting: Waiting,
}

impl PartialEq for Timed {
    fn eq(&self, other: &Self) -> bool {
        (self.due, self.number) == (other.due, other.number)
    }
}

impl Eq for Timed {}

impl PartialOrd for Timed {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timed {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[derive(Default)]
pub(crate) struct Parked {
    heap: BinaryHeap<Reverse<Timed>>,
    number: u64,
}

impl Parked {
    pub fn push(&mut self, due: Instant, waiting: Waiting) {
        self.number += 1;
        self.heap.push(Reverse(Timed { due, number: self.number, waiting }));
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// When the next one is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(timed)| timed.due)
    }

    /// The next one that is due.
    pub fn pop_due(&mut self, now: Instant) -> Option<Waiting> {
        if self.next_due()? > now {
            return None;
        }
        self.heap.pop().map(|Reverse(timed)| timed.waiting)
    }
}
