//! A target that serves: its addresses, its array, its statistics, its end.

use serde::Serialize;

use crate::{Config, TargetError};

/// Starts targets.
#[derive(Debug)]
pub struct Target;

impl Target {
    /// Builds the array, listens on every portal, and returns when clients can connect.
    pub fn start(_config: Config) -> Result<Running, TargetError> {
        Err(TargetError::Unavailable("a target"))
    }
}

/// One address under which a volume is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Name of the volume.
    pub volume: String,
    /// Its serial, by which a probe names it for writing.
    pub serial: String,
    /// `iscsi://host:port/iqn/lun` or `nfs://host:port/export`.
    pub url: String,
}

/// A snapshot of what the target did.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistics {
    /// Seconds since the start.
    pub uptime_s: f64,
}

/// A running target; dropping it stops it as [`Running::stop`] does.
#[derive(Debug)]
pub struct Running {}

impl Running {
    /// Every volume with every address it is served under, in the order of the configuration.
    pub fn urls(&self) -> Vec<Served> {
        Vec::new()
    }

    /// What was done so far.
    pub fn statistics(&self) -> Statistics {
        Statistics::default()
    }

    /// Stops accepting, ends sessions, flushes every volume, and closes the metadata.
    pub fn stop(self) -> Result<(), TargetError> {
        Ok(())
    }
}
