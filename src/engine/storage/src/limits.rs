//! When a command may run: token buckets of the volume, its pool, the host and the flow.
//!
//! Admission reserves into debt: a command that must wait is told the one instant at which it may run, and
//! its tokens are taken at once. So the order of asking is the order of running (first come, first served
//! across flows), nobody asks twice, and a parked command needs nothing but a timer.

use std::time::Instant;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Data goes to the initiator.
    Read,
    /// Data comes from the initiator.
    Write,
}

/// When a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// At once.
    Now,
    /// At that instant; final, so the caller parks until then and does not ask again.
    At(Instant),
}

/// One limit: commands and bytes per second; what is absent is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limit {
    /// Commands per second.
    pub iops: Option<f64>,
    /// MiB per second.
    pub mib_per_s: Option<f64>,
    /// How many milliseconds of unused rate may be spent at once.
    pub burst_ms: Option<u32>,
}

/// The limits of a volume.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limits {
    /// All traffic of the volume.
    pub volume: Limit,
    /// Each flow (one TCP connection) to the volume.
    pub flow: Limit,
}

/// What a connection owns to be limited as a flow.
#[derive(Debug, Default)]
pub struct FlowLimiter {}

impl FlowLimiter {
    /// A flow that has used nothing yet.
    pub fn new() -> Self {
        Self::default()
    }
}
