//! Paths to block devices: dead ones, fewer than elsewhere, and a policy that uses only one.
//!
//! vMultiPath has a row per host and VMFS extent; NFS datastores do not appear in it.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_ingest::rows::MultipathRow;

use super::judge::{Judge, Rows, Rule};
use crate::types::FindingSeverity as Severity;
use crate::words::counted;

const DEAD: Rule = Rule {
    id: "path-dead",
    advice: "Find the cable, port, zone or target behind it; the load of the dead path is on the others, and the next failure may take the device away.",
    source: "RVTools vMultiPath: Path n state",
    thresholds: &[],
};

const FEWER: Rule = Rule {
    id: "path-fewer-than-elsewhere",
    advice: "Compare zoning, port binding and target portals of these hosts with those that have all paths, then rescan.",
    source: "Plimsoll: the most common number of paths to devices of the same vendor and model at this site",
    thresholds: &[],
};

const POLICY: Rule = Rule {
    id: "path-policy",
    advice: "Set round robin where the array's vendor supports it: any other policy drives a device through one path. Check too that round robin changes path after every I/O (iops=1): the default of 1,000 keeps short queues on one path, and RVTools does not show it.",
    source: "Four-NIC MPIO on ReadyNAS 4200: 100 MB/s with round robin as delivered, 400 MB/s with iops=1",
    thresholds: &[],
};

const TAB: &str = "vMultiPath";

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    let rows = devices(judge);
    if rows.is_empty() {
        for rule in [DEAD, FEWER, POLICY] {
            judge.not_checked(rule, "vMultiPath (block storage only)");
        }
        return;
    }
    dead(judge, &rows);
    fewer(judge, &rows);
    policy(judge, &rows);
}

/// Rows of vMultiPath, each host and device once.
fn devices<'a>(judge: &Judge<'a>) -> Vec<&'a MultipathRow> {
    let mut seen: BTreeSet<(u32, &str, &str)> = BTreeSet::new();
    let mut rows = Vec::new();
    for row in &judge.export.multipaths {
        let vcenter = judge.joined.vcenters.code(row.at.file, &row.sdk);
        let key = (vcenter, row.host.as_deref().unwrap_or(""), row.disk.as_deref().unwrap_or(""));
        let nameless = row.disk.is_none();
        if !judge.left_out(row.at) && (nameless || seen.insert(key)) {
            rows.push(row);
        }
    }
    rows
}

fn label(row: &MultipathRow) -> String {
    let text =
        |cell: &Option<plimsoll_ingest::rows::Text>| cell.clone().unwrap_or_else(|| "".into());
    let device = row.datastore.clone().unwrap_or_else(|| text(&row.disk));
    format!("{}, {device}", text(&row.host))
}

fn is_dead(state: &str) -> bool {
    state.to_lowercase().contains("dead")
}

fn dead(judge: &mut Judge<'_>, devices: &[&MultipathRow]) {
    let (mut rows, mut paths) = (Rows::default(), 0);
    for row in devices {
        let dead: Vec<&str> = row
            .paths
            .iter()
            .filter(|(_, state)| state.as_deref().is_some_and(is_dead))
            .map(|(path, _)| &**path)
            .collect();
        if !dead.is_empty() {
            paths += dead.len() as u64;
            rows.push(judge.export, TAB, row.at, || {
                format!(
                    "{}: {} of {} dead ({})",
                    label(row),
                    dead.len(),
                    row.paths.len(),
                    dead.join(", ")
                )
            });
        }
    }
    if rows.is_empty() {
        let all: usize = devices.iter().map(|row| row.paths.len()).sum();
        return judge
            .passed(DEAD, format!("None of {} is dead.", counted(all as u64, "path", "paths")));
    }
    let fact = format!(
        "{} dead, to {}.",
        counted(paths, "path is", "paths are"),
        counted(rows.total, "device of a host", "devices of hosts"),
    );
    judge.fired(DEAD, Severity::Care, fact, rows);
}

/// Devices that more than one host sees: a local disk has one path by nature.
fn is_shared(judge: &Judge<'_>, row: &MultipathRow) -> bool {
    let vcenter = judge.joined.vcenters.code(row.at.file, &row.sdk);
    let named = row
        .datastore
        .as_deref()
        .map_or(&[][..], |name| judge.joined.datastores.find(vcenter, name));
    !named.iter().any(|id| judge.inventory.datastores[id.0 as usize].local)
}

fn fewer(judge: &mut Judge<'_>, devices: &[&MultipathRow]) {
    let mut hosts_of_device: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for row in devices {
        let (device, host) = (row.disk.as_deref().unwrap_or(""), row.host.as_deref().unwrap_or(""));
        hosts_of_device.entry(device).or_default().insert(host);
    }
    let shared: Vec<&MultipathRow> = devices
        .iter()
        .copied()
        .filter(|row| {
            let device = row.disk.as_deref().unwrap_or("");
            is_shared(judge, row)
                && hosts_of_device.get(device).is_some_and(|hosts| hosts.len() > 1)
        })
        .collect();
    if shared.is_empty() {
        return judge.not_checked(FEWER, "a device that several hosts see, in vMultiPath");
    }
    let kind = |row: &MultipathRow| {
        let text = |cell: &Option<plimsoll_ingest::rows::Text>| {
            cell.as_deref().unwrap_or("").trim().to_lowercase()
        };
        (text(&row.vendor), text(&row.model))
    };
    let mut counts: BTreeMap<(String, String), BTreeMap<usize, u64>> = BTreeMap::new();
    for row in &shared {
        *counts.entry(kind(row)).or_default().entry(row.paths.len()).or_default() += 1;
    }
    // The most common count; of two equally common ones the larger.
    let norm = |row: &MultipathRow| {
        let counts = counts.get(&kind(row)).into_iter().flatten();
        counts.max_by_key(|(paths, rows)| (**rows, **paths)).map_or(0, |(paths, _)| *paths)
    };
    let mut rows = Rows::default();
    for row in &shared {
        let (paths, norm) = (row.paths.len(), norm(row));
        if paths < norm {
            rows.push(judge.export, TAB, row.at, || {
                format!(
                    "{}: {}, {norm} elsewhere",
                    label(row),
                    counted(paths as u64, "path", "paths")
                )
            });
        }
    }
    if rows.is_empty() {
        let fact = format!("All {} shared devices have as many paths as their like.", shared.len());
        return judge.passed(FEWER, fact);
    }
    let fact = format!(
        "{} of {} with fewer paths than is usual here for its array.",
        counted(rows.total, "device of a host", "devices of hosts"),
        shared.len(),
    );
    judge.fired(FEWER, Severity::Care, fact, rows);
}

fn policy(judge: &mut Judge<'_>, devices: &[&MultipathRow]) {
    let with_choice: Vec<&MultipathRow> =
        devices.iter().copied().filter(|row| row.paths.len() > 1 && row.policy.is_some()).collect();
    if with_choice.is_empty() {
        return judge.passed(
            POLICY,
            "No device has more than one path, so that no policy chooses.".to_owned(),
        );
    }
    let mut rows = Rows::default();
    for row in &with_choice {
        let policy = row.policy.as_deref().unwrap_or("");
        let upper = policy.to_uppercase();
        let round_robin =
            upper.ends_with("RR") || upper.contains("ROUND") || upper.starts_with("LB-");
        if !round_robin {
            rows.push(judge.export, TAB, row.at, || format!("{}: {policy}", label(row)));
        }
    }
    let all = with_choice.len();
    if rows.is_empty() {
        return judge.passed(
            POLICY,
            format!("All {all} devices with several paths use round robin; whether it switches after one I/O or after 1,000 is not in RVTools."),
        );
    }
    let fact = format!(
        "{} of {all} with several paths not on round robin.",
        counted(rows.total, "device", "devices")
    );
    judge.fired(POLICY, Severity::Care, fact, rows);
}
