//! Who is who: VMs, datastores and hosts over several files and vCenters.

use plimsoll_ingest::rows::{RowRef, Sdk};
use plimsoll_ingest::{Export, Problems, TabSummary};
use plimsoll_units::Mib;

use crate::testing::*;
use crate::types::*;
use crate::{InventoryOptions, build};

fn made(export: &Export) -> (Inventory, Problems) {
    build(export, &InventoryOptions::default())
}

fn has(problems: &Problems, code: &str) -> bool {
    problems.items.iter().any(|problem| problem.code == code)
}

/// Moves a row to a file.
fn in_file(file: u32, at: RowRef) -> RowRef {
    RowRef { file, ..at }
}

#[test]
fn one_id_in_two_vcenters_is_two_vms_with_their_own_disks() {
    let mut export = export();
    let mut other = vm(1);
    other.at.row = 3;
    other.vm.sdk = other_sdk();
    other.vm.uuid = text("uuid-other");
    export.vms = vec![vm(1), other];
    let mut disk_of_other = disk(3, 1, 9, "[ds] x/x.vmdk");
    disk_of_other.vm.sdk = other_sdk();
    export.disks = vec![disk(2, 1, 5, "[ds] x/x.vmdk"), disk_of_other];
    let (inventory, _) = made(&export);
    let disks: Vec<Option<Mib>> = inventory.vms.iter().map(|vm| vm.disk_capacity).collect();
    assert_eq!(disks, [Some(Mib(5)), Some(Mib(9))]);
    assert_eq!(inventory.vcenters, ["vc1.example.org".into(), "vc2.example.org".into()]);
    // Datastores of one name in two vCenters are two.
    assert_eq!(inventory.datastores.len(), 2);
    assert!(inventory.disks.iter().all(|disk| !disk.shared));
    assert_eq!(inventory.vms[1].key, "vc:22222222-bbbb/vm-1");
}

#[test]
fn the_same_bytes_twice_are_read_once() {
    let mut export = export();
    export.files.push(file("copy of it.xlsx"));
    export.files[1].sha256 = export.files[0].sha256.clone();
    for file in 0..2 {
        let mut row = vm(1);
        row.at = in_file(file, row.at);
        row.in_use = mib(10);
        export.vms.push(row);
        let mut one = disk(2, 1, 7, "[ds-a] a/a.vmdk");
        one.at = in_file(file, one.at);
        export.disks.push(one);
        let mut one = datastore(2, "ds-a", 100, 50);
        one.at = in_file(file, one.at);
        export.datastores.push(one);
    }
    let (inventory, problems) = made(&export);
    let totals = &inventory.totals;
    assert_eq!((totals.vms_in_file, totals.in_use_mib, totals.disks), (1, 10, 1));
    assert_eq!((totals.datastores, totals.datastore_capacity_mib), (1, 100));
    assert_eq!(inventory.datastores[0].at.len(), 1);
    let problem = problems.items.iter().find(|one| one.code == "export-given-twice").unwrap();
    assert_eq!(problem.file, "copy of it.xlsx");
    assert!(problem.action.contains("RVTools_export_all_2026-11-30"));
}

#[test]
fn names_alone_in_two_renditions_of_one_export_are_recognised() {
    let mut export = export();
    export.files.push(file("the same as csv.zip"));
    for file in 0..2 {
        for number in 1..=3 {
            let mut row = vm(number);
            row.at = in_file(file, row.at);
            row.vm.id = None;
            row.vm.uuid = None;
            row.vm.sdk = Sdk::default();
            row.in_use = mib(u64::from(number));
            export.vms.push(row);
        }
    }
    let (inventory, problems) = made(&export);
    assert_eq!(inventory.totals.vms_in_file, 3);
    assert!(has(&problems, "export-given-twice"));
    assert!(has(&problems, "vm-known-by-name-only"));
}

#[test]
fn two_exports_of_one_vcenter_count_a_vm_and_its_rows_once() {
    let mut export = export();
    export.files.push(file("RVTools_export_all_2026-12-01.xlsx"));
    for file in 0..2_u32 {
        let mut row = vm(1);
        row.at = in_file(file, row.at);
        row.in_use = mib(10 + u64::from(file));
        export.vms.push(row);
        let mut one = disk(2, 1, 7, "[ds-a] a/a.vmdk");
        one.at = in_file(file, one.at);
        export.disks.push(one);
        let mut one = partition(2, 1, 7, 3);
        one.at = in_file(file, one.at);
        export.partitions.push(one);
    }
    let mut newer = vm(2);
    newer.at = in_file(1, newer.at);
    export.vms.push(newer);
    let (inventory, problems) = made(&export);
    let totals = &inventory.totals;
    assert_eq!((totals.vms_in_file, totals.in_use_mib), (2, 10));
    assert_eq!((totals.disks, totals.partition_consumed_mib), (1, 3));
    assert!(has(&problems, "vm-listed-twice"));
    assert_eq!(inventory.taken.map(jiff::civil::DateTime::day), Some(1));
}

#[test]
fn clones_that_share_a_uuid_stay_apart() {
    let mut export = export();
    for number in 1..=2 {
        let mut row = vm(number);
        row.vm.id = None;
        row.vm.uuid = text("5000-clone");
        export.vms.push(row);
        let mut one = disk(number, number, u64::from(number), "[ds] a/a.vmdk");
        one.path = None;
        one.vm.id = None;
        one.vm.uuid = text("5000-clone");
        export.disks.push(one);
    }
    let (inventory, problems) = made(&export);
    let keys: Vec<&str> = inventory.vms.iter().map(|vm| vm.key.as_str()).collect();
    assert_eq!(keys, ["uuid:5000-clone/vm-1", "uuid:5000-clone/vm-2"]);
    let disks: Vec<Option<Mib>> = inventory.vms.iter().map(|vm| vm.disk_capacity).collect();
    assert_eq!(disks, [Some(Mib(1)), Some(Mib(2))]);
    assert!(has(&problems, "vm-uuid-not-unique"));
}

#[test]
fn a_name_never_overrules_an_id() {
    // A protected VM is filtered out of vInfo, its placeholder of the same name is not.
    let mut export = export();
    let mut placeholder = vm(7);
    placeholder.vm.name = text("db");
    export.vms.push(placeholder);
    let mut foreign = disk(2, 8, 500, "[ds] db/db.vmdk");
    foreign.vm.name = text("db");
    export.disks.push(foreign);
    let mut by_name = partition(2, 7, 50, 20);
    by_name.vm.name = text("db");
    by_name.vm.id = None;
    by_name.vm.uuid = None;
    export.partitions.push(by_name);
    let (inventory, _) = made(&export);
    assert_eq!(inventory.vms[0].disk_capacity, None);
    assert_eq!(inventory.vms[0].partition_consumed, Some(Mib(20)));
    assert_eq!((inventory.totals.disks, inventory.disks.len()), (1, 0));
}

#[test]
fn namesakes_without_ids_are_kept_and_reported() {
    let mut export = export();
    for row in 2..=3 {
        let mut one = vm(1);
        one.at.row = row;
        one.vm.id = None;
        one.vm.uuid = None;
        export.vms.push(one);
    }
    let mut disk = disk(2, 1, 5, "[ds] a/a.vmdk");
    disk.vm.id = None;
    disk.vm.uuid = None;
    export.disks.push(disk);
    let (inventory, problems) = made(&export);
    assert_eq!(inventory.vms.len(), 2);
    assert_ne!(inventory.vms[0].key, inventory.vms[1].key);
    assert!(inventory.vms.iter().all(|vm| vm.disk_capacity.is_none()));
    assert!(has(&problems, "vm-name-not-unique"));
}

#[test]
fn csv_sets_without_vcenter_columns_are_joined() {
    let mut export = Export::default();
    for (index, tab) in ["vInfo", "vDisk", "vHost"].into_iter().enumerate() {
        let mut one = file(&format!("site.zip/RVTools_tab{tab}.csv"));
        one.sha256 = index.to_string();
        one.tabs = vec![TabSummary { tab: tab.to_owned(), ..one.tabs[0].clone() }];
        export.files.push(one);
    }
    let mut row = vm(1);
    row.vm = plimsoll_ingest::rows::VmRef { name: text("web"), ..Default::default() };
    export.vms.push(row);
    let mut one = disk(2, 1, 64, "[ds] web/web.vmdk");
    one.at.file = 1;
    one.vm = export.vms[0].vm.clone();
    export.disks.push(one);
    let mut one = host(2, "host-1", "VMware ESXi 8.0.2 build-22380479");
    one.at.file = 2;
    one.sdk = Sdk::default();
    export.hosts.push(one);
    let (inventory, _) = made(&export);
    assert_eq!(inventory.vms[0].disk_capacity, Some(Mib(64)));
    assert_eq!(inventory.hosts.len(), 1);
    assert_eq!(inventory.vms[0].host, Some(HostId(0)));
    assert_eq!(inventory.hosts[0].version.as_deref(), Some("8.0.2"));
}

#[test]
fn two_sites_with_one_tab_each_do_not_mix() {
    let mut export = Export::default();
    for index in 0..2_u32 {
        let mut one = file(&format!("site-{index}.xlsx"));
        one.tabs.truncate(1);
        export.files.push(one);
        let mut row = vm(1);
        row.at = in_file(index, row.at);
        row.vm = plimsoll_ingest::rows::VmRef { name: text("web"), ..Default::default() };
        row.in_use = mib(u64::from(index));
        export.vms.push(row);
    }
    assert_eq!(made(&export).0.vms.len(), 2);
}

#[test]
fn a_lun_seen_by_two_vcenters_is_one_datastore_with_the_hosts_of_both() {
    let mut export = export();
    export.datastores.push(datastore(2, "lun-1", 1_000, 400));
    let mut other = datastore(3, "lun-1", 1_000, 400);
    other.name = text("lun-1 (vc2)");
    other.sdk = other_sdk();
    other.hosts = vec!["host-9".into()];
    export.datastores.push(other);
    let mut row = vm(1);
    row.vm.sdk = other_sdk();
    row.host = text("host-9");
    row.path = text("[lun-1 (vc2)] vm-1/vm-1.vmx");
    export.vms.push(row);
    let (inventory, _) = made(&export);
    assert_eq!((inventory.totals.datastores, inventory.totals.datastore_capacity_mib), (1, 1_000));
    let merged = &inventory.datastores[0];
    assert_eq!(
        (merged.key.as_str(), merged.at.len(), merged.hosts.len()),
        ("addr:naa.lun-1", 2, 3)
    );
    assert_eq!(inventory.vms[0].datastores, [DatastoreId(0)]);
}

#[test]
fn equal_nfs_addresses_at_two_sites_with_other_capacity_stay_apart() {
    let mut export = export();
    export.datastores.push(nfs(2, "nfs-1", "192.168.10.5 /vol1"));
    let mut other = nfs(3, "nfs-1", "192.168.10.5 /vol1");
    other.sdk = other_sdk();
    other.capacity = mib(9_999);
    export.datastores.push(other);
    let (inventory, problems) = made(&export);
    assert_eq!(inventory.datastores.len(), 2);
    assert_ne!(inventory.datastores[0].key, inventory.datastores[1].key);
    assert!(has(&problems, "datastore-same-address-other-capacity"));
    export.datastores[1].capacity = export.datastores[0].capacity;
    assert_eq!(made(&export).0.datastores.len(), 1);
}

#[test]
fn local_adapter_addresses_are_no_identity() {
    let mut export = export();
    for (row, sdk) in [(2, sdk()), (3, other_sdk())] {
        let mut one = datastore(row, "datastore1", 500, 1);
        one.address = text("mpx.vmhba0:C0:T0:L0");
        one.sdk = sdk;
        export.datastores.push(one);
    }
    assert_eq!(made(&export).0.datastores.len(), 2);
}

#[test]
fn one_name_in_two_datacenters_is_told_by_the_host() {
    let mut export = export();
    let mut first = datastore(2, "a", 100, 1);
    first.name = text("shared");
    let mut second = datastore(3, "b", 200, 1);
    second.name = text("shared");
    second.hosts = vec!["host-7".into(), "host-8".into()];
    export.datastores = vec![first, second];
    export.vms = vec![vm(1), vm(2)];
    export.vms[1].host = text("host-8");
    export.disks.push(disk(2, 1, 5, "[shared] a/a.vmdk"));
    export.disks.push(disk(3, 2, 5, "[shared] a/a.vmdk"));
    let (inventory, problems) = made(&export);
    assert_eq!(inventory.vms[0].datastores, [DatastoreId(0)]);
    assert_eq!(inventory.vms[1].datastores, [DatastoreId(1)]);
    assert!(inventory.disks.iter().all(|disk| !disk.shared), "two files on two datastores");
    assert!(has(&problems, "datastore-name-not-unique"));
    assert!(!has(&problems, "datastore-path-ambiguous"));
}

#[test]
fn datastores_without_any_id_go_by_name_with_a_problem() {
    let mut export = export();
    for row in 2..=3 {
        let mut one = datastore(row, "ds", 100, 1);
        one.address = None;
        one.object_id = None;
        export.datastores.push(one);
    }
    let (inventory, problems) = made(&export);
    // Two rows of one file are two datastores: RVTools lists each once.
    assert_eq!(inventory.totals.datastore_capacity_mib, 200);
    assert!(has(&problems, "datastore-known-by-name-only"));
    assert!(has(&problems, "datastore-name-not-unique"));
}

#[test]
fn a_datastore_that_only_paths_name_has_no_capacity_and_no_total() {
    let mut export = export();
    export.vms.push(vm(1));
    export.disks.push(disk(2, 1, 5, "[hidden-gold] a/a.vmdk"));
    let (inventory, problems) = made(&export);
    assert_eq!(inventory.totals.datastores, 0);
    let hidden = &inventory.datastores[0];
    assert_eq!((&*hidden.name, hidden.capacity, hidden.at.len()), ("hidden-gold", None, 0));
    assert_eq!(hidden.tier_hint.as_deref(), Some("gold"));
    assert_eq!(hidden.hosts, [HostId(0)], "hosts come from the VMs when no row lists them");
    assert!(has(&problems, "datastore-not-listed"));
}

#[test]
fn datastore_facts_are_read() {
    let mut export = export();
    let mut one = nfs(2, "VOLUME15-2IOPS", "10.0.0.5 /VOLUME15");
    one.cluster_name = text("pod-1");
    export.datastores.push(one);
    let mut one = nfs(3, "v41", "nas:/x");
    one.kind = text("NFS41");
    export.datastores.push(one);
    let mut one = datastore(4, "vsan", 1, 1);
    one.kind = text("vsan");
    one.address = None;
    one.url = text("ds:///vmfs/volumes/vsan:5212a7f2/");
    export.datastores.push(one);
    let (inventory, _) = made(&export);
    let [tier, v41, vsan] = inventory.datastores.as_slice() else { panic!("three datastores") };
    assert_eq!(tier.kind, DatastoreKind::Nfs);
    assert_eq!(tier.nfs_server.as_deref(), Some("10.0.0.5"));
    assert_eq!(tier.tier_hint.as_deref(), Some("2 IOPS/GB"));
    assert_eq!(tier.pod.as_deref(), Some("pod-1"));
    assert_eq!((v41.kind, v41.key.as_str()), (DatastoreKind::Nfs41, "addr:nas:/x"));
    assert_eq!(vsan.kind, DatastoreKind::Vsan);
    assert_eq!(vsan.key, "url:ds:///vmfs/volumes/vsan:5212a7f2");
    assert!(inventory.datastores.iter().all(|one| !one.local));
}

#[test]
fn hosts_and_clusters_are_collected_from_every_tab() {
    let mut export = export();
    export.hosts.push(host(2, "host-1", "VMware ESXi 7.0.3 build-21930508"));
    export.vms.push(vm(1));
    export.vms[0].host = text("host-5");
    export.vms[0].cluster = text("cluster-5");
    export.nics.push(nic(2, "host-1", "vmnic0", "ixgben", "vSwitch0"));
    let mut slow = nic(3, "host-1", "vmnic1", "igbn", "vSwitch0");
    slow.speed_mbit = Some(1_000);
    export.nics.push(slow);
    let (inventory, problems) = made(&export);
    let unlisted = problems.items.iter().find(|one| one.code == "host-not-listed").unwrap();
    assert_eq!(unlisted.value, "host-5");
    let names: Vec<&str> = inventory.hosts.iter().map(|host| &*host.name).collect();
    assert_eq!(names, ["host-1", "host-5"]);
    assert_eq!(inventory.hosts[0].fastest_nic_mbit, Some(25_000));
    assert_eq!(inventory.hosts[1].at, None);
    let clusters: Vec<(&str, &[HostId])> =
        inventory.clusters.iter().map(|one| (&*one.name, one.hosts.as_slice())).collect();
    assert_eq!(clusters, [("cluster-1", &[HostId(0)][..]), ("cluster-5", &[HostId(1)][..])]);
}
