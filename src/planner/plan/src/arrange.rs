//! From the choice to machines on datastores: placement, the check of unequal loads, striping.
//!
//! The choice counts on an even load. After placement the fullest datastore carries more than the
//! mean; when that no longer holds, throughput by hand instead of by size is tried, then one
//! datastore more, up to three.

use plimsoll_demand::Demand;
use plimsoll_inventory::Inventory;
use plimsoll_model::{Configuration, Quantity};
use plimsoll_units::{Gib, Iops, Mib, MibPerSec};

use crate::carry::Carry;
use crate::choose::{self, Choice};
use crate::flows;
use crate::placement::layout::{Layout, LayoutLimits, lay_out};
use crate::scenario::Scenario;
use crate::shape::{Offer, Shape, value};
use crate::striping::{self, StripingLimits};
use crate::types::StripingAdvice;
use crate::words::{count, plain, size};

/// Datastores beyond the chosen count that are tried when unequal loads do not hold.
const MORE_DATASTORES: u32 = 3;

/// A datastore's limit in the placement is never set tighter than this over its even share, so
/// that it balances and does not refuse.
const ROOM_OVER_EVEN_SHARE: f64 = 1.5;

/// Machines on datastores.
pub(crate) struct Arrangement<'a> {
    pub shape: Shape<'a>,
    pub layout: Layout,
    pub remarks: Vec<String>,
}

/// Place the machines on the chosen shape, or on the next one that carries them unevenly spread.
pub(crate) fn arrange<'a>(
    inventory: &Inventory,
    demand: &Demand,
    scenario: &'a Scenario<'_>,
    carry: &mut Carry<'_>,
    choice: &Choice<'a>,
) -> Arrangement<'a> {
    if let Some(remark) = too_small(scenario, &choice.shape) {
        let layout = unplaced_layout();
        return Arrangement { shape: choice.shape.clone(), layout, remarks: vec![remark] };
    }
    let first = lay(inventory, demand, scenario, carry, &choice.shape);
    let uneven = unevenness(&first);
    let mut remarks = Vec::new();
    if !choice.feasible || holds_unevenly(scenario, carry, &choice.shape, uneven) {
        remarks.extend(layout_remarks(&first, &choice.shape, scenario, uneven));
        return Arrangement { shape: choice.shape.clone(), layout: first, remarks };
    }
    for candidate in candidates(scenario, &choice.shape) {
        let layout = if candidate.datastores == choice.shape.datastores {
            first.clone()
        } else {
            lay(inventory, demand, scenario, carry, &candidate)
        };
        let own = unevenness(&layout);
        if choose::violations(scenario, carry, &candidate).is_empty()
            && holds_unevenly(scenario, carry, &candidate, own)
        {
            remarks.push(format!(
                "Evenly loaded, {} would do; placed, the fullest carries {}% more than the mean, so the \
                 plan is {}{}.",
                count(choice.shape.datastores, "datastore"),
                plain(((uneven - 1.0) * 100.0).round()),
                count(candidate.datastores, "datastore"),
                if candidate.offer.qos == choice.shape.offer.qos {
                    ""
                } else {
                    " with throughput set by hand"
                }
            ));
            remarks.extend(layout_remarks(&layout, &candidate, scenario, own));
            return Arrangement { shape: candidate, layout, remarks };
        }
    }
    remarks.push(format!(
        "Placed, the fullest datastore carries {}% more than the mean: it falls short of the certainty \
         asked at the needed load. Spread its largest machines first.",
        plain(((uneven - 1.0) * 100.0).round())
    ));
    remarks.extend(layout_remarks(&first, &choice.shape, scenario, uneven));
    Arrangement { shape: choice.shape.clone(), layout: first, remarks }
}

/// Why no placement is tried: the datastores do not even hold the used space.
fn too_small(scenario: &Scenario<'_>, shape: &Shape<'_>) -> Option<String> {
    let held = shape.size_gib * f64::from(shape.datastores);
    let used = scenario.need.used_gib / (1.0 - scenario.need.snapshots);
    (held < used).then(|| {
        format!(
            "The machines were not placed: {} hold {}, their space with snapshots is {}.",
            count(shape.datastores, "datastore"),
            size(held),
            size(used)
        )
    })
}

fn unplaced_layout() -> Layout {
    Layout {
        capacity: Vec::new(),
        placements: Vec::new(),
        unplaced: Vec::new(),
        moved_gib: Gib(0.0),
        max_utilisation: 0.0,
        slack_kept_pct: 0.0,
        crowded: Vec::new(),
    }
}

/// The same count with throughput by hand, then more datastores.
fn candidates<'a>(scenario: &'a Scenario<'_>, shape: &Shape<'a>) -> Vec<Shape<'a>> {
    let offers: Vec<Offer<'a>> = scenario
        .offers()
        .into_iter()
        .filter(|offer| offer.tier.id == shape.offer.tier.id)
        .collect();
    let most = (shape.datastores + MORE_DATASTORES).min(scenario.max_datastores);
    (shape.datastores..=most)
        .flat_map(|datastores| offers.iter().map(move |offer| scenario.shape(*offer, datastores)))
        .filter(|other| other.datastores != shape.datastores || other.offer.qos != shape.offer.qos)
        .collect()
}

fn holds_unevenly(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
    uneven: f64,
) -> bool {
    let mut other = scenario.clone();
    other.imbalance = uneven;
    let reached = choose::performance(&other, carry, shape);
    reached.iops >= scenario.need.needed_iops() && reached.mibps >= scenario.need.needed_mibps()
}

/// Load of the fullest datastore over the mean, the larger of IOPS and MiB/s; 1 without load.
fn unevenness(layout: &Layout) -> f64 {
    let ratio = |loads: Vec<f64>| {
        let sum: f64 = loads.iter().sum();
        let most = loads.iter().copied().fold(0.0, f64::max);
        if sum > 0.0 { most * loads.len() as f64 / sum } else { 1.0 }
    };
    let iops = ratio(layout.capacity.iter().map(|one| one.iops.0).collect());
    let mibps = ratio(layout.capacity.iter().map(|one| one.mibps.0).collect());
    iops.max(mibps).max(1.0)
}

fn layout_remarks(
    layout: &Layout,
    shape: &Shape<'_>,
    scenario: &Scenario<'_>,
    uneven: f64,
) -> Vec<String> {
    let mut remarks = Vec::new();
    if shape.datastores > 1 && uneven > 1.005 {
        remarks.push(format!(
            "Placement by load: the fullest datastore carries {}% more than the mean.",
            plain(((uneven - 1.0) * 1_000.0).round() / 10.0)
        ));
    }
    let asked = scenario.need.slack * 100.0;
    if layout.slack_kept_pct < asked - 1e-9 {
        remarks.push(format!(
            "Whole machines do not fit beside {}% slack on every datastore; the fullest keeps {}%.",
            plain(asked),
            plain(layout.slack_kept_pct)
        ));
    }
    for group in &layout.crowded {
        remarks.push(format!("{group}: there are too few datastores to keep them all apart."));
    }
    remarks
}

fn lay(
    inventory: &Inventory,
    demand: &Demand,
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> Layout {
    let need = &scenario.need;
    let each = f64::from(shape.datastores);
    let alive = scenario.alive().max(1);
    let path = Configuration {
        hosts: f64::from(alive),
        datastores: 1.0,
        flows: f64::from(alive)
            * f64::from(flows::flows_per_host(1, None, scenario.nconnect, &scenario.connections)),
        vms: None,
        outstanding: None,
    };
    let mut limit = |quantity: Quantity, load: f64| {
        let level = carry.curve(quantity, &path, need.block_kib).level(0.5);
        level.max(load / each * ROOM_OVER_EVEN_SHARE)
    };
    let iops = limit(Quantity::Iops, need.load_iops);
    let mibps = limit(Quantity::Throughput, need.load_mibps);
    let volume_cap = shape.volume_cap_mibps(scenario).unwrap_or(f64::INFINITY);
    let mibps = mibps.min(volume_cap.max(need.load_mibps / each * ROOM_OVER_EVEN_SHARE));
    lay_out(
        inventory,
        demand,
        &LayoutLimits {
            datastores: shape.datastores,
            size: Gib(shape.size_gib),
            slack_pct: need.slack * 100.0,
            snapshot_reserve_pct: need.snapshots * 100.0,
            iops: Some(Iops(iops)),
            mibps: Some(MibPerSec(mibps)),
            max_vms: scenario.max_vms_per_datastore,
            file_limit: file_limit(scenario),
            // A rented platform starts with new datastores; on an own array they may stay.
            reuse_datastores: scenario.platform.prices.is_none(),
        },
    )
}

/// Largest file of the platform.
pub(crate) fn file_limit(scenario: &Scenario<'_>) -> Option<Mib> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few TiB")]
    value(&scenario.platform.limits.file_max_tib).map(|tib| Mib((tib * 1_048_576.0) as u64))
}

/// VMs that one datastore cannot carry or hold.
pub(crate) fn stripe(
    inventory: &Inventory,
    demand: &Demand,
    scenario: &Scenario<'_>,
    shape: &Shape<'_>,
    vm_ceiling: (Iops, MibPerSec),
) -> Vec<StripingAdvice> {
    let need = &scenario.need;
    striping::advise(
        inventory,
        demand,
        &StripingLimits {
            iops: Some(vm_ceiling.0),
            mibps: Some(vm_ceiling.1),
            space: Some(Gib(shape.size_gib * (1.0 - need.slack) * (1.0 - need.snapshots))),
            file: file_limit(scenario),
        },
    )
}

/// What one VM on one datastore gets at the 95 % level.
pub(crate) fn one_vm(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> (Iops, MibPerSec) {
    let flows = flows::flows_per_host(1, None, scenario.nconnect, &scenario.connections);
    let configuration = Configuration {
        hosts: 1.0,
        datastores: 1.0,
        flows: f64::from(flows),
        vms: Some(1.0),
        outstanding: None,
    };
    let block = scenario.need.block_kib;
    let cap = [shape.volume_cap_mibps(scenario), scenario.wire_cap(1).map(|(_, cap)| cap)]
        .into_iter()
        .flatten()
        .fold(f64::INFINITY, f64::min);
    let iops = carry.curve(Quantity::Iops, &configuration, block).level(0.95);
    let mibps = carry.curve(Quantity::Throughput, &configuration, block).level(0.95);
    (Iops(iops.min(scenario.need.mibps_as_iops(cap))), MibPerSec(mibps.min(cap)))
}
