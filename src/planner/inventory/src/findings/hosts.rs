//! Hosts: one build a cluster, and NFS mounts that share their connections.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_ingest::rows::RowRef;

use super::judge::{Judge, Rows, Rule};
use crate::names::esx_build;
use crate::types::{DatastoreKind, FindingSeverity as Severity, HostId};
use crate::words::counted;

const MIXED: Rule = Rule {
    id: "esxi-builds-mixed",
    advice: "Bring the hosts of a cluster to one build before measuring or migrating: drivers and defaults of storage differ between builds, and so do results.",
    source: "ESXi advanced settings by release: NFS and iSCSI defaults change between versions",
    thresholds: &[],
};

const CONNECTIONS: Rule = Rule {
    id: "nfs-connections-shared",
    advice: "Spread the mounts over more server addresses, or raise SunRPC.MaxConnPerIP on the hosts: mounts above the limit share a TCP connection and with it one queue.",
    source: "SunRPC.MaxConnPerIP as delivered, by ESXi version (esxi_limits.toml of the catalogue); a value changed by hand is not in RVTools",
    thresholds: &[],
};

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    mixed(judge);
    connections(judge);
}

fn mixed(judge: &mut Judge<'_>) {
    let (mut rows, mut clusters, mut judged) = (Rows::default(), Vec::new(), 0_u64);
    for cluster in &judge.inventory.clusters {
        let hosts = cluster.hosts.iter().map(|id| &judge.inventory.hosts[id.0 as usize]);
        let known: Vec<_> = hosts
            .filter_map(|host| Some((host, host.at?, host.esx_version.as_deref()?.trim())))
            .collect();
        judged += u64::from(!known.is_empty());
        let builds: BTreeSet<&str> = known.iter().map(|(.., version)| *version).collect();
        if builds.len() > 1 {
            clusters.push(format!("{} ({} builds)", cluster.name, builds.len()));
            for (host, at, version) in known {
                rows.push(judge.export, "vHost", at, || {
                    format!("{}: {}", host.name, short(version))
                });
            }
        }
    }
    if judged == 0 {
        return judge.not_checked(MIXED, "vHost Cluster and ESX Version");
    }
    if rows.is_empty() {
        let fact = format!(
            "In each of {} all hosts run one ESXi build.",
            counted(judged, "cluster", "clusters")
        );
        return judge.passed(MIXED, fact);
    }
    let fact = format!("Hosts of one cluster run different ESXi builds: {}.", clusters.join(", "));
    judge.fired(MIXED, Severity::Care, fact, rows);
}

/// `8.0.2 build 22380479` out of the long text.
fn short(version: &str) -> String {
    match (crate::names::esx_version(version), esx_build(version)) {
        (Some(number), Some(build)) => format!("{number} build {build}"),
        _ => version.to_owned(),
    }
}

fn connections(judge: &mut Judge<'_>) {
    // For each host and NFS server address: mounts, and the row of the first.
    let mut mounts: BTreeMap<(HostId, String), (u64, RowRef)> = BTreeMap::new();
    for datastore in &judge.inventory.datastores {
        let nfs = matches!(datastore.kind, DatastoreKind::Nfs | DatastoreKind::Nfs41);
        let (true, Some(server), Some(at)) = (nfs, &datastore.nfs_server, datastore.at.first())
        else {
            continue;
        };
        for host in &datastore.hosts {
            let entry = mounts.entry((*host, server.to_lowercase())).or_insert((0, *at));
            entry.0 += 1;
        }
    }
    if mounts.is_empty() {
        if judge.inventory.datastores.iter().all(|one| one.at.is_empty()) {
            return judge.not_checked(CONNECTIONS, "vDatastore");
        }
        return judge.passed(CONNECTIONS, "No host mounts an NFS datastore.".to_owned());
    }
    let (mut rows, mut judged) = (Rows::default(), 0_u64);
    let mut worst = (0, 0);
    for ((host, server), (count, at)) in &mounts {
        let host = &judge.inventory.hosts[host.0 as usize];
        let setting = host
            .version
            .as_deref()
            .and_then(|version| judge.catalog.setting("SunRPC.MaxConnPerIP", version));
        let Some(setting) = setting else { continue };
        judged += 1;
        if *count > setting.default {
            worst = worst.max((*count, setting.default));
            rows.push(judge.export, "vDatastore", *at, || {
                let version = host.version.as_deref().unwrap_or("");
                let limit = setting.default;
                format!(
                    "{} (ESXi {version}): {count} mounts from {server}, {limit} connections",
                    host.name
                )
            });
        }
    }
    if judged == 0 {
        return judge.not_checked(CONNECTIONS, "vHost ESX Version of the hosts that mount NFS");
    }
    if rows.is_empty() {
        let fact =
            "No host mounts more datastores from one NFS address than it opens connections to it.";
        return judge.passed(CONNECTIONS, fact.to_owned());
    }
    let fact = format!(
        "{} share connections: up to {} mounts from one address over {}.",
        counted(rows.total, "host and NFS address", "hosts and NFS addresses"),
        worst.0,
        counted(worst.1, "connection", "connections"),
    );
    judge.fired(CONNECTIONS, Severity::Care, fact, rows);
}
