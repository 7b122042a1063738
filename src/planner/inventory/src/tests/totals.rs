//! Totals, population, used space, groups and the inventory's date.

use plimsoll_ingest::rows::PowerState;
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
}

#[test]
fn each_vm_has_one_reason_and_placeholders_take_no_space() {
    let mut export = export();
    for number in 1..=4 {
        let mut row = vm(number);
        row.in_use = mib(100);
        export.vms.push(row);
    }
    // A placeholder that is also a template and off: its capacity must not count.
    export.vms[0].srm_placeholder = Some(true);
    export.vms[0].template = Some(true);
    export.vms[0].powerstate = Some(PowerState::PoweredOff);
    export.vms[1].template = Some(true);
    export.vms[1].connection_state = text("inaccessible");
    export.vms[2].connection_state = text("orphaned");
    export.vms[3].powerstate = Some(PowerState::Suspended);
    let inventory = inventory(&export);
    let reasons: Vec<Option<Exclusion>> = inventory.vms.iter().map(|vm| vm.exclusion).collect();
    assert_eq!(
        reasons,
        [
            Some(Exclusion::SrmPlaceholder),
            Some(Exclusion::Template),
            Some(Exclusion::Orphaned),
            None
        ]
    );
    let placeholder = &inventory.population.steps[1];
    assert_eq!(
        (placeholder.vms, placeholder.used, placeholder.capacity_counts),
        (1, Mib(100), false)
    );
    assert!(inventory.population.steps[0].capacity_counts);
}

#[test]
fn used_space_falls_back_in_order_and_blank_is_not_zero() {
    let mut export = export();
    for number in 1..=6 {
        let mut row = vm(number);
        row.provisioned = mib(900);
        export.vms.push(row);
    }
    export.vms[0].in_use = mib(0);
    export.vms[5].provisioned = None;
    for number in [1, 2] {
        export.partitions.push(partition(number, number, 500, 120));
    }
    export.disks.push(disk(2, 2, 400, "[ds] a/a.vmdk"));
    export.disks.push(disk(3, 3, 400, "[ds] b/b.vmdk"));
    let mut raw = disk(4, 3, 5_000, "[ds] b/b-rdm.vmdk");
    raw.raw = Some(true);
    export.disks.push(raw);
    let mut only_raw = disk(5, 4, 5_000, "[ds] c/c-rdm.vmdk");
    only_raw.raw = Some(true);
    export.disks.push(only_raw);
    let (inventory, problems) = build(&export, &InventoryOptions::default());
    let used: Vec<(u64, UsedSource)> =
        inventory.vms.iter().map(|vm| (vm.used.0, vm.used_source)).collect();
    assert_eq!(
        used,
        [
            (0, UsedSource::InUse),
            (120, UsedSource::PartitionConsumed),
            (400, UsedSource::DiskCapacity),
            (900, UsedSource::Provisioned),
            (900, UsedSource::Provisioned),
            (0, UsedSource::Unknown),
        ]
    );
    assert_eq!(inventory.vms[2].disk_capacity, Some(Mib(5_400)));
    assert_eq!(inventory.vms[2].largest_disk, Some(Mib(400)));
    assert_eq!(inventory.vms[3].largest_disk, None);
    let unknown = problems.items.iter().find(|problem| problem.code == "vm-without-space").unwrap();
    assert_eq!((unknown.row, unknown.value.as_str()), (Some(7), "vm-6"));
}

#[test]
fn total_disk_capacity_stands_in_for_a_missing_disk_tab() {
    let mut export = export();
    let mut row = vm(1);
    row.total_disk_capacity = mib(77);
    export.vms.push(row);
    assert_eq!(inventory(&export).vms[0].disk_capacity, Some(Mib(77)));
}

#[test]
fn shared_disks_count_once_and_raw_disks_not_at_all() {
    let mut export = export();
    export.vms = vec![vm(1), vm(2)];
    let shared = |row, number, path: &str, uuid: Option<&str>| {
        let mut disk = disk(row, number, 100, path);
        disk.sharing_mode = text("sharingMultiWriter");
        disk.disk_uuid = uuid.map(Into::into);
        disk
    };
    // The second VM's first: the list is grouped by VM, the first listing keeps the capacity.
    export.disks.push(shared(2, 2, "[ds] q/q.vmdk", Some("6000C29a")));
    export.disks.push(shared(3, 1, "[ds] q/q-000001.vmdk", Some("6000C29a")));
    // Not flagged, but one file in two VMs.
    export.disks.push(disk(4, 1, 30, "[ds] w/w.vmdk"));
    export.disks.push(disk(5, 2, 30, "[ds] w/w.vmdk"));
    // Same UUID without a flag: a copy, not shared.
    for (row, number) in [(6, 1), (7, 2)] {
        let mut copy = disk(row, number, 7, &format!("[ds] copy-{number}/c.vmdk"));
        copy.disk_uuid = text("6000C29b");
        export.disks.push(copy);
    }
    let mut raw = disk(8, 1, 1_000, "[ds] r/r.vmdk");
    raw.raw = Some(true);
    export.disks.push(raw);
    let inventory = inventory(&export);
    let facts: Vec<(u32, u32, u64, bool, bool)> = inventory
        .disks
        .iter()
        .map(|disk| (disk.vm.0, disk.at.row, disk.capacity.0, disk.shared, disk.duplicate))
        .collect();
    assert_eq!(
        facts,
        [
            (0, 3, 100, true, true),
            (0, 4, 30, true, false),
            (0, 6, 7, false, false),
            (0, 8, 1_000, false, false),
            (1, 2, 100, true, false),
            (1, 5, 30, true, true),
            (1, 7, 7, false, false),
        ]
    );
    assert_eq!(inventory.disks[3].datastore, None);
    assert!(inventory.disks[3].raw);
    // The total is over rows, as the file has them.
    assert_eq!(inventory.totals.disk_capacity_mib, 1_274);
    let group = inventory.groups.iter().find(|group| group.kind == GroupKind::Datastore).unwrap();
    assert_eq!(group.disk_capacity, Mib(100 + 30 + 7 + 7));
}

#[test]
fn groups_divide_used_space_between_datastores() {
    let mut export = export();
    let mut row = vm(1);
    row.in_use = mib(100);
    row.path = text("[ds-a] vm-1/vm-1.vmx");
    export.vms.push(row);
    let mut off = vm(2);
    off.powerstate = Some(PowerState::PoweredOff);
    off.in_use = mib(50);
    off.cluster = text("cluster-2");
    off.host = text("host-2");
    off.path = text("[ds-b] vm-2/vm-2.vmx");
    export.vms.push(off);
    export.disks.push(disk(2, 1, 300, "[ds-a] vm-1/vm-1.vmdk"));
    export.disks.push(disk(3, 1, 100, "[ds-b] vm-1/vm-1_1.vmdk"));
    export.datastores = vec![datastore(2, "ds-a", 1_000, 75), datastore(3, "ds-b", 1_000, 75)];
    let inventory = inventory(&export);
    let found: Vec<(GroupKind, &str, u64, u64, u64, u64)> = inventory
        .groups
        .iter()
        .map(|group| {
            let (used, disks) = (group.used.0, group.disk_capacity.0);
            (group.kind, &*group.name, group.vms, group.counted, used, disks)
        })
        .collect();
    assert_eq!(
        found,
        [
            (GroupKind::Cluster, "cluster-1", 1, 1, 100, 400),
            (GroupKind::Cluster, "cluster-2", 1, 0, 50, 0),
            (GroupKind::Host, "host-1", 1, 1, 100, 400),
            (GroupKind::Host, "host-2", 1, 0, 50, 0),
            (GroupKind::Datastore, "ds-a", 1, 1, 75, 300),
            (GroupKind::Datastore, "ds-b", 2, 1, 75, 100),
        ]
    );
}

#[test]
fn rules_that_keep_apart_are_kept_and_others_not() {
    let mut export = export();
    export.vms = vec![vm(1), vm(2), vm(3)];
    export.vms[0].cluster_rules = text("Anti Affinity, Affinity");
    export.vms[0].cluster_rule_names = text("dc apart, app together");
    export.vms[1].cluster_rule_names = text("of unknown kind");
    let inventory = inventory(&export);
    assert_eq!(inventory.vms[0].rules, ["dc apart".into()]);
    assert_eq!(inventory.vms[1].rules, ["of unknown kind".into()]);
    assert!(inventory.vms[2].rules.is_empty());
}

#[test]
fn sizes_beyond_an_exbibyte_are_missing_and_reported() {
    let mut export = export();
    export.vms = vec![vm(1), vm(2)];
    export.vms[0].in_use = mib(u64::MAX);
    export.vms[1].in_use = mib(5);
    let (inventory, problems) = build(&export, &InventoryOptions::default());
    assert_eq!(inventory.totals.in_use_mib, 5);
    assert!(problems.items.iter().any(|one| one.code == "size-implausible" && one.row == Some(2)));
}

#[test]
fn the_date_comes_from_metadata_then_the_name_then_nowhere() {
    use jiff::civil::date;
    use plimsoll_ingest::rows::MetadataRow;

    let mut export = export();
    let by_name = build(&export, &InventoryOptions::default()).0;
    assert_eq!(by_name.taken, Some(date(2026, 11, 30).at(8, 0, 0, 0)));
    assert!(by_name.taken_from.contains("the name of RVTools_export_all_2026-11-30"));
    export.metadata.push(MetadataRow {
        at: at(2),
        created: Some(date(2026, 11, 29).at(7, 0, 0, 0)),
        ..MetadataRow::default()
    });
    let by_tab = build(&export, &InventoryOptions::default()).0;
    assert_eq!(by_tab.taken, Some(date(2026, 11, 29).at(7, 0, 0, 0)));
    let given = InventoryOptions { taken: Some(date(2025, 1, 2).at(0, 0, 0, 0)) };
    assert_eq!(build(&export, &given).0.taken, given.taken);
    export.metadata.clear();
    export.files[0].name = "RVTools.xlsx".to_owned();
    let (unknown, problems) = build(&export, &InventoryOptions::default());
    assert_eq!(unknown.taken, None);
    assert!(problems.items.iter().any(|one| one.code == "inventory-date-unknown"));
}

#[test]
fn an_empty_export_gives_an_empty_inventory() {
    let (inventory, problems) =
        build(&plimsoll_ingest::Export::default(), &InventoryOptions::default());
    assert_eq!(inventory.totals, Totals::default());
    assert_eq!(inventory.population.steps.len(), 5);
    assert_eq!(problems.total(), 0);
}
