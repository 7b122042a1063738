//! The client without its sockets: operations, the calls they are made of, and what replies mean.
//!
//! An operation above the server's limits is split into calls. Calls wait in one queue until a flow has room,
//! whether they are new, cut short by the server, or lost with a connection. New writes wait while data that a
//! restarted server lost is written again, lest the two cross.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_fabric::Payload;
use plimsoll_wire::nfs3::{Stability, Status, Verifier, WriteOk};
use slab::Slab;

use super::calls::{Call, Calls, Kind, MAX_CALLS, Owner};
use super::uncommitted::Uncommitted;
use crate::{Completion, FlowCounters, LostReason, Op, OpKind, Outcome, Sink};

/// Places kept free for COMMITs, rewrites and signs of life.
const RESERVED_CALLS: usize = 1024;
/// A call that was lost with so many connections is not sent again: it may be what breaks them.
const MAX_LOSSES: u8 = 8;
/// First and longest pause after NFS3ERR_JUKEBOX.
const JUKEBOX_PAUSE: Duration = Duration::from_millis(50);
const JUKEBOX_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Limits of the calls.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub read_bytes: u32,
    pub write_bytes: u32,
    pub commit_bytes: u64,
    pub stability: Stability,
}

/// An accepted operation.
struct Operation {
    tag: u64,
    offset: u64,
    issued: Instant,
    /// Calls without an outcome.
    calls: u32,
    bytes: u32,
    outcome: Outcome,
}

/// What came with a reply and is counted on its flow.
pub(super) struct Arrival<'a> {
    pub flow: u16,
    pub counters: &'a mut FlowCounters,
    pub now: Instant,
}

/// Operations and calls.
pub(super) struct Core {
    pub limits: Limits,
    pub calls: Calls,
    operations: Slab<Operation>,
    /// Calls to be sent, front first.
    pub waiting: VecDeque<u32>,
    /// New writes that wait for rewrites or for a COMMIT.
    pub(super) held: VecDeque<u32>,
    /// Calls that the server asked to send later.
    delayed: Vec<(Instant, u32)>,
    pub(super) uncommitted: Uncommitted,
    pub(super) sequence: u64,
    /// Flushes that wait for a COMMIT, and those that the COMMIT under way is for.
    pub(super) flushes: Vec<usize>,
    pub(super) committing: Vec<usize>,
    pub(super) commit_under_way: bool,
    pub(super) rewrites: usize,
    /// The verifier of the server's life that was last found to have lost data.
    pub(super) noticed: Option<Verifier>,
    /// Why data once accepted could not be made stable; the next flush tells.
    pub(super) deferred: Option<Outcome>,
    /// Completions since the last look.
    pub completions: usize,
}

impl Core {
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            calls: Calls::new(),
            operations: Slab::new(),
            waiting: VecDeque::new(),
            held: VecDeque::new(),
            delayed: Vec::new(),
            uncommitted: Uncommitted::default(),
            sequence: 0,
            flushes: Vec::new(),
            committing: Vec::new(),
            commit_under_way: false,
            rewrites: 0,
            noticed: None,
            deferred: None,
            completions: 0,
        }
    }

    /// Operations accepted and not completed.
    pub fn in_flight(&self) -> usize {
        self.operations.len()
    }

    /// Whether an operation of one call would be accepted.
    pub fn has_room(&self) -> bool {
        self.calls.room() > RESERVED_CALLS
    }

    /// Calls of an operation of `len` bytes, if they find room.
    pub fn fits(&self, op: &Op) -> bool {
        let piece =
            if op.kind == OpKind::Read { self.limits.read_bytes } else { self.limits.write_bytes };
        let calls = op.len.div_ceil(piece.max(1)) as usize;
        calls + RESERVED_CALLS <= self.calls.room() && calls + RESERVED_CALLS <= MAX_CALLS
    }

    /// Takes an operation in; its calls wait to be sent.
    pub fn accept(&mut self, op: &Op, payload: Option<Payload>, now: Instant) {
        let operation = self.operations.insert(Operation {
            tag: op.tag,
            offset: op.offset,
            issued: now,
            calls: 0,
            bytes: 0,
            outcome: Outcome::Done,
        });
        self.sequence += 1;
        let (kind, piece) = match op.kind {
            OpKind::Flush => return self.flushes.push(operation),
            OpKind::Read => (Kind::Read, self.limits.read_bytes),
            OpKind::Write => (Kind::Write, self.limits.write_bytes),
        };
        let (mut offset, mut left, mut rest) = (op.offset, op.len, payload);
        loop {
            let len = left.min(piece);
            let payload = rest.as_mut().map(|rest| rest.split_to(len as usize));
            let call =
                Call::new(kind, Owner::Operation(operation), offset, len, payload, self.sequence);
            let Some(xid) = self.calls.insert(call) else {
                debug_assert!(false, "`fits` was not asked");
                break;
            };
            self.operations[operation].calls += 1;
            if kind == Kind::Write && self.holds_writes() {
                self.held.push_back(xid);
            } else {
                self.waiting.push_back(xid);
            }
            offset += u64::from(len);
            left -= len;
            if left == 0 {
                break;
            }
        }
    }

    /// Where the data of a read goes: the operation's tag and the place of the call in it.
    pub fn place_of(&self, call: &Call) -> Option<(u64, u32)> {
        let Owner::Operation(operation) = call.owner else { return None };
        let operation = self.operations.get(operation)?;
        let at = u32::try_from(call.offset - operation.offset).ok()?;
        Some((operation.tag, at))
    }

    /// A READ brought all its `count` bytes, which are with the sink already.
    pub fn read_done(
        &mut self,
        xid: u32,
        count: u32,
        eof: bool,
        arrival: Arrival<'_>,
        sink: &mut dyn Sink,
    ) {
        let Some(call) = self.calls.get_mut(xid) else { return };
        arrival.counters.reads += 1;
        arrival.counters.read_bytes += u64::from(count);
        let Owner::Operation(operation) = call.owner else { return };
        if count >= call.len {
            self.end(xid, operation, count, Outcome::Done, &arrival, sink);
        } else if eof || count == 0 {
            self.end(xid, operation, count, Outcome::Short, &arrival, sink);
        } else {
            // A short read that is not at the end of the file: the rest is asked for.
            call.offset += u64::from(count);
            call.len -= count;
            self.operations[operation].bytes += count;
            self.again(xid);
        }
    }

    /// A WRITE was taken.
    pub fn write_done(
        &mut self,
        xid: u32,
        ok: &WriteOk,
        arrival: Arrival<'_>,
        sink: &mut dyn Sink,
    ) {
        let Some(call) = self.calls.get_mut(xid) else { return };
        arrival.counters.writes += 1;
        arrival.counters.written_bytes += u64::from(ok.count);
        let count = ok.count.min(call.len);
        let (sequence, offset, owner) = (call.sequence, call.offset, call.owner);
        if ok.committed == Stability::Unstable {
            if let Some(payload) = &mut call.payload {
                let written = payload.split_to(count as usize);
                self.uncommitted.unstable(sequence, offset, written, ok.verifier);
            }
        } else {
            if let Some(payload) = &mut call.payload {
                payload.advance(count as usize);
            }
            self.uncommitted.stable(sequence, offset, count);
        }
        if count < call.len && count > 0 {
            call.offset += u64::from(count);
            call.len -= count;
            if let Owner::Operation(operation) = owner {
                self.operations[operation].bytes += count;
            }
            return self.again(xid);
        }
        let outcome = if count < call.len { Outcome::Short } else { Outcome::Done };
        self.ended(xid, owner, count, outcome, &arrival, sink);
    }

    /// A call was answered with a status that is no success.
    pub fn failed(&mut self, xid: u32, status: Status, arrival: Arrival<'_>, sink: &mut dyn Sink) {
        let Some(call) = self.calls.get_mut(xid) else { return };
        if status == Status::JUKEBOX {
            arrival.counters.busy += 1;
            let pause = JUKEBOX_PAUSE * 2_u32.pow(u32::from(call.delays.min(6)));
            call.delays = call.delays.saturating_add(1);
            call.flow = None;
            if let Some(xid) = self.calls.renew(xid) {
                self.delayed.push((arrival.now + pause.min(JUKEBOX_PAUSE_MAX), xid));
            }
            return;
        }
        arrival.counters.errors += 1;
        let (kind, owner) = (call.kind, call.owner);
        let outcome = Outcome::Nfs(status.0);
        if kind == Kind::Commit {
            return self.commit_failed(xid, outcome, &arrival, sink);
        }
        self.ended(xid, owner, 0, outcome, &arrival, sink);
    }

    /// The connection of a call was lost: it waits to be sent again, with the same id.
    pub fn lost_with_connection(&mut self, xid: u32, arrival: Arrival<'_>, sink: &mut dyn Sink) {
        let Some(call) = self.calls.get_mut(xid) else { return };
        if call.kind == Kind::Null {
            self.calls.remove(xid);
            return;
        }
        call.flow = None;
        call.losses += 1;
        let owner = call.owner;
        if call.losses > MAX_LOSSES && matches!(owner, Owner::Operation(_)) {
            let outcome = Outcome::Lost(LostReason::Reissues);
            return self.ended(xid, owner, 0, outcome, &arrival, sink);
        }
        arrival.counters.reissued += 1;
        self.waiting.push_front(xid);
    }

    fn again(&mut self, xid: u32) {
        if let Some(call) = self.calls.get_mut(xid) {
            call.flow = None;
            if let Some(xid) = self.calls.renew(xid) {
                self.waiting.push_front(xid);
            }
        }
    }

    fn ended(
        &mut self,
        xid: u32,
        owner: Owner,
        bytes: u32,
        outcome: Outcome,
        arrival: &Arrival<'_>,
        sink: &mut dyn Sink,
    ) {
        match owner {
            Owner::Operation(operation) => {
                self.end(xid, operation, bytes, outcome, arrival, sink);
            }
            Owner::Rewrite => {
                self.calls.remove(xid);
                self.rewrites -= 1;
                if outcome != Outcome::Done {
                    self.deferred = Some(outcome);
                }
                self.release();
            }
            Owner::Client => {
                self.calls.remove(xid);
            }
        }
    }

    /// One call of an operation has its outcome; the last one completes it.
    fn end(
        &mut self,
        xid: u32,
        operation: usize,
        bytes: u32,
        outcome: Outcome,
        arrival: &Arrival<'_>,
        sink: &mut dyn Sink,
    ) {
        self.calls.remove(xid);
        let Some(found) = self.operations.get_mut(operation) else { return };
        found.bytes += bytes;
        found.calls -= 1;
        if found.outcome == Outcome::Done {
            found.outcome = outcome;
        }
        if found.calls == 0 {
            let outcome = found.outcome;
            self.complete(operation, outcome, arrival.flow, arrival.now, sink);
        }
    }

    pub(super) fn complete(
        &mut self,
        operation: usize,
        outcome: Outcome,
        flow: u16,
        now: Instant,
        sink: &mut dyn Sink,
    ) {
        let Some(operation) = self.operations.try_remove(operation) else { return };
        let Operation { tag, issued, bytes, .. } = operation;
        self.completions += 1;
        sink.done(Completion { tag, flow, outcome, issued, completed: now, bytes });
    }

    /// A sign of life to be asked for on one flow.
    pub fn null_call(&mut self, flow: u16) -> Option<u32> {
        self.calls.insert(Call {
            flow: Some(flow),
            ..Call::new(Kind::Null, Owner::Client, 0, 0, None, self.sequence)
        })
    }

    /// Calls whose pause is over wait to be sent again.
    pub fn end_pauses(&mut self, now: Instant) {
        let waiting = &mut self.waiting;
        self.delayed.retain(|(until, xid)| {
            let over = *until <= now;
            if over {
                waiting.push_back(*xid);
            }
            !over
        });
    }

    /// Operations older than `patience` end as lost; `owed` is told the flow of each call given up.
    pub fn expire(
        &mut self,
        patience: Duration,
        now: Instant,
        sink: &mut dyn Sink,
        owed: impl FnMut(u16),
    ) {
        let late: Vec<usize> = self
            .operations
            .iter()
            .filter(|(_, operation)| now.saturating_duration_since(operation.issued) > patience)
            .map(|(index, _)| index)
            .collect();
        self.give_up(&late, LostReason::Timeout, now, sink, owed);
    }

    /// Every operation ends as lost.
    pub fn give_up_all(&mut self, reason: LostReason, now: Instant, sink: &mut dyn Sink) {
        let all: Vec<usize> = self.operations.iter().map(|(index, _)| index).collect();
        self.give_up(&all, reason, now, sink, |_| {});
    }

    fn give_up(
        &mut self,
        operations: &[usize],
        reason: LostReason,
        now: Instant,
        sink: &mut dyn Sink,
        mut owed: impl FnMut(u16),
    ) {
        if operations.is_empty() {
            return;
        }
        let calls: Vec<u32> = self
            .calls
            .iter()
            .filter(|(_, call)| match call.owner {
                Owner::Operation(operation) => operations.contains(&operation),
                _ => false,
            })
            .map(|(xid, _)| xid)
            .collect();
        for xid in calls {
            if let Some(flow) = self.calls.remove(xid).and_then(|call| call.flow) {
                owed(flow);
            }
        }
        self.flushes.retain(|flush| !operations.contains(flush));
        self.committing.retain(|flush| !operations.contains(flush));
        for operation in operations {
            self.complete(*operation, Outcome::Lost(reason), 0, now, sink);
        }
        let calls = &self.calls;
        self.waiting.retain(|xid| calls.get(*xid).is_some());
        self.held.retain(|xid| calls.get(*xid).is_some());
        self.delayed.retain(|(_, xid)| calls.get(*xid).is_some());
    }
}
