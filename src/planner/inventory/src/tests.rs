//! Identity, merge, totals and population on hand-built exports with hand-computed results.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use plimsoll_ingest::rows::{PowerState, RowRef};
use plimsoll_units::Mib;

use crate::testing::*;
use crate::types::*;
use crate::{InventoryOptions, build};

#[test]
fn totals_count_every_row_before_exclusions() {
    let mut export = export();
    for number in 1..=4 {
        let mut row = vm(number);
        row.provisioned = mib(100 * u64::from(number));
        row.in_use = mib(10 * u64::from(number));
        export.vms.push(row);
    }
    export.vms[1].template = Some(true);
    export.vms[1].powerstate = Some(PowerState::PoweredOff);
    export.vms[2].powerstate = Some(PowerState::PoweredOff);
    export.vms[3].vm.name = text("vCLS-4f2c8a10-11aa-4bcd-9e0f-0123456789ab");
    export.disks.push(disk(2, 1, 50, "[ds-a] vm-1/vm-1.vmdk"));
    export.disks.push(disk(3, 1, 70, "[ds-b] vm-1/vm-1_1.vmdk"));
    export.disks.push(disk(4, 99, 5, "[ds-b] gone/gone.vmdk"));
    export.partitions.push(partition(2, 1, 60, 33));
    export.partitions.push(partition(3, 98, 60, 7));
    export.datastores.push(datastore(2, "ds-a", 1_000, 400));
    let mut local = datastore(3, "ds-b", 2_000, 500);
    local.hosts = vec!["host-1".into()];
    local.hosts_count = Some(1);
    local.multiple_host_access = Some(false);
    local.accessible = Some(false);
    export.datastores.push(local);
    let inventory = inventory(&export);
    assert_eq!(
        inventory.totals,
        Totals {
            vms_in_file: 4,
            vms_counted: 1,
            templates: 1,
            powered_off: 1,
            disks: 3,
            datastores: 2,
            hosts: 2,
            provisioned_mib: 1_000,
            in_use_mib: 100,
            disk_capacity_mib: 125,
            partition_consumed_mib: 40,
            datastore_capacity_mib: 3_000,
            datastore_in_use_mib: 900,
        }
    );
    let steps: Vec<(Exclusion, u64, u64)> = inventory
        .population
        .steps
        .iter()
        .map(|step| (step.reason, step.vms, step.used.0))
        .collect();
    assert_eq!(
        steps,
        [
            (Exclusion::Template, 1, 20),
            (Exclusion::SrmPlaceholder, 0, 0),
            (Exclusion::Vcls, 1, 40),
            (Exclusion::PoweredOff, 1, 30),
            (Exclusion::Orphaned, 0, 0),
        ]
    );
    assert_eq!(inventory.population.counted, 1);
    let first = &inventory.vms[0];
    assert_eq!(first.disks, (0, 2));
    assert_eq!(first.disk_capacity, Some(Mib(120)));
    assert_eq!(first.largest_disk, Some(Mib(70)));
    assert_eq!(first.partition_consumed, Some(Mib(33)));
    assert_eq!(first.datastores, [DatastoreId(0), DatastoreId(1)]);
    assert_eq!(first.key, "vc:11111111-aaaa/vm-1");
    assert!(inventory.datastores[1].local && !inventory.datastores[1].accessible);
    assert_eq!(inventory.datastores[0].vms, [VmId(0)]);
    assert_eq!(inventory.datastores[0].hosts, [HostId(0), HostId(1)]);
    let _ = (RowRef { file: 0, row: 1 }, build(&export, &InventoryOptions::default()));
}
