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

macro_rules! published {
    ($($field:ident),*) => {
        /// The published counters, written by the session's thread alone.
        #[derive(Debug, Default)]
        pub(crate) struct Published { $($field: AtomicU64),* }

        impl Published {
            pub(crate) fn publish(&self, stats: &SessionStats) {
                $(self.$field.store(stats.$field, Ordering::Relaxed);)*
            }

            pub(crate) fn read(&self) -> SessionStats {
                SessionStats { $($field: self.$field.load(Ordering::Relaxed)),* }
            }
        }
    };
}

published!(
    commands,
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
