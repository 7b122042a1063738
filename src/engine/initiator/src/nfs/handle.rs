//! File handles that are kept.

use plimsoll_wire::nfs3::{FileHandle, MAX_HANDLE_BYTES};

/// A file handle in memory of its own, without an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Handle {
    bytes: [u8; MAX_HANDLE_BYTES],
    len: usize,
}

impl Handle {
    /// The handle as messages carry it.
    pub fn wire(&self) -> FileHandle<'_> {
        FileHandle(&self.bytes[..self.len])
    }
}

impl From<FileHandle<'_>> for Handle {
    /// Copies the handle; the wire's cap makes it fit.
    fn from(handle: FileHandle<'_>) -> Self {
        let mut bytes = [0; MAX_HANDLE_BYTES];
        let len = handle.0.len().min(MAX_HANDLE_BYTES);
        bytes[..len].copy_from_slice(&handle.0[..len]);
        Self { bytes, len }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.wire().fmt(f)
    }
}
