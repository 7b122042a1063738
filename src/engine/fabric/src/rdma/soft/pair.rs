//! The two ends of one soft connection: their queues, and what a work request does to both.
//!
//! Everything of a pair happens under one lock, taken once per flush or poll. A send that finds no receive
//! posted waits at its sender, and all later work of that end behind it (RNR retry without end). With
//! [`Faults::delay`] work is carried out piecemeal, and reads are under way while later work is begun, at most
//! as many as the two ends agreed on; completions keep the order of posting all the same.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLockReadGuard};

use super::super::{
    Completion, ConnectionEvent, Establish, Operation, RemoteAddress, Segment, Status,
};
use super::faults::{Faults, Shuffle};
use super::signal::Signal;
use super::table::{Grant, Right, Slots, Table};

/// Most segments of one work request.
pub(super) const SEGMENTS_MAX: u32 = 32;
/// `IBV_WC_LOC_QP_OP_ERR`: a read on an end that may have none outstanding.
const LOCAL_OPERATION: Status = Status::Other(2);
/// `IBV_WC_REM_OP_ERR`: the peer could not take a message.
const REMOTE_OPERATION: Status = Status::Other(11);

/// Which end: 0 connects, 1 accepts.
pub(super) type Side = usize;
/// The registrations of both ends.
type Held<'t> = [RwLockReadGuard<'t, Slots>; 2];

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
    pub segments: u32,
}

/// Work in the order of its posting.
#[derive(Default)]
pub(super) struct Batch {
    pub works: VecDeque<Posted>,
    pub segments: VecDeque<Segment>,
    pub receives: Vec<(u64, Segment)>,
}

/// Work that was begun behind a read that is under way.
struct Begun {
    work: Posted,
    /// It is done but for the reads before it.
    is_done: bool,
}

/// A completion that waits to be polled.
pub(super) struct Ended {
    /// Orders completions of different queues.
    pub at: u64,
    pub completion: Completion,
    /// Entries of its queue that it frees: its own, and those of unsignalled work before it.
    pub frees: u32,
}

/// One end.
#[derive(Default)]
pub(super) struct End {
    pub receives: VecDeque<(u64, Segment)>,
    /// Work that waits for the peer to post a receive, or for its turn.
    waiting: Batch,
    /// Work from the oldest read under way on, with the segments of those reads.
    begun: VecDeque<Begun>,
    begun_segments: VecDeque<Segment>,
    /// Work waits that could go on.
    deferred: bool,
    /// Unsignalled works that are done since the last completion.
    silent: u32,
    /// Completions of receives and of the send queue: an adapter promises an order within each only.
    pub received: VecDeque<Ended>,
    pub sent: VecDeque<Ended>,
    pub events: VecDeque<ConnectionEvent>,
    /// Told when there is something, once armed.
    pub armed: bool,
    /// The signal is up.
    pub raised: bool,
    /// Events are held back until a message has arrived.
    pub holding: bool,
    /// A message has arrived.
    pub heard: bool,
    pub terms: Option<Establish>,
    /// The user has let go of this end.
    pub gone: bool,
    /// A key that the next receive completion tells as invalidated although nobody asked.
    pub bogus_invalidation: Option<u32>,
}

pub(super) struct State {
    pub ends: [End; 2],
    pub established: bool,
    pub broken: bool,
    clock: u64,
    pub shuffle: Shuffle,
    pub faults: Faults,
}

pub(super) struct Pair {
    pub addresses: [SocketAddr; 2],
    pub signals: [Signal; 2],
    /// Set when the end is made.
    pub tables: [OnceLock<Arc<Table>>; 2],
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
        Self { addresses, signals, tables: Default::default(), state: Mutex::new(state) }
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

    fn hold(&self) -> Option<Held<'_>> {
        let [first, second] = &self.tables;
        Some([first.get()?.hold(), second.get()?.hold()])
    }

    /// Takes what an end has posted.
    pub fn run(&self, state: &mut State, side: Side, batch: &mut Batch) {
        if state.broken {
            return state.flush_batch(side, batch);
        }
        let end = &mut state.ends[side];
        end.receives.extend(batch.receives.drain(..));
        end.waiting.works.append(&mut batch.works);
        end.waiting.segments.append(&mut batch.segments);
        self.progress(state, [side, 1 - side]);
    }

    /// Carries out what can be: the work of an end, and what its peer has waiting for receives that were just
    /// posted.
    pub fn progress(&self, state: &mut State, sides: [Side; 2]) {
        if state.ends.iter().all(|end| end.waiting.works.is_empty() && end.begun.is_empty()) {
            return;
        }
        let Some(held) = self.hold() else { return };
        for side in sides {
            state.progress(&held, side);
        }
        if state.faults.delay {
            for side in sides {
                state.ends[side].deferred = state.can_go_on(side);
            }
        }
    }
}

impl End {
    pub fn has_something(&self) -> bool {
        let events = !self.events.is_empty() && !self.holding;
        events || self.deferred || !self.received.is_empty() || !self.sent.is_empty()
    }

    /// Reads under way.
    fn reading(&self) -> usize {
        self.begun.iter().filter(|begun| !begun.is_done).count()
    }
}

impl State {
    fn next(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// Reads that an end may have under way: its own depth, and what its peer answers. A connecting end answers
    /// as many as the accepting end says that it will have, whatever was offered: that is how the connection
    /// manager sets up its queues.
    fn read_limits(&self, side: Side) -> [u8; 2] {
        let depth = |side: Side, of: fn(&Establish) -> u8| {
            self.ends[side].terms.as_ref().map_or(0, of).min(self.faults.reads)
        };
        let own = depth(side, |end| end.initiator_depth);
        [own, if side == 1 { own } else { depth(1, |end| end.responder_resources) }]
    }

    /// Whether the next work of an end could begin now.
    fn can_begin(&self, side: Side) -> bool {
        let end = &self.ends[side];
        match end.waiting.works.front().map(|work| work.kind) {
            None => false,
            Some(Kind::Write(_)) => true,
            Some(Kind::Send { .. }) => {
                self.faults.rnr_fails || !self.ends[1 - side].receives.is_empty()
            }
            Some(Kind::Read(_)) => {
                let [own, peers] = self.read_limits(side);
                end.begun.is_empty() || end.reading() < usize::from(own.min(peers))
            }
        }
    }

    fn can_go_on(&self, side: Side) -> bool {
        !self.broken && (!self.ends[side].begun.is_empty() || self.can_begin(side))
    }

    fn progress(&mut self, held: &Held<'_>, side: Side) {
        if !self.faults.delay {
            while !self.broken && self.can_begin(side) {
                self.begin(held, side);
            }
            return;
        }
        for _ in 0..self.shuffle.below(3) {
            let is_reading = !self.ends[side].begun.is_empty();
            match (self.can_go_on(side), is_reading, self.can_begin(side)) {
                (false, ..) => return,
                (_, true, false) => self.finish_read(held, side),
                (_, true, true) if self.shuffle.below(2) == 0 => self.finish_read(held, side),
                _ => self.begin(held, side),
            }
        }
    }

    /// Begins the next work of an end; all but delayed reads is carried out with it.
    fn begin(&mut self, held: &Held<'_>, side: Side) {
        let Some(work) = self.ends[side].waiting.works.front().copied() else { return };
        if self.faults.works_left == Some(0) {
            return self.break_down();
        }
        if let Some(left) = &mut self.faults.works_left {
            *left -= 1;
        }
        let count = work.segments as usize;
        let outcome = match work.kind {
            Kind::Send { invalidate } => self.send(held, side, count, invalidate),
            Kind::Write(remote) => {
                transfer(held, side, self.ends[side].waiting.segments.range(..count), remote, true)
            }
            Kind::Read(remote) => match self.read_limits(side) {
                [0, _] => Err(LOCAL_OPERATION),
                [_, 0] => Err(Status::RemoteInvalidRequest),
                _ if self.faults.delay => {
                    let end = &mut self.ends[side];
                    end.waiting.works.pop_front();
                    end.begun_segments.extend(end.waiting.segments.drain(..count));
                    end.begun.push_back(Begun { work, is_done: false });
                    return;
                }
                _ => {
                    let segments = self.ends[side].waiting.segments.range(..count);
                    transfer(held, side, segments, remote, false)
                }
            },
        };
        let end = &mut self.ends[side];
        end.waiting.segments.drain(..count);
        if let Err(status) = outcome {
            return self.fail(held, side, status);
        }
        end.waiting.works.pop_front();
        if end.begun.is_empty() {
            self.complete(side, &work, Status::Success);
        } else {
            end.begun.push_back(Begun { work, is_done: true });
        }
    }

    /// Ends the oldest read, and what waited for it.
    fn finish_read(&mut self, held: &Held<'_>, side: Side) {
        let end = &mut self.ends[side];
        let Some(Begun { work, .. }) = end.begun.pop_front() else { return };
        let count = work.segments as usize;
        let outcome = match work.kind {
            Kind::Read(remote) => {
                transfer(held, side, end.begun_segments.range(..count), remote, false)
            }
            _ => Ok(()),
        };
        end.begun_segments.drain(..count);
        match outcome {
            Ok(()) => self.complete(side, &work, Status::Success),
            Err(status) => {
                self.complete(side, &work, status);
                return self.break_down();
            }
        }
        while let Some(Begun { work, .. }) =
            self.ends[side].begun.pop_front_if(|begun| begun.is_done)
        {
            self.complete(side, &work, Status::Success);
        }
    }

    /// The work at the head of an end, whose segments are taken already, has failed: reads before it end, then
    /// the connection is broken.
    fn fail(&mut self, held: &Held<'_>, side: Side, status: Status) {
        if let Some(work) = self.ends[side].waiting.works.front_mut() {
            work.segments = 0;
        }
        while !self.ends[side].begun.is_empty() {
            self.finish_read(held, side);
        }
        if !self.broken
            && let Some(work) = self.ends[side].waiting.works.pop_front()
        {
            self.complete(side, &work, status);
            self.break_down();
        }
    }

    fn send(
        &mut self,
        held: &Held<'_>,
        side: Side,
        count: usize,
        invalidate: Option<u32>,
    ) -> Result<(), Status> {
        let [end, peer] = &mut self.ends;
        let (own, peer) = if side == 0 { (end, peer) } else { (peer, end) };
        let sources = own.waiting.segments.range(..count);
        let total = check(&held[side], sources.clone(), Right::LocalRead)?;
        let (id, target) = peer.receives.pop_front().ok_or(Status::ReceiverNotReady)?;
        let room = target.len.min(self.faults.receive_bytes.unwrap_or(u32::MAX));
        if total > u64::from(room) {
            self.end_receive(1 - side, id, Status::LocalLength, 0, None);
            return Err(Status::RemoteInvalidRequest);
        }
        let len = total as u32;
        let Some(into) = held[1 - side].local(&Segment { len, ..target }, Right::LocalWrite) else {
            self.end_receive(1 - side, id, Status::LocalProtection, 0, None);
            return Err(REMOTE_OPERATION);
        };
        gather(&held[side], sources, into);
        if let Some(key) = invalidate
            && !held[1 - side].invalidate(key)
        {
            self.end_receive(1 - side, id, Status::RemoteAccess, 0, None);
            return Err(Status::RemoteAccess);
        }
        peer.heard = true;
        peer.holding = false;
        let invalidated = peer.bogus_invalidation.take().or(invalidate);
        self.end_receive(1 - side, id, Status::Success, len, invalidated);
        Ok(())
    }

    fn end_receive(
        &mut self,
        side: Side,
        id: u64,
        status: Status,
        len: u32,
        invalidated: Option<u32>,
    ) {
        let at = self.next();
        let operation = Operation::Receive;
        let completion = Completion { id, operation, status, len, invalidated };
        self.ends[side].received.push_back(Ended { at, completion, frees: 1 });
    }

    /// Work is over. It is told when that was asked for, and always when it did not go well.
    fn complete(&mut self, side: Side, work: &Posted, status: Status) {
        if status == Status::Success && !work.signal {
            self.ends[side].silent += 1;
            return;
        }
        let at = self.next();
        let operation = match work.kind {
            Kind::Send { .. } => Operation::Send,
            Kind::Write(_) => Operation::Write,
            Kind::Read(_) => Operation::Read,
        };
        let completion = Completion { id: work.id, operation, status, len: 0, invalidated: None };
        let end = &mut self.ends[side];
        let frees = 1 + std::mem::take(&mut end.silent);
        end.sent.push_back(Ended { at, completion, frees });
    }

    /// Ends the connection: everything outstanding is flushed, both ends are told.
    pub fn break_down(&mut self) {
        if self.broken {
            return;
        }
        self.broken = true;
        self.ends[1].holding = false;
        for side in [0, 1] {
            let end = &mut self.ends[side];
            end.deferred = false;
            end.begun_segments.clear();
            let begun = std::mem::take(&mut end.begun);
            let mut waiting = std::mem::take(&mut end.waiting);
            waiting.receives = end.receives.drain(..).collect();
            for Begun { work, .. } in begun {
                self.complete(side, &work, Status::Flushed);
            }
            self.flush_batch(side, &mut waiting);
            if !self.ends[side].gone {
                self.ends[side].events.push_back(ConnectionEvent::Disconnected);
            }
        }
    }

    /// Work on a broken connection completes as flushed, asked for or not.
    fn flush_batch(&mut self, side: Side, batch: &mut Batch) {
        for (id, _) in batch.receives.drain(..) {
            self.end_receive(side, id, Status::Flushed, 0, None);
        }
        for work in batch.works.drain(..) {
            self.complete(side, &work, Status::Flushed);
        }
        batch.segments.clear();
    }
}

/// RDMA write or read: all rights first, then the bytes.
fn transfer<'s>(
    held: &Held<'_>,
    side: Side,
    segments: impl Iterator<Item = &'s Segment> + Clone,
    remote: RemoteAddress,
    is_write: bool,
) -> Result<(), Status> {
    let (here, there) = if is_write {
        (Right::LocalRead, Right::RemoteWrite)
    } else {
        (Right::LocalWrite, Right::RemoteRead)
    };
    let own = &held[side];
    let total = check(own, segments.clone(), here)?;
    let far = held[1 - side]
        .grant(remote.key, remote.address, total, there)
        .ok_or(Status::RemoteAccess)?;
    if is_write {
        gather(own, segments, far);
    } else {
        scatter(own, far, segments);
    }
    Ok(())
}

/// Bytes of segments that may be used so.
fn check<'s>(
    slots: &Slots,
    mut segments: impl Iterator<Item = &'s Segment>,
    right: Right,
) -> Result<u64, Status> {
    segments.try_fold(0, |total, segment| {
        let grant = slots.local(segment, right).ok_or(Status::LocalProtection)?;
        Ok(total + grant.len as u64)
    })
}

/// From segments that are checked into one range that holds them all.
fn gather<'s>(slots: &Slots, from: impl Iterator<Item = &'s Segment>, mut into: Grant<'_>) {
    for grant in from.filter_map(|segment| slots.local(segment, Right::LocalRead)) {
        into = copy(grant, into, grant.len).1;
    }
    std::sync::atomic::fence(Ordering::Release);
}

/// From one range into segments that are checked and together as long.
fn scatter<'s>(slots: &Slots, mut from: Grant<'_>, into: impl Iterator<Item = &'s Segment>) {
    for grant in into.filter_map(|segment| slots.local(segment, Right::LocalWrite)) {
        from = copy(from, grant, grant.len).0;
    }
    std::sync::atomic::fence(Ordering::Release);
}

/// Copies as much as both have of `count`; returns what is left of either.
#[allow(unsafe_code)]
fn copy<'a, 'b>(mut from: Grant<'a>, mut into: Grant<'b>, count: usize) -> (Grant<'a>, Grant<'b>) {
    let count = count.min(from.len).min(into.len);
    // SAFETY: both ranges lie within registrations that cannot end while their tables are held, as the grants'
    // lifetimes say, and so within live memory; `count` is within both; `copy` allows them to overlap. That
    // others may touch the bytes meanwhile is the nature of RDMA: they are plain bytes, handed over by
    // completions.
    unsafe {
        std::ptr::copy(from.pointer, into.pointer, count);
        from.pointer = from.pointer.add(count);
        into.pointer = into.pointer.add(count);
    }
    from.len -= count;
    into.len -= count;
    (from, into)
}
