//! Memory for grains: blocks of 64, so that an adapter registers a few blocks and not every grain.
//!
//! One pool for the process. A slot is given out zeroed and goes back when it is dropped; a block whose slots
//! are all back is given up when another has room, and takes its registrations along.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_fabric::rdma::Memory;

use super::GRAIN_BYTES;

/// Slots of a block: bits of a word.
const SLOTS: u32 = u64::BITS;

static POOL: Mutex<Pool> = Mutex::new(Pool { with_room: Vec::new() });

struct Pool {
    /// Blocks with a free slot.
    with_room: Vec<Arc<Arena>>,
}

struct Arena {
    memory: Arc<Memory>,
    /// Slots that are not given out; changed under the lock of the pool.
    free: AtomicU64,
    /// Slots that may hold other than zeroes; changed under the lock of the pool.
    used: AtomicU64,
}

/// [`GRAIN_BYTES`] of a block.
pub(super) struct Slot {
    arena: Arc<Arena>,
    index: u32,
}

impl Slot {
    /// A zeroed slot.
    #[allow(unsafe_code)]
    pub(super) fn zeroed() -> io::Result<Self> {
        let (slot, used) = Self::take()?;
        if used {
            // SAFETY: the slot lies within its block and was just taken out of the pool: nothing else refers to
            // these bytes. Work of an adapter on them ended before the last owner was dropped.
            unsafe { std::ptr::write_bytes(slot.pointer(), 0, GRAIN_BYTES) };
        }
        Ok(slot)
    }

    fn take() -> io::Result<(Self, bool)> {
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let arena = match pool.with_room.last() {
            Some(arena) => Arc::clone(arena),
            None => {
                let memory = Memory::allocate(GRAIN_BYTES * SLOTS as usize)?;
                let (free, used) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
                let arena = Arc::new(Arena { memory, free, used });
                pool.with_room.push(Arc::clone(&arena));
                arena
            }
        };
        let free = arena.free.load(Ordering::Relaxed);
        let index = free.trailing_zeros(); // a block in the pool has a free slot
        let bit = 1 << index;
        arena.free.store(free & !bit, Ordering::Relaxed);
        let used = arena.used.fetch_or(bit, Ordering::Relaxed) & bit != 0;
        if free == bit {
            pool.with_room.pop();
        }
        Ok((Self { arena, index }, used))
    }

    /// The first byte.
    pub(super) fn pointer(&self) -> *mut u8 {
        self.memory().pointer().wrapping_add(self.index as usize * GRAIN_BYTES)
    }

    /// The block that it lies in.
    pub(super) fn memory(&self) -> &Memory {
        &self.arena.memory
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut given_up = None;
        let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.arena.free.fetch_or(1 << self.index, Ordering::Relaxed);
        if before == 0 {
            pool.with_room.push(Arc::clone(&self.arena));
        }
        if before | 1 << self.index == u64::MAX && pool.with_room.len() > 1 {
            let at = pool.with_room.iter().position(|arena| Arc::ptr_eq(arena, &self.arena));
            given_up = at.map(|at| pool.with_room.swap_remove(at));
        }
        drop(pool);
        drop(given_up); // its pages go with the last of its slots: this one
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, unsafe_code)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_zeroed_when_they_come_back_and_never_given_twice() {
        let mut slots: Vec<Slot> = (0..200).map(|_| Slot::zeroed().unwrap()).collect();
        let mut pointers: Vec<usize> = slots.iter().map(|slot| slot.pointer() as usize).collect();
        pointers.sort_unstable();
        assert!(pointers.windows(2).all(|pair| pair[1] - pair[0] >= GRAIN_BYTES));
        for slot in &slots {
            // SAFETY: the slot is this test's alone.
            unsafe { std::ptr::write_bytes(slot.pointer(), 7, GRAIN_BYTES) };
        }
        slots.truncate(50);
        let again: Vec<Slot> = (0..150).map(|_| Slot::zeroed().unwrap()).collect();
        for slot in &again {
            // SAFETY: as above.
            let bytes = unsafe { std::slice::from_raw_parts(slot.pointer(), GRAIN_BYTES) };
            assert!(bytes.iter().all(|byte| *byte == 0));
        }
    }
}
