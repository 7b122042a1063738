//! What it costs to keep all storage inside the hosts, against external datastores.
//!
//! Storage inside means as many hosts as the largest of three needs (CPU, memory, vSAN space);
//! external datastores take the third away. The way is that of the vendor's estimator, with its
//! faults left out: hosts are whole, pools come in whole steps (the plan passes their price in), the
//! gateway is in the bill of the external side, memory and space are those of the host type, drives
//! are counted in TB as they are sold, and templates and placeholders use neither CPU nor memory.
//!
//! CPU: vCPUs divided by the vCPUs sold on each core, plus what management reserves, in whole hosts.
//! Spare hosts come on top of CPU and memory; vSAN keeps its own slack instead.

use std::collections::BTreeMap;

use plimsoll_demand::Demand;
use plimsoll_inventory::{Exclusion, Inventory, Vm};
use plimsoll_units::{Gib, Mib, Money};
use serde::Deserialize;

use crate::Error;
use crate::catalog::{Fact, HOURS_PER_MONTH, HostType, SourceNote};
use crate::types::Tco;
use crate::words::{plain, whole};

const FIGURES: &str = include_str!("../../../../data/catalog/avs_tco.toml");
const PRICES: &str = include_str!("../../../../data/catalog/avs_host_prices.csv");

/// What the hosts have to run and hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TcoInput {
    /// vCPUs of running VMs.
    pub vcpus: u64,
    /// Memory of running VMs.
    pub memory: Gib,
    /// Used space at the horizon.
    pub space: Gib,
}

impl TcoInput {
    /// Sums over an inventory: CPU and memory of the VMs that cause load, space of all whose space
    /// counts.
    #[must_use]
    pub fn of(inventory: &Inventory, demand: &Demand) -> Self {
        let runs = |vm: &&Vm| match vm.exclusion {
            None => true,
            Some(Exclusion::PoweredOff) => demand.options.include_powered_off,
            Some(_) => false,
        };
        let running = || inventory.vms.iter().filter(runs);
        Self {
            vcpus: running().filter_map(|vm| vm.cpus).map(u64::from).sum(),
            memory: running().filter_map(|vm| vm.memory).sum::<Mib>().gib(),
            space: demand.used_horizon,
        }
    }
}

/// What the user can set; `None` takes the figure of `data/catalog/avs_tco.toml`.
#[derive(Debug, Clone, PartialEq)]
pub struct TcoOptions {
    /// Region, as the provider spells it.
    pub region: String,
    /// Host type id; `None` for the cheapest that has a price in the region.
    pub host_type: Option<String>,
    /// Hosts beyond what CPU and memory need.
    pub spare_hosts: u32,
    /// vCPUs on each physical core.
    pub vcpus_per_core: Option<f64>,
    /// Share of vSAN space lost to the storage policy, percent.
    pub policy_loss_pct: Option<f64>,
    /// Discount on hosts, percent.
    pub host_discount_pct: f64,
    /// Gateways on the external side.
    pub gateways: u32,
}

impl Default for TcoOptions {
    fn default() -> Self {
        Self {
            region: "eastus".to_owned(),
            host_type: None,
            spare_hosts: 1,
            vcpus_per_core: None,
            policy_loss_pct: None,
            host_discount_pct: 0.0,
            gateways: 1,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FiguresText {
    sources: BTreeMap<String, SourceNote>,
    figures: Figures,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figures {
    vcpus_per_core: Fact,
    memory_usable_pct: Fact,
    vsan_format_pct: Fact,
    vsan_slack_pct: Fact,
    vsan_policy_loss_pct: Fact,
    vsan_saving_ratio: Fact,
    management_ghz: Fact,
    management_memory_gib: Fact,
    hosts_min: Fact,
    hosts_per_cluster: Fact,
    hosts_max: Fact,
    gateway_usd_month: Fact,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    region: String,
    host: String,
    usd_per_hour: f64,
    date: String,
    source: String,
}

/// Compares hosts with and without external datastores at this monthly price of the storage.
///
/// # Errors
/// [`Error::Unknown`] when no host type, or not the one asked for, has a price in the region;
/// [`Error::Option`] for numbers that cannot be.
pub fn compare(
    input: &TcoInput,
    host_types: &[HostType],
    storage_monthly: &Money,
    options: &TcoOptions,
) -> Result<Tco, Error> {
    check(options, storage_monthly)?;
    let text: FiguresText = toml::from_str(FIGURES).map_err(|error| Error::Catalog {
        file: "avs_tco.toml".to_owned(),
        reason: error.to_string(),
    })?;
    let prices = prices(&options.region)?;
    let priced: Vec<(&HostType, &PriceRow)> = prices
        .iter()
        .filter_map(|row| Some((host_types.iter().find(|host| host.id == row.host)?, row)))
        .collect();
    let asked = |host: &HostType| options.host_type.as_ref().is_none_or(|id| *id == host.id);
    priced
        .iter()
        .filter(|(host, _)| asked(host))
        .map(|(host, price)| one(input, host, price, storage_monthly, &text, options))
        .min_by(|left, right| left.monthly_with.amount.total_cmp(&right.monthly_with.amount))
        .ok_or_else(|| Error::Unknown {
            what: "host price",
            given: format!(
                "{} in {}",
                options.host_type.as_deref().unwrap_or("any"),
                options.region
            ),
            known: priced.iter().map(|(host, _)| host.id.as_str()).collect::<Vec<_>>().join(", "),
        })
}

fn check(options: &TcoOptions, storage: &Money) -> Result<(), Error> {
    let numbers = [
        ("vcpus_per_core", options.vcpus_per_core.unwrap_or(4.0), 0.1, 64.0),
        ("policy_loss_pct", options.policy_loss_pct.unwrap_or(33.0), 0.0, 90.0),
        ("discount_pct", options.host_discount_pct, 0.0, 100.0),
        ("storage price", storage.amount, 0.0, 1e12),
    ];
    for (option, value, min, max) in numbers {
        if !(min..=max).contains(&value) {
            return Err(Error::Option {
                option,
                given: plain(value),
                expected: format!("from {} to {}", plain(min), plain(max)),
            });
        }
    }
    Ok(())
}

fn prices(region: &str) -> Result<Vec<PriceRow>, Error> {
    let broken = |error: csv::Error| Error::Catalog {
        file: "avs_host_prices.csv".to_owned(),
        reason: error.to_string(),
    };
    let mut rows = Vec::new();
    for row in csv::Reader::from_reader(PRICES.as_bytes()).deserialize() {
        let row: PriceRow = row.map_err(broken)?;
        if row.region == region {
            rows.push(row);
        }
    }
    Ok(rows)
}

fn one(
    input: &TcoInput,
    host: &HostType,
    price: &PriceRow,
    storage: &Money,
    text: &FiguresText,
    options: &TcoOptions,
) -> Tco {
    let figures = &text.figures;
    let per_core = options.vcpus_per_core.unwrap_or(figures.vcpus_per_core.value);
    #[expect(clippy::cast_precision_loss, reason = "numbers of vCPUs stay far below 2^53")]
    let cores = input.vcpus as f64 / per_core + figures.management_ghz.value / host.ghz;
    let cpu = hosts(cores / f64::from(host.cores)).saturating_add(options.spare_hosts);
    let memory = (input.memory.0 + figures.management_memory_gib.value)
        / (host.memory_gib * figures.memory_usable_pct.value / 100.0);
    let memory = hosts(memory).saturating_add(options.spare_hosts);
    let usable_tib = vsan_usable_tib(host, figures, options);
    let space = hosts(input.space.tib().0 / usable_tib);
    let least = hosts(figures.hosts_min.value);
    let with = cpu.max(memory).max(least);
    let without = with.max(space);
    let host_month =
        price.usd_per_hour * HOURS_PER_MONTH * (1.0 - options.host_discount_pct / 100.0);
    let gateways = f64::from(options.gateways) * figures.gateway_usd_month.value;
    let monthly_without = f64::from(without) * host_month;
    let hosts_with = f64::from(with) * host_month;
    let monthly_with = hosts_with + storage.amount + gateways;
    let cluster = hosts(figures.hosts_per_cluster.value);
    let mut notes = vec![
        format!("{} vCPUs on each core, {} spare", plain(per_core), count(options.spare_hosts)),
        format!("vSAN holds {usable_tib:.2} TiB a host after format, slack, policy and savings"),
        format!("memory is used to {} %", plain(figures.memory_usable_pct.value)),
    ];
    for (label, hosts_needed) in [("without", without), ("with", with)] {
        if hosts_needed > hosts(figures.hosts_max.value) {
            notes.push(format!(
                "{} {label} external datastores are more than a private cloud holds, {}",
                count(hosts_needed),
                whole(figures.hosts_max.value)
            ));
        } else if hosts_needed > cluster {
            notes.push(format!(
                "{} {label} external datastores take {} clusters",
                count(hosts_needed),
                hosts_needed.div_ceil(cluster.max(1))
            ));
        }
    }
    let what = text.sources.get(&price.source).map_or(price.source.as_str(), |note| &note.what);
    Tco {
        host_type: host.id.clone(),
        hosts_without: without,
        hosts_with: with,
        hosts_by: [cpu, memory, space],
        monthly_without: Money::usd(monthly_without),
        monthly_with: Money::usd(monthly_with),
        parts: vec![
            (count(with), Money::usd(hosts_with)),
            ("storage".to_owned(), storage.clone()),
            ("gateway".to_owned(), Money::usd(gateways)),
        ],
        saving_pct: (monthly_without - monthly_with) / monthly_without * 100.0,
        source: format!("host prices of {}: {what}", price.date),
        notes,
    }
}

/// Space that vSAN offers on one host, TiB. Drives are sold in TB.
fn vsan_usable_tib(host: &HostType, figures: &Figures, options: &TcoOptions) -> f64 {
    let kept = |lost_pct: f64| 1.0 - lost_pct / 100.0;
    let raw_tib = host.vsan_capacity_tb * 1e12 / 2_f64.powi(40);
    raw_tib * figures.vsan_format_pct.value / 100.0
        * kept(figures.vsan_slack_pct.value)
        * kept(options.policy_loss_pct.unwrap_or(figures.vsan_policy_loss_pct.value))
        * figures.vsan_saving_ratio.value
}

/// Whole hosts, with room for rounding in the last place.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the range of u32; not a number becomes zero"
)]
fn hosts(needed: f64) -> u32 {
    (needed - 1e-9).ceil().clamp(0.0, f64::from(u32::MAX)) as u32
}

fn count(hosts: u32) -> String {
    crate::words::count(hosts, "host")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use crate::Catalog;

    const AVS: &str = "azure-vmware-solution-av36-anf";

    fn compare_in(input: TcoInput, storage: f64, options: &TcoOptions) -> Result<Tco, Error> {
        let catalog = Catalog::built_in().unwrap();
        let hosts = &catalog.platform(AVS).unwrap().host_types;
        compare(&input, hosts, &Money::usd(storage), options)
    }

    /// The estimator's usual site: 400 VMs of 4 vCPUs, 12 GB and 500 GB.
    const USUAL: TcoInput = TcoInput { vcpus: 1_600, memory: Gib(4_800.0), space: Gib(200_000.0) };

    fn south_central(host: &str) -> TcoOptions {
        TcoOptions {
            region: "southcentralus".to_owned(),
            host_type: Some(host.to_owned()),
            ..TcoOptions::default()
        }
    }

    #[test]
    fn usual_site_on_av36_by_hand() {
        // CPU: 1600/4 + 46/2.3 = 420 cores, / 36 = 11.67 -> 12, + 1 = 13.
        // Memory: (4800 + 171.88) / 460.8 = 10.79 -> 11, + 1 = 12.
        // vSAN: 15.2 TB = 13.824 TiB x 0.9 x 0.75 x 0.67 x 1.2 = 7.5024; 195.31 / 7.5024 = 26.03 -> 27.
        // 10.03 x 730 = 7,321.90 a host; 27 = 197,691.30; 13 = 95,184.70 + 60,000 + 1,365.10.
        let tco = compare_in(USUAL, 60_000.0, &south_central("AV36")).unwrap();
        assert_eq!((tco.hosts_by, tco.hosts_without, tco.hosts_with), ([13, 12, 27], 27, 13));
        assert!((tco.monthly_without.amount - 197_691.30).abs() < 0.01);
        assert!((tco.monthly_with.amount - 156_549.80).abs() < 0.01);
        assert!((tco.saving_pct - 20.811).abs() < 0.001, "{}", tco.saving_pct);
        let parts: f64 = tco.parts.iter().map(|(_, money)| money.amount).sum();
        assert!((parts - tco.monthly_with.amount).abs() < 1e-6);
        assert!(tco.notes.iter().any(|note| note.contains("take 2 clusters")), "{:?}", tco.notes);
    }

    #[test]
    fn small_site_has_three_hosts_either_way_and_external_storage_costs_more() {
        let small = TcoInput { vcpus: 40, memory: Gib(100.0), space: Gib(2_048.0) };
        let tco = compare_in(small, 300.0, &south_central("AV36P")).unwrap();
        assert_eq!((tco.hosts_without, tco.hosts_with), (3, 3));
        // 11.04 x 730 x 3 = 24,177.60; 300 + 1,365.10 more: -6.89 %.
        assert!((tco.saving_pct + 6.887).abs() < 0.001, "{}", tco.saving_pct);
    }

    #[test]
    fn mirrors_take_more_hosts_than_erasure_coding_and_dense_hosts_fewer() {
        let mirrored = TcoOptions { policy_loss_pct: Some(50.0), ..south_central("AV36") };
        // 13.824 x 0.9 x 0.75 x 0.5 x 1.2 = 5.5988; 195.31 / 5.5988 = 34.9 -> 35.
        assert_eq!(compare_in(USUAL, 0.0, &mirrored).unwrap().hosts_by[2], 35);
        // 38.4 TB = 34.925 TiB x 0.5427 = 18.954; 195.31 / 18.954 = 10.3 -> 11.
        assert_eq!(compare_in(USUAL, 0.0, &south_central("AV52")).unwrap().hosts_by[2], 11);
    }

    #[test]
    fn discount_and_ratio_are_applied() {
        let options = TcoOptions {
            vcpus_per_core: Some(8.0),
            host_discount_pct: 50.0,
            spare_hosts: 0,
            ..south_central("AV36")
        };
        // 1600/8 + 20 = 220 cores -> 7 hosts, memory 11: 11 x 3,660.95.
        let tco = compare_in(USUAL, 0.0, &options).unwrap();
        assert_eq!(tco.hosts_by, [7, 11, 27]);
        assert!((tco.monthly_with.amount - (11.0 * 3_660.95 + 1_365.10)).abs() < 0.01);
    }

    #[test]
    fn cheapest_priced_type_unless_one_is_asked_for() {
        let east = TcoOptions::default();
        let free = compare_in(USUAL, 0.0, &east).unwrap();
        let each = |host: &str| {
            let options = TcoOptions { host_type: Some(host.to_owned()), ..east.clone() };
            compare_in(USUAL, 0.0, &options).unwrap().monthly_with.amount
        };
        assert!((free.monthly_with.amount - each("AV36P").min(each("AV64"))).abs() < 1e-9);
        let missing = TcoOptions { host_type: Some("AV36".to_owned()), ..east };
        let error = compare_in(USUAL, 0.0, &missing).unwrap_err().to_string();
        assert_eq!(
            error,
            "host price `AV36 in eastus` is not in the catalogue; there are: AV36P, AV64"
        );
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let options = TcoOptions { host_discount_pct: 120.0, ..south_central("AV36") };
        assert!(compare_in(USUAL, 0.0, &options).is_err());
        assert!(compare_in(USUAL, f64::NAN, &south_central("AV36")).is_err());
    }

    #[test]
    fn every_price_is_dated_and_of_a_known_source() {
        let text: FiguresText = toml::from_str(FIGURES).unwrap();
        let rows: Vec<PriceRow> = csv::Reader::from_reader(PRICES.as_bytes())
            .deserialize()
            .collect::<Result<_, _>>()
            .unwrap();
        assert_eq!(rows.len(), 65);
        for row in rows {
            assert!(
                text.sources.contains_key(&row.source) && !row.date.is_empty(),
                "{}",
                row.region
            );
            assert!(row.usd_per_hour > 5.0 && row.usd_per_hour < 30.0, "{}", row.region);
        }
    }
}
