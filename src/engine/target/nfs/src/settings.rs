//! Limits of the server: what one peer may hold, and for how long.

use std::time::Duration;

/// Limits that hold for every connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Largest READ and WRITE in bytes, told in FSINFO.
    pub transfer_max_bytes: u32,
    /// Calls of one connection that may wait for a limit, a disk or a flush; then it is read no further.
    /// Far above what clients keep in flight (ESXi 256, Linux 128), so that a GETATTR is always heard.
    pub calls_in_flight_max: usize,
    /// Bytes of cold reads that may wait on one connection.
    pub bytes_in_flight_max: usize,
    /// Connections open at once, and those of one address.
    pub connections_max: usize,
    /// Connections of one address.
    pub connections_per_host_max: usize,
    /// A connection on which nothing is heard for this long is closed; clients open a new one when needed.
    pub idle_timeout: Duration,
    /// A peer that stops in the middle of a record, or takes no replies, for this long is cut off.
    pub stall_timeout: Duration,
    /// Answers kept for requests that are repeated.
    pub replies_kept_max: usize,
    /// How long they are kept: longer than clients go on repeating.
    pub replies_kept_for: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            transfer_max_bytes: 1 << 20,
            calls_in_flight_max: 1024,
            bytes_in_flight_max: 64 << 20,
            connections_max: 4096,
            connections_per_host_max: 1024,
            idle_timeout: Duration::from_secs(15 * 60),
            stall_timeout: Duration::from_secs(60),
            replies_kept_max: 16_384,
            replies_kept_for: Duration::from_secs(180),
        }
    }
}

impl Settings {
    /// Cap of a record with its marks: the largest WRITE, its arguments and a full credential.
    pub(crate) fn record_max_bytes(&self) -> usize {
        self.transfer_max_bytes as usize + 16 * 1024
    }
}
