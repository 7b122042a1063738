//! Tabs with rows of VMs: vInfo, vCPU, vMemory, vDisk, vPartition, vNetwork, vSnapshot, vTools.

use super::{OfVm, Push, columns};
use crate::cell::Cell;
use crate::site::{Disk, Partition, Snapshot, VmKind};

fn power(of: OfVm<'_>) -> &'static str {
    if of.vm.on { "poweredOn" } else { "poweredOff" }
}

fn template(of: OfVm<'_>) -> bool {
    of.vm.kind == VmKind::Template
}

fn placeholder(of: OfVm<'_>) -> bool {
    of.vm.kind == VmKind::Placeholder
}

fn capacity(of: OfVm<'_>) -> u64 {
    of.vm.disks.iter().map(|disk| disk.capacity).sum()
}

fn ip(of: OfVm<'_>) -> Option<String> {
    let number: u32 = of.vm.id.trim_start_matches("vm-").parse().unwrap_or(0);
    let running = of.vm.on && !of.vm.os_tools.is_empty();
    running
        .then(|| format!("10.{}.{}.{}", 30 + number / 62_500, number / 250 % 250, number % 250 + 2))
}

columns! { HEAD, head(of: OfVm<'a>) {
    "VM" => &of.vm.name,
    "Powerstate" => power(of),
    "Template" => template(of),
    "SRM Placeholder" => placeholder(of),
} }

columns! { TAIL, tail(of: OfVm<'a>) {
    "Annotation" => &of.vm.annotation,
    "Datacenter" => &of.cluster.datacenter,
    "Cluster" => &of.cluster.name,
    "Host" => &of.host.name,
    "Folder" => of.vm.folder,
    "OS according to the configuration file" => of.vm.os_config,
    "OS according to the VMware Tools" => of.vm.os_tools,
    "VM ID" => &of.vm.id,
    "VM UUID" => of.uuid,
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

columns! { TAIL_WITH_REF, tail_with_ref(of: OfVm<'a>) {
    "Annotation" => &of.vm.annotation,
    "Datacenter" => &of.cluster.datacenter,
    "Cluster" => &of.cluster.name,
    "Host" => &of.host.name,
    "Folder" => of.vm.folder,
    "OS according to the configuration file" => of.vm.os_config,
    "OS according to the VMware Tools" => of.vm.os_tools,
    "VMRef" => format!("VirtualMachine-{}", of.vm.id),
    "VM ID" => &of.vm.id,
    "VM UUID" => of.uuid,
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

columns! { INFO, info(of: OfVm<'a>) {
    "VM" => &of.vm.name,
    "Powerstate" => power(of),
    "Template" => template(of),
    "SRM Placeholder" => placeholder(of),
    "Config status" => "green",
    "DNS Name" => (!of.vm.os_tools.is_empty()).then(|| format!("{}.corp.example", of.vm.name)),
    "Connection state" => if of.vm.connected { "connected" } else { "orphaned" },
    "Guest state" => if of.vm.os_tools.is_empty() { "notRunning" } else { "running" },
    "Heartbeat" => if of.vm.os_tools.is_empty() { "gray" } else { "green" },
    "Consolidation Needed" => false,
    "PowerOn" => of.vm.on.then(|| of.site.taken.minus_days(u64::from(of.vm.cpus) * 11)),
    "Suspended To Memory" => false,
    "Suspend time" => (),
    "Suspend Interval" => "0",
    "Creation date" => of.vm.created,
    "Change Version" => of.site.taken.minus_days(9),
    "CPUs" => of.vm.cpus,
    "Overall Cpu Readiness" => if of.vm.on { "1%" } else { "0%" },
    "Memory" => of.vm.memory,
    "Active Memory" => if of.vm.on { of.vm.memory / 8 } else { 0 },
    "NICs" => 1,
    "Disks" => of.vm.disks.len(),
    "Total disk capacity MiB" => capacity(of),
    "Fixed Passthru HotPlug" => false,
    "min Required EVC Mode Key" => of.vm.on.then_some("intel-icelake"),
    "Latency Sensitivity" => Cell::Enum("normal", 1),
    "Op Notification Timeout" => 0,
    "EnableUUID" => if of.vm.os_config.contains("Windows") { "TRUE" } else { "" },
    "CBT" => if template(of) { "" } else { "TRUE" },
    "Primary IP Address" => ip(of),
    "Network #1" => "VM Network",
    "Network #2" => (),
    "Network #3" => (),
    "Network #4" => (),
    "Network #5" => (),
    "Network #6" => (),
    "Network #7" => (),
    "Network #8" => (),
    "Num Monitors" => 1,
    "Video Ram KiB" => 4_096,
    "Resource pool" => format!("/{}/{}/Resources", of.cluster.datacenter, of.cluster.name),
    "Folder ID" => "group-v3",
    "Folder" => of.vm.folder,
    "vApp" => (),
    "DAS protection" => of.vm.on,
    "FT State" => "notConfigured",
    "FT Role" => (),
    "FT Latency" => (),
    "FT Bandwidth" => -1,
    "FT Sec. Latency" => (),
    "Vm Failover In Progress" => false,
    "Provisioned MiB" => of.vm.provisioned,
    "In Use MiB" => of.vm.in_use,
    "Unshared MiB" => of.vm.unshared,
    "HA Restart Priority" => "medium",
    "HA Isolation Response" => "none",
    "HA VM Monitoring" => "vmMonitoringDisabled",
    "Cluster rule(s)" => of.vm.rule.as_ref().map(|_| "AntiAffinity"),
    "Cluster rule name(s)" => of.vm.rule.as_deref(),
    "Boot Required" => false,
    "Boot delay" => 0,
    "Boot retry delay" => 10_000,
    "Boot retry enabled" => false,
    "Boot BIOS setup" => false,
    "Reboot PowerOff" => false,
    "EFI Secure boot" => of.vm.os_config.contains("Windows"),
    "Firmware" => if of.vm.os_config.contains("Windows") { "efi" } else { "bios" },
    "HW version" => 19,
    "HW upgrade status" => "none",
    "HW upgrade policy" => "never",
    "HW target" => (),
    "Path" => format!("[{}] {}/{}.vmx", of.datastore.name, of.vm.name, of.vm.name),
    "Log directory" => format!("[{}] {}/", of.datastore.name, of.vm.name),
    "Snapshot directory" => format!("[{}] {}/", of.datastore.name, of.vm.name),
    "Suspend directory" => format!("[{}] {}/", of.datastore.name, of.vm.name),
    "Annotation" => &of.vm.annotation,
    "Datacenter" => &of.cluster.datacenter,
    "Cluster" => &of.cluster.name,
    "Host" => &of.host.name,
    "OS according to the configuration file" => of.vm.os_config,
    "OS according to the VMware Tools" => of.vm.os_tools,
    "Customization Info" => (),
    "Guest Detailed Data" => (),
    "VM ID" => &of.vm.id,
    "SMBIOS UUID" => &of.vm.smbios,
    "VM UUID" => of.uuid,
    "VI SDK Server type" => "VMware vCenter Server",
    "VI SDK API Version" => "8.0.2.0",
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

columns! { CPU, cpu(of: OfVm<'a>) {
    "CPUs" => of.vm.cpus,
    "Sockets" => 1,
    "Cores p/s" => of.vm.cpus,
    "Max" => of.vm.cpus * 2_900,
    "Overall" => if of.vm.on { of.vm.cpus * 340 } else { 0 },
    "Level" => "normal",
    "Shares" => of.vm.cpus * 1_000,
    "Reservation" => 0,
    "Entitlement" => of.vm.cpus * 300,
    "DRS Entitlement" => of.vm.cpus * 310,
    "Limit" => -1,
    "Hot Add" => false,
    "Hot Remove" => false,
    "Numa Hotadd Exposed" => false,
} }

columns! { MEMORY, memory(of: OfVm<'a>) {
    "Size MiB" => of.vm.memory,
    "Memory Reservation Locked To Max" => false,
    "Overhead" => 72,
    "Max" => of.vm.memory,
    "Consumed" => if of.vm.on { of.vm.memory * 9 / 10 } else { 0 },
    "Consumed Overhead" => 60,
    "Private" => if of.vm.on { of.vm.memory * 8 / 10 } else { 0 },
    "Shared" => 0,
    "Swapped" => 0,
    "Ballooned" => 0,
    "Active" => if of.vm.on { of.vm.memory / 8 } else { 0 },
    "Entitlement" => of.vm.memory / 2,
    "DRS Entitlement" => of.vm.memory / 2,
    "Level" => "normal",
    "Shares" => of.vm.memory * 10,
    "Reservation" => 0,
    "Limit" => -1,
    "Hot Add" => false,
} }

columns! { DISK, disk(of: OfVm<'a>, disk: &'a Disk) {
    "Disk" => format!("Hard disk {}", disk.number),
    "Disk Key" => (2_000 + disk.number - 1).to_string(),
    "Disk UUID" => &disk.uuid,
    "Disk Path" => disk_path(of, disk),
    "Capacity MiB" => disk.capacity,
    "Raw" => disk.raw_lun.is_some(),
    "Disk Mode" => if disk.shared { "independent_persistent" } else { "persistent" },
    "Sharing mode" => if disk.shared { "sharingMultiWriter" } else { "sharingNone" },
    "Thin" => disk.raw_lun.is_none().then_some(disk.thin),
    "Eagerly Scrub" => disk.shared,
    "Split" => false,
    "Write Through" => false,
    "Level" => "normal",
    "Shares" => 1_000,
    "Reservation" => 0,
    "Limit" => -1,
    "Controller" => if disk.shared { "SCSI controller 1" } else { "SCSI controller 0" },
    "Label" => format!("Hard disk {}", disk.number),
    "SCSI Unit #" => disk.number - 1,
    "Unit #" => disk.number - 1,
    "Shared Bus" => if disk.shared { Cell::Enum("physicalSharing", 2) } else { Cell::Enum("noSharing", 0) },
    "Path" => disk_path(of, disk),
    "Raw LUN ID" => disk.raw_lun.as_deref(),
    "Raw Comp. Mode" => disk.raw_lun.as_ref().map(|_| "physicalMode"),
    "Internal Sort Column" => format!("{}{}", of.vm.id, disk.number),
} }

fn disk_path(of: OfVm<'_>, disk: &Disk) -> String {
    format!("[{}] {}", of.site.datastores[disk.datastore].name, disk.file)
}

columns! { PARTITION, partition(of: OfVm<'a>, partition: &'a Partition) {
    "Disk Key" => partition.disk_key.map(|key| key.to_string()),
    "Disk" => &partition.name,
    "Capacity MiB" => partition.capacity,
    "Consumed MiB" => partition.consumed,
    "Free MiB" => partition.capacity - partition.consumed,
    "Free %" => (partition.capacity - partition.consumed) * 100 / partition.capacity,
    "Internal Sort Column" => format!("{}{}", of.vm.id, partition.name),
} }

columns! { NETWORK, network(of: OfVm<'a>) {
    "NIC label" => "Network adapter 1",
    "Adapter" => "Vmxnet3",
    "Network" => "VM Network",
    "Switch" => "vSwitch0",
    "Connected" => of.vm.on,
    "Starts Connected" => true,
    "Mac Address" => format!("00:50:56:{}:{}:{}", &of.vm.uuid[0..2], &of.vm.uuid[2..4], &of.vm.uuid[4..6]),
    "Type" => "Assigned",
    "IPv4 Address" => ip(of),
    "IPv6 Address" => (),
    "Direct Path IO" => false,
    "Internal Sort Column" => format!("{}1", of.vm.id),
} }

columns! { SNAPSHOT, snapshot(of: OfVm<'a>, snapshot: &'a Snapshot) {
    "VM" => &of.vm.name,
    "Powerstate" => power(of),
    "Name" => &snapshot.name,
    "Description" => (),
    "Date / time" => snapshot.taken,
    "Filename" => format!("[{}] {}/{}-Snapshot1.vmsn", of.datastore.name, of.vm.name, of.vm.name),
    "Size MiB (vmsn)" => snapshot.vmsn,
    "Size MiB (total)" => snapshot.total,
    "Quiesced" => false,
    "State" => "poweredOn",
} }

columns! { TOOLS, tools(of: OfVm<'a>) {
    "VM Version" => 19,
    "Tools" => if of.vm.os_tools.is_empty() { "toolsNotRunning" } else { "toolsOk" },
    "Tools Version" => 12_389,
    "Required Version" => 12_389,
    "Upgradeable" => "No",
    "Upgrade Policy" => "manual",
    "Sync time" => false,
    "App status" => (),
    "Heartbeat status" => "green",
    "Kernel Crash state" => false,
    "Operation Ready" => of.vm.on,
    "State change support" => of.vm.on,
    "Interactive Guest" => false,
} }

/// Pushes the rows of one VM.
pub(super) fn rows<'a>(of: OfVm<'a>, tab: &str, push: Push<'_, 'a>) {
    let running = !of.vm.os_tools.is_empty();
    match tab {
        "vInfo" => push(&mut |out| info(of, out)),
        "vDisk" => {
            for each in &of.vm.disks {
                push(&mut |out| {
                    head(of, out);
                    disk(of, each, out);
                    tail(of, out);
                });
            }
        }
        "vPartition" => {
            for each in &of.vm.partitions {
                push(&mut |out| {
                    head(of, out);
                    partition(of, each, out);
                    tail(of, out);
                });
            }
        }
        "vSnapshot" => {
            for each in &of.vm.snapshots {
                push(&mut |out| {
                    snapshot(of, each, out);
                    tail(of, out);
                });
            }
        }
        "vTools" if running || of.vm.on => push(&mut |out| {
            head(of, out);
            tools(of, out);
            tail_with_ref(of, out);
        }),
        "vTools" => {}
        _ => push(&mut |out| {
            head(of, out);
            match tab {
                "vCPU" => cpu(of, out),
                "vMemory" => memory(of, out),
                _ => network(of, out),
            }
            tail(of, out);
        }),
    }
}
