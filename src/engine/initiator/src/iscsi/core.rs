//! The operations of a unit, whatever paths they take: splitting, retries, reissues, the one completion each.
//!
//! A part of an operation is in exactly one place: with a session, in a flow's queue, among the delayed, the
//! stranded or those to be given out again. An operation leaves the slab with its last part, and only then is
//! it completed; that is why none is lost and none completed twice.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use plimsoll_wire::iscsi::pdu::Residual;
use plimsoll_wire::scsi::{LunField, Sense as WireSense, SenseKey, Status};
use slab::Slab;

use super::policy::Selector;
use super::session::{Command, Owner, Part, Reply, Upper};
use crate::{
    Completion, FlowCounters, LostReason, Op, OpKind, Options, Outcome, Payload, Sense, Sink,
};

/// Retries of a part for transient conditions that need no wait (unit attentions, aborted commands).
const MAX_ATTENTIONS: u8 = 32;
/// First wait after BUSY or TASK SET FULL; doubled up to the longest.
const FIRST_DELAY: Duration = Duration::from_millis(1);
const MAX_DELAY: Duration = Duration::from_millis(100);

pub(super) struct OpState {
    pub op: Op,
    data: Option<Payload>,
    pub issued: Instant,
    parts: u32,
    moved: u32,
    outcome: Outcome,
}

/// All operations of a unit and the state of its policy.
pub(super) struct Core {
    ops: Slab<OpState>,
    pub selector: Selector,
    pub counters: Vec<FlowCounters>,
    /// Parts to be given out again at once.
    pub redo: VecDeque<Part>,
    /// Parts that wait out a back-off, and until when.
    delayed: Vec<(Instant, Part)>,
    /// Parts without a path.
    pub stranded: VecDeque<Part>,
    pub block_bytes: u32,
    /// Longest part in bytes.
    pub max_part: u32,
    pub lun: LunField,
    pub op_timeout: Duration,
    /// Losses after which an operation is given up.
    max_lost: u8,
    /// Paths whose unit or state changed, by a unit attention or not-ready answer.
    pub changed: Vec<usize>,
    /// Flows that answered TASK SET FULL.
    pub full: Vec<usize>,
}

impl Core {
    pub fn new(selector: Selector, flows: usize, lun: LunField, options: &Options) -> Self {
        Self {
            ops: Slab::new(),
            selector,
            counters: vec![FlowCounters::default(); flows],
            redo: VecDeque::new(),
            delayed: Vec::new(),
            stranded: VecDeque::new(),
            block_bytes: 512,
            max_part: 1 << 20,
            lun,
            op_timeout: options.op_timeout,
            max_lost: options.max_losses,
            changed: Vec::new(),
            full: Vec::new(),
        }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Takes an operation in; gives its slot.
    #[inline]
    pub fn insert(&mut self, op: &Op, data: Option<Payload>, issued: Instant) -> u32 {
        let parts = op.len.div_ceil(self.max_part).max(1);
        let state = OpState { op: *op, data, issued, parts, moved: 0, outcome: Outcome::Done };
        self.ops.insert(state) as u32
    }

    /// The parts of an operation that was just taken in.
    #[inline]
    pub fn parts(&self, op: u32, len: u32) -> impl Iterator<Item = Part> + use<> {
        let max = self.max_part;
        (0..len.div_ceil(max).max(1)).map(move |index| {
            let at = index * max;
            Part { op, at, len: max.min(len - at), attempts: 0, lost: 0 }
        })
    }

    /// The SCSI command of a part: READ(16), WRITE(16) or SYNCHRONIZE CACHE(16) (SBC-4 5.13, 5.41, 5.28).
    #[inline]
    pub fn command(&self, part: Part) -> Command {
        const READ_16: u8 = 0x88;
        const WRITE_16: u8 = 0x8a;
        const SYNCHRONIZE_CACHE_16: u8 = 0x91;
        let state = &self.ops[part.op as usize];
        let lba = (state.op.offset + u64::from(part.at)) / u64::from(self.block_bytes);
        let mut cdb = [0; 16];
        cdb[2..10].copy_from_slice(&lba.to_be_bytes());
        cdb[10..14].copy_from_slice(&(part.len / self.block_bytes).to_be_bytes());
        let (opcode, read, write) = match state.op.kind {
            OpKind::Read => (READ_16, part.len, None),
            OpKind::Write => {
                let data = state.data.clone().map(|mut data| {
                    data.advance(part.at as usize);
                    data.split_to(part.len as usize)
                });
                (WRITE_16, 0, data)
            }
            OpKind::Flush => {
                cdb[2..14].fill(0);
                (SYNCHRONIZE_CACHE_16, 0, None)
            }
        };
        cdb[0] = opcode;
        Command { owner: Owner::Part(part), lun: self.lun, cdb, read, write, issued: state.issued }
    }

    /// Ends a part; with the last, the operation. Returns 1 when the operation is completed.
    #[inline]
    fn end_part(
        &mut self,
        part: Part,
        outcome: Outcome,
        moved: u32,
        flow: usize,
        now: Instant,
        sink: &mut dyn Sink,
    ) -> usize {
        let slot = part.op as usize;
        let state = &mut self.ops[slot];
        state.parts -= 1;
        state.moved += moved;
        if outcome != Outcome::Done && state.outcome == Outcome::Done {
            state.outcome = outcome;
        }
        if state.parts > 0 {
            return 0;
        }
        let state = self.ops.remove(slot);
        let counters = &mut self.counters[flow];
        let bytes = u64::from(state.moved);
        match (state.outcome, state.op.kind) {
            (Outcome::Done, OpKind::Read) => {
                counters.reads += 1;
                counters.read_bytes += bytes;
            }
            (Outcome::Done, OpKind::Write) => {
                counters.writes += 1;
                counters.written_bytes += bytes;
            }
            (Outcome::Done, OpKind::Flush) => {}
            (Outcome::ReservationConflict, _) => {}
            _ => counters.errors += 1,
        }
        sink.done(Completion {
            tag: state.op.tag,
            flow: flow as u16,
            outcome: state.outcome,
            issued: state.issued,
            completed: now,
            bytes: state.moved,
        });
        1
    }

    /// Gives out parts of a lost connection again, or ends them.
    pub fn lost(
        &mut self,
        mut part: Part,
        aborting: bool,
        flow: usize,
        now: Instant,
        sink: &mut dyn Sink,
    ) -> usize {
        self.selector.finished(flow, None);
        part.lost = part.lost.saturating_add(1);
        if aborting {
            return self.end_part(part, Outcome::Lost(LostReason::Timeout), 0, flow, now, sink);
        }
        if part.lost > self.max_lost {
            return self.end_part(part, Outcome::Lost(LostReason::Reissues), 0, flow, now, sink);
        }
        self.counters[flow].reissued += 1;
        self.redo.push_back(part);
        0
    }

    /// Ends every part that waits for a path.
    pub fn end_stranded(&mut self, reason: LostReason, now: Instant, sink: &mut dyn Sink) -> usize {
        let mut ended = 0;
        while let Some(part) = self.stranded.pop_front() {
            ended += self.end_part(part, Outcome::Lost(reason), 0, 0, now, sink);
        }
        ended
    }

    /// Ends everything that waits anywhere but with a flow.
    pub fn end_waiting(&mut self, reason: LostReason, now: Instant, sink: &mut dyn Sink) -> usize {
        self.stranded.append(&mut self.redo);
        self.stranded.extend(self.delayed.drain(..).map(|(_, part)| part));
        self.end_stranded(reason, now, sink)
    }

    /// Ends a part of a flow's queue that has waited too long.
    pub fn end_queued(
        &mut self,
        part: Part,
        flow: usize,
        reason: LostReason,
        now: Instant,
        sink: &mut dyn Sink,
    ) -> usize {
        self.selector.finished(flow, None);
        self.end_part(part, Outcome::Lost(reason), 0, flow, now, sink)
    }

    pub fn issued(&self, part: Part) -> Instant {
        self.ops[part.op as usize].issued
    }

    /// Moves parts whose back-off is over to those to be given out.
    pub fn release_delayed(&mut self, now: Instant) {
        let mut index = 0;
        while index < self.delayed.len() {
            if self.delayed[index].0 <= now {
                self.redo.push_back(self.delayed.swap_remove(index).1);
            } else {
                index += 1;
            }
        }
    }

    pub fn next_release(&self) -> Option<Instant> {
        self.delayed.iter().map(|(at, _)| *at).min()
    }
}

/// The core during one receive of one flow.
pub(super) struct Turn<'a> {
    pub core: &'a mut Core,
    pub sink: &'a mut dyn Sink,
    pub flow: usize,
    /// Read once, at the first frame after the receive.
    pub clock: Option<Instant>,
    pub completed: usize,
}

impl Turn<'_> {
    #[inline]
    fn now(&mut self) -> Instant {
        *self.clock.get_or_insert_with(Instant::now)
    }

    #[inline]
    fn end(&mut self, part: Part, outcome: Outcome, moved: u32) {
        let now = self.now();
        self.completed += self.core.end_part(part, outcome, moved, self.flow, now, self.sink);
    }

    /// Anything but plain success.
    #[cold]
    fn not_good(&mut self, mut part: Part, reply: &Reply<'_>) {
        let now = self.now();
        let flow = self.flow;
        let counters = &mut self.core.counters[flow];
        let waited_too_long = now.saturating_duration_since(reply.issued) >= self.core.op_timeout;
        let delay = (FIRST_DELAY * 2_u32.pow(u32::from(part.attempts.min(10)))).min(MAX_DELAY);
        part.attempts = part.attempts.saturating_add(1);
        if reply.response != 0 {
            // Target failure: the command did not get to the unit (section 11.4.3).
            if part.attempts > MAX_ATTENTIONS {
                return self.end(part, Outcome::Status(reply.status), 0);
            }
            self.core.delayed.push((now + delay, part));
            return;
        }
        let sense = WireSense::parse(reply.sense);
        let status = Status::from_code(reply.status);
        match (status, sense) {
            (Some(Status::Good | Status::ConditionMet), _) => {
                self.end(part, Outcome::Short, reply.received);
            }
            (Some(Status::Busy), _) => {
                counters.busy += 1;
                if waited_too_long {
                    return self.end(part, Outcome::Busy, 0);
                }
                self.core.delayed.push((now + delay, part));
            }
            (Some(Status::TaskSetFull), _) => {
                counters.task_set_full += 1;
                if waited_too_long {
                    return self.end(part, Outcome::TaskSetFull, 0);
                }
                self.core.full.push(flow);
                self.core.delayed.push((now + delay, part));
            }
            (Some(Status::TaskAborted), _) => {
                if part.attempts > MAX_ATTENTIONS {
                    return self.end(part, Outcome::Status(reply.status), 0);
                }
                self.core.delayed.push((now + delay, part));
            }
            (Some(Status::ReservationConflict), _) => {
                counters.reservation_conflicts += 1;
                self.end(part, Outcome::ReservationConflict, 0);
            }
            (Some(Status::CheckCondition), Some(sense)) => {
                self.check_condition(part, sense, now + delay);
            }
            _ => self.end(part, Outcome::Status(reply.status), 0),
        }
    }

    fn check_condition(&mut self, part: Part, sense: WireSense, retry_at: Instant) {
        let (asc, ascq) = (sense.additional.code, sense.additional.qualifier);
        let flow = self.flow;
        match sense.key {
            SenseKey::UnitAttention => {
                self.core.counters[flow].unit_attentions += 1;
                // 2A/06, 2A/07: access state; 2A/09: capacity; 3F/..: the unit itself.
                if matches!(asc, 0x2a | 0x3f) {
                    self.core.changed.push(flow);
                }
                if part.attempts > MAX_ATTENTIONS {
                    return self.end(part, Outcome::UnitAttention(asc, ascq), 0);
                }
                self.core.redo.push_back(part);
            }
            // 04/0A to 04/0C: in transition, standby, unavailable (SPC-5 5.18.2).
            SenseKey::NotReady if asc == 0x04 && matches!(ascq, 0x0a..=0x0c) => {
                if part.attempts > MAX_ATTENTIONS {
                    let key = sense.key as u8;
                    return self.end(part, Outcome::CheckCondition(Sense { key, asc, ascq }), 0);
                }
                self.core.changed.push(flow);
                self.core.delayed.push((retry_at, part));
            }
            SenseKey::AbortedCommand if part.attempts <= MAX_ATTENTIONS => {
                self.core.delayed.push((retry_at, part));
            }
            SenseKey::RecoveredError => self.end(part, Outcome::Done, part.len),
            key => {
                let sense = Sense { key: key as u8, asc, ascq };
                self.end(part, Outcome::CheckCondition(sense), 0);
            }
        }
    }
}

impl Upper for Turn<'_> {
    #[inline]
    fn data(&mut self, part: Part, at: u32, bytes: &[u8]) {
        let tag = self.core.ops[part.op as usize].op.tag;
        self.sink.data(tag, at, bytes);
    }

    #[inline]
    fn ended(&mut self, part: Part, reply: &Reply<'_>) {
        let now = self.now();
        let latency = now.saturating_duration_since(reply.issued);
        self.core.selector.finished(self.flow, Some(latency));
        let kind = self.core.ops[part.op as usize].op.kind;
        let whole = kind != OpKind::Read || reply.received == part.len;
        let good = reply.response == 0 && reply.status == 0 && reply.residual == Residual::None;
        if good && whole {
            self.end(part, Outcome::Done, part.len);
        } else {
            self.not_good(part, reply);
        }
    }

    #[cold]
    fn aborted(&mut self, part: Part) {
        self.core.selector.finished(self.flow, None);
        self.end(part, Outcome::Lost(LostReason::Timeout), 0);
    }
}
