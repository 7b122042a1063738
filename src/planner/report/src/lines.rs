//! One line per VM with everything the report says of it, for the formats that list all.

use std::collections::BTreeMap;

use plimsoll_inventory::{DatastoreId, Inventory, VmId};
use plimsoll_plan::Placement;
use plimsoll_units::Mib;

use crate::input::ReportInput;

/// A VM whose capacity counts, with its load today and its place in the plan.
#[derive(Debug, Clone, Copy)]
pub struct VmLine<'a> {
    /// The VM.
    pub vm: VmId,
    /// Name as found.
    pub name: &'a str,
    /// Identity.
    pub key: &'a str,
    /// Class id.
    pub class: &'a str,
    /// 95th percentile of its own IOPS today.
    pub iops: f64,
    /// 95th percentile of its own MiB/s today.
    pub mibps: f64,
    /// Space it takes today.
    pub used: Mib,
    /// Planned datastore; `None` when it could not be placed.
    pub datastore: Option<&'a str>,
    /// Datastore it is on today.
    pub from: Option<&'a str>,
    /// Space to move.
    pub moved: Option<Mib>,
}

/// Name of a VM.
#[must_use]
pub fn vm_name(inventory: &Inventory, vm: VmId) -> &str {
    inventory.vms.get(vm.0 as usize).map_or("?", |vm| &*vm.name)
}

/// Name of a datastore.
#[must_use]
pub fn datastore_name(inventory: &Inventory, datastore: DatastoreId) -> &str {
    inventory.datastores.get(datastore.0 as usize).map_or("?", |datastore| &*datastore.name)
}

/// Placements by VM.
#[must_use]
pub fn placements<'a>(input: &ReportInput<'a>) -> BTreeMap<VmId, &'a Placement> {
    input.plan.placements.iter().map(|placement| (placement.vm, placement)).collect()
}

/// All lines in inventory order.
pub fn vm_lines<'a>(input: &ReportInput<'a>) -> impl Iterator<Item = VmLine<'a>> {
    let ReportInput { inventory, demand, plan, .. } = *input;
    let placements = placements(input);
    demand.vms.iter().filter_map(move |load| {
        let vm = inventory.vms.get(load.vm.0 as usize)?;
        let placement = placements.get(&load.vm);
        let from = placement
            .and_then(|placement| placement.from)
            .or_else(|| vm.datastores.first().copied());
        Some(VmLine {
            vm: load.vm,
            name: &vm.name,
            key: &vm.key,
            class: demand.classes.get(usize::from(load.class.0)).map_or("", |class| &class.id),
            iops: load.iops_p95.0,
            mibps: load.mibps_p95.0,
            used: load.used,
            datastore: placement
                .and_then(|placement| plan.capacity.get(placement.datastore as usize))
                .map(|datastore| datastore.name.as_str()),
            from: from.map(|from| datastore_name(inventory, from)),
            moved: placement.map(|placement| placement.moved),
        })
    })
}
