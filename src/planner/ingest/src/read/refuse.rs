//! Refusals of inputs that could be read but hold nothing to size.

use crate::error::{Error, ErrorCode};
use crate::export::Export;
use crate::headers;
use crate::problem::Severity;
use crate::tab::Tab;

pub(super) fn no_tabs(file: &str, sheets: &[String]) -> Error {
    let listed: Vec<String> =
        sheets.iter().take(8).map(|name| crate::secrets::shown(name)).collect();
    Error::new(
        ErrorCode::NotAnInventory,
        file,
        format!("a workbook without a tab of RVTools; its sheets: {}", listed.join(", ")),
        "a sheet vInfo, vDisk or vDatastore with RVTools' columns",
        "send the workbook that RVTools exported",
    )
}

/// Sizing needs VMs with a provisioned size, or datastores with a capacity and how full they are.
pub(super) fn check_minimum(file: &str, export: &Export) -> Result<(), Error> {
    let named_vms = export.vms.iter().any(|vm| vm.vm.name.is_some() || vm.vm.id.is_some());
    let sized_vms = export.vms.iter().any(|vm| vm.provisioned.is_some() || vm.in_use.is_some());
    let sized_disks = export.disks.iter().any(|disk| disk.capacity.is_some());
    let datastores = export.datastores.iter().any(|datastore| {
        datastore.name.is_some()
            && datastore.capacity.is_some()
            && (datastore.in_use.is_some() || datastore.free.is_some())
    });
    if (named_vms && (sized_vms || sized_disks)) || datastores {
        return Ok(());
    }
    let found = [
        ("vInfo", export.vms.len()),
        ("vDisk", export.disks.len()),
        ("vDatastore", export.datastores.len()),
    ]
    .map(|(tab, rows)| format!("{tab} {rows} rows"))
    .join(", ");
    let spell = |tab: Tab, header: &str| headers::of(tab).accepted(header);
    let why = export
        .problems
        .items
        .iter()
        .find(|problem| problem.severity == Severity::Error)
        .map(|problem| {
            format!("; first problem: {} in tab {} {}", problem.code, problem.tab, problem.value)
        })
        .unwrap_or_default();
    Err(Error::new(
        ErrorCode::MinimumSet,
        file,
        format!("holds too little to size ({found}){why}"),
        format!(
            "vInfo with VM and {} (or vDisk with {}), or vDatastore with Name, {} and {}",
            spell(Tab::Info, "Provisioned MiB"),
            spell(Tab::Disk, "Capacity MiB"),
            spell(Tab::Datastore, "Capacity MiB"),
            spell(Tab::Datastore, "In Use MiB"),
        ),
        "export all tabs again, without deleting rows or columns",
    ))
}

pub(super) fn no_columns(file: &str) -> Error {
    Error::new(
        ErrorCode::NotAnInventory,
        file,
        "a text file without the columns of RVTools",
        "a header row such as VM, Powerstate, Template or Name, Address, Capacity MiB, separated by \
         comma, semicolon, tab or bar",
        "send the CSV files that RVTools exported (RVTools_tabvInfo.csv and its siblings)",
    )
}
