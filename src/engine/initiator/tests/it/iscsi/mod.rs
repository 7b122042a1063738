//! The iSCSI initiator: a workload whose every completion and every byte is accounted for, against a scripted
//! target, tgt and whatever else speaks iSCSI.

mod fake;
mod iser;
mod misbehaving;
mod paths;
mod retries;
mod setup;
mod tgt;
mod transfers;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use plimsoll_initiator::{
    Completion, Datastore, Op, OpKind, Options, Outcome, Payload, Sink, open,
};

/// Options with short patience.
pub fn options() -> Options {
    Options {
        connect_timeout: Duration::from_secs(2),
        op_timeout: Duration::from_secs(5),
        keepalive: Duration::from_millis(300),
        path_timeout: Duration::from_secs(5),
        ..Options::default()
    }
}

/// Holds what a unit should contain, and checks each read against it and each completion against its submission.
pub struct Ledger {
    pub content: Vec<u8>,
    under_way: HashMap<u64, Op>,
    reads: HashMap<u64, Vec<u8>>,
    pub outcomes: HashMap<u64, Outcome>,
    pub completions: Vec<Completion>,
}

impl Ledger {
    pub fn new(content: Vec<u8>) -> Self {
        Self {
            content,
            under_way: HashMap::new(),
            reads: HashMap::new(),
            outcomes: HashMap::new(),
            completions: Vec::new(),
        }
    }

    pub fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.values().filter(|found| **found == outcome).count()
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

impl Sink for Ledger {
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        assert!(self.under_way.contains_key(&tag), "data for {tag}, which is not under way");
        let buffer = self.reads.get_mut(&tag).expect("data for something that is no read");
        buffer[at as usize..at as usize + bytes.len()].copy_from_slice(bytes);
    }

    fn done(&mut self, completion: Completion) {
        let tag = completion.tag;
        let op = self.under_way.remove(&tag).expect("completed twice or never submitted");
        assert!(self.outcomes.insert(tag, completion.outcome).is_none());
        assert!(completion.completed >= completion.issued);
        if let (OpKind::Read, Outcome::Done) = (op.kind, completion.outcome) {
            let buffer = self.reads.remove(&tag).expect("a read has a buffer");
            let at = op.offset as usize;
            assert!(buffer == self.content[at..at + op.len as usize], "read {op:?} differs");
            assert_eq!(completion.bytes, op.len);
        }
        self.completions.push(completion);
    }
}

/// A deterministic stream of numbers.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

pub struct Load {
    pub operations: u64,
    pub depth: usize,
    /// Of 100 operations, how many are writes.
    pub writes: u64,
    pub max_blocks: u64,
    pub seconds: u64,
}

/// Runs a mixed workload to its end. Writes never overlap anything under way, so that every read has one right
/// answer.
pub fn run(store: &mut dyn Datastore, ledger: &mut Ledger, load: &Load) {
    run_with(store, ledger, load, &mut |_, _| {});
}

pub fn run_with(
    store: &mut dyn Datastore,
    ledger: &mut Ledger,
    load: &Load,
    between: &mut dyn FnMut(u64, &mut dyn Datastore),
) {
    let mut random = Random(42);
    let block = u64::from(store.block_bytes());
    let blocks = ledger.content.len() as u64 / block;
    let end = Instant::now() + Duration::from_secs(load.seconds);
    let mut submitted = ledger.outcomes.len() as u64;
    let last = submitted + load.operations;
    while submitted < last || ledger.under_way() > 0 {
        assert!(Instant::now() < end, "{} operations never ended", ledger.under_way());
        while submitted < last && ledger.under_way() < load.depth && store.can_submit() {
            let len = 1 + random.next(load.max_blocks);
            let lba = random.next(blocks - len);
            let kind = if random.next(100) < load.writes { OpKind::Write } else { OpKind::Read };
            let op = Op { tag: submitted, kind, offset: lba * block, len: (len * block) as u32 };
            let overlaps = |other: &Op| {
                other.offset < op.offset + u64::from(op.len)
                    && op.offset < other.offset + u64::from(other.len)
                    && (other.kind == OpKind::Write || op.kind == OpKind::Write)
            };
            if ledger.under_way.values().any(overlaps) {
                break;
            }
            submit(store, ledger, &op, (submitted * 7 + 3) as u8);
            submitted += 1;
            between(submitted, store);
        }
        store.poll(Some(Duration::from_millis(20)), ledger).expect("poll");
    }
}

/// Submits one operation; a write fills its range with `fill` and its distance from the start.
pub fn submit(store: &mut dyn Datastore, ledger: &mut Ledger, op: &Op, fill: u8) {
    let mut payload = None;
    match op.kind {
        OpKind::Read => {
            ledger.reads.insert(op.tag, vec![0; op.len as usize]);
        }
        OpKind::Write => {
            let data: Vec<u8> = (0..op.len).map(|at| fill.wrapping_add((at / 3) as u8)).collect();
            let at = op.offset as usize;
            ledger.content[at..at + data.len()].copy_from_slice(&data);
            payload = Some(Payload::from_vec(data));
        }
        OpKind::Flush => {}
    }
    assert!(ledger.under_way.insert(op.tag, *op).is_none());
    store.submit(op, payload).expect("submit");
}

pub fn read_op(tag: u64, lba: u64, blocks: u32) -> Op {
    Op { tag, kind: OpKind::Read, offset: lba * 512, len: blocks * 512 }
}

pub fn write_op(tag: u64, lba: u64, blocks: u32) -> Op {
    Op { kind: OpKind::Write, ..read_op(tag, lba, blocks) }
}

/// Polls until nothing is under way.
pub fn settle(store: &mut dyn Datastore, ledger: &mut Ledger, seconds: u64) {
    let end = Instant::now() + Duration::from_secs(seconds);
    while ledger.under_way() > 0 {
        assert!(Instant::now() < end, "{} operations never ended", ledger.under_way());
        store.poll(Some(Duration::from_millis(20)), ledger).expect("poll");
    }
}

/// A fake target with this script, opened, and a ledger of its content.
fn opened(setting: fake::Setting, options: &Options) -> (fake::Fake, Box<dyn Datastore>, Ledger) {
    let fake = fake::Fake::start(setting);
    let store = open(&fake.url(), options).expect("open");
    let content = fake.shared.blocks.lock().unwrap().clone();
    (fake, store, Ledger::new(content))
}
