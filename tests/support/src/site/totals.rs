//! What a right reader must find, summed over the site itself.

use serde::Serialize;

use super::{Site, View, VmKind};

/// Sums over all rows, before exclusions; names as in the JSON report's `inventory.totals`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "named after the report's fields; sizes in MiB")]
pub struct Totals {
    pub vms_in_file: u64,
    pub vms_counted: u64,
    pub templates: u64,
    pub powered_off: u64,
    pub disks: u64,
    pub datastores: u64,
    pub hosts: u64,
    pub provisioned_mib: u64,
    pub in_use_mib: u64,
    pub disk_capacity_mib: u64,
    pub partition_consumed_mib: u64,
    pub datastore_capacity_mib: u64,
    pub datastore_in_use_mib: u64,
}

impl Site {
    /// Totals of the whole site: each datastore once, however many vCenters see it.
    #[must_use]
    pub fn totals(&self) -> Totals {
        self.whole().totals()
    }
}

impl View<'_> {
    /// Totals of what is in view.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { hosts: self.hosts().count() as u64, ..Totals::default() };
        for vm in self.vms() {
            totals.vms_in_file += 1;
            totals.templates += u64::from(vm.kind == VmKind::Template);
            totals.powered_off += u64::from(vm.kind != VmKind::Template && !vm.on);
            totals.vms_counted += u64::from(vm.kind == VmKind::Ordinary && vm.on && vm.connected);
            totals.provisioned_mib += vm.provisioned;
            totals.in_use_mib += vm.in_use;
            totals.disks += vm.disks.len() as u64;
            totals.disk_capacity_mib += vm.disks.iter().map(|disk| disk.capacity).sum::<u64>();
            totals.partition_consumed_mib +=
                vm.partitions.iter().map(|partition| partition.consumed).sum::<u64>();
        }
        for store in &self.site.datastores {
            if store.vcenters.iter().any(|vcenter| self.sees(*vcenter)) {
                totals.datastores += 1;
                totals.datastore_capacity_mib += store.capacity;
                totals.datastore_in_use_mib += store.in_use;
            }
        }
        totals
    }
}
