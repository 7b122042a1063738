//! Every rule: where it fires, on which rows, and where it does not.

use jiff::civil::date;
use plimsoll_ingest::Export;
use plimsoll_ingest::rows::PowerState;

use crate::testing::*;
use crate::types::{Finding, FindingSeverity as Severity, Inventory};

/// Severity, evidence and fact of a rule that fired.
fn result<'a>(inventory: &'a Inventory, id: &str) -> (Severity, Vec<&'a str>, &'a str) {
    let Some(finding) = fired(inventory, id) else {
        panic!("{id} did not fire: {:#?}", inventory.findings)
    };
    let evidence = finding.evidence.iter().map(|row| row.what.as_str()).collect();
    (finding.severity, evidence, &finding.fact)
}

fn judged(export: &Export, id: &str) -> Option<Severity> {
    inventory(export).findings.iter().find(|finding| finding.id == id).map(|one| one.severity)
}

fn with_datastores(sizes: &[(&str, u64, u64)]) -> Export {
    let mut export = export();
    for (row, (name, capacity, in_use)) in (2..).zip(sizes) {
        export.datastores.push(datastore(row, name, *capacity, *in_use));
    }
    export
}

#[test]
fn datastores_over_80_and_90_percent() {
    // Exactly 80 % and 90 % are not over.
    let export = with_datastores(&[("a", 1_000, 800), ("b", 1_000, 900), ("c", 1_000, 901)]);
    let inventory = inventory(&export);
    let (severity, evidence, fact) = result(&inventory, "datastore-nearly-full");
    assert_eq!(severity, Severity::Care);
    assert_eq!(evidence, ["c: 90.1 % full, 99 MiB free", "b: 90.0 % full, 100 MiB free"]);
    assert_eq!(
        fact,
        "2 datastores of 3 more than 80 % full, 1 of them more than 90 %; c is the fullest at 90.1 %."
    );
    let place = &fired(&inventory, "datastore-nearly-full").unwrap().evidence[0];
    assert_eq!((place.tab.as_str(), place.row), ("vDatastore", 4));
    assert!(place.file.starts_with("RVTools_export_all"));
    let note = with_datastores(&[("a", 1_000, 801)]);
    assert_eq!(judged(&note, "datastore-nearly-full"), Some(Severity::Note));
    let low = with_datastores(&[("a", 1_000, 800)]);
    assert_eq!(judged(&low, "datastore-nearly-full"), Some(Severity::Passed));
    let mut blank = with_datastores(&[("a", 1_000, 950)]);
    blank.datastores[0].in_use = None;
    assert_eq!(judged(&blank, "datastore-nearly-full"), Some(Severity::Care), "capacity less free");
    blank.datastores[0].free = None;
    assert_eq!(judged(&blank, "datastore-nearly-full"), None, "blank is not zero");
}

#[test]
fn datastores_with_more_provisioned_than_capacity() {
    let mut export = with_datastores(&[("a", 1_000, 1), ("b", 1_000, 1)]);
    export.datastores[0].provisioned = mib(1_000);
    export.datastores[1].provisioned = mib(1_500);
    let inventory = inventory(&export);
    let (severity, evidence, _) = result(&inventory, "datastore-overcommitted");
    assert_eq!((severity, evidence), (Severity::Note, vec!["b: 150 % of capacity provisioned"]));
    export.datastores[1].provisioned = mib(1_510);
    assert_eq!(judged(&export, "datastore-overcommitted"), Some(Severity::Care));
    export.datastores.pop();
    assert_eq!(judged(&export, "datastore-overcommitted"), Some(Severity::Passed));
}

#[test]
fn datastores_out_of_reach() {
    let mut export = with_datastores(&[("a", 1_000, 1), ("b", 1_000, 1)]);
    assert!(passed(&inventory(&export), "datastore-inaccessible"));
    export.datastores[1].accessible = Some(false);
    assert_eq!(judged(&export, "datastore-inaccessible"), Some(Severity::Care));
    export.vms.push(vm(1));
    export.vms[0].path = text("[b] vm-1/vm-1.vmx");
    let inventory = inventory(&export);
    let (severity, evidence, _) = result(&inventory, "datastore-inaccessible");
    assert_eq!((severity, evidence), (Severity::Stops, vec!["b: not accessible, 1 VM on it"]));
}

#[test]
fn vms_on_local_datastores() {
    let mut export = with_datastores(&[("esx1_local", 1_000, 1)]);
    export.datastores[0].hosts = vec!["host-1".into()];
    export.datastores[0].hosts_count = Some(1);
    export.datastores[0].multiple_host_access = Some(false);
    assert_eq!(judged(&export, "datastore-local-with-vms"), None, "no path places any VM");
    let mut cluster_service = vm(1);
    cluster_service.vm.name = text("vCLS (1)");
    cluster_service.path = text("[esx1_local] vCLS/vCLS.vmx");
    export.vms.push(cluster_service);
    assert!(passed(&inventory(&export), "datastore-local-with-vms"));
    let mut real = vm(2);
    real.path = text("[esx1_local] vm-2/vm-2.vmx");
    export.vms.push(real);
    let inventory = inventory(&export);
    let (severity, evidence, fact) = result(&inventory, "datastore-local-with-vms");
    assert_eq!((severity, evidence), (Severity::Care, vec!["esx1_local: 1 VM"]));
    assert_eq!(fact, "1 VM stands on 1 local datastore that only one host sees.");
}

#[test]
fn space_that_no_vm_owns() {
    let mut export = with_datastores(&[("a", 10_000, 1_000)]);
    export.vms.push(vm(1));
    export.vms[0].path = text("[a] vm-1/vm-1.vmx");
    export.vms[0].in_use = mib(950);
    assert!(passed(&inventory(&export), "space-without-vm"), "5 % is within the usual");
    export.vms[0].in_use = mib(949);
    export.disks.push(disk(2, 99, 5, "[a] gone/gone.vmdk"));
    let inventory = inventory(&export);
    let (_, evidence, fact) = result(&inventory, "space-without-vm");
    assert_eq!(evidence, ["a: 51 MiB without a VM"]);
    assert!(fact.starts_with("51 MiB of the 1000 MiB in use on datastores (5.1 %)"), "{fact}");
    assert!(fact.contains("1 VM is in vDisk but not in vInfo"), "{fact}");
}

#[test]
fn nfs_exports_under_two_names() {
    let mut export = export();
    export.datastores = vec![nfs(2, "one", "10.0.0.5 /vol1"), nfs(3, "two", "10.0.0.5 /vol2")];
    export.datastores[1].in_use = mib(77);
    assert!(passed(&inventory(&export), "nfs-mounted-twice"));
    export.datastores[1].address = text("10.0.0.5 vol1/");
    let one_address = inventory(&export);
    assert_eq!(one_address.totals.datastores, 2, "within one vCenter they are not merged");
    let (_, evidence, _) = result(&one_address, "nfs-mounted-twice");
    assert_eq!(evidence, ["one: 10.0.0.5 /vol1", "two: 10.0.0.5 vol1/"]);
    // An alias of the server: the path and every figure agree.
    export.datastores[1].address = text("nas.example.org /vol1");
    assert!(passed(&inventory(&export), "nfs-mounted-twice"));
    export.datastores[1].in_use = export.datastores[0].in_use;
    assert!(fired(&inventory(&export), "nfs-mounted-twice").is_some());
}

#[test]
fn snapshots_by_age_at_the_date_of_the_inventory() {
    // The export is of 2026-11-30 08:00.
    let mut export = export();
    export.vms.push(vm(1));
    let at = |day: i8, month: i8, hour: i8| date(2026, month, day).at(hour, 0, 0, 0);
    export.snapshots.push(snapshot(2, 1, at(22, 11, 9), 5));
    assert!(passed(&inventory(&export), "snapshot-old"), "7 days and 23 hours");
    export.snapshots.push(snapshot(3, 1, at(22, 11, 8), 2_048));
    let week = inventory(&export);
    let (severity, evidence, _) = result(&week, "snapshot-old");
    assert_eq!((severity, evidence), (Severity::Note, vec!["vm-1: 8 days, 2.0 GiB"]));
    export.snapshots.push(snapshot(4, 1, at(13, 10, 8), 5));
    let month = inventory(&export);
    let (severity, _, fact) = result(&month, "snapshot-old");
    assert_eq!(severity, Severity::Care);
    assert_eq!(
        fact,
        "2 snapshots older than 7 days, 1 of them older than 30; the oldest is 48 days old."
    );
    export.files[0].name = "undated.xlsx".to_owned();
    assert_eq!(judged(&export, "snapshot-old"), None);
    let undated = inventory(&export);
    let (_, _, fact) = result(&undated, "rules-not-checked");
    assert!(fact.contains("snapshot-old") && fact.contains("date of the inventory"), "{fact}");
}

#[test]
fn snapshots_over_a_tenth_of_the_disks() {
    let mut export = export();
    export.vms = vec![vm(1), vm(2)];
    export.disks.push(disk(2, 1, 1_000, "[a] a/a.vmdk"));
    export.disks.push(disk(3, 2, 1_000, "[a] b/b.vmdk"));
    let taken = date(2026, 11, 29).at(0, 0, 0, 0);
    export.snapshots.push(snapshot(2, 1, taken, 100));
    assert!(passed(&inventory(&export), "snapshot-large"));
    export.snapshots.push(snapshot(3, 2, taken, 60));
    export.snapshots.push(snapshot(4, 2, taken, 41));
    let inventory = inventory(&export);
    let (_, evidence, fact) = result(&inventory, "snapshot-large");
    assert_eq!(evidence, ["vm-2: 101 MiB in snapshots, 10 % of its disks"]);
    assert_eq!(fact, "1 VM has snapshots of more than 10 % of the virtual disks, 101 MiB in all.");
    assert_eq!(fired(&inventory, "snapshot-large").unwrap().evidence[0].row, 3);
}

#[test]
fn raw_shared_and_oversized_disks() {
    let mut export = export();
    export.vms = vec![vm(1), vm(2)];
    export.disks.push(disk(2, 1, 16 * 1_024 * 1_024, "[a] a/a.vmdk"));
    let fine = inventory(&export);
    for rule in ["disk-raw", "disk-shared", "disk-above-file-limit"] {
        assert!(passed(&fine, rule), "{rule}");
    }
    export.disks[0].capacity = mib(16 * 1_024 * 1_024 + 1);
    let mut raw = disk(3, 1, 2_048, "[a] a/a_1.vmdk");
    raw.raw = Some(true);
    raw.raw_compat_mode = text("virtualMode");
    export.disks.push(raw);
    for number in 1..=2 {
        let mut quorum = disk(3 + number, number, 1_024, "[a] q/q.vmdk");
        quorum.shared_bus = text("physicalSharing");
        export.disks.push(quorum);
    }
    let virtual_mode = inventory(&export);
    let (severity, evidence, _) = result(&virtual_mode, "disk-raw");
    assert_eq!((severity, evidence), (Severity::Care, vec!["vm-1, Hard disk 1: 2.0 GiB"]));
    let (severity, _, fact) = result(&virtual_mode, "disk-shared");
    assert_eq!(severity, Severity::Care);
    assert!(fact.contains("2 listings") && fact.contains("1.0 GiB"), "{fact}");
    let (severity, evidence, _) = result(&virtual_mode, "disk-above-file-limit");
    assert_eq!((severity, evidence), (Severity::Stops, vec!["vm-1, Hard disk 1: 16.0 TiB"]));
    export.disks[1].raw_compat_mode = text("physicalMode");
    assert_eq!(judged(&export, "disk-raw"), Some(Severity::Stops));
    // RVTools 3.x wrote the bus as a number: 0 is not shared.
    export.disks.truncate(1);
    export.disks[0].shared_bus = text("0");
    assert!(passed(&inventory(&export), "disk-shared"));
    export.disks[0].shared_bus = text("2");
    assert!(fired(&inventory(&export), "disk-shared").is_some());
}

#[test]
fn secrets_in_annotations_are_told_without_their_text() {
    let mut export = export();
    export.vms.push(vm(1));
    export.vms[0].annotation = text("owner: storage team");
    assert!(passed(&inventory(&export), "secrets-in-annotations"));
    export.vms[0].annotation = text("password=[redacted]");
    export.redacted_secrets.push(at(2));
    let inventory = inventory(&export);
    let (severity, evidence, _) = result(&inventory, "secrets-in-annotations");
    assert_eq!((severity, evidence), (Severity::Care, vec!["a secret in the annotation, removed"]));
}

fn with_paths(rows: &[(&str, &str, &str, &[&str])]) -> Export {
    let mut export = export();
    for (row, (host, datastore, policy, states)) in (2..).zip(rows) {
        export.multipaths.push(multipath(row, host, datastore, policy, states));
    }
    export
}

#[test]
fn dead_paths() {
    let mut export = with_paths(&[
        ("host-1", "a", "VMW_PSP_RR", &["active", "active"]),
        ("host-2", "a", "VMW_PSP_RR", &["active", "standby"]),
    ]);
    assert!(passed(&inventory(&export), "path-dead"));
    export.multipaths[1].paths[1].1 = text("dead");
    let inventory = inventory(&export);
    let (severity, evidence, fact) = result(&inventory, "path-dead");
    assert_eq!(
        (severity, evidence),
        (Severity::Care, vec!["host-2, a: 1 of 2 dead (vmhba64:C0:T1:L1)"])
    );
    assert_eq!(fact, "1 path is dead, to 1 device of a host.");
}

#[test]
fn fewer_paths_than_the_site_is_used_to() {
    let four = &["active"; 4][..];
    let mut export = with_paths(&[
        ("host-1", "a", "VMW_PSP_RR", four),
        ("host-2", "a", "VMW_PSP_RR", four),
        ("host-3", "a", "VMW_PSP_RR", &four[..2]),
        ("host-1", "esx1_local", "VMW_PSP_FIXED", &four[..1]),
    ]);
    let found = inventory(&export);
    let (_, evidence, _) = result(&found, "path-fewer-than-elsewhere");
    assert_eq!(evidence, ["host-3, a: 2 paths, 4 elsewhere"]);
    // Another array has its own norm.
    export.multipaths[2].model = text("Other");
    assert!(passed(&inventory(&export), "path-fewer-than-elsewhere"));
    // A tie goes to the larger number.
    export.multipaths[2].model = export.multipaths[1].model.clone();
    export.multipaths.remove(1);
    assert!(fired(&inventory(&export), "path-fewer-than-elsewhere").is_some());
    // One host alone has nothing to be compared with.
    export.multipaths.remove(1);
    assert_eq!(judged(&export, "path-fewer-than-elsewhere"), None);
}

#[test]
fn path_policies_that_use_one_path() {
    let mut export = with_paths(&[
        ("host-1", "a", "VMW_PSP_RR", &["active", "active"]),
        ("host-1", "local", "VMW_PSP_FIXED", &["active"]),
    ]);
    let fine = inventory(&export);
    assert!(passed(&fine, "path-policy"));
    let fact = &fine.findings.iter().find(|one| one.id == "path-policy").unwrap().fact;
    assert!(fact.contains("1,000"), "the hint that iops=1 cannot be seen: {fact}");
    export.multipaths[0].policy = text("VMW_PSP_MRU");
    let inventory = inventory(&export);
    let (severity, evidence, _) = result(&inventory, "path-policy");
    assert_eq!((severity, evidence), (Severity::Care, vec!["host-1, a: VMW_PSP_MRU"]));
    assert!(fired(&inventory, "path-policy").unwrap().advice.contains("iops=1"));
}

#[test]
fn frames_on_storage_networks() {
    let mut export = export();
    export.hosts.push(host(2, "host-1", "VMware ESXi 8.0.2 build-1"));
    export.hosts.push(host(3, "host-2", "VMware ESXi 8.0.2 build-1"));
    export.vmkernels.push(vmkernel(2, "host-1", "Management Network", "10.1.0.1", 1_500));
    assert_eq!(judged(&export, "vmkernel-mtu-low"), None, "no port is known to carry storage");
    export.vmkernels.push(vmkernel(3, "host-1", "iSCSI-A", "10.2.0.1", 9_000));
    export.vmkernels.push(vmkernel(4, "host-2", "iSCSI-A", "10.2.0.2", 9_000));
    let fine = inventory(&export);
    assert!(passed(&fine, "vmkernel-mtu-low") && passed(&fine, "vmkernel-mtu-differs"));
    export.vmkernels[2].mtu = Some(1_500);
    let found = inventory(&export);
    let (_, evidence, _) = result(&found, "vmkernel-mtu-low");
    assert_eq!(evidence, ["host-2, vmk4 iSCSI-A 10.2.0.2: MTU 1500"]);
    let (_, evidence, fact) = result(&found, "vmkernel-mtu-differs");
    assert_eq!(evidence.len(), 2);
    assert_eq!(fact, "VMkernel ports of one subnet differ in MTU: 10.2.0.0.");
    // An NFS server in its subnet makes a port one for storage, whatever its name.
    export.vmkernels.truncate(1);
    export.datastores.push(nfs(2, "n", "10.1.0.200 /vol"));
    let by_server = inventory(&export);
    let (_, evidence, _) = result(&by_server, "vmkernel-mtu-low");
    assert_eq!(evidence, ["host-1, vmk2 Management Network 10.1.0.1: MTU 1500"]);
}

#[test]
fn switches_that_drop_their_ports_frames() {
    let mut export = export();
    export.hosts.push(host(2, "host-1", "VMware ESXi 8.0.2 build-1"));
    export.vmkernels.push(vmkernel(2, "host-1", "iSCSI-A", "10.2.0.1", 9_000));
    assert_eq!(judged(&export, "switch-mtu-below-vmkernel"), None);
    export.ports.push(port(2, "host-1", "iSCSI-A", "vSwitch1"));
    export.switches.push(switch(2, "host-1", "vSwitch1", 9_000));
    export.switches.push(switch(3, "host-1", "vSwitch0", 1_500));
    assert!(passed(&inventory(&export), "switch-mtu-below-vmkernel"));
    export.switches[0].mtu = Some(1_500);
    let standard = inventory(&export);
    let (severity, evidence, _) = result(&standard, "switch-mtu-below-vmkernel");
    assert_eq!(severity, Severity::Stops);
    assert_eq!(evidence, ["host-1, vmk2 iSCSI-A 10.2.0.1: MTU 9000, switch vSwitch1 1500"]);
    // A port group that vPort does not list is on a distributed switch.
    export.vmkernels[0].port_group = text("dpg-storage");
    export.nics.push(nic(2, "host-1", "vmnic4", "nmlx5_core", "dvs-1"));
    export.dv_switches.push(plimsoll_ingest::rows::DvSwitchRow {
        at: at(2),
        switch: text("dvs-1"),
        max_mtu: Some(1_500),
        sdk: sdk(),
    });
    let distributed = inventory(&export);
    let (_, evidence, _) = result(&distributed, "switch-mtu-below-vmkernel");
    assert_eq!(evidence, ["host-1, vmk2 dpg-storage 10.2.0.1: MTU 9000, switch dvs-1 1500"]);
    export.dv_switches[0].max_mtu = Some(9_000);
    assert!(passed(&inventory(&export), "switch-mtu-below-vmkernel"));
}

#[test]
fn two_storage_ports_in_one_subnet() {
    let mut export = export();
    export.hosts.push(host(2, "host-1", "VMware ESXi 8.0.2 build-1"));
    export.vmkernels.push(vmkernel(2, "host-1", "nfs-a", "10.2.0.1", 9_000));
    export.vmkernels.push(vmkernel(3, "host-1", "nfs-b", "10.3.0.1", 9_000));
    export.vmkernels.push(vmkernel(4, "host-1", "vMotion", "10.2.0.9", 9_000));
    assert!(passed(&inventory(&export), "vmkernel-storage-one-subnet"));
    export.vmkernels[1].ip = text("10.2.0.2");
    let inventory = inventory(&export);
    let (severity, evidence, fact) = result(&inventory, "vmkernel-storage-one-subnet");
    assert_eq!((severity, evidence.len()), (Severity::Note, 2));
    assert_eq!(fact, "1 host has several storage VMkernel ports in one subnet.");
}

#[test]
fn esxi_builds_of_one_cluster() {
    let mut export = export();
    export.hosts.push(host(2, "host-1", "VMware ESXi 8.0.2 build-22380479"));
    export.hosts.push(host(3, "host-2", "VMware ESXi 8.0.2 build-22380479"));
    let mut other = host(4, "host-3", "VMware ESXi 7.0.3 build-21930508");
    other.cluster = text("cluster-2");
    export.hosts.push(other);
    assert!(passed(&inventory(&export), "esxi-builds-mixed"));
    export.hosts[1].esx_version = text("VMware ESXi 8.0.2 build-23305546");
    let inventory = inventory(&export);
    let (_, evidence, fact) = result(&inventory, "esxi-builds-mixed");
    assert_eq!(evidence, ["host-1: 8.0.2 build 22380479", "host-2: 8.0.2 build 23305546"]);
    assert_eq!(fact, "Hosts of one cluster run different ESXi builds: cluster-1 (2 builds).");
}

#[test]
fn nfs_mounts_that_share_connections_by_esxi_version() {
    let mounts = |count: u32, version: &str| {
        let mut export = export();
        export.hosts.push(host(2, "host-1", version));
        for row in 2..2 + count {
            let mut one = nfs(row, &format!("n{row}"), &format!("10.0.0.5 /vol{row}"));
            one.hosts = vec!["host-1".into()];
            export.datastores.push(one);
        }
        export
    };
    let old = "VMware ESXi 6.7.0 build-14320388";
    assert!(passed(&inventory(&mounts(4, old)), "nfs-connections-shared"));
    let five = inventory(&mounts(5, old));
    let (severity, evidence, fact) = result(&five, "nfs-connections-shared");
    assert_eq!(severity, Severity::Care);
    assert_eq!(evidence, ["host-1 (ESXi 6.7.0): 5 mounts from 10.0.0.5, 4 connections"]);
    assert!(fact.contains("5 mounts from one address over 4 connections"), "{fact}");
    let new = "VMware ESXi 7.0.3 build-21930508";
    assert!(passed(&inventory(&mounts(32, new)), "nfs-connections-shared"));
    assert!(fired(&inventory(&mounts(33, new)), "nfs-connections-shared").is_some());
    let mut spread = mounts(5, old);
    spread.datastores[4].address = text("10.0.0.6 /vol6");
    assert!(passed(&inventory(&spread), "nfs-connections-shared"));
    let mut unknown = mounts(5, old);
    unknown.hosts.clear();
    assert_eq!(judged(&unknown, "nfs-connections-shared"), None);
}

#[test]
fn readiness_for_iser() {
    let mut export = export();
    for (row, name, version, driver) in [
        (2, "ready", "VMware ESXi 7.0.3 build-1", "nmlx5_core"),
        (3, "old", "VMware ESXi 6.5.0 build-1", "nmlx4_en"),
        (4, "plain", "VMware ESXi 8.0.2 build-1", "ixgben"),
        (5, "maybe", "VMware ESXi 8.0.2 build-1", "i40en"),
    ] {
        export.hosts.push(host(row, name, version));
        export.nics.push(nic(row, name, "vmnic4", driver, "vSwitch1"));
    }
    let found = inventory(&export);
    let (severity, evidence, fact) = result(&found, "iser-readiness");
    assert_eq!((severity, fact), (Severity::Note, "1 of 4 hosts are ready for iSER as exported."));
    let [old, plain, maybe] = evidence.as_slice() else { panic!("{evidence:?}") };
    assert!(old.starts_with("old: ESXi 6.5.0 needs the adapter vendor's driver ("), "{old}");
    assert_eq!(*plain, "plain: no adapter whose driver does RDMA");
    assert!(maybe.contains("X722"), "{maybe}");
    assert!(passed(&found, "iser-one-uplink"));
    export.nics.push(nic(9, "ready", "vmnic5", "nmlx5_core", "vSwitch1"));
    let teamed = inventory(&export);
    let (_, evidence, _) = result(&teamed, "iser-one-uplink");
    assert_eq!(evidence, ["ready, vSwitch1: 2 uplinks"]);
    export.hosts.truncate(1);
    export.nics.retain(|nic| nic.host.as_deref() == Some("ready"));
    assert!(passed(&inventory(&export), "iser-readiness"));
}

#[test]
fn what_cannot_be_judged_is_named_and_does_not_pass() {
    let mut export = export();
    export.vms.push(vm(1));
    export.vms[0].powerstate = Some(PowerState::PoweredOn);
    let inventory = inventory(&export);
    let ids: Vec<&str> = inventory.findings.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["rules-not-checked"]);
    let fact = &inventory.findings[0].fact;
    for rule in ["path-dead", "datastore-nearly-full", "esxi-builds-mixed", "disk-raw"] {
        assert!(fact.contains(rule), "{rule} in {fact}");
    }
}

#[test]
fn findings_are_sorted_by_severity_and_keep_200_rows() {
    let mut export = export();
    for number in 0..250 {
        export.vms.push(vm(number));
        let mut raw = disk(number + 2, number, 10, "[a] a/a.vmdk");
        raw.raw = Some(true);
        raw.raw_compat_mode = text("physicalMode");
        export.disks.push(raw);
    }
    let inventory = inventory(&export);
    let raw: &Finding = fired(&inventory, "disk-raw").unwrap();
    assert_eq!((raw.evidence.len(), raw.evidence_total), (200, 250));
    let severities: Vec<Severity> = inventory.findings.iter().map(|one| one.severity).collect();
    assert!(severities.is_sorted());
    assert_eq!(severities[0], Severity::Stops);
    for finding in &inventory.findings {
        assert!(!finding.source.is_empty(), "{}", finding.id);
        assert_eq!(
            finding.advice.is_empty(),
            finding.severity == Severity::Passed,
            "{}",
            finding.id
        );
    }
}
