//! What was read from the files of one run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::problem::Problems;
use crate::rows::{
    ClusterRow, DatastoreRow, DiskRow, DvSwitchRow, HbaRow, HostRow, MemoryRow, MetadataRow,
    MultipathRow, NicRow, PartitionRow, PortRow, SnapshotRow, SourceRow, SwitchRow, Text, VmRow,
    VmkernelRow,
};

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// RVTools with the display headers (MB or MiB family).
    RvtoolsDisplay,
    /// RVTools with the internal names (`-DBColumnNames`).
    RvtoolsDbNames,
    /// Fleet averages typed in by hand.
    ManualAverages,
}

/// A tab as it was met.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TabSummary {
    /// Canonical tab name, such as `vInfo`; the sheet's own name when it is not a known tab.
    pub tab: String,
    /// Sheet or file name as found.
    pub found_as: String,
    /// Data rows used (header, blank and repeated-header rows excluded).
    pub rows: u64,
    /// Columns that are no known header and were kept as custom attributes.
    pub custom_columns: Vec<String>,
    /// False for a tab that Plimsoll does not use (counted, not read further).
    pub used: bool,
}

/// One input file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// Name as given.
    pub name: String,
    /// SHA-256 of the bytes, lower-case hex.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// What it is.
    pub kind: SourceKind,
    /// Why it was taken for that.
    pub reason: String,
    /// Its tabs in file order.
    pub tabs: Vec<TabSummary>,
}

/// Typed rows of all files of a run, in input order.
#[derive(Debug, Clone, Default)]
pub struct Export {
    /// The files; `RowRef::file` is an index into this.
    pub files: Vec<InputFile>,
    /// vInfo.
    pub vms: Vec<VmRow>,
    /// vMemory.
    pub memories: Vec<MemoryRow>,
    /// vDisk.
    pub disks: Vec<DiskRow>,
    /// vPartition.
    pub partitions: Vec<PartitionRow>,
    /// vSnapshot.
    pub snapshots: Vec<SnapshotRow>,
    /// vDatastore.
    pub datastores: Vec<DatastoreRow>,
    /// vHost.
    pub hosts: Vec<HostRow>,
    /// vCluster.
    pub clusters: Vec<ClusterRow>,
    /// vMultiPath.
    pub multipaths: Vec<MultipathRow>,
    /// vHBA.
    pub hbas: Vec<HbaRow>,
    /// vNIC.
    pub nics: Vec<NicRow>,
    /// vSC_VMK.
    pub vmkernels: Vec<VmkernelRow>,
    /// vSwitch.
    pub switches: Vec<SwitchRow>,
    /// dvSwitch.
    pub dv_switches: Vec<DvSwitchRow>,
    /// vPort.
    pub ports: Vec<PortRow>,
    /// vSource.
    pub sources: Vec<SourceRow>,
    /// vMetaData.
    pub metadata: Vec<MetadataRow>,
    /// VM names of the tabs that are only counted (vCPU, vTools, vNetwork), for cross-tab checks.
    pub vm_names_by_tab: BTreeMap<String, Vec<Text>>,
    /// Everything that was not as expected.
    pub problems: Problems,
    /// Secrets found in annotations and redacted, as (file index, row) of vInfo.
    pub redacted_secrets: Vec<crate::rows::RowRef>,
    /// The averages that the rows stand for, when they were typed in by hand.
    pub manual: Option<crate::manual::ManualAverages>,
}
