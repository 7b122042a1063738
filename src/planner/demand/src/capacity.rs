//! Space: what VMs take on datastores today and at the horizon.
//!
//! Templates, powered-off and orphaned VMs take space like any other. SRM placeholders have no
//! storage of their own, raw device mappings are not on the datastore, and a disk shared between
//! VMs counts once.

use plimsoll_inventory::{Disk, Exclusion, Inventory, UsedSource, Vm};
use plimsoll_units::{Gib, Mib};

use crate::types::DemandOptions;

/// Whether the VM's space counts.
pub(crate) fn counts(inventory: &Inventory, vm: &Vm) -> bool {
    let Some(reason) = vm.exclusion else { return true };
    let step = inventory.population.steps.iter().find(|step| step.reason == reason);
    step.map_or(reason != Exclusion::SrmPlaceholder, |step| step.capacity_counts)
}

/// Space of a VM on datastores, without what is not there or is counted with another VM.
pub(crate) fn used(inventory: &Inventory, vm: &Vm) -> Mib {
    let disks = disks_of(inventory, vm);
    let elsewhere: Mib = match vm.used_source {
        // The space that vCenter reports leaves mapped LUNs out already.
        UsedSource::InUse | UsedSource::Provisioned => {
            disks.iter().filter(|disk| disk.duplicate && !disk.raw).map(|disk| disk.capacity).sum()
        }
        UsedSource::DiskCapacity | UsedSource::PartitionConsumed => {
            disks.iter().filter(|disk| disk.duplicate || disk.raw).map(|disk| disk.capacity).sum()
        }
        UsedSource::Unknown => Mib(0),
    };
    Mib(vm.used.0.saturating_sub(elsewhere.0))
}

pub(crate) fn disks_of<'a>(inventory: &'a Inventory, vm: &Vm) -> &'a [Disk] {
    inventory.disks.get(vm.disks.0 as usize..vm.disks.1 as usize).unwrap_or_default()
}

/// Space a VM may take: provisioned, else the sizes of its disks, else what it uses.
pub(crate) fn provisioned(vm: &Vm, used: Mib) -> Mib {
    vm.provisioned.or(vm.disk_capacity).unwrap_or(used)
}

/// Factor of growth over the horizon.
pub(crate) fn growth(pct_per_year: f64, horizon_months: u32) -> f64 {
    (1.0 + pct_per_year / 100.0).powf(f64::from(horizon_months) / 12.0)
}

/// Used space at the horizon.
pub(crate) fn at_horizon(used: Gib, options: &DemandOptions) -> Gib {
    Gib(used.0 * growth(options.capacity_growth_pct_per_year, options.horizon_months))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_compounds_by_the_year() {
        assert!((growth(18.0, 12) - 1.18).abs() < 1e-12);
        assert!((growth(18.0, 24) - 1.3924).abs() < 1e-12);
        assert!((growth(10.0, 6) - 1.048_808_848).abs() < 1e-9);
        assert_eq!(growth(50.0, 0), 1.0);
    }
}
