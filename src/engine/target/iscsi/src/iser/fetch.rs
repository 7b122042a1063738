//! Get_Data: the solicited data of writes, by RDMA reads out of the initiator's memory.
//!
//! A task's data is one [`Fetch`]. It goes straight into the store's memory when the store has some to offer,
//! else piece by piece through a buffer. Reads complete one by one; never more are under way than the
//! initiator answers at a time (ORD).

use std::collections::VecDeque;

use plimsoll_fabric::rdma::Segment;
use plimsoll_storage::Placement;
use plimsoll_wire::iser::Tag as Remote;
use slab::Slab;

use super::buffers::Buffer;
use super::{LARGE_BYTES, SEGMENTS_MAX};
use crate::session::Tag;

/// Tells completions of reads from others.
pub const READ: u64 = 2 << 56;

/// Where the data goes.
pub(crate) enum Into {
    /// The store's own memory. Dropped when the last byte is there.
    Store(Placement),
    /// Buffers of the connection.
    Buffers,
}

struct Fetch {
    task: Tag,
    /// Where the initiator has the byte at `start`.
    from: Remote,
    /// Offsets within the command's data: of the first byte, of the next to be asked for, and the end.
    start: u32,
    next: u32,
    end: u32,
    /// Reads under way.
    under_way: u32,
    into: Into,
    /// The place that holds `next`, and where in it.
    place: (usize, usize),
}

struct Read {
    fetch: usize,
    offset: u32,
    len: u32,
    buffer: Option<Buffer>,
}

/// Runs of a placement: which place, from where in it, how many bytes.
pub(super) type Runs = [(usize, usize, usize); SEGMENTS_MAX];

/// A read to be posted.
pub(super) struct Next<'a> {
    pub id: u64,
    pub from: Remote,
    pub target: Target<'a>,
}

pub(super) enum Target<'a> {
    /// Runs of the store's memory, so many.
    Store(&'a Placement, usize),
    /// A buffer, and how much of it.
    Buffer(&'a Buffer, usize),
}

/// A read that has completed.
pub(crate) struct Fetched {
    pub task: Tag,
    /// Where its bytes belong in the command's data.
    pub offset: u32,
    pub len: u32,
    /// Holds the bytes, unless they are in the store already.
    pub buffer: Option<Buffer>,
    /// Nothing else of the task is under way or will be asked for.
    pub last: bool,
}

#[derive(Default)]
pub(super) struct Fetches {
    fetches: Slab<Fetch>,
    /// Those that have something left to be asked for.
    queue: VecDeque<usize>,
    reads: Slab<Read>,
    /// Buffers that no read uses.
    pub buffers: Vec<Buffer>,
    /// Reads that may be under way.
    pub most: u32,
    /// Bytes of one read, and segments.
    pub bytes_max: usize,
    pub segments_max: usize,
}

impl Fetches {
    /// Asks for `start..end` of a task's data.
    pub fn push(&mut self, task: Tag, from: Remote, range: (u32, u32), into: Into) {
        let (start, end) = range;
        let fetch =
            Fetch { task, from, start, next: start, end, under_way: 0, into, place: (0, 0) };
        let key = self.fetches.insert(fetch);
        self.queue.push_back(key);
    }

    /// Reads under way.
    pub fn under_way(&self) -> u32 {
        self.reads.len() as u32
    }

    /// The next read to be posted, if one may be. Runs in the store's memory go to `runs`.
    pub fn next(&mut self, runs: &mut Runs) -> Option<Next<'_>> {
        if self.under_way() >= self.most {
            return None;
        }
        let key = *self.queue.front()?;
        let fetch = self.fetches.get_mut(key)?; // in the queue only while it is in the slab
        let left = ((fetch.end - fetch.next) as usize).min(self.bytes_max);
        let (mut len, mut used) = (0, 0);
        let buffer = match &fetch.into {
            Into::Buffers => {
                let buffer = self.buffers.pop()?;
                len = left.min(buffer.len).min(LARGE_BYTES);
                Some(buffer)
            }
            Into::Store(placement) => {
                let places = placement.places();
                while used < self.segments_max && len < left && fetch.place.0 < places.len() {
                    let (index, start) = fetch.place;
                    let run = (places[index].len() - start).min(left - len);
                    runs[used] = (index, start, run);
                    used += 1;
                    len += run;
                    let rest = start + run < places[index].len();
                    fetch.place = if rest { (index, start + run) } else { (index + 1, 0) };
                }
                None
            }
        };
        let offset = fetch.next;
        let address = fetch.from.address.wrapping_add(u64::from(offset - fetch.start));
        let from = Remote { key: fetch.from.key, address };
        fetch.next += len as u32;
        fetch.under_way += 1;
        if fetch.next >= fetch.end || len == 0 {
            fetch.next = fetch.end;
            self.queue.pop_front();
        }
        let read = self.reads.insert(Read { fetch: key, offset, len: len as u32, buffer });
        let target = match (&self.fetches[key].into, &self.reads[read].buffer) {
            (Into::Store(placement), _) => Target::Store(placement, used),
            (Into::Buffers, Some(buffer)) => Target::Buffer(buffer, len),
            (Into::Buffers, None) => return None, // it was taken just above
        };
        Some(Next { id: READ | read as u64, from, target })
    }

    /// A read has completed; `None` for a number that is none.
    pub fn done(&mut self, id: u64) -> Option<Fetched> {
        let Read { fetch: key, offset, len, buffer } =
            self.reads.try_remove((id & !READ) as usize)?;
        let fetch = self.fetches.get_mut(key)?;
        fetch.under_way -= 1;
        let (task, last) = (fetch.task, fetch.under_way == 0 && fetch.next == fetch.end);
        if last {
            self.fetches.remove(key); // and its placement: the bytes are settled before the answer
        }
        Some(Fetched { task, offset, len, buffer, last })
    }

    /// Asks for no more data of a task; true when some is under way.
    pub fn cancel(&mut self, task: Tag) -> bool {
        let Some((key, fetch)) = self.fetches.iter_mut().find(|(_, fetch)| fetch.task == task)
        else {
            return false;
        };
        let under_way = fetch.under_way > 0;
        if fetch.next != fetch.end {
            fetch.next = fetch.end;
            self.queue.retain(|other| *other != key);
        }
        if !under_way {
            self.fetches.remove(key);
        }
        under_way
    }
}

/// Segments of runs in a store's memory; `key` gives the key of a block.
pub(super) fn segments<E>(
    placement: &Placement,
    runs: &[(usize, usize, usize)],
    out: &mut [Segment; SEGMENTS_MAX],
    mut key: impl FnMut(&plimsoll_fabric::rdma::Memory) -> Result<u32, E>,
) -> Result<(), E> {
    for ((index, start, len), segment) in runs.iter().zip(out) {
        let place = &placement.places()[*index];
        let address = place.pointer() as u64 + *start as u64;
        *segment = Segment { address, len: *len as u32, key: key(place.memory())? };
    }
    Ok(())
}
