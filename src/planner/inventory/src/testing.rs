//! Hand-built exports for the tests of this crate.

use std::sync::LazyLock;

use plimsoll_ingest::rows::*;
use plimsoll_ingest::{Export, InputFile, SourceKind, TabSummary};
use plimsoll_units::Mib;

use crate::types::{Finding, FindingSeverity, Inventory, QualityCheck};

/// A text cell.
pub(crate) fn text(value: &str) -> Option<Text> {
    Some(value.into())
}

/// A size cell.
pub(crate) fn mib(value: u64) -> Option<Mib> {
    Some(Mib(value))
}

/// Row `row` of the first file.
pub(crate) fn at(row: u32) -> RowRef {
    RowRef { file: 0, row }
}

/// The vCenter of the first site.
pub(crate) fn sdk() -> Sdk {
    // Shared, as ingest shares what repeats.
    static SDK: LazyLock<Sdk> =
        LazyLock::new(|| Sdk { server: text("vc1.example.org"), uuid: text("11111111-aaaa") });
    SDK.clone()
}

/// Another vCenter.
pub(crate) fn other_sdk() -> Sdk {
    Sdk { server: text("vc2.example.org"), uuid: text("22222222-bbbb") }
}

/// A workbook with every tab in use.
pub(crate) fn file(name: &str) -> InputFile {
    let tabs = ["vInfo", "vDisk", "vDatastore"].map(|tab| TabSummary {
        tab: tab.to_owned(),
        found_as: tab.to_owned(),
        rows: 1,
        custom_columns: Vec::new(),
        used: true,
    });
    InputFile {
        name: name.to_owned(),
        sha256: format!("digest of {name}"),
        bytes: 1,
        kind: SourceKind::RvtoolsDisplay,
        reason: String::new(),
        tabs: tabs.to_vec(),
    }
}

/// An export of one file, dated by its name.
pub(crate) fn export() -> Export {
    Export { files: vec![file("RVTools_export_all_2026-11-30_08.00.00.xlsx")], ..Export::default() }
}

/// A VM called `vm-<number>`, with that id, running, on `host-1` in `cluster-1`.
pub(crate) fn vm(number: u32) -> VmRow {
    VmRow {
        at: at(number + 1),
        vm: vm_ref(number),
        powerstate: Some(PowerState::PoweredOn),
        template: Some(false),
        srm_placeholder: Some(false),
        connection_state: text("connected"),
        cpus: Some(2),
        memory: mib(4096),
        disks: None,
        total_disk_capacity: None,
        provisioned: None,
        in_use: None,
        unshared: None,
        resource_pool: None,
        folder: None,
        latency_sensitivity: None,
        cluster_rules: None,
        cluster_rule_names: None,
        hw_version: None,
        path: None,
        annotation: None,
        creation_date: None,
        datacenter: text("dc-1"),
        cluster: text("cluster-1"),
        host: text("host-1"),
        os_config: text("Other Linux (64-bit)"),
        os_tools: None,
        smbios_uuid: None,
        sdk_server_type: None,
        custom: Vec::new(),
    }
}

/// How other tabs name `vm-<number>`.
pub(crate) fn vm_ref(number: u32) -> VmRef {
    VmRef {
        name: text(&format!("vm-{number}")),
        id: text(&format!("vm-{number}")),
        uuid: text(&format!("uuid-{number}")),
        sdk: sdk(),
    }
}

/// A disk of `vm-<number>` at `[datastore] folder/file`.
pub(crate) fn disk(row: u32, number: u32, capacity: u64, path: &str) -> DiskRow {
    DiskRow {
        at: at(row),
        vm: vm_ref(number),
        powerstate: None,
        template: None,
        srm_placeholder: None,
        disk: text("Hard disk 1"),
        disk_key: text("2000"),
        disk_uuid: None,
        guest_paths: text("/, /boot"),
        path: text(path),
        capacity: mib(capacity),
        raw: Some(false),
        disk_mode: None,
        sharing_mode: text("sharingNone"),
        shared_bus: text("noSharing"),
        thin: Some(true),
        eagerly_scrub: None,
        controller: None,
        limit_iops: None,
        raw_lun_id: None,
        raw_compat_mode: None,
        datacenter: None,
        cluster: None,
        host: None,
    }
}

/// A partition of `vm-<number>`.
pub(crate) fn partition(row: u32, number: u32, capacity: u64, consumed: u64) -> PartitionRow {
    PartitionRow {
        at: at(row),
        vm: vm_ref(number),
        disk: text("C:\\"),
        disk_key: text("2000"),
        capacity: mib(capacity),
        consumed: mib(consumed),
        free: mib(capacity.saturating_sub(consumed)),
    }
}

/// A snapshot of `vm-<number>`.
pub(crate) fn snapshot(
    row: u32,
    number: u32,
    taken: jiff::civil::DateTime,
    size: u64,
) -> SnapshotRow {
    SnapshotRow {
        at: at(row),
        vm: vm_ref(number),
        name: text("before the update"),
        taken: Some(taken),
        filename: None,
        size_vmsn: None,
        size_total: mib(size),
    }
}

/// A shared VMFS datastore `naa.<name>` on `host-1` and `host-2`.
pub(crate) fn datastore(row: u32, name: &str, capacity: u64, in_use: u64) -> DatastoreRow {
    DatastoreRow {
        at: at(row),
        name: text(name),
        address: text(&format!("naa.{name}")),
        accessible: Some(true),
        kind: text("VMFS"),
        vms_total: None,
        vms: None,
        capacity: mib(capacity),
        provisioned: None,
        in_use: mib(in_use),
        free: mib(capacity.saturating_sub(in_use)),
        sioc_enabled: None,
        sioc_threshold_ms: None,
        hosts_count: Some(2),
        hosts: vec!["host-1".into(), "host-2".into()],
        cluster_name: None,
        cluster_capacity: None,
        cluster_free: None,
        version: None,
        multiple_host_access: Some(true),
        url: None,
        object_id: text(&format!("datastore-{row}")),
        datacenter: None,
        sdk: sdk(),
        custom: Vec::new(),
    }
}

/// An NFS datastore at `server /path`.
pub(crate) fn nfs(row: u32, name: &str, address: &str) -> DatastoreRow {
    DatastoreRow {
        address: text(address),
        kind: text("NFS"),
        ..datastore(row, name, 1_048_576, 524_288)
    }
}

/// A host in `cluster-1`.
pub(crate) fn host(row: u32, name: &str, esx_version: &str) -> HostRow {
    HostRow {
        at: at(row),
        host: text(name),
        datacenter: text("dc-1"),
        cluster: text("cluster-1"),
        maintenance: Some(false),
        cpu_model: None,
        speed_mhz: Some(2_600),
        cpus: Some(2),
        cores: Some(32),
        cpu_usage_pct: None,
        memory: mib(524_288),
        memory_usage_pct: None,
        vms_total: None,
        vms: None,
        vcpus: None,
        vcpus_per_core: None,
        esx_version: text(esx_version),
        vendor: None,
        model: None,
        object_id: None,
        sdk: sdk(),
    }
}

/// A VMFS device of a host with paths in these states.
pub(crate) fn multipath(
    row: u32,
    host: &str,
    datastore: &str,
    policy: &str,
    states: &[&str],
) -> MultipathRow {
    let path =
        |(index, state): (usize, &&str)| (format!("vmhba64:C0:T{index}:L1").into(), text(state));
    MultipathRow {
        at: at(row),
        host: text(host),
        cluster: text("cluster-1"),
        datastore: text(datastore),
        disk: text(&format!("naa.{datastore}")),
        policy: text(policy),
        oper_state: text("ok"),
        paths: states.iter().enumerate().map(path).collect(),
        queue_depth: None,
        vendor: text("ACME"),
        model: text("Array"),
        sdk: sdk(),
    }
}

/// A physical adapter of a host.
pub(crate) fn nic(row: u32, host: &str, device: &str, driver: &str, switch: &str) -> NicRow {
    NicRow {
        at: at(row),
        host: text(host),
        device: text(device),
        driver: text(driver),
        speed_mbit: Some(25_000),
        switch: text(switch),
        uplink_port: None,
        sdk: sdk(),
    }
}

/// A VMkernel port with a /24 address.
pub(crate) fn vmkernel(row: u32, host: &str, port_group: &str, ip: &str, mtu: u32) -> VmkernelRow {
    VmkernelRow {
        at: at(row),
        host: text(host),
        port_group: text(port_group),
        device: text(&format!("vmk{row}")),
        ip: text(ip),
        subnet_mask: text("255.255.255.0"),
        gateway: None,
        mtu: Some(mtu),
        sdk: sdk(),
    }
}

/// A standard switch of a host.
pub(crate) fn switch(row: u32, host: &str, name: &str, mtu: u32) -> SwitchRow {
    SwitchRow {
        at: at(row),
        host: text(host),
        switch: text(name),
        mtu: Some(mtu),
        policy: None,
        sdk: sdk(),
    }
}

/// A port group of a standard switch.
pub(crate) fn port(row: u32, host: &str, port_group: &str, switch: &str) -> PortRow {
    PortRow {
        at: at(row),
        host: text(host),
        port_group: text(port_group),
        switch: text(switch),
        vlan: Some(100),
        sdk: sdk(),
    }
}

/// The inventory of an export.
pub(crate) fn inventory(export: &Export) -> Inventory {
    crate::build(export, &crate::InventoryOptions::default()).0
}

/// The finding of a rule that did not pass.
pub(crate) fn fired<'a>(inventory: &'a Inventory, id: &str) -> Option<&'a Finding> {
    let of_rule = |finding: &&Finding| finding.id == id;
    inventory.findings.iter().find(of_rule).filter(|one| one.severity != FindingSeverity::Passed)
}

/// Whether a rule was judged and passed.
pub(crate) fn passed(inventory: &Inventory, id: &str) -> bool {
    let severity = inventory.findings.iter().find(|finding| finding.id == id);
    severity.is_some_and(|finding| finding.severity == FindingSeverity::Passed)
}

/// A quality check by id.
pub(crate) fn check<'a>(inventory: &'a Inventory, id: &str) -> &'a QualityCheck {
    let found = inventory.quality.iter().find(|check| check.id == id);
    found.unwrap_or_else(|| panic!("no check {id} in {:#?}", inventory.quality))
}
