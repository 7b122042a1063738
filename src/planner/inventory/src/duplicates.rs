//! The same export given twice, and rows of one VM that come from more than one file.
//!
//! Two files are the same export when their bytes are the same, or when their vInfo tabs list the
//! same VMs with the same figures in the same order (one as xlsx, one as CSV). The second is left
//! out whole. When two different exports list the same VM, the rows of each tab count from one file
//! only: the first that has rows for that VM.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use plimsoll_ingest::{Export, Problem, Severity};

use crate::report::{Report, file_name};

/// Which files repeat an earlier one.
#[derive(Debug, Default)]
pub(crate) struct Duplicates {
    repeated: Vec<bool>,
}

impl Duplicates {
    /// Compares the files of a run.
    pub fn of(export: &Export, report: &mut Report) -> Self {
        let mut repeated = vec![false; export.files.len()];
        let mut by_digest: BTreeMap<&str, usize> = BTreeMap::new();
        for (index, file) in export.files.iter().enumerate() {
            if file.sha256.is_empty() || file.tabs.iter().all(|tab| tab.rows == 0) {
                continue;
            }
            let first = *by_digest.entry(&file.sha256).or_insert(index);
            if first != index {
                repeated[index] = true;
                report.single(given_twice(export, index, first, "has the same bytes"));
            }
        }
        let mut by_vms: BTreeMap<(u64, u64), usize> = BTreeMap::new();
        for (file, print) in vm_prints(export) {
            let first = *by_vms.entry(print).or_insert(file);
            if first != file && !repeated[file] {
                repeated[file] = true;
                let how = "lists the same VMs with the same figures";
                report.single(given_twice(export, file, first, how));
            }
        }
        Self { repeated }
    }

    /// Whether a file is left out.
    pub fn is_repeated(&self, file: u32) -> bool {
        self.repeated.get(file as usize).copied().unwrap_or(false)
    }
}

/// For each file with VMs: how many, and a digest of their identities and figures in order.
fn vm_prints(export: &Export) -> Vec<(usize, (u64, u64))> {
    if export.files.len() < 2 {
        return Vec::new();
    }
    let mut prints: BTreeMap<u32, (u64, DefaultHasher)> = BTreeMap::new();
    for row in &export.vms {
        let (rows, hasher) = prints.entry(row.at.file).or_insert_with(|| (0, DefaultHasher::new()));
        *rows += 1;
        (&row.vm.name, &row.vm.id, &row.vm.uuid, &row.vm.sdk).hash(hasher);
        (row.cpus, row.memory, row.provisioned, row.in_use).hash(hasher);
        (&row.host, &row.datacenter, &row.cluster, row.powerstate).hash(hasher);
    }
    prints
        .into_iter()
        .filter(|(file, _)| (*file as usize) < export.files.len())
        .map(|(file, (rows, hasher))| (file as usize, (rows, hasher.finish())))
        .collect()
}

fn given_twice(export: &Export, file: usize, first: usize, how: &str) -> Problem {
    Problem {
        severity: Severity::Warning,
        code: "export-given-twice".to_owned(),
        file: export.files[file].name.clone(),
        tab: String::new(),
        row: None,
        column: String::new(),
        value: String::new(),
        expected: "each export once".to_owned(),
        action: format!(
            "left out: it {how} as {}",
            file_name(export, crate::identity::number(first))
        ),
    }
}

/// For one tab: from which file each VM's rows count.
#[derive(Debug)]
pub(crate) struct Owners {
    file: Vec<u32>,
}

impl Owners {
    const NOBODY: u32 = u32::MAX;

    /// For a tab with rows of up to `vms` VMs (more are made room for).
    pub fn new(vms: usize) -> Self {
        Self { file: vec![Self::NOBODY; vms] }
    }

    /// Whether a row of this VM from this file counts; the first file to ask owns the VM.
    pub fn accept(&mut self, vm: u32, file: u32) -> bool {
        let vm = vm as usize;
        if vm >= self.file.len() {
            self.file.resize(vm + 1, Self::NOBODY);
        }
        if self.file[vm] == Self::NOBODY {
            self.file[vm] = file;
        }
        self.file[vm] == file
    }
}
