//! The data-quality card: whether the tabs of an export agree with each other.
//!
//! Real exports disagree by design (guest view against virtual disks against datastores) and by
//! accident (someone filtered one tab before sending it). Nothing here blocks a report; each check
//! says what was compared and what came out. Orphans are anti-joins of VM codes.

use std::collections::BTreeSet;

use plimsoll_ingest::{Export, SourceKind};
use plimsoll_units::Mib;
use polars::prelude::*;

use crate::build::Joined;
use crate::frames::{self, Frames};
use crate::names::DatastorePath;
use crate::population;
use crate::types::{Exclusion, Inventory, QualityCheck};
use crate::words::{count, counted, fine_percent, size};

/// Tabs that the planner reads for sizing; a file without one gives a poorer answer.
const WANTED: [&str; 7] =
    ["vInfo", "vDisk", "vPartition", "vSnapshot", "vHost", "vDatastore", "vMultiPath"];

/// Runs every check that the export has the tabs for.
pub(crate) fn checks(
    export: &Export,
    inventory: &Inventory,
    frames: &Frames,
    joined: &Joined<'_>,
    placed_disks: u64,
) -> PolarsResult<Vec<QualityCheck>> {
    if export.files.iter().all(|file| file.kind == SourceKind::ManualAverages) {
        return Ok(Vec::new());
    }
    let mut card = Card::default();
    tabs_present(&mut card, export, inventory);
    population_per_tab(&mut card, export, inventory, frames)?;
    disks_against_total(&mut card, frames)?;
    provisioned_against_disks(&mut card, frames)?;
    in_use_against_disks(&mut card, frames)?;
    partitions_against_disks(&mut card, frames)?;
    in_use_against_datastores(&mut card, inventory);
    datastore_sums(&mut card, inventory);
    vms_per_datastore(&mut card, export, inventory, joined);
    paths_and_keys(&mut card, export, inventory, joined, placed_disks);
    Ok(card.checks)
}

#[derive(Default)]
struct Card {
    checks: Vec<QualityCheck>,
}

impl Card {
    fn add(&mut self, id: &str, what: &str, ok: bool, result: String) {
        self.checks.push(QualityCheck { id: id.to_owned(), what: what.to_owned(), result, ok });
    }
}

fn tabs_present(card: &mut Card, export: &Export, inventory: &Inventory) {
    let tabs = || export.files.iter().flat_map(|file| &file.tabs);
    let missing: Vec<&str> =
        WANTED.into_iter().filter(|wanted| !tabs().any(|tab| tab.tab == *wanted)).collect();
    let empty: BTreeSet<&str> = tabs()
        .filter(|tab| tab.used && tab.rows == 0)
        .map(|tab| tab.tab.as_str())
        .filter(|name| !tabs().any(|tab| tab.tab == *name && tab.rows > 0))
        .collect();
    let mut result = match missing.as_slice() {
        [] => "all there".to_owned(),
        some => format!("missing: {}", some.join(", ")),
    };
    if !empty.is_empty() {
        let empty: Vec<&str> = empty.iter().copied().collect();
        result.push_str(&format!("; header only: {}", empty.join(", ")));
    }
    let nfs_only =
        inventory.datastores.iter().all(|one| one.kind != crate::types::DatastoreKind::Vmfs);
    let needed = |tab: &str| !(tab == "vMultiPath" && nfs_only);
    let ok = missing.iter().all(|tab| !needed(tab)) && !empty.contains("vInfo");
    card.add("tabs-present", "Tabs that sizing reads", ok, result);
}

fn population_per_tab(
    card: &mut Card,
    export: &Export,
    inventory: &Inventory,
    frames: &Frames,
) -> PolarsResult<()> {
    let listed = frames.vms.height();
    // Placeholders have no disks, and what is not connected reports none.
    let reasons = frames.vms.column("reason")?.u32()?;
    let placeholder = reasons.not_equal(population::code(Some(Exclusion::SrmPlaceholder)));
    let orphaned = reasons.not_equal(population::code(Some(Exclusion::Orphaned)));
    let whole = frames.vms.filter(&(&placeholder & &orphaned))?;
    let mut counts = vec![format!("vInfo {}", count(listed as u64))];
    let (mut strangers, mut absent) = (Vec::new(), Vec::new());
    let mut more = false;
    // Snapshots are not on every VM, so that VMs without any mean nothing.
    for (tab, frame, every_vm) in [
        ("vMemory", &frames.memories, true),
        ("vDisk", &frames.disks, true),
        ("vPartition", &frames.partitions, true),
        ("vSnapshot", &frames.snapshots, false),
    ] {
        if frame.height() == 0 {
            continue;
        }
        let vms = frames::distinct(frame, "vm")?.height();
        let unknown = frames::missing(frame, &frames.vms, "vm")?;
        if every_vm {
            counts.push(format!("{tab} {}", count(vms as u64)));
            more |= vms > listed;
            let without = frames::missing(&whole, frame, "vm")?;
            if without > 0 {
                absent.push(format!("{tab} {}", count(without as u64)));
            }
        }
        if unknown > 0 {
            strangers.push(format!("{tab} {}", count(unknown as u64)));
        }
    }
    let names: PlHashSet<&str> = inventory.vms.iter().map(|vm| &*vm.name).collect();
    for (tab, found) in &export.vm_names_by_tab {
        let found: PlHashSet<&str> = found.iter().map(|name| &**name).collect();
        if found.is_empty() {
            continue;
        }
        counts.push(format!("{tab} {} (names)", count(found.len() as u64)));
        more |= found.len() > names.len();
        let unknown = found.iter().filter(|name| !names.contains(*name)).count();
        if unknown > 0 {
            strangers.push(format!("{tab} {} (names)", count(unknown as u64)));
        }
    }
    card.add("vms-per-tab", "VMs in each tab", !more, counts.join(", "));
    let ok = strangers.is_empty();
    let result = if ok { "none".to_owned() } else { strangers.join(", ") };
    card.add("vms-not-in-vinfo", "VMs of other tabs that vInfo does not list", ok, result);
    let ok = absent.iter().all(|tab| tab.starts_with("vPartition"));
    let result = if absent.is_empty() { "none".to_owned() } else { absent.join(", ") };
    card.add(
        "vms-missing-from-tabs",
        "Connected VMs of vInfo without a row (vPartition needs VMware Tools)",
        ok,
        result,
    );
    Ok(())
}

/// Number of rows with both values where `differs` holds, and number of rows with both.
fn compare(
    frame: &DataFrame,
    (left, right): (&str, &str),
    differs: impl Fn(u64, u64) -> bool,
) -> PolarsResult<(u64, u64)> {
    let (mut found, mut both) = (0, 0);
    let (left, right) = (frame.column(left)?.u64()?, frame.column(right)?.u64()?);
    for (left, right) in left.iter().zip(right.iter()) {
        if let (Some(left), Some(right)) = (left, right) {
            both += 1;
            found += u64::from(differs(left, right));
        }
    }
    Ok((found, both))
}

fn disks_against_total(card: &mut Card, frames: &Frames) -> PolarsResult<()> {
    let (differ, both) = compare(&frames.vms, ("total_disk", "capacity_sum"), |a, b| a != b)?;
    if both > 0 {
        card.add(
            "disks-equal-total",
            "vInfo Total disk capacity against the sum of vDisk, per VM",
            differ == 0,
            format!("{} of {} differ", count(differ), counted(both, "VM", "VMs")),
        );
    }
    Ok(())
}

fn provisioned_against_disks(card: &mut Card, frames: &Frames) -> PolarsResult<()> {
    // Raw devices are not provisioned on a datastore.
    let files = frames::sums(&frames.disks, "vm", "file")?;
    let vms = frames::look_up(&frames.vms, &files, "vm")?;
    let (below, both) = compare(&vms, ("provisioned", "file_sum"), |a, b| a < b)?;
    if both > 0 {
        let provisioned = frames::total(&frames.vms, "provisioned")?;
        let disks = frames::total(&frames.disks, "file")?;
        card.add(
            "provisioned-against-disks",
            "vInfo Provisioned is never below the VM's virtual disks (raw devices left out)",
            below == 0,
            format!(
                "{} of {} below; {} provisioned, {} in disks",
                count(below),
                counted(both, "VM", "VMs"),
                size(Mib(provisioned)),
                size(Mib(disks)),
            ),
        );
    }
    Ok(())
}

fn in_use_against_disks(card: &mut Card, frames: &Frames) -> PolarsResult<()> {
    let (above, both) = compare(&frames.vms, ("in_use", "capacity_sum"), |a, b| a > b)?;
    if both > 0 {
        // Thick disks with swap and snapshots put In Use above the disks of every VM: then it is no
        // measure of data.
        card.add(
            "in-use-above-disks",
            "VMs with more In Use than virtual disks (snapshots, swap; many of them: thick disks)",
            above * 2 <= both,
            format!("{} of {}", count(above), counted(both, "VM", "VMs")),
        );
    }
    Ok(())
}

fn partitions_against_disks(card: &mut Card, frames: &Frames) -> PolarsResult<()> {
    let mut partitions = frames::sums(&frames.partitions, "vm", "capacity")?;
    partitions.rename("capacity_sum", "partition_sum".into())?;
    let vms = frames::look_up(&frames.vms, &partitions, "vm")?;
    let (above, both) = compare(&vms, ("partition_sum", "capacity_sum"), |a, b| a > b)?;
    if both > 0 {
        // Measured on a real export: 61 of 568 VMs (network mounts and several views of one disk).
        card.add(
            "partitions-above-disks",
            "VMs whose partitions are larger than their virtual disks",
            above * 5 <= both,
            format!("{} of {}", count(above), counted(both, "VM", "VMs")),
        );
    }
    Ok(())
}

fn in_use_against_datastores(card: &mut Card, inventory: &Inventory) {
    let totals = &inventory.totals;
    if totals.datastore_in_use_mib == 0 || totals.in_use_mib == 0 {
        return;
    }
    let (datastores, vms) = (totals.datastore_in_use_mib, totals.in_use_mib);
    let gap = datastores.abs_diff(vms);
    let owner = if datastores >= vms {
        "belongs to no listed VM"
    } else {
        "is more than the datastores hold"
    };
    // Both ways 5 % are usual: files without a VM, and datastores left out of the file.
    card.add(
        "in-use-against-datastores",
        "In Use of all VMs against In Use of all datastores",
        u128::from(gap) * 20 <= u128::from(datastores),
        format!(
            "{} against {}: {} ({}) {owner}",
            size(Mib(vms)),
            size(Mib(datastores)),
            size(Mib(gap)),
            fine_percent(gap, datastores),
        ),
    );
}

fn datastore_sums(card: &mut Card, inventory: &Inventory) {
    let (mut off, mut judged, mut worst) = (0, 0, None::<(u64, &str)>);
    for datastore in inventory.datastores.iter().filter(|one| one.accessible) {
        let (Some(capacity), Some(in_use), Some(free)) =
            (datastore.capacity, datastore.in_use, datastore.free)
        else {
            continue;
        };
        judged += 1;
        let gap = capacity.0.abs_diff(in_use.0.saturating_add(free.0));
        if gap > 1 && u128::from(gap) * 100 > u128::from(capacity.0) {
            off += 1;
            if worst.is_none_or(|(known, _)| gap > known) {
                worst = Some((gap, &datastore.name));
            }
        }
    }
    if judged > 0 {
        let most = worst.map(|(gap, name)| format!("; {name} by {}", size(Mib(gap))));
        card.add(
            "capacity-in-use-free",
            "Capacity equals In Use plus Free, within 1 %",
            off == 0,
            format!(
                "{} of {} differ{}",
                count(off),
                counted(judged, "datastore", "datastores"),
                most.unwrap_or_default()
            ),
        );
    }
}

fn vms_per_datastore(card: &mut Card, export: &Export, inventory: &Inventory, joined: &Joined<'_>) {
    let (mut by_paths, mut by_column, mut above, mut judged) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (datastore, rows) in inventory.datastores.iter().zip(&joined.datastores.rows) {
        let stated: Vec<u64> = rows
            .iter()
            .filter_map(|row| export.datastores[*row as usize].vms_total)
            .map(u64::from)
            .collect();
        if stated.is_empty() {
            continue;
        }
        let real = datastore.vms.iter().filter(|id| {
            let exclusion = inventory.vms[id.0 as usize].exclusion;
            !matches!(exclusion, Some(Exclusion::SrmPlaceholder | Exclusion::Orphaned))
        });
        let (found, stated) = (real.count() as u64, stated.iter().sum::<u64>());
        judged += 1;
        by_paths += found;
        by_column += stated;
        above += u64::from(found > stated);
    }
    if judged > 0 && inventory.vms.iter().any(|vm| !vm.datastores.is_empty()) {
        card.add(
            "vms-per-datastore",
            "VMs on datastores by their paths against # VMs total",
            above == 0,
            format!(
                "{} against {}; {} with more VMs by path than stated",
                count(by_paths),
                count(by_column),
                counted(above, "datastore", "datastores"),
            ),
        );
    }
}

fn paths_and_keys(
    card: &mut Card,
    export: &Export,
    inventory: &Inventory,
    joined: &Joined<'_>,
    placed: u64,
) {
    let disks = inventory.totals.disks;
    if disks > 0 {
        let without = disks.saturating_sub(placed);
        card.add(
            "disk-paths",
            "Disks with a path that names their datastore",
            without == 0,
            format!(
                "{} of {} without ({})",
                count(without),
                count(disks),
                fine_percent(without, disks)
            ),
        );
    }
    let partitions =
        || export.partitions.iter().filter(|row| !joined.duplicates.is_repeated(row.at.file));
    let all = partitions().count() as u64;
    if all > 0 {
        let without = partitions().filter(|row| row.disk_key.is_none()).count() as u64;
        // Needs vSphere 7 with Tools; a third without is usual, and none of it changes a total.
        card.add(
            "disk-keys",
            "Partitions with a Disk Key that ties them to a virtual disk (vSphere 7 and RVTools 4.1.2 on)",
            without * 2 <= all,
            format!(
                "{} of {} without ({})",
                count(without),
                count(all),
                fine_percent(without, all)
            ),
        );
    }
    let configured =
        inventory.vms.iter().filter(|vm| vm.exclusion != Some(Exclusion::SrmPlaceholder));
    let unplaced = configured.filter(|vm| vm.datastores.is_empty()).count() as u64;
    let any_path =
        export.vms.iter().any(|row| row.path.as_deref().and_then(DatastorePath::parse).is_some());
    if !inventory.vms.is_empty() {
        card.add(
            "vms-without-datastore",
            "VMs that no path puts on a datastore",
            unplaced == 0,
            match (unplaced, any_path || placed > 0) {
                (_, false) => "the files have no paths".to_owned(),
                (some, true) => format!("{} of {}", count(some), count(inventory.vms.len() as u64)),
            },
        );
    }
}
