//! Which column fills which field, tab by tab, and what is lost when a column is absent.

use crate::export::Export;
use crate::rows::{
    ClusterRow, DatastoreRow, DiskRow, DvSwitchRow, HbaRow, HostRow, MemoryRow, MetadataRow,
    MultipathRow, NicRow, PartitionRow, PortRow, RowRef, SnapshotRow, SourceRow, SwitchRow, Text,
    VmRow, VmkernelRow,
};
use crate::tab::Tab;
use crate::table::{
    Field::{
        Count, Date, Decimal, Flag, List, Mib, Path, PathState, Percent, Power, Prose,
        Text as Word, Unique, Wide,
    },
    Place, Sink, TabRow, Table, Wanted,
};

/// The sink for a tab.
pub(crate) fn sink_for(place: Place) -> Box<dyn Sink> {
    match place.tab {
        Tab::Info => Box::new(Table::<VmRow>::new(place)),
        Tab::Memory => Box::new(Table::<MemoryRow>::new(place)),
        Tab::Disk => Box::new(Table::<DiskRow>::new(place)),
        Tab::Partition => Box::new(Table::<PartitionRow>::new(place)),
        Tab::Snapshot => Box::new(Table::<SnapshotRow>::new(place)),
        Tab::Datastore => Box::new(Table::<DatastoreRow>::new(place)),
        Tab::Host => Box::new(Table::<HostRow>::new(place)),
        Tab::Cluster => Box::new(Table::<ClusterRow>::new(place)),
        Tab::MultiPath => Box::new(Table::<MultipathRow>::new(place)),
        Tab::Hba => Box::new(Table::<HbaRow>::new(place)),
        Tab::Nic => Box::new(Table::<NicRow>::new(place)),
        Tab::VmKernel => Box::new(Table::<VmkernelRow>::new(place)),
        Tab::Switch => Box::new(Table::<SwitchRow>::new(place)),
        Tab::DvSwitch => Box::new(Table::<DvSwitchRow>::new(place)),
        Tab::Port => Box::new(Table::<PortRow>::new(place)),
        Tab::Source => Box::new(Table::<SourceRow>::new(place)),
        Tab::MetaData => Box::new(Table::<MetadataRow>::new(place)),
        Tab::Cpu | Tab::Tools | Tab::Network => Box::new(Table::<NameRow>::new(place)),
    }
}

/// Implements [`TabRow`] for a row: the list of the export it goes to, its key, the columns missed
/// when absent, and its columns.
macro_rules! tab_row {
    ($row:ty, $list:ident, key: $key:expr, wanted: [$($wanted:expr),* $(,)?], columns: [$($column:expr),* $(,)?] $(, $extra:item)*) => {
        impl TabRow for $row {
            const COLUMNS: &'static [(&'static str, crate::table::Field<Self>)] = &[$($column),*];
            const WANTED: &'static [Wanted] = &[$($wanted),*];
            fn at(&mut self) -> &mut RowRef {
                &mut self.at
            }
            fn has_key(&self) -> bool {
                let key: fn(&Self) -> bool = $key;
                key(self)
            }
            fn store(mut rows: Vec<Self>, _tab: Tab, export: &mut Export) {
                if export.$list.is_empty() {
                    export.$list = rows;
                } else {
                    export.$list.append(&mut rows);
                }
            }
            $($extra)*
        }
    };
}

const fn wanted(any_of: &'static [&'static str], loss: &'static str) -> Wanted {
    Wanted { any_of, loss }
}

tab_row!(
    VmRow, vms,
    key: |row| row.vm.name.is_some() || row.vm.id.is_some(),
    wanted: [
        wanted(&["VM"], "VMs are told apart by VM ID only"),
        wanted(&["Powerstate"], "powered-off VMs cannot be told from running ones: all count for performance"),
        wanted(&["Template"], "templates cannot be told from VMs: all count for performance"),
        wanted(&["Provisioned MiB"], "provisioned space is taken from vDisk"),
        wanted(&["In Use MiB"], "used space is taken from vPartition, then from vDisk"),
        wanted(&["VM ID", "VM UUID"], "VMs are matched between tabs by name, which need not be unique"),
        wanted(&["Cluster"], "VMs cannot be grouped by cluster"),
        wanted(&["Host"], "VMs cannot be placed on hosts"),
        wanted(&["OS according to the configuration file", "OS according to the VMware Tools"],
            "workload classes are found by VM name only"),
        wanted(&["VI SDK UUID", "VI SDK Server"], "all rows are taken for one vCenter"),
        wanted(&["SRM Placeholder"],
            "SRM placeholders cannot be told from VMs: their space and load count (RVTools lists them from 4.1.2 on)"),
        wanted(&["Path"], "a VM without a disk path in vDisk has no datastore"),
        wanted(&["CPUs"], "workload classes are found without the number of vCPUs"),
        wanted(&["Memory"], "memory of VMs, and so their swap space, is unknown"),
    ],
    columns: [
        ("VM", Unique(|r| &mut r.vm.name)),
        ("Powerstate", Power(|r| &mut r.powerstate)),
        ("Template", Flag(|r| &mut r.template)),
        ("SRM Placeholder", Flag(|r| &mut r.srm_placeholder)),
        ("Connection state", Word(|r| &mut r.connection_state)),
        ("Creation date", Date(|r| &mut r.creation_date)),
        ("CPUs", Count(|r| &mut r.cpus)),
        ("Memory", Mib(|r| &mut r.memory)),
        ("Disks", Count(|r| &mut r.disks)),
        ("Total disk capacity MiB", Mib(|r| &mut r.total_disk_capacity)),
        ("Latency Sensitivity", Word(|r| &mut r.latency_sensitivity)),
        ("Resource pool", Word(|r| &mut r.resource_pool)),
        ("Folder", Word(|r| &mut r.folder)),
        ("Provisioned MiB", Mib(|r| &mut r.provisioned)),
        ("In Use MiB", Mib(|r| &mut r.in_use)),
        ("Unshared MiB", Mib(|r| &mut r.unshared)),
        ("Cluster rule(s)", Word(|r| &mut r.cluster_rules)),
        ("Cluster rule name(s)", Word(|r| &mut r.cluster_rule_names)),
        ("HW version", Word(|r| &mut r.hw_version)),
        ("Path", Unique(|r| &mut r.path)),
        ("Annotation", Prose(|r| &mut r.annotation)),
        ("Datacenter", Word(|r| &mut r.datacenter)),
        ("Cluster", Word(|r| &mut r.cluster)),
        ("Host", Word(|r| &mut r.host)),
        ("OS according to the configuration file", Word(|r| &mut r.os_config)),
        ("OS according to the VMware Tools", Word(|r| &mut r.os_tools)),
        ("VM ID", Unique(|r| &mut r.vm.id)),
        ("SMBIOS UUID", Unique(|r| &mut r.smbios_uuid)),
        ("VM UUID", Unique(|r| &mut r.vm.uuid)),
        ("VI SDK Server type", Word(|r| &mut r.sdk_server_type)),
        ("VI SDK Server", Word(|r| &mut r.vm.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.vm.sdk.uuid)),
    ],
    fn custom(&mut self) -> Option<&mut Vec<(Text, Text)>> { Some(&mut self.custom) }
);

tab_row!(
    MemoryRow, memories,
    key: |row| row.vm.name.is_some() || row.vm.id.is_some(),
    wanted: [wanted(&["VM"], "rows cannot be matched to VMs by name")],
    columns: [
        ("VM", Unique(|r| &mut r.vm.name)),
        ("Size MiB", Mib(|r| &mut r.size)),
        ("Consumed", Mib(|r| &mut r.consumed)),
        ("VM ID", Unique(|r| &mut r.vm.id)),
        ("VM UUID", Unique(|r| &mut r.vm.uuid)),
        ("VI SDK Server", Word(|r| &mut r.vm.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.vm.sdk.uuid)),
    ]
);

tab_row!(
    DiskRow, disks,
    key: |row| row.vm.name.is_some() || row.vm.id.is_some(),
    wanted: [
        wanted(&["VM"], "disks cannot be matched to VMs by name"),
        wanted(&["Capacity MiB"], "disk sizes are unknown"),
        wanted(&["Path"], "the datastore of each disk is unknown: the VM's own path is used"),
        wanted(&["Raw"], "raw device mappings cannot be told from virtual disks"),
        wanted(&["Thin"], "thin and thick disks cannot be told apart"),
    ],
    columns: [
        ("VM", Word(|r| &mut r.vm.name)),
        ("Powerstate", Power(|r| &mut r.powerstate)),
        ("Template", Flag(|r| &mut r.template)),
        ("SRM Placeholder", Flag(|r| &mut r.srm_placeholder)),
        ("Disk", Word(|r| &mut r.disk)),
        ("Disk Key", Word(|r| &mut r.disk_key)),
        ("Disk UUID", Unique(|r| &mut r.disk_uuid)),
        ("Disk Path", Word(|r| &mut r.guest_paths)),
        ("Capacity MiB", Mib(|r| &mut r.capacity)),
        ("Raw", Flag(|r| &mut r.raw)),
        ("Disk Mode", Word(|r| &mut r.disk_mode)),
        ("Sharing mode", Word(|r| &mut r.sharing_mode)),
        ("Thin", Flag(|r| &mut r.thin)),
        ("Eagerly Scrub", Flag(|r| &mut r.eagerly_scrub)),
        ("Limit", Wide(|r| &mut r.limit_iops)),
        ("Controller", Word(|r| &mut r.controller)),
        ("Shared Bus", Word(|r| &mut r.shared_bus)),
        ("Path", Unique(|r| &mut r.path)),
        ("Raw LUN ID", Word(|r| &mut r.raw_lun_id)),
        ("Raw Comp. Mode", Word(|r| &mut r.raw_compat_mode)),
        ("Datacenter", Word(|r| &mut r.datacenter)),
        ("Cluster", Word(|r| &mut r.cluster)),
        ("Host", Word(|r| &mut r.host)),
        ("VM ID", Word(|r| &mut r.vm.id)),
        ("VM UUID", Word(|r| &mut r.vm.uuid)),
        ("VI SDK Server", Word(|r| &mut r.vm.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.vm.sdk.uuid)),
    ]
);

tab_row!(
    PartitionRow, partitions,
    key: |row| row.vm.name.is_some() || row.vm.id.is_some(),
    wanted: [
        wanted(&["VM"], "partitions cannot be matched to VMs by name"),
        wanted(&["Capacity MiB"], "guest file system sizes are unknown"),
        wanted(&["Consumed MiB"], "space used inside guests is unknown"),
    ],
    columns: [
        ("VM", Word(|r| &mut r.vm.name)),
        ("Disk Key", Word(|r| &mut r.disk_key)),
        ("Disk", Word(|r| &mut r.disk)),
        ("Capacity MiB", Mib(|r| &mut r.capacity)),
        ("Consumed MiB", Mib(|r| &mut r.consumed)),
        ("Free MiB", Mib(|r| &mut r.free)),
        ("VM ID", Word(|r| &mut r.vm.id)),
        ("VM UUID", Word(|r| &mut r.vm.uuid)),
        ("VI SDK Server", Word(|r| &mut r.vm.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.vm.sdk.uuid)),
    ]
);

tab_row!(
    SnapshotRow, snapshots,
    key: |row| row.vm.name.is_some() || row.vm.id.is_some(),
    wanted: [
        wanted(&["VM"], "snapshots cannot be matched to VMs by name"),
        wanted(&["Date / time"], "the age of snapshots is unknown"),
        wanted(&["Size MiB (total)"], "the size of snapshots is unknown"),
    ],
    columns: [
        ("VM", Word(|r| &mut r.vm.name)),
        ("Name", Prose(|r| &mut r.name)),
        ("Date / time", Date(|r| &mut r.taken)),
        ("Filename", Unique(|r| &mut r.filename)),
        ("Size MiB (vmsn)", Mib(|r| &mut r.size_vmsn)),
        ("Size MiB (total)", Mib(|r| &mut r.size_total)),
        ("VM ID", Word(|r| &mut r.vm.id)),
        ("VM UUID", Word(|r| &mut r.vm.uuid)),
        ("VI SDK Server", Word(|r| &mut r.vm.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.vm.sdk.uuid)),
    ]
);

tab_row!(
    DatastoreRow, datastores,
    key: |row| row.name.is_some(),
    wanted: [
        wanted(&["Name"], "the tab cannot be used"),
        wanted(&["Capacity MiB"], "datastore sizes are unknown"),
        wanted(&["In Use MiB", "Free MiB"], "used space of datastores is unknown"),
        wanted(&["Type"], "VMFS, NFS and vSAN cannot be told apart"),
        wanted(&["Accessible"], "inaccessible datastores cannot be told apart"),
        wanted(&["Hosts"], "the hosts of a datastore are known from the VMs on it only"),
        wanted(&["Hosts", "# Hosts"], "local datastores cannot be told from shared ones"),
        wanted(&["Address", "URL"], "one datastore seen from two vCenters cannot be recognised"),
    ],
    columns: [
        ("Name", Unique(|r| &mut r.name)),
        ("Address", Unique(|r| &mut r.address)),
        ("Accessible", Flag(|r| &mut r.accessible)),
        ("Type", Word(|r| &mut r.kind)),
        ("# VMs total", Count(|r| &mut r.vms_total)),
        ("# VMs", Count(|r| &mut r.vms)),
        ("Capacity MiB", Mib(|r| &mut r.capacity)),
        ("Provisioned MiB", Mib(|r| &mut r.provisioned)),
        ("In Use MiB", Mib(|r| &mut r.in_use)),
        ("Free MiB", Mib(|r| &mut r.free)),
        ("SIOC enabled", Flag(|r| &mut r.sioc_enabled)),
        ("SIOC Threshold", Count(|r| &mut r.sioc_threshold_ms)),
        ("# Hosts", Count(|r| &mut r.hosts_count)),
        ("Hosts", List(|r| &mut r.hosts)),
        ("Cluster name", Word(|r| &mut r.cluster_name)),
        ("Cluster capacity MiB", Mib(|r| &mut r.cluster_capacity)),
        ("Cluster free space MiB", Mib(|r| &mut r.cluster_free)),
        ("Version", Word(|r| &mut r.version)),
        ("MHA", Flag(|r| &mut r.multiple_host_access)),
        ("URL", Unique(|r| &mut r.url)),
        ("Object ID", Unique(|r| &mut r.object_id)),
        ("Datacenter", Word(|r| &mut r.datacenter)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ],
    fn custom(&mut self) -> Option<&mut Vec<(Text, Text)>> { Some(&mut self.custom) },
    fn contradiction(&self) -> Option<(&'static str, String, String)> {
        let (capacity, in_use, free) = (self.capacity?.0, self.in_use?.0, self.free?.0);
        // Of an inaccessible datastore the sizes mean nothing.
        if self.accessible == Some(false) {
            return None;
        }
        let sum = in_use.saturating_add(free);
        // More than 1 % apart; RVTools itself rounds by at most 1 MiB.
        (capacity.abs_diff(sum) > (capacity / 100).max(1)).then(|| {
            (
                "Capacity MiB",
                format!("capacity {capacity}, in use {in_use}, free {free}"),
                "capacity = in use + free, within 1 %".to_owned(),
            )
        })
    }
);

tab_row!(
    HostRow, hosts,
    key: |row| row.host.is_some(),
    wanted: [
        wanted(&["Host"], "the tab cannot be used"),
        wanted(&["Cluster"], "hosts cannot be grouped by cluster"),
        wanted(&["ESX Version"], "limits that depend on the ESXi version are those of the newest"),
    ],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Datacenter", Word(|r| &mut r.datacenter)),
        ("Cluster", Word(|r| &mut r.cluster)),
        ("in Maintenance Mode", Flag(|r| &mut r.maintenance)),
        ("CPU Model", Word(|r| &mut r.cpu_model)),
        ("Speed", Count(|r| &mut r.speed_mhz)),
        ("# CPU", Count(|r| &mut r.cpus)),
        ("# Cores", Count(|r| &mut r.cores)),
        ("CPU usage %", Percent(|r| &mut r.cpu_usage_pct)),
        ("# Memory", Mib(|r| &mut r.memory)),
        ("Memory usage %", Percent(|r| &mut r.memory_usage_pct)),
        ("# VMs total", Count(|r| &mut r.vms_total)),
        ("# VMs", Count(|r| &mut r.vms)),
        ("# vCPUs", Count(|r| &mut r.vcpus)),
        ("vCPUs per Core", Decimal(|r| &mut r.vcpus_per_core)),
        ("ESX Version", Word(|r| &mut r.esx_version)),
        ("Vendor", Word(|r| &mut r.vendor)),
        ("Model", Word(|r| &mut r.model)),
        ("Object ID", Word(|r| &mut r.object_id)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    ClusterRow, clusters,
    key: |row| row.name.is_some(),
    wanted: [wanted(&["Name"], "the tab cannot be used")],
    columns: [
        ("Name", Word(|r| &mut r.name)),
        ("NumHosts", Count(|r| &mut r.hosts)),
        ("numEffectiveHosts", Count(|r| &mut r.effective_hosts)),
        ("TotalCpu", Wide(|r| &mut r.total_cpu_mhz)),
        ("TotalMemory", Mib(|r| &mut r.total_memory)),
        ("HA enabled", Flag(|r| &mut r.ha_enabled)),
        ("DRS enabled", Flag(|r| &mut r.drs_enabled)),
        ("Object ID", Word(|r| &mut r.object_id)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    MultipathRow, multipaths,
    key: |row| row.host.is_some(),
    wanted: [
        wanted(&["Host"], "the tab cannot be used"),
        wanted(&["Policy"], "path policies are unknown"),
        wanted(&["Path 1"], "paths are unknown"),
    ],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Cluster", Word(|r| &mut r.cluster)),
        ("Datastore", Word(|r| &mut r.datastore)),
        ("Disk", Word(|r| &mut r.disk)),
        ("Policy", Word(|r| &mut r.policy)),
        ("Oper. State", Word(|r| &mut r.oper_state)),
        ("Path 1", Path(|r| &mut r.paths)),
        ("Path 1 state", PathState(|r| &mut r.paths)),
        ("Path 2", Path(|r| &mut r.paths)),
        ("Path 2 state", PathState(|r| &mut r.paths)),
        ("Path 3", Path(|r| &mut r.paths)),
        ("Path 3 state", PathState(|r| &mut r.paths)),
        ("Path 4", Path(|r| &mut r.paths)),
        ("Path 4 state", PathState(|r| &mut r.paths)),
        ("Path 5", Path(|r| &mut r.paths)),
        ("Path 5 state", PathState(|r| &mut r.paths)),
        ("Path 6", Path(|r| &mut r.paths)),
        ("Path 6 state", PathState(|r| &mut r.paths)),
        ("Path 7", Path(|r| &mut r.paths)),
        ("Path 7 state", PathState(|r| &mut r.paths)),
        ("Path 8", Path(|r| &mut r.paths)),
        ("Path 8 state", PathState(|r| &mut r.paths)),
        ("Queue depth", Count(|r| &mut r.queue_depth)),
        ("Vendor", Word(|r| &mut r.vendor)),
        ("Model", Word(|r| &mut r.model)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    HbaRow, hbas,
    key: |row| row.host.is_some(),
    wanted: [wanted(&["Host"], "the tab cannot be used")],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Device", Word(|r| &mut r.device)),
        ("Type", Word(|r| &mut r.kind)),
        ("Status", Word(|r| &mut r.status)),
        ("Driver", Word(|r| &mut r.driver)),
        ("Model", Word(|r| &mut r.model)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    NicRow, nics,
    key: |row| row.host.is_some(),
    wanted: [wanted(&["Host"], "the tab cannot be used")],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Network Device", Word(|r| &mut r.device)),
        ("Driver", Word(|r| &mut r.driver)),
        ("Speed", Count(|r| &mut r.speed_mbit)),
        ("Switch", Word(|r| &mut r.switch)),
        ("Uplink port", Word(|r| &mut r.uplink_port)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    VmkernelRow, vmkernels,
    key: |row| row.host.is_some(),
    wanted: [wanted(&["Host"], "the tab cannot be used")],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Port Group", Word(|r| &mut r.port_group)),
        ("Device", Word(|r| &mut r.device)),
        ("IP Address", Word(|r| &mut r.ip)),
        ("Subnet mask", Word(|r| &mut r.subnet_mask)),
        ("Gateway", Word(|r| &mut r.gateway)),
        ("MTU", Count(|r| &mut r.mtu)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    SwitchRow, switches,
    key: |row| row.host.is_some(),
    wanted: [wanted(&["Host"], "the tab cannot be used")],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Switch", Word(|r| &mut r.switch)),
        ("MTU", Count(|r| &mut r.mtu)),
        ("Policy", Word(|r| &mut r.policy)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    DvSwitchRow, dv_switches,
    key: |row| row.switch.is_some(),
    wanted: [wanted(&["Switch", "Name"], "the tab cannot be used")],
    columns: [
        ("Switch", Word(|r| &mut r.switch)),
        ("Name", Word(|r| &mut r.switch)),
        ("Max MTU", Count(|r| &mut r.max_mtu)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    PortRow, ports,
    key: |row| row.host.is_some(),
    wanted: [wanted(&["Host"], "the tab cannot be used")],
    columns: [
        ("Host", Word(|r| &mut r.host)),
        ("Port Group", Word(|r| &mut r.port_group)),
        ("Switch", Word(|r| &mut r.switch)),
        ("VLAN", Count(|r| &mut r.vlan)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    SourceRow, sources,
    key: |row| row.name.is_some() || row.sdk.uuid.is_some(),
    wanted: [],
    columns: [
        ("Name", Word(|r| &mut r.name)),
        ("Version", Word(|r| &mut r.version)),
        ("Build", Word(|r| &mut r.build)),
        ("Product name", Word(|r| &mut r.product)),
        ("VI SDK Server", Word(|r| &mut r.sdk.server)),
        ("VI SDK UUID", Word(|r| &mut r.sdk.uuid)),
    ]
);

tab_row!(
    MetadataRow, metadata,
    key: |row| row.rvtools_version.is_some() || row.created.is_some() || row.server.is_some(),
    wanted: [],
    columns: [
        ("RVTools version", Word(|r| &mut r.rvtools_version)),
        ("xlsx creation datetime", Date(|r| &mut r.created)),
        ("Server", Word(|r| &mut r.server)),
    ]
);

/// A row of a tab of which only the VM names are kept.
#[derive(Debug, Default)]
pub(crate) struct NameRow {
    at: RowRef,
    name: Option<Text>,
}

impl TabRow for NameRow {
    const COLUMNS: &'static [(&'static str, crate::table::Field<Self>)] =
        &[("VM", Word(|r| &mut r.name))];
    const WANTED: &'static [Wanted] = &[];

    fn at(&mut self) -> &mut RowRef {
        &mut self.at
    }

    fn has_key(&self) -> bool {
        self.name.is_some()
    }

    fn store(rows: Vec<Self>, tab: Tab, export: &mut Export) {
        let names = export.vm_names_by_tab.entry(tab.name().to_owned()).or_default();
        names.extend(rows.into_iter().filter_map(|row| row.name));
    }
}
