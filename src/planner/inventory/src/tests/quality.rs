//! The data-quality card, each check once in order and once not.

use crate::testing::*;

#[test]
fn tabs_that_agree_pass_every_check() {
    let mut export = export();
    for tab in ["vPartition", "vSnapshot", "vHost", "vMultiPath"] {
        let mut one = export.files[0].tabs[0].clone();
        one.tab = tab.to_owned();
        one.rows = u64::from(tab != "vSnapshot");
        export.files[0].tabs.push(one);
    }
    for number in 1..=2 {
        let mut row = vm(number);
        row.in_use = mib(60);
        row.provisioned = mib(110);
        row.total_disk_capacity = mib(100);
        row.path = text("[ds] a/a.vmx");
        export.vms.push(row);
        export.disks.push(disk(number, number, 100, &format!("[ds] a/{number}.vmdk")));
        export.partitions.push(partition(number, number, 90, 50));
    }
    let mut one = datastore(2, "ds", 1_000, 121);
    one.vms_total = Some(3);
    export.datastores.push(one);
    export.vm_names_by_tab.insert("vTools".into(), vec!["vm-1".into(), "vm-2".into()]);
    let inventory = inventory(&export);
    for check in &inventory.quality {
        assert!(check.ok, "{check:?}");
    }
    assert_eq!(inventory.quality.len(), 14);
    assert_eq!(
        check(&inventory, "vms-per-tab").result,
        "vInfo 2, vDisk 2, vPartition 2, vTools 2 (names)"
    );
    assert_eq!(check(&inventory, "tabs-present").result, "all there; header only: vSnapshot");
    assert_eq!(
        check(&inventory, "in-use-against-datastores").result,
        "120 MiB against 121 MiB: 1 MiB (0.8 %) belongs to no listed VM"
    );
}

#[test]
fn each_disagreement_is_counted() {
    let mut export = export();
    for number in 1..=3 {
        let mut row = vm(number);
        row.in_use = mib(300);
        row.provisioned = mib(90);
        row.total_disk_capacity = mib(101);
        export.vms.push(row);
        export.disks.push(disk(number, number, 100, "/boot"));
        export.partitions.push(partition(number, number, 200, 50));
    }
    export.disks.push(disk(9, 77, 10, "[ds] gone/gone.vmdk"));
    export.disks.push(disk(10, 78, 10, "[ds] gone/gone2.vmdk"));
    export.disks.remove(0);
    for one in &mut export.partitions {
        one.disk_key = None;
    }
    export.partitions.push(partition(8, 79, 1, 1));
    let mut one = datastore(2, "ds", 1_000, 500);
    one.free = mib(400);
    one.vms_total = Some(0);
    export.datastores.push(one);
    export.vms[2].path = text("[ds] a/a.vmx");
    export.vm_names_by_tab.insert("vTools".into(), vec!["vm-1".into(), "stranger".into()]);
    let inventory = inventory(&export);
    let result = |id: &str, expected: &str| {
        let check = check(&inventory, id);
        assert_eq!((check.result.as_str(), check.ok), (expected, false), "{id}");
    };
    result("tabs-present", "missing: vPartition, vSnapshot, vHost, vMultiPath");
    result("vms-per-tab", "vInfo 3, vDisk 4, vPartition 4, vTools 2 (names)");
    result("vms-not-in-vinfo", "vDisk 2, vPartition 1, vTools 1 (names)");
    result("vms-missing-from-tabs", "vDisk 1");
    result("disks-equal-total", "2 of 2 VMs differ");
    result("provisioned-against-disks", "2 of 2 VMs below; 270 MiB provisioned, 220 MiB in disks");
    result("in-use-above-disks", "2 of 2 VMs");
    result("partitions-above-disks", "2 of 2 VMs");
    result(
        "in-use-against-datastores",
        "900 MiB against 500 MiB: 400 MiB (80.0 %) is more than the datastores hold",
    );
    result("capacity-in-use-free", "1 of 1 datastore differ; ds by 100 MiB");
    result("vms-per-datastore", "1 against 0; 1 datastore with more VMs by path than stated");
    result("disk-paths", "2 of 4 without (50.0 %)");
    result("disk-keys", "3 of 4 without (75.0 %)");
    result("vms-without-datastore", "2 of 3");
}
