//! Buffers of written data: unique by default, with a chosen share that deduplicates or compresses.
//!
//! Each I/O slot has a buffer of random bytes; before every write the first 16 bytes of each 4 KiB get a
//! number that never repeats, so no two 4 KiB written are equal. Duplicates come from one buffer that never
//! changes. A buffer that the client still holds (a write without its commit) is left alone and
//! replaced, so data under way never changes.

use std::sync::Arc;

use plimsoll_initiator::Payload;

use crate::{random::Random, workload::DataShape};

/// Unit in which devices find duplicates, at the finest.
const UNIT: usize = 4096;

/// The buffers of a worker.
pub struct Buffers {
    slots: Vec<Arc<Vec<u8>>>,
    duplicate: Arc<Vec<u8>>,
    duplicate_below: u64,
    zeroes: usize,
    len: usize,
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
        let len = len as usize;
        let mut random = Random::new(seed, 0x0da7_a000 + u64::from(worker));
        // The same for all workers: duplicates are found between them as well.
        let mut constant = Random::new(seed, 0x0da7_afff);
        let duplicate_len = if duplicate_below > 0 { len } else { 0 };
        let duplicate = Arc::new(fresh(&mut constant, duplicate_len, zeroes));
        let mark = [random.bits(), 0];
        Self {
            slots: (0..slots).map(|_| Arc::default()).collect(),
            duplicate,
            duplicate_below,
            zeroes,
            len,
            random,
            mark,
        }
    }

    /// The payload of a write of `len` bytes in this slot.
    #[inline]
    pub fn payload(&mut self, slot: u32, len: u32) -> Payload {
        if self.duplicate_below > 0 && self.random.bits() >> 32 < self.duplicate_below {
            return share(&self.duplicate, len as usize);
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
        share(&self.slots[slot as usize], len as usize)
    }

    /// The bytes of a slot, for a caller that fills them itself.
    #[inline]
    pub fn writable(&mut self, slot: u32) -> &mut [u8] {
        let buffer = &mut self.slots[slot as usize];
        if buffer.is_empty() || Arc::strong_count(buffer) > 1 {
            *buffer = Arc::new(fresh(&mut self.random, self.len, self.zeroes));
        }
        Arc::make_mut(buffer).as_mut_slice()
    }

    /// The payload of what [`Buffers::writable`] was filled with.
    #[inline]
    pub fn filled(&self, slot: u32, len: u32) -> Payload {
        share(&self.slots[slot as usize], len as usize)
    }
}

/// Random bytes; each unit begins with 16 bytes for the mark and `zeroes` compressible bytes.
fn fresh(random: &mut Random, len: usize, zeroes: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    for unit in bytes.chunks_mut(UNIT) {
        let start = zeroes.min(unit.len());
        random.fill(&mut unit[start..]);
    }
    bytes
}

#[allow(unsafe_code)]
#[inline]
fn share(buffer: &Arc<Vec<u8>>, len: usize) -> Payload {
    debug_assert!(len <= buffer.len());
    let len = len.min(buffer.len());
    let owner: Arc<dyn Send + Sync> = Arc::clone(buffer) as Arc<dyn Send + Sync>;
    // SAFETY: the vector's heap memory stays where it is and readable while the owner is alive: it is
    // changed only through `Arc::make_mut`, which copies when another reference (this owner) exists.
    unsafe { Payload::new(owner, buffer.as_ptr(), len) }
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
}
