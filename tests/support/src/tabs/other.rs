//! The remaining tabs: sources, licences, health, and those that are often empty.

use super::{Context, Push, columns};
use crate::secrets;
use crate::site::Vcenter;
use crate::stamp::Stamp;

/// vCD between head and tail; written header-only.
pub(super) const CD: &[&str] = &["Device Node", "Connected", "Starts Connected", "Device Type"];

/// vUSB between head and tail; written header-only.
pub(super) const USB: &[&str] = &[
    "Device Node",
    "Device Type",
    "Connected",
    "Family",
    "Speed",
    "EHCI enabled",
    "Auto connect",
    "Bus number",
    "Unit number",
];

/// vRP; written header-only.
pub(super) const POOL: &[&str] = &[
    "Resource Pool name",
    "Resource Pool path",
    "Status",
    "# VMs total",
    "# VMs",
    "# vCPUs",
    "CPU limit",
    "CPU overheadLimit",
    "CPU reservation",
    "CPU level",
    "CPU shares",
    "CPU expandableReservation",
    "CPU maxUsage",
    "CPU overallUsage",
    "CPU reservationUsed",
    "CPU reservationUsedForVm",
    "CPU unreservedForPool",
    "CPU unreservedForVm",
    "Mem Configured",
    "Mem limit",
    "Mem overheadLimit",
    "Mem reservation",
    "Mem level",
    "Mem shares",
    "Mem expandableReservation",
    "Mem maxUsage",
    "Mem overallUsage",
    "Mem reservationUsed",
    "Mem reservationUsedForVm",
    "Mem unreservedForPool",
    "Mem unreservedForVm",
    "QS overallCpuDemand",
    "QS overallCpuUsage",
    "QS staticCpuEntitlement",
    "QS distributedCpuEntitlement",
    "QS balloonedMemory",
    "QS compressedMemory",
    "QS consumedOverheadMemory",
    "QS distributedMemoryEntitlement",
    "QS guestMemoryUsage",
    "QS hostMemoryUsage",
    "QS overheadMemory",
    "QS privateMemory",
    "QS sharedMemory",
    "QS staticMemoryEntitlement",
    "QS swappedMemory",
    "Object ID",
    "VI SDK Server",
    "VI SDK UUID",
];

/// dvSwitch; written header-only, the site has standard switches.
pub(super) const DV_SWITCH: &[&str] = &[
    "Switch",
    "Datacenter",
    "Name",
    "Vendor",
    "Version",
    "Description",
    "Created",
    "Host members",
    "Max Ports",
    "# Ports",
    "# VMs",
    "In Traffic Shaping",
    "In Avg",
    "In Peak",
    "In Burst",
    "Out Traffic Shaping",
    "Out Avg",
    "Out Peak",
    "Out Burst",
    "CDP Type",
    "CDP Operation",
    "LACP Name",
    "LACP Mode",
    "LACP Load Balance Alg.",
    "Max MTU",
    "Contact",
    "Admin Name",
    "Object ID",
    "VI SDK Server",
    "VI SDK UUID",
];

/// dvPort; written header-only.
pub(super) const DV_PORT: &[&str] = &[
    "Port",
    "Switch",
    "Type",
    "# Ports",
    "VLAN",
    "Speed",
    "Full Duplex",
    "Blocked",
    "Allow Promiscuous",
    "Mac Changes",
    "Active Uplink",
    "Standby Uplink",
    "Policy",
    "Forged Transmits",
    "In Traffic Shaping",
    "In Avg",
    "In Peak",
    "In Burst",
    "Out Traffic Shaping",
    "Out Avg",
    "Out Peak",
    "Out Burst",
    "Reverse Policy",
    "Notify Switch",
    "Rolling Order",
    "Check Beacon",
    "Live Port Moving",
    "Check Duplex",
    "Check Error %",
    "Check Speed",
    "Percentage",
    "Block Override",
    "Config Reset",
    "Shaping Override",
    "Vendor Config Override",
    "Sec. Policy Override",
    "Teaming Override",
    "Vlan Override",
    "Object ID",
    "VI SDK Server",
    "VI SDK UUID",
];

columns! { SOURCE, source(vcenter: &'a Vcenter) {
    "Name" => "VMware vCenter Server",
    "OS type" => "linux-x64",
    "API type" => "VirtualCenter",
    "API version" => "8.0.2.0",
    "Version" => "8.0.2",
    "Patch level" => "00200",
    "Build" => "22617221",
    "Fullname" => "VMware vCenter Server 8.0.2 build-22617221",
    "Product name" => "VMware VirtualCenter Server",
    "Product version" => "8.0",
    "Product line" => "vpx",
    "Vendor" => "VMware, Inc.",
    "VI SDK Server" => &vcenter.server,
    "VI SDK UUID" => &vcenter.uuid,
} }

columns! { LICENSE, license(vcenter: &'a Vcenter, number: usize) {
    "Name" => ["VMware vSphere 8 Enterprise Plus", "VMware vCenter Server 8 Standard"][number],
    "Key" => secrets::LICENCE_KEYS[number],
    "Labels" => (),
    "Cost Unit" => ["cpuPackage", "server"][number],
    "Total" => [16, 1][number],
    "Used" => [8, 1][number],
    "Expiration Date" => "Never",
    "Features" => "esxFull vmotion drs storagevmotion svmotion dvs",
    "VI SDK Server" => &vcenter.server,
    "VI SDK UUID" => &vcenter.uuid,
} }

columns! { FILE, file(vcenter: &'a Vcenter) {
    "Friendly Path Name" => "This tab page is empty when GetFileInfo option is not set in the preferences.",
    "File Name" => (),
    "File Type" => (),
    "File Size in bytes" => (),
    "Path" => (),
    "Internal Sort Column" => (),
    "VI SDK Server" => &vcenter.server,
    "VI SDK UUID" => &vcenter.uuid,
} }

columns! { HEALTH, health(name: &'a str, message: &'static str, kind: &'static str, vcenter: &'a Vcenter) {
    "Name" => name,
    "Message" => message,
    "Message type" => kind,
    "VI SDK Server" => &vcenter.server,
    "VI SDK UUID" => &vcenter.uuid,
} }

columns! { METADATA, metadata(version: &'static str, taken: Stamp, vcenter: &'a Vcenter) {
    "RVTools major version" => version.rsplit_once('.').map_or(version, |parts| parts.0),
    "RVTools version" => version,
    "xlsx creation datetime" => taken,
    "Server" => &vcenter.server,
} }

/// Pushes the rows of a tab of this file.
pub(super) fn rows<'a>(context: &Context<'a>, tab: &str, push: Push<'_, 'a>) {
    let site = context.site();
    for index in context.view.vcenters() {
        let vcenter = &site.vcenters[index];
        match tab {
            "vSource" => push(&mut |out| source(vcenter, out)),
            "vLicense" => (0..2).for_each(|number| push(&mut |out| license(vcenter, number, out))),
            "vFileInfo" => push(&mut |out| file(vcenter, out)),
            "vHealth" => {
                for (store, message) in [
                    ("san-lun01", "Possibly a zombie file! Please check."),
                    ("nfs-vol01", "On disk space is less than threshold of 25%."),
                ] {
                    push(&mut |out| health(store, message, "Storage", vcenter, out));
                }
            }
            "vMetaData" => push(&mut |out| metadata(context.version, site.taken, vcenter, out)),
            _ => {}
        }
    }
}
