//! What can go wrong with RDMA before a connection's own events tell it.

use std::io;

/// An error of an RDMA call.
#[derive(Debug, thiserror::Error)]
pub enum RdmaError {
    /// There is no RDMA here.
    #[error("RDMA cannot be used: {0}")]
    Unavailable(String),
    /// A call failed.
    #[error("{call}: {source}")]
    Call {
        /// What was called, and on what.
        call: String,
        /// Why it failed.
        source: io::Error,
    },
    /// More was posted than the queues take.
    #[error("the {queue} queue is full at {depth}")]
    QueueFull {
        /// Which.
        queue: &'static str,
        /// How much fits.
        depth: u32,
    },
    /// A work request that no adapter would take.
    #[error("bad work request: {0}")]
    BadWork(&'static str),
    /// The connection is not in the state for this call.
    #[error("the connection is {0}")]
    State(&'static str),
}

impl RdmaError {
    /// A failed call with the error of the operating system.
    pub fn last_os_error(call: impl Into<String>) -> Self {
        Self::Call { call: call.into(), source: io::Error::last_os_error() }
    }
}
