//! The inventory as the later stages see it.
//!
//! Ids are indices into the vectors of [`Inventory`]; vectors are in a fixed order (first
//! appearance in the input), so that identical input gives identical output.

use jiff::civil::DateTime;
use plimsoll_ingest::rows::{PowerState, RowRef, Text};
use plimsoll_units::Mib;
use serde::{Deserialize, Serialize};

/// Index into [`Inventory::vms`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VmId(pub u32);

/// Index into [`Inventory::datastores`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatastoreId(pub u32);

/// Index into [`Inventory::hosts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(pub u32);

/// Everything known of the site.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Inventory {
    /// Names of the input files; `RowRef::file` indexes this.
    pub files: Vec<String>,
    /// vCenters seen, by UUID or server name.
    pub vcenters: Vec<Text>,
    /// When the inventory was taken (local time of the exporting machine, zone unknown).
    pub taken: Option<DateTime>,
    /// Where that date comes from, in words.
    pub taken_from: String,
    /// Every VM of the input, templates and placeholders included.
    pub vms: Vec<Vm>,
    /// Virtual disks, grouped by VM.
    pub disks: Vec<Disk>,
    /// Datastores, merged across vCenters by address or URL.
    pub datastores: Vec<Datastore>,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Clusters.
    pub clusters: Vec<Cluster>,
    /// Sums over all rows of the input.
    pub totals: Totals,
    /// Who is counted and who is not, and why.
    pub population: Population,
    /// Sums per cluster, host and datastore, in the order of their lists.
    #[serde(default)]
    pub groups: Vec<GroupTotals>,
    /// Rule results.
    pub findings: Vec<Finding>,
    /// Cross-tab checks.
    pub quality: Vec<QualityCheck>,
}

/// Why a VM does not count for performance (its capacity still counts unless stated).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exclusion {
    /// A template.
    Template,
    /// An SRM placeholder: no real storage here, so its capacity does not count either.
    SrmPlaceholder,
    /// A vSphere Cluster Services VM.
    Vcls,
    /// Powered off.
    PoweredOff,
    /// Connection state is not `connected`.
    Orphaned,
}

/// Which column a VM's used space came from, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UsedSource {
    /// vInfo `In Use`.
    InUse,
    /// Sum of vPartition `Consumed`.
    PartitionConsumed,
    /// Sum of vDisk `Capacity`.
    DiskCapacity,
    /// vInfo `Provisioned`.
    Provisioned,
    /// Nothing usable: the VM counts with no space, and a problem says so.
    Unknown,
}

/// Keys of a VM as found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VmIds {
    /// `VM UUID`: unique from RVTools 4.3.1 on, before it clones share it.
    pub uuid: Option<Text>,
    /// `VM ID`: unique within its vCenter.
    pub id: Option<Text>,
    /// vCenter by `VI SDK UUID`.
    pub vcenter_uuid: Option<Text>,
    /// vCenter by `VI SDK Server`.
    pub vcenter: Option<Text>,
}

/// One VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Vm {
    /// Name as found; not unique.
    pub name: Text,
    /// Identity: `uuid:…`, `vc:<sdk uuid>/<vm id>` or `name:…`.
    pub key: String,
    /// The keys that other files may name it by.
    #[serde(default)]
    pub ids: VmIds,
    /// Row in vInfo.
    pub at: RowRef,
    /// Power state, when known.
    pub power: Option<PowerState>,
    /// Why it does not count for performance; `None` when it counts.
    pub exclusion: Option<Exclusion>,
    /// vCPUs.
    pub cpus: Option<u32>,
    /// Memory.
    pub memory: Option<Mib>,
    /// vInfo `Provisioned`.
    pub provisioned: Option<Mib>,
    /// Space taken on datastores.
    pub used: Mib,
    /// Where `used` comes from.
    pub used_source: UsedSource,
    /// Sum of the capacities of its virtual disks (vDisk, else vInfo `Total disk capacity`).
    pub disk_capacity: Option<Mib>,
    /// Sum of vPartition `Consumed`, when Tools reported it.
    pub partition_consumed: Option<Mib>,
    /// Space in snapshots.
    pub snapshots: Mib,
    /// Largest single virtual disk.
    pub largest_disk: Option<Mib>,
    /// Range of its disks in [`Inventory::disks`]: first and one past the last.
    pub disks: (u32, u32),
    /// Datastores it has files on: of its configuration file first.
    pub datastores: Vec<DatastoreId>,
    /// Cluster name.
    pub cluster: Option<Text>,
    /// Host it is registered on.
    pub host: Option<HostId>,
    /// Guest OS: Tools' word if present, else the configuration's.
    pub os: Option<Text>,
    /// Names of DRS rules it is under.
    pub rules: Vec<Text>,
    /// Custom attributes and tags.
    pub custom: Vec<(Text, Text)>,
}

/// One virtual disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Its VM.
    pub vm: VmId,
    /// Row in vDisk.
    pub at: RowRef,
    /// Label, such as `Hard disk 1`.
    pub label: Text,
    /// Configured size.
    pub capacity: Mib,
    /// Datastore, from the path.
    pub datastore: Option<DatastoreId>,
    /// Raw device mapping: not on the datastore.
    pub raw: bool,
    /// Shared between VMs (multi-writer or shared bus).
    pub shared: bool,
    /// For a shared disk, true on every listing but the first: its capacity is counted once.
    pub duplicate: bool,
    /// Thin provisioned.
    pub thin: Option<bool>,
}

/// What kind of datastore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatastoreKind {
    /// VMFS on a LUN.
    Vmfs,
    /// NFS version 3.
    Nfs,
    /// NFS version 4.1.
    Nfs41,
    /// vSAN.
    Vsan,
    /// Virtual volumes.
    Vvol,
    /// Something else or not stated.
    Other,
}

/// One datastore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Datastore {
    /// Name (of the first sighting).
    pub name: Text,
    /// Identity: `addr:…`, `url:…`, `vc:<sdk uuid>/<object id>` or `name:…`.
    pub key: String,
    /// Rows in vDatastore: more than one when several vCenters see it.
    pub at: Vec<RowRef>,
    /// Kind.
    pub kind: DatastoreKind,
    /// Address as found.
    pub address: Option<Text>,
    /// For NFS: the server part of the address.
    pub nfs_server: Option<Text>,
    /// False when `Accessible` says so: its capacity is not trusted.
    pub accessible: bool,
    /// Seen by a single host and not multi-access.
    pub local: bool,
    /// Capacity.
    pub capacity: Option<Mib>,
    /// Provisioned.
    pub provisioned: Option<Mib>,
    /// In use.
    pub in_use: Option<Mib>,
    /// Free.
    pub free: Option<Mib>,
    /// Hosts that mount it.
    pub hosts: Vec<HostId>,
    /// Datastore cluster (storage pod).
    pub pod: Option<Text>,
    /// Tier hint read from the name (a suggestion to confirm), such as `2 IOPS/GB`.
    pub tier_hint: Option<String>,
    /// VMs with files on it.
    pub vms: Vec<VmId>,
}

/// One host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Name.
    pub name: Text,
    /// Row in vHost; absent when only other tabs mention it.
    pub at: Option<RowRef>,
    /// Cluster name.
    pub cluster: Option<Text>,
    /// ESXi version text, such as `VMware ESXi 8.0.2 build-22380479`.
    pub esx_version: Option<Text>,
    /// `8.0.2` parsed out of it.
    pub version: Option<String>,
    /// In maintenance mode.
    pub maintenance: bool,
    /// Sockets, cores, MHz per core.
    pub cores: Option<u32>,
    /// Core clock, MHz.
    pub speed_mhz: Option<u32>,
    /// Memory.
    pub memory: Option<Mib>,
    /// Fastest physical NIC, Mbit/s.
    pub fastest_nic_mbit: Option<u32>,
    /// Server model.
    pub model: Option<Text>,
}

/// One cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// Name.
    pub name: Text,
    /// Hosts in it.
    pub hosts: Vec<HostId>,
    /// HA enabled, when known.
    pub ha: Option<bool>,
}

/// Sums over all rows of the input that are VMs or datastores, before exclusions, local and
/// inaccessible datastores included.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Rows of vInfo that are VMs.
    pub vms_in_file: u64,
    /// VMs that count for performance, after exclusions.
    pub vms_counted: u64,
    /// Templates.
    pub templates: u64,
    /// Powered off (templates not counted again).
    pub powered_off: u64,
    /// Rows of vDisk.
    pub disks: u64,
    /// Datastores after merging.
    pub datastores: u64,
    /// Hosts.
    pub hosts: u64,
    /// Sum of vInfo `Provisioned`, MiB.
    pub provisioned_mib: u64,
    /// Sum of vInfo `In Use`, MiB.
    pub in_use_mib: u64,
    /// Sum of vDisk `Capacity`, MiB.
    pub disk_capacity_mib: u64,
    /// Sum of vPartition `Consumed`, MiB.
    pub partition_consumed_mib: u64,
    /// Sum of vDatastore `Capacity`, MiB.
    pub datastore_capacity_mib: u64,
    /// Sum of vDatastore `In Use`, MiB.
    pub datastore_in_use_mib: u64,
}

/// One step from the file to what counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PopulationStep {
    /// What was taken out.
    pub reason: Exclusion,
    /// VMs.
    pub vms: u64,
    /// Their used space.
    pub used: Mib,
    /// Whether that space still counts for capacity.
    pub capacity_counts: bool,
}

/// From all VMs in the file to those that count.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Population {
    /// VMs in the file.
    pub in_file: u64,
    /// What was taken out, in a fixed order.
    pub steps: Vec<PopulationStep>,
    /// VMs that count for performance.
    pub counted: u64,
}

/// What VMs are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupKind {
    /// Cluster name; VMs outside a cluster are under an empty name.
    Cluster,
    /// Host name.
    Host,
    /// Datastore. A VM on several datastores is in each; its used space is divided between them
    /// by the size of its disks there.
    Datastore,
}

/// Sums over the VMs of one group, templates and powered-off VMs included, placeholders not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupTotals {
    /// What the group is.
    pub kind: GroupKind,
    /// Its name.
    pub name: Text,
    /// VMs.
    pub vms: u64,
    /// Of these, VMs that count for performance.
    pub counted: u64,
    /// Used space.
    pub used: Mib,
    /// Sum of the virtual disks (in a datastore: of those on it, shared disks once).
    pub disk_capacity: Mib,
}

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// Stops the plan or the migration until it is dealt with.
    Stops,
    /// Needs care.
    Care,
    /// Worth knowing.
    Note,
    /// Checked and in order.
    Passed,
}

/// Result of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Stable kebab-case id of the rule.
    pub id: String,
    /// Severity.
    pub severity: FindingSeverity,
    /// The fact, one sentence with numbers.
    pub fact: String,
    /// What to do and what it saves, one or two sentences.
    pub advice: String,
    /// Where the rule comes from.
    pub source: String,
    /// Rows the fact stands on, with the tab; at most 200.
    pub evidence: Vec<Evidence>,
    /// How many rows there are in all.
    pub evidence_total: u64,
}

/// One row a finding stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// File name.
    pub file: String,
    /// Tab.
    pub tab: String,
    /// 1-based row.
    pub row: u32,
    /// Object and value, such as `db-01: 3 snapshots, 48 days`.
    pub what: String,
}

/// One cross-tab check of the data-quality card.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QualityCheck {
    /// Stable kebab-case id.
    pub id: String,
    /// What was compared.
    pub what: String,
    /// Result in words, with numbers.
    pub result: String,
    /// Whether it is as expected.
    pub ok: bool,
}
