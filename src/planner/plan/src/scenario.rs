//! Everything that the choice depends on, in one value: a sensitivity changes one field and asks
//! again.

use plimsoll_demand::Demand;
use plimsoll_inventory::Inventory;
use plimsoll_model::{Configuration, Resource};

use crate::Error;
use crate::catalog::{Catalog, Gateway, HostType, Platform, RegionPrices, Tier, list};
use crate::flows::{ConnectionLimits, flows_per_host};
use crate::shape::value;
use crate::types::{ArrayCeilings, PlanOptions};

/// MiB/s of one Gbit/s.
const MIBPS_PER_GBIT: f64 = 1e9 / 8.0 / 1_048_576.0;

/// Counts tried beyond the fewest that hold the capacity.
const COUNTS_BEYOND_CAPACITY: f64 = 4.0;

/// Most datastores that are ever considered: the largest number of mounts of a host.
const MOST_DATASTORES: u32 = 256;

/// What has to be carried and held at the horizon.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Need {
    /// 95th percentile of summed IOPS.
    pub load_iops: f64,
    /// Block of those, KiB.
    pub block_kib: f64,
    /// 95th percentile of summed MiB/s.
    pub load_mibps: f64,
    /// Room above the load, 0.2 for 20 %.
    pub headroom: f64,
    /// Used space, GiB.
    pub used_gib: f64,
    /// Share reserved for snapshots, 0-1.
    pub snapshots: f64,
    /// Share kept free, 0-1.
    pub slack: f64,
    /// Largest piece that cannot be divided, GiB used at the horizon.
    pub largest_piece_gib: f64,
    /// VMs that drive the load.
    pub vms: u32,
    /// VMs to place.
    pub vms_placed: u32,
}

impl Need {
    pub(crate) fn needed_iops(&self) -> f64 {
        self.load_iops * (1.0 + self.headroom)
    }

    pub(crate) fn needed_mibps(&self) -> f64 {
        self.load_mibps * (1.0 + self.headroom)
    }

    /// Used space with snapshots and slack, GiB.
    pub(crate) fn capacity_gib(&self) -> f64 {
        self.with_reserves(self.used_gib)
    }

    /// Size that holds the largest piece, GiB.
    pub(crate) fn smallest_volume_gib(&self) -> f64 {
        self.with_reserves(self.largest_piece_gib)
    }

    fn with_reserves(&self, gib: f64) -> f64 {
        gib / (1.0 - self.snapshots) / (1.0 - self.slack)
    }

    /// Throughput that a throttle in MiB/s must let through: the larger of the two demands.
    pub(crate) fn throttled_mibps(&self) -> f64 {
        self.needed_mibps().max(self.iops_as_mibps(self.needed_iops()))
    }

    /// MiB/s of this many IOPS.
    pub(crate) fn iops_as_mibps(&self, iops: f64) -> f64 {
        iops * self.block_kib / 1024.0
    }

    /// IOPS that this many MiB/s allow.
    pub(crate) fn mibps_as_iops(&self, mibps: f64) -> f64 {
        mibps * 1024.0 / self.block_kib
    }
}

/// The whole question.
#[derive(Debug, Clone)]
pub(crate) struct Scenario<'a> {
    pub platform: &'a Platform,
    pub prices: Option<&'a RegionPrices>,
    /// Tiers that may be chosen.
    pub tiers: Vec<&'a Tier>,
    /// The user named the tier: it is taken without a price, and in preview.
    pub tier_forced: bool,
    pub qos: Option<String>,
    pub hosts: u32,
    pub hosts_lost: u32,
    pub host_type: Option<&'a HostType>,
    pub gateway: Option<&'a Gateway>,
    pub nconnect: u32,
    pub addresses: Option<u32>,
    pub connections: ConnectionLimits,
    pub need: Need,
    /// Probability asked, 0-1.
    pub certainty: f64,
    pub min_datastores: u32,
    pub max_datastores: u32,
    pub max_vms_per_datastore: Option<u32>,
    pub latency_limit_ms: Option<f64>,
    pub discount_pct: f64,
    pub array: Option<ArrayCeilings>,
    /// Load of the fullest datastore over the mean: 1 when all are equal.
    pub imbalance: f64,
}

impl<'a> Scenario<'a> {
    pub(crate) fn new(
        inventory: &Inventory,
        demand: &Demand,
        catalog: &'a Catalog,
        options: &PlanOptions,
    ) -> Result<Self, Error> {
        check(options)?;
        let platform = catalog.platform(&options.platform)?;
        let tiers = match &options.tier {
            Some(id) => vec![platform.tier(id)?],
            None => platform.tiers.iter().collect(),
        };
        check_qos(options, &tiers)?;
        let hosts = hosts(inventory, platform, options);
        let mut scenario = Self {
            platform,
            prices: catalog.region(platform, &options.region)?,
            tiers,
            tier_forced: options.tier.is_some(),
            qos: options.qos.clone(),
            hosts,
            hosts_lost: options.hosts_lost,
            host_type: platform.host_type(options.host_type.as_deref())?,
            gateway: platform.gateway(options.gateway.as_deref())?,
            nconnect: options.nconnect,
            addresses: options.target_ips,
            connections: ConnectionLimits::new(&catalog.esxi, platform, options)?,
            need: Need {
                load_iops: demand.horizon.iops_p95.0,
                block_kib: if demand.horizon.block_kib > 0.0 {
                    demand.horizon.block_kib
                } else {
                    8.0
                },
                load_mibps: demand.horizon.mibps_p95.0,
                headroom: options.headroom_pct / 100.0,
                used_gib: demand.used_horizon.0,
                snapshots: options.snapshot_reserve_pct / 100.0,
                slack: options.slack_pct / 100.0,
                largest_piece_gib: 0.0,
                vms: count(demand.classes.iter().map(|class| class.vms).sum()),
                vms_placed: count(demand.vms.len() as u64),
            },
            certainty: options.certainty_pct / 100.0,
            min_datastores: options.min_datastores,
            max_datastores: options.max_datastores,
            max_vms_per_datastore: options.max_vms_per_datastore,
            latency_limit_ms: options.latency_slo_ms,
            discount_pct: options.discount_pct,
            array: options.array,
            imbalance: 1.0,
        };
        scenario.raise_count_for_capacity(options);
        Ok(scenario)
    }

    /// Consider as many datastores as the capacity needs, and a few more, where the user set no
    /// count of their own.
    fn raise_count_for_capacity(&mut self, options: &PlanOptions) {
        let Some(most) = value(&self.platform.limits.volume_max_gib) else { return };
        if options.max_datastores != PlanOptions::default().max_datastores {
            return;
        }
        let limit = self.platform.datastore_limit().map_or(u32::MAX, |limit| limit.value);
        let needed = (self.need.capacity_gib() / most).ceil() + COUNTS_BEYOND_CAPACITY;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped")]
        let needed = needed.clamp(0.0, f64::from(limit.min(MOST_DATASTORES))) as u32;
        self.max_datastores = self.max_datastores.max(needed);
    }

    /// Hosts that carry load in the failure test.
    pub(crate) fn alive(&self) -> u32 {
        self.hosts.saturating_sub(self.hosts_lost)
    }

    /// What the model is asked for `datastores` and `hosts`. A load that is uneven over the
    /// datastores counts as fewer of them: the fullest must not pass its own limit.
    pub(crate) fn configuration(&self, hosts: u32, datastores: u32) -> Configuration {
        let per_host = flows_per_host(datastores, self.addresses, self.nconnect, &self.connections);
        let evenness = 1.0 / self.imbalance;
        Configuration {
            hosts: f64::from(hosts),
            datastores: f64::from(datastores) * evenness,
            flows: f64::from(hosts) * f64::from(per_host) * evenness,
            vms: (self.need.vms > 0).then(|| f64::from(self.need.vms)),
            outstanding: None,
        }
    }

    /// Caps in MiB/s outside the model that do not depend on the tier: host ports and gateway.
    pub(crate) fn wire_cap(&self, hosts: u32) -> Option<(Resource, f64)> {
        let ports = self
            .host_type
            .map(|host| (Resource::Host, f64::from(hosts) * host.nic_gbit * MIBPS_PER_GBIT));
        let gateway = self
            .gateway
            .filter(|gateway| !gateway.fast_path)
            .map(|gateway| (Resource::Gateway, gateway.mbit / 1_000.0 * MIBPS_PER_GBIT));
        [ports, gateway].into_iter().flatten().min_by(|left, right| left.1.total_cmp(&right.1))
    }

    /// Name of the region for sentences, empty where prices are the user's own.
    pub(crate) fn region_name(&self) -> &str {
        self.prices.map_or("", |prices| prices.name.as_str())
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Hosts asked for, else those of the inventory, at least the platform's least.
fn hosts(inventory: &Inventory, platform: &Platform, options: &PlanOptions) -> u32 {
    if let Some(hosts) = options.hosts {
        return hosts;
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
    let least = platform.limits.hosts_min.as_ref().map_or(1, |fact| fact.value as u32);
    count(inventory.hosts.len() as u64).max(least)
}

fn check_qos(options: &PlanOptions, tiers: &[&Tier]) -> Result<(), Error> {
    let Some(qos) = &options.qos else { return Ok(()) };
    let offered = |tier: &&Tier| tier.qos.iter().any(|one| one == qos);
    if tiers.iter().any(offered) {
        return Ok(());
    }
    let mut known: Vec<&str> =
        tiers.iter().flat_map(|tier| tier.qos.iter().map(String::as_str)).collect();
    known.sort_unstable();
    known.dedup();
    Err(Error::Unknown {
        what: "quality of service",
        given: qos.clone(),
        known: if known.is_empty() { "none".to_owned() } else { list(known.into_iter()) },
    })
}

/// Ranges of the options; a value outside is the caller's mistake.
fn check(options: &PlanOptions) -> Result<(), Error> {
    let range = |option, value: f64, low: f64, high: f64| {
        if value.is_finite() && (low..=high).contains(&value) {
            return Ok(());
        }
        Err(Error::Option {
            option,
            given: value.to_string(),
            expected: format!("a number from {low} to {high}"),
        })
    };
    range("headroom_pct", options.headroom_pct, 0.0, 1_000.0)?;
    range("certainty_pct", options.certainty_pct, 50.0, 99.9)?;
    range("slack_pct", options.slack_pct, 0.0, 90.0)?;
    range("snapshot_reserve_pct", options.snapshot_reserve_pct, 0.0, 90.0)?;
    range("discount_pct", options.discount_pct, 0.0, 100.0)?;
    let most = f64::from(MOST_DATASTORES);
    range("max_datastores", f64::from(options.max_datastores), 1.0, most)?;
    range("min_datastores", f64::from(options.min_datastores), 1.0, most)?;
    if options.min_datastores > options.max_datastores {
        return Err(Error::Option {
            option: "min_datastores",
            given: options.min_datastores.to_string(),
            expected: format!("at most max_datastores, which is {}", options.max_datastores),
        });
    }
    if let Some(hosts) = options.hosts {
        range("hosts", f64::from(hosts), 1.0, 10_000.0)?;
    }
    if let Some(addresses) = options.target_ips {
        range("target_ips", f64::from(addresses), 1.0, 1_024.0)?;
    }
    if let Some(limit) = options.latency_slo_ms {
        range("latency_slo_ms", limit, 0.001, 10_000.0)?;
    }
    if options.max_vms_per_datastore == Some(0) {
        return Err(Error::Option {
            option: "max_vms_per_datastore",
            given: "0".to_owned(),
            expected: "at least 1, or nothing for no limit".to_owned(),
        });
    }
    Ok(())
}
