//! Points become series: one for each platform and workload, in one unit, with what was set aside.
//!
//! Sequential work is counted in MiB/s and random work in IOPS, whatever the row's unit, when the
//! block size allows it. The three data checks that need rows to be compared with each other
//! (Little's law, bandwidth against IOPS, protocols against each other) happen on the way.

use crate::points::{Measured, Point, Statistic};
use crate::types::{Configuration, Quantity, Resource};
use serde::Serialize;
use std::collections::BTreeMap;

/// Two numbers that should agree and differ by more than this in logarithms do not: 28 %.
pub const DISAGREEMENT_LN: f64 = 0.25;

/// A row that the fit does not use, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeptOut {
    /// Row in the file.
    pub row: usize,
    /// Platform.
    pub platform: String,
    /// Value as printed.
    pub value: f64,
    /// Unit as printed.
    pub unit: String,
    /// Why.
    pub reason: String,
}

/// A row that fails a data check.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SuspectPoint {
    /// Row in the file.
    pub row: usize,
    /// Platform.
    pub platform: String,
    /// Workload, or empty.
    pub workload: String,
    /// Value as printed.
    pub value: f64,
    /// Unit as printed.
    pub unit: String,
    /// `littles_law`, `bandwidth`, `contradiction`, `monotone` or `residual`.
    pub check: String,
    /// What was found, with numbers.
    pub detail: String,
    /// What was done.
    pub action: String,
}

/// One rate with its configuration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Observation {
    pub row: usize,
    pub hosts: Option<f64>,
    pub datastores: Option<f64>,
    pub flows: Option<f64>,
    pub vms: Option<f64>,
    pub outstanding: Option<f64>,
    /// In the series' unit.
    pub value: f64,
    pub ln_value: f64,
    /// Peak where the series speaks of means.
    pub peak: bool,
    /// A lower bound only.
    pub one_sided: bool,
    pub printed: f64,
    pub printed_unit: String,
}

impl Observation {
    /// Instances of a resource; `None` when not stated: then it does not bind.
    pub(crate) fn instances(&self, resource: Resource) -> Option<f64> {
        match resource {
            Resource::Flow => self.flows,
            Resource::Host => self.hosts,
            Resource::Volume => self.datastores,
            Resource::Vm => self.vms,
            Resource::Concurrency => self.outstanding,
            Resource::Pool => Some(1.0),
            Resource::Tier | Resource::Gateway => None,
        }
    }

    /// As a configuration to predict for; counts that were not stated are one.
    pub(crate) fn configuration(&self) -> Configuration {
        let (hosts, datastores) = (self.hosts.unwrap_or(1.0), self.datastores.unwrap_or(1.0));
        Configuration {
            hosts,
            datastores,
            flows: self.flows.unwrap_or(hosts * datastores),
            vms: self.vms,
            outstanding: self.outstanding,
        }
    }
}

/// Points of one workload.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SeriesData {
    pub name: String,
    pub platform: String,
    pub protocol: String,
    pub workload: String,
    pub quantity: Quantity,
    pub block_kib: Option<f64>,
    pub pattern: String,
    pub read_pct: String,
    pub statistic: String,
    pub observations: Vec<Observation>,
}

impl SeriesData {
    /// Whether `other` is the same work on the same platform, by another protocol perhaps.
    pub(crate) fn same_work(&self, other: &Self) -> bool {
        let own = (&self.platform, &self.workload, self.quantity, self.block_kib);
        own == (&other.platform, &other.workload, other.quantity, other.block_kib)
            && (&self.pattern, &self.read_pct) == (&other.pattern, &other.read_pct)
            && self.statistic == other.statistic
    }
}

/// All series of a selection and what was set aside on the way.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prepared {
    pub series: Vec<SeriesData>,
    pub kept_out: Vec<KeptOut>,
    pub suspects: Vec<SuspectPoint>,
}

/// Groups `points`. With `join` several platforms count as one system seen from several sides.
pub(crate) fn prepare(points: &[&Point], join: bool) -> Prepared {
    let mut prepared = Prepared::default();
    let set_aside = check_rows(points, &mut prepared);
    let several_platforms =
        !join && points.iter().any(|point| point.platform != points[0].platform);
    let several_protocols = points.iter().any(|point| point.protocol != points[0].protocol);
    // Rows in file order; a series stands where its first row does.
    let mut order: Vec<String> = Vec::new();
    let mut groups: BTreeMap<String, SeriesData> = BTreeMap::new();
    let mut means: BTreeMap<String, bool> = BTreeMap::new();
    for point in points {
        if set_aside.contains(&point.row) {
            continue;
        }
        let quantity = quantity_of(point);
        let Some(value) = value_in(point.measured, quantity, point.block_kib) else { continue };
        let over_mixes = matches!(point.statistic, Statistic::Mean | Statistic::Peak);
        let read = if over_mixes { "mix".to_owned() } else { point.read_pct.clone() };
        let platform = if join { String::new() } else { point.platform.clone() };
        let block = point.block_kib.map_or(String::new(), |block| format!("{block}"));
        let key = format!(
            "{platform}|{}|{}|{quantity:?}|{block}|{}|{read}",
            point.protocol, point.workload, point.pattern
        );
        *means.entry(key.clone()).or_insert(false) |= point.statistic == Statistic::Mean;
        let series = groups.entry(key.clone()).or_insert_with(|| {
            order.push(key);
            SeriesData {
                name: series_name(point, &read, several_platforms, several_protocols),
                platform: point.platform.clone(),
                protocol: point.protocol.clone(),
                workload: point.workload.clone(),
                quantity,
                block_kib: point.block_kib,
                pattern: point.pattern.clone(),
                read_pct: read,
                statistic: String::new(),
                observations: Vec::new(),
            }
        });
        series.observations.push(Observation {
            row: point.row,
            hosts: point.hosts,
            datastores: point.datastores,
            flows: point.flows,
            vms: point.vms,
            outstanding: point.outstanding,
            value,
            ln_value: value.ln(),
            peak: point.statistic == Statistic::Peak,
            one_sided: point.statistic == Statistic::AtLeast || point.note_says(&["lower bound"]),
            printed: point.value,
            printed_unit: point.unit.clone(),
        });
    }
    for key in order {
        let Some(mut series) = groups.remove(&key) else { continue };
        let (peaks, all) =
            (series.observations.iter().filter(|o| o.peak).count(), series.observations.len());
        if peaks == all {
            // One statistic only: no ratio to estimate.
            series.observations.iter_mut().for_each(|o| o.peak = false);
        }
        let means = means.get(&key).copied().unwrap_or(false);
        series.statistic = if peaks == all {
            "peak".to_owned()
        } else if peaks > 0 || means {
            "mean".to_owned()
        } else {
            "as published".to_owned()
        };
        prepared.series.push(series);
    }
    make_names_distinct(&mut prepared.series);
    prepared
}

fn make_names_distinct(series: &mut [SeriesData]) {
    for index in 1..series.len() {
        let twins = (0..index).filter(|&k| series[k].name == series[index].name).count();
        if twins > 0 {
            series[index].name = format!("{} ({})", series[index].name, twins + 1);
        }
    }
}

fn series_name(point: &Point, read: &str, with_platform: bool, with_protocol: bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    if with_platform {
        parts.push(point.platform.clone());
    }
    if with_protocol {
        parts.push(point.protocol.clone());
    }
    if point.workload.is_empty() {
        parts.push(point.pattern.clone());
        parts.push(match read {
            "mix" | "" => String::new(),
            "100" => "read".to_owned(),
            "0" => "write".to_owned(),
            other => format!("{other} % read"),
        });
        parts.push(point.block_kib.map_or(String::new(), |block| format!("{block} KiB")));
    } else {
        parts.push(point.workload.clone());
    }
    parts.retain(|part| !part.is_empty());
    if parts.is_empty() { "all".to_owned() } else { parts.join(" ") }
}

fn quantity_of(point: &Point) -> Quantity {
    match (point.pattern.as_str(), point.block_kib, point.measured) {
        ("sequential", Some(_), _) => Quantity::Throughput,
        ("random", Some(_), _) => Quantity::Iops,
        (_, _, Measured::Bytes(_)) => Quantity::Throughput,
        _ => Quantity::Iops,
    }
}

/// A rate in the unit of `quantity`; `None` for a latency or without a block to convert by.
pub(crate) fn value_in(
    measured: Measured,
    quantity: Quantity,
    block_kib: Option<f64>,
) -> Option<f64> {
    match (measured, quantity) {
        (Measured::Operations(value), Quantity::Iops) => Some(value),
        (Measured::Bytes(value), Quantity::Throughput) => Some(value / 1_048_576.0),
        (Measured::Operations(value), Quantity::Throughput) => {
            block_kib.map(|block| value * block / 1024.0)
        }
        (Measured::Bytes(value), Quantity::Iops) => block_kib.map(|block| value / 1024.0 / block),
        (Measured::Seconds(_), _) => None,
    }
}

/// Runs the checks between rows; returns the rows that the fit does not use.
fn check_rows(points: &[&Point], prepared: &mut Prepared) -> Vec<usize> {
    let mut set_aside: Vec<usize> = Vec::new();
    let mut keep_out = |point: &Point, reason: String, set_aside: &mut Vec<usize>| {
        set_aside.push(point.row);
        prepared.kept_out.push(KeptOut {
            row: point.row,
            platform: point.platform.clone(),
            value: point.value,
            unit: point.unit.clone(),
            reason,
        });
    };
    let mut suspects: Vec<SuspectPoint> = Vec::new();
    let suspect = |point: &Point, check: &str, detail: String, action: &str| SuspectPoint {
        row: point.row,
        platform: point.platform.clone(),
        workload: point.workload.clone(),
        value: point.value,
        unit: point.unit.clone(),
        check: check.to_owned(),
        detail,
        action: action.to_owned(),
    };
    for point in points {
        if point.statistic == Statistic::Headline {
            let reason = "a headline: its configuration is not stated".to_owned();
            keep_out(point, reason, &mut set_aside);
        } else if point.note_says(&["not in fits", "kept out"]) {
            keep_out(point, format!("marked so by its note: {}", point.note), &mut set_aside);
        }
    }
    let rates: Vec<&Point> = points
        .iter()
        .copied()
        .filter(|p| !matches!(p.measured, Measured::Seconds(_)) && !set_aside.contains(&p.row))
        .collect();

    // Bandwidth against IOPS of the same run; of the two the natural one is used.
    let mut paired: Vec<usize> = Vec::new();
    for point in &rates {
        let Measured::Bytes(bytes) = point.measured else { continue };
        let twin = rates.iter().find(|other| {
            matches!(other.measured, Measured::Operations(_))
                && !paired.contains(&other.row)
                && other.statistic == point.statistic
                && other.configuration_key() == point.configuration_key()
        });
        let Some(twin) = twin else { continue };
        let (Measured::Operations(operations), Some(block)) = (twin.measured, point.block_kib)
        else {
            continue;
        };
        paired.push(twin.row);
        let natural_is_bytes = point.pattern == "sequential";
        let (used, unused) = if natural_is_bytes { (point, twin) } else { (twin, point) };
        let ratio = operations * block * 1024.0 / bytes;
        if ratio.ln().abs() > DISAGREEMENT_LN {
            let detail = format!(
                "{operations:.0} IOPS x {block} KiB is {:.1} MB/s, row {} says {:.1} MB/s: {ratio:.2} times",
                operations * block * 1024.0 / 1e6,
                point.row,
                bytes / 1e6
            );
            let action = format!("set aside; row {} is used", used.row);
            suspects.push(suspect(unused, "bandwidth", detail, &action));
        }
        let reason = format!("same run as row {}, which is used", used.row);
        keep_out(unused, reason, &mut set_aside);
    }

    // Little's law: outstanding = rate x response time.
    let mut in_flight: Vec<(&Point, f64)> = Vec::new();
    let mut taken: Vec<usize> = Vec::new();
    for latency in points {
        let Measured::Seconds(seconds) = latency.measured else { continue };
        let rate = rates.iter().find(|rate| {
            !taken.contains(&rate.row) && rate.configuration_key() == latency.configuration_key()
        });
        let Some(rate) = rate else {
            let reason = "a latency without a rate of the same configuration".to_owned();
            keep_out(latency, reason, &mut set_aside);
            continue;
        };
        taken.push(rate.row);
        let Some(operations) = value_in(rate.measured, Quantity::Iops, rate.block_kib) else {
            continue;
        };
        let product = operations * seconds;
        in_flight.push((rate, product));
        if let Some(outstanding) = rate.outstanding {
            let ratio = product / outstanding;
            if ratio.ln().abs() > DISAGREEMENT_LN {
                let detail = format!(
                    "rate x latency is {product:.2}, outstanding is {outstanding:.0}: Little's law is off by a factor of {ratio:.3}; {:.0} IOPS would agree with the latency of row {}",
                    outstanding / seconds,
                    latency.row
                );
                suspects.push(suspect(rate, "littles_law", detail, "set aside from the fit"));
                set_aside.push(rate.row);
            }
        }
    }

    // Two protocols under one load generator have the same number in flight.
    for (index, (left, left_product)) in in_flight.iter().enumerate() {
        for (right, right_product) in &in_flight[index + 1..] {
            if left.protocol == right.protocol
                || left.key_without_protocol() != right.key_without_protocol()
                || (left_product / right_product).ln().abs() <= DISAGREEMENT_LN
            {
                continue;
            }
            for (point, own, other, of) in [
                (left, left_product, right_product, right),
                (right, right_product, left_product, left),
            ] {
                let detail = format!(
                    "rate x latency is {own:.0} here and {other:.0} for {} (row {}) under the same load: the source contradicts itself",
                    of.protocol, of.row
                );
                suspects.push(suspect(point, "contradiction", detail, "set aside from the fit"));
                set_aside.push(point.row);
            }
        }
    }
    prepared.suspects = suspects;
    set_aside
}
