//! Buffers of written data: unique by default, with a chosen share that deduplicates or compresses.
//!
//! Each I/O slot has a buffer of random bytes; before every write the first 16 bytes of each 4 KiB get a
//! number that never repeats, so no two 4 KiB written are equal. Duplicates come from one buffer that never
//! changes. A buffer that the client still holds (a write without its commit) is set aside until it is let go
//! and another takes its place, so data under way never changes and a long run allocates nothing.
//!
//! Buffers lie in blocks that RDMA can register, so that iSER sends from them without a copy.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_initiator::{Memory, Payload};

use crate::{random::Random, workload::DataShape};

/// Unit in which devices find duplicates, at the finest.
const UNIT: usize = 4096;

/// Bytes of one block; a larger buffer has a block of its own.
const BLOCK_BYTES: usize = 1 << 20;

/// The buffers of a worker.
pub struct Buffers {
    slots: Vec<Option<Arc<Buffer>>>,
    /// Buffers that the client held when their slot wrote again, the longest held first.
    aside: VecDeque<Arc<Buffer>>,
    supply: Supply,
    duplicate: Option<Arc<Buffer>>,
    duplicate_below: u64,
    random: Random,
    mark: [u64; 2],
}

impl Buffers {
    /// Buffers for `slots` I/Os of at most `len` bytes. Memory is taken when a slot first writes.
    #[must_use]
    pub fn new(slots: u32, len: u32, shape: DataShape, seed: u64, worker: u32) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 100 percent"
        )]
        let (duplicate_below, zeroes) = (
            (shape.dedupe_pct / 100.0 * 4_294_967_296.0) as u64,
            (shape.compress_pct / 100.0 * UNIT as f64) as usize,
        );
        let mut random = Random::new(seed, 0x0da7_a000 + u64::from(worker));
        // The same for all workers: duplicates are found between them as well.
        let mut constant = Random::new(seed, 0x0da7_afff);
        let mut supply = Supply { block: None, len: len as usize, zeroes };
        let duplicate = (duplicate_below > 0).then(|| supply.fresh(&mut constant));
        let mark = [random.bits(), 0];
        Self {
            slots: (0..slots).map(|_| None).collect(),
            aside: VecDeque::new(),
            supply,
            duplicate,
            duplicate_below,
            random,
            mark,
        }
    }

    /// The payload of a write of `len` bytes in this slot.
    #[inline]
    pub fn payload(&mut self, slot: u32, len: u32) -> Payload {
        if let Some(duplicate) = &self.duplicate
            && self.random.bits() >> 32 < self.duplicate_below
        {
            return share(duplicate, len as usize);
        }
        let mut mark = self.mark;
        let buffer = self.writable(slot);
        for unit in buffer[..len as usize].chunks_mut(UNIT) {
            mark[1] += 1;
            // A block below 16 bytes gets the counter alone; it is too small to be more.
            if let Some(head) = unit.first_chunk_mut::<16>() {
                head[..8].copy_from_slice(&mark[0].to_le_bytes());
                head[8..].copy_from_slice(&mark[1].to_le_bytes());
            } else {
                let bytes = mark[1].to_le_bytes();
                let count = unit.len().min(8);
                unit[..count].copy_from_slice(&bytes[..count]);
            }
        }
        self.mark = mark;
        self.filled(slot, len)
    }

    /// The bytes of a slot, for a caller that fills them itself.
    #[inline]
    pub fn writable(&mut self, slot: u32) -> &mut [u8] {
        let place = &mut self.slots[slot as usize];
        let own = place.take_if(|buffer| Arc::get_mut(buffer).is_some());
        let buffer = match own {
            Some(buffer) => buffer,
            None => {
                self.aside.extend(place.take());
                match self.aside.pop_front_if(|buffer| Arc::get_mut(buffer).is_some()) {
                    Some(buffer) => buffer,
                    None => self.supply.fresh(&mut self.random),
                }
            }
        };
        #[expect(clippy::expect_used, reason = "just made, or found to be held by nobody else")]
        Arc::get_mut(place.insert(buffer)).expect("nobody else holds it").bytes_mut()
    }

    /// The payload of what [`Buffers::writable`] was filled with.
    #[inline]
    pub fn filled(&self, slot: u32, len: u32) -> Payload {
        match &self.slots[slot as usize] {
            Some(buffer) => share(buffer, len as usize),
            None => Payload::from_static(&[]),
        }
    }
}

/// Makes buffers out of blocks.
struct Supply {
    /// The block in use and how much of it is given away.
    block: Option<(Arc<Memory>, usize)>,
    /// Length of a buffer in bytes.
    len: usize,
    zeroes: usize,
}

impl Supply {
    /// Random bytes; each unit begins with 16 bytes for the mark and `zeroes` compressible bytes.
    fn fresh(&mut self, random: &mut Random) -> Arc<Buffer> {
        let (memory, offset) = match self.block.take() {
            Some((memory, used)) if used + self.len <= memory.len() => (memory, used),
            _ => {
                #[expect(clippy::expect_used, reason = "out of memory ends a process in any case")]
                let memory = Memory::allocate(self.len.max(BLOCK_BYTES)).expect("memory");
                (memory, 0)
            }
        };
        self.block = Some((Arc::clone(&memory), offset + self.len));
        let mut buffer = Buffer { memory, offset, len: self.len };
        for unit in buffer.bytes_mut().chunks_mut(UNIT) {
            let start = self.zeroes.min(unit.len());
            random.fill(&mut unit[start..]);
        }
        Arc::new(buffer)
    }
}

/// A part of a block; no two overlap.
struct Buffer {
    memory: Arc<Memory>,
    offset: usize,
    len: usize,
}

impl Buffer {
    #[allow(unsafe_code)]
    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: `Supply` gave this range of the block to this buffer alone and within its bounds; nobody
        // shares the buffer (`&mut self`), so no payload of it exists and no work on it is outstanding.
        unsafe { std::slice::from_raw_parts_mut(self.memory.pointer().add(self.offset), self.len) }
    }
}

#[allow(unsafe_code)]
#[inline]
fn share(buffer: &Arc<Buffer>, len: usize) -> Payload {
    debug_assert!(len <= buffer.len);
    let len = len.min(buffer.len);
    let pointer = buffer.memory.pointer().wrapping_add(buffer.offset);
    let owner: Arc<dyn Send + Sync> = Arc::clone(buffer) as Arc<dyn Send + Sync>;
    // SAFETY: the bytes lie in the block, which the owner keeps; they change only through `bytes_mut`, which
    // nobody reaches while this owner exists: they are stable too.
    unsafe { Payload::in_memory(owner, &buffer.memory, pointer, len).stable() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn bytes(payload: &Payload) -> Vec<u8> {
        let mut out = Vec::new();
        payload.copy_to(&mut out);
        out
    }

    #[test]
    fn no_two_units_are_equal_by_default() {
        let mut buffers = Buffers::new(2, 16_384, DataShape::default(), 1, 0);
        let mut seen = HashSet::new();
        for round in 0..100 {
            for unit in bytes(&buffers.payload(round % 2, 16_384)).chunks(UNIT) {
                assert!(seen.insert(unit.to_vec()));
            }
        }
        assert_eq!(seen.len(), 400);
    }

    #[test]
    fn the_chosen_share_is_duplicate() {
        let shape = DataShape { dedupe_pct: 60.0, compress_pct: 0.0 };
        let mut buffers = Buffers::new(1, 4096, shape, 1, 0);
        let mut other_worker = Buffers::new(1, 4096, shape, 1, 1);
        let mut seen = HashSet::new();
        let mut fresh = 0;
        for _ in 0..2000 {
            fresh += u32::from(seen.insert(bytes(&buffers.payload(0, 4096))));
            fresh += u32::from(seen.insert(bytes(&other_worker.payload(0, 4096))));
        }
        let unique = f64::from(fresh) / 4000.0;
        assert!((unique - 0.4).abs() < 0.03, "{unique}");
    }

    #[test]
    fn the_chosen_share_is_zero() {
        let shape = DataShape { dedupe_pct: 0.0, compress_pct: 50.0 };
        let mut buffers = Buffers::new(1, 8192, shape, 1, 0);
        for unit in bytes(&buffers.payload(0, 8192)).chunks(UNIT) {
            let zero = unit.iter().filter(|&&byte| byte == 0).count();
            assert!((2000..2150).contains(&zero), "{zero}");
        }
    }

    #[test]
    fn data_under_way_never_changes() {
        let mut buffers = Buffers::new(1, 4096, DataShape::default(), 1, 0);
        let held = buffers.payload(0, 4096);
        let before = bytes(&held);
        let later = buffers.payload(0, 4096);
        assert_eq!(bytes(&held), before);
        assert_ne!(bytes(&later), before);
    }

    /// As an NFS client does until a commit.
    #[test]
    fn buffers_that_are_let_go_are_used_again() {
        let mut buffers = Buffers::new(2, 65_536, DataShape::default(), 1, 0);
        let mut held = VecDeque::new();
        let mut seen = HashSet::new();
        for round in 0..1000 {
            held.push_back(buffers.payload(round % 2, 65_536));
            seen.insert(held[held.len() - 1].pointer() as usize);
            if held.len() > 20 {
                held.pop_front();
            }
        }
        assert!(seen.len() <= 24, "{} buffers for 20 held", seen.len());
    }
}
