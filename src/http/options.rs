//! The options of a sizing as the API takes them: every field optional, every range stated.
//!
//! Values are checked here, where a fault can be named by its JSON pointer, and put over the
//! planner's defaults. A test holds this list and the planner's together.

use std::fmt::Display;
use std::ops::RangeInclusive;

use plimsoll_ingest::ManualAverages;
use plimsoll_plan::ArrayCeilings;
use plimsoll_planner::SizingOptions;
use serde::Deserialize;
use utoipa::ToSchema;

use super::problem::Problem;
use crate::store::Fault;

/// What to plan for; a field that is left out has its default.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct OptionsBody {
    /// Load and growth.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    pub demand: Option<DemandBody>,
    /// Platform, failure, headroom, limits.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    pub plan: Option<PlanBody>,
}

/// Load and growth.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DemandBody {
    /// Yearly growth of used capacity, percent.
    #[schema(minimum = -50, maximum = 500, example = 18)]
    pub capacity_growth_pct_per_year: Option<f64>,
    /// Yearly growth of load, percent.
    #[schema(minimum = -50, maximum = 500, example = 10)]
    pub load_growth_pct_per_year: Option<f64>,
    /// How far ahead the plan looks, months.
    #[schema(minimum = 0, maximum = 120, example = 12)]
    pub horizon_months: Option<u32>,
    /// Correlation of load between VMs that work business hours.
    #[schema(minimum = 0, maximum = 1, example = 0.25)]
    pub correlation: Option<f64>,
    /// Count powered-off VMs as running.
    pub include_powered_off: Option<bool>,
    /// Rules that come before the built-in ones (TOML; `plimsoll rules` prints those).
    #[schema(max_length = 262_144)]
    pub rules_toml: Option<String>,
    /// Seed of the simulation.
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, example = 1)]
    pub seed: Option<u64>,
}

/// Platform, failure, headroom, limits.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanBody {
    /// Platform id of the catalogue.
    #[schema(max_length = 100, example = "azure-vmware-solution-av36-anf")]
    pub platform: Option<String>,
    /// Region for prices, as the provider spells it.
    #[schema(max_length = 100, example = "westeurope")]
    pub region: Option<String>,
    /// Only this tier; left out, the plan chooses.
    #[schema(max_length = 100)]
    pub tier: Option<String>,
    /// Hosts that will run the VMs; left out, those of the inventory.
    #[schema(minimum = 1, maximum = 1000, example = 4)]
    pub hosts: Option<u32>,
    /// Hosts assumed lost in the failure test.
    #[schema(minimum = 0, maximum = 100, example = 1)]
    pub hosts_lost: Option<u32>,
    /// Host type of the platform; left out, its usual one.
    #[schema(max_length = 100)]
    pub host_type: Option<String>,
    /// Room above the load, percent.
    #[schema(minimum = 0, maximum = 500, example = 20)]
    pub headroom_pct: Option<f64>,
    /// Probability with which the plan must carry what is needed, percent.
    #[schema(minimum = 50, maximum = 99.9, example = 95)]
    pub certainty_pct: Option<f64>,
    /// Share of a datastore kept free, percent.
    #[schema(minimum = 0, maximum = 80, example = 20)]
    pub slack_pct: Option<f64>,
    /// Share of a datastore reserved for snapshots, percent.
    #[schema(minimum = 0, maximum = 80, example = 15)]
    pub snapshot_reserve_pct: Option<f64>,
    /// TCP connections per host and datastore (nConnect).
    #[schema(minimum = 1, maximum = 16, example = 1)]
    pub nconnect: Option<u32>,
    /// Storage target addresses; left out, one per datastore up to the platform's number.
    #[schema(minimum = 1, maximum = 256)]
    pub target_ips: Option<u32>,
    /// ESXi version for connection limits.
    #[schema(max_length = 20, example = "8.0")]
    pub esxi_version: Option<String>,
    /// Highest datastore count considered.
    #[schema(minimum = 1, maximum = 256, example = 16)]
    pub max_datastores: Option<u32>,
    /// Fewest datastores to consider; at most `max_datastores`.
    #[schema(minimum = 1, maximum = 256, example = 1)]
    pub min_datastores: Option<u32>,
    /// VMs per datastore at most.
    #[schema(minimum = 1, maximum = 100_000)]
    pub max_vms_per_datastore: Option<u32>,
    /// Latency that must not be passed at the load, ms; left out, the platform's.
    #[schema(minimum = 0.05, maximum = 1000)]
    pub latency_slo_ms: Option<f64>,
    /// Discount on list prices, percent.
    #[schema(minimum = 0, maximum = 100, example = 0)]
    pub discount_pct: Option<f64>,
    /// Quality of service of the pool: `auto` or `manual`; left out, the plan chooses.
    #[schema(max_length = 20)]
    pub qos: Option<String>,
    /// Gateway of the platform; left out, the one that its guide asks for.
    #[schema(max_length = 100)]
    pub gateway: Option<String>,
    /// Ceilings of an array of your own, for the platform `generic-array`.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    pub array: Option<ArrayBody>,
    /// Seed of the simulation.
    #[schema(minimum = 0, maximum = 9_007_199_254_740_991_i64, example = 1)]
    pub seed: Option<u64>,
}

/// Ceilings of an array; what is left out does not limit.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayBody {
    /// IOPS of one path or flow.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub flow_iops: Option<f64>,
    /// MiB/s of one path or flow.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub flow_mibps: Option<f64>,
    /// IOPS of one host.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub host_iops: Option<f64>,
    /// MiB/s of one host.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub host_mibps: Option<f64>,
    /// IOPS of one volume.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub volume_iops: Option<f64>,
    /// MiB/s of one volume.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub volume_mibps: Option<f64>,
    /// IOPS of the array.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub array_iops: Option<f64>,
    /// MiB/s of the array.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub array_mibps: Option<f64>,
    /// Capacity of the array, TiB.
    #[schema(minimum = 1, maximum = 1_000_000)]
    pub array_tib: Option<f64>,
    /// Unloaded response time, ms.
    #[schema(minimum = 0.01, maximum = 1000)]
    pub latency_ms: Option<f64>,
    /// Price a month for a GiB, USD.
    #[schema(minimum = 0, maximum = 1000)]
    pub usd_per_gib_month: Option<f64>,
}

/// Fleet averages in place of files: seven numbers are enough for a first answer.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AveragesBody {
    /// Number of VMs.
    #[schema(minimum = 1, maximum = 100_000, example = 400)]
    pub vm_count: u32,
    /// vCPUs per VM.
    #[serde(default = "default_vcpus")]
    #[schema(minimum = 0.1, maximum = 1024, default = 4, example = 4)]
    pub vcpus_per_vm: f64,
    /// Memory per VM, GiB.
    #[serde(default = "default_memory_gib")]
    #[schema(minimum = 0.125, maximum = 24_576, default = 12, example = 12)]
    pub memory_gib_per_vm: f64,
    /// Used storage per VM, GiB.
    #[schema(minimum = 0.1, maximum = 1_000_000, example = 180)]
    pub storage_gib_per_vm: f64,
    /// 95th percentile of one VM's IOPS; left out, the class's.
    #[schema(minimum = 0, maximum = 10_000_000, example = 120)]
    pub iops_per_vm: Option<f64>,
    /// 95th percentile of one VM's MiB/s; left out, the class's.
    #[schema(minimum = 0, maximum = 1_000_000, example = 1.2)]
    pub mibps_per_vm: Option<f64>,
    /// Hosts.
    #[schema(minimum = 1, maximum = 1000, example = 4)]
    pub hosts: Option<u32>,
}

fn default_vcpus() -> f64 {
    4.0
}

fn default_memory_gib() -> f64 {
    12.0
}

/// Collects every fault, not the first.
struct Check<'a> {
    at: &'a str,
    faults: Vec<Fault>,
}

impl Check<'_> {
    fn number<T: PartialOrd + Display>(
        &mut self,
        name: &str,
        value: T,
        range: RangeInclusive<T>,
    ) -> T {
        if !range.contains(&value) {
            self.faults.push(Fault {
                at: format!("{}/{name}", self.at),
                message: format!("{value} is out of range"),
                expected: format!("{} to {}", range.start(), range.end()),
                action: String::new(),
            });
        }
        value
    }

    /// Checks a value, when there is one, and puts it over the default.
    fn over<T: PartialOrd + Display>(
        &mut self,
        name: &str,
        field: &mut T,
        value: Option<T>,
        range: RangeInclusive<T>,
    ) {
        if let Some(value) = value {
            *field = self.number(name, value, range);
        }
    }

    fn optional<T: PartialOrd + Display>(
        &mut self,
        name: &str,
        field: &mut Option<T>,
        value: Option<T>,
        range: RangeInclusive<T>,
    ) {
        if let Some(value) = value {
            *field = Some(self.number(name, value, range));
        }
    }

    fn text(&mut self, name: &str, value: Option<String>, longest: usize) -> Option<String> {
        let value = value?;
        let length = value.chars().count();
        if length > longest {
            self.faults.push(Fault {
                at: format!("{}/{name}", self.at),
                message: format!("{length} characters"),
                expected: format!("at most {longest} characters"),
                action: String::new(),
            });
        }
        Some(value)
    }
}

/// Largest integer that every JSON reader keeps exact.
const SEED_LIMIT: u64 = 9_007_199_254_740_991;

impl OptionsBody {
    /// The planner's options.
    ///
    /// # Errors
    /// Status 422 with every value that is out of range, placed under `root`.
    pub fn into_options(
        self,
        averages: Option<AveragesBody>,
        root: &str,
    ) -> Result<SizingOptions, Problem> {
        let mut options = SizingOptions::default();
        let mut faults = Vec::new();
        if let Some(demand) = self.demand {
            faults.extend(demand.apply(&mut options, &format!("{root}/demand")));
        }
        if let Some(plan) = self.plan {
            faults.extend(plan.apply(&mut options, &format!("{root}/plan")));
        }
        if let Some(averages) = averages {
            let (averages, more) = averages.check();
            options.averages = Some(averages);
            faults.extend(more);
        }
        if let Some(first) = faults.first() {
            let detail = format!(
                "{}: {}; expected {}{}",
                first.at,
                first.message,
                first.expected,
                if faults.len() > 1 { "; errors lists the others" } else { "" }
            );
            return Err(Problem::unfit("values_do_not_fit", detail).with(faults));
        }
        Ok(options)
    }
}

impl DemandBody {
    fn apply(self, options: &mut SizingOptions, at: &str) -> Vec<Fault> {
        let mut check = Check { at, faults: Vec::new() };
        let demand = &mut options.demand;
        check.over(
            "capacity_growth_pct_per_year",
            &mut demand.capacity_growth_pct_per_year,
            self.capacity_growth_pct_per_year,
            -50.0..=500.0,
        );
        check.over(
            "load_growth_pct_per_year",
            &mut demand.load_growth_pct_per_year,
            self.load_growth_pct_per_year,
            -50.0..=500.0,
        );
        check.over("horizon_months", &mut demand.horizon_months, self.horizon_months, 0..=120);
        check.over("correlation", &mut demand.correlation, self.correlation, 0.0..=1.0);
        check.over("seed", &mut demand.seed, self.seed, 0..=SEED_LIMIT);
        if let Some(include) = self.include_powered_off {
            demand.include_powered_off = include;
        }
        demand.rules_toml = check.text("rules_toml", self.rules_toml, 262_144);
        check.faults
    }
}

impl PlanBody {
    fn apply(self, options: &mut SizingOptions, at: &str) -> Vec<Fault> {
        let mut check = Check { at, faults: Vec::new() };
        let plan = &mut options.plan;
        if let Some(platform) = check.text("platform", self.platform, 100) {
            plan.platform = platform;
        }
        if let Some(region) = check.text("region", self.region, 100) {
            plan.region = region;
        }
        if let Some(version) = check.text("esxi_version", self.esxi_version, 20) {
            plan.esxi_version = version;
        }
        plan.tier = check.text("tier", self.tier, 100);
        plan.host_type = check.text("host_type", self.host_type, 100);
        plan.qos = check.text("qos", self.qos, 20);
        plan.gateway = check.text("gateway", self.gateway, 100);
        check.optional("hosts", &mut plan.hosts, self.hosts, 1..=1000);
        check.over("hosts_lost", &mut plan.hosts_lost, self.hosts_lost, 0..=100);
        check.over("headroom_pct", &mut plan.headroom_pct, self.headroom_pct, 0.0..=500.0);
        check.over("certainty_pct", &mut plan.certainty_pct, self.certainty_pct, 50.0..=99.9);
        check.over("slack_pct", &mut plan.slack_pct, self.slack_pct, 0.0..=80.0);
        check.over(
            "snapshot_reserve_pct",
            &mut plan.snapshot_reserve_pct,
            self.snapshot_reserve_pct,
            0.0..=80.0,
        );
        check.over("nconnect", &mut plan.nconnect, self.nconnect, 1..=16);
        check.optional("target_ips", &mut plan.target_ips, self.target_ips, 1..=256);
        check.over("max_datastores", &mut plan.max_datastores, self.max_datastores, 1..=256);
        check.over("min_datastores", &mut plan.min_datastores, self.min_datastores, 1..=256);
        check.optional(
            "max_vms_per_datastore",
            &mut plan.max_vms_per_datastore,
            self.max_vms_per_datastore,
            1..=100_000,
        );
        check.optional(
            "latency_slo_ms",
            &mut plan.latency_slo_ms,
            self.latency_slo_ms,
            0.05..=1000.0,
        );
        check.over("discount_pct", &mut plan.discount_pct, self.discount_pct, 0.0..=100.0);
        check.over("seed", &mut plan.seed, self.seed, 0..=SEED_LIMIT);
        if plan.min_datastores > plan.max_datastores {
            check.faults.push(Fault {
                at: format!("{at}/min_datastores"),
                message: format!("{} is more than max_datastores", plan.min_datastores),
                expected: format!("1 to {}", plan.max_datastores),
                action: String::new(),
            });
        }
        let mut faults = check.faults;
        if let Some(array) = self.array {
            let (ceilings, more) = array.check(&format!("{at}/array"));
            plan.array = Some(ceilings);
            faults.extend(more);
        }
        faults
    }
}

impl ArrayBody {
    fn check(self, at: &str) -> (ArrayCeilings, Vec<Fault>) {
        const LARGEST: f64 = 1e9;
        let mut check = Check { at, faults: Vec::new() };
        let mut ceilings = ArrayCeilings::default();
        for (name, field, value) in [
            ("flow_iops", &mut ceilings.flow_iops, self.flow_iops),
            ("flow_mibps", &mut ceilings.flow_mibps, self.flow_mibps),
            ("host_iops", &mut ceilings.host_iops, self.host_iops),
            ("host_mibps", &mut ceilings.host_mibps, self.host_mibps),
            ("volume_iops", &mut ceilings.volume_iops, self.volume_iops),
            ("volume_mibps", &mut ceilings.volume_mibps, self.volume_mibps),
            ("array_iops", &mut ceilings.array_iops, self.array_iops),
            ("array_mibps", &mut ceilings.array_mibps, self.array_mibps),
        ] {
            check.optional(name, field, value, 1.0..=LARGEST);
        }
        check.optional("array_tib", &mut ceilings.array_tib, self.array_tib, 1.0..=1e6);
        check.optional("latency_ms", &mut ceilings.latency_ms, self.latency_ms, 0.01..=1000.0);
        check.optional(
            "usd_per_gib_month",
            &mut ceilings.usd_per_gib_month,
            self.usd_per_gib_month,
            0.0..=1000.0,
        );
        (ceilings, check.faults)
    }
}

impl AveragesBody {
    fn check(self) -> (ManualAverages, Vec<Fault>) {
        let mut check = Check { at: "/averages", faults: Vec::new() };
        let averages = ManualAverages {
            vm_count: check.number("vm_count", self.vm_count, 1..=100_000),
            vcpus_per_vm: check.number("vcpus_per_vm", self.vcpus_per_vm, 0.1..=1024.0),
            memory_gib_per_vm: check.number(
                "memory_gib_per_vm",
                self.memory_gib_per_vm,
                0.125..=24_576.0,
            ),
            storage_gib_per_vm: check.number(
                "storage_gib_per_vm",
                self.storage_gib_per_vm,
                0.1..=1e6,
            ),
            iops_per_vm: self.iops_per_vm.map(|v| check.number("iops_per_vm", v, 0.0..=1e7)),
            mibps_per_vm: self.mibps_per_vm.map(|v| check.number("mibps_per_vm", v, 0.0..=1e6)),
            hosts: self.hosts.map(|hosts| check.number("hosts", hosts, 1..=1000)),
        };
        (averages, check.faults)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::collections::BTreeSet;

    use utoipa::PartialSchema;

    use super::*;

    fn names(value: &serde_json::Value) -> BTreeSet<String> {
        value.as_object().unwrap().keys().cloned().collect()
    }

    fn properties<T: PartialSchema>() -> BTreeSet<String> {
        names(&serde_json::to_value(T::schema()).unwrap()["properties"])
    }

    #[test]
    fn the_api_takes_what_the_planner_has() {
        let defaults = serde_json::to_value(SizingOptions::default()).unwrap();
        assert_eq!(properties::<OptionsBody>(), names(&defaults));
        assert_eq!(properties::<DemandBody>(), names(&defaults["demand"]));
        assert_eq!(properties::<PlanBody>(), names(&defaults["plan"]));
        let ceilings = serde_json::to_value(ArrayCeilings::default()).unwrap();
        assert_eq!(properties::<ArrayBody>(), names(&ceilings));
    }

    #[test]
    fn an_empty_body_leaves_the_defaults() {
        let options = OptionsBody::default().into_options(None, "").unwrap();
        assert_eq!(options, SizingOptions::default());
    }

    #[test]
    fn every_fault_is_named() {
        let body: OptionsBody = serde_json::from_str(
            r#"{"demand":{"correlation":2},"plan":{"hosts":0,"min_datastores":20,"array":{"array_tib":0}}}"#,
        )
        .unwrap();
        let problem = body.into_options(None, "/options").unwrap_err();
        let places: Vec<&str> = problem.errors.iter().map(|fault| fault.at.as_str()).collect();
        assert_eq!(
            places,
            [
                "/options/demand/correlation",
                "/options/plan/hosts",
                "/options/plan/min_datastores",
                "/options/plan/array/array_tib"
            ]
        );
        assert_eq!(problem.status, 422);
    }
}
