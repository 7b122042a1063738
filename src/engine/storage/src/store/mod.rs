//! Backing stores: where the bytes of a logical unit or of a file live.
//!
//! Both kinds are sparse, keep track of provisioning per 512-byte sector (GET LBA STATUS is exact), charge
//! what they allocate to a [`Space`](crate::Space) in units of [`ALLOCATION_BYTES`], and lock by grain of
//! [`GRAIN_BYTES`], so that COMPARE AND WRITE is atomic towards every write.

mod arena;
mod file;
mod grains;
mod mask;
mod memory;
mod os;
mod placement;
mod remote;
mod stripes;
mod windows;

pub use file::{Charge, FileStore};
pub use memory::MemoryStore;

use std::sync::Arc;

pub use placement::{Place, Placement};
pub use remote::{Remote, RemoteChange, RemoteDone, RemoteOperation, RemoteStore};

use plimsoll_fabric::Payload;

use crate::StoreError;

/// Unit of locking and, in memory, of allocation.
pub const GRAIN_BYTES: usize = 64 * 1024;
/// Unit in which allocated space is charged.
pub const ALLOCATION_BYTES: u64 = 4096;
/// Unit in which provisioning is tracked.
pub const SECTOR_BYTES: u64 = 512;

/// What a hole is read from.
static ZEROES: [u8; GRAIN_BYTES] = [0; GRAIN_BYTES];
/// Most grains one status walks over: 4 GiB.
const STATUS_WALK: u64 = 65_536;

/// Whether a read could be answered at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ready {
    /// The payloads were handed over.
    Now,
    /// Nothing was handed over: the data is not in memory; use `read_blocking` in the pool of threads.
    Blocking,
}

/// Whether a sector holds data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provisioning {
    /// Written or anchored.
    Mapped,
    /// Never written or unmapped: reads as zeroes.
    Hole,
}

/// A sparse run of bytes that can be read, written, unmapped and resized online.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "always behind one Arc per volume or file")]
pub enum BlockStore {
    /// In memory; gone with the process.
    Memory(MemoryStore),
    /// In a sparse file.
    File(FileStore),
    /// At a remote target.
    Remote(RemoteStore),
}

macro_rules! each {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            Self::Memory($store) => $call,
            Self::File($store) => $call,
            Self::Remote($store) => $call,
        }
    };
}

impl BlockStore {
    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        each!(self, store => store.size_bytes())
    }

    /// Grows or shrinks; what lies beyond a smaller size is unmapped.
    pub fn resize(&self, size: u64) -> Result<(), StoreError> {
        each!(self, store => store.resize(size))
    }

    /// Bytes allocated, a multiple of [`ALLOCATION_BYTES`].
    pub fn allocated_bytes(&self) -> u64 {
        each!(self, store => store.allocated_bytes())
    }

    /// Hands the bytes of the range to `out`, in order, without copying them. Never blocks on a disk.
    pub fn read(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        each!(self, store => store.read(offset, len, out))
    }

    /// As [`Self::read`], but the bytes do not change for as long as they are held: for digests.
    pub fn read_stable(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        each!(self, store => store.read_stable(offset, len, out))
    }

    /// Memory of the store for the bytes of the range, for an adapter to write into: the range counts as
    /// written, and what it holds is settled when the placement is dropped. `None`: the store has none, the data
    /// comes by [`Self::write`].
    pub fn place(&self, offset: u64, len: usize) -> Result<Option<Placement>, StoreError> {
        match self {
            Self::Memory(store) => store.place(offset, len).map(Some),
            _ => Ok(None),
        }
    }

    /// Fills `buffer`; may wait for a disk, so it is called from the pool of threads.
    pub fn read_blocking(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        each!(self, store => store.read_blocking(offset, buffer))
    }

    /// The remote unit behind the store: its reads and writes are begun with [`Remote::submit`].
    pub fn remote(&self) -> Option<&Arc<dyn Remote>> {
        match self {
            Self::Remote(store) => Some(store.remote()),
            _ => None,
        }
    }

    /// Whether access to it may wait for a disk or a network.
    pub fn may_block(&self) -> bool {
        !matches!(self, Self::Memory(_))
    }

    /// Writes to memory or to the page cache; callable from an I/O thread, except on a remote store. Atomic towards
    /// [`compare_and_write`](Self::compare_and_write) up to 1 MiB.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        each!(self, store => store.write(offset, data))
    }

    /// Writes `data` if the store holds `compare` at `offset`; otherwise tells the first differing byte.
    ///
    /// Both must have the same length, at most 1 MiB.
    pub fn compare_and_write(
        &self,
        offset: u64,
        compare: &[u8],
        data: &[u8],
    ) -> Result<Option<usize>, StoreError> {
        each!(self, store => store.compare_and_write(offset, compare, data))
    }

    /// Ors `data` into the store (ORWRITE), atomically per 1 MiB.
    pub fn or_write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        each!(self, store => store.or_write(offset, data))
    }

    /// Writes zeroes that stay mapped. May take long on a large range: call it from the pool of threads.
    pub fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        each!(self, store => store.write_zeroes(offset, len))
    }

    /// Unmaps every sector that lies wholly in the range and zeroes the rest of the range.
    pub fn unmap(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        each!(self, store => store.unmap(offset, len))
    }

    /// Provisioning of the sector at `offset`, and for how many bytes from `offset` on it is the same.
    pub fn status(&self, offset: u64) -> Result<(Provisioning, u64), StoreError> {
        each!(self, store => store.status(offset))
    }

    /// Waits until everything written before is durable. A failure is sticky: no later flush succeeds.
    pub fn flush(&self) -> Result<(), StoreError> {
        each!(self, store => store.flush())
    }
}

/// Checks a range against the size of the store.
fn check(offset: u64, len: u64, size: u64) -> Result<(), StoreError> {
    match offset.checked_add(len) {
        Some(end) if end <= size => Ok(()),
        _ => Err(StoreError::OutOfRange { offset, len, size }),
    }
}

/// A part of a range that lies in one grain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Index of the grain.
    grain: u64,
    /// First byte within the grain.
    start: usize,
    /// Bytes within the grain, at least 1.
    len: usize,
    /// First byte within the range.
    at: u64,
}

/// Splits a range at the borders of grains.
fn parts(offset: u64, len: u64) -> impl Iterator<Item = Part> {
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < len).then(|| {
            let position = offset + at;
            let start = (position % GRAIN_BYTES as u64) as usize;
            let part_len = ((GRAIN_BYTES - start) as u64).min(len - at) as usize;
            let part = Part { grain: position / GRAIN_BYTES as u64, start, len: part_len, at };
            at += part_len as u64;
            part
        })
    })
}

/// Splits a range into batches that may be locked at once: at most 16 grains.
fn batches(offset: u64, len: u64) -> impl Iterator<Item = (u64, u64)> {
    let step = (stripes::MAX_SPAN as u64 - 1) * GRAIN_BYTES as u64;
    let mut at = 0;
    std::iter::from_fn(move || {
        (at < len).then(|| {
            let batch = (offset + at, step.min(len - at));
            at += batch.1;
            batch
        })
    })
}
