//! A snapshot of what a target holds and did, for people and for the monitoring that a resizer acts on.

use std::net::SocketAddr;

use plimsoll_remote::Status;
use plimsoll_storage::VolumeCounters;
use plimsoll_target_iscsi::SessionInfo;
use serde::Serialize;

/// A snapshot; counters run from the start of the target.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Statistics {
    /// Seconds since the start.
    pub uptime_s: f64,
    /// Connections open now, of all protocols.
    pub connections: usize,
    /// iSCSI sessions that are logged in, over TCP and over RDMA.
    pub iscsi_sessions: usize,
    /// Each of them.
    pub sessions: Vec<SessionStatistics>,
    /// Jobs that wait for a blocking thread.
    pub blocking_queued: usize,
    /// The pools.
    pub pools: Vec<PoolStatistics>,
    /// The volumes.
    pub volumes: Vec<VolumeStatistics>,
}

/// An iSCSI session.
#[derive(Debug, Clone, Serialize)]
pub struct SessionStatistics {
    /// Its number.
    pub tsih: u16,
    /// iSCSI name of the initiator.
    pub initiator: String,
    /// Where the initiator's connection comes from.
    pub peer: SocketAddr,
    /// `tcp` or `iser`.
    pub transport: &'static str,
    /// SCSI commands received.
    pub commands: u64,
    /// Commands outstanding now.
    pub outstanding: u64,
    /// Bytes sent for READ commands.
    pub read_bytes: u64,
    /// Bytes received for WRITE commands.
    pub write_bytes: u64,
    /// Over RDMA: bytes that were copied on their way.
    pub copied_bytes: Option<u64>,
}

impl SessionStatistics {
    pub(crate) fn new(info: &SessionInfo) -> Self {
        Self {
            tsih: info.tsih,
            initiator: info.initiator.clone(),
            peer: info.peer,
            transport: info.transport.name(),
            commands: info.stats.commands,
            outstanding: info.stats.outstanding,
            read_bytes: info.stats.read_bytes,
            write_bytes: info.stats.write_bytes,
            copied_bytes: info.rdma.map(|rdma| rdma.copied_bytes),
        }
    }
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
    /// Of a remote volume: how it is connected, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<Status>,
}
