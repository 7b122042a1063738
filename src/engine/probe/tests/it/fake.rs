//! A datastore in memory with latencies, stalls, failures and corruption made to order.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use plimsoll_initiator::{
    Completion, Datastore, Error, FlowCounters, FlowState, Op, OpKind, Outcome, Payload, Sink,
};

/// What the datastore does with the operation number `n`.
pub type Behaviour = dyn Fn(u64) -> (Duration, Outcome) + Send + Sync;

/// Shared content, so that several workers see the same datastore.
pub type Memory = Arc<Mutex<Vec<u8>>>;

pub struct Fake {
    capacity: u64,
    behaviour: Arc<Behaviour>,
    memory: Option<Memory>,
    waiting: BinaryHeap<Reverse<(Instant, u64)>>,
    ops: Vec<Option<(Op, Instant, Outcome)>>,
    max: usize,
    count: u64,
    /// Nothing completes in this part of each second of the datastore's life.
    stall: Option<(Duration, Duration)>,
    opened: Instant,
    turn: Instant,
    flows: Vec<FlowCounters>,
    /// Completions are stamped with the time they were due: the test's clock has no jitter. Otherwise with
    /// the time they were delivered, as a client does.
    exact: bool,
    /// Flow of the operation number `n`.
    pub spread: fn(u64) -> usize,
}

impl Fake {
    pub fn new(behaviour: impl Fn(u64) -> (Duration, Outcome) + Send + Sync + 'static) -> Self {
        let now = Instant::now();
        Self {
            capacity: 64 << 20,
            behaviour: Arc::new(behaviour),
            memory: None,
            waiting: BinaryHeap::new(),
            ops: vec![None; 4096],
            max: 4096,
            count: 0,
            stall: None,
            opened: now,
            turn: now,
            flows: vec![
                FlowCounters {
                    name: "fake".to_owned(),
                    state: FlowState::Up,
                    ..FlowCounters::default()
                };
                2
            ],
            exact: true,
            spread: |n| usize::from(n % 2 == 1),
        }
    }

    pub fn steady(latency: Duration) -> Self {
        Self::new(move |_| (latency, Outcome::Done))
    }

    pub fn with_memory(mut self, memory: &Memory) -> Self {
        self.capacity = memory.lock().unwrap().len() as u64;
        self.memory = Some(Arc::clone(memory));
        self
    }

    pub fn with_stall(mut self, from: Duration, until: Duration) -> Self {
        self.stall = Some((from, until));
        self
    }

    pub fn with_queue(mut self, max: usize) -> Self {
        self.max = max;
        self
    }

    pub fn stamped_when_delivered(mut self) -> Self {
        self.exact = false;
        self
    }

    /// The end of the stall if `at` lies in it.
    fn after_stall(&self, at: Instant) -> Instant {
        match self.stall {
            Some((from, until)) if at >= self.opened + from && at < self.opened + until => {
                self.opened + until
            }
            _ => at,
        }
    }

    fn finish(&mut self, tag: u64, now: Instant, sink: &mut dyn Sink) {
        let (op, issued, outcome) = self.ops[tag as usize].take().expect("under way");
        let flow = (self.spread)(self.count);
        self.count += 1;
        let counters = &mut self.flows[flow];
        if outcome == Outcome::Done {
            match op.kind {
                OpKind::Read => {
                    counters.reads += 1;
                    counters.read_bytes += u64::from(op.len);
                    if let Some(memory) = &self.memory {
                        let (from, len) = (op.offset as usize, op.len as usize);
                        let bytes = memory.lock().unwrap()[from..from + len].to_vec();
                        // In two pieces, as a network does.
                        let half = len / 2;
                        sink.data(tag, 0, &bytes[..half]);
                        sink.data(tag, half as u32, &bytes[half..]);
                    } else {
                        sink.data(tag, 0, &[1; 512]);
                    }
                }
                _ => {
                    counters.writes += 1;
                    counters.written_bytes += u64::from(op.len);
                }
            }
        }
        let bytes = if outcome == Outcome::Done { op.len } else { 0 };
        sink.done(Completion { tag, flow: flow as u16, outcome, issued, completed: now, bytes });
    }
}

impl Datastore for Fake {
    fn capacity_bytes(&self) -> u64 {
        self.capacity
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn identity(&self) -> &str {
        "fake-serial"
    }

    fn can_submit(&self) -> bool {
        self.waiting.len() < self.max
    }

    fn submit(&mut self, op: &Op, data: Option<Payload>) -> Result<(), Error> {
        assert!(op.offset + u64::from(op.len) <= self.capacity, "beyond the end");
        assert_eq!(op.kind == OpKind::Write, data.is_some());
        assert!(self.ops[op.tag as usize].is_none(), "the tag is under way");
        let (latency, outcome) = (self.behaviour)(self.count + self.waiting.len() as u64);
        if let (Some(memory), Some(data), Outcome::Done) = (&self.memory, &data, outcome) {
            let mut bytes = Vec::new();
            data.copy_to(&mut bytes);
            let from = op.offset as usize;
            memory.lock().unwrap()[from..from + bytes.len()].copy_from_slice(&bytes);
        }
        let now = Instant::now();
        self.turn = now;
        self.waiting.push(Reverse((self.after_stall(now + latency), op.tag)));
        self.ops[op.tag as usize] = Some((*op, now, outcome));
        Ok(())
    }

    fn poll(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> Result<usize, Error> {
        let until = Instant::now() + wait.unwrap_or(Duration::from_secs(1));
        let mut done = 0;
        loop {
            let now = Instant::now();
            while let Some(&Reverse((due, tag))) = self.waiting.peek() {
                if due > now {
                    break;
                }
                self.waiting.pop();
                self.finish(tag, if self.exact { due } else { now }, sink);
                done += 1;
            }
            if done > 0 || now >= until {
                return Ok(done);
            }
            let next = self.waiting.peek().map_or(until, |entry| entry.0.0.min(until));
            let left = next.saturating_duration_since(now);
            if left > Duration::from_micros(200) {
                std::thread::sleep(left - Duration::from_micros(150));
            } else {
                std::hint::spin_loop();
            }
        }
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    fn flows(&self) -> Vec<FlowCounters> {
        self.flows.clone()
    }

    fn close(&mut self, _sink: &mut dyn Sink) {}
}

/// Completes everything at once: what is left is the cost of the generator.
pub struct Null {
    queue: Vec<Op>,
    issued: Instant,
    pub done: u64,
}

impl Null {
    pub fn new() -> Self {
        Self { queue: Vec::with_capacity(256), issued: Instant::now(), done: 0 }
    }
}

impl Datastore for Null {
    fn capacity_bytes(&self) -> u64 {
        1 << 40
    }

    fn block_bytes(&self) -> u32 {
        512
    }

    fn identity(&self) -> &str {
        "null"
    }

    fn can_submit(&self) -> bool {
        self.queue.len() < 256
    }

    fn submit(&mut self, op: &Op, _data: Option<Payload>) -> Result<(), Error> {
        self.queue.push(*op);
        Ok(())
    }

    fn poll(&mut self, _wait: Option<Duration>, sink: &mut dyn Sink) -> Result<usize, Error> {
        let now = Instant::now();
        let count = self.queue.len();
        for op in self.queue.drain(..) {
            sink.done(Completion {
                tag: op.tag,
                flow: 0,
                outcome: Outcome::Done,
                issued: self.issued,
                completed: now,
                bytes: op.len,
            });
        }
        self.done += count as u64;
        self.issued = now;
        Ok(count)
    }

    fn in_flight(&self) -> usize {
        self.queue.len()
    }

    fn flows(&self) -> Vec<FlowCounters> {
        vec![FlowCounters {
            name: "null".to_owned(),
            state: FlowState::Up,
            ..FlowCounters::default()
        }]
    }

    fn close(&mut self, _sink: &mut dyn Sink) {}
}
