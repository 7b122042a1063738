//! What performance exports hold, in one form for every source.
//!
//! A series is the mean of a metric over each of its intervals, stated by the interval's start in
//! UTC. Rates are IOPS and MiB/s, latencies ms, sizes MiB. A missing interval has no sample: it is
//! neither zero nor filled in here.

use plimsoll_inventory::{DatastoreId, VmId};
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Reads a second.
    ReadIops,
    /// Writes a second.
    WriteIops,
    /// Both.
    TotalIops,
    /// MiB read a second.
    ReadMibps,
    /// MiB written a second.
    WriteMibps,
    /// Both.
    TotalMibps,
    /// Mean latency of reads, ms.
    ReadLatencyMs,
    /// Mean latency of writes, ms.
    WriteLatencyMs,
    /// Mean latency of both, or the highest of all devices where the source has only that, ms.
    TotalLatencyMs,
    /// Used space, MiB.
    UsedMib,
    /// Free space, MiB.
    FreeMib,
    /// Capacity, MiB.
    CapacityMib,
}

/// What kind of quantity, for units and for adding instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Dimension {
    Rate,
    Throughput,
    Latency,
    Size,
}

impl Metric {
    pub(crate) fn dimension(self) -> Dimension {
        match self {
            Self::ReadIops | Self::WriteIops | Self::TotalIops => Dimension::Rate,
            Self::ReadMibps | Self::WriteMibps | Self::TotalMibps => Dimension::Throughput,
            Self::ReadLatencyMs | Self::WriteLatencyMs | Self::TotalLatencyMs => Dimension::Latency,
            Self::UsedMib | Self::FreeMib | Self::CapacityMib => Dimension::Size,
        }
    }
}

/// What a series or summary is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// A virtual machine.
    Vm,
    /// A datastore, or the volume of an array behind it.
    Datastore,
    /// A host.
    Host,
}

/// An object as a file names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entity {
    /// Kind.
    pub kind: EntityKind,
    /// Name; empty when the file has none.
    pub name: String,
    /// VM UUID, in lower case.
    pub uuid: Option<String>,
    /// Managed object id, such as `vm-1021`: unique within one vCenter.
    pub id: Option<String>,
    /// vCenter by name or UUID, when stated.
    pub vcenter: Option<String>,
    /// Index into [`Survey::files`](crate::Survey::files).
    pub file: u32,
    /// First row that names it; 0 where the file has no rows.
    pub row: u64,
}

/// Index into [`Survey::entities`](crate::Survey::entities).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntityId(pub u32);

/// One mean over one interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Start of the interval, seconds since 1970 UTC.
    pub at_s: u32,
    /// Mean, in the unit of the metric.
    pub value: f32,
}

/// One metric of one object over time, instances added (latency: the highest instance).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Whose.
    pub entity: EntityId,
    /// Of what.
    pub metric: Metric,
    /// Length of an interval, seconds.
    pub interval_s: u32,
    /// In order of time, each start once.
    pub samples: Vec<Sample>,
}

/// Which statistic of a period a summary states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Mean over the period. Means of different objects may be added.
    Mean,
    /// 95th percentile of the object's own samples. Never added to another's.
    P95,
    /// Highest sample. Never added to another's.
    Peak,
}

/// One statistic of one object without its samples.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Whose.
    pub entity: EntityId,
    /// Of what.
    pub metric: Metric,
    /// Which statistic.
    pub statistic: Statistic,
    /// Value, in the unit of the metric.
    pub value: f64,
}

/// One result of a load generator: what a target did, not what anybody asks of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Benchmark {
    /// Index into [`Survey::files`](crate::Survey::files).
    pub file: u32,
    /// Name of the job or access specification.
    pub name: String,
    /// What ran it, such as `fio-3.33`.
    pub tool: String,
    /// Block size, KiB, when stated.
    pub block_kib: Option<f64>,
    /// I/Os in flight that were asked for: depth times jobs.
    pub in_flight: Option<f64>,
    /// Reads a second.
    pub read_iops: f64,
    /// Writes a second.
    pub write_iops: f64,
    /// MiB read a second.
    pub read_mibps: f64,
    /// MiB written a second.
    pub write_mibps: f64,
    /// Mean latency over both, ms.
    pub mean_latency_ms: Option<f64>,
    /// 99th percentile, ms: the worse of reads and writes.
    pub p99_latency_ms: Option<f64>,
    /// Measured time, seconds.
    pub seconds: Option<f64>,
}

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    /// Name as given.
    pub name: String,
    /// What it was recognised as, in words.
    pub recognised: String,
    /// Rows or samples that were used.
    pub used: u64,
}

/// What an entity is in the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Match {
    /// A VM, and by what it was found.
    Vm(VmId, MatchedBy),
    /// A datastore, by name.
    Datastore(DatastoreId),
    /// Several objects of the inventory fit.
    Ambiguous,
    /// None fits.
    Unmatched,
    /// Not looked for: hosts.
    NotSought,
}

/// The key that told which VM it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MatchedBy {
    /// VM UUID.
    Uuid,
    /// Managed object id within its vCenter.
    Id,
    /// Name.
    Name,
}
