//! A store in memory: grains of 64 KiB, allocated when first written, sent without a copy.
//!
//! Invariants: a grain's unmapped sectors hold zeroes; the pointer of a grain, its sector map and its bytes
//! change only under the exclusive stripe lock of that grain; a payload keeps the grain it points into alive
//! by a count of its own, so unmapping never pulls memory from under a send. A write goes into the grain in
//! place, so a read that is still queued may send newer bytes, as a disk's may.
//!
//! Two states of a grain change that. *Frozen*: somebody holds bytes that must not change (a digest covers
//! them); a write then goes into a copy of the grain. *Placing*: an adapter is writing into it; what has to
//! see or keep the rest of the grain as it is answers busy. A grain is never both.

use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use plimsoll_fabric::Payload;

use super::arena::Slot;
use super::grains::Grains;
use super::stripes::{Exclusive, Stripes};
use super::{
    GRAIN_BYTES, Part, Place, Placement, Provisioning, Ready, SECTOR_BYTES, STATUS_WALK, ZEROES,
    batches, check, mask, parts,
};
use crate::{Space, StoreError};

struct Grain {
    mapped: [AtomicU64; 2],
    /// Holders of bytes that must not change; raised under a stripe lock, shared or not.
    frozen: AtomicU32,
    /// Adapters that write; raised under the exclusive lock.
    placing: AtomicU32,
    slot: Slot,
}

// SAFETY: the slot's bytes are written only under the exclusive stripe lock, or by an adapter through a
// placement, and read under either lock, or through a payload, whose contract allows a racing write.
#[allow(unsafe_code)]
unsafe impl Send for Grain {}
// SAFETY: as above; everything else is atomic.
#[allow(unsafe_code)]
unsafe impl Sync for Grain {}

impl Grain {
    fn zeroed() -> Result<Arc<Self>, StoreError> {
        let slot = Slot::zeroed().map_err(|error| StoreError::io("memory for a grain", &error))?;
        let (mapped, frozen, placing) = Default::default();
        Ok(Arc::new(Self { mapped, frozen, placing, slot }))
    }

    /// A copy with the same map; the caller holds the exclusive stripe lock.
    fn copy(&self) -> Result<Arc<Self>, StoreError> {
        let copy = Self::zeroed()?;
        copy.put(0, self.view(0, GRAIN_BYTES));
        copy.set_mask(self.mask());
        Ok(copy)
    }

    fn is_placing(&self) -> bool {
        self.placing.load(Ordering::Acquire) > 0
    }

    fn mask(&self) -> u128 {
        u128::from(self.mapped[0].load(Ordering::Relaxed))
            | u128::from(self.mapped[1].load(Ordering::Relaxed)) << 64
    }

    fn set_mask(&self, mask: u128) {
        self.mapped[0].store(mask as u64, Ordering::Relaxed);
        self.mapped[1].store((mask >> 64) as u64, Ordering::Relaxed);
    }

    fn pointer(&self, start: usize) -> *mut u8 {
        debug_assert!(start < GRAIN_BYTES);
        self.slot.pointer().wrapping_add(start)
    }

    /// Copies into the grain; the caller holds its exclusive stripe lock.
    #[allow(unsafe_code)]
    fn put(&self, start: usize, data: &[u8]) {
        assert!(start + data.len() <= GRAIN_BYTES);
        // SAFETY: in bounds by the assertion; `data` is a live borrow and cannot overlap memory that is only
        // reachable through this cell; the exclusive lock keeps other writers and `view` out.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), self.pointer(start), data.len()) }
    }

    #[allow(unsafe_code)]
    fn zero(&self, start: usize, len: usize) {
        assert!(start + len <= GRAIN_BYTES);
        // SAFETY: as in `put`.
        unsafe { std::ptr::write_bytes(self.pointer(start), 0, len) }
    }

    /// The bytes; the caller holds a stripe lock of the grain for as long as it looks at them.
    #[allow(unsafe_code)]
    fn view(&self, start: usize, len: usize) -> &[u8] {
        assert!(start + len <= GRAIN_BYTES);
        // SAFETY: in bounds by the assertion; no writer runs while a stripe lock is held.
        unsafe { std::slice::from_raw_parts(self.pointer(start), len) }
    }
}

/// A shrink waits so long, and so often, for adapters that write into what it cuts off.
const PLACING_WAIT: Duration = Duration::from_millis(1);
const PLACING_WAITS: u32 = 5000;

/// Keeps a grain from changing.
struct Frozen(Arc<Grain>);

impl Drop for Frozen {
    fn drop(&mut self) {
        self.0.frozen.fetch_sub(1, Ordering::Release);
    }
}

/// An adapter that writes into a grain.
struct Placing(Arc<Grain>);

impl Drop for Placing {
    fn drop(&mut self) {
        self.0.placing.fetch_sub(1, Ordering::Release);
    }
}

/// A sparse store in memory.
pub struct MemoryStore {
    size: AtomicU64,
    allocated: AtomicU64,
    space: Arc<Space>,
    grains: Grains<AtomicPtr<Grain>>,
    stripes: Stripes,
}

impl MemoryStore {
    /// An empty store of `size` bytes that charges its allocations to `space`.
    pub fn new(size: u64, space: Arc<Space>) -> Self {
        Self {
            size: AtomicU64::new(size),
            allocated: AtomicU64::new(0),
            space,
            grains: Grains::new(),
            stripes: Stripes::memory(),
        }
    }

    /// See [`BlockStore::size_bytes`](super::BlockStore::size_bytes).
    pub fn size_bytes(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// See [`BlockStore::allocated_bytes`](super::BlockStore::allocated_bytes).
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// See [`BlockStore::resize`](super::BlockStore::resize).
    pub fn resize(&self, size: u64) -> Result<(), StoreError> {
        let before = self.size.swap(size, Ordering::SeqCst);
        if size < before {
            // A write that passed its check before the swap holds a lock, so this waits for it; so it does for
            // adapters that still write there.
            let len = before.next_multiple_of(SECTOR_BYTES) - size;
            for _ in 0..PLACING_WAITS {
                match self.clear(size, len, false) {
                    Err(StoreError::Busy) => std::thread::sleep(PLACING_WAIT),
                    ended => return ended,
                }
            }
            return Err(StoreError::Busy);
        }
        Ok(())
    }

    /// See [`BlockStore::read`](super::BlockStore::read).
    pub fn read(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        check(offset, len as u64, self.size_bytes())?;
        for part in parts(offset, len as u64) {
            out(match self.grain(part.grain) {
                Some(grain) => payload(grain, part.start, part.len),
                None => Payload::from_static(&ZEROES[..part.len]),
            });
        }
        Ok(Ready::Now)
    }

    /// See [`BlockStore::read_stable`](super::BlockStore::read_stable).
    pub fn read_stable(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        check(offset, len as u64, self.size_bytes())?;
        for part in parts(offset, len as u64) {
            out(self.stable(part));
        }
        Ok(Ready::Now)
    }

    fn stable(&self, part: Part) -> Payload {
        let _lock = self.stripes.shared(part.grain);
        match self.counted(part.grain) {
            None => Payload::from_static(&ZEROES[..part.len]),
            Some(grain) if grain.is_placing() => {
                Payload::from_vec(grain.view(part.start, part.len).to_vec())
            }
            Some(grain) => {
                grain.frozen.fetch_add(1, Ordering::Relaxed);
                frozen(grain, part.start, part.len)
            }
        }
    }

    /// See [`BlockStore::place`](super::BlockStore::place).
    pub fn place(&self, offset: u64, len: usize) -> Result<Placement, StoreError> {
        let mut places = Vec::with_capacity(len / GRAIN_BYTES + 2);
        self.change(offset, len as u64, |grain, part, _| {
            grain.placing.fetch_add(1, Ordering::Relaxed);
            places.push(place(Placing(Arc::clone(grain)), part.start, part.len));
        })?;
        Ok(Placement { places })
    }

    /// See [`BlockStore::read_blocking`](super::BlockStore::read_blocking).
    pub fn read_blocking(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        check(offset, buffer.len() as u64, self.size_bytes())?;
        for part in parts(offset, buffer.len() as u64) {
            let _lock = self.stripes.shared(part.grain);
            let target = &mut buffer[part.at as usize..][..part.len];
            match self.locked(part.grain) {
                Some(grain) => target.copy_from_slice(grain.view(part.start, part.len)),
                None => target.fill(0),
            }
        }
        Ok(())
    }

    /// See [`BlockStore::write`](super::BlockStore::write).
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.change(offset, data.len() as u64, |grain, part, base| {
            grain.put(part.start, &data[(base + part.at) as usize..][..part.len]);
        })
    }

    /// See [`BlockStore::or_write`](super::BlockStore::or_write).
    pub fn or_write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        check(offset, data.len() as u64, self.size_bytes())?;
        for (start, len) in batches(offset, data.len() as u64) {
            let _lock = self.lock(start, len)?;
            self.check_settled(start, len)?;
            let data = &data[(start - offset) as usize..];
            self.change_locked(start, len, |grain, part| {
                let data = &data[part.at as usize..][..part.len];
                let old = grain.view(part.start, part.len);
                let merged: Vec<u8> = old.iter().zip(data).map(|(old, new)| old | new).collect();
                grain.put(part.start, &merged);
            })?;
        }
        Ok(())
    }

    /// See [`BlockStore::write_zeroes`](super::BlockStore::write_zeroes).
    pub fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.change(offset, len, |grain, part, _| grain.zero(part.start, part.len))
    }

    /// See [`BlockStore::compare_and_write`](super::BlockStore::compare_and_write).
    pub fn compare_and_write(
        &self,
        offset: u64,
        compare: &[u8],
        data: &[u8],
    ) -> Result<Option<usize>, StoreError> {
        debug_assert_eq!(compare.len(), data.len());
        let len = compare.len() as u64;
        if len == 0 {
            return check(offset, 0, self.size_bytes()).map(|()| None);
        }
        let _lock = self.lock(offset, len)?;
        self.check_settled(offset, len)?;
        for part in parts(offset, len) {
            let wanted = &compare[part.at as usize..][..part.len];
            let held = match self.locked(part.grain) {
                Some(grain) => grain.view(part.start, part.len),
                None => &ZEROES[..part.len],
            };
            if held != wanted {
                let differs = held.iter().zip(wanted).position(|(held, wanted)| held != wanted);
                return Ok(Some(part.at as usize + differs.unwrap_or(0)));
            }
        }
        self.change_locked(offset, len, |grain, part| {
            grain.put(part.start, &data[part.at as usize..][..part.len]);
        })?;
        Ok(None)
    }

    /// See [`BlockStore::unmap`](super::BlockStore::unmap).
    pub fn unmap(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.clear(offset, len, true)
    }

    /// See [`BlockStore::status`](super::BlockStore::status).
    pub fn status(&self, offset: u64) -> Result<(Provisioning, u64), StoreError> {
        let size = self.size_bytes();
        check(offset, 1, size)?;
        let mut at = offset - offset % SECTOR_BYTES;
        let mut first = None;
        let end = size.min(offset.saturating_add(STATUS_WALK * GRAIN_BYTES as u64));
        while at < end {
            let index = at / GRAIN_BYTES as u64;
            let sector = (at % GRAIN_BYTES as u64 / SECTOR_BYTES) as u32;
            let mask = {
                let _lock = self.stripes.shared(index);
                self.locked(index).map_or(0, Grain::mask)
            };
            let (mapped, sectors) = mask::run(mask, sector);
            if *first.get_or_insert(mapped) != mapped {
                break;
            }
            at += u64::from(sectors) * SECTOR_BYTES;
            if !mapped && self.grains.get(at / GRAIN_BYTES as u64).is_none() {
                let next = self.grains.next_touched(at / GRAIN_BYTES as u64);
                at = next.map_or(size, |grain| grain * GRAIN_BYTES as u64);
            }
        }
        let kind = if first == Some(true) { Provisioning::Mapped } else { Provisioning::Hole };
        Ok((kind, at.min(size) - offset))
    }

    /// Memory needs no flush.
    pub fn flush(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// A counted reference to a grain.
    fn grain(&self, grain: u64) -> Option<Arc<Grain>> {
        self.grains.get(grain)?;
        let _lock = self.stripes.shared(grain);
        self.counted(grain)
    }

    /// A counted reference to a grain; the caller holds a stripe lock of it.
    #[allow(unsafe_code)]
    fn counted(&self, grain: u64) -> Option<Arc<Grain>> {
        let pointer = self.grains.get(grain)?.load(Ordering::Relaxed);
        if pointer.is_null() {
            return None;
        }
        // SAFETY: a pointer in the table came from `Arc::into_raw` and the table owns one count of it, which
        // only a holder of the exclusive lock gives up; the caller holds a lock.
        unsafe {
            Arc::increment_strong_count(pointer);
            Some(Arc::from_raw(pointer))
        }
    }

    /// Busy when an adapter is writing into a grain of the range, whose locks are held.
    fn check_settled(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        let placing = |part: Part| self.locked(part.grain).is_some_and(Grain::is_placing);
        if parts(offset, len).any(placing) { Err(StoreError::Busy) } else { Ok(()) }
    }

    /// The grain, borrowed; the caller holds a stripe lock of it for as long as it uses the reference.
    #[allow(unsafe_code)]
    fn locked(&self, grain: u64) -> Option<&Grain> {
        let pointer = self.grains.get(grain)?.load(Ordering::Relaxed);
        // SAFETY: null or a live grain: the table's count is given up only under the exclusive lock, and the
        // caller holds a lock.
        unsafe { pointer.as_ref() }
    }

    /// Locks the range after checking it, so that no shrink can come between.
    fn lock(&self, offset: u64, len: u64) -> Result<Exclusive, StoreError> {
        check(offset, len, u64::MAX)?;
        let first = offset / GRAIN_BYTES as u64;
        let lock = self.stripes.exclusive(first, (offset + len - 1) / GRAIN_BYTES as u64);
        check(offset, len, self.size.load(Ordering::SeqCst))?;
        Ok(lock)
    }

    /// Maps the range and lets `change` fill it, batch by batch; `change` gets the batch's place in the range.
    fn change(
        &self,
        offset: u64,
        len: u64,
        mut change: impl FnMut(&Arc<Grain>, Part, u64),
    ) -> Result<(), StoreError> {
        check(offset, len, self.size_bytes())?;
        for (start, len) in batches(offset, len) {
            let _lock = self.lock(start, len)?;
            self.change_locked(start, len, |grain, part| change(grain, part, start - offset))?;
        }
        Ok(())
    }

    /// Maps and changes a range whose exclusive locks are held: all of it or, without room, nothing.
    fn change_locked(
        &self,
        offset: u64,
        len: u64,
        mut change: impl FnMut(&Arc<Grain>, Part),
    ) -> Result<(), StoreError> {
        let growth: u64 = parts(offset, len)
            .map(|part| {
                let before = self.locked(part.grain).map_or(0, Grain::mask);
                mask::growth(before, before | mask::touched(part.start, part.len))
            })
            .sum();
        if growth > 0 {
            self.space.reserve(growth)?;
            self.allocated.fetch_add(growth, Ordering::Relaxed);
        }
        if let Err(error) = parts(offset, len).try_for_each(|part| self.make_writable(part.grain)) {
            self.allocated.fetch_sub(growth, Ordering::Relaxed);
            self.space.release(growth);
            return Err(error);
        }
        for part in parts(offset, len) {
            if let Some(grain) = self.counted(part.grain) {
                let touched = mask::touched(part.start, part.len);
                let before = grain.mask();
                if before | touched != before {
                    grain.set_mask(before | touched);
                }
                change(&grain, part);
            }
        }
        Ok(())
    }

    /// Sees to it that a grain is there and not frozen; its exclusive lock is held.
    fn make_writable(&self, grain: u64) -> Result<(), StoreError> {
        let fresh = match self.locked(grain) {
            None => Grain::zeroed()?,
            Some(grain) if grain.frozen.load(Ordering::Acquire) > 0 => grain.copy()?,
            Some(_) => return Ok(()),
        };
        if let Some(slot) = self.grains.touch(grain) {
            drop_grain(slot);
            slot.store(Arc::into_raw(fresh).cast_mut(), Ordering::Relaxed);
        }
        Ok(())
    }

    /// Unmaps what lies wholly in the range and zeroes its ragged ends.
    fn clear(&self, offset: u64, len: u64, within_size: bool) -> Result<(), StoreError> {
        if within_size {
            check(offset, len, self.size_bytes())?;
        }
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let index = at / GRAIN_BYTES as u64;
            let Some(slot) = self.grains.get(index) else {
                // Nothing was ever written in this segment of the table.
                let Some(next) = self.grains.next_touched(index) else { break };
                at = next * GRAIN_BYTES as u64;
                continue;
            };
            let start = (at % GRAIN_BYTES as u64) as usize;
            let part_len = ((GRAIN_BYTES - start) as u64).min(end - at);
            at += part_len;
            if slot.load(Ordering::Relaxed).is_null() {
                continue;
            }
            let _lock = self.stripes.exclusive(index, index);
            let Some(grain) = self.locked(index) else { continue };
            if grain.is_placing() {
                return Err(StoreError::Busy);
            }
            let before = grain.mask();
            let after = before & !mask::covered(start, part_len as usize);
            let freed = mask::charged(before) - mask::charged(after);
            if after == 0 {
                drop_grain(slot);
            } else {
                self.make_writable(index)?;
                let Some(grain) = self.locked(index) else { continue };
                grain.zero(start, part_len as usize);
                grain.set_mask(after);
            }
            self.allocated.fetch_sub(freed, Ordering::Relaxed);
            self.space.release(freed);
        }
        Ok(())
    }
}

impl Drop for MemoryStore {
    fn drop(&mut self) {
        self.grains.each(|_, slot| drop_grain(slot));
        self.space.release(self.allocated_bytes());
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MemoryStore({} of {} bytes)", self.allocated_bytes(), self.size_bytes())
    }
}

/// Gives up the table's count of a grain; the caller holds its exclusive lock or the whole store.
#[allow(unsafe_code)]
fn drop_grain(slot: &AtomicPtr<Grain>) {
    let pointer = slot.swap(std::ptr::null_mut(), Ordering::Relaxed);
    if !pointer.is_null() {
        // SAFETY: the table owned one count of this grain, obtained by `Arc::into_raw`; it was taken out of
        // the table just now, so it is given up once.
        drop(unsafe { Arc::from_raw(pointer) });
    }
}

#[allow(unsafe_code)]
fn payload(grain: Arc<Grain>, start: usize, len: usize) -> Payload {
    let (pointer, memory) = (grain.pointer(start), std::ptr::from_ref(grain.slot.memory()));
    // SAFETY: `start + len` stays within the grain (a part never leaves it); the payload owns a count of the
    // grain, whose slot keeps its block.
    unsafe { Payload::in_memory(grain, &*memory, pointer, len) }
}

/// Bytes of a grain that was frozen for it.
#[allow(unsafe_code)]
fn frozen(grain: Arc<Grain>, start: usize, len: usize) -> Payload {
    let (pointer, memory) = (grain.pointer(start), std::ptr::from_ref(grain.slot.memory()));
    let owner = Arc::new(Frozen(grain));
    // SAFETY: as in `payload`; and nobody writes to a frozen grain: `make_writable` puts a copy in its place,
    // and an adapter is only let into a grain that `make_writable` has given.
    unsafe { Payload::in_memory(owner, &*memory, pointer, len).stable() }
}

fn place(placing: Placing, start: usize, len: usize) -> Place {
    let pointer = placing.0.pointer(start);
    let memory = std::ptr::NonNull::from(placing.0.slot.memory());
    Place::new(pointer, len, memory, Box::new(placing))
}
