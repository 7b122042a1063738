//! Reads parts of a datastore, before a run, to see what is on it.

use std::time::{Duration, Instant};

use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Outcome, Sink};

use super::magic;
use crate::{Error, Result};

/// Patience with one read.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct Collect {
    bytes: Vec<u8>,
    outcome: Option<Outcome>,
}

impl Sink for Collect {
    fn data(&mut self, _tag: u64, at: u32, bytes: &[u8]) {
        let at = at as usize;
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }

    fn done(&mut self, completion: Completion) {
        self.outcome = Some(completion.outcome);
    }
}

/// Reads `len` bytes; both numbers are multiples of the device's block.
pub fn read_at(url: &str, datastore: &mut dyn Datastore, offset: u64, len: u32) -> Result<Vec<u8>> {
    let client = |source| Error::Datastore { url: url.to_owned(), source };
    let mut sink = Collect { bytes: vec![0; len as usize], outcome: None };
    let op = Op { tag: 0, kind: OpKind::Read, offset, len };
    datastore.submit(&op, None).map_err(client)?;
    let until = Instant::now() + PATIENCE;
    while sink.outcome.is_none() && Instant::now() < until {
        datastore.poll(Some(Duration::from_millis(100)), &mut sink).map_err(client)?;
    }
    match sink.outcome {
        Some(Outcome::Done) => Ok(sink.bytes),
        Some(outcome) => {
            Err(Error::Run(format!("{url}: read of {len} bytes at {offset}: {outcome:?}")))
        }
        None => Err(Error::Run(format!("{url}: no answer to a read at {offset}"))),
    }
}

/// Looks for marks of data; each found is named.
pub fn look(url: &str, datastore: &mut dyn Datastore) -> Result<Vec<String>> {
    let block = u64::from(datastore.block_bytes().max(1));
    let capacity = datastore.capacity_bytes() / block * block;
    let mut pieces = Vec::new();
    for region in magic::regions(capacity) {
        pieces.push((region.offset, read_at(url, datastore, region.offset, region.len)?));
    }
    Ok(magic::find(&pieces, capacity))
}
