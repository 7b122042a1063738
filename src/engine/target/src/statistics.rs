//! A snapshot of what a target holds and did, for people and for the monitoring that a resizer acts on.

use plimsoll_storage::VolumeCounters;
use serde::Serialize;

/// A snapshot; counters run from the start of the target.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistics {
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Connections open now, of all protocols.
    pub connections: usize,
    /// iSCSI sessions that are logged in.
    pub iscsi_sessions: usize,
    /// Jobs that wait for a blocking thread.
    pub blocking_queued: usize,
    /// The pools.
    pub pools: Vec<PoolStatistics>,
    /// The volumes.
    pub volumes: Vec<VolumeStatistics>,
}

/// A pool.
#[derive(Debug, Clone, Serialize)]
pub struct PoolStatistics {
    /// Its name.
    pub name: String,
    /// Its tier.
    pub tier: Option<String>,
    /// Its size.
    pub size_bytes: u64,
    /// What its volumes have allocated.
    pub used_bytes: u64,
    /// The sum of its volumes' quotas.
    pub quota_bytes: u64,
}

/// A volume.
#[derive(Debug, Clone, Serialize)]
pub struct VolumeStatistics {
    /// Its name.
    pub name: String,
    /// Its serial.
    pub serial: String,
    /// Its quota.
    pub size_bytes: u64,
    /// What it has allocated.
    pub used_bytes: u64,
    /// Throughput that tier, quality of service and its own limit give it together; absent: unlimited.
    pub limit_mib_per_s: Option<f64>,
    /// Commands per second it is limited to; absent: unlimited.
    pub limit_iops: Option<f64>,
    /// What it was asked for.
    #[serde(flatten)]
    pub counters: VolumeCounters,
}
