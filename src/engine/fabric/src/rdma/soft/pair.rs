//! The two ends of one soft connection: their queues, and what a work request does to both.
//!
//! Everything of a pair happens under one lock, taken once per flush or poll. A send that finds no receive
//! posted waits at its sender, and all later work of that end behind it (RNR retry without end).

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::super::{
    Completion, ConnectionEvent, Counters, Establish, Operation, Queues, RemoteAddress, Segment,
    Status,
};
use super::faults::{Faults, Shuffle};
use super::signal::Signal;
use super::table::{Grant, Right, Table};

/// Which end: 0 connects, 1 accepts.
pub(super) type Side = usize;

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Send { invalidate: Option<u32> },
    Write(RemoteAddress),
    Read(RemoteAddress),
}

/// A posted work request; its segments lie in a list beside it.
#[derive(Clone, Copy)]
pub(super) struct Posted {
    pub id: u64,
    pub kind: Kind,
    pub signal: bool,
    pub segments: usize,
}

/// Work in the order of its posting.
#[derive(Default)]
pub(super) struct Batch {
    pub works: VecDeque<Posted>,
    pub segments: VecDeque<Segment>,
    pub receives: Vec<(u64, Segment)>,
}

/// One end.
#[derive(Default)]
pub(super) struct End {
    pub receives: VecDeque<(u64, Segment)>,
    /// Work that waits for the peer to post a receive.
    pub waiting: Batch,
    /// Completions of receives and of the send queue: an adapter promises an order within each only.
    pub received: VecDeque<(u64, Completion)>,
    pub sent: VecDeque<(u64, Completion)>,
    pub events: VecDeque<ConnectionEvent>,
    /// Told when there is something, once armed.
    pub armed: bool,
    /// The signal is up.
    pub raised: bool,
    /// Events are held back until a message has arrived.
    pub holding: bool,
    pub terms: Option<Establish>,
    pub counters: Counters,
    pub table: Option<Arc<Table>>,
    pub queues: Option<Queues>,
    /// The user has let go of this end.
    pub gone: bool,
    /// Works posted and not known to be complete, for the bound of the queue.
    pub unfinished: u32,
    /// A key that the next receive completion tells as invalidated although nobody asked.
    pub bogus_invalidation: Option<u32>,
}

pub(super) struct State {
    pub ends: [End; 2],
    pub established: bool,
    pub broken: bool,
    /// Orders completions of different queues, and counts works for faults.
    clock: u64,
    pub shuffle: Shuffle,
    pub faults: Faults,
}

pub(super) struct Pair {
    pub addresses: [SocketAddr; 2],
    pub signals: [Signal; 2],
    state: Mutex<State>,
}

impl Pair {
    pub fn new(
        addresses: [SocketAddr; 2],
        signals: [Signal; 2],
        faults: Faults,
        seed: u64,
    ) -> Self {
        let state = State {
            ends: [End::default(), End::default()],
            established: false,
            broken: false,
            clock: 0,
            shuffle: Shuffle::new(seed),
            faults,
        };
        Self { addresses, signals, state: Mutex::new(state) }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the ends that have something and asked to be told.
    pub fn tell(&self, state: &mut State) {
        for (end, signal) in state.ends.iter_mut().zip(&self.signals) {
            if end.armed && end.has_something() {
                end.armed = false;
                end.raised = true;
                signal.raise();
            }
        }
    }
}

impl End {
    pub fn has_something(&self) -> bool {
        let events = !self.events.is_empty() && !self.holding;
        events || !self.received.is_empty() || !self.sent.is_empty()
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Takes what an end has posted.
    pub fn run(&mut self, side: Side, batch: &mut Batch) {
        if self.broken {
            return self.flush_batch(side, batch);
        }
        self.ends[side].receives.extend(batch.receives.drain(..));
        let end = &mut self.ends[side];
        end.waiting.works.append(&mut batch.works);
        end.waiting.segments.append(&mut batch.segments);
        self.progress(side);
        // What the peer has waiting may fit the receives that were just posted.
        self.progress(1 - side);
    }

    /// Carries out waiting work of an end until a send finds no receive.
    fn progress(&mut self, side: Side) {
        while !self.broken
            && let Some(work) = self.ends[side].waiting.works.front().copied()
        {
            if matches!(work.kind, Kind::Send { .. }) && self.ends[1 - side].receives.is_empty() {
                if self.faults.rnr_fails {
                    self.take_work(side);
                    self.fail(side, &work, Status::ReceiverNotReady);
                }
                return;
            }
            let segments = self.take_work(side);
            self.carry_out(side, &work, &segments);
            if self.faults.works_left == Some(0) {
                return self.break_down();
            }
            self.faults.works_left = self.faults.works_left.map(|left| left - 1);
        }
    }

    fn take_work(&mut self, side: Side) -> Segments {
        let waiting = &mut self.ends[side].waiting;
        let count = waiting.works.pop_front().map_or(0, |work| work.segments);
        let mut segments = Segments::default();
        for segment in waiting.segments.drain(..count) {
            segments.push(segment);
        }
        segments
    }

    fn carry_out(&mut self, side: Side, work: &Posted, segments: &Segments) {
        let status = match work.kind {
            Kind::Send { invalidate } => self.send(side, segments, invalidate),
            Kind::Write(remote) => self.transfer(side, segments, remote, true),
            Kind::Read(remote) => self.transfer(side, segments, remote, false),
        };
        match status {
            Ok(()) => {
                let end = &mut self.ends[side];
                end.unfinished = end.unfinished.saturating_sub(1);
                if work.signal {
                    self.complete_work(side, work, Status::Success);
                }
            }
            Err(status) => self.fail(side, work, status),
        }
    }

    fn table(&self, side: Side) -> Option<Arc<Table>> {
        self.ends[side].table.clone()
    }

    fn send(
        &mut self,
        side: Side,
        segments: &Segments,
        invalidate: Option<u32>,
    ) -> Result<(), Status> {
        let (own, peers) = self.both(side)?;
        let Some((id, target)) = self.ends[1 - side].receives.pop_front() else {
            return Err(Status::ReceiverNotReady);
        };
        let total = segments.total();
        if total > u64::from(target.len) {
            self.receive_failed(1 - side, id, Status::LocalLength);
            return Err(Status::RemoteInvalidRequest);
        }
        let sources = segments.grants(&own, Right::LocalRead).ok_or(Status::LocalProtection)?;
        let into = Segment { len: total as u32, ..target };
        let Some(into) = peers.local(&into, Right::LocalWrite) else {
            self.receive_failed(1 - side, id, Status::LocalProtection);
            return Err(Status::Other(11)); // IBV_WC_REM_OP_ERR
        };
        copy(sources.iter(), std::iter::once(&into));
        drop((sources, into));
        if let Some(key) = invalidate
            && !peers.invalidate(key)
        {
            self.receive_failed(1 - side, id, Status::RemoteAccess);
            return Err(Status::RemoteAccess);
        }
        let at = self.next();
        let end = &mut self.ends[1 - side];
        end.counters.receives += 1;
        end.holding = false;
        let invalidated = end.bogus_invalidation.take().or(invalidate);
        let (operation, status) = (Operation::Receive, Status::Success);
        let len = total as u32;
        end.received.push_back((at, Completion { id, operation, status, len, invalidated }));
        Ok(())
    }

    fn both(&self, side: Side) -> Result<(Arc<Table>, Arc<Table>), Status> {
        let tables = self.table(side).zip(self.table(1 - side));
        tables.ok_or(Status::RetryExceeded)
    }

    fn transfer(
        &mut self,
        side: Side,
        segments: &Segments,
        remote: RemoteAddress,
        is_write: bool,
    ) -> Result<(), Status> {
        let (own, peers) = self.both(side)?;
        let (here, there) = if is_write {
            (Right::LocalRead, Right::RemoteWrite)
        } else {
            (Right::LocalWrite, Right::RemoteRead)
        };
        let local = segments.grants(&own, here).ok_or(Status::LocalProtection)?;
        let far = peers
            .grant(remote.key, remote.address, segments.total(), there)
            .ok_or(Status::RemoteAccess)?;
        if is_write {
            copy(local.iter(), std::iter::once(&far));
        } else {
            copy(std::iter::once(&far), local.iter());
        }
        Ok(())
    }

    fn complete_work(&mut self, side: Side, work: &Posted, status: Status) {
        let at = self.next();
        let operation = match work.kind {
            Kind::Send { .. } => Operation::Send,
            Kind::Write(_) => Operation::Write,
            Kind::Read(_) => Operation::Read,
        };
        let completion = Completion { id: work.id, operation, status, len: 0, invalidated: None };
        let end = &mut self.ends[side];
        end.counters.send_completions += 1;
        end.sent.push_back((at, completion));
    }

    fn receive_failed(&mut self, side: Side, id: u64, status: Status) {
        let at = self.next();
        let operation = Operation::Receive;
        let completion = Completion { id, operation, status, len: 0, invalidated: None };
        self.ends[side].received.push_back((at, completion));
    }

    /// A work request has failed: the connection is broken.
    fn fail(&mut self, side: Side, work: &Posted, status: Status) {
        self.complete_work(side, work, status);
        self.break_down();
    }

    /// Ends the connection: everything outstanding is flushed, both ends are told.
    pub fn break_down(&mut self) {
        if self.broken {
            return;
        }
        self.broken = true;
        self.ends[1].holding = false;
        for side in [0, 1] {
            let mut waiting = std::mem::take(&mut self.ends[side].waiting);
            waiting.receives = self.ends[side].receives.drain(..).collect();
            self.flush_batch(side, &mut waiting);
            if !self.ends[side].gone {
                self.ends[side].events.push_back(ConnectionEvent::Disconnected);
            }
        }
    }

    /// Work on a broken connection completes as flushed, asked for or not.
    fn flush_batch(&mut self, side: Side, batch: &mut Batch) {
        for (id, _) in std::mem::take(&mut batch.receives) {
            self.receive_failed(side, id, Status::Flushed);
        }
        for work in std::mem::take(&mut batch.works) {
            self.complete_work(side, &work, Status::Flushed);
        }
        batch.segments.clear();
    }
}

/// Most segments of one work request.
pub(super) const SEGMENTS_MAX: usize = 32;

/// The segments of one work request, by value: nothing is allocated for it.
pub(super) struct Segments {
    all: [Segment; SEGMENTS_MAX],
    count: usize,
}

impl Default for Segments {
    fn default() -> Self {
        Self { all: [Segment { address: 0, len: 0, key: 0 }; SEGMENTS_MAX], count: 0 }
    }
}

impl Segments {
    fn push(&mut self, segment: Segment) {
        self.all[self.count] = segment;
        self.count += 1;
    }

    fn used(&self) -> &[Segment] {
        &self.all[..self.count]
    }

    fn total(&self) -> u64 {
        self.used().iter().map(|segment| u64::from(segment.len)).sum()
    }

    fn grants(&self, table: &Table, right: Right) -> Option<Vec<Grant>> {
        self.used().iter().map(|segment| table.local(segment, right)).collect()
    }
}

/// Moves bytes from runs to runs, in order, until either is used up.
#[allow(unsafe_code)]
fn copy<'a>(from: impl Iterator<Item = &'a Grant>, mut to: impl Iterator<Item = &'a Grant>) {
    let (mut target, mut room): (*mut u8, usize) = (std::ptr::null_mut(), 0);
    for grant in from {
        let (mut source, mut left) = (grant.pointer, grant.len);
        while left > 0 {
            if room == 0 {
                let Some(next) = to.next() else { return };
                (target, room) = (next.pointer, next.len);
                continue;
            }
            let count = left.min(room);
            // SAFETY: both ranges lie within registrations that the grants keep from ending, and so within
            // live memory; `copy` allows them to overlap. That others may touch the bytes meanwhile is the
            // nature of RDMA: they are plain bytes, handed over by completions.
            unsafe {
                std::ptr::copy(source, target, count);
                source = source.add(count);
                target = target.add(count);
            }
            left -= count;
            room -= count;
        }
    }
    std::sync::atomic::fence(Ordering::Release);
}
