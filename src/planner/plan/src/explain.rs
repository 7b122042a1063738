//! The plan in words: the limits put side by side, the derivation with its numbers, what was
//! assumed and what the reader must know.

use plimsoll_demand::{Assumption, Demand};
use plimsoll_model::{Model, Quantity, Resource};
use plimsoll_units::{EvidenceGrade, Iops, MibPerSec};

use crate::carry::DRAWS;
use crate::catalog::{HOURS_PER_MONTH, TierThroughput};
use crate::choose::limit_name;
use crate::scenario::Scenario;
use crate::shape::Shape;
use crate::types::{Ceiling, DerivationStep, FrontierPoint, PlanOptions};
use crate::words::{certainty, count, modelled, plain, size, whole};

/// Resources of the p-norm, in the order of the report.
const RESOURCES: [Resource; 5] =
    [Resource::Flow, Resource::Host, Resource::Volume, Resource::Pool, Resource::Vm];

/// Each limit of the plan with the failure: what one instance carries, how many there are.
pub(crate) fn ceilings(scenario: &Scenario<'_>, model: &Model, shape: &Shape<'_>) -> Vec<Ceiling> {
    let alive = scenario.alive();
    let configuration = scenario.configuration(alive, shape.datastores);
    let by_block = model.predict_iops_at_block(scenario.need.block_kib, &configuration).is_some();
    let mut rows = Vec::new();
    for resource in RESOURCES {
        let instances = match resource {
            Resource::Flow => Some(configuration.flows),
            Resource::Host => Some(configuration.hosts),
            Resource::Volume => Some(configuration.datastores),
            Resource::Pool => Some(1.0),
            Resource::Vm => configuration.vms,
            _ => None,
        };
        let Some(instances) = instances else { continue };
        let iops = if by_block {
            iops_at_block(model, resource, scenario.need.block_kib)
        } else {
            model.ceiling(Quantity::Iops, resource).map(|ceiling| ceiling.value)
        };
        let mibps = model.ceiling(Quantity::Throughput, resource).map(|ceiling| ceiling.value);
        if iops.is_none() && mibps.is_none() {
            continue;
        }
        rows.push(Ceiling {
            resource,
            instances: Some(instances),
            iops_each: iops.map(Iops),
            mibps_each: mibps.map(MibPerSec),
            iops: iops.map(|value| Iops(value * instances)),
            mibps: mibps.map(|value| MibPerSec(value * instances)),
        });
    }
    if let Some((resource, mibps)) = shape.cap(scenario, alive) {
        let iops = Iops(scenario.need.mibps_as_iops(mibps));
        rows.push(Ceiling {
            resource,
            instances: None,
            iops_each: None,
            mibps_each: None,
            iops: Some(iops),
            mibps: Some(MibPerSec(mibps)),
        });
    }
    rows
}

/// IOPS that one instance carries at a block size: an operation costs `a + g x block`, with `a` and
/// `g` from the two series, as in [`Model::predict_iops_at_block`].
fn iops_at_block(model: &Model, resource: Resource, block_kib: f64) -> Option<f64> {
    let small = model.ceiling(Quantity::Iops, resource)?.value;
    let stated = model.block_kib(Quantity::Iops)?;
    let large = model.ceiling(Quantity::Throughput, resource).map(|ceiling| ceiling.value);
    let (Some(large), Some(large_block)) = (large, model.block_kib(Quantity::Throughput)) else {
        return Some(small);
    };
    if (block_kib - stated).abs() < 1e-9 || large_block <= stated {
        return Some(small);
    }
    let (cost_small, cost_large) = (1.0 / small, large_block / (1024.0 * large));
    let slope = ((cost_large - cost_small) / (large_block - stated)).max(0.0);
    let cost = if block_kib <= stated {
        cost_small
    } else if block_kib <= large_block {
        cost_small + slope * (block_kib - stated)
    } else {
        cost_large.max(cost_small) * block_kib / large_block
    };
    Some(1.0 / cost)
}

/// How the numbers were reached, with the numbers put in.
pub(crate) fn derivation(
    scenario: &Scenario<'_>,
    demand: &Demand,
    model: &Model,
    shape: &Shape<'_>,
    point: &FrontierPoint,
    ceilings: &[Ceiling],
) -> Vec<DerivationStep> {
    let mut steps = Vec::new();
    let mut step = |what: &str, formula: String, result: String| {
        steps.push(DerivationStep { what: what.to_owned(), formula, result });
    };
    let need = &scenario.need;
    let years = f64::from(demand.options.horizon_months) / 12.0;
    let growth = demand.options.load_growth_pct_per_year;
    let power =
        if (years - 1.0).abs() < 1e-9 { String::new() } else { format!("^{}", plain(years)) };
    step(
        &format!(
            "Load in {} months: 95th percentile of the summed load, with growth",
            demand.options.horizon_months
        ),
        format!(
            "{} x (1 + {}){power} = {} IOPS; {} x (1 + {}){power} = {} MiB/s",
            whole(demand.today.iops_p95.0),
            plain(growth / 100.0),
            whole(need.load_iops),
            whole(demand.today.mibps_p95.0),
            plain(growth / 100.0),
            whole(need.load_mibps)
        ),
        format!("{} IOPS, {} MiB/s", whole(need.load_iops), whole(need.load_mibps)),
    );
    step(
        "Needed: the load plus headroom",
        format!(
            "{} x (1 + {}) = {}; {} x (1 + {}) = {}",
            whole(need.load_iops),
            plain(need.headroom),
            whole(need.needed_iops()),
            whole(need.load_mibps),
            plain(need.headroom),
            whole(need.needed_mibps())
        ),
        format!("{} IOPS, {} MiB/s", whole(need.needed_iops()), whole(need.needed_mibps())),
    );
    step(
        "Capacity needed: used space with growth, snapshot reserve and slack",
        format!(
            "{:.2} x {:.3} / (1 - {}) / (1 - {}) = {:.2} TiB",
            demand.used_today.0 / 1024.0,
            need.used_gib / demand.used_today.0.max(1e-9),
            plain(need.snapshots),
            plain(need.slack),
            need.capacity_gib() / 1024.0
        ),
        format!(
            "{}; {} of {}{}",
            size(need.capacity_gib()),
            count(shape.datastores, "datastore"),
            size(shape.size_gib),
            if shape.pool_gib > 0.0 && scenario.platform.limits.pool_step_tib.is_some() {
                format!(", pool {}", size(shape.pool_gib))
            } else {
                String::new()
            }
        ),
    );
    step(
        &format!(
            "Limits with {} of {} hosts, {}, {} flows; IOPS at {} KiB",
            scenario.alive(),
            scenario.hosts,
            count(shape.datastores, "datastore"),
            ceilings
                .iter()
                .find(|row| row.resource == Resource::Flow)
                .and_then(|row| row.instances)
                .map_or_else(|| "no".to_owned(), whole),
            plain((need.block_kib * 10.0).round() / 10.0)
        ),
        ceilings.iter().filter_map(ceiling_words).collect::<Vec<_>>().join("; "),
        ceilings
            .iter()
            .filter_map(|row| row.iops.map(|iops| (iops.0, row.resource)))
            .min_by(|left, right| left.0.total_cmp(&right.0))
            .map_or_else(String::new, |(iops, resource)| {
                format!("lowest for IOPS: {}, {}", limit_name(resource), modelled(iops))
            }),
    );
    let exponent = model.exponent.value;
    step(
        "What the plan can do: the limits blend into one another, caps cut off",
        blend_words(ceilings, exponent, point.iops.hard_cap),
        format!(
            "{} IOPS, {} MiB/s at the median",
            modelled(point.iops.median),
            modelled(point.mibps.median)
        ),
    );
    step(
        "Which limit binds: the share of each in the sum",
        shares_words(&point.iops.shares)
            + " for IOPS; "
            + &shares_words(&point.mibps.shares)
            + " for MiB/s",
        format!("{} for IOPS, {} for MiB/s", point.iops.binding.name(), point.mibps.binding.name()),
    );
    step(
        &format!(
            "How sure: {} draws of the limits from what the points leave open",
            whole(DRAWS as f64)
        ),
        format!(
            "IOPS: 5th percentile {}, median {}, 95th {}; P(X >= {}) = {:.3}. MiB/s: {}, {}, {}; \
             P(X >= {}) = {:.3}",
            modelled(point.iops.p05),
            modelled(point.iops.median),
            modelled(point.iops.p95),
            whole(need.needed_iops()),
            point.iops.probability,
            modelled(point.mibps.p05),
            modelled(point.mibps.median),
            modelled(point.mibps.p95),
            whole(need.needed_mibps()),
            point.mibps.probability
        ),
        format!(
            "{} sure; {}% asked",
            certainty(point.iops.probability.min(point.mibps.probability)),
            plain(scenario.certainty * 100.0)
        ),
    );
    if let Some(latency) = point.latency_ms {
        let used = need.load_iops / point.iops.median.max(1e-9);
        step(
            "Response time at the load",
            format!("R0 x [1 - {used:.2}^{exponent:.2}]^(-1/{exponent:.2})"),
            format!("{} ms", modelled(latency.0)),
        );
    }
    if let Some(money) = &shape.monthly {
        step(
            "Price",
            price_words(scenario, shape),
            format!("{} {} a month", whole(money.amount), money.currency),
        );
    }
    steps
}

fn ceiling_words(row: &Ceiling) -> Option<String> {
    let name = row.resource.name();
    let (iops, mibps) = (row.iops.map(|value| value.0), row.mibps.map(|value| value.0));
    let Some(instances) = row.instances else {
        return Some(format!("{name} cap {} MiB/s", whole(mibps?)));
    };
    let product = |each: Option<f64>, all: Option<f64>, unit: &str| {
        Some(format!("{} x {} = {} {unit}", plain(instances), modelled(each?), modelled(all?)))
    };
    let parts: Vec<String> = [
        product(row.iops_each.map(|value| value.0), iops, "IOPS"),
        product(row.mibps_each.map(|value| value.0), mibps, "MiB/s"),
    ]
    .into_iter()
    .flatten()
    .collect();
    Some(format!("{name} {}", parts.join(", ")))
}

fn blend_words(ceilings: &[Ceiling], exponent: f64, cap: Option<f64>) -> String {
    let terms: Vec<String> = ceilings
        .iter()
        .filter(|row| row.instances.is_some())
        .filter_map(|row| row.iops.map(|iops| format!("{}^-p", modelled(iops.0))))
        .collect();
    let blend = format!("[{}]^(-1/p), p = {exponent:.2}", terms.join(" + "));
    match cap {
        Some(cap) => format!("min({} IOPS, {blend})", modelled(cap)),
        None => blend,
    }
}

fn shares_words(shares: &[(Resource, f64)]) -> String {
    shares
        .iter()
        .filter(|(_, share)| *share >= 0.005)
        .map(|(resource, share)| format!("{} {:.0}%", resource.name(), share * 100.0))
        .collect::<Vec<_>>()
        .join(", ")
}

fn price_words(scenario: &Scenario<'_>, shape: &Shape<'_>) -> String {
    let discount = if scenario.discount_pct > 0.0 {
        format!(" x (1 - {})", plain(scenario.discount_pct / 100.0))
    } else {
        String::new()
    };
    if let Some(usd) = scenario.array.and_then(|array| array.usd_per_gib_month) {
        return format!(
            "{} GiB x {usd} USD a GiB and month{discount}",
            whole(shape.size_gib * f64::from(shape.datastores))
        );
    }
    let Some(rates) = shape.offer.rates else { return String::new() };
    let capacity = format!(
        "{} TiB x 1,024 x {} USD a GiB and hour x {HOURS_PER_MONTH} h",
        plain(shape.pool_gib / 1024.0),
        rates.usd_per_gib_hour
    );
    match (shape.offer.tier.throughput, shape.provisioned_mibps, rates.usd_per_mibps_hour) {
        (TierThroughput::Bought { included_mibps, .. }, Some(bought), Some(rate)) => format!(
            "({capacity} + ({} - {}) MiB/s x {rate} USD an hour x {HOURS_PER_MONTH} h){discount}",
            whole(bought),
            plain(included_mibps)
        ),
        _ => capacity + &discount,
    }
}

/// Where the number of hosts comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HostsFrom {
    Option,
    Inventory,
    Platform,
}

/// What the plan adds to the demand's assumptions.
pub(crate) fn assumptions(
    scenario: &Scenario<'_>,
    demand: &Demand,
    model: &Model,
    shape: &Shape<'_>,
    hosts_from: HostsFrom,
    options: &PlanOptions,
) -> Vec<Assumption> {
    let mut rows = demand.assumptions.clone();
    let mut add = |id: &str, what: &str, value: String, source: String, grade: EvidenceGrade| {
        rows.push(Assumption { id: id.to_owned(), what: what.to_owned(), value, source, grade });
    };
    let option = "option of the plan".to_owned();
    add(
        "hosts",
        "Hosts that run the machines",
        scenario.hosts.to_string(),
        match hosts_from {
            HostsFrom::Option => option.clone(),
            HostsFrom::Inventory => "hosts of the inventory".to_owned(),
            HostsFrom::Platform => {
                "least number of the platform: give the number you run".to_owned()
            }
        },
        match hosts_from {
            HostsFrom::Option | HostsFrom::Inventory => EvidenceGrade::A,
            HostsFrom::Platform => EvidenceGrade::D,
        },
    );
    add(
        "hosts-lost",
        "Hosts that may fail while the load is carried",
        scenario.hosts_lost.to_string(),
        option.clone(),
        EvidenceGrade::D,
    );
    add(
        "headroom",
        "Room above the load",
        format!("{}%", plain(options.headroom_pct)),
        option.clone(),
        EvidenceGrade::D,
    );
    add(
        "certainty",
        "Probability with which the needed load is carried",
        format!("{}%", plain(options.certainty_pct)),
        option.clone(),
        EvidenceGrade::D,
    );
    add(
        "reserves",
        "Snapshot reserve and slack of a datastore",
        format!("{}%, {}%", plain(options.snapshot_reserve_pct), plain(options.slack_pct)),
        option.clone(),
        EvidenceGrade::D,
    );
    add(
        "addresses",
        "Target addresses of the datastores",
        match scenario.addresses {
            Some(addresses) => addresses.to_string(),
            None => format!("{}, one each", shape.datastores),
        },
        if scenario.addresses.is_some() {
            option
        } else {
            "assumed; look up the mount targets, since datastores behind one address can share \
             connections"
                .to_owned()
        },
        EvidenceGrade::D,
    );
    add(
        "ceilings",
        "What a flow, host, volume and pool carry",
        format!("model {}", model.id),
        model.sources.join("; "),
        model.grade,
    );
    if let Some((resource, mibps)) = shape.cap(scenario, scenario.alive()) {
        let platform = scenario.platform;
        let tier = shape.offer.tier;
        add(
            "cap",
            &format!("Hard cap: {}", limit_name(resource)),
            format!("{} MiB/s", whole(mibps)),
            match resource {
                Resource::Tier => platform.source_text(&tier.source, &tier.date),
                Resource::Gateway => scenario.gateway.map_or_else(String::new, |gateway| {
                    platform.source_text(&gateway.source, &gateway.date)
                }),
                _ => scenario.host_type.map_or_else(String::new, |host| {
                    platform.source_text(&host.source, &host.date)
                }),
            },
            EvidenceGrade::C,
        );
    }
    if let Some(prices) = scenario.prices {
        add(
            "prices",
            "List prices",
            format!("{}, read {}", prices.name, prices.date),
            prices.source.clone(),
            EvidenceGrade::C,
        );
    }
    rows
}

/// What the reader must know: contradictions, extrapolation, what could not be checked.
pub(crate) fn remarks(
    scenario: &Scenario<'_>,
    model: &Model,
    shape: &Shape<'_>,
    point: &FrontierPoint,
) -> Vec<String> {
    let platform = scenario.platform;
    let mut remarks = Vec::new();
    let statements = &platform.datastores_per_cluster;
    if let (Some(least), Some(most)) =
        (statements.iter().map(|row| row.value).min(), statements.iter().map(|row| row.value).max())
        && least != most
    {
        let listed: Vec<String> =
            statements.iter().map(|row| format!("{} ({})", row.value, row.date)).collect();
        let used = platform.datastore_limit().map_or(most, |row| row.value);
        remarks.push(format!(
            "Pages of the vendor disagree on how many datastores a cluster takes: {}. {used} is used; \
             the plan has {}{}.",
            listed.join(", "),
            shape.datastores,
            if shape.datastores > least {
                ", so ask for the limit of your cluster before ordering"
            } else {
                ", which every statement allows"
            }
        ));
    }
    let configuration = scenario.configuration(scenario.alive().max(1), shape.datastores);
    if let Some(own) = model.block_kib(Quantity::Iops)
        && (own - scenario.need.block_kib).abs() > 0.05
        && model.predict_iops_at_block(scenario.need.block_kib, &configuration).is_none()
    {
        remarks.push(format!(
            "The load's mean block is {:.1} KiB; the IOPS limits are taken as stated for {} KiB, since \
             they cannot be converted without the same limits in MiB/s.",
            scenario.need.block_kib,
            plain(own)
        ));
    }
    if model.points > 0 && (point.iops.extrapolated || point.mibps.extrapolated) {
        remarks.push(format!(
            "{} of {} hosts and {} lie outside the measured configurations of model {}: the figures \
             are extrapolated.",
            scenario.alive(),
            scenario.hosts,
            count(shape.datastores, "datastore"),
            model.id
        ));
    }
    if scenario.nconnect > 1 {
        remarks.push(format!(
            "nConnect {} is predicted from one-connection measurements and was not verified by a \
             measurement: probe it before relying on it.",
            scenario.nconnect
        ));
    }
    if let (Some(host), Some(usual)) = (scenario.host_type, &platform.default_host_type)
        && &host.id != usual
    {
        remarks.push(format!(
            "The limits of a host were measured on {usual}; {} ({} Gbit/s) is taken to carry the same. \
             {}",
            host.name,
            plain(host.nic_gbit),
            if platform.host_types.iter().any(|one| &one.id == usual && one.nic_gbit < host.nic_gbit) {
                "It has the faster port, so this is a low estimate."
            } else {
                "Probe it to be sure."
            }
        ));
    }
    if let Some(gateway) = scenario.gateway.filter(|gateway| !gateway.fast_path) {
        remarks.push(format!(
            "Gateway {} passes all data at {} Gbit/s; the platform's guide asks for one with FastPath.",
            gateway.name,
            plain(gateway.mbit / 1_000.0)
        ));
    }
    if let Some(bought) = shape.provisioned_mibps
        && point.feasible
    {
        remarks.push(format!(
            "Throughput is bought to the need, {} MiB/s; the hardware would carry {} at the certainty \
             asked. It can be raised at any time and lowered 24 hours after.",
            whole(bought),
            modelled(point.mibps.hardware)
        ));
    }
    if let Some(quota) = platform.limits.regional_quota_tib.as_ref()
        && shape.pool_gib / 1024.0 > quota.value
    {
        remarks.push(format!(
            "A subscription starts with {} TiB in a region and the plan needs {}: ask for a higher \
             quota first.",
            plain(quota.value),
            size(shape.pool_gib)
        ));
    }
    if let Some(per_cluster) = platform.limits.hosts_per_cluster.as_ref()
        && f64::from(scenario.hosts) > per_cluster.value
    {
        remarks.push(format!(
            "{} hosts need more than one cluster of at most {}; the datastores are taken to be mounted \
             by all of them.",
            scenario.hosts,
            plain(per_cluster.value)
        ));
    }
    if scenario.latency_limit_ms.is_some() && point.latency_ms.is_none() && point.feasible {
        remarks.push(format!(
            "The response time asked could not be checked: model {} has no unloaded response time.",
            model.id
        ));
    }
    if shape.offer.tier.preview {
        remarks.push(format!("{} is in preview.", shape.offer.tier.name));
    }
    if scenario.prices.is_some() && shape.monthly.is_none() {
        remarks.push(format!(
            "{} has no price in {}: the plan stands without one.",
            shape.offer.tier.name,
            scenario.region_name()
        ));
    }
    remarks
}
