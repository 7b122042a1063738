//! Datastores: identity, merge across vCenters, and the way from a path to a datastore.
//!
//! Within one vCenter a datastore is its managed object id, else (before RVTools 4.1 there was no
//! such column) its URL, address and name together. Between vCenters, datastores are one when they
//! have the same world-wide device id, the same NFS address or the same URL; capacity and tier are
//! taken from the first sighting, hosts from all. An NFS export that one vCenter mounts under two
//! names stays two datastores here and is a finding.

use std::collections::BTreeSet;

use plimsoll_ingest::rows::{DatastoreRow, RowRef, Text};
use plimsoll_ingest::{Export, Severity};
use polars::prelude::PlHashMap;

use crate::duplicates::Duplicates;
use crate::hosts::Hosts;
use crate::identity::number;
use crate::names::{is_worldwide_device, nfs_address, tier_hint};
use crate::report::{Kind, Report};
use crate::types::{Datastore, DatastoreId, DatastoreKind, HostId};
use crate::vcenters::{VcenterCode, Vcenters};

const LISTED_TWICE: Kind = Kind {
    code: "datastore-listed-twice",
    severity: Severity::Note,
    tab: "vDatastore",
    column: "Object ID",
    expected: "each datastore once per vCenter",
    action: "the rows were taken as one datastore; figures come from the first",
};

const BY_NAME: Kind = Kind {
    code: "datastore-known-by-name-only",
    severity: Severity::Warning,
    tab: "vDatastore",
    column: "Object ID",
    expected: "an Object ID with VI SDK UUID, an Address or a URL",
    action: "the name was taken as the identity; a datastore seen by two vCenters counts twice",
};

const SAME_NAME: Kind = Kind {
    code: "datastore-name-not-unique",
    severity: Severity::Note,
    tab: "vDatastore",
    column: "Name",
    expected: "one datastore of that name per vCenter",
    action: "kept apart; a VM's datastore is told by the host it runs on",
};

const NOT_LISTED: Kind = Kind {
    code: "datastore-not-listed",
    severity: Severity::Note,
    tab: "vDatastore",
    column: "Name",
    expected: "a row for each datastore that disk paths name",
    action: "added without capacity, so that the VMs on it are shown; not part of the totals",
};

const AMBIGUOUS_PATH: Kind = Kind {
    code: "datastore-path-ambiguous",
    severity: Severity::Warning,
    tab: "vDatastore",
    column: "Name",
    expected: "a datastore name that is unique among those the VM's host mounts",
    action: "the first datastore of that name was taken",
};

const DIFFERENT_CAPACITY: Kind = Kind {
    code: "datastore-same-address-other-capacity",
    severity: Severity::Warning,
    tab: "vDatastore",
    column: "Address",
    expected: "the same capacity in every vCenter that sees this address",
    action: "kept apart: equal private addresses at two sites are two datastores",
};

/// Datastores by every key that leads to them.
#[derive(Debug, Default)]
pub(crate) struct Datastores<'a> {
    pub list: Vec<Datastore>,
    /// Index into `Export::datastores` of the rows of each datastore.
    pub rows: Vec<Vec<u32>>,
    seen_by: Vec<BTreeSet<VcenterCode>>,
    by_object: PlHashMap<(VcenterCode, &'a str), DatastoreId>,
    by_address: PlHashMap<String, Vec<DatastoreId>>,
    by_url: PlHashMap<String, Vec<DatastoreId>>,
    by_name: PlHashMap<(VcenterCode, &'a str), Vec<DatastoreId>>,
}

impl<'a> Datastores<'a> {
    /// Datastores of vDatastore, merged.
    pub fn of(
        export: &'a Export,
        vcenters: &Vcenters<'a>,
        duplicates: &Duplicates,
        hosts: &mut Hosts<'a>,
        report: &mut Report,
    ) -> Self {
        let mut datastores = Self::default();
        for (position, row) in export.datastores.iter().enumerate() {
            let Some(name) = &row.name else { continue };
            if duplicates.is_repeated(row.at.file) {
                continue;
            }
            let vcenter = vcenters.code(row.at.file, &row.sdk);
            let identity = Identity::of(row);
            let known = datastores.known(vcenter, row, name, &identity, vcenters, report);
            let id = known.unwrap_or_else(|| {
                let key = match datastores.candidates(&identity).as_slice() {
                    [] => identity.key(vcenters, vcenter, row, name),
                    _ => Identity::default().key(vcenters, vcenter, row, name),
                };
                datastores.add(name, key, row)
            });
            datastores.enter(id, vcenter, position, row, name, &identity, hosts);
        }
        datastores
    }

    fn known(
        &self,
        vcenter: VcenterCode,
        row: &'a DatastoreRow,
        name: &'a Text,
        identity: &Identity,
        vcenters: &Vcenters<'a>,
        report: &mut Report,
    ) -> Option<DatastoreId> {
        if let Some(object) = row.object_id.as_deref()
            && let Some(&id) = self.by_object.get(&(vcenter, object))
        {
            report.row(LISTED_TWICE, row.at, || name.to_string());
            return Some(id);
        }
        let same_name = |id: DatastoreId| *self.list[id.0 as usize].name == **name;
        let physical = self.candidates(identity);
        for &id in &physical {
            if !self.seen_by[id.0 as usize].contains(&vcenter) {
                if same_capacity(self.list[id.0 as usize].capacity, row.capacity) {
                    return Some(id);
                }
                report.row(DIFFERENT_CAPACITY, row.at, || name.to_string());
            } else if row.object_id.is_none() && same_name(id) {
                report.row(LISTED_TWICE, row.at, || name.to_string());
                return Some(id);
            }
        }
        let namesakes = self.by_name.get(&(vcenter, &**name)).map_or(&[][..], Vec::as_slice);
        if row.object_id.is_none() && identity.is_empty() {
            report.row(BY_NAME, row.at, || name.to_string());
            let other_file = |id: &&DatastoreId| {
                self.list[id.0 as usize].at.iter().all(|at| at.file != row.at.file)
            };
            if vcenters.is_named(vcenter)
                && let Some(&id) = namesakes.iter().find(other_file)
            {
                return Some(id);
            }
        }
        if !namesakes.is_empty() {
            report.row(SAME_NAME, row.at, || name.to_string());
        }
        None
    }

    fn candidates(&self, identity: &Identity) -> Vec<DatastoreId> {
        let by_address = identity.address.as_ref().and_then(|key| self.by_address.get(key));
        let by_url = identity.url.as_ref().and_then(|key| self.by_url.get(key));
        by_address.into_iter().chain(by_url).flatten().copied().collect()
    }

    fn add(&mut self, name: &Text, key: String, row: &DatastoreRow) -> DatastoreId {
        let id = DatastoreId(number(self.list.len()));
        let kind = kind_of(row);
        let nfs = matches!(kind, DatastoreKind::Nfs | DatastoreKind::Nfs41);
        let server = row.address.as_deref().filter(|_| nfs).and_then(nfs_address);
        self.list.push(Datastore {
            name: name.clone(),
            key,
            at: Vec::new(),
            kind,
            address: row.address.clone(),
            nfs_server: server.map(|(server, _)| server.into()),
            accessible: row.accessible != Some(false),
            local: false,
            capacity: row.capacity,
            provisioned: row.provisioned,
            in_use: row.in_use,
            free: row.free,
            hosts: Vec::new(),
            pod: row.cluster_name.clone(),
            tier_hint: tier_hint(name),
            vms: Vec::new(),
        });
        self.rows.push(Vec::new());
        self.seen_by.push(BTreeSet::new());
        id
    }

    #[expect(clippy::too_many_arguments, reason = "one row's facts, all needed to enter it")]
    fn enter(
        &mut self,
        id: DatastoreId,
        vcenter: VcenterCode,
        position: usize,
        row: &'a DatastoreRow,
        name: &'a Text,
        identity: &Identity,
        hosts: &mut Hosts<'a>,
    ) {
        let index = id.0 as usize;
        self.rows[index].push(number(position));
        self.seen_by[index].insert(vcenter);
        if let Some(object) = row.object_id.as_deref() {
            self.by_object.insert((vcenter, object), id);
        }
        for (key, map) in
            [(&identity.address, &mut self.by_address), (&identity.url, &mut self.by_url)]
        {
            if let Some(key) = key {
                remember(map.entry(key.clone()).or_default(), id);
            }
        }
        remember(self.by_name.entry((vcenter, name)).or_default(), id);
        let datastore = &mut self.list[index];
        datastore.at.push(row.at);
        datastore.accessible &= row.accessible != Some(false);
        for host in &row.hosts {
            remember(&mut datastore.hosts, hosts.mention(vcenter, host, None));
        }
    }

    /// The datastore a path names; a name that no row lists becomes a datastore without capacity.
    pub fn named(
        &mut self,
        (vcenter, key): (VcenterCode, &str),
        name: &'a str,
        host: Option<HostId>,
        at: RowRef,
        report: &mut Report,
    ) -> DatastoreId {
        let namesakes = self.by_name.entry((vcenter, name)).or_default();
        match namesakes.as_slice() {
            [] => {
                let id = DatastoreId(number(self.list.len()));
                namesakes.push(id);
                report.row(NOT_LISTED, at, || name.to_owned());
                self.list.push(unlisted(key, name));
                self.rows.push(Vec::new());
                self.seen_by.push(BTreeSet::from([vcenter]));
                id
            }
            [only] => *only,
            several => {
                let mounts = |id: &&DatastoreId| {
                    host.is_some_and(|host| self.list[id.0 as usize].hosts.contains(&host))
                };
                let mut mounted = several.iter().filter(mounts);
                match (mounted.next(), mounted.next()) {
                    (Some(one), None) => *one,
                    _ => {
                        report.row(AMBIGUOUS_PATH, at, || name.to_owned());
                        several[0]
                    }
                }
            }
        }
    }

    /// The datastores of a name as one vCenter shows them.
    pub fn find<'s>(&'s self, vcenter: VcenterCode, name: &'s str) -> &'s [DatastoreId] {
        self.by_name.get(&(vcenter, name)).map_or(&[], Vec::as_slice)
    }

    /// Says which datastores are local, once all hosts are known.
    pub fn mark_local(&mut self, export: &Export) {
        for (datastore, rows) in self.list.iter_mut().zip(&self.rows) {
            let mut single = !rows.is_empty();
            let mut multi_access = None;
            for &row in rows {
                let row = &export.datastores[row as usize];
                let hosts = row.hosts_count.map_or(row.hosts.len(), |count| count as usize);
                single &= hosts == 1;
                multi_access = match (multi_access, row.multiple_host_access) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (known, found) => known.or(found),
                };
            }
            let nfs = matches!(datastore.kind, DatastoreKind::Nfs | DatastoreKind::Nfs41);
            datastore.local = single
                && datastore.hosts.len() <= 1
                && (multi_access == Some(false) || (multi_access.is_none() && !nfs));
        }
    }
}

/// What tells a datastore apart from others wherever it is seen.
#[derive(Debug, Default)]
struct Identity {
    address: Option<String>,
    url: Option<String>,
}

impl Identity {
    fn of(row: &DatastoreRow) -> Self {
        let address = row.address.as_deref().and_then(|address| {
            if is_worldwide_device(address) {
                return Some(address.trim().to_lowercase());
            }
            let nfs = matches!(kind_of(row), DatastoreKind::Nfs | DatastoreKind::Nfs41);
            let (server, path) = nfs_address(address).filter(|_| nfs)?;
            Some(format!("{}:/{path}", server.to_lowercase()))
        });
        // The URL is valid only while the datastore is accessible.
        let accessible = row.accessible != Some(false);
        let url = row.url.as_deref().filter(|url| accessible && url.contains("/volumes/"));
        Self { address, url: url.map(|url| url.trim().trim_end_matches('/').to_lowercase()) }
    }

    fn is_empty(&self) -> bool {
        self.address.is_none() && self.url.is_none()
    }

    fn key(
        &self,
        vcenters: &Vcenters<'_>,
        vcenter: VcenterCode,
        row: &DatastoreRow,
        name: &str,
    ) -> String {
        match (&self.address, &self.url, &row.object_id) {
            (Some(address), _, _) => format!("addr:{address}"),
            (None, Some(url), _) => format!("url:{url}"),
            (None, None, Some(object)) => format!("vc:{}/{object}", vcenters.key(vcenter)),
            (None, None, None) => format!("name:{}/{name}", vcenters.key(vcenter)),
        }
    }
}

/// Capacities of one datastore as two vCenters report them: equal within 1 %, or one is missing.
fn same_capacity(a: Option<plimsoll_units::Mib>, b: Option<plimsoll_units::Mib>) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return true };
    u128::from(a.0.abs_diff(b.0)) * 100 <= u128::from(a.0.max(b.0))
}

fn kind_of(row: &DatastoreRow) -> DatastoreKind {
    let word: String = row
        .kind
        .as_deref()
        .unwrap_or("")
        .chars()
        .filter(char::is_ascii_alphanumeric)
        .collect::<String>()
        .to_ascii_lowercase();
    match word.as_str() {
        "vmfs" | "vmfs3" | "vmfs5" | "vmfs6" => DatastoreKind::Vmfs,
        "nfs" | "nfs3" | "nfsv3" => DatastoreKind::Nfs,
        "nfs41" | "nfsv41" | "nfs4" => DatastoreKind::Nfs41,
        "vsan" | "vsand" => DatastoreKind::Vsan,
        "vvol" | "vvols" => DatastoreKind::Vvol,
        _ => DatastoreKind::Other,
    }
}

fn unlisted(vcenter: &str, name: &str) -> Datastore {
    Datastore {
        name: name.into(),
        key: format!("name:{vcenter}/{name}"),
        at: Vec::new(),
        kind: DatastoreKind::Other,
        address: None,
        nfs_server: None,
        accessible: true,
        local: false,
        capacity: None,
        provisioned: None,
        in_use: None,
        free: None,
        hosts: Vec::new(),
        pod: None,
        tier_hint: tier_hint(name),
        vms: Vec::new(),
    }
}

/// Adds to a short list without repeating.
pub(crate) fn remember<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
