//! Bytes to be sent that stay where they are: a grain of a memory store, a mapped file, a static page.
//!
//! A [`Payload`] keeps its owner alive until the last byte is handed to the kernel, so a store may drop or
//! replace the memory behind it at any time. The bytes themselves may be overwritten meanwhile by another
//! command (as on any disk, a read that races with a write sees either); the kernel copies them, this
//! process never looks at them through a Rust reference.

use std::ptr::NonNull;
use std::sync::Arc;

use crate::rdma::Memory;

/// Keeps the memory of a payload alive.
pub type Owner = Arc<dyn Send + Sync>;

/// A run of bytes to be sent without copying them in user space.
#[derive(Clone)]
pub struct Payload {
    pointer: *const u8,
    len: usize,
    /// The block that an adapter can reach it through, if it lies in one; the owner keeps it alive.
    memory: Option<NonNull<Memory>>,
    /// Nobody writes to the bytes while a copy of this lives.
    is_stable: bool,
    _owner: Option<Owner>,
}

// SAFETY: the pointer is only ever given to the kernel or copied from by `copy_to`, and the owner, which
// keeps the memory and its block alive, is itself Send; a block is Sync.
#[allow(unsafe_code)]
unsafe impl Send for Payload {}

impl Payload {
    /// A payload over memory that lives as long as its owner.
    ///
    /// # Safety
    /// `pointer..pointer + len` must stay readable for as long as `owner` is alive.
    #[allow(unsafe_code)]
    pub unsafe fn new(owner: Owner, pointer: *const u8, len: usize) -> Self {
        Self { pointer, len, memory: None, is_stable: false, _owner: Some(owner) }
    }

    /// A payload that lies in a block which RDMA can reach: it is sent from there without a copy.
    ///
    /// # Safety
    /// As for [`Self::new`]; and `owner` keeps `memory` alive too.
    #[allow(unsafe_code)]
    pub unsafe fn in_memory(owner: Owner, memory: &Memory, pointer: *const u8, len: usize) -> Self {
        Self {
            pointer,
            len,
            memory: Some(NonNull::from(memory)),
            is_stable: false,
            _owner: Some(owner),
        }
    }

    /// `len` bytes of a block from `offset` on.
    ///
    /// # Panics
    /// When the block is shorter.
    #[allow(unsafe_code)]
    pub fn from_memory(memory: &Arc<Memory>, offset: usize, len: usize) -> Self {
        assert!(offset.checked_add(len).is_some_and(|end| end <= memory.len()));
        let pointer = memory.pointer().wrapping_add(offset);
        let owner: Owner = Arc::<Memory>::clone(memory);
        // SAFETY: in bounds by the assertion; the owner is the block itself.
        unsafe { Self::in_memory(owner, memory, pointer, len) }
    }

    /// The block that it lies in, if RDMA can reach it without a copy.
    #[allow(unsafe_code)]
    pub fn memory(&self) -> Option<&Memory> {
        // SAFETY: the owner, which this value holds, keeps the block alive (contract of `in_memory`), and a
        // block never moves.
        self.memory.map(|memory| unsafe { memory.as_ref() })
    }

    /// A payload over constant memory.
    pub fn from_static(bytes: &'static [u8]) -> Self {
        Self {
            pointer: bytes.as_ptr(),
            len: bytes.len(),
            memory: None,
            is_stable: true,
            _owner: None,
        }
    }

    /// A payload that owns its bytes.
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let owner = Arc::new(bytes);
        Self {
            pointer: owner.as_ptr(),
            len: owner.len(),
            memory: None,
            is_stable: true,
            _owner: Some(owner),
        }
    }

    /// The same bytes, which do not change for as long as they are held: for digests, which must cover what is sent.
    ///
    /// # Safety
    /// Nobody writes to the bytes before the last copy of the payload is dropped.
    #[allow(unsafe_code)]
    pub unsafe fn stable(mut self) -> Self {
        self.is_stable = true;
        self
    }

    /// Itself when its bytes do not change, a copy of them otherwise.
    pub fn stable_or_copy(self) -> Self {
        if self.is_stable {
            return self;
        }
        let mut copy = Vec::new();
        self.copy_to(&mut copy);
        Self::from_vec(copy)
    }

    /// The bytes, when they do not change for as long as they are held.
    #[allow(unsafe_code)]
    pub fn stable_bytes(&self) -> Option<&[u8]> {
        // SAFETY: readable while the owner lives (contract of `new`), and not written to: by the contract of
        // `stable`, or because nobody else has access (`from_vec`, `from_static`).
        self.is_stable.then(|| unsafe { std::slice::from_raw_parts(self.pointer, self.len) })
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The first byte; meant for the iovec of a send, or a segment of RDMA work.
    pub fn pointer(&self) -> *const u8 {
        self.pointer
    }

    /// Drops the first `count` bytes (at most all) from what is sent.
    pub fn advance(&mut self, count: usize) {
        let count = count.min(self.len);
        self.pointer = self.pointer.wrapping_add(count);
        self.len -= count;
    }

    /// Splits after `count` bytes (at most all): the first part is returned, the rest stays.
    pub fn split_to(&mut self, count: usize) -> Self {
        let count = count.min(self.len);
        let head = Self {
            pointer: self.pointer,
            len: count,
            memory: self.memory,
            is_stable: self.is_stable,
            _owner: self._owner.clone(),
        };
        self.advance(count);
        head
    }

    /// Appends a snapshot of the bytes to `out`: for digests, which must cover what is sent even when a
    /// write lands in between.
    #[allow(unsafe_code)]
    pub fn copy_to(&self, out: &mut Vec<u8>) {
        out.reserve(self.len);
        // SAFETY: the owner keeps `len` bytes readable at `pointer`; `reserve` made room for them; the two
        // do not overlap because `out` owns its memory alone. A concurrent write may tear the snapshot,
        // which is what a racing read of a disk gives; bytes have no invalid values.
        unsafe {
            std::ptr::copy_nonoverlapping(self.pointer, out.as_mut_ptr().add(out.len()), self.len);
            out.set_len(out.len() + self.len);
        }
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Payload({} bytes)", self.len)
    }
}
