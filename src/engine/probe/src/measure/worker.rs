//! A worker: one thread, one datastore object, one loop that issues and collects.
//!
//! One clock reading a turn; per I/O only a draw, a submit and a histogram record. Seconds are cut by the
//! completion's own time, so a long turn does not smear them. After the time is over nothing new is issued
//! and what is under way is waited for; in the open loop its latency still counts, otherwise the slowest
//! I/Os would be left out.

mod fill;

use std::time::{Duration, Instant};

use plimsoll_initiator::{
    Completion, Datastore, Error as ClientError, FlowCounters, Op, OpKind, Outcome, Sink,
};

use super::{
    CpuClock, CpuSeconds, Link, Pacer,
    link::{Event, Seat},
    tally::{Flow, Interval, WorkerEnd},
};
use crate::{
    Error, Result,
    generate::{Addresses, Buffers, Next, Stamps, Verdict},
    workload::{Load, Workload},
};

/// Longest wait: how late a stop is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(50);
/// An arrival so near is waited for awake; sleeping would miss it.
const AWAKE_BEFORE_DUE: Duration = Duration::from_micros(60);
/// Patience with what is under way when the time is over.
const DRAIN_PATIENCE: Duration = Duration::from_secs(10);
/// Places tried before an I/O that would meet another one waits.
const CONFLICT_DRAWS: u32 = 64;
/// Examples kept of failures and of wrong blocks.
const EXAMPLES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Ramp,
    Measure,
    Drain,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    busy: bool,
    kind: OpKind,
    len: u32,
    offset: u64,
    intended: Instant,
}

struct Core<'a> {
    link: &'a Link,
    id: usize,
    addresses: Addresses,
    buffers: Buffers,
    pacer: Option<Pacer>,
    stamps: Option<Stamps>,
    read_back: Vec<Vec<u8>>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    depth: usize,
    pending: Option<Next>,
    start: Instant,
    measure_start: Instant,
    end: Instant,
    phase: Phase,
    interval: Box<Interval>,
    interval_start: Instant,
    interval_end: Instant,
    last_turn: Instant,
    /// I/Os under way since the last turn.
    waiting: f64,
    pause_until: Option<Instant>,
    limit_left: Option<u64>,
    /// Bytes issued in this turn, for the budget of all workers.
    issued_bytes: u64,
    last_words: WorkerEnd,
}

/// Runs a worker from opening to its end; everything it has to say goes to the link.
pub fn serve(seat: &Seat, open: &dyn Fn(&Seat) -> Result<Box<dyn Datastore>>, link: &Link) {
    if let Err(error) = attend(seat, open, link) {
        link.tell(Event::Failed { id: seat.id, error: error.to_string() });
    }
}

fn attend(
    seat: &Seat,
    open: &dyn Fn(&Seat) -> Result<Box<dyn Datastore>>,
    link: &Link,
) -> Result<()> {
    let mut datastore = open(seat)?;
    let capacity_bytes = datastore.capacity_bytes();
    let workload = &seat.workload;
    workload.check(capacity_bytes, datastore.block_bytes())?;
    let identity = datastore.identity().to_owned();
    let (base, size) = Addresses::new(workload, seat.worker, capacity_bytes).range();
    let mut stamps = workload.integrity.then(|| Stamps::new(workload, seat.run, base, size));
    if workload.prefill {
        stamps = fill::fill(seat, &mut *datastore, stamps, link)?;
    }
    let mut core = Core::new(seat, workload, capacity_bytes, stamps, link);
    link.tell(Event::Ready { id: seat.id, capacity_bytes, identity });
    let Some(start) = link.gate.wait() else {
        core.close(&mut *datastore);
        return Ok(());
    };
    while Instant::now() < start && !link.stopped() {
        std::thread::sleep(start.saturating_duration_since(Instant::now()).min(LONGEST_WAIT));
    }
    core.begin(start, workload);
    let outcome = core.run(seat, &mut *datastore);
    core.close(&mut *datastore);
    outcome?;
    let end = Box::new(core.last_words);
    link.tell(Event::End { id: seat.id, end });
    Ok(())
}

fn poll(
    datastore: &mut dyn Datastore,
    wait: Option<Duration>,
    core: &mut Core<'_>,
    url: &str,
) -> Result<usize> {
    datastore.poll(wait, core).map_err(|source| Error::Datastore { url: url.to_owned(), source })
}

impl<'a> Core<'a> {
    fn new(
        seat: &Seat,
        workload: &Workload,
        capacity_bytes: u64,
        stamps: Option<Stamps>,
        link: &'a Link,
    ) -> Self {
        let now = Instant::now();
        let pacer = match workload.load {
            Load::Closed => None,
            Load::Open { iops, arrivals } => {
                let rate = iops / f64::from(workload.workers);
                Some(Pacer::new(rate, arrivals, workload.seed, seat.worker, workload.workers))
            }
        };
        let depth = workload.depth as usize;
        let block = workload.max_block_bytes();
        let slot = Slot { busy: false, kind: OpKind::Read, len: 0, offset: 0, intended: now };
        let limit_left = workload.limit_bytes.map(|bytes| bytes / u64::from(workload.workers));
        Self {
            link,
            id: seat.id,
            addresses: Addresses::new(workload, seat.worker, capacity_bytes),
            buffers: Buffers::new(
                workload.depth,
                block,
                workload.data,
                workload.seed ^ seat.run,
                seat.worker,
            ),
            pacer,
            read_back: if stamps.is_some() { vec![Vec::new(); depth] } else { Vec::new() },
            stamps,
            slots: vec![slot; depth],
            free: (0..workload.depth).rev().collect(),
            depth,
            pending: None,
            start: now,
            measure_start: now,
            end: now,
            phase: Phase::Ramp,
            interval: Box::default(),
            interval_start: now,
            interval_end: now,
            last_turn: now,
            waiting: 0.0,
            pause_until: None,
            limit_left,
            issued_bytes: 0,
            last_words: WorkerEnd::default(),
        }
    }

    fn begin(&mut self, start: Instant, workload: &Workload) {
        self.start = start;
        self.measure_start = start + Duration::from_secs_f64(workload.ramp_seconds);
        self.end = self.measure_start + Duration::from_secs_f64(workload.seconds);
        self.phase = if workload.ramp_seconds > 0.0 { Phase::Ramp } else { Phase::Measure };
        self.last_turn = start;
        self.open_interval(start, 0);
    }

    fn run(&mut self, seat: &Seat, datastore: &mut dyn Datastore) -> Result<()> {
        let mut baseline: Option<(CpuClock, Vec<FlowCounters>, Instant)> = None;
        loop {
            let now = Instant::now();
            self.turn(now);
            if self.phase == Phase::Measure && baseline.is_none() {
                baseline = Some((CpuClock::start(), datastore.flows(), now));
            }
            if self.link.stopped() || (self.limit_left == Some(0) && self.idle()) {
                self.finish_measuring(now);
            }
            if self.phase == Phase::Drain {
                break;
            }
            self.issue(datastore, now, &seat.url)?;
            let wait = self.wait(now);
            self.note_waiting();
            poll(datastore, Some(wait), self, &seat.url)?;
        }
        let over = self.end;
        let (cpu, before, since) = match baseline {
            Some((clock, flows, since)) => (clock.elapsed(), flows, since),
            None => (CpuSeconds::default(), Vec::new(), over),
        };
        let after = datastore.flows();
        let time = over.saturating_duration_since(since);
        self.last_words.measured_seconds =
            over.saturating_duration_since(self.measure_start).as_secs_f64();
        self.last_words.cpu = cpu;
        self.last_words.reached_limit = self.limit_left == Some(0);
        self.last_words.flows = after
            .iter()
            .enumerate()
            .map(|(index, flow)| Flow::between(before.get(index), flow, seat.worker, time))
            .collect();
        self.count_backlog();
        self.drain(seat, datastore)
    }

    /// Waits for what is under way.
    fn drain(&mut self, seat: &Seat, datastore: &mut dyn Datastore) -> Result<()> {
        let patience = if self.link.stopped() { DRAIN_PATIENCE / 5 } else { DRAIN_PATIENCE };
        let until = Instant::now() + patience;
        while !self.idle() && Instant::now() < until {
            poll(datastore, Some(LONGEST_WAIT), self, &seat.url)?;
        }
        self.last_words.unfinished = (self.depth - self.free.len()) as u64;
        if self.interval.late {
            self.send_interval();
        }
        Ok(())
    }

    fn close(&mut self, datastore: &mut dyn Datastore) {
        datastore.close(self);
    }

    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    fn note_waiting(&mut self) {
        self.waiting = (self.depth - self.free.len()) as f64;
    }

    fn idle(&self) -> bool {
        self.free.len() == self.depth
    }

    /// Accounts for the time since the last turn and cuts the second.
    fn turn(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.last_turn);
        self.last_turn = now;
        self.interval.in_flight_seconds += self.waiting * passed.as_secs_f64();
        self.interval.turns += 1;
        self.spend();
        if now >= self.interval_end {
            self.roll(now);
        }
    }

    /// Takes what was issued from the common budget, once a turn.
    fn spend(&mut self) {
        if self.issued_bytes > 0 {
            self.link.spend(std::mem::take(&mut self.issued_bytes));
        }
    }

    /// Ends all intervals that are over at `now`.
    #[cold]
    fn roll(&mut self, now: Instant) {
        while self.phase != Phase::Drain && now >= self.interval_end {
            let (at, second) = (self.interval_end, self.interval.second + 1);
            self.end_interval(at);
            if at >= self.end {
                self.enter_drain(at);
                return;
            }
            if at >= self.measure_start {
                self.phase = Phase::Measure;
            }
            self.open_interval(at, second);
        }
    }

    fn open_interval(&mut self, at: Instant, second: u32) {
        let boundary = if self.phase == Phase::Ramp { self.measure_start } else { self.end };
        self.interval.second = second;
        self.interval.ramp = self.phase == Phase::Ramp;
        self.interval_start = at;
        self.interval_end = boundary.min(at + Duration::from_secs(1));
    }

    fn end_interval(&mut self, at: Instant) {
        self.interval.seconds = at.saturating_duration_since(self.interval_start).as_secs_f64();
        self.interval.in_flight = u32::try_from(self.depth - self.free.len()).unwrap_or(u32::MAX);
        self.send_interval();
    }

    fn send_interval(&mut self) {
        let interval = std::mem::replace(&mut self.interval, self.link.fresh_interval());
        self.link.tell(Event::Second { id: self.id, interval });
    }

    /// Ends the measurement before its time.
    fn finish_measuring(&mut self, now: Instant) {
        if self.phase != Phase::Drain {
            let now = now.max(self.interval_start);
            self.end_interval(now);
            self.end = now;
            self.measure_start = self.measure_start.min(now);
            self.enter_drain(now);
        }
    }

    fn enter_drain(&mut self, at: Instant) {
        self.phase = Phase::Drain;
        self.interval.late = true;
        self.interval_start = at;
    }

    fn count_backlog(&mut self) {
        let Some(pacer) = &mut self.pacer else { return };
        while self.start + Duration::from_nanos(pacer.due_nanos()) < self.end {
            self.last_words.backlog += 1;
            pacer.advance();
            if self.last_words.backlog >= 10_000_000 {
                return;
            }
        }
    }

    fn issue(&mut self, datastore: &mut dyn Datastore, now: Instant, url: &str) -> Result<()> {
        if let Some(until) = self.pause_until {
            if now < until {
                return Ok(());
            }
            self.pause_until = None;
        }
        let since_start = self.pacer.as_ref().map(|_| {
            u64::try_from(now.saturating_duration_since(self.start).as_nanos()).unwrap_or(u64::MAX)
        });
        while !self.free.is_empty() && datastore.can_submit() {
            let mut intended = now;
            if let (Some(pacer), Some(since_start)) = (&self.pacer, since_start) {
                let due = pacer.due_nanos();
                if due > since_start {
                    break;
                }
                intended = self.start + Duration::from_nanos(due);
            }
            let Some(next) = self.next() else { break };
            if let Some(left) = &mut self.limit_left
                && self.phase == Phase::Measure
            {
                if *left == 0 {
                    break;
                }
                *left = left.saturating_sub(u64::from(next.len));
            }
            match self.submit(datastore, next, intended) {
                Ok(()) => {}
                Err(ClientError::Full) => {
                    if let Some(left) = &mut self.limit_left {
                        *left += u64::from(next.len);
                    }
                    self.pending = Some(next);
                    break;
                }
                Err(source) => return Err(Error::Datastore { url: url.to_owned(), source }),
            }
            if let Some(pacer) = &mut self.pacer {
                pacer.advance();
            }
            if next.pause_nanos > 0 {
                self.pause_until = Some(now + Duration::from_nanos(next.pause_nanos));
                break;
            }
        }
        Ok(())
    }

    /// The next I/O; `None` when every place tried is being written.
    fn next(&mut self) -> Option<Next> {
        if let Some(next) = self.pending.take() {
            return Some(next);
        }
        let Some(stamps) = &self.stamps else { return Some(self.addresses.draw()) };
        for _ in 0..CONFLICT_DRAWS {
            let next = self.addresses.draw();
            if !stamps.conflicts(next.offset, next.len, next.kind == OpKind::Write) {
                return Some(next);
            }
        }
        None
    }

    #[inline]
    fn submit(
        &mut self,
        datastore: &mut dyn Datastore,
        next: Next,
        intended: Instant,
    ) -> std::result::Result<(), ClientError> {
        let Some(&slot) = self.free.last() else { return Err(ClientError::Full) };
        let op = Op { tag: u64::from(slot), kind: next.kind, offset: next.offset, len: next.len };
        let payload = match (next.kind, &mut self.stamps) {
            (OpKind::Write, None) => Some(self.buffers.payload(slot, next.len)),
            (OpKind::Write, Some(stamps)) => {
                let buffer = self.buffers.writable(slot);
                stamps.begin_write(next.offset, &mut buffer[..next.len as usize]);
                Some(self.buffers.filled(slot, next.len))
            }
            (_, Some(stamps)) => {
                stamps.begin_read(next.offset, next.len);
                self.read_back[slot as usize].clear();
                self.read_back[slot as usize].resize(next.len as usize, 0);
                None
            }
            _ => None,
        };
        datastore.submit(&op, payload).inspect_err(|_| {
            if let Some(stamps) = &mut self.stamps {
                match next.kind {
                    OpKind::Write => stamps.cancel_write(next.offset, next.len),
                    _ => stamps.end_read(next.offset, next.len),
                }
            }
        })?;
        self.free.pop();
        self.issued_bytes += u64::from(next.len);
        self.slots[slot as usize] =
            Slot { busy: true, kind: next.kind, len: next.len, offset: next.offset, intended };
        Ok(())
    }

    /// How long the next poll may wait.
    fn wait(&self, now: Instant) -> Duration {
        let mut wait = LONGEST_WAIT.min(self.interval_end.saturating_duration_since(now));
        if let Some(until) = self.pause_until {
            wait = wait.min(until.saturating_duration_since(now));
        } else if let Some(pacer) = &self.pacer
            && !self.free.is_empty()
        {
            let due = self.start + Duration::from_nanos(pacer.due_nanos());
            let left = due.saturating_duration_since(now);
            wait = wait.min(if left <= AWAKE_BEFORE_DUE {
                Duration::ZERO
            } else {
                left - AWAKE_BEFORE_DUE
            });
        }
        wait
    }

    #[cold]
    fn failed(&mut self, slot: Slot, outcome: Outcome) {
        self.interval.failures.count(&outcome);
        if self.last_words.failure_examples.len() < EXAMPLES {
            let kind = if slot.kind == OpKind::Read { "read" } else { "write" };
            self.last_words
                .failure_examples
                .push(format!("{kind} of {} bytes at {}: {outcome:?}", slot.len, slot.offset));
        }
    }

    fn verify(&mut self, index: usize, slot: Slot, outcome: Outcome) {
        let Some(stamps) = &mut self.stamps else { return };
        if slot.kind == OpKind::Write {
            stamps.end_write(slot.offset, slot.len, outcome == Outcome::Done);
            return;
        }
        stamps.end_read(slot.offset, slot.len);
        if outcome != Outcome::Done {
            return;
        }
        let data = &self.read_back[index];
        let examples = &mut self.last_words.corrupt_examples;
        let interval = &mut self.interval;
        let unit = stamps.unit_bytes();
        stamps.check(slot.offset, data, |offset, verdict| match verdict {
            Verdict::Good => {}
            Verdict::Unknown => interval.unstamped_bytes += unit,
            wrong => {
                interval.failures.corrupt += 1;
                if examples.len() < EXAMPLES {
                    examples.push(format!("block at {offset}: {}", wrong.words()));
                }
            }
        });
    }
}

impl Sink for Core<'_> {
    #[inline]
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        if at == 0 && bytes.first_chunk::<16>() == Some(&[0; 16]) {
            self.interval.empty_reads += 1;
        }
        if self.stamps.is_some() {
            let (slot, at) = (usize::try_from(tag).unwrap_or(usize::MAX), at as usize);
            let place = self
                .read_back
                .get_mut(slot)
                .and_then(|buffer| buffer.get_mut(at..at + bytes.len()));
            if let Some(place) = place {
                place.copy_from_slice(bytes);
            }
        }
    }

    #[inline]
    fn done(&mut self, completion: Completion) {
        if completion.completed >= self.interval_end && self.phase != Phase::Drain {
            self.roll(completion.completed);
        }
        let index = usize::try_from(completion.tag).unwrap_or(usize::MAX);
        let Some(slot) = self.slots.get_mut(index).filter(|slot| slot.busy) else {
            debug_assert!(false, "completion of a tag that is not under way");
            return;
        };
        slot.busy = false;
        let slot = *slot;
        #[expect(clippy::cast_possible_truncation, reason = "indexes are below the depth, a u32")]
        self.free.push(index as u32);
        if self.stamps.is_some() {
            self.verify(index, slot, completion.outcome);
        }
        if completion.outcome != Outcome::Done {
            self.failed(slot, completion.outcome);
            return;
        }
        let is_open = self.pacer.is_some();
        if self.phase == Phase::Drain && !is_open {
            return;
        }
        let service = nanos(completion.completed.saturating_duration_since(completion.issued));
        let mut latency = service;
        if is_open {
            latency = nanos(completion.completed.saturating_duration_since(slot.intended));
            self.interval.service.record(service);
        }
        let direction = match slot.kind {
            OpKind::Read => &mut self.interval.read,
            _ => &mut self.interval.write,
        };
        direction.record(completion.bytes, latency);
    }
}

#[inline]
fn nanos(duration: Duration) -> u64 {
    duration.as_secs() * 1_000_000_000 + u64::from(duration.subsec_nanos())
}
