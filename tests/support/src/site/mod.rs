//! The synthetic site: what a vCenter would know, before any file format.
//!
//! Sizes are MiB. Indices point into the vectors of [`Site`].

mod build;
mod disks;
mod profile;
mod spec;
mod storage;
mod totals;

pub use spec::{Fault, SiteSpec};
pub use totals::Totals;

use crate::stamp::Stamp;

/// A whole site.
#[derive(Debug, Clone)]
pub struct Site {
    /// What it was made from.
    pub spec: SiteSpec,
    /// When the inventory was taken.
    pub taken: Stamp,
    /// vCenters.
    pub vcenters: Vec<Vcenter>,
    /// Clusters.
    pub clusters: Vec<Cluster>,
    /// Hosts.
    pub hosts: Vec<Host>,
    /// Datastores, each once, even when two vCenters see it.
    pub datastores: Vec<Datastore>,
    /// VMs of every kind.
    pub vms: Vec<Vm>,
    /// Names of custom attributes of VMs; `Vm::attributes` runs parallel.
    pub vm_attributes: Vec<String>,
}

/// A vCenter.
#[derive(Debug, Clone)]
pub struct Vcenter {
    /// Server name.
    pub server: String,
    /// Instance UUID.
    pub uuid: String,
}

/// A cluster.
#[derive(Debug, Clone)]
pub struct Cluster {
    /// Name.
    pub name: String,
    /// Datacenter.
    pub datacenter: String,
    /// vCenter.
    pub vcenter: usize,
    /// Managed object id.
    pub id: String,
}

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    /// Name.
    pub name: String,
    /// Cluster.
    pub cluster: usize,
    /// Managed object id.
    pub id: String,
    /// ESXi version text.
    pub esx: &'static str,
    /// Physical cores.
    pub cores: u32,
    /// Memory.
    pub memory: u64,
    /// MTU of the storage VMkernel port.
    pub storage_mtu: u32,
    /// MTU of the storage switch.
    pub switch_mtu: u32,
    /// Driver of the storage NICs.
    pub nic_driver: &'static str,
    /// Speed of the storage NICs, Mbit/s.
    pub nic_mbit: u32,
    /// Number of its storage address in the storage subnet.
    pub address: u32,
}

/// Kind of a datastore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatastoreKind {
    /// VMFS on a shared LUN.
    Vmfs,
    /// NFS version 3.
    Nfs,
    /// vSAN.
    Vsan,
    /// VMFS on a disk inside one host.
    Local,
}

/// A datastore.
#[derive(Debug, Clone)]
pub struct Datastore {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: DatastoreKind,
    /// naa id, or `server /path`.
    pub address: String,
    /// URL.
    pub url: String,
    /// Managed object id.
    pub id: String,
    /// vCenters that see it.
    pub vcenters: Vec<usize>,
    /// Hosts that mount it.
    pub hosts: Vec<usize>,
    /// Storage pod with its capacity and free space, the same on each member.
    pub pod: Option<(String, u64, u64)>,
    /// Capacity.
    pub capacity: u64,
    /// Provisioned.
    pub provisioned: u64,
    /// In use.
    pub in_use: u64,
    /// VMs with files on it, and those of them that run.
    pub vms: (u32, u32),
    /// Mounted and reachable.
    pub accessible: bool,
    /// Host (index into `hosts`) with a dead path to it.
    pub dead_path_on: Option<usize>,
}

/// What a VM is to a sizing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VmKind {
    /// Carries load when it runs.
    Ordinary,
    /// Template.
    Template,
    /// SRM placeholder.
    Placeholder,
    /// vSphere Cluster Services VM.
    Vcls,
}

/// A VM.
#[derive(Debug, Clone)]
pub struct Vm {
    /// Name.
    pub name: String,
    /// Kind.
    pub kind: VmKind,
    /// Running.
    pub on: bool,
    /// Connection state is `connected`.
    pub connected: bool,
    /// Managed object id.
    pub id: String,
    /// vCenter instance UUID: unique.
    pub uuid: String,
    /// SMBIOS UUID: clones share it.
    pub smbios: String,
    /// Host.
    pub host: usize,
    /// Datastore of its configuration file.
    pub datastore: usize,
    /// vCPUs.
    pub cpus: u32,
    /// Memory.
    pub memory: u64,
    /// Virtual disks.
    pub disks: Vec<Disk>,
    /// Guest file systems; empty without Tools.
    pub partitions: Vec<Partition>,
    /// Snapshots.
    pub snapshots: Vec<Snapshot>,
    /// Storage committed and uncommitted.
    pub provisioned: u64,
    /// Storage committed.
    pub in_use: u64,
    /// Storage not shared with another VM.
    pub unshared: u64,
    /// Guest OS of the configuration file.
    pub os_config: &'static str,
    /// Guest OS as Tools see it; empty without Tools.
    pub os_tools: &'static str,
    /// Folder.
    pub folder: &'static str,
    /// Annotation.
    pub annotation: String,
    /// Values of the custom attributes.
    pub attributes: Vec<String>,
    /// DRS rule it is under.
    pub rule: Option<String>,
    /// When it was made.
    pub created: Stamp,
}

/// A virtual disk.
#[derive(Debug, Clone)]
pub struct Disk {
    /// Number, from 1.
    pub number: u32,
    /// Configured size.
    pub capacity: u64,
    /// Space taken on the datastore.
    pub used: u64,
    /// Datastore.
    pub datastore: usize,
    /// File name part of the path, under the VM's folder.
    pub file: String,
    /// UUID; the same on both listings of a shared disk.
    pub uuid: String,
    /// Thin provisioned.
    pub thin: bool,
    /// Raw device mapping: LUN id.
    pub raw_lun: Option<String>,
    /// Shared between VMs (multi-writer).
    pub shared: bool,
}

/// A guest file system.
#[derive(Debug, Clone)]
pub struct Partition {
    /// Mount point or drive.
    pub name: String,
    /// Key of the virtual disk, when known.
    pub disk_key: Option<u32>,
    /// Size.
    pub capacity: u64,
    /// Used.
    pub consumed: u64,
}

/// A snapshot.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Name.
    pub name: String,
    /// When it was taken.
    pub taken: Stamp,
    /// Memory image.
    pub vmsn: u64,
    /// Memory image and delta disks.
    pub total: u64,
}

impl Site {
    /// Makes the site.
    #[must_use]
    pub fn new(spec: SiteSpec) -> Self {
        build::build(spec)
    }

    /// vCenter of a host.
    #[must_use]
    pub fn vcenter_of_host(&self, host: usize) -> usize {
        self.clusters[self.hosts[host].cluster].vcenter
    }

    /// The part of the site that one vCenter sees, as an export of that vCenter alone.
    #[must_use]
    pub fn of_vcenter(&self, vcenter: usize) -> View<'_> {
        View { site: self, vcenter: Some(vcenter) }
    }

    /// All vCenters in one export.
    #[must_use]
    pub fn whole(&self) -> View<'_> {
        View { site: self, vcenter: None }
    }
}

/// A site, or what one of its vCenters sees of it.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The site.
    pub site: &'a Site,
    /// Only this vCenter.
    pub vcenter: Option<usize>,
}

impl<'a> View<'a> {
    /// vCenters in view, in order.
    pub fn vcenters(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.site.vcenters.len()).filter(move |index| self.sees(*index))
    }

    /// Whether this vCenter is in view.
    #[must_use]
    pub fn sees(self, vcenter: usize) -> bool {
        self.vcenter.is_none_or(|only| only == vcenter)
    }

    /// Hosts in view.
    pub fn hosts(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.site.hosts.len()).filter(move |host| self.sees(self.site.vcenter_of_host(*host)))
    }

    /// VMs in view.
    pub fn vms(self) -> impl Iterator<Item = &'a Vm> + 'a {
        self.site.vms.iter().filter(move |vm| self.sees(self.site.vcenter_of_host(vm.host)))
    }
}
