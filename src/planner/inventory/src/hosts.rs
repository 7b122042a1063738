//! Hosts and clusters: from vHost and vCluster, and from every tab that mentions one.

use plimsoll_ingest::rows::{HostRow, Text};
use plimsoll_ingest::{Export, Problem, Severity};
use polars::prelude::PlHashMap;

use crate::duplicates::Duplicates;
use crate::identity::number;
use crate::names::esx_version;
use crate::report::{Report, file_name};
use crate::types::{Cluster, Host, HostId};
use crate::vcenters::{VcenterCode, Vcenters};

/// Hosts by vCenter and name.
#[derive(Debug, Default)]
pub(crate) struct Hosts<'a> {
    pub list: Vec<Host>,
    /// vCenter of each host.
    pub vcenters: Vec<VcenterCode>,
    by_name: PlHashMap<(VcenterCode, &'a str), HostId>,
}

impl<'a> Hosts<'a> {
    /// Hosts of vHost, each once.
    pub fn of(export: &'a Export, vcenters: &Vcenters<'a>, duplicates: &Duplicates) -> Self {
        let mut hosts = Self::default();
        for row in export.hosts.iter().filter(|row| !duplicates.is_repeated(row.at.file)) {
            let Some(name) = &row.host else { continue };
            let vcenter = vcenters.code(row.at.file, &row.sdk);
            if !hosts.by_name.contains_key(&(vcenter, &**name)) {
                let id = hosts.mention(vcenter, name, row.cluster.as_ref());
                hosts.list[id.0 as usize] = from_row(row, name);
            }
        }
        for row in export.nics.iter().filter(|row| !duplicates.is_repeated(row.at.file)) {
            let (Some(name), Some(speed)) = (&row.host, row.speed_mbit) else { continue };
            let id = hosts.mention(vcenters.code(row.at.file, &row.sdk), name, None);
            let fastest = &mut hosts.list[id.0 as usize].fastest_nic_mbit;
            *fastest = Some(fastest.map_or(speed, |known| known.max(speed)));
        }
        hosts
    }

    /// The host of that name, made when it is new.
    pub fn mention(
        &mut self,
        vcenter: VcenterCode,
        name: &'a Text,
        cluster: Option<&Text>,
    ) -> HostId {
        if let Some(&id) = self.by_name.get(&(vcenter, &**name)) {
            let host = &mut self.list[id.0 as usize];
            if host.cluster.is_none() {
                host.cluster = cluster.cloned();
            }
            return id;
        }
        let id = HostId(number(self.list.len()));
        self.by_name.insert((vcenter, name), id);
        self.vcenters.push(vcenter);
        self.list.push(Host {
            name: name.clone(),
            at: None,
            cluster: cluster.cloned(),
            esx_version: None,
            version: None,
            maintenance: false,
            cores: None,
            speed_mhz: None,
            memory: None,
            fastest_nic_mbit: None,
            model: None,
        });
        id
    }

    /// The host of that name, when it is known.
    pub fn find(&self, vcenter: VcenterCode, name: &str) -> Option<HostId> {
        self.by_name.get(&(vcenter, name)).copied()
    }
}

/// Hosts that other tabs name and a vHost tab does not list: filtered out, or called differently.
pub(crate) fn report_unlisted(export: &Export, hosts: &[Host], report: &mut Report) {
    let unlisted: Vec<&str> =
        hosts.iter().filter(|host| host.at.is_none()).map(|host| &*host.name).collect();
    let Some(listed) = export.hosts.first().filter(|_| !unlisted.is_empty()) else { return };
    report.single(Problem {
        severity: Severity::Warning,
        code: "host-not-listed".to_owned(),
        file: file_name(export, listed.at.file),
        tab: "vHost".to_owned(),
        row: None,
        column: "Host".to_owned(),
        value: unlisted
            .iter()
            .take(3)
            .copied()
            .collect::<Vec<_>>()
            .join(", ")
            .chars()
            .take(80)
            .collect(),
        expected: "a row for every host that VMs, datastores and adapters name".to_owned(),
        action: format!("{} such hosts were added without version and size", unlisted.len()),
    });
}

fn from_row(row: &HostRow, name: &Text) -> Host {
    Host {
        name: name.clone(),
        at: Some(row.at),
        cluster: row.cluster.clone(),
        version: row.esx_version.as_deref().and_then(esx_version).map(str::to_owned),
        esx_version: row.esx_version.clone(),
        maintenance: row.maintenance == Some(true),
        cores: row.cores,
        speed_mhz: row.speed_mhz,
        memory: row.memory,
        fastest_nic_mbit: None,
        model: row.model.clone(),
    }
}

/// Clusters of vCluster, then those that only hosts name, with their hosts.
pub(crate) fn clusters(
    export: &Export,
    vcenters: &Vcenters<'_>,
    duplicates: &Duplicates,
    hosts: &Hosts<'_>,
) -> Vec<Cluster> {
    let mut list: Vec<Cluster> = Vec::new();
    let mut by_name: PlHashMap<(VcenterCode, Text), usize> = PlHashMap::default();
    let mut mention = |vcenter: VcenterCode, name: &Text, list: &mut Vec<Cluster>| {
        *by_name.entry((vcenter, name.clone())).or_insert_with(|| {
            list.push(Cluster { name: name.clone(), hosts: Vec::new(), ha: None });
            list.len() - 1
        })
    };
    for row in export.clusters.iter().filter(|row| !duplicates.is_repeated(row.at.file)) {
        let Some(name) = &row.name else { continue };
        let index = mention(vcenters.code(row.at.file, &row.sdk), name, &mut list);
        list[index].ha = list[index].ha.or(row.ha_enabled);
    }
    for (index, host) in hosts.list.iter().enumerate() {
        let Some(name) = &host.cluster else { continue };
        let cluster = mention(hosts.vcenters[index], name, &mut list);
        list[cluster].hosts.push(HostId(number(index)));
    }
    list
}
