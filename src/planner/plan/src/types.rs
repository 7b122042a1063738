//! A plan as the report, the service and the command line see it.

use plimsoll_inventory::{DatastoreId, VmId};
use plimsoll_model::Resource;
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec, Milliseconds, Money};
use serde::{Deserialize, Serialize};

/// What the user can set. Percentages are 0-100.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlanOptions {
    /// Platform id in the catalogue.
    pub platform: String,
    /// Region for prices, as the provider spells it (`westeurope`).
    pub region: String,
    /// Restrict to one tier id; `None` lets the plan choose.
    pub tier: Option<String>,
    /// Hosts that will run the VMs; `None` takes the inventory's (at least the platform's least).
    pub hosts: Option<u32>,
    /// Hosts assumed lost in the failure test.
    pub hosts_lost: u32,
    /// Host type id of the platform (NIC speed), `None` for the platform's default.
    pub host_type: Option<String>,
    /// Room above the load, percent.
    pub headroom_pct: f64,
    /// Probability with which the plan must carry what is needed, percent.
    pub certainty_pct: f64,
    /// Share of a datastore kept free, percent.
    pub slack_pct: f64,
    /// Share of a datastore reserved for snapshots, percent.
    pub snapshot_reserve_pct: f64,
    /// TCP connections per host and datastore (nConnect).
    pub nconnect: u32,
    /// Storage target addresses; `None` for one per datastore up to the platform's number.
    pub target_ips: Option<u32>,
    /// ESXi version for connection limits, such as `8.0`.
    pub esxi_version: String,
    /// Highest datastore count considered. The default of 16 is raised by itself as far as the
    /// capacity needs more; any other value stands.
    pub max_datastores: u32,
    /// Fewest datastores to consider.
    pub min_datastores: u32,
    /// VMs per datastore at most; `None` for no limit.
    pub max_vms_per_datastore: Option<u32>,
    /// Latency that must not be passed at the load, ms; `None` for the platform's.
    pub latency_slo_ms: Option<f64>,
    /// Discount on list prices, percent.
    pub discount_pct: f64,
    /// Quality of service of the pool: `auto` or `manual`; `None` lets the plan choose.
    pub qos: Option<String>,
    /// Gateway id of the platform; `None` for the one that the platform's guide asks for.
    pub gateway: Option<String>,
    /// Ceilings of a generic array, for the platform `generic-array`.
    pub array: Option<ArrayCeilings>,
    /// Random seed of the simulation.
    pub seed: u64,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            platform: "azure-vmware-solution-av36-anf".to_owned(),
            region: "eastus".to_owned(),
            tier: None,
            hosts: None,
            hosts_lost: 1,
            host_type: None,
            headroom_pct: 20.0,
            certainty_pct: 95.0,
            slack_pct: 20.0,
            snapshot_reserve_pct: 15.0,
            nconnect: 1,
            target_ips: None,
            esxi_version: "8.0".to_owned(),
            max_datastores: 16,
            min_datastores: 1,
            max_vms_per_datastore: None,
            latency_slo_ms: None,
            discount_pct: 0.0,
            qos: None,
            gateway: None,
            array: None,
            seed: 1,
        }
    }
}

/// Ceilings of an array of the user's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
pub struct ArrayCeilings {
    /// IOPS of one path or flow.
    pub flow_iops: Option<f64>,
    /// MiB/s of one path or flow.
    pub flow_mibps: Option<f64>,
    /// IOPS of one host.
    pub host_iops: Option<f64>,
    /// MiB/s of one host.
    pub host_mibps: Option<f64>,
    /// IOPS of one volume.
    pub volume_iops: Option<f64>,
    /// MiB/s of one volume.
    pub volume_mibps: Option<f64>,
    /// IOPS of the array.
    pub array_iops: Option<f64>,
    /// MiB/s of the array.
    pub array_mibps: Option<f64>,
    /// Capacity of the array, TiB.
    pub array_tib: Option<f64>,
    /// Unloaded response time, ms.
    pub latency_ms: Option<f64>,
    /// Price a month for a GiB, USD.
    pub usd_per_gib_month: Option<f64>,
}

/// Median and interval of a quantity at one datastore count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carried {
    /// 5th percentile with the planned failure: the 95 % level that decides.
    pub p05: f64,
    /// Median with the planned failure.
    pub median: f64,
    /// 95th percentile with the planned failure.
    pub p95: f64,
    /// Carried with the failure at the certainty asked for; equal to `p05` when that is 95 %.
    pub at_certainty: f64,
    /// Carried by the hardware with the failure at the certainty asked, were there no hard cap.
    #[serde(default)]
    pub hardware: f64,
    /// Median without the failure.
    pub median_no_failure: f64,
    /// Probability (0-1) of carrying what is needed, with the failure.
    pub probability: f64,
    /// Limit that binds at the median with the failure.
    pub binding: Resource,
    /// Its share, 0-1.
    pub binding_share: f64,
    /// All shares, largest first.
    pub shares: Vec<(Resource, f64)>,
    /// Hard cap of tier or gateway, when there is one.
    pub hard_cap: Option<f64>,
    /// Outside what was measured.
    pub extrapolated: bool,
}

/// One datastore count of the frontier.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontierPoint {
    /// Datastores.
    pub datastores: u32,
    /// Size of each, whole GiB.
    pub datastore_size_gib: Gib,
    /// Size of the billed pool, GiB (equal to the sum where nothing is pooled).
    pub pool_size_gib: Gib,
    /// Flows in all, with every host up.
    pub flows: u32,
    /// IOPS.
    pub iops: Carried,
    /// MiB/s.
    pub mibps: Carried,
    /// Response time at the load with the failure, ms; `None` when not quotable (utilisation
    /// above 0.85) or unknown.
    pub latency_ms: Option<Milliseconds>,
    /// Price a month; `None` when the region has no price for the tier, or none was given.
    pub monthly_cost: Option<Money>,
    /// Whether every constraint holds.
    pub feasible: bool,
    /// Those that do not, in words with numbers.
    pub violations: Vec<String>,
}

/// The IOPS curve at one host count, with every host up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostCurve {
    /// Hosts.
    pub hosts: u32,
    /// IOPS at each datastore count, from 1 on.
    pub points: Vec<HostPoint>,
}

/// One datastore count of a [`HostCurve`]. `Carried::probability` is the chance of carrying what
/// is needed with every host up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPoint {
    /// Datastores.
    pub datastores: u32,
    /// IOPS.
    pub iops: Carried,
}

/// One tier with its best datastore count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TierOption {
    /// Tier id.
    pub tier: String,
    /// Name.
    pub name: String,
    /// `auto` or `manual`, empty when the platform has no such setting.
    pub qos: String,
    /// Datastores at its best.
    pub datastores: u32,
    /// Billed pool, GiB.
    pub pool_size_gib: Gib,
    /// Throughput the tier allows in all.
    pub cap_mibps: Option<MibPerSec>,
    /// Price a month; `None` when the region has no price.
    pub monthly_cost: Option<Money>,
    /// Whether some count is feasible.
    pub feasible: bool,
    /// `capacity`, `throughput` or `both`: what sized the pool.
    pub sized_by: String,
    /// Why not, when not feasible; a remark otherwise.
    pub note: String,
}

/// Share of the flow budget.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowBudget {
    /// Hosts.
    pub hosts: u32,
    /// Target addresses.
    pub target_ips: u32,
    /// Datastores behind each address.
    pub datastores_per_ip: Vec<u32>,
    /// `SunRPC.MaxConnPerIP` in force.
    pub max_connections_per_ip: u32,
    /// nConnect.
    pub nconnect: u32,
    /// Flows of one host.
    pub flows_per_host: u32,
    /// Flows in all.
    pub flows: u32,
    /// Flows with the planned failure.
    pub flows_with_failure: u32,
    /// True when mounts share a connection.
    pub shared: bool,
    /// Settings to check or change: (name, now or default, plan, why).
    pub settings: Vec<HostSetting>,
}

/// An advanced setting of ESXi.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostSetting {
    /// Setting name.
    pub name: String,
    /// Default for the version.
    pub default: String,
    /// What the plan needs.
    pub plan: String,
    /// Why.
    pub why: String,
}

/// What one planned datastore holds at the horizon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedDatastore {
    /// Name, such as `plan-01`.
    pub name: String,
    /// Size.
    pub size_gib: Gib,
    /// Used today by the VMs placed here.
    pub used_gib: Gib,
    /// Growth to the horizon.
    pub growth_gib: Gib,
    /// Snapshot reserve.
    pub snapshot_gib: Gib,
    /// VMs placed here.
    pub vms: u32,
    /// Their 95th percentile of summed IOPS at the horizon.
    pub iops: Iops,
    /// Their MiB/s.
    pub mibps: MibPerSec,
}

/// Where one VM goes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// The VM.
    pub vm: VmId,
    /// Index into `Plan::capacity`.
    pub datastore: u32,
    /// Where it is today.
    pub from: Option<DatastoreId>,
    /// Space to move.
    pub moved: Mib,
}

/// A VM that one datastore cannot carry or hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StripingAdvice {
    /// The VM.
    pub vm: VmId,
    /// Why, with numbers.
    pub reason: String,
    /// Virtual disks to spread over.
    pub vmdks: u32,
    /// Datastores to spread over.
    pub datastores: u32,
    /// Snapshot caveat and guest-side step.
    pub caveat: String,
}

/// What a margin is measured over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MarginOf {
    /// What is carried at the certainty asked, over what is needed; the tighter of IOPS and MiB/s.
    #[default]
    Performance,
    /// Size of the datastores over the capacity needed.
    Capacity,
}

/// What would flip the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sensitivity {
    /// Assumption in words.
    pub assumption: String,
    /// Unit of the values.
    pub unit: String,
    /// Value in the plan.
    pub value: f64,
    /// Low and high ends tried.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Margin of the 95 % level over what is needed at the low end, percent.
    pub margin_low_pct: f64,
    /// Same at the high end.
    pub margin_high_pct: f64,
    /// Value from which the plan no longer holds, if within a sensible range.
    pub fails_at: Option<f64>,
    /// Value at which a smaller or cheaper plan would do.
    pub smaller_at: Option<f64>,
    /// What the margins are measured over.
    #[serde(default)]
    pub of: MarginOf,
}

/// One step of the derivation with the numbers put in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DerivationStep {
    /// What is computed.
    pub what: String,
    /// Formula with numbers, such as `45.8 x 1.18 / (1 - 0.15) / (1 - 0.20)`.
    pub formula: String,
    /// Result with unit.
    pub result: String,
}

/// How a price comes about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PriceBasis {
    /// Region, as the provider spells it.
    pub region: String,
    /// Its name for people.
    pub region_name: String,
    /// Hours counted as a month.
    pub hours_per_month: f64,
    /// Price of a GiB of pool for an hour, USD.
    pub usd_per_gib_hour: f64,
    /// Price of a MiB/s beyond those included, for an hour, USD; `None` where throughput is not
    /// sold apart.
    pub usd_per_mibps_hour: Option<f64>,
    /// Throughput provisioned apart from the size, MiB/s; `None` where it follows from the size.
    pub provisioned_mibps: Option<MibPerSec>,
    /// Throughput included whatever the size.
    pub included_mibps: Option<MibPerSec>,
    /// Discount applied, percent.
    pub discount_pct: f64,
    /// Day the prices were read.
    pub date: String,
    /// Where they were read.
    pub source: String,
}

/// One limit of the plan, with the failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The limit.
    pub resource: Resource,
    /// How many of it work side by side; `None` for a cap that has no number.
    pub instances: Option<f64>,
    /// IOPS of one of them, or of the cap; `None` when unknown or without limit.
    pub iops_each: Option<Iops>,
    /// MiB/s of one of them, or of the cap.
    pub mibps_each: Option<MibPerSec>,
    /// IOPS of all.
    pub iops: Option<Iops>,
    /// MiB/s of all.
    pub mibps: Option<MibPerSec>,
}

/// The plan for another load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The load against the planned one, percent: -25, 50.
    pub load_change_pct: f64,
    /// Whether the plan as it stands would carry that load with the headroom asked.
    pub plan_holds: bool,
    /// Whether the plan as it stands would carry that load without any headroom.
    pub load_carried: bool,
    /// Whether some plan would.
    pub feasible: bool,
    /// Tier that would be chosen.
    pub tier: String,
    /// Datastores that would be chosen.
    pub datastores: u32,
    /// Price a month of that.
    pub monthly_cost: Option<Money>,
}

/// Total cost with and without external storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tco {
    /// Host type.
    pub host_type: String,
    /// Whole hosts needed when storage stays inside the cluster.
    pub hosts_without: u32,
    /// Whole hosts needed with external datastores.
    pub hosts_with: u32,
    /// Hosts by compute: (CPU, memory, storage).
    pub hosts_by: [u32; 3],
    /// Price a month without.
    pub monthly_without: Money,
    /// Price a month with: hosts, storage and gateway.
    pub monthly_with: Money,
    /// Parts of it: (name, money).
    pub parts: Vec<(String, Money)>,
    /// Saving, percent; negative when external storage costs more.
    pub saving_pct: f64,
    /// Date and source of the host prices.
    pub source: String,
    /// What the numbers stand on, and limits they pass.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Options it was made with.
    pub options: PlanOptions,
    /// Platform id and name.
    pub platform: String,
    /// Name for people.
    pub platform_name: String,
    /// Model id.
    pub model: String,
    /// Date of the catalogue's facts.
    pub catalog_date: String,
    /// False when nothing fits; the rest is then the nearest plan.
    pub feasible: bool,
    /// Why not, in words.
    pub infeasible_because: Vec<String>,
    /// Chosen tier id.
    pub tier: String,
    /// Its name.
    pub tier_name: String,
    /// `auto`, `manual` or empty.
    pub qos: String,
    /// Hosts in the plan.
    pub hosts: u32,
    /// Datastores.
    pub datastores: u32,
    /// Size of each.
    pub datastore_size_gib: Gib,
    /// Billed pool.
    pub pool_size_gib: Gib,
    /// Price a month; `None` when there is none in the catalogue and none was given.
    pub monthly_cost: Option<Money>,
    /// How that price comes about; `None` without a price.
    #[serde(default)]
    pub price: Option<PriceBasis>,
    /// First limit, over IOPS and MiB/s.
    pub binding_resource: Resource,
    /// Which of the two demands is nearer its limit.
    pub binding_quantity: plimsoll_model::Quantity,
    /// Room of the 95 % level over the load, percent, smaller of IOPS and MiB/s.
    pub headroom_pct: f64,
    /// Load at the horizon.
    pub load_iops: Iops,
    /// Load with headroom.
    pub needed_iops: Iops,
    /// Load at the horizon.
    pub load_mibps: MibPerSec,
    /// Load with headroom.
    pub needed_mibps: MibPerSec,
    /// Capacity needed with growth, snapshots and slack.
    pub needed_capacity_gib: Gib,
    /// Probability that the plan carries what is needed, 0-1.
    pub certainty: f64,
    /// Every count considered on the chosen tier.
    pub frontier: Vec<FrontierPoint>,
    /// IOPS on the chosen tier at 1, 2, 4 and 8 hosts and 1 to 8 datastores: where the limit moves
    /// with hosts. May be empty.
    #[serde(default)]
    pub by_hosts: Vec<HostCurve>,
    /// What one VM on one datastore gets at the 95 % level: the ceiling of striping advice.
    #[serde(default)]
    pub vm_ceiling_iops: Option<Iops>,
    /// Same for throughput.
    #[serde(default)]
    pub vm_ceiling_mibps: Option<MibPerSec>,
    /// Response time at the load with the failure; `None` when not quotable or unknown.
    #[serde(default)]
    pub latency_ms: Option<Milliseconds>,
    /// Limit asked for the response time.
    #[serde(default)]
    pub latency_limit_ms: Option<Milliseconds>,
    /// The limits of the plan with the failure, in the order of the model's resources.
    #[serde(default)]
    pub ceilings: Vec<Ceiling>,
    /// What would be planned if the load turned out smaller or larger.
    #[serde(default)]
    pub what_if: Vec<WhatIf>,
    /// The tiers.
    pub tiers: Vec<TierOption>,
    /// The next best plan, in words, and why it lost.
    pub runner_up: Option<String>,
    /// What would flip the answer, widest first.
    pub sensitivities: Vec<Sensitivity>,
    /// Flow budget.
    pub flow_budget: FlowBudget,
    /// Planned datastores.
    pub capacity: Vec<PlannedDatastore>,
    /// Every VM's place.
    pub placements: Vec<Placement>,
    /// VMs that could not be placed, with the reason.
    pub unplaced: Vec<(VmId, String)>,
    /// Space to move.
    pub moved_gib: Gib,
    /// Striping.
    pub striping: Vec<StripingAdvice>,
    /// Derivation.
    pub derivation: Vec<DerivationStep>,
    /// Total cost, where the platform has hosts with prices.
    pub tco: Option<Tco>,
    /// Weakest evidence among inputs that matter.
    pub grade: EvidenceGrade,
    /// What was assumed.
    pub assumptions: Vec<plimsoll_demand::Assumption>,
    /// Assumed but contradictory or dated facts to tell the reader.
    pub remarks: Vec<String>,
}
