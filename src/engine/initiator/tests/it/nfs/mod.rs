//! The NFS client against a scripted server and, when there is one, against nfs-ganesha.

mod ganesha;
mod losses;
mod misbehaviour;
mod server;
mod transfers;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use plimsoll_initiator::{
    Completion, Datastore, Op, OpKind, Options, Outcome, Payload, Sink, open,
};

/// Collects what a datastore delivers, and insists on one completion an operation.
#[derive(Default)]
pub(crate) struct Collector {
    pub data: HashMap<u64, Vec<u8>>,
    pub done: HashMap<u64, Completion>,
}

impl Sink for Collector {
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        assert!(!self.done.contains_key(&tag), "data of {tag} after its completion");
        let buffer = self.data.entry(tag).or_default();
        let end = at as usize + bytes.len();
        if buffer.len() < end {
            buffer.resize(end, 0);
        }
        buffer[at as usize..end].copy_from_slice(bytes);
    }

    fn done(&mut self, completion: Completion) {
        let before = self.done.insert(completion.tag, completion);
        assert!(before.is_none(), "two completions of {}", completion.tag);
    }
}

/// Options with little patience, for tests.
pub(crate) fn options() -> Options {
    Options {
        connect_timeout: Duration::from_secs(5),
        op_timeout: Duration::from_secs(20),
        keepalive: Duration::from_secs(5),
        path_timeout: Duration::from_secs(10),
        ..Options::default()
    }
}

/// A datastore with its collector.
pub(crate) struct Client {
    pub datastore: Box<dyn Datastore>,
    pub seen: Collector,
    next_tag: u64,
}

impl Client {
    pub fn open(url: &str, options: &Options) -> Self {
        let datastore = open(url, options).unwrap();
        Self { datastore, seen: Collector::default(), next_tag: 0 }
    }

    pub fn submit(&mut self, kind: OpKind, offset: u64, len: u32, data: Option<Payload>) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        while !self.datastore.can_submit() {
            self.datastore.poll(None, &mut self.seen).unwrap();
        }
        self.datastore.submit(&Op { tag, kind, offset, len }, data).unwrap();
        tag
    }

    pub fn read(&mut self, offset: u64, len: u32) -> u64 {
        self.submit(OpKind::Read, offset, len, None)
    }

    pub fn write(&mut self, offset: u64, data: &[u8]) -> u64 {
        let payload = Payload::from_vec(data.to_vec());
        self.submit(OpKind::Write, offset, u32::try_from(data.len()).unwrap(), Some(payload))
    }

    pub fn flush(&mut self) -> u64 {
        self.submit(OpKind::Flush, 0, 0, None)
    }

    /// Polls until nothing is under way.
    pub fn finish(&mut self) {
        let start = Instant::now();
        while self.datastore.in_flight() > 0 {
            self.datastore.poll(Some(Duration::from_millis(200)), &mut self.seen).unwrap();
            assert!(start.elapsed() < Duration::from_secs(60), "operations never end");
        }
        assert_eq!(self.seen.done.len() as u64, self.next_tag, "operations without completion");
    }

    pub fn outcome(&self, tag: u64) -> Outcome {
        self.seen.done[&tag].outcome
    }

    pub fn all_done(&self) {
        for completion in self.seen.done.values() {
            assert_eq!(completion.outcome, Outcome::Done, "{completion:?}");
        }
    }

    /// Sum of a counter over the flows.
    pub fn sum(&self, counter: impl Fn(&plimsoll_initiator::FlowCounters) -> u64) -> u64 {
        self.datastore.flows().iter().map(counter).sum()
    }
}
