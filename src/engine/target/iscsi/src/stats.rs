//! Counters of a session. The session counts in plain integers and publishes them once per turn.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a session has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionStats {
    /// SCSI commands received.
    pub commands: u64,
    /// READ commands answered.
    pub reads: u64,
    /// Bytes sent for them.
    pub read_bytes: u64,
    /// WRITE commands answered.
    pub writes: u64,
    /// Bytes received for them.
    pub write_bytes: u64,
    /// Commands that ended in another status than GOOD.
    pub failed: u64,
    /// Task management functions.
    pub management: u64,
    /// PDUs rejected.
    pub rejects: u64,
    /// PDUs dropped without an answer: outside the command window, or data of a task that is gone.
    pub ignored: u64,
    /// Data segments whose digest was wrong.
    pub digest_errors: u64,
    /// Commands outstanding now.
    pub outstanding: u64,
}

/// What an RDMA connection has done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RdmaStats {
    /// Sends posted.
    pub sends: u64,
    /// Messages received.
    pub receives: u64,
    /// RDMA writes posted.
    pub writes: u64,
    /// RDMA reads posted.
    pub reads: u64,
    /// Completions of sends, writes and reads.
    pub completions: u64,
    /// Sends, writes and reads that asked for a completion.
    pub signalled: u64,
    /// Times that work was handed to the adapter.
    pub doorbells: u64,
    /// Times that the connection woke its thread.
    pub wake_ups: u64,
    /// Data copied: unsolicited data, and what does not lie in registered memory of a store.
    pub copies: u64,
    /// Bytes of these copies.
    pub copied_bytes: u64,
}

macro_rules! published {
    ($published:ident of $stats:ident: $($field:ident),*) => {
        /// The published counters, written by the session's thread alone.
        #[derive(Debug, Default)]
        pub(crate) struct $published { $($field: AtomicU64),* }

        impl $published {
            pub(crate) fn publish(&self, stats: &$stats) {
                $(self.$field.store(stats.$field, Ordering::Relaxed);)*
            }

            pub(crate) fn read(&self) -> $stats {
                $stats { $($field: self.$field.load(Ordering::Relaxed)),* }
            }
        }
    };
}

published!(
    PublishedRdma of RdmaStats: sends, receives, writes, reads, completions, signalled, doorbells, wake_ups, copies,
    copied_bytes
);

published!(
    Published of SessionStats: commands,
    reads,
    read_bytes,
    writes,
    write_bytes,
    failed,
    management,
    rejects,
    ignored,
    digest_errors,
    outstanding
);
