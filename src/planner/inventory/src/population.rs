//! Totals over all rows, the population that counts, and sums per group.

use plimsoll_ingest::rows::{PowerState, VmRow};
use plimsoll_units::Mib;
use polars::prelude::*;

use crate::frames::{self, Frames};
use crate::names::is_vcls;
use crate::types::{
    Exclusion, GroupKind, GroupTotals, Inventory, Population, PopulationStep, Totals,
};

/// Reasons in the order in which they are shown.
const ORDER: [Exclusion; 5] = [
    Exclusion::Template,
    Exclusion::SrmPlaceholder,
    Exclusion::Vcls,
    Exclusion::PoweredOff,
    Exclusion::Orphaned,
];

/// Why a VM does not count: exactly one reason. Being a placeholder comes before being a template,
/// because it also takes the capacity out; the others follow the order in which they are shown.
pub(crate) fn reason_of(row: &VmRow) -> Option<Exclusion> {
    let off_line = |state: &str| !state.trim().eq_ignore_ascii_case("connected");
    if row.srm_placeholder == Some(true) {
        Some(Exclusion::SrmPlaceholder)
    } else if row.template == Some(true) {
        Some(Exclusion::Template)
    } else if row.vm.name.as_deref().is_some_and(is_vcls) {
        Some(Exclusion::Vcls)
    } else if row.powerstate == Some(PowerState::PoweredOff) {
        Some(Exclusion::PoweredOff)
    } else if row.connection_state.as_deref().is_some_and(off_line) {
        Some(Exclusion::Orphaned)
    } else {
        None
    }
}

/// Number of a reason in the VM frame; 0 for a VM that counts.
pub(crate) fn code(reason: Option<Exclusion>) -> u32 {
    reason.map_or(0, |reason| 1 + reason as u32)
}

/// Fills totals, population and groups.
pub(crate) fn summarise(
    inventory: &mut Inventory,
    frames: &Frames,
    disk_rows: u64,
) -> PolarsResult<()> {
    let used: Vec<u64> = inventory.vms.iter().map(|vm| vm.used.0).collect();
    let clusters: Vec<u32> = cluster_codes(inventory);
    let mut vms = frames.vms.clone();
    vms.with_column(Column::new("used".into(), used))?;
    vms.with_column(Column::new("cluster".into(), clusters))?;
    vms.with_column(Column::new("one".into(), vec![1_u64; inventory.vms.len()]))?;
    inventory.population = population(&vms, inventory.vms.len())?;
    inventory.totals = totals(inventory, frames, disk_rows)?;
    inventory.groups = groups(inventory, frames, &vms)?;
    Ok(())
}

fn population(vms: &DataFrame, in_file: usize) -> PolarsResult<Population> {
    let count = frames::by_code(&frames::sums(vms, "reason", "one")?, "reason", "one_sum", 6)?;
    let used = frames::by_code(&frames::sums(vms, "reason", "used")?, "reason", "used_sum", 6)?;
    let steps = ORDER.iter().map(|&reason| {
        let code = code(Some(reason)) as usize;
        PopulationStep {
            reason,
            vms: count[code].unwrap_or(0),
            used: Mib(used[code].unwrap_or(0)),
            capacity_counts: reason != Exclusion::SrmPlaceholder,
        }
    });
    Ok(Population {
        in_file: in_file as u64,
        steps: steps.collect(),
        counted: count[0].unwrap_or(0),
    })
}

fn totals(inventory: &Inventory, frames: &Frames, disks: u64) -> PolarsResult<Totals> {
    let population = &inventory.population;
    let step = |reason| {
        population.steps.iter().find(|step| step.reason == reason).map_or(0, |step| step.vms)
    };
    let powered_off = inventory.vms.iter().filter(|vm| {
        vm.power == Some(PowerState::PoweredOff) && vm.exclusion != Some(Exclusion::Template)
    });
    Ok(Totals {
        vms_in_file: population.in_file,
        vms_counted: population.counted,
        templates: step(Exclusion::Template),
        powered_off: powered_off.count() as u64,
        disks,
        datastores: frames.datastores.height() as u64,
        hosts: inventory.hosts.len() as u64,
        provisioned_mib: frames::total(&frames.vms, "provisioned")?,
        in_use_mib: frames::total(&frames.vms, "in_use")?,
        disk_capacity_mib: frames::total(&frames.disks, "capacity")?,
        partition_consumed_mib: frames::total(&frames.partitions, "consumed")?,
        datastore_capacity_mib: frames::total(&frames.datastores, "capacity")?,
        datastore_in_use_mib: frames::total(&frames.datastores, "in_use")?,
    })
}

/// For each VM its cluster, by place in the list of names; `u32::MAX` for none.
fn cluster_codes(inventory: &Inventory) -> Vec<u32> {
    let names = cluster_names(inventory);
    let code = |vm: &crate::types::Vm| {
        let name = vm.cluster.as_deref().unwrap_or("");
        names.binary_search(&name).map_or(u32::MAX, crate::identity::number)
    };
    inventory.vms.iter().map(code).collect()
}

/// Names of clusters that VMs are in, sorted; an empty one when some are in none.
fn cluster_names(inventory: &Inventory) -> Vec<&str> {
    let mut names: Vec<&str> =
        inventory.vms.iter().map(|vm| vm.cluster.as_deref().unwrap_or("")).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn groups(
    inventory: &Inventory,
    frames: &Frames,
    vms: &DataFrame,
) -> PolarsResult<Vec<GroupTotals>> {
    let placeholder = code(Some(Exclusion::SrmPlaceholder));
    let real = vms.filter(&vms.column("reason")?.u32()?.not_equal(placeholder))?;
    let counted = real.filter(&real.column("reason")?.u32()?.equal(0))?;
    let mut groups = Vec::new();
    let clusters = cluster_names(inventory);
    let names = clusters.iter().map(|name| (*name).into()).collect::<Vec<_>>();
    groups.extend(by_column(GroupKind::Cluster, "cluster", names, &real, &counted)?);
    let names = inventory.hosts.iter().map(|host| host.name.clone()).collect();
    groups.extend(by_column(GroupKind::Host, "host", names, &real, &counted)?);
    groups.extend(by_datastore(inventory, frames, &real)?);
    Ok(groups)
}

fn by_column(
    kind: GroupKind,
    key: &str,
    names: Vec<plimsoll_ingest::rows::Text>,
    real: &DataFrame,
    counted: &DataFrame,
) -> PolarsResult<Vec<GroupTotals>> {
    let sum = |frame: &DataFrame, value: &str| {
        let sums = frames::sums(frame, key, value)?;
        frames::by_code(&sums, key, &format!("{value}_sum"), names.len())
    };
    let (vms, used, disk) = (sum(real, "one")?, sum(real, "used")?, sum(real, "capacity_sum")?);
    let counted = sum(counted, "one")?;
    let of = |(index, name): (usize, _)| GroupTotals {
        kind,
        name,
        vms: vms[index].unwrap_or(0),
        counted: counted[index].unwrap_or(0),
        used: Mib(used[index].unwrap_or(0)),
        disk_capacity: Mib(disk[index].unwrap_or(0)),
    };
    Ok(names.into_iter().enumerate().map(of).collect())
}

fn by_datastore(
    inventory: &Inventory,
    frames: &Frames,
    real: &DataFrame,
) -> PolarsResult<Vec<GroupTotals>> {
    let len = inventory.datastores.len();
    let stored = frames::within(&frames.disks, real, "vm")?;
    let capacity = frames::sums(&stored, "datastore", "stored")?;
    let capacity = frames::by_code(&capacity, "datastore", "stored_sum", len)?;
    let used = used_by_datastore(inventory);
    let of = |(index, datastore): (usize, &crate::types::Datastore)| {
        let real = |id: &&crate::types::VmId| {
            inventory.vms[id.0 as usize].exclusion != Some(Exclusion::SrmPlaceholder)
        };
        let counts = |id: &&crate::types::VmId| inventory.vms[id.0 as usize].exclusion.is_none();
        GroupTotals {
            kind: GroupKind::Datastore,
            name: datastore.name.clone(),
            vms: datastore.vms.iter().filter(real).count() as u64,
            counted: datastore.vms.iter().filter(counts).count() as u64,
            used: Mib(used[index]),
            disk_capacity: Mib(capacity[index].unwrap_or(0)),
        }
    };
    Ok(inventory.datastores.iter().enumerate().map(of).collect())
}

/// Used space of each VM divided between its datastores by the size of its disks there; a VM
/// without known disks is on the datastore of its configuration file. The remainder of a division
/// stays on the first datastore, so that the sum is exact.
pub(crate) fn used_by_datastore(inventory: &Inventory) -> Vec<u64> {
    let mut used = vec![0_u64; inventory.datastores.len()];
    for vm in &inventory.vms {
        let Some(first) = vm.datastores.first().map(|id| id.0 as usize) else { continue };
        if vm.exclusion == Some(Exclusion::SrmPlaceholder) {
            continue;
        }
        let disks = &inventory.disks[vm.disks.0 as usize..vm.disks.1 as usize];
        let stored = disks.iter().filter(|disk| disk.datastore.is_some() && !disk.duplicate);
        let all: u64 = stored.clone().map(|disk| disk.capacity.0).sum();
        let mut rest = vm.used.0;
        for disk in stored {
            let Some(id) = disk.datastore.filter(|id| id.0 as usize != first) else { continue };
            let share =
                u128::from(vm.used.0) * u128::from(disk.capacity.0) / u128::from(all.max(1));
            let share = u64::try_from(share).unwrap_or(rest).min(rest);
            used[id.0 as usize] += share;
            rest -= share;
        }
        used[first] += rest;
    }
    used
}
