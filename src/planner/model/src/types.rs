//! What a model is asked and what it answers.

use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Random I/O at the model's small block (8 KiB for Azure VMware Solution), IOPS.
    Iops,
    /// Sequential I/O at the model's large block (64 KiB), MiB/s.
    Throughput,
}

/// A limit that can bind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// One TCP connection between a host and a datastore.
    Flow,
    /// A host's network port and storage stack.
    Host,
    /// One volume behind a datastore.
    Volume,
    /// One VM's virtual adapter and queue.
    Vm,
    /// The pool or array behind all volumes.
    Pool,
    /// Outstanding I/O over the unloaded response time.
    Concurrency,
    /// The service tier's throttle: a hard minimum.
    Tier,
    /// A gateway between the hosts and the storage: a hard minimum.
    Gateway,
}

/// A configuration to predict for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Configuration {
    /// Hosts that carry load.
    pub hosts: f64,
    /// Datastores, one volume each.
    pub datastores: f64,
    /// Flows in all: hosts x datastores x effective connections.
    pub flows: f64,
    /// VMs that drive the load; `None` when there are more than enough.
    pub vms: Option<f64>,
    /// Outstanding I/Os in all; `None` when there are more than enough.
    pub outstanding: Option<f64>,
}

/// A predicted value with how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Median, IOPS or MiB/s.
    pub median: f64,
    /// 5th percentile: the level reached in 19 of 20 cases.
    pub p05: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Share of each limit at the median, 0-1, largest first; sums to 1.
    pub shares: Vec<(Resource, f64)>,
    /// Outside the hull of the measured configurations.
    pub extrapolated: bool,
    /// Evidence.
    pub grade: EvidenceGrade,
}

impl Prediction {
    /// The limit with the largest share.
    #[must_use]
    pub fn binding(&self) -> Option<Resource> {
        self.shares.first().map(|share| share.0)
    }
}

impl Configuration {
    /// `hosts` hosts mounting `datastores` datastores by `connections` flows each, with VMs and
    /// outstanding I/O more than enough.
    #[must_use]
    pub fn full(hosts: f64, datastores: f64, connections: f64) -> Self {
        Self {
            hosts,
            datastores,
            flows: hosts * datastores * connections,
            vms: None,
            outstanding: None,
        }
    }
}

/// Response time at a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LatencyPrediction {
    /// Median of the mean response time, ms.
    pub median_ms: f64,
    /// 5th percentile, ms.
    pub p05_ms: f64,
    /// 95th percentile, ms.
    pub p95_ms: f64,
    /// Response time without load, ms.
    pub unloaded_ms: f64,
    /// Load over what the configuration carries, 0-1.
    pub utilisation: f64,
}

/// Why no latency is quoted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum LatencyUnknown {
    /// The points behind the model state no latency and no number of outstanding I/Os.
    #[error("the published points give no unloaded response time")]
    UnloadedNotMeasured,
    /// Past the knee single points are off by half to double.
    #[error("the load is {:.0} % of the limit; above 85 % no latency is quoted", .utilisation * 100.0)]
    TooCloseToTheLimit {
        /// Load over what the configuration carries.
        utilisation: f64,
    },
    /// The model does not predict the quantity.
    #[error("the model does not predict this quantity")]
    NoSuchQuantity,
}
