//! Which vCenter a row belongs to.
//!
//! Managed object ids (`vm-12`, `datastore-7`) and names are unique within one vCenter only, so
//! every key made from them starts with the code this registry gives. A vCenter is known by the
//! UUID of its SDK; a row that only has a server name takes the UUID seen with that name. Rows
//! without either belong to the one vCenter their file (or the other tabs of a CSV set) names, and
//! otherwise to a nameless vCenter of that file.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use plimsoll_ingest::rows::{Sdk, Text};
use plimsoll_ingest::{Export, InputFile};
use polars::prelude::PlHashMap;

/// Code of a vCenter within one run.
pub(crate) type VcenterCode = u32;

/// A vCenter, named or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Vcenter {
    pub uuid: Option<Text>,
    pub server: Option<Text>,
    /// For rows that name no vCenter: the file or CSV set they came from.
    pub scope: String,
}

impl Vcenter {
    /// Whether rows name it, so that its ids mean the same in every file.
    pub fn is_named(&self) -> bool {
        self.uuid.is_some() || self.server.is_some()
    }

    /// Prefix of the keys of its objects.
    pub fn key(&self) -> &str {
        self.uuid.as_deref().or(self.server.as_deref()).unwrap_or(&self.scope)
    }
}

/// All vCenters of a run.
#[derive(Debug, Default)]
pub(crate) struct Vcenters<'a> {
    list: Vec<Vcenter>,
    by_text: PlHashMap<&'a str, VcenterCode>,
    /// For each file, the vCenter of its rows that name none.
    of_file: Vec<VcenterCode>,
    /// The text asked for last (its address) and its vCenter: rows of one vCenter follow each other
    /// and share their text.
    last: Cell<Option<(*const str, VcenterCode)>>,
}

/// Calls `$visit(file, sdk)` for each row of each tab that carries the vCenter columns.
macro_rules! each_sdk {
    ($export:expr, $visit:expr) => {{
        let export: &Export = $export;
        let mut visit = $visit;
        export.sources.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.vms.iter().for_each(|row| visit(row.at.file, &row.vm.sdk));
        export.disks.iter().for_each(|row| visit(row.at.file, &row.vm.sdk));
        export.partitions.iter().for_each(|row| visit(row.at.file, &row.vm.sdk));
        export.snapshots.iter().for_each(|row| visit(row.at.file, &row.vm.sdk));
        export.datastores.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.hosts.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.clusters.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.multipaths.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.nics.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.vmkernels.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.switches.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.dv_switches.iter().for_each(|row| visit(row.at.file, &row.sdk));
        export.ports.iter().for_each(|row| visit(row.at.file, &row.sdk));
    }};
}

impl<'a> Vcenters<'a> {
    /// Reads the vCenter columns of every tab.
    pub fn of(export: &'a Export) -> Self {
        let mut servers: BTreeMap<String, VcenterCode> = BTreeMap::new();
        let mut uuids: BTreeMap<String, VcenterCode> = BTreeMap::new();
        let mut registry = Self::default();
        // UUIDs first, so that a row with only a server name finds the UUID seen elsewhere.
        let mut last: Option<&'a Sdk> = None;
        each_sdk!(export, |_, sdk: &'a Sdk| {
            let Some(uuid) = &sdk.uuid else { return };
            if last.is_some_and(|seen| seen == sdk) {
                return;
            }
            last = Some(sdk);
            let code = *uuids.entry(uuid.to_lowercase()).or_insert_with(|| {
                registry.list.push(Vcenter { uuid: Some(uuid.clone()), ..Vcenter::default() });
                code_of(registry.list.len() - 1)
            });
            registry.by_text.insert(uuid, code);
            if let Some(server) = &sdk.server {
                registry.list[code as usize].server.get_or_insert_with(|| server.clone());
                servers.entry(server.to_lowercase()).or_insert(code);
                registry.by_text.entry(server).or_insert(code);
            }
        });
        let mut named_of_file: Vec<Named> = vec![Named::None; export.files.len()];
        let mut last: Option<(u32, &'a Sdk)> = None;
        each_sdk!(export, |file: u32, sdk: &'a Sdk| {
            if last.is_some_and(|seen| seen == (file, sdk)) {
                return;
            }
            last = Some((file, sdk));
            let code = match (&sdk.uuid, &sdk.server) {
                (Some(uuid), _) => registry.by_text.get(&**uuid).copied(),
                (None, Some(server)) => {
                    let known = registry.by_text.get(&**server).copied();
                    Some(known.unwrap_or_else(|| {
                        let code = *servers.entry(server.to_lowercase()).or_insert_with(|| {
                            let vcenter =
                                Vcenter { server: Some(server.clone()), ..Vcenter::default() };
                            registry.list.push(vcenter);
                            code_of(registry.list.len() - 1)
                        });
                        registry.by_text.insert(server, code);
                        code
                    }))
                }
                (None, None) => None,
            };
            if let (Some(code), Some(named)) = (code, named_of_file.get_mut(file as usize)) {
                *named = named.and(Named::One(code));
            }
        });
        registry.give_nameless_rows_a_home(export, &named_of_file);
        registry
    }

    fn give_nameless_rows_a_home(&mut self, export: &Export, named_of_file: &[Named]) {
        let scopes = scopes(export);
        let mut named_of_scope: BTreeMap<&str, Named> = BTreeMap::new();
        for (scope, named) in scopes.iter().zip(named_of_file) {
            let entry = named_of_scope.entry(scope).or_insert(Named::None);
            *entry = entry.and(*named);
        }
        let mut nameless: BTreeMap<&str, VcenterCode> = BTreeMap::new();
        for (file, scope) in scopes.iter().enumerate() {
            let home = match (named_of_file[file], named_of_scope.get(scope.as_str()).copied()) {
                (Named::One(code), _) | (Named::None, Some(Named::One(code))) => code,
                _ => *nameless.entry(scope).or_insert_with(|| {
                    self.list.push(Vcenter { scope: scope.clone(), ..Vcenter::default() });
                    code_of(self.list.len() - 1)
                }),
            };
            self.of_file.push(home);
        }
    }

    /// The vCenter of a row.
    pub fn code(&self, file: u32, sdk: &Sdk) -> VcenterCode {
        let Some(text) = sdk.uuid.as_ref().or(sdk.server.as_ref()) else {
            return self.of_file.get(file as usize).copied().unwrap_or(VcenterCode::MAX);
        };
        if let Some((last, code)) = self.last.get()
            && std::ptr::eq(last, Arc::as_ptr(text))
        {
            return code;
        }
        let code = self.by_text.get(&**text).copied().unwrap_or(VcenterCode::MAX);
        self.last.set(Some((Arc::as_ptr(text), code)));
        code
    }

    /// A vCenter by its code.
    pub fn get(&self, code: VcenterCode) -> Option<&Vcenter> {
        self.list.get(code as usize)
    }

    /// Prefix of the keys of a vCenter's objects.
    pub fn key(&self, code: VcenterCode) -> &str {
        self.get(code).map_or("", Vcenter::key)
    }

    /// Whether a vCenter's ids mean the same in every file.
    pub fn is_named(&self, code: VcenterCode) -> bool {
        self.get(code).is_some_and(Vcenter::is_named)
    }

    /// Names for people, in order of first appearance; nameless ones left out.
    pub fn names(&self) -> Vec<Text> {
        self.list.iter().filter_map(|one| one.server.clone().or_else(|| one.uuid.clone())).collect()
    }
}

/// How many vCenters a file names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    None,
    One(VcenterCode),
    Several,
}

impl Named {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, one) | (one, Self::None) => one,
            (Self::One(a), Self::One(b)) if a == b => self,
            _ => Self::Several,
        }
    }
}

/// The scope of each file. A CSV set is several files in one folder or archive with one tab each
/// and no tab twice: they share a scope. Any other file is its own.
fn scopes(export: &Export) -> Vec<String> {
    let folder = |name: &str| name.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let only_tab = |file: &InputFile| {
        let mut used = file.tabs.iter().filter(|tab| tab.used).map(|tab| tab.tab.clone());
        used.next().filter(|_| used.next().is_none())
    };
    let mut tabs_of_folder: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
    for file in &export.files {
        let Some(tab) = only_tab(file) else { continue };
        let tabs =
            tabs_of_folder.entry(folder(&file.name)).or_insert_with(|| Some(BTreeSet::new()));
        if !tabs.as_mut().is_some_and(|tabs| tabs.insert(tab)) {
            *tabs = None;
        }
    }
    let mut scopes = Vec::with_capacity(export.files.len());
    for (index, file) in export.files.iter().enumerate() {
        let folder = folder(&file.name);
        let in_set = only_tab(file).is_some()
            && tabs_of_folder
                .get(&folder)
                .is_some_and(|tabs| tabs.as_ref().is_some_and(|t| t.len() > 1));
        scopes.push(if in_set {
            format!("set:{folder}")
        } else {
            format!("file:{}:{}", index + 1, file.name)
        });
    }
    scopes
}

fn code_of(index: usize) -> VcenterCode {
    VcenterCode::try_from(index).unwrap_or(VcenterCode::MAX)
}
