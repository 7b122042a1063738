//! Whether hosts are ready for iSER: version of ESXi, an adapter that does RDMA, one uplink a switch.
//!
//! A service to those who think of iSER, never a fault: the severity is a note.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_advise::iser::{Catalog, DriverSource, Rdma};
use plimsoll_ingest::rows::NicRow;

use super::judge::{Judge, Rows, Rule};
use crate::types::{FindingSeverity as Severity, Host, HostId};
use crate::words::counted;

const READY: Rule = Rule {
    id: "iser-readiness",
    advice: "Only if iSER is planned: it needs an RDMA adapter at both ends, static addresses in a subnet of its own and MTU 9000; hosts before ESXi 6.7 also need the adapter vendor's driver bundle, with older ones removed first. `plimsoll advise iser` writes the steps.",
    source: "iSER for QNAP NAS with VMware ESXi; VMware documentation of iSER",
    thresholds: &[],
};

const UPLINKS: Rule = Rule {
    id: "iser-one-uplink",
    advice: "Only if iSER is planned: it does not work over NIC teaming, so give the RDMA adapter a virtual switch where it is the only uplink.",
    source: "VMware documentation of iSER: no teaming, one RDMA adapter per vSwitch",
    thresholds: &[],
};

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    let mut nics: BTreeMap<HostId, Vec<&NicRow>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for row in judge.export.nics.iter().filter(|row| !judge.left_out(row.at)) {
        let Some(host) = judge.host(row.at, &row.sdk, row.host.as_deref()) else { continue };
        if row.device.is_none() || seen.insert((host, row.device.as_deref())) {
            nics.entry(host).or_default().push(row);
        }
    }
    if nics.is_empty() {
        judge.not_checked(READY, "vNIC");
        judge.not_checked(UPLINKS, "vNIC");
        return;
    }
    readiness(judge, &nics);
    uplinks(judge, &nics);
}

/// What a driver says of its adapter.
fn rdma(nic: &NicRow) -> Option<Rdma> {
    Some(Catalog::built_in().driver(nic.driver.as_deref()?)?.rdma)
}

/// What stands in the way of iSER on a host; empty when nothing does, `None` when unknown.
fn obstacles(host: &Host, nics: &[&NicRow]) -> Option<Vec<String>> {
    let version = host.version.as_deref()?;
    let catalog = Catalog::built_in();
    let mut obstacles = Vec::new();
    match catalog.version(version) {
        None => obstacles.push(format!("ESXi {version} is older than any with iSER")),
        Some(row) if row.driver == DriverSource::Vendor => {
            let note = if row.note.is_empty() { String::new() } else { format!(" ({})", row.note) };
            obstacles.push(format!("ESXi {version} needs the adapter vendor's driver{note}"));
        }
        Some(_) => {}
    }
    let found: Vec<Rdma> = nics.iter().filter_map(|nic| rdma(nic)).collect();
    if found.is_empty() {
        obstacles.push("no adapter whose driver does RDMA".to_owned());
    } else if !found.contains(&Rdma::Yes) {
        let driver = nics.iter().find_map(|nic| catalog.driver(nic.driver.as_deref()?));
        let family = driver.map_or("", |driver| driver.family.as_str());
        obstacles.push(format!("its adapters may do RDMA or not: {family}"));
    }
    Some(obstacles)
}

fn readiness(judge: &mut Judge<'_>, nics: &BTreeMap<HostId, Vec<&NicRow>>) {
    let (mut rows, mut judged) = (Rows::default(), 0_u64);
    for (id, nics) in nics {
        let host = &judge.inventory.hosts[id.0 as usize];
        let Some(obstacles) = obstacles(host, nics) else { continue };
        judged += 1;
        if !obstacles.is_empty() {
            let (tab, at) = host.at.map_or(("vNIC", nics[0].at), |at| ("vHost", at));
            rows.push(judge.export, tab, at, || format!("{}: {}", host.name, obstacles.join("; ")));
        }
    }
    if judged == 0 {
        return judge.not_checked(READY, "vHost ESX Version");
    }
    if rows.is_empty() {
        let fact =
            format!("All {judged} hosts have an RDMA adapter and an ESXi that carries iSER.");
        return judge.passed(READY, fact);
    }
    let fact = format!(
        "{} of {} ready for iSER as exported.",
        judged - rows.total,
        counted(judged, "host is", "hosts are"),
    );
    judge.fired(READY, Severity::Note, fact, rows);
}

fn uplinks(judge: &mut Judge<'_>, nics: &BTreeMap<HostId, Vec<&NicRow>>) {
    let (mut rows, mut judged) = (Rows::default(), 0_u64);
    for (id, nics) in nics {
        let mut by_switch: BTreeMap<&str, Vec<&NicRow>> = BTreeMap::new();
        for nic in nics {
            if let Some(switch) = nic.switch.as_deref() {
                by_switch.entry(switch).or_default().push(nic);
            }
        }
        for (switch, uplinks) in by_switch {
            if !uplinks.iter().any(|nic| rdma(nic) == Some(Rdma::Yes)) {
                continue;
            }
            judged += 1;
            if uplinks.len() > 1 {
                let host = &judge.inventory.hosts[id.0 as usize];
                rows.push(judge.export, "vNIC", uplinks[0].at, || {
                    format!("{}, {switch}: {} uplinks", host.name, uplinks.len())
                });
            }
        }
    }
    if rows.is_empty() {
        let fact = match judged {
            0 => "No RDMA adapter is on a virtual switch.".to_owned(),
            some => format!("Each of {some} virtual switches with an RDMA adapter has one uplink."),
        };
        return judge.passed(UPLINKS, fact);
    }
    let fact = format!(
        "{} of {judged} with an RDMA adapter and more than one uplink.",
        counted(rows.total, "virtual switch", "virtual switches"),
    );
    judge.fired(UPLINKS, Severity::Note, fact, rows);
}
