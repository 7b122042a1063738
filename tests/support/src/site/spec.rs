//! What a site is made from.

/// Trouble planted for the findings rules to discover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The storage VMkernel port of one host has MTU 1500.
    MtuMismatch,
    /// One path of one host to one LUN is dead.
    DeadPath,
    /// One virtual disk of more than 16 TiB.
    HugeDisk,
    /// One datastore is 94 % full.
    NearlyFull,
    /// Secrets in annotations.
    Secrets,
    /// One host runs another ESXi build.
    MixedBuilds,
    /// A VM on a local datastore.
    VmOnLocal,
    /// One datastore is not accessible.
    Inaccessible,
}

/// Sizes and shares of a site. All counts are exact.
#[derive(Debug, Clone)]
pub struct SiteSpec {
    /// Seed.
    pub seed: u64,
    /// VMs in all, of every kind.
    pub vms: u32,
    /// Of those: templates.
    pub templates: u32,
    /// SRM placeholders.
    pub placeholders: u32,
    /// vCLS VMs.
    pub vcls: u32,
    /// Ordinary VMs that are powered off.
    pub powered_off: u32,
    /// Ordinary, running VMs whose connection state is not `connected`.
    pub orphaned: u32,
    /// VMs with a raw device mapping.
    pub raw: u32,
    /// Pairs of VMs that share a disk.
    pub shared_pairs: u32,
    /// Pairs of VMs that carry the same SMBIOS UUID.
    pub clones: u32,
    /// VMs with snapshots.
    pub with_snapshots: u32,
    /// Hosts.
    pub hosts: u32,
    /// Clusters.
    pub clusters: u32,
    /// vCenters; clusters are dealt out in turn.
    pub vcenters: u32,
    /// Shared VMFS datastores.
    pub vmfs: u32,
    /// NFS datastores.
    pub nfs: u32,
    /// vSAN datastores.
    pub vsan: u32,
    /// One local datastore in each host.
    pub local: bool,
    /// Paths from a host to a LUN: 8 for a wide Fibre Channel fabric.
    pub paths: u32,
    /// VMFS datastores stand in one storage pod.
    pub pod: bool,
    /// One NFS datastore is seen by every vCenter.
    pub shared_between_vcenters: bool,
    /// Weight of databases in the mix, as a multiple of the usual.
    pub databases: u32,
    /// Size of data disks, percent of the usual.
    pub data_pct: u64,
    /// Names of custom attributes.
    pub attributes: Vec<String>,
    /// Planted trouble.
    pub faults: Vec<Fault>,
}

impl SiteSpec {
    /// A plain site of this many VMs with hosts and datastores in proportion.
    #[must_use]
    pub fn plain(vms: u32) -> Self {
        Self {
            seed: 1,
            vms,
            templates: vms / 40,
            placeholders: 0,
            vcls: 0,
            powered_off: vms / 14,
            orphaned: 0,
            raw: 0,
            shared_pairs: 0,
            clones: 0,
            with_snapshots: vms / 16,
            hosts: (vms / 40).max(2),
            clusters: (vms / 600).max(1),
            vcenters: 1,
            vmfs: (vms / 50).max(2),
            nfs: (vms / 100).max(1),
            vsan: 0,
            local: true,
            paths: 4,
            pod: false,
            shared_between_vcenters: false,
            databases: 1,
            data_pct: 100,
            attributes: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// A small site with one of everything that distorts totals.
    #[must_use]
    pub fn awkward() -> Self {
        Self {
            seed: 7,
            vms: 60,
            templates: 3,
            placeholders: 4,
            vcls: 3,
            powered_off: 6,
            orphaned: 1,
            raw: 2,
            shared_pairs: 2,
            clones: 2,
            with_snapshots: 5,
            hosts: 4,
            clusters: 2,
            vcenters: 1,
            vmfs: 3,
            nfs: 2,
            vsan: 1,
            local: true,
            paths: 8,
            pod: true,
            shared_between_vcenters: false,
            databases: 1,
            data_pct: 100,
            attributes: vec!["Owner".into(), "Backup policy".into()],
            faults: vec![Fault::Secrets, Fault::DeadPath, Fault::MtuMismatch, Fault::Inaccessible],
        }
    }

    /// The site of `data/samples`: a mid-size company with a few things to find.
    #[must_use]
    pub fn sample() -> Self {
        Self {
            seed: 20_261_127,
            vms: 232,
            templates: 5,
            placeholders: 0,
            vcls: 3,
            powered_off: 16,
            orphaned: 0,
            raw: 0,
            shared_pairs: 1,
            clones: 3,
            with_snapshots: 19,
            hosts: 4,
            clusters: 1,
            vcenters: 1,
            vmfs: 4,
            nfs: 3,
            vsan: 0,
            local: true,
            paths: 4,
            pod: false,
            shared_between_vcenters: false,
            databases: 12,
            data_pct: 35,
            attributes: vec!["Owner".into()],
            faults: vec![
                Fault::MtuMismatch,
                Fault::DeadPath,
                Fault::HugeDisk,
                Fault::NearlyFull,
                Fault::Secrets,
                Fault::MixedBuilds,
            ],
        }
    }

    /// Whether this trouble is planted.
    #[must_use]
    pub fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }
}
