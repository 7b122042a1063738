//! Which VM a row speaks of.
//!
//! Identity, in order of preference: the managed object id within its vCenter, the VM UUID (before
//! RVTools 4.3.1 it was the SMBIOS UUID, which clones share, so it counts together with the name),
//! and the name as a last resort, which is reported. Rows of the other tabs are matched to the VMs
//! in the same order within the same vCenter; a weaker key never overrules a stronger one that
//! both sides have.

use plimsoll_ingest::rows::{VmRef, VmRow};
use plimsoll_ingest::{Export, Severity};
use polars::prelude::{InitHashMaps, PlHashMap};

use crate::duplicates::Duplicates;
use crate::report::{Kind, Report};
use crate::vcenters::{VcenterCode, Vcenters};

const DUPLICATE: Kind = Kind {
    code: "vm-listed-twice",
    severity: Severity::Warning,
    tab: "vInfo",
    column: "VM",
    expected: "each VM once over all files of a run",
    action: "the first listing was kept, this one left out",
};

const BY_NAME: Kind = Kind {
    code: "vm-known-by-name-only",
    severity: Severity::Warning,
    tab: "vInfo",
    column: "VM ID",
    expected: "a VM ID with VI SDK UUID, or a VM UUID; names are not unique",
    action: "the name was taken as the identity",
};

const SAME_NAME: Kind = Kind {
    code: "vm-name-not-unique",
    severity: Severity::Warning,
    tab: "vInfo",
    column: "VM",
    expected: "a VM ID or VM UUID that tells VMs of one name apart",
    action: "both were kept; rows of other tabs that give only this name could not be joined",
};

const SAME_UUID: Kind = Kind {
    code: "vm-uuid-not-unique",
    severity: Severity::Note,
    tab: "vInfo",
    column: "VM UUID",
    expected: "one VM per UUID; before RVTools 4.3.1 this was the SMBIOS UUID, which clones share",
    action: "UUID and name together were taken as the identity",
};

/// Marks a key that several VMs share.
const AMBIGUOUS: u32 = u32::MAX;

/// A vInfo row that stands for a VM of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VmSeed {
    /// Index into `Export::vms`.
    pub row: u32,
    pub vcenter: VcenterCode,
}

/// The VMs and the keys that lead to them.
#[derive(Debug, Default)]
pub(crate) struct VmIndex<'a> {
    /// VMs in order of first appearance.
    pub seeds: Vec<VmSeed>,
    by_id: PlHashMap<(VcenterCode, &'a str), u32>,
    by_uuid: PlHashMap<(VcenterCode, &'a str), u32>,
    by_name: PlHashMap<(VcenterCode, &'a str), u32>,
    /// VMs that other tabs mention and vInfo does not list, numbered after the VMs.
    strangers: PlHashMap<(VcenterCode, &'a str), u32>,
}

impl<'a> VmIndex<'a> {
    /// Lists the VMs of vInfo, each once.
    pub fn of(
        export: &'a Export,
        vcenters: &Vcenters<'a>,
        duplicates: &Duplicates,
        report: &mut Report,
    ) -> Self {
        let mut index = Self {
            seeds: Vec::with_capacity(export.vms.len()),
            by_id: PlHashMap::with_capacity(export.vms.len()),
            by_uuid: PlHashMap::with_capacity(export.vms.len()),
            by_name: PlHashMap::with_capacity(export.vms.len()),
            strangers: PlHashMap::new(),
        };
        // Only for rows whose identity is the UUID: it holds across files, whatever their vCenter.
        let mut by_uuid_alone: PlHashMap<&'a str, Vec<u32>> = PlHashMap::new();
        for (position, row) in export.vms.iter().enumerate() {
            if duplicates.is_repeated(row.at.file) {
                continue;
            }
            let vcenter = vcenters.code(row.at.file, &row.vm.sdk);
            let id_holds = row.vm.id.is_some() && vcenters.is_named(vcenter);
            let known = if let (true, Some(id)) = (id_holds, row.vm.id.as_deref()) {
                index.by_id.get(&(vcenter, id)).copied()
            } else if let Some(uuid) = row.vm.uuid.as_deref() {
                let same = by_uuid_alone.entry(uuid).or_default();
                let known =
                    same.iter().copied().find(|&vm| index.row(export, vm).vm.name == row.vm.name);
                if known.is_none() {
                    if !same.is_empty() {
                        report.row(SAME_UUID, row.at, || uuid.to_owned());
                    }
                    same.push(number(index.seeds.len()));
                }
                known
            } else if let Some(id) = row.vm.id.as_deref() {
                index.by_id.get(&(vcenter, id)).copied()
            } else {
                index.known_by_name(export, vcenters, vcenter, row, report)
            };
            if known.is_some() {
                report.row(DUPLICATE, row.at, || name_of(row).to_owned());
                continue;
            }
            let vm = number(index.seeds.len());
            index.seeds.push(VmSeed { row: number(position), vcenter });
            if let Some(id) = row.vm.id.as_deref() {
                index.by_id.insert((vcenter, id), vm);
            }
            if let Some(uuid) = row.vm.uuid.as_deref() {
                let ambiguous = |other: &mut u32| *other = AMBIGUOUS;
                index.by_uuid.entry((vcenter, uuid)).and_modify(ambiguous).or_insert(vm);
            }
            if let Some(name) = row.vm.name.as_deref() {
                let ambiguous = |other: &mut u32| *other = AMBIGUOUS;
                index.by_name.entry((vcenter, name)).and_modify(ambiguous).or_insert(vm);
            }
        }
        index
    }

    fn known_by_name(
        &self,
        export: &Export,
        vcenters: &Vcenters<'a>,
        vcenter: VcenterCode,
        row: &'a VmRow,
        report: &mut Report,
    ) -> Option<u32> {
        report.row(BY_NAME, row.at, || name_of(row).to_owned());
        let same = *self.by_name.get(&(vcenter, name_of(row)))?;
        let other_file = same != AMBIGUOUS && self.row(export, same).at.file != row.at.file;
        if other_file && vcenters.is_named(vcenter) {
            return Some(same);
        }
        report.row(SAME_NAME, row.at, || name_of(row).to_owned());
        None
    }

    fn row(&self, export: &'a Export, vm: u32) -> &'a VmRow {
        &export.vms[self.seeds[vm as usize].row as usize]
    }

    /// The VM that a row of another tab speaks of: its number below [`Self::len`], or a number
    /// from there on for a VM that vInfo does not list.
    pub fn resolve(&mut self, export: &'a Export, vcenter: VcenterCode, vm: &'a VmRef) -> u32 {
        if let Some(found) = self.find(export, vcenter, vm) {
            return found;
        }
        let key = vm.id.as_deref().or(vm.uuid.as_deref()).or(vm.name.as_deref()).unwrap_or("");
        let next = number(self.seeds.len() + self.strangers.len());
        *self.strangers.entry((vcenter, key)).or_insert(next)
    }

    fn find(&self, export: &'a Export, vcenter: VcenterCode, vm: &'a VmRef) -> Option<u32> {
        let by_id = vm.id.as_deref().and_then(|id| self.by_id.get(&(vcenter, id)));
        if let Some(&found) = by_id {
            return Some(found);
        }
        let differ = |a: &Option<_>, b: &Option<_>| a.is_some() && b.is_some() && a != b;
        let fits = |found: u32| {
            let listed = &self.row(export, found).vm;
            !differ(&listed.id, &vm.id) && !differ(&listed.uuid, &vm.uuid)
        };
        let by_uuid = vm.uuid.as_deref().and_then(|uuid| self.by_uuid.get(&(vcenter, uuid)));
        if let Some(&found) = by_uuid.filter(|found| **found != AMBIGUOUS)
            && fits(found)
        {
            return Some(found);
        }
        let by_name = vm.name.as_deref().and_then(|name| self.by_name.get(&(vcenter, name)));
        by_name.copied().filter(|found| *found != AMBIGUOUS && fits(*found))
    }

    /// Number of VMs.
    pub fn len(&self) -> usize {
        self.seeds.len()
    }

    /// Key of a VM, as [`crate::Vm::key`] describes it.
    pub fn key(&self, export: &Export, vcenters: &Vcenters<'a>, seed: VmSeed) -> String {
        let row = &export.vms[seed.row as usize];
        let vcenter = vcenters.key(seed.vcenter);
        match (&row.vm.id, &row.vm.uuid) {
            (Some(id), _) if vcenters.is_named(seed.vcenter) => format!("vc:{vcenter}/{id}"),
            (_, Some(uuid)) => {
                let clones = self.by_uuid.get(&(seed.vcenter, &**uuid)) == Some(&AMBIGUOUS);
                if clones {
                    format!("uuid:{uuid}/{}", name_of(row))
                } else {
                    format!("uuid:{uuid}")
                }
            }
            (Some(id), None) => format!("vc:{vcenter}/{id}"),
            (None, None) => {
                let namesakes = self.by_name.get(&(seed.vcenter, name_of(row))) == Some(&AMBIGUOUS);
                let name = name_of(row);
                if namesakes {
                    format!("name:{vcenter}/{name}#{}", row.at.row)
                } else {
                    format!("name:{vcenter}/{name}")
                }
            }
        }
    }
}

fn name_of(row: &VmRow) -> &str {
    row.vm.name.as_deref().unwrap_or("")
}

/// Row counts stay far below `u32::MAX`: ingest caps the rows of a tab.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
