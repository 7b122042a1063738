//! The demand as the plan and the report see it.

use plimsoll_inventory::VmId;
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec};
use serde::{Deserialize, Serialize};

/// What the user can set. Percentages are 0-100; factors are 1.0 for no change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DemandOptions {
    /// Yearly growth of used capacity, percent.
    pub capacity_growth_pct_per_year: f64,
    /// Yearly growth of load, percent.
    pub load_growth_pct_per_year: f64,
    /// How far ahead the plan looks, months.
    pub horizon_months: u32,
    /// Correlation of load between VMs of business-hours classes, 0-1.
    pub correlation: f64,
    /// Count powered-off VMs as running.
    pub include_powered_off: bool,
    /// Rules that replace or precede the built-in class rules (TOML text), if any.
    pub rules_toml: Option<String>,
    /// Random seed of the simulation.
    pub seed: u64,
}

impl Default for DemandOptions {
    fn default() -> Self {
        Self {
            capacity_growth_pct_per_year: 18.0,
            load_growth_pct_per_year: 10.0,
            horizon_months: 12,
            correlation: 0.25,
            include_powered_off: false,
            rules_toml: None,
            seed: 1,
        }
    }
}

/// Index into [`Demand::classes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassId(pub u16);

/// A lognormal: `ln X ~ N(ln median, shape²)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Lognormal {
    /// Median, in the unit of the field that holds it.
    pub median: f64,
    /// Standard deviation of the logarithm.
    pub shape: f64,
}

/// A class of VM with its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Class {
    /// Stable id, such as `sql-oltp`.
    pub id: String,
    /// Name for people.
    pub name: String,
    /// IOPS of one VM.
    pub iops: Lognormal,
    /// MiB/s of one VM.
    pub mibps: Lognormal,
    /// Share of reads, 0-1.
    pub read_fraction: f64,
    /// Typical block of the IOPS, KiB.
    pub block_kib: f64,
    /// Correlation inside the class, 0-1.
    pub correlation: f64,
    /// Average over time as a share of the 95th percentile over time, 0-1; what is left of the
    /// shape is the difference between VMs of the class.
    pub average_of_peak: f64,
    /// Where the numbers come from.
    pub source: String,
    /// Evidence.
    pub grade: EvidenceGrade,
    /// The rule that put VMs here, in words; one per rule that matched.
    pub rules: Vec<String>,
    /// VMs in it that count for performance.
    pub vms: u64,
    /// 95th percentile of the sum over this class's VMs alone, today.
    pub iops_p95: Iops,
    /// Same for MiB/s.
    pub mibps_p95: MibPerSec,
}

/// Load of one VM (today, before growth).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VmDemand {
    /// The VM.
    pub vm: VmId,
    /// Its class.
    pub class: ClassId,
    /// The rule that put it there: index into [`Class::rules`].
    pub rule: u16,
    /// 95th percentile of this VM's own IOPS.
    pub iops_p95: Iops,
    /// Mean IOPS: what it adds to a sum on average.
    pub iops_mean: Iops,
    /// 95th percentile of its own MiB/s.
    pub mibps_p95: MibPerSec,
    /// Mean MiB/s.
    pub mibps_mean: MibPerSec,
    /// Used space today; counts for capacity even when the VM does not count for performance.
    pub used: Mib,
}

/// A total load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// 95th percentile of the sum of IOPS.
    pub iops_p95: Iops,
    /// Mean of the sum.
    pub iops_mean: Iops,
    /// 95th percentile of the sum of MiB/s.
    pub mibps_p95: MibPerSec,
    /// Mean of the sum.
    pub mibps_mean: MibPerSec,
    /// Load-weighted share of reads, 0-1.
    pub read_fraction: f64,
    /// Block size the IOPS are stated at, KiB.
    pub block_kib: f64,
    /// Block size of the MiB/s, KiB.
    pub stream_block_kib: f64,
}

/// Something assumed, shown in the report with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assumption {
    /// Stable id.
    pub id: String,
    /// What is assumed, in words.
    pub what: String,
    /// Its value with unit.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// Evidence.
    pub grade: EvidenceGrade,
}

/// VMs that should not share a datastore.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Separation {
    /// The rule that says so.
    pub why: String,
    /// The VMs, in inventory order; at least two.
    pub vms: Vec<VmId>,
}

/// What the datastores have to carry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Options it was made with.
    pub options: DemandOptions,
    /// Classes in use, in a fixed order.
    pub classes: Vec<Class>,
    /// One entry per VM whose capacity counts, in inventory order.
    pub vms: Vec<VmDemand>,
    /// VMs to keep apart.
    pub separate: Vec<Separation>,
    /// Load today.
    pub today: Load,
    /// Load at the horizon: today's with growth.
    pub horizon: Load,
    /// Used space today, over VMs whose capacity counts (RDM and placeholders left out).
    pub used_today: Gib,
    /// Used space at the horizon.
    pub used_horizon: Gib,
    /// Provisioned space today.
    pub provisioned_today: Gib,
    /// Memory of counted VMs (swap files), for datastore sizing.
    pub vm_memory: Gib,
    /// Weakest evidence among inputs that matter.
    pub grade: EvidenceGrade,
    /// What was assumed.
    pub assumptions: Vec<Assumption>,
}
