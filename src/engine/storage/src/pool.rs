//! Pools and tiers: what a storage provider sells capacity and throughput in.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::gate::Limiter;
use crate::{Limit, Space};

/// A service level: how much throughput comes with capacity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tier {
    /// Its name, such as `premium`.
    pub name: String,
    /// MiB per second for each TiB.
    pub mib_per_s_per_tib: f64,
}

/// How a pool's throughput reaches its volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Qos {
    /// Each volume gets its quota times the rate of the tier.
    #[default]
    Auto,
    /// Each volume is given its throughput; together at most the pool's size times the rate of the tier.
    Manual,
}

/// What a pool is created with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoolSettings {
    /// Its name, unique in the array.
    pub name: String,
    /// Its size: what its volumes may allocate together.
    pub size_bytes: u64,
    /// Its tier; without one its volumes have no throughput limit from quality of service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<String>,
    /// How throughput reaches the volumes.
    #[serde(default)]
    pub qos: Qos,
    /// A limit on all its volumes together.
    #[serde(default, skip_serializing_if = "Limit::is_unlimited")]
    pub limit: Limit,
}

/// What the volumes of a pool share.
#[derive(Debug)]
pub(crate) struct PoolShare {
    pub space: Arc<Space>,
    pub limiter: Limiter,
}

impl PoolShare {
    pub fn new(size_bytes: u64) -> Arc<Self> {
        Arc::new(Self { space: Space::new(size_bytes), limiter: Limiter::default() })
    }
}

/// A pool as it stands.
#[derive(Debug, Clone)]
pub struct PoolStatus {
    /// Its settings.
    pub settings: PoolSettings,
    /// Bytes its volumes have allocated.
    pub used_bytes: u64,
    /// The sum of its volumes' quotas.
    pub quota_bytes: u64,
    /// The names of its volumes, in order.
    pub volumes: Vec<String>,
}

/// MiB per second that `bytes` of capacity bring on a tier.
pub(crate) fn throughput(tier: &Tier, bytes: u64) -> f64 {
    tier.mib_per_s_per_tib * bytes as f64 / (1_u64 << 40) as f64
}
