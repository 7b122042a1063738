//! What an inventory's lists hold: one type a list, as stored and as served.
//!
//! Sizes are MiB. A value that the input does not have is absent, never zero.

use std::ops::Range;

use plimsoll_ingest::Severity;
use plimsoll_ingest::rows::Text;
use plimsoll_inventory::types::{DatastoreKind, Exclusion, FindingSeverity, UsedSource};
use plimsoll_planner::Survey;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The identifier that an enum has in JSON.
pub(super) fn id<T: Serialize>(value: T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}

fn text(text: Option<&Text>) -> Option<String> {
    text.map(|text| text.as_ref().to_owned())
}

fn slice<T>(items: &[T], range: Range<usize>) -> &[T] {
    &items[range.start.min(items.len())..range.end.min(items.len())]
}

/// One thing in the files that was not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProblemItem {
    /// How much it matters: `note`, `warning` or `error` (a value or row was left out).
    #[schema(example = "warning")]
    pub severity: String,
    /// Stable id of the rule.
    #[schema(example = "number-unreadable")]
    pub code: String,
    /// File; inside an archive `archive.zip/inner.csv`.
    pub file: String,
    /// Sheet; empty when it concerns the file.
    #[schema(example = "vInfo")]
    pub tab: String,
    /// Row as a spreadsheet shows it.
    pub row: Option<u32>,
    /// Column header as found; empty when it concerns the row.
    #[schema(example = "In Use MiB")]
    pub column: String,
    /// The value found, shortened.
    pub value: String,
    /// What was expected.
    pub expected: String,
    /// What was done.
    pub action: String,
}

/// The problems met on reading.
pub fn problems(survey: &Survey, range: Range<usize>) -> Vec<ProblemItem> {
    slice(&survey.problems.items, range)
        .iter()
        .map(|problem| ProblemItem {
            severity: match problem.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
                Severity::Error => "error",
            }
            .to_owned(),
            code: problem.code.clone(),
            file: problem.file.clone(),
            tab: problem.tab.clone(),
            row: problem.row,
            column: problem.column.clone(),
            value: problem.value.clone(),
            expected: problem.expected.clone(),
            action: problem.action.clone(),
        })
        .collect()
}

/// Result of one rule over the inventory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FindingItem {
    /// Stable id of the rule.
    #[schema(example = "snapshot-older-than-30-days")]
    pub id: String,
    /// `stops`, `care`, `note` or `passed`.
    #[schema(example = "care")]
    pub severity: String,
    /// The fact, with numbers.
    pub fact: String,
    /// What to do.
    pub advice: String,
    /// Where the rule comes from.
    pub source: String,
    /// Rows it stands on; at most 200.
    pub evidence: Vec<EvidenceItem>,
    /// How many rows there are in all.
    pub evidence_total: u64,
}

/// One row that a finding stands on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EvidenceItem {
    /// File.
    pub file: String,
    /// Sheet.
    pub tab: String,
    /// Row as a spreadsheet shows it.
    pub row: u32,
    /// Object and value.
    pub what: String,
}

/// The results of the rules.
pub fn findings(survey: &Survey, range: Range<usize>) -> Vec<FindingItem> {
    slice(&survey.inventory.findings, range)
        .iter()
        .map(|finding| FindingItem {
            id: finding.id.clone(),
            severity: id::<FindingSeverity>(finding.severity),
            fact: finding.fact.clone(),
            advice: finding.advice.clone(),
            source: finding.source.clone(),
            evidence: finding
                .evidence
                .iter()
                .map(|evidence| EvidenceItem {
                    file: evidence.file.clone(),
                    tab: evidence.tab.clone(),
                    row: evidence.row,
                    what: evidence.what.clone(),
                })
                .collect(),
            evidence_total: finding.evidence_total,
        })
        .collect()
}

/// One VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VmItem {
    /// Name; not unique.
    #[schema(example = "sql-01")]
    pub name: String,
    /// Identity: `uuid:…`, `vc:<vCenter>/<id>` or `name:…`.
    pub key: String,
    /// File it was read from.
    pub file: String,
    /// Row in vInfo.
    pub row: u32,
    /// Why it does not count for performance: `template`, `srm_placeholder`, `vcls`,
    /// `powered_off`, `orphaned`; absent when it counts.
    pub exclusion: Option<String>,
    /// vCPUs.
    pub cpus: Option<u32>,
    /// Memory, MiB.
    pub memory_mib: Option<u64>,
    /// Provisioned, MiB.
    pub provisioned_mib: Option<u64>,
    /// Taken on datastores, MiB.
    pub used_mib: u64,
    /// Where that comes from: `in_use`, `partition_consumed`, `disk_capacity`, `provisioned`,
    /// `unknown`.
    pub used_source: String,
    /// Virtual disks, MiB.
    pub disk_capacity_mib: Option<u64>,
    /// In snapshots, MiB.
    pub snapshots_mib: u64,
    /// Datastores it has files on, that of its configuration first.
    pub datastores: Vec<String>,
    /// Cluster.
    pub cluster: Option<String>,
    /// Host.
    pub host: Option<String>,
    /// Guest operating system.
    pub os: Option<String>,
}

/// The VMs, in the order of the input.
pub fn vms(survey: &Survey, range: Range<usize>) -> Vec<VmItem> {
    let inventory = &survey.inventory;
    slice(&inventory.vms, range)
        .iter()
        .map(|vm| VmItem {
            name: vm.name.as_ref().to_owned(),
            key: vm.key.clone(),
            file: inventory.files.get(vm.at.file as usize).cloned().unwrap_or_default(),
            row: vm.at.row,
            exclusion: vm.exclusion.map(id::<Exclusion>),
            cpus: vm.cpus,
            memory_mib: vm.memory.map(|size| size.0),
            provisioned_mib: vm.provisioned.map(|size| size.0),
            used_mib: vm.used.0,
            used_source: id::<UsedSource>(vm.used_source),
            disk_capacity_mib: vm.disk_capacity.map(|size| size.0),
            snapshots_mib: vm.snapshots.0,
            datastores: vm
                .datastores
                .iter()
                .filter_map(|id| inventory.datastores.get(id.0 as usize))
                .map(|datastore| datastore.name.as_ref().to_owned())
                .collect(),
            cluster: text(vm.cluster.as_ref()),
            host: vm
                .host
                .and_then(|id| inventory.hosts.get(id.0 as usize))
                .map(|host| host.name.as_ref().to_owned()),
            os: text(vm.os.as_ref()),
        })
        .collect()
}

/// One datastore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DatastoreItem {
    /// Name of the first sighting.
    #[schema(example = "nfs-gold-01")]
    pub name: String,
    /// Identity: `addr:…`, `url:…`, `vc:<vCenter>/<id>` or `name:…`.
    pub key: String,
    /// Rows in vDatastore; several when several vCenters see it.
    pub rows: Vec<u32>,
    /// `vmfs`, `nfs`, `nfs41`, `vsan`, `vvol` or `other`.
    pub kind: String,
    /// Address as found.
    pub address: Option<String>,
    /// False when the file says that it cannot be reached.
    pub accessible: bool,
    /// Seen by a single host only.
    pub local: bool,
    /// Capacity, MiB.
    pub capacity_mib: Option<u64>,
    /// Provisioned, MiB.
    pub provisioned_mib: Option<u64>,
    /// In use, MiB.
    pub in_use_mib: Option<u64>,
    /// Free, MiB.
    pub free_mib: Option<u64>,
    /// Hosts that mount it.
    pub hosts: Vec<String>,
    /// Datastore cluster.
    pub pod: Option<String>,
    /// Tier as its name suggests.
    pub tier_hint: Option<String>,
    /// VMs with files on it.
    pub vms: u64,
}

/// The datastores, in the order of the input.
pub fn datastores(survey: &Survey, range: Range<usize>) -> Vec<DatastoreItem> {
    let inventory = &survey.inventory;
    slice(&inventory.datastores, range)
        .iter()
        .map(|datastore| DatastoreItem {
            name: datastore.name.as_ref().to_owned(),
            key: datastore.key.clone(),
            rows: datastore.at.iter().map(|at| at.row).collect(),
            kind: id::<DatastoreKind>(datastore.kind),
            address: text(datastore.address.as_ref()),
            accessible: datastore.accessible,
            local: datastore.local,
            capacity_mib: datastore.capacity.map(|size| size.0),
            provisioned_mib: datastore.provisioned.map(|size| size.0),
            in_use_mib: datastore.in_use.map(|size| size.0),
            free_mib: datastore.free.map(|size| size.0),
            hosts: datastore
                .hosts
                .iter()
                .filter_map(|id| inventory.hosts.get(id.0 as usize))
                .map(|host| host.name.as_ref().to_owned())
                .collect(),
            pod: text(datastore.pod.as_ref()),
            tier_hint: datastore.tier_hint.clone(),
            vms: datastore.vms.len() as u64,
        })
        .collect()
}
