//! From typed rows to the inventory: the one function of this crate.

use jiff::civil::DateTime;
use plimsoll_ingest::rows::{RowRef, Text, VmRef, VmRow};
use plimsoll_ingest::{Export, Problems, Severity};
use plimsoll_units::Mib;
use polars::prelude::*;

use crate::datastores::{Datastores, remember};
use crate::duplicates::{Duplicates, Owners};
use crate::frames::{self, Frames, plausible, proven};
use crate::hosts::{Hosts, clusters, report_unlisted};
use crate::identity::{VmIndex, number};
use crate::names::DatastorePath;
use crate::population::{self, reason_of};
use crate::report::{Kind, Report};
use crate::taken::Taken;
use crate::types::*;
use crate::vcenters::{VcenterCode, Vcenters};
use crate::{disks, findings, quality};

/// What the user can say about an inventory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InventoryOptions {
    /// When it was taken, when the files do not tell or tell it wrong.
    pub taken: Option<DateTime>,
}

const NO_SPACE: Kind = Kind {
    code: "vm-without-space",
    severity: Severity::Warning,
    tab: "vInfo",
    column: "In Use MiB",
    expected: "In Use, vPartition Consumed, vDisk Capacity or Provisioned",
    action: "the VM counts with no space",
};

/// Rows on their way into the inventory, with what is known so far.
#[derive(Debug)]
pub(crate) struct Joined<'a> {
    pub vcenters: Vcenters<'a>,
    pub duplicates: Duplicates,
    pub hosts: Hosts<'a>,
    pub index: VmIndex<'a>,
    pub datastores: Datastores<'a>,
    pub vm_hosts: Vec<Option<HostId>>,
    pub vm_datastores: Vec<Vec<DatastoreId>>,
    pub report: Report,
}

impl<'a> Joined<'a> {
    /// The VM and vCenter of a row of another tab; `None` when the row repeats another file's.
    pub fn accept(
        &mut self,
        export: &'a Export,
        at: RowRef,
        vm: &'a VmRef,
        owners: &mut Owners,
    ) -> Option<(u32, VcenterCode)> {
        if self.duplicates.is_repeated(at.file) {
            return None;
        }
        let vcenter = self.vcenters.code(at.file, &vm.sdk);
        let vm = self.index.resolve(export, vcenter, vm);
        owners.accept(vm, at.file).then_some((vm, vcenter))
    }

    /// The datastore of a path; remembered for the VM and for its host.
    pub fn place(
        &mut self,
        vcenter: VcenterCode,
        name: &'a str,
        vm: u32,
        at: RowRef,
    ) -> DatastoreId {
        let host = self.vm_hosts.get(vm as usize).copied().flatten();
        let place = (vcenter, self.vcenters.key(vcenter));
        let id = self.datastores.named(place, name, host, at, &mut self.report);
        if let Some(datastores) = self.vm_datastores.get_mut(vm as usize) {
            remember(datastores, id);
        }
        id
    }
}

/// Makes the inventory of an export. Data never make it fail: what could not be joined or told
/// apart is in the problems, which are those of this stage alone.
#[must_use]
pub fn build(export: &Export, options: &InventoryOptions) -> (Inventory, Problems) {
    let mut report = Report::default();
    let taken = Taken::of(export, options.taken, &mut report);
    let duplicates = Duplicates::of(export, &mut report);
    let vcenters = Vcenters::of(export);
    let mut hosts = Hosts::of(export, &vcenters, &duplicates);
    let index = VmIndex::of(export, &vcenters, &duplicates, &mut report);
    let datastores = Datastores::of(export, &vcenters, &duplicates, &mut hosts, &mut report);
    let vms = index.len();
    let mut joined = Joined {
        vcenters,
        duplicates,
        hosts,
        index,
        datastores,
        vm_hosts: vec![None; vms],
        vm_datastores: vec![Vec::new(); vms],
        report,
    };
    register_vms(export, &mut joined);
    let disks = disks::read(export, &mut joined);
    let mut frames = Frames {
        vms: vm_frame(export, &mut joined),
        partitions: partition_frame(export, &mut joined),
        snapshots: snapshot_frame(export, &mut joined),
        memories: memory_frame(export, &mut joined),
        datastores: proven(datastore_frame(export, &mut joined)),
        disks: disks.frame,
    };
    frames.vms = proven(with_sums(&frames));
    joined.datastores.mark_local(export);
    let mut inventory = Inventory {
        files: export.files.iter().map(|file| file.name.clone()).collect(),
        vcenters: joined.vcenters.names(),
        taken: taken.whole,
        taken_from: taken.from.clone(),
        vms: proven(make_vms(export, &mut joined, &frames, &disks.list)),
        disks: disks.list,
        clusters: clusters(export, &joined.vcenters, &joined.duplicates, &joined.hosts),
        ..Inventory::default()
    };
    connect(&mut inventory, &mut joined);
    inventory.datastores = std::mem::take(&mut joined.datastores.list);
    inventory.hosts = std::mem::take(&mut joined.hosts.list);
    report_unlisted(export, &inventory.hosts, &mut joined.report);
    proven(population::summarise(&mut inventory, &frames, disks.rows));
    inventory.quality = proven(quality::checks(export, &inventory, &frames, &joined, disks.placed));
    inventory.findings = findings::all(export, &inventory, &joined, &frames, &taken);
    (inventory, joined.report.into_problems(export))
}

/// Hosts and configuration files of the VMs.
fn register_vms<'a>(export: &'a Export, joined: &mut Joined<'a>) {
    for vm in 0..joined.index.len() {
        let seed = joined.index.seeds[vm];
        let row = &export.vms[seed.row as usize];
        joined.vm_hosts[vm] = row
            .host
            .as_ref()
            .map(|host| joined.hosts.mention(seed.vcenter, host, row.cluster.as_ref()));
        if let Some(path) = row.path.as_deref().and_then(DatastorePath::parse) {
            joined.place(seed.vcenter, path.datastore, number(vm), row.at);
        }
    }
}

fn vm_frame(export: &Export, joined: &mut Joined<'_>) -> DataFrame {
    let vms = joined.index.len();
    let mut reason: Vec<u32> = Vec::with_capacity(vms);
    let mut sizes: [Vec<Option<u64>>; 3] = Default::default();
    for seed in &joined.index.seeds {
        let row = &export.vms[seed.row as usize];
        reason.push(population::code(reason_of(row)));
        let columns = [
            (row.provisioned, "Provisioned"),
            (row.in_use, "In Use"),
            (row.total_disk_capacity, "Total disk capacity"),
        ];
        for (values, (size, column)) in sizes.iter_mut().zip(columns) {
            values.push(plausible(size, ("vInfo", column), row.at, &mut joined.report));
        }
    }
    let [provisioned, in_use, total_disk] = sizes;
    proven(df!(
        "vm" => (0..number(vms)).collect::<Vec<u32>>(),
        "reason" => reason,
        "host" => joined.vm_hosts.iter().map(|host| host.map(|host| host.0)).collect::<Vec<_>>(),
        "provisioned" => provisioned,
        "in_use" => in_use,
        "total_disk" => total_disk,
    ))
}

fn partition_frame<'a>(export: &'a Export, joined: &mut Joined<'a>) -> DataFrame {
    let mut owners = Owners::new(joined.index.len());
    let (mut vm, mut capacity, mut consumed) = (Vec::new(), Vec::new(), Vec::new());
    for row in &export.partitions {
        let Some((code, _)) = joined.accept(export, row.at, &row.vm, &mut owners) else { continue };
        let report = &mut joined.report;
        vm.push(code);
        capacity.push(plausible(row.capacity, ("vPartition", "Capacity"), row.at, report));
        consumed.push(plausible(row.consumed, ("vPartition", "Consumed"), row.at, report));
    }
    proven(df!("vm" => vm, "capacity" => capacity, "consumed" => consumed))
}

fn snapshot_frame<'a>(export: &'a Export, joined: &mut Joined<'a>) -> DataFrame {
    let mut owners = Owners::new(joined.index.len());
    let (mut vm, mut position, mut size) = (Vec::new(), Vec::new(), Vec::new());
    for (index, row) in export.snapshots.iter().enumerate() {
        let Some((code, vcenter)) = joined.accept(export, row.at, &row.vm, &mut owners) else {
            continue;
        };
        if let Some(path) = row.filename.as_deref().and_then(DatastorePath::parse) {
            joined.place(vcenter, path.datastore, code, row.at);
        }
        vm.push(code);
        position.push(number(index));
        let total = row.size_total.or(row.size_vmsn);
        size.push(plausible(total, ("vSnapshot", "Size (total)"), row.at, &mut joined.report));
    }
    proven(df!("vm" => vm, "row" => position, "size" => size))
}

fn memory_frame<'a>(export: &'a Export, joined: &mut Joined<'a>) -> DataFrame {
    let mut owners = Owners::new(joined.index.len());
    let mut vm = Vec::new();
    for row in &export.memories {
        if let Some((code, _)) = joined.accept(export, row.at, &row.vm, &mut owners) {
            vm.push(code);
        }
    }
    proven(df!("vm" => vm))
}

fn datastore_frame(export: &Export, joined: &mut Joined<'_>) -> PolarsResult<DataFrame> {
    let (mut datastore, mut capacity, mut in_use) = (Vec::new(), Vec::new(), Vec::new());
    for (index, rows) in joined.datastores.rows.iter().enumerate() {
        let Some(&first) = rows.first() else { continue };
        let row = &export.datastores[first as usize];
        let report = &mut joined.report;
        datastore.push(number(index));
        capacity.push(plausible(row.capacity, ("vDatastore", "Capacity"), row.at, report));
        in_use.push(plausible(row.in_use, ("vDatastore", "In Use"), row.at, report));
    }
    df!("datastore" => datastore, "capacity" => capacity, "in_use" => in_use)
}

/// The VM frame with the sums of the other tabs beside each VM.
fn with_sums(frames: &Frames) -> PolarsResult<DataFrame> {
    let mut vms = frames.vms.clone();
    for sums in [
        frames::sums(&frames.disks, "vm", "capacity")?,
        frames::sums(&frames.disks, "vm", "stored")?,
        frames::largest(&frames.disks, "vm", "file")?,
        frames::sums(&frames.partitions, "vm", "consumed")?,
        frames::sums(&frames.snapshots, "vm", "size")?,
    ] {
        vms = frames::look_up(&vms, &sums, "vm")?;
    }
    Ok(vms)
}

fn make_vms(
    export: &Export,
    joined: &mut Joined<'_>,
    frames: &Frames,
    disks: &[Disk],
) -> PolarsResult<Vec<Vm>> {
    let column = |name| frames::values(&frames.vms, name);
    let (provisioned, in_use, total_disk) =
        (column("provisioned")?, column("in_use")?, column("total_disk")?);
    let (disk_sum, stored, largest) =
        (column("capacity_sum")?, column("stored_sum")?, column("file_max")?);
    let (consumed, snapshots) = (column("consumed_sum")?, column("size_sum")?);
    let mut ranges = DiskRanges { disks, next: 0 };
    let mut vms = Vec::with_capacity(joined.index.len());
    for vm in 0..joined.index.len() {
        let seed = joined.index.seeds[vm];
        let row = &export.vms[seed.row as usize];
        let exclusion = reason_of(row);
        let (used, used_source) = used(in_use[vm], consumed[vm], stored[vm], provisioned[vm]);
        if used_source == UsedSource::Unknown && exclusion != Some(Exclusion::SrmPlaceholder) {
            joined.report.row(NO_SPACE, row.at, || row.vm.name.as_deref().unwrap_or("").to_owned());
        }
        vms.push(Vm {
            name: row.vm.name.clone().unwrap_or_else(|| "".into()),
            key: joined.index.key(export, &joined.vcenters, seed),
            ids: VmIds {
                uuid: row.vm.uuid.clone(),
                id: row.vm.id.clone(),
                vcenter_uuid: row.vm.sdk.uuid.clone(),
                vcenter: row.vm.sdk.server.clone(),
            },
            at: row.at,
            power: row.powerstate,
            exclusion,
            cpus: row.cpus,
            memory: row.memory,
            provisioned: provisioned[vm].map(Mib),
            used: Mib(used),
            used_source,
            disk_capacity: disk_sum[vm].or(total_disk[vm]).map(Mib),
            partition_consumed: consumed[vm].map(Mib),
            snapshots: Mib(snapshots[vm].unwrap_or(0)),
            largest_disk: largest[vm].map(Mib),
            disks: ranges.of(number(vm)),
            datastores: std::mem::take(&mut joined.vm_datastores[vm]),
            cluster: row.cluster.clone(),
            host: joined.vm_hosts[vm],
            os: row.os_tools.clone().or_else(|| row.os_config.clone()),
            rules: keep_apart_rules(row),
            custom: row.custom.clone(),
        });
    }
    Ok(vms)
}

/// Used space by the order of preference of [`UsedSource`].
fn used(
    in_use: Option<u64>,
    consumed: Option<u64>,
    stored: Option<u64>,
    provisioned: Option<u64>,
) -> (u64, UsedSource) {
    [
        (in_use, UsedSource::InUse),
        (consumed, UsedSource::PartitionConsumed),
        (stored, UsedSource::DiskCapacity),
        (provisioned, UsedSource::Provisioned),
    ]
    .into_iter()
    .find_map(|(size, source)| size.map(|size| (size, source)))
    .unwrap_or((0, UsedSource::Unknown))
}

/// Names of the DRS rules that keep this VM apart from others. RVTools lists kinds and names of
/// all rules of a VM in the same order; a rule of unknown kind is kept.
fn keep_apart_rules(row: &VmRow) -> Vec<Text> {
    let Some(names) = row.cluster_rule_names.as_deref() else { return Vec::new() };
    let parts = |text: &str| -> Vec<String> {
        let parts = text.split([',', ';', '\n']).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let names = parts(names);
    let kinds = row.cluster_rules.as_deref().map(parts).unwrap_or_default();
    let aligned = kinds.len() == names.len();
    let apart = |index: usize| {
        let kind = kinds[index].to_lowercase();
        kind.contains("anti") || !kind.contains("affinity")
    };
    let kept = names.into_iter().enumerate().filter(|(index, _)| !aligned || apart(*index));
    kept.map(|(_, name)| name.into()).collect()
}

/// Ranges of a list that is grouped by VM, asked for in VM order.
struct DiskRanges<'a> {
    disks: &'a [Disk],
    next: usize,
}

impl DiskRanges<'_> {
    fn of(&mut self, vm: u32) -> (u32, u32) {
        let first = self.next;
        while self.disks.get(self.next).is_some_and(|disk| disk.vm == VmId(vm)) {
            self.next += 1;
        }
        (number(first), number(self.next))
    }
}

/// VMs of datastores, and hosts of datastores that list none.
fn connect(inventory: &mut Inventory, joined: &mut Joined<'_>) {
    let datastores = &mut joined.datastores.list;
    let unknown: Vec<bool> = datastores.iter().map(|one| one.hosts.is_empty()).collect();
    for (index, vm) in inventory.vms.iter().enumerate() {
        for id in &vm.datastores {
            let datastore = &mut datastores[id.0 as usize];
            datastore.vms.push(VmId(number(index)));
            if let Some(host) = vm.host
                && unknown[id.0 as usize]
            {
                remember(&mut datastore.hosts, host);
            }
        }
    }
}
