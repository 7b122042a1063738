//! The way in: inventory, demand, catalogue and model to a plan.

use plimsoll_demand::Demand;
use plimsoll_inventory::Inventory;
use plimsoll_model::{Model, Quantity, Resource, StatedCeilings};
use plimsoll_units::{EvidenceGrade, Gib, Iops, MibPerSec, Milliseconds};

use crate::arrange::{arrange, one_vm, stripe};
use crate::carry::{Carry, carried};
use crate::catalog::{Catalog, HOURS_PER_MONTH, Platform, TierThroughput};
use crate::choose::{self, Choice, choose};
use crate::explain::HostsFrom;
use crate::scenario::Scenario;
use crate::sensitivity::{sensitivities, what_if};
use crate::shape::{Shape, value};
use crate::tco::{TcoInput, TcoOptions};
use crate::types::{
    ArrayCeilings, FrontierPoint, HostCurve, HostPoint, Plan, PlanOptions, PriceBasis, Tco,
};
use crate::{Error, explain, flows, tco, tiers, words};

/// Host counts and datastore counts of the curves that show where the limit moves.
const CURVE_HOSTS: [u32; 4] = [1, 2, 4, 8];
const CURVE_DATASTORES: u32 = 8;

/// How far off a stated ceiling may be, as a relative standard deviation: the spread given to
/// documented line rates in docs/models.md.
const STATED_SD: f64 = 0.15;

/// Blocks at which ceilings of an own array are stated, KiB: random and sequential.
const STATED_BLOCKS_KIB: (f64, f64) = (8.0, 64.0);

/// Plan the datastores for a demand.
///
/// `model` replaces the platform's own. A demand that nothing can carry gives a plan with
/// `feasible` false, the reasons, and the nearest plan.
///
/// # Errors
/// [`Error::Unknown`] and [`Error::Option`] for options that cannot be, [`Error::Model`] without a
/// usable model.
pub fn make_plan(
    inventory: &Inventory,
    demand: &Demand,
    catalog: &Catalog,
    model: Option<&Model>,
    options: &PlanOptions,
) -> Result<Plan, Error> {
    let platform = catalog.platform(&options.platform)?;
    let built_in;
    let model = match model {
        Some(model) => model,
        None => {
            built_in = platform_model(platform, options.array.as_ref())?;
            &built_in
        }
    };
    for quantity in [Quantity::Iops, Quantity::Throughput] {
        if model.series_for(quantity).is_none() {
            return Err(Error::Model {
                platform: platform.id.clone(),
                reason: format!(
                    "model {} does not predict {}; a plan needs both IOPS and MiB/s",
                    model.id,
                    quantity.unit()
                ),
            });
        }
    }
    let scenario = Scenario::new(inventory, demand, catalog, options)?;
    let mut carry = Carry::new(model, options.seed);
    let inputs = Inputs { inventory, demand, model, options };
    // Datastores that hold every machine whole, where that costs no more than to hold every disk.
    let whole = with_piece(&scenario, largest_piece(inventory, demand, platform, options, false));
    let split = with_piece(&scenario, largest_piece(inventory, demand, platform, options, true));
    let for_whole = pick(&whole, &mut carry)?;
    let for_disks = pick(&split, &mut carry)?;
    if costs_no_more(&for_whole, &for_disks) {
        assemble(&inputs, &whole, &mut carry, &for_whole)
    } else {
        assemble(&inputs, &split, &mut carry, &for_disks)
    }
}

fn with_piece<'a>(scenario: &Scenario<'a>, largest_piece_gib: f64) -> Scenario<'a> {
    let mut scenario = scenario.clone();
    scenario.need.largest_piece_gib = largest_piece_gib;
    scenario
}

fn costs_no_more(left: &Choice<'_>, right: &Choice<'_>) -> bool {
    let amount = |choice: &Choice<'_>| {
        let size = choice.shape.size_gib * f64::from(choice.shape.datastores);
        choice.shape.monthly.as_ref().map_or(size, |money| money.amount)
    };
    (left.feasible || !right.feasible) && amount(left) <= amount(right) + 0.005
}

/// What a plan is made from.
struct Inputs<'a> {
    inventory: &'a Inventory,
    demand: &'a Demand,
    model: &'a Model,
    options: &'a PlanOptions,
}

fn pick<'a>(scenario: &'a Scenario<'_>, carry: &mut Carry<'_>) -> Result<Choice<'a>, Error> {
    choose(scenario, carry).ok_or_else(|| Error::Catalog {
        file: scenario.platform.id.clone(),
        reason: "the platform has no tier".to_owned(),
    })
}

/// The platform's own model, or one from the ceilings that the user states.
fn platform_model(platform: &Platform, array: Option<&ArrayCeilings>) -> Result<Model, Error> {
    if let Some(id) = &platform.model {
        return Model::built_in(id).ok_or_else(|| Error::Model {
            platform: platform.id.clone(),
            reason: format!("model {id} does not come with the program; give one"),
        });
    }
    let stated = array.copied().unwrap_or_default();
    let ceilings: Vec<(Quantity, Resource, f64)> = [
        (Quantity::Iops, Resource::Flow, stated.flow_iops),
        (Quantity::Iops, Resource::Host, stated.host_iops),
        (Quantity::Iops, Resource::Volume, stated.volume_iops),
        (Quantity::Iops, Resource::Pool, stated.array_iops),
        (Quantity::Throughput, Resource::Flow, stated.flow_mibps),
        (Quantity::Throughput, Resource::Host, stated.host_mibps),
        (Quantity::Throughput, Resource::Volume, stated.volume_mibps),
        (Quantity::Throughput, Resource::Pool, stated.array_mibps),
    ]
    .into_iter()
    .filter_map(|(quantity, resource, each)| each.map(|each| (quantity, resource, each)))
    .collect();
    if let Some((_, resource, each)) =
        ceilings.iter().find(|(_, _, each)| !(each.is_finite() && *each > 0.0))
    {
        return Err(Error::Option {
            option: "array",
            given: each.to_string(),
            expected: format!("the ceiling of a {} is a number above 0", resource.name()),
        });
    }
    for quantity in [Quantity::Iops, Quantity::Throughput] {
        if !ceilings.iter().any(|(of, _, _)| *of == quantity) {
            return Err(Error::Option {
                option: "array",
                given: format!("without a ceiling in {}", quantity.unit()),
                expected: format!(
                    "state at least one of flow, host, volume or array in {}, so that the plan has \
                     something to stay below",
                    quantity.unit()
                ),
            });
        }
    }
    Ok(Model::from_ceilings(&StatedCeilings {
        id: "stated-ceilings".to_owned(),
        title: platform.name.clone(),
        ceilings,
        iops_block_kib: STATED_BLOCKS_KIB.0,
        throughput_block_kib: STATED_BLOCKS_KIB.1,
        unloaded_ms: stated.latency_ms,
        relative_sd: STATED_SD,
        grade: EvidenceGrade::C,
        source: "ceilings stated by you".to_owned(),
    }))
}

/// Largest piece that a datastore must hold, GiB used at the horizon: a whole VM, or its largest
/// disk when `divide`. VMs with a disk above the platform's largest file, and pieces beyond what one
/// volume can hold, are left to the placement, which says so.
fn largest_piece(
    inventory: &Inventory,
    demand: &Demand,
    platform: &Platform,
    options: &PlanOptions,
    divide: bool,
) -> f64 {
    let growth =
        if demand.used_today.0 > 0.0 { demand.used_horizon.0 / demand.used_today.0 } else { 1.0 };
    let usable = (1.0 - options.snapshot_reserve_pct / 100.0) * (1.0 - options.slack_pct / 100.0);
    let most = value(&platform.limits.volume_max_gib).unwrap_or(f64::INFINITY) * usable;
    let file_gib = value(&platform.limits.file_max_tib).map_or(f64::INFINITY, |tib| tib * 1024.0);
    demand
        .vms
        .iter()
        .filter_map(|one| {
            let disk = inventory.vms.get(one.vm.0 as usize).and_then(|vm| vm.largest_disk);
            if disk.is_some_and(|disk| disk.gib().0 > file_gib) {
                return None;
            }
            let piece =
                if divide { disk.map_or(one.used, |disk| disk.min(one.used)) } else { one.used };
            Some(piece.gib().0 * growth)
        })
        .filter(|piece| *piece <= most)
        .fold(0.0, f64::max)
}

fn assemble(
    inputs: &Inputs<'_>,
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    choice: &Choice<'_>,
) -> Result<Plan, Error> {
    let Inputs { inventory, demand, model, options } = *inputs;
    let arrangement = arrange(inventory, demand, scenario, carry, choice);
    let shape = &arrangement.shape;
    let need = &scenario.need;
    let frontier: Vec<FrontierPoint> = (1..=scenario.max_datastores)
        .map(|datastores| {
            if datastores == shape.datastores {
                frontier_point(scenario, carry, shape)
            } else {
                frontier_point(scenario, carry, &scenario.shape(shape.offer, datastores))
            }
        })
        .collect();
    let point =
        frontier.iter().find(|point| point.datastores == shape.datastores).cloned().ok_or_else(
            || Error::Step {
                step: "find the chosen count on the frontier",
                reason: format!("{} is not on it", shape.datastores),
            },
        )?;
    let reached = choose::performance(scenario, carry, shape);
    let (binding_quantity, _) = reached.tighter(need.needed_iops(), need.needed_mibps());
    let binding_resource = match binding_quantity {
        Quantity::Iops => point.iops.binding,
        Quantity::Throughput => point.mibps.binding,
    };
    let headroom = choose::margin(reached.iops, need.load_iops)
        .min(choose::margin(reached.mibps, need.load_mibps));
    let ceilings = explain::ceilings(scenario, model, shape);
    let vm_ceiling = one_vm(scenario, carry, shape);
    let flow_budget = flows::budget(
        scenario.hosts,
        scenario.hosts_lost,
        shape.datastores,
        options,
        &scenario.connections,
    );
    let derivation = explain::derivation(scenario, demand, model, shape, &point, &ceilings);
    let (tco, tco_remark) = total_cost(inputs, scenario, shape);
    let mut remarks = explain::remarks(scenario, model, shape, &point);
    remarks.extend(arrangement.remarks);
    remarks.extend(tco_remark);
    let layout = arrangement.layout;
    Ok(Plan {
        options: options.clone(),
        platform: scenario.platform.id.clone(),
        platform_name: scenario.platform.name.clone(),
        model: model.id.clone(),
        catalog_date: scenario.platform.date.clone(),
        feasible: choice.feasible,
        infeasible_because: if choice.feasible {
            Vec::new()
        } else {
            reasons(scenario, carry, choice)
        },
        tier: shape.offer.tier.id.clone(),
        tier_name: shape.offer.tier.name.clone(),
        qos: shape.offer.qos.to_owned(),
        hosts: scenario.hosts,
        datastores: shape.datastores,
        datastore_size_gib: Gib(shape.size_gib),
        pool_size_gib: Gib(shape.pool_gib),
        monthly_cost: shape.monthly.clone(),
        price: price_basis(scenario, shape),
        binding_resource,
        binding_quantity,
        headroom_pct: headroom * 100.0,
        load_iops: Iops(need.load_iops),
        needed_iops: Iops(need.needed_iops()),
        load_mibps: MibPerSec(need.load_mibps),
        needed_mibps: MibPerSec(need.needed_mibps()),
        needed_capacity_gib: Gib(need.capacity_gib()),
        certainty: point.iops.probability.min(point.mibps.probability),
        by_hosts: by_hosts(scenario, carry, shape),
        vm_ceiling_iops: Some(vm_ceiling.0),
        vm_ceiling_mibps: Some(vm_ceiling.1),
        latency_ms: point.latency_ms,
        latency_limit_ms: scenario.latency_limit_ms.map(Milliseconds),
        what_if: what_if(scenario, carry, shape),
        tiers: tiers::table(scenario, carry, choice, shape),
        runner_up: tiers::runner_up(choice, shape),
        sensitivities: sensitivities(scenario, carry, shape, choice.feasible, demand, options),
        flow_budget,
        striping: stripe(inventory, demand, scenario, shape, vm_ceiling),
        capacity: layout.capacity,
        placements: layout.placements,
        unplaced: layout.unplaced,
        moved_gib: layout.moved_gib,
        derivation,
        tco,
        grade: demand.grade.weaker(model.grade),
        assumptions: explain::assumptions(
            scenario,
            demand,
            model,
            shape,
            hosts_from(inputs, scenario),
            options,
        ),
        remarks,
        ceilings,
        frontier,
    })
}

fn hosts_from(inputs: &Inputs<'_>, scenario: &Scenario<'_>) -> HostsFrom {
    if inputs.options.hosts.is_some() {
        HostsFrom::Option
    } else if inputs.inventory.hosts.len() == scenario.hosts as usize {
        HostsFrom::Inventory
    } else {
        HostsFrom::Platform
    }
}

/// One count on the chosen tier.
fn frontier_point(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> FrontierPoint {
    let alive = scenario.alive().max(1);
    let need = &scenario.need;
    let with_failure = scenario.configuration(alive, shape.datastores);
    let all_up = scenario.configuration(scenario.hosts, shape.datastores);
    let cap = shape.cap(scenario, alive);
    let iops_cap = cap.map(|(resource, mibps)| (resource, need.mibps_as_iops(mibps)));
    let mut ask = |quantity: Quantity, cap, needed: f64| {
        let curve = carry.curve(quantity, &with_failure, need.block_kib);
        let no_failure = carry.curve(quantity, &all_up, need.block_kib);
        carried(&curve, &no_failure, cap, needed, scenario.certainty)
    };
    let iops = ask(Quantity::Iops, iops_cap, need.needed_iops());
    let mibps = ask(Quantity::Throughput, cap, need.needed_mibps());
    let found = choose::violations(scenario, carry, shape);
    let flows = flows::flows_per_host(
        shape.datastores,
        scenario.addresses,
        scenario.nconnect,
        &scenario.connections,
    );
    FrontierPoint {
        datastores: shape.datastores,
        datastore_size_gib: Gib(shape.size_gib),
        pool_size_gib: Gib(shape.pool_gib),
        flows: scenario.hosts * flows,
        iops,
        mibps,
        latency_ms: choose::latency(scenario, carry, shape).ok().map(Milliseconds),
        monthly_cost: shape.monthly.clone(),
        feasible: found.is_empty(),
        violations: found.into_iter().map(|violation| violation.words).collect(),
    }
}

/// IOPS by host count on the chosen tier, every host up.
fn by_hosts(scenario: &Scenario<'_>, carry: &mut Carry<'_>, shape: &Shape<'_>) -> Vec<HostCurve> {
    let need = &scenario.need;
    CURVE_HOSTS
        .into_iter()
        .map(|hosts| HostCurve {
            hosts,
            points: (1..=CURVE_DATASTORES)
                .map(|datastores| {
                    let curve = carry.curve(
                        Quantity::Iops,
                        &scenario.configuration(hosts, datastores),
                        need.block_kib,
                    );
                    let cap = scenario
                        .shape(shape.offer, datastores)
                        .cap(scenario, hosts)
                        .map(|(resource, mibps)| (resource, need.mibps_as_iops(mibps)));
                    let needed = need.needed_iops();
                    HostPoint {
                        datastores,
                        iops: carried(&curve, &curve, cap, needed, scenario.certainty),
                    }
                })
                .collect(),
        })
        .collect()
}

/// Why nothing fits, and how much of the load some plan would carry.
fn reasons(scenario: &Scenario<'_>, carry: &mut Carry<'_>, choice: &Choice<'_>) -> Vec<String> {
    let shape = &choice.shape;
    let mut reasons: Vec<String> = choose::violations(scenario, carry, shape)
        .into_iter()
        .map(|violation| violation.words)
        .collect();
    if reasons.is_empty() {
        reasons.extend(choice.offers.iter().filter_map(|result| {
            result.refused.as_ref().map(|why| format!("{}: {why}", result.offer.tier.name))
        }));
    }
    reasons.push(format!(
        "The nearest plan is {} of {} on {}.",
        words::count(shape.datastores, "datastore"),
        words::size(shape.size_gib),
        shape.offer.tier.name
    ));
    reasons.extend(more_hosts(scenario, carry));
    reasons.extend(side_by_side(scenario, carry));
    if let Some(share) = carried_share(scenario, carry) {
        reasons.push(format!(
            "With {} and up to {} some plan carries {} of the load with the headroom asked.",
            words::count(scenario.hosts, "host"),
            words::count(scenario.max_datastores, "datastore"),
            words::certainty(share)
        ));
    }
    reasons
}

/// Whether the highest count carries the need, hard caps left out: more datastores never carry less,
/// so that without it no count needs to be looked at.
fn hardware_carries(scenario: &Scenario<'_>, carry: &mut Carry<'_>) -> bool {
    let need = &scenario.need;
    let configuration = scenario.configuration(scenario.alive(), scenario.max_datastores);
    let mut carries = |quantity, needed| {
        let curve = carry.curve(quantity, &configuration, need.block_kib);
        curve.level(scenario.certainty) >= needed
    };
    carries(Quantity::Iops, need.needed_iops())
        && carries(Quantity::Throughput, need.needed_mibps())
}

/// How many hosts would make it feasible, everything else the same.
fn more_hosts(scenario: &Scenario<'_>, carry: &mut Carry<'_>) -> Option<String> {
    let now = scenario.hosts;
    [now + 1, now + 2, now + 4, now * 2, now * 3, now * 4]
        .into_iter()
        .find(|hosts| {
            let mut other = scenario.clone();
            other.hosts = *hosts;
            hardware_carries(&other, carry)
                && choose(&other, carry).is_some_and(|choice| choice.feasible)
        })
        .map(|hosts| format!("With {hosts} hosts instead of {now} a plan would be feasible."))
}

/// How many pools, each with its own datastores and its share of the hosts, would carry it.
fn side_by_side(scenario: &Scenario<'_>, carry: &mut Carry<'_>) -> Option<String> {
    [2_u32, 3, 4, 6, 8].into_iter().find_map(|parts| {
        let share = 1.0 / f64::from(parts);
        let mut other = scenario.clone();
        other.hosts = scenario.hosts / parts;
        other.need.load_iops *= share;
        other.need.load_mibps *= share;
        other.need.used_gib *= share;
        if other.alive() == 0 || !hardware_carries(&other, carry) {
            return None;
        }
        let choice = choose(&other, carry).filter(|choice| choice.feasible)?;
        Some(format!(
            "Split over {parts} pools side by side, each with {} of its own and {} on {}, it would be \
             carried.",
            words::count(other.hosts, "host"),
            words::count(choice.shape.datastores, "datastore"),
            choice.shape.offer.tier.name
        ))
    })
}

/// Share of the load for which some plan is feasible; `None` when not even a hundredth is, or when
/// the load is not what stands in the way.
fn carried_share(scenario: &Scenario<'_>, carry: &mut Carry<'_>) -> Option<f64> {
    let mut feasible = |share: f64| {
        let mut other = scenario.clone();
        other.need.load_iops *= share;
        other.need.load_mibps *= share;
        choose(&other, carry).is_some_and(|choice| choice.feasible)
    };
    if !feasible(0.01) {
        return None;
    }
    let (mut yes, mut no) = (0.01, 1.0);
    for _ in 0..12 {
        let middle = f64::midpoint(yes, no);
        if feasible(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

/// Hosts with and without external datastores, where the platform rents hosts and CPU is known.
fn total_cost(
    inputs: &Inputs<'_>,
    scenario: &Scenario<'_>,
    shape: &Shape<'_>,
) -> (Option<Tco>, Option<String>) {
    let (Some(prices), Some(storage)) = (scenario.prices, &shape.monthly) else {
        return (None, None);
    };
    let input = TcoInput::of(inputs.inventory, inputs.demand);
    if scenario.platform.host_types.is_empty() || input.vcpus == 0 {
        return (None, None);
    }
    let options = TcoOptions {
        region: prices.region.clone(),
        host_type: inputs.options.host_type.clone(),
        spare_hosts: scenario.hosts_lost,
        ..TcoOptions::default()
    };
    match tco::compare(&input, &scenario.platform.host_types, storage, &options) {
        Ok(tco) => (Some(tco), None),
        Err(error) => (None, Some(format!("Total cost was not compared: {error}."))),
    }
}

fn price_basis(scenario: &Scenario<'_>, shape: &Shape<'_>) -> Option<PriceBasis> {
    let prices = scenario.prices?;
    let rates = shape.offer.rates?;
    Some(PriceBasis {
        region: prices.region.clone(),
        region_name: prices.name.clone(),
        hours_per_month: HOURS_PER_MONTH,
        usd_per_gib_hour: rates.usd_per_gib_hour,
        usd_per_mibps_hour: rates.usd_per_mibps_hour,
        provisioned_mibps: shape.provisioned_mibps.map(MibPerSec),
        included_mibps: match shape.offer.tier.throughput {
            TierThroughput::Bought { included_mibps, .. } => Some(MibPerSec(included_mibps)),
            _ => None,
        },
        discount_pct: scenario.discount_pct,
        date: prices.date.clone(),
        source: prices.source.clone(),
    })
}

#[cfg(test)]
mod tests;
