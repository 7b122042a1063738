//! VMkernel ports for storage: frame size on the way, and one subnet for each path.
//!
//! RVTools does not say which services a VMkernel port carries. A port counts as one for storage
//! when its port group's name says so, or when an NFS server's address is in its subnet.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_ingest::rows::VmkernelRow;

use super::judge::{Judge, Rows, Rule};
use crate::names::ipv4;
use crate::types::{FindingSeverity as Severity, HostId};
use crate::words::counted;

const LOW: Rule = Rule {
    id: "vmkernel-mtu-low",
    advice: "Use jumbo frames end to end (NAS, switches, vSwitch, VMkernel) or nowhere, and prove it from each host with `vmkping -d -s 8972`.",
    source: "",
    thresholds: &["jumbo-mtu"],
};

const DIFFERS: Rule = Rule {
    id: "vmkernel-mtu-differs",
    advice: "Give all ports of a subnet one MTU: where they differ, large frames are dropped between some hosts and it shows as slow or hanging storage, not as an error.",
    source: "iSER for QNAP NAS and four-NIC MPIO on ReadyNAS 4200: the same MTU on every element of a path",
    thresholds: &[],
};

const SWITCH: Rule = Rule {
    id: "switch-mtu-below-vmkernel",
    advice: "Raise the MTU of the virtual switch to that of its VMkernel ports: it drops larger frames.",
    source: "Four-NIC MPIO on ReadyNAS 4200: MTU 9000 on vSwitch and VMkernel, 9216 on the physical switch",
    thresholds: &[],
};

const SUBNET: Rule = Rule {
    id: "vmkernel-storage-one-subnet",
    advice: "Give each path a subnet of its own: of several ports in one subnet ESXi uses one for NFS, so that the others carry nothing. For iSCSI with port binding one subnet is as intended.",
    source: "Four-NIC MPIO on ReadyNAS 4200: one VLAN and subnet a path; Broadcom KB 2038869 for port binding",
    thresholds: &[],
};

const TAB: &str = "vSC_VMK";

/// A VMkernel port with its place in the network.
struct Port<'a> {
    row: &'a VmkernelRow,
    host: Option<HostId>,
    /// Network address and mask, when both are readable.
    subnet: Option<(u32, u32)>,
    storage: bool,
}

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    let ports = ports(judge);
    if ports.is_empty() {
        for rule in [LOW, DIFFERS, SWITCH, SUBNET] {
            judge.not_checked(rule, TAB);
        }
        return;
    }
    low(judge, &ports);
    differs(judge, &ports);
    switch(judge, &ports);
    subnet(judge, &ports);
}

fn ports<'a>(judge: &Judge<'a>) -> Vec<Port<'a>> {
    let servers: BTreeSet<u32> = judge
        .inventory
        .datastores
        .iter()
        .filter_map(|datastore| datastore.nfs_server.as_deref())
        .flat_map(|servers| servers.split(','))
        .filter_map(ipv4)
        .collect();
    let mut seen = BTreeSet::new();
    let mut ports = Vec::new();
    for row in &judge.export.vmkernels {
        let host = judge.host(row.at, &row.sdk, row.host.as_deref());
        let device = row.device.as_deref().unwrap_or("");
        let again = host.is_some() && !device.is_empty() && !seen.insert((host, device));
        if judge.left_out(row.at) || again {
            continue;
        }
        let ip = row.ip.as_deref().and_then(ipv4);
        let mask = row.subnet_mask.as_deref().and_then(ipv4);
        let subnet =
            ip.zip(mask).filter(|(_, mask)| *mask != 0).map(|(ip, mask)| (ip & mask, mask));
        let named =
            row.port_group.as_deref().is_some_and(|name| judge.catalog.is_storage_name(name));
        let serves = subnet.is_some_and(|(net, mask)| servers.iter().any(|ip| ip & mask == net));
        ports.push(Port { row, host, subnet, storage: named || serves });
    }
    ports
}

fn label(port: &Port<'_>) -> String {
    let text =
        |cell: &Option<plimsoll_ingest::rows::Text>| cell.clone().unwrap_or_else(|| "".into());
    let row = port.row;
    format!(
        "{}, {} {} {}",
        text(&row.host),
        text(&row.device),
        text(&row.port_group),
        text(&row.ip)
    )
}

fn dotted(address: u32) -> String {
    std::net::Ipv4Addr::from(address).to_string()
}

fn low(judge: &mut Judge<'_>, ports: &[Port<'_>]) {
    let jumbo = judge.limit("jumbo-mtu");
    let storage: Vec<&Port<'_>> =
        ports.iter().filter(|port| port.storage && port.row.mtu.is_some()).collect();
    if storage.is_empty() {
        return judge.not_checked(LOW, "VMkernel ports that are known to carry storage");
    }
    let mut rows = Rows::default();
    for port in &storage {
        let mtu = port.row.mtu.unwrap_or(0);
        if u64::from(mtu) < jumbo {
            rows.push(judge.export, TAB, port.row.at, || format!("{}: MTU {mtu}", label(port)));
        }
    }
    let all = storage.len();
    if rows.is_empty() {
        return judge.passed(
            LOW,
            format!("All {all} storage VMkernel ports have an MTU of {jumbo} or more."),
        );
    }
    let fact = format!(
        "{} of {all} with an MTU below {jumbo}.",
        counted(rows.total, "storage VMkernel port", "storage VMkernel ports"),
    );
    judge.fired(LOW, Severity::Care, fact, rows);
}

fn differs(judge: &mut Judge<'_>, ports: &[Port<'_>]) {
    let mut by_subnet: BTreeMap<(u32, u32), Vec<&Port<'_>>> = BTreeMap::new();
    for port in ports {
        if let (Some(subnet), Some(_)) = (port.subnet, port.row.mtu) {
            by_subnet.entry(subnet).or_default().push(port);
        }
    }
    if by_subnet.is_empty() {
        return judge.not_checked(DIFFERS, "address, mask and MTU of VMkernel ports");
    }
    let mut rows = Rows::default();
    let mut subnets = Vec::new();
    for ((net, _), ports) in &by_subnet {
        let mtus: BTreeSet<u32> = ports.iter().filter_map(|port| port.row.mtu).collect();
        if mtus.len() > 1 {
            subnets.push(dotted(*net));
            for port in ports {
                let mtu = port.row.mtu.unwrap_or(0);
                rows.push(judge.export, TAB, port.row.at, || format!("{}: MTU {mtu}", label(port)));
            }
        }
    }
    if rows.is_empty() {
        let fact = format!(
            "In each of {} all VMkernel ports have one MTU.",
            counted(by_subnet.len() as u64, "subnet", "subnets")
        );
        return judge.passed(DIFFERS, fact);
    }
    let fact = format!(
        "VMkernel ports of one subnet differ in MTU: {}.",
        subnets.iter().take(5).cloned().collect::<Vec<_>>().join(", "),
    );
    judge.fired(DIFFERS, Severity::Care, fact, rows);
}

fn switch(judge: &mut Judge<'_>, ports: &[Port<'_>]) {
    let switches = switch_mtus(judge);
    let (mut rows, mut judged) = (Rows::default(), 0_u64);
    for port in ports {
        let (Some(host), Some(mtu)) = (port.host, port.row.mtu) else { continue };
        let Some((name, switch_mtu)) = switches.of(judge, host, port.row) else { continue };
        judged += 1;
        if switch_mtu < mtu {
            rows.push(judge.export, TAB, port.row.at, || {
                format!("{}: MTU {mtu}, switch {name} {switch_mtu}", label(port))
            });
        }
    }
    if judged == 0 {
        return judge.not_checked(
            SWITCH,
            "the switch of VMkernel ports (vPort with vSwitch, or vNIC with dvSwitch)",
        );
    }
    if rows.is_empty() {
        return judge.passed(
            SWITCH,
            format!("The switches of all {judged} VMkernel ports carry their MTU."),
        );
    }
    let fact = format!(
        "{} of {judged} with an MTU above that of its switch.",
        counted(rows.total, "VMkernel port", "VMkernel ports"),
    );
    judge.fired(SWITCH, Severity::Stops, fact, rows);
}

/// MTU of the switches of each host.
struct Switches<'a> {
    /// (host, port group) to the name of a standard switch.
    of_port_group: BTreeMap<(HostId, &'a str), &'a str>,
    /// (host, standard switch) to its MTU.
    standard: BTreeMap<(HostId, &'a str), u32>,
    /// For each host the distributed switch with the largest MTU among those its adapters are on.
    distributed: BTreeMap<HostId, (&'a str, u32)>,
}

impl<'a> Switches<'a> {
    /// The switch of a port. A port group that vPort does not list is on a distributed switch; when
    /// a host is on several, the one with the largest MTU is taken, so that the rule never fires
    /// without cause.
    fn of(&self, judge: &Judge<'a>, host: HostId, row: &VmkernelRow) -> Option<(&'a str, u32)> {
        let port_group = row.port_group.as_deref()?;
        if let Some(switch) = self.of_port_group.get(&(host, port_group)) {
            return self.standard.get(&(host, *switch)).map(|mtu| (*switch, *mtu));
        }
        // Without vPort nothing tells a standard port group from a distributed one.
        (!judge.export.ports.is_empty()).then(|| self.distributed.get(&host).copied()).flatten()
    }
}

fn switch_mtus<'a>(judge: &Judge<'a>) -> Switches<'a> {
    let mut switches = Switches {
        of_port_group: BTreeMap::new(),
        standard: BTreeMap::new(),
        distributed: BTreeMap::new(),
    };
    for row in judge.export.ports.iter().filter(|row| !judge.left_out(row.at)) {
        let host = judge.host(row.at, &row.sdk, row.host.as_deref());
        if let (Some(host), Some(group), Some(switch)) = (host, &row.port_group, &row.switch) {
            switches.of_port_group.insert((host, group), switch);
        }
    }
    for row in judge.export.switches.iter().filter(|row| !judge.left_out(row.at)) {
        let host = judge.host(row.at, &row.sdk, row.host.as_deref());
        if let (Some(host), Some(switch), Some(mtu)) = (host, &row.switch, row.mtu) {
            switches.standard.insert((host, switch), mtu);
        }
    }
    let mut distributed: BTreeMap<(u32, &str), u32> = BTreeMap::new();
    for row in judge.export.dv_switches.iter().filter(|row| !judge.left_out(row.at)) {
        if let (Some(switch), Some(mtu)) = (row.switch.as_deref(), row.max_mtu) {
            let known =
                distributed.entry((judge.joined.vcenters.code(row.at.file, &row.sdk), switch));
            let known = known.or_insert(mtu);
            *known = mtu.max(*known);
        }
    }
    for row in judge.export.nics.iter().filter(|row| !judge.left_out(row.at)) {
        let host = judge.host(row.at, &row.sdk, row.host.as_deref());
        let vcenter = judge.joined.vcenters.code(row.at.file, &row.sdk);
        let (Some(host), Some(switch)) = (host, row.switch.as_deref()) else { continue };
        if let Some(&mtu) = distributed.get(&(vcenter, switch)) {
            let best = switches.distributed.entry(host).or_insert((switch, mtu));
            if mtu > best.1 {
                *best = (switch, mtu);
            }
        }
    }
    switches
}

fn subnet(judge: &mut Judge<'_>, ports: &[Port<'_>]) {
    let mut together: BTreeMap<(HostId, (u32, u32)), Vec<&Port<'_>>> = BTreeMap::new();
    for port in ports.iter().filter(|port| port.storage) {
        if let (Some(host), Some(subnet)) = (port.host, port.subnet) {
            together.entry((host, subnet)).or_default().push(port);
        }
    }
    if together.is_empty() {
        return judge.not_checked(SUBNET, "VMkernel ports that are known to carry storage");
    }
    let (mut rows, mut hosts) = (Rows::default(), BTreeSet::new());
    for ((host, (net, _)), ports) in together.iter().filter(|(_, ports)| ports.len() > 1) {
        hosts.insert(*host);
        for port in ports {
            rows.push(judge.export, TAB, port.row.at, || {
                format!("{}: in {}", label(port), dotted(*net))
            });
        }
    }
    if rows.is_empty() {
        return judge
            .passed(SUBNET, "No host has two storage VMkernel ports in one subnet.".to_owned());
    }
    let fact = format!(
        "{} several storage VMkernel ports in one subnet.",
        counted(hosts.len() as u64, "host has", "hosts have"),
    );
    judge.fired(SUBNET, Severity::Note, fact, rows);
}
