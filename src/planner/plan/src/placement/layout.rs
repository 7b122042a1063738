//! Every VM of a demand on the planned datastores.
//!
//! What adds up on a datastore is, of each VM, its space at the horizon with the snapshot reserve,
//! and what one VM more of its class adds to the 95th percentile of a datastore's share of the fleet:
//! percentiles of single VMs are never added. The percentile shown for each datastore is then
//! computed anew from the VMs that are on it.

use plimsoll_demand::Demand;
use plimsoll_inventory::{DatastoreId, Inventory, VmId};
use plimsoll_units::{Gib, Iops, Mib, MibPerSec};

use super::{BinLimits, DIMENSION_NAMES, Item, PlaceOptions, PlacementResult, Unplaced, place};
use crate::types::{Placement, PlannedDatastore};
use crate::words::{plain, size};

/// Shares of the slack asked for that are tried in turn when VMs do not fit beside all of it.
const SLACK_KEPT: [f64; 8] = [1.0, 0.975, 0.95, 0.9, 0.8, 0.6, 0.3, 0.0];

/// What is planned, and what one datastore may carry.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayoutLimits {
    /// Number of datastores.
    pub datastores: u32,
    /// Size of each.
    pub size: Gib,
    /// Share kept free, percent.
    pub slack_pct: f64,
    /// Share reserved for snapshots, percent.
    pub snapshot_reserve_pct: f64,
    /// IOPS that one datastore carries; `None` for no limit.
    pub iops: Option<Iops>,
    /// MiB/s that one datastore carries; `None` for no limit.
    pub mibps: Option<MibPerSec>,
    /// VMs on one datastore at most.
    pub max_vms: Option<u32>,
    /// Largest file that a datastore can hold.
    pub file_limit: Option<Mib>,
    /// Whether datastores of today can become planned ones, so that VMs on them need not move.
    pub reuse_datastores: bool,
}

/// Outcome of a layout.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The planned datastores.
    pub capacity: Vec<PlannedDatastore>,
    /// Every VM's place, in inventory order.
    pub placements: Vec<Placement>,
    /// VMs without a place, with the reason.
    pub unplaced: Vec<(VmId, String)>,
    /// Space to move.
    pub moved_gib: Gib,
    /// Fullest dimension of the fullest datastore, 1 = full (space: beside the slack).
    pub max_utilisation: f64,
    /// Percent of each datastore that stays free of what `slack_pct` asks, in the fullest one.
    pub slack_kept_pct: f64,
    /// Groups to keep apart that share a datastore because there are too few datastores.
    pub crowded: Vec<String>,
}

/// Places the VMs of a demand.
#[must_use]
pub fn lay_out(inventory: &Inventory, demand: &Demand, limits: &LayoutLimits) -> Layout {
    let (candidates, mut unplaced) = candidates(inventory, demand, limits);
    let items = items(inventory, demand, limits, &candidates);
    let options = PlaceOptions {
        apart: groups(demand, &candidates),
        homes: if limits.reuse_datastores { count(inventory.datastores.len()) } else { 0 },
    };
    let (result, slack_pct) = place_with_slack(&items, limits, &options);
    for &(item, why) in &result.unplaced {
        let demand_index = candidates[item as usize];
        unplaced.push((demand.vms[demand_index].vm, reason(why, &items[item as usize], limits)));
    }
    unplaced.sort_by_key(|(vm, _)| *vm);
    let stays = stays(inventory, &items, &result, limits);
    let mut placements = Vec::with_capacity(candidates.len());
    for (item, &demand_index) in candidates.iter().enumerate() {
        let Some(bin) = result.bins[item] else { continue };
        let vm = &demand.vms[demand_index];
        let from = home_of(inventory, vm.vm);
        let stay = from.is_some() && stays[bin as usize] == from;
        let moved = if stay { Mib(0) } else { vm.used };
        placements.push(Placement { vm: vm.vm, datastore: bin, from, moved });
    }
    Layout {
        capacity: planned(demand, limits, &candidates, &result),
        moved_gib: placements.iter().map(|placement| placement.moved).sum::<Mib>().gib(),
        placements,
        unplaced,
        max_utilisation: result.max_utilisation(),
        slack_kept_pct: slack_pct,
        crowded: result
            .crowded
            .iter()
            .filter_map(|&group| demand.separate.get(group as usize))
            .map(|group| group.why.clone())
            .collect(),
    }
}

/// Places beside the slack; gives slack up in steps when VMs are left over.
fn place_with_slack(
    items: &[Item],
    limits: &LayoutLimits,
    options: &PlaceOptions,
) -> (PlacementResult, f64) {
    // No limit is a number far out of reach, so that loads are still evened out.
    let far = |load: fn(&Item) -> f64| items.iter().map(load).sum::<f64>().max(1.0) * 1e3;
    let iops = limits.iops.map_or_else(|| far(|item| item.iops), |rate| rate.0);
    let mibps = limits.mibps.map_or_else(|| far(|item| item.mibps), |rate| rate.0);
    let mut best: Option<(PlacementResult, f64)> = None;
    for kept in SLACK_KEPT {
        let slack_pct = limits.slack_pct * kept;
        let bins = BinLimits {
            iops,
            mibps,
            gib: limits.size.0 * (1.0 - slack_pct / 100.0),
            vms: limits.max_vms.map_or(f64::INFINITY, f64::from),
        };
        let result = place(items, &bins, limits.datastores, options);
        let left = result.unplaced.len();
        let done = left == 0;
        if best.as_ref().is_none_or(|(best, _)| left < best.unplaced.len()) {
            best = Some((result, slack_pct));
        }
        if done {
            break;
        }
    }
    // The loop runs at least once.
    best.unwrap_or_else(|| (place(items, &NOTHING, 0, options), 0.0))
}

const NOTHING: BinLimits = BinLimits { iops: 0.0, mibps: 0.0, gib: 0.0, vms: 0.0 };

/// Indices into the demand's VMs that can be placed at all, and those that cannot.
fn candidates(
    inventory: &Inventory,
    demand: &Demand,
    limits: &LayoutLimits,
) -> (Vec<usize>, Vec<(VmId, String)>) {
    let mut candidates = Vec::with_capacity(demand.vms.len());
    let mut unplaced = Vec::new();
    for (index, vm) in demand.vms.iter().enumerate() {
        let disk = inventory.vms.get(vm.vm.0 as usize).and_then(|vm| vm.largest_disk);
        match (disk, limits.file_limit) {
            (Some(disk), Some(limit)) if disk > limit => unplaced.push((
                vm.vm,
                format!(
                    "a virtual disk of {} is above the largest file of a datastore, {}",
                    size(disk.gib().0),
                    size(limit.gib().0)
                ),
            )),
            _ => candidates.push(index),
        }
    }
    (candidates, unplaced)
}

fn items(
    inventory: &Inventory,
    demand: &Demand,
    limits: &LayoutLimits,
    candidates: &[usize],
) -> Vec<Item> {
    let growth = ratio(demand.used_horizon.0, demand.used_today.0);
    let reserve = 1.0 - limits.snapshot_reserve_pct / 100.0;
    let added = added_by_class(demand, limits.datastores);
    candidates
        .iter()
        .map(|&index| {
            let vm = &demand.vms[index];
            let loads = vm.iops_mean.0 > 0.0 || vm.mibps_mean.0 > 0.0;
            let (iops, mibps) =
                added.get(vm.class.0 as usize).copied().filter(|_| loads).unwrap_or_default();
            Item {
                iops,
                mibps,
                gib: vm.used.gib().0 * growth / reserve,
                home: home_of(inventory, vm.vm).map(|home| home.0),
            }
        })
        .collect()
}

/// What a VM of each class adds to the 95th percentile at the horizon of a datastore that holds its
/// share of the fleet: IOPS and MiB/s, scaled so that the share adds up to its percentile. A class
/// of few heavy VMs adds more than its mean.
fn added_by_class(demand: &Demand, datastores: u32) -> Vec<(f64, f64)> {
    let mut share: Vec<u64> = demand
        .classes
        .iter()
        .map(|class| class.vms.div_ceil(u64::from(datastores.max(1))))
        .collect();
    let whole = demand.p95_of(&share);
    let mut added = Vec::with_capacity(share.len());
    for class in 0..share.len() {
        share[class] += 1;
        let more = demand.p95_of(&share);
        share[class] -= 1;
        added.push((more.0.0 - whole.0.0, more.1.0 - whole.1.0));
    }
    #[expect(clippy::cast_precision_loss, reason = "numbers of VMs stay far below 2^53")]
    let sum = |part: fn(&(f64, f64)) -> f64| -> f64 {
        added.iter().zip(&share).map(|(added, &vms)| part(added) * vms as f64).sum()
    };
    let growth = load_growth(demand);
    let iops = ratio(whole.0.0, sum(|added| added.0)) * growth;
    let mibps = ratio(whole.1.0, sum(|added| added.1)) * growth;
    added.into_iter().map(|added| (added.0 * iops, added.1 * mibps)).collect()
}

fn load_growth(demand: &Demand) -> f64 {
    ratio(demand.horizon.iops_p95.0, demand.today.iops_p95.0)
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

/// The demand's groups in terms of candidates.
fn groups(demand: &Demand, candidates: &[usize]) -> Vec<Vec<u32>> {
    let mut item_of = vec![None; demand.vms.last().map_or(0, |vm| vm.vm.0 as usize + 1)];
    for (item, &index) in (0_u32..).zip(candidates) {
        if let Some(slot) = item_of.get_mut(demand.vms[index].vm.0 as usize) {
            *slot = Some(item);
        }
    }
    let item = |vm: &VmId| item_of.get(vm.0 as usize).copied().flatten();
    demand.separate.iter().map(|group| group.vms.iter().filter_map(item).collect()).collect()
}

/// Datastore of a VM's configuration file.
fn home_of(inventory: &Inventory, vm: VmId) -> Option<DatastoreId> {
    inventory.vms.get(vm.0 as usize)?.datastores.first().copied()
}

/// For each planned datastore, the one of today that it can be, so that most stays where it is.
fn stays(
    inventory: &Inventory,
    items: &[Item],
    result: &PlacementResult,
    limits: &LayoutLimits,
) -> Vec<Option<DatastoreId>> {
    let mut stays = vec![None; result.utilisation.len()];
    if !limits.reuse_datastores {
        return stays;
    }
    let mut there = std::collections::BTreeMap::new();
    for (item, bin) in items.iter().zip(&result.bins) {
        if let (Some(home), Some(bin)) = (item.home, bin)
            && inventory
                .datastores
                .get(home as usize)
                .is_some_and(|datastore| datastore.accessible && !datastore.local)
        {
            *there.entry((*bin, home)).or_insert(0.0) += item.gib;
        }
    }
    let mut pairs: Vec<((u32, u32), f64)> = there.into_iter().collect();
    pairs.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.0.cmp(&right.0)));
    let mut taken = vec![false; inventory.datastores.len()];
    for ((bin, home), _) in pairs {
        let (stay, taken) = (&mut stays[bin as usize], &mut taken[home as usize]);
        if stay.is_none() && !*taken {
            *stay = Some(DatastoreId(home));
            *taken = true;
        }
    }
    stays
}

fn planned(
    demand: &Demand,
    limits: &LayoutLimits,
    candidates: &[usize],
    result: &PlacementResult,
) -> Vec<PlannedDatastore> {
    let bins = result.utilisation.len();
    let mut used = vec![Mib(0); bins];
    let mut vms = vec![0_u32; bins];
    let mut loads = vec![vec![0_u64; demand.classes.len()]; bins];
    for (&index, bin) in candidates.iter().zip(&result.bins) {
        let (vm, Some(bin)) = (&demand.vms[index], bin) else { continue };
        let bin = *bin as usize;
        used[bin] = used[bin].plus(vm.used);
        vms[bin] += 1;
        if vm.iops_mean.0 > 0.0 || vm.mibps_mean.0 > 0.0 {
            loads[bin][vm.class.0 as usize] += 1;
        }
    }
    let capacity_growth = ratio(demand.used_horizon.0, demand.used_today.0);
    let load_growth = load_growth(demand);
    let digits = bins.to_string().len().max(2);
    (0..bins)
        .map(|bin| {
            let used_gib = used[bin].gib();
            let horizon = used_gib.0 * capacity_growth;
            let (iops, mibps) = demand.p95_of(&loads[bin]);
            PlannedDatastore {
                name: format!("plan-{:0digits$}", bin + 1),
                size_gib: limits.size,
                used_gib,
                growth_gib: Gib(horizon - used_gib.0),
                snapshot_gib: Gib(horizon / (1.0 - limits.snapshot_reserve_pct / 100.0) - horizon),
                vms: vms[bin],
                iops: Iops(iops.0 * load_growth),
                mibps: MibPerSec(mibps.0 * load_growth),
            }
        })
        .collect()
}

fn reason(why: Unplaced, item: &Item, limits: &LayoutLimits) -> String {
    match why {
        Unplaced::TooLarge { dimension, .. } => {
            let (value, limit) = match dimension {
                0 => (item.iops, limits.iops.map_or(0.0, |rate| rate.0)),
                1 => (item.mibps, limits.mibps.map_or(0.0, |rate| rate.0)),
                2 => (item.gib, limits.size.0),
                _ => (1.0, limits.max_vms.map_or(0.0, f64::from)),
            };
            format!(
                "at the horizon it needs {} {unit}, one datastore offers {} {unit}",
                plain(value.ceil()),
                plain(limit.floor()),
                unit = DIMENSION_NAMES.get(dimension).copied().unwrap_or_default()
            )
        }
        Unplaced::NoRoom => {
            "no datastore has room left beside the others; one datastore more, or larger ones, would do"
                .to_owned()
        }
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
