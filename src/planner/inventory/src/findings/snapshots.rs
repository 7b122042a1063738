//! Snapshots: old ones and large ones. Age counts to the date of the inventory, not to today.

use std::collections::BTreeMap;

use plimsoll_ingest::rows::SnapshotRow;
use plimsoll_units::Mib;

use super::judge::{Judge, Rows, Rule};
use crate::frames::{self, proven};
use crate::types::FindingSeverity as Severity;
use crate::words::{counted, size};

const OLD: Rule = Rule {
    id: "snapshot-old",
    advice: "Delete snapshots that nobody will go back to before moving the VM: they grow until they fill the datastore, and consolidating a large one loads it for hours.",
    source: "",
    thresholds: &["snapshot-note-days", "snapshot-care-days"],
};

const LARGE: Rule = Rule {
    id: "snapshot-large",
    advice: "Consolidate these before sizing: their space is counted as used and vanishes with them.",
    source: "",
    thresholds: &["snapshot-share-pct"],
};

const TAB: &str = "vSnapshot";

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    if judge.frames.snapshots.height() == 0 && !judge.has_tab(TAB) {
        judge.not_checked(OLD, TAB);
        judge.not_checked(LARGE, TAB);
        return;
    }
    let rows: Vec<u32> = {
        let column = proven(judge.frames.snapshots.column("row")).as_materialized_series();
        proven(column.u32()).into_no_null_iter().collect()
    };
    let export = judge.export;
    let snapshots: Vec<&SnapshotRow> =
        rows.iter().map(|row| &export.snapshots[*row as usize]).collect();
    old(judge, &snapshots);
    large(judge, &snapshots);
}

/// Whole days from a snapshot to the inventory; negative when the clocks disagree.
fn age_days(judge: &Judge<'_>, snapshot: &SnapshotRow) -> Option<i64> {
    let taken = judge.taken.of_file.get(snapshot.at.file as usize).copied().flatten()?;
    let seconds = taken.duration_since(snapshot.taken?).as_secs();
    Some(seconds.div_euclid(86_400))
}

fn old(judge: &mut Judge<'_>, snapshots: &[&SnapshotRow]) {
    let (note, care) = (judge.limit("snapshot-note-days"), judge.limit("snapshot-care-days"));
    let mut aged: Vec<(u64, &SnapshotRow)> = Vec::with_capacity(snapshots.len());
    for snapshot in snapshots {
        if let Some(age) = age_days(judge, snapshot) {
            aged.push((u64::try_from(age).unwrap_or(0), snapshot));
        }
    }
    if aged.is_empty() && !snapshots.is_empty() {
        return judge.not_checked(OLD, "the date of the inventory or of the snapshots");
    }
    aged.retain(|(age, _)| *age > note);
    aged.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    let Some((oldest, _)) = aged.first() else {
        let count = counted(snapshots.len() as u64, "snapshot", "snapshots");
        return judge.passed(OLD, format!("{count}, none older than {note} days."));
    };
    let grave = aged.iter().filter(|(age, _)| *age > care).count() as u64;
    let fact = format!(
        "{} older than {note} days, {grave} of them older than {care}; the oldest is {oldest} days old.",
        counted(aged.len() as u64, "snapshot", "snapshots"),
    );
    let mut rows = Rows::default();
    for (age, snapshot) in &aged {
        rows.push(judge.export, TAB, snapshot.at, || {
            let name = snapshot.vm.name.as_deref().unwrap_or("");
            let total = snapshot.size_total.map(|total| format!(", {}", size(total)));
            format!("{name}: {age} days{}", total.unwrap_or_default())
        });
    }
    let severity = if grave > 0 { Severity::Care } else { Severity::Note };
    judge.fired(OLD, severity, fact, rows);
}

fn large(judge: &mut Judge<'_>, snapshots: &[&SnapshotRow]) {
    let limit = judge.limit("snapshot-share-pct");
    let codes = proven(judge.frames.snapshots.column("vm")).as_materialized_series();
    let codes: Vec<u32> = proven(codes.u32()).into_no_null_iter().collect();
    let first_row: BTreeMap<u32, &SnapshotRow> =
        codes.iter().copied().zip(snapshots.iter().copied()).rev().collect();
    let sums = proven(frames::sums(&judge.frames.snapshots, "vm", "size"));
    let sums = proven(frames::by_code(&sums, "vm", "size_sum", judge.inventory.vms.len()));
    let mut shares: Vec<(u64, u64, usize)> = Vec::new();
    for (vm, sum) in sums.into_iter().enumerate() {
        let disks = judge.inventory.vms[vm].disk_capacity.filter(|disks| disks.0 > 0);
        if let (Some(sum), Some(disks)) = (sum, disks)
            && u128::from(sum) * 100 > u128::from(disks.0) * u128::from(limit)
        {
            shares.push((sum, disks.0, vm));
        }
    }
    if shares.is_empty() {
        return judge.passed(
            LARGE,
            format!("No VM has snapshots of more than {limit} % of its virtual disks."),
        );
    }
    shares.sort_by_key(|(sum, _, vm)| (std::cmp::Reverse(*sum), *vm));
    let all: u64 = shares.iter().map(|(sum, ..)| *sum).fold(0, u64::saturating_add);
    let fact = format!(
        "{} snapshots of more than {limit} % of the virtual disks, {} in all.",
        counted(shares.len() as u64, "VM has", "VMs have"),
        size(Mib(all)),
    );
    let mut rows = Rows::default();
    for (sum, disks, vm) in shares {
        let at = first_row.get(&crate::identity::number(vm)).map(|row| row.at);
        let vm = &judge.inventory.vms[vm];
        rows.push(judge.export, TAB, at.unwrap_or(vm.at), || {
            let share = crate::words::percent(sum, disks);
            format!("{}: {} in snapshots, {share} % of its disks", vm.name, size(Mib(sum)))
        });
    }
    judge.fired(LARGE, Severity::Care, fact, rows);
}
