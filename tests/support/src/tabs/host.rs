//! Tabs with rows of hosts and clusters: vCluster, vHost, vHBA, vNIC, vSwitch, vPort, vSC_VMK.

use super::{Context, OfHost, Push, columns};
use crate::cell::Cell;
use crate::secrets;
use crate::site::{Cluster, DatastoreKind, Site, VmKind};

columns! { HEAD, head(of: OfHost<'a>) {
    "Host" => &of.host.name,
    "Datacenter" => &of.cluster.datacenter,
    "Cluster" => &of.cluster.name,
} }

columns! { TAIL, tail(of: OfHost<'a>) {
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

/// VMs registered on a host, in all and running, with their vCPUs and memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Guests {
    total: u32,
    running: u32,
    vcpus: u32,
    vram: u64,
}

fn guests(site: &Site, host: usize) -> Guests {
    let mut guests = Guests::default();
    for vm in site.vms.iter().filter(|vm| vm.host == host && vm.kind != VmKind::Template) {
        guests.total += 1;
        if vm.on {
            guests.running += 1;
            guests.vcpus += vm.cpus;
            guests.vram += vm.memory;
        }
    }
    guests
}

fn ratio<'a>(value: u32, of: u32) -> Cell<'a> {
    if value.is_multiple_of(of) {
        Cell::from(value / of)
    } else {
        Cell::Float((f64::from(value) / f64::from(of) * 100.0).round() / 100.0)
    }
}

columns! { HOST, host(of: OfHost<'a>, guests: Guests) {
    "Host" => &of.host.name,
    "Datacenter" => &of.cluster.datacenter,
    "Cluster" => &of.cluster.name,
    "Config status" => "green",
    "Compliance Check State" => (),
    "in Maintenance Mode" => false,
    "in Quarantine Mode" => false,
    "vSAN Fault Domain Name" => (),
    "CPU Model" => "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz",
    "Speed" => 1_995,
    "HT Available" => true,
    "HT Active" => true,
    "# CPU" => 2,
    "Cores per CPU" => of.host.cores / 2,
    "# Cores" => of.host.cores,
    "CPU usage %" => 31,
    "# Memory" => of.host.memory,
    "Memory Tiering Type" => "noTiering",
    "Memory usage %" => 58,
    "Console" => 0,
    "# NICs" => 4,
    "# HBAs" => 4,
    "# VMs total" => guests.total,
    "# VMs" => guests.running,
    "VMs per Core" => ratio(guests.running, of.host.cores),
    "# vCPUs" => guests.vcpus,
    "vCPUs per Core" => ratio(guests.vcpus, of.host.cores),
    "vRAM" => guests.vram,
    "VM Used memory" => guests.vram / 2,
    "VM Memory Swapped" => 0,
    "VM Memory Ballooned" => 0,
    "VMotion support" => true,
    "Storage VMotion support" => true,
    "Current EVC" => "intel-icelake",
    "Max EVC" => "intel-icelake",
    "Assigned License(s)" => secrets::LICENCE_KEYS[0],
    "ATS Heartbeat" => "1",
    "ATS Locking" => "1",
    "Current CPU power man. policy" => "Balanced",
    "Supported CPU power man." => "ACPI P-states",
    "Host Power Policy" => "Balanced",
    "ESX Version" => of.host.esx,
    "Boot time" => of.site.taken.minus_days(82),
    "DNS Servers" => "10.10.0.10, 10.10.0.11",
    "DHCP" => false,
    "Domain" => "corp.example",
    "Domain List" => "corp.example",
    "DNS Search Order" => "corp.example",
    "NTP Server(s)" => "10.10.0.1, 10.10.0.2",
    "NTPD running" => true,
    "Time Zone" => "UTC",
    "Time Zone Name" => "UTC",
    "GMT Offset" => "0",
    "Vendor" => "Dell Inc.",
    "Model" => "PowerEdge R650",
    "Serial number" => format!("FX{:05}", of.index),
    "Service tag" => format!("FX{:05}", of.index),
    "OEM specific string" => (),
    "BIOS Vendor" => "Dell Inc.",
    "BIOS Version" => "1.12.1",
    "BIOS Date" => of.site.taken.minus_days(430),
    "Certificate Issuer" => "CN=CA, DC=corp, DC=example",
    "Certificate Start Date" => of.site.taken.minus_days(400),
    "Certificate Expiry Date" => of.site.taken.minus_days(0),
    "Certificate Status" => "good",
    "Certificate Subject" => format!("CN={}", of.host.name),
    "Object ID" => &of.host.id,
    "AutoDeploy.MachineIdentity" => (),
    "UUID" => format!("4c4c4544-0000-0000-0000-{:012x}", of.index),
    "VI SDK Server" => &of.vcenter.server,
    "VI SDK UUID" => &of.vcenter.uuid,
} }

/// One storage adapter: device, type, status, bus, PCI address, driver, model, WWN.
type Hba = (
    &'static str,
    &'static str,
    &'static str,
    u32,
    &'static str,
    &'static str,
    &'static str,
    String,
);

columns! { HBA, hba(hba: Hba) {
    "Device" => hba.0,
    "Type" => hba.1,
    "Status" => hba.2,
    "Bus" => hba.3.to_string(),
    "Pci" => hba.4,
    "Driver" => hba.5,
    "Model" => hba.6,
    "WWN" => hba.7,
} }

fn hbas(of: OfHost<'_>) -> Vec<Hba> {
    let mut all = vec![(
        "vmhba0",
        "",
        "unknown",
        2,
        "0000:02:00.0",
        "lsi_mr3",
        "PERC H755 Front",
        String::new(),
    )];
    if of.site.datastores.iter().any(|store| store.kind == DatastoreKind::Vmfs) {
        for (port, device) in ["vmhba2", "vmhba3"].into_iter().enumerate() {
            all.push((
                device,
                "Fibre Channel",
                "online",
                0x3b,
                "0000:3b:00.0",
                "lpfc",
                "Emulex LightPulse LPe35000-LPe36000 FC Adapter",
                format!("20 00 00 10 9b 00 {:02x} {port:02x}", of.index),
            ));
        }
    }
    all.push((
        "vmhba64",
        "iSCSI",
        "online",
        0,
        "",
        "iscsi_vmk",
        "iSCSI Software Adapter",
        String::new(),
    ));
    all
}

columns! { NIC, nic(of: OfHost<'a>, number: u32) {
    "Network Device" => format!("vmnic{number}"),
    "Driver" => if number < 2 { "ixgben" } else { of.host.nic_driver },
    "Speed" => if number < 2 { 10_000 } else { of.host.nic_mbit },
    "Duplex" => true,
    "MAC" => format!("b8:59:9f:00:{:02x}:{number:02x}", of.index),
    "Switch" => if number < 2 { "vSwitch0" } else { "vSwitch1" },
    "Uplink port" => (),
    "PCI" => format!("0000:{:02x}:00.{}", 0x18 + number / 2, number % 2),
    "WakeOn" => false,
} }

columns! { SWITCH, switch(of: OfHost<'a>, number: u32) {
    "Switch" => format!("vSwitch{number}"),
    "# Ports" => 9_216,
    "Free Ports" => 9_180,
    "Promiscuous Mode" => false,
    "Mac Changes" => false,
    "Forged Transmits" => false,
    "Traffic Shaping" => false,
    "Width" => (),
    "Peak" => (),
    "Burst" => (),
    "Policy" => "loadbalance_srcid",
    "Reverse Policy" => true,
    "Notify Switch" => true,
    "Rolling Order" => false,
    "Offload" => true,
    "TSO" => true,
    "Zero Copy Xmit" => true,
    "MTU" => if number == 0 { 1_500 } else { of.host.switch_mtu },
} }

/// Port groups: name, switch number, VLAN.
const PORT_GROUPS: &[(&str, u32, u32)] =
    &[("Management Network", 0, 0), ("VM Network", 0, 30), ("vMotion", 1, 21), ("Storage", 1, 20)];

columns! { PORT, port(group: (&'static str, u32, u32)) {
    "Port Group" => group.0,
    "Switch" => format!("vSwitch{}", group.1),
    "VLAN" => group.2,
    "Promiscuous Mode" => false,
    "Mac Changes" => false,
    "Forged Transmits" => false,
    "Traffic Shaping" => false,
    "Width" => (),
    "Peak" => (),
    "Burst" => (),
    "Policy" => "loadbalance_srcid",
    "Reverse Policy" => true,
    "Notify Switch" => true,
    "Rolling Order" => false,
    "Offload" => true,
    "TSO" => true,
    "Zero Copy Xmit" => true,
} }

columns! { VMKERNEL, vmkernel(of: OfHost<'a>, number: u32) {
    "Port Group" => ["Management Network", "vMotion", "Storage"][number as usize],
    "Device" => format!("vmk{number}"),
    "Mac Address" => format!("00:50:56:6a:{:02x}:{number:02x}", of.index),
    "DHCP" => false,
    "IP Address" => format!("10.{}.{}.{}", [10, 21, 20][number as usize], of.host.address / 250, of.host.address % 250),
    "IP 6 Address" => (),
    "Subnet mask" => "255.255.0.0",
    "Gateway" => if number == 0 { "10.10.0.1" } else { "" },
    "IP 6 Gateway" => (),
    "MTU" => match number { 0 => 1_500, 1 => 9_000, _ => of.host.storage_mtu },
} }

/// Pushes the rows of one host.
pub(super) fn rows<'a>(of: OfHost<'a>, tab: &str, push: Push<'_, 'a>) {
    let mut framed = |fill: &mut dyn FnMut(&mut Vec<Cell<'a>>)| {
        push(&mut |out| {
            head(of, out);
            fill(out);
            tail(of, out);
        });
    };
    match tab {
        "vHBA" => {
            for each in hbas(of) {
                framed(&mut |out| hba(each.clone(), out));
            }
        }
        "vNIC" => (0..4).for_each(|number| framed(&mut |out| nic(of, number, out))),
        "vSwitch" => (0..2).for_each(|number| framed(&mut |out| switch(of, number, out))),
        "vPort" => {
            for group in PORT_GROUPS {
                framed(&mut |out| port(*group, out));
            }
        }
        "vSC_VMK" => (0..3).for_each(|number| framed(&mut |out| vmkernel(of, number, out))),
        _ => {
            let guests = guests(of.site, of.index);
            push(&mut |out| host(of, guests, out));
        }
    }
}

columns! { CLUSTER, cluster(site: &'a Site, cluster: &'a Cluster, hosts: u64) {
    "Name" => &cluster.name,
    "Config status" => "green",
    "OverallStatus" => "green",
    "NumHosts" => hosts,
    "numEffectiveHosts" => hosts,
    "TotalCpu" => hosts * 64 * 1_995,
    "NumCpuCores" => hosts * 64,
    "NumCpuThreads" => hosts * 128,
    "Effective Cpu" => hosts * 62 * 1_995,
    "TotalMemory" => hosts * 1_572_538,
    "Effective Memory" => hosts * 1_540_000,
    "Num VMotions" => 4_711,
    "HA enabled" => true,
    "Failover Level" => 1,
    "AdmissionControlEnabled" => true,
    "Host monitoring" => "enabled",
    "HB Datastore Candidate Policy" => "allFeasibleDsWithUserPreference",
    "Isolation Response" => "none",
    "Restart Priority" => "medium",
    "Cluster Settings" => true,
    "Max Failures" => 3,
    "Max Failure Window" => -1,
    "Failure Interval" => 30,
    "Min Up Time" => 120,
    "VM Monitoring" => "vmMonitoringDisabled",
    "DRS enabled" => true,
    "DRS default VM behavior" => Cell::Enum("fullyAutomated", 2),
    "DRS vmotion rate" => 3,
    "DPM enabled" => false,
    "DPM default behavior" => "automated",
    "DPM Host Power Action Rate" => 3,
    "Object ID" => &cluster.id,
    "com.vmware.vcenter.cluster.edrs.upgradeHostAdded" => (),
    "VI SDK Server" => &site.vcenters[cluster.vcenter].server,
    "VI SDK UUID" => &site.vcenters[cluster.vcenter].uuid,
} }

/// Pushes the clusters in view.
pub(super) fn clusters<'a>(context: &Context<'a>, push: Push<'_, 'a>) {
    let site = context.site();
    for (index, each) in site.clusters.iter().enumerate() {
        if context.view.sees(each.vcenter) {
            let hosts = site.hosts.iter().filter(|host| host.cluster == index).count() as u64;
            push(&mut |out| cluster(site, each, hosts, out));
        }
    }
}
