//! What can go wrong between a protocol server and its data, in words that say what to do.

use std::io;

/// Failure of a data command on a backing store.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The range leaves the store.
    #[error("range at byte {offset} of {len} bytes leaves the store of {size} bytes")]
    OutOfRange {
        /// First byte asked for.
        offset: u64,
        /// Bytes asked for.
        len: u64,
        /// Size of the store at that moment.
        size: u64,
    },
    /// The quota of the volume or the size of its thin pool is used up.
    #[error(
        "no space left: {used} of {limit} bytes are allocated; grow the volume's pool or quota, or unmap data"
    )]
    NoSpace {
        /// Bytes allocated.
        used: u64,
        /// Bytes that may be allocated.
        limit: u64,
    },
    /// The host's file system failed.
    #[error("{operation} failed: {kind}")]
    Io {
        /// The operation that failed.
        operation: &'static str,
        /// Its kind as the operating system told it.
        kind: io::ErrorKind,
    },
    /// An earlier write-back failed: what was acknowledged may be lost, so no later flush may succeed.
    #[error(
        "an earlier flush failed ({kind}); data acknowledged before may be lost, restart the volume after checking the backing file system"
    )]
    FlushFailed {
        /// The kind of the first failure.
        kind: io::ErrorKind,
    },
}

impl StoreError {
    /// Wraps an error of the operating system.
    pub fn io(operation: &'static str, error: &io::Error) -> Self {
        Self::Io { operation, kind: error.kind() }
    }

    /// Whether growing a pool or a quota would have let the command pass.
    pub fn is_no_space(&self) -> bool {
        matches!(self, Self::NoSpace { .. } | Self::Io { kind: io::ErrorKind::StorageFull, .. })
    }
}
