//! Typed rows, one struct a tab. Field names follow the column headers of RVTools 4.x.
//!
//! Every field is an `Option`: blank, a single blank, `-` and error cells are missing, never zero.

use std::sync::Arc;

use jiff::civil::DateTime;
use plimsoll_units::Mib;
use serde::{Deserialize, Serialize};

/// Text shared between rows: hosts, clusters and OS names repeat in every row of a large export.
pub type Text = Arc<str>;

/// Where a row stands.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct RowRef {
    /// Index into `Export::files`.
    pub file: u32,
    /// 1-based row as a spreadsheet shows it.
    pub row: u32,
}

/// Power state of a VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PowerState {
    /// Running.
    PoweredOn,
    /// Stopped.
    PoweredOff,
    /// Suspended.
    Suspended,
}

/// Which vCenter a row came from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Sdk {
    /// `VI SDK Server`.
    pub server: Option<Text>,
    /// `VI SDK UUID` (before 3.9 `vCenter UUID`).
    pub uuid: Option<Text>,
}

/// How a row names its VM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmRef {
    /// `VM`: the name, not unique.
    pub name: Option<Text>,
    /// `VM ID`: the managed object id, unique within one vCenter.
    pub id: Option<Text>,
    /// `VM UUID`: unique from 4.3.1 on.
    pub uuid: Option<Text>,
    /// vCenter.
    pub sdk: Sdk,
}

/// vInfo.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct VmRow {
    pub at: RowRef,
    pub vm: VmRef,
    pub powerstate: Option<PowerState>,
    pub template: Option<bool>,
    pub srm_placeholder: Option<bool>,
    pub connection_state: Option<Text>,
    pub cpus: Option<u32>,
    pub memory: Option<Mib>,
    pub disks: Option<u32>,
    pub total_disk_capacity: Option<Mib>,
    pub provisioned: Option<Mib>,
    pub in_use: Option<Mib>,
    pub unshared: Option<Mib>,
    pub resource_pool: Option<Text>,
    pub folder: Option<Text>,
    pub latency_sensitivity: Option<Text>,
    pub cluster_rules: Option<Text>,
    pub cluster_rule_names: Option<Text>,
    pub hw_version: Option<Text>,
    /// `[datastore] folder/name.vmx`
    pub path: Option<Text>,
    /// With secrets redacted.
    pub annotation: Option<Text>,
    pub creation_date: Option<DateTime>,
    pub datacenter: Option<Text>,
    pub cluster: Option<Text>,
    pub host: Option<Text>,
    pub os_config: Option<Text>,
    pub os_tools: Option<Text>,
    pub smbios_uuid: Option<Text>,
    pub sdk_server_type: Option<Text>,
    /// Custom attributes and tags: (header, value), blank values left out.
    pub custom: Vec<(Text, Text)>,
}

/// vMemory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct MemoryRow {
    pub at: RowRef,
    pub vm: VmRef,
    pub size: Option<Mib>,
    pub consumed: Option<Mib>,
}

/// vDisk.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct DiskRow {
    pub at: RowRef,
    pub vm: VmRef,
    pub powerstate: Option<PowerState>,
    pub template: Option<bool>,
    pub srm_placeholder: Option<bool>,
    pub disk: Option<Text>,
    pub disk_key: Option<Text>,
    pub disk_uuid: Option<Text>,
    /// `Disk Path`: where the guest mounts the disk (`C:\\`, `/, /boot`), from VMware Tools.
    pub guest_paths: Option<Text>,
    /// `Path`: `[datastore] folder/name.vmdk`
    pub path: Option<Text>,
    pub capacity: Option<Mib>,
    pub raw: Option<bool>,
    pub disk_mode: Option<Text>,
    pub sharing_mode: Option<Text>,
    pub shared_bus: Option<Text>,
    pub thin: Option<bool>,
    pub eagerly_scrub: Option<bool>,
    pub controller: Option<Text>,
    /// IOPS limit; absent when -1 (unlimited) or blank.
    pub limit_iops: Option<u64>,
    pub raw_lun_id: Option<Text>,
    pub raw_compat_mode: Option<Text>,
    pub datacenter: Option<Text>,
    pub cluster: Option<Text>,
    pub host: Option<Text>,
}

/// vPartition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct PartitionRow {
    pub at: RowRef,
    pub vm: VmRef,
    pub disk: Option<Text>,
    pub disk_key: Option<Text>,
    pub capacity: Option<Mib>,
    pub consumed: Option<Mib>,
    pub free: Option<Mib>,
}

/// vSnapshot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct SnapshotRow {
    pub at: RowRef,
    pub vm: VmRef,
    pub name: Option<Text>,
    /// Local time of the exporting machine; the zone is not stored.
    pub taken: Option<DateTime>,
    pub filename: Option<Text>,
    pub size_vmsn: Option<Mib>,
    pub size_total: Option<Mib>,
}

/// vDatastore.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct DatastoreRow {
    pub at: RowRef,
    pub name: Option<Text>,
    /// VMFS: the naa id; NFS: `server /path`.
    pub address: Option<Text>,
    pub accessible: Option<bool>,
    pub kind: Option<Text>,
    pub vms_total: Option<u32>,
    pub vms: Option<u32>,
    pub capacity: Option<Mib>,
    pub provisioned: Option<Mib>,
    pub in_use: Option<Mib>,
    pub free: Option<Mib>,
    pub sioc_enabled: Option<bool>,
    pub sioc_threshold_ms: Option<u32>,
    pub hosts_count: Option<u32>,
    pub hosts: Vec<Text>,
    /// Of the datastore cluster (storage pod): repeated on each member, never summed.
    pub cluster_name: Option<Text>,
    pub cluster_capacity: Option<Mib>,
    pub cluster_free: Option<Mib>,
    pub version: Option<Text>,
    pub multiple_host_access: Option<bool>,
    pub url: Option<Text>,
    pub object_id: Option<Text>,
    pub datacenter: Option<Text>,
    pub sdk: Sdk,
    pub custom: Vec<(Text, Text)>,
}

/// vHost.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct HostRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub datacenter: Option<Text>,
    pub cluster: Option<Text>,
    pub maintenance: Option<bool>,
    pub cpu_model: Option<Text>,
    pub speed_mhz: Option<u32>,
    pub cpus: Option<u32>,
    pub cores: Option<u32>,
    pub cpu_usage_pct: Option<u32>,
    pub memory: Option<Mib>,
    pub memory_usage_pct: Option<u32>,
    pub vms_total: Option<u32>,
    pub vms: Option<u32>,
    pub vcpus: Option<u32>,
    pub vcpus_per_core: Option<f64>,
    pub esx_version: Option<Text>,
    pub vendor: Option<Text>,
    pub model: Option<Text>,
    pub object_id: Option<Text>,
    pub sdk: Sdk,
}

/// vCluster.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct ClusterRow {
    pub at: RowRef,
    pub name: Option<Text>,
    pub hosts: Option<u32>,
    pub effective_hosts: Option<u32>,
    pub total_cpu_mhz: Option<u64>,
    pub total_memory: Option<Mib>,
    pub ha_enabled: Option<bool>,
    pub drs_enabled: Option<bool>,
    pub object_id: Option<Text>,
    pub sdk: Sdk,
}

/// vMultiPath: one row per host and VMFS extent; NFS datastores do not appear.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct MultipathRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub cluster: Option<Text>,
    pub datastore: Option<Text>,
    pub disk: Option<Text>,
    pub policy: Option<Text>,
    pub oper_state: Option<Text>,
    /// (path, state), present paths only.
    pub paths: Vec<(Text, Option<Text>)>,
    pub queue_depth: Option<u32>,
    pub vendor: Option<Text>,
    pub model: Option<Text>,
    pub sdk: Sdk,
}

/// vHBA.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct HbaRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub device: Option<Text>,
    pub kind: Option<Text>,
    pub status: Option<Text>,
    pub driver: Option<Text>,
    pub model: Option<Text>,
    pub sdk: Sdk,
}

/// vNIC: the physical adapters.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct NicRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub device: Option<Text>,
    pub driver: Option<Text>,
    pub speed_mbit: Option<u32>,
    pub switch: Option<Text>,
    pub uplink_port: Option<Text>,
    pub sdk: Sdk,
}

/// vSC_VMK: VMkernel ports.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct VmkernelRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub port_group: Option<Text>,
    pub device: Option<Text>,
    pub ip: Option<Text>,
    pub subnet_mask: Option<Text>,
    pub gateway: Option<Text>,
    pub mtu: Option<u32>,
    pub sdk: Sdk,
}

/// vSwitch: standard switches, one row per host and switch.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct SwitchRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub switch: Option<Text>,
    pub mtu: Option<u32>,
    pub policy: Option<Text>,
    pub sdk: Sdk,
}

/// dvSwitch: distributed switches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct DvSwitchRow {
    pub at: RowRef,
    pub switch: Option<Text>,
    pub max_mtu: Option<u32>,
    pub sdk: Sdk,
}

/// vPort: port groups of standard switches.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct PortRow {
    pub at: RowRef,
    pub host: Option<Text>,
    pub port_group: Option<Text>,
    pub switch: Option<Text>,
    pub vlan: Option<u32>,
    pub sdk: Sdk,
}

/// vSource.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct SourceRow {
    pub at: RowRef,
    pub name: Option<Text>,
    pub version: Option<Text>,
    pub build: Option<Text>,
    pub product: Option<Text>,
    pub sdk: Sdk,
}

/// vMetaData.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "named after the columns")]
pub struct MetadataRow {
    pub at: RowRef,
    pub rvtools_version: Option<Text>,
    /// Local time of the exporting machine.
    pub created: Option<DateTime>,
    pub server: Option<Text>,
}
