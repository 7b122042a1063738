//! What can be limited, and what the answer to a command looks like; [`crate::gate`] does the work.

use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::bucket::MAX_BURST_MS;

/// Burst of a limit that does not set its own.
pub const DEFAULT_BURST_MS: u32 = 100;

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

/// One limit on commands and bytes per second, reads and writes together; what is absent is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Commands per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// MiB per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib_per_s: Option<f64>,
    /// How many milliseconds of unused rate may be spent at once; [`DEFAULT_BURST_MS`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ms: Option<u32>,
}

impl Limit {
    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        self.iops.is_none() && self.mib_per_s.is_none()
    }

    /// Why it makes no sense, if so.
    pub fn problem(&self) -> Option<&'static str> {
        let bad = |rate: Option<f64>| rate.is_some_and(|rate| !(rate.is_finite() && rate >= 1e-3));
        if bad(self.iops) || bad(self.mib_per_s) {
            return Some("a rate must be above zero; leave it out for no limit");
        }
        if self.burst_ms.is_some_and(|ms| ms > MAX_BURST_MS) {
            return Some("a burst is at most 60000 ms");
        }
        None
    }
}

/// The limits that a volume has by setting, beside what its quality of service gives it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// All traffic of the volume.
    #[serde(default, skip_serializing_if = "Limit::is_unlimited")]
    pub volume: Limit,
    /// Each flow (one TCP connection) to the volume.
    #[serde(default, skip_serializing_if = "Limit::is_unlimited")]
    pub flow: Limit,
}
