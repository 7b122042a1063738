//! Registered memory of one connection: blocks cut into buffers, and the receives.
//!
//! A buffer belongs to whoever took it until it is given back, which is after the work on it is known to be
//! complete: that is what makes access to its bytes sound.

use plimsoll_fabric::Payload;
use plimsoll_fabric::rdma::{Access, Domain, Endpoint, Memory, RdmaError, Region, Segment};

/// Tells completions of receives from others.
pub const RECEIVE: u64 = 1 << 56;

fn block(domain: &Domain, len: usize) -> Result<Region, RdmaError> {
    let memory = Memory::allocate(len).map_err(|source| RdmaError::Call {
        call: format!("allocating {len} bytes for a connection"),
        source,
    })?;
    domain.register(&memory, Access::LOCAL)
}

/// A run of bytes in a block.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer {
    block: usize,
    offset: usize,
    /// Length in bytes.
    pub len: usize,
}

/// The blocks that buffers are cut from.
#[derive(Default)]
pub struct Blocks {
    regions: Vec<Region>,
}

impl Blocks {
    /// Registers a block and cuts it into buffers of these lengths.
    pub fn add(
        &mut self,
        domain: &Domain,
        lengths: &[(usize, usize)],
    ) -> Result<Vec<Vec<Buffer>>, RdmaError> {
        let total = lengths.iter().map(|(count, len)| count * len).sum();
        self.regions.push(block(domain, total)?);
        let block = self.regions.len() - 1;
        let mut offset = 0;
        let mut cut = |len| {
            let buffer = Buffer { block, offset, len };
            offset += len;
            buffer
        };
        Ok(lengths.iter().map(|(count, len)| (0..*count).map(|_| cut(*len)).collect()).collect())
    }

    /// The first `len` bytes for a work request.
    pub fn segment(&self, buffer: &Buffer, len: usize) -> Segment {
        debug_assert!(len <= buffer.len);
        self.regions[buffer.block].segment(buffer.offset, len)
    }

    /// Writes the parts one after the other, as far as they fit.
    #[allow(unsafe_code)]
    pub fn fill(&self, buffer: &Buffer, parts: &[&[u8]]) {
        let mut at = 0;
        for part in parts {
            let part = &part[..part.len().min(buffer.len - at)];
            // SAFETY: the caller holds the buffer, so no work on it is under way and nobody else touches it;
            // buffers do not overlap, and the range is within it.
            unsafe { self.regions[buffer.block].memory().put(buffer.offset + at, part) };
            at += part.len();
        }
    }

    /// Copies the first `len` bytes of a payload.
    ///
    /// # Panics
    /// When the payload or the buffer is shorter.
    #[allow(unsafe_code)]
    pub fn copy(&self, buffer: &Buffer, payload: &Payload, len: usize) {
        assert!(len <= buffer.len && len <= payload.len());
        let memory = self.regions[buffer.block].memory();
        assert!(buffer.offset + len <= memory.len());
        // SAFETY: the payload's owner keeps its bytes readable; the buffer is held by the caller and in bounds.
        // They do not overlap, since no payload lies in a connection's own blocks. A write that races with
        // this read of the store may tear it, as any disk's may.
        unsafe {
            std::ptr::copy_nonoverlapping(
                payload.pointer(),
                memory.pointer().add(buffer.offset),
                len,
            );
        }
    }

    /// The first `len` bytes, which completed work has filled.
    #[allow(unsafe_code)]
    pub fn bytes(&self, buffer: &Buffer, len: usize) -> &[u8] {
        let len = len.min(buffer.len);
        // SAFETY: the caller holds the buffer: the read that filled it has completed, and nothing else is asked
        // to write to it before it is given back, which needs the slice to be gone (`buffer` is not `Copy`).
        unsafe { self.regions[buffer.block].memory().bytes(buffer.offset, len) }
    }
}

/// The receives of a connection, by number.
pub struct Receives {
    regions: Vec<Region>,
    /// Region and offset of each.
    slots: Vec<(usize, usize)>,
    bytes: usize,
    /// Taken and not posted again while the peer leaves its answers unread.
    idle: Vec<u32>,
}

impl Receives {
    pub fn new(bytes: usize) -> Self {
        Self { regions: Vec::new(), slots: Vec::new(), bytes, idle: Vec::new() }
    }

    /// Registers and posts receives until there are `count`.
    pub fn grow(
        &mut self,
        count: u32,
        domain: &Domain,
        endpoint: &mut dyn Endpoint,
    ) -> Result<(), RdmaError> {
        let more = (count as usize).saturating_sub(self.slots.len());
        if more == 0 {
            return Ok(());
        }
        self.regions.push(block(domain, more * self.bytes)?);
        let first = self.slots.len();
        let region = self.regions.len() - 1;
        self.slots.extend((0..more).map(|at| (region, at * self.bytes)));
        (first..first + more).try_for_each(|slot| self.post(slot as u32, endpoint))
    }

    fn post(&mut self, slot: u32, endpoint: &mut dyn Endpoint) -> Result<(), RdmaError> {
        let (region, offset) = self.slots[slot as usize];
        let segment = self.regions[region].segment(offset, self.bytes);
        endpoint.post_receive(RECEIVE | u64::from(slot), segment)
    }

    /// The message that came in a receive; `None` for a number that is none.
    #[allow(unsafe_code)]
    pub fn message(&self, slot: u32, len: u32) -> Option<&[u8]> {
        let (region, offset) = *self.slots.get(slot as usize)?;
        let len = (len as usize).min(self.bytes);
        // SAFETY: the receive has completed and is posted again by `take_back` only, which needs `&mut self`.
        Some(unsafe { self.regions[region].memory().bytes(offset, len) })
    }

    /// A message is done with.
    pub fn take_back(&mut self, slot: u32) {
        self.idle.push(slot);
    }

    /// Posts what is done with.
    pub fn post_idle(&mut self, endpoint: &mut dyn Endpoint) -> Result<(), RdmaError> {
        while let Some(slot) = self.idle.pop() {
            self.post(slot, endpoint)?;
        }
        Ok(())
    }
}
