//! Memory of a store that an adapter writes into: the data of a write lands where it belongs, without a copy.

use std::ptr::NonNull;

use plimsoll_fabric::rdma::Memory;

/// Memory for the data of one write, in order. Dropped when no adapter writes into it any more.
pub struct Placement {
    pub(super) places: Vec<Place>,
}

impl Placement {
    /// Its runs of bytes.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}

/// A run of bytes in one block of registered memory.
pub struct Place {
    pointer: *mut u8,
    len: usize,
    memory: NonNull<Memory>,
    /// Keeps the bytes and their block.
    _owner: Box<dyn Send + Sync>,
}

// SAFETY: the pointers are only handed to an adapter, and the owner, which keeps what they point to, is Send.
#[allow(unsafe_code)]
unsafe impl Send for Place {}

impl Place {
    /// `owner` keeps the `len` bytes at `pointer`, and `memory`, in which they lie, alive.
    pub(super) fn new(
        pointer: *mut u8,
        len: usize,
        memory: NonNull<Memory>,
        owner: Box<dyn Send + Sync>,
    ) -> Self {
        Self { pointer, len, memory, _owner: owner }
    }

    /// The first byte.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a place has a byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The block that it lies in.
    #[allow(unsafe_code)]
    pub fn memory(&self) -> &Memory {
        // SAFETY: the owner keeps the block alive, and a block never moves.
        unsafe { self.memory.as_ref() }
    }
}
