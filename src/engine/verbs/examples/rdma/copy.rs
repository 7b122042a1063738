//! A whole datastore out to a stream or in from one, in operations of many lengths, many at a time: for comparing what
//! is there with what somebody else put there.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Options, Outcome, Payload, Sink};
use plimsoll_verbs::Verbs;

use crate::Trouble;

/// Lengths of operations, in turn: below, at and above what goes with a command, and above what one command moves.
const LENGTHS: [usize; 7] = [4096, 512, 8192, 65536, 524_288, 1_572_864, 12_288];
const DEPTH: usize = 16;

/// Reads all of it to standard output.
pub fn get(url: &str) -> Result<bool, Trouble> {
    let mut datastore = open(url)?;
    let mut copy = Copy::new(vec![0; datastore.capacity_bytes() as usize]);
    run(&mut *datastore, OpKind::Read, &mut copy)?;
    datastore.close(&mut copy);
    std::io::stdout().write_all(&copy.bytes)?;
    Ok(true)
}

/// Writes standard input from its beginning on.
pub fn put(url: &str) -> Result<bool, Trouble> {
    let mut datastore = open(url)?;
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    let mut copy = Copy::new(bytes);
    run(&mut *datastore, OpKind::Write, &mut copy)?;
    datastore.submit(&Op { tag: u64::MAX, kind: OpKind::Flush, offset: 0, len: 0 }, None)?;
    settle(&mut *datastore, 0, &mut copy)?;
    datastore.close(&mut copy);
    Ok(true)
}

fn open(url: &str) -> Result<Box<dyn Datastore>, Trouble> {
    let mut options = Options::default();
    if url.starts_with("iser:") {
        options.rdma = Some(Verbs::load()? as Arc<_>);
    }
    Ok(plimsoll_initiator::open(url, &options)?)
}

struct Copy {
    bytes: Vec<u8>,
    /// Where the read of each tag begins.
    offsets: Vec<usize>,
    trouble: Option<String>,
}

impl Copy {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, offsets: Vec::new(), trouble: None }
    }
}

impl Sink for Copy {
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        let from = self.offsets[tag as usize] + at as usize;
        self.bytes[from..from + bytes.len()].copy_from_slice(bytes);
    }

    fn done(&mut self, completion: Completion) {
        if completion.outcome != Outcome::Done {
            self.trouble = Some(format!("{completion:?}"));
        }
    }
}

fn run(datastore: &mut dyn Datastore, kind: OpKind, copy: &mut Copy) -> Result<(), Trouble> {
    let mut offset = 0;
    for len in LENGTHS.into_iter().cycle() {
        let len = len.min(copy.bytes.len() - offset);
        if len == 0 {
            break;
        }
        let tag = copy.offsets.len() as u64;
        copy.offsets.push(offset);
        let data = (kind == OpKind::Write)
            .then(|| Payload::from_vec(copy.bytes[offset..offset + len].to_vec()));
        datastore.submit(&Op { tag, kind, offset: offset as u64, len: len as u32 }, data)?;
        offset += len;
        settle(datastore, DEPTH - 1, copy)?;
    }
    settle(datastore, 0, copy)
}

/// Waits until no more than so many are under way.
fn settle(datastore: &mut dyn Datastore, under_way: usize, copy: &mut Copy) -> Result<(), Trouble> {
    while datastore.in_flight() > under_way {
        datastore.poll(Some(Duration::from_secs(1)), copy)?;
    }
    match copy.trouble.take() {
        Some(trouble) => Err(trouble.into()),
        None => Ok(()),
    }
}
