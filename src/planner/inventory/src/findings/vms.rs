//! VMs and their disks: what cannot move as it is, and secrets in their notes.

use plimsoll_units::Mib;

use super::judge::{Judge, Rows, Rule};
use crate::types::{Disk, FindingSeverity as Severity};
use crate::words::{counted, size};

const RAW: Rule = Rule {
    id: "disk-raw",
    advice: "A raw device stays on its LUN: convert it to a virtual disk (virtual mode converts with storage vMotion, physical mode needs a copy), or leave its VM out of the move.",
    source: "RVTools vDisk: Raw and Raw Comp. Mode",
    thresholds: &[],
};

const SHARED: Rule = Rule {
    id: "disk-shared",
    advice: "Clusters that share disks need a target that supports it (not every NFS or VMFS set-up does) and move together, powered off; their space counts once.",
    source: "RVTools vDisk: Sharing mode, Shared Bus, and one path in several VMs",
    thresholds: &[],
};

const FILE_LIMIT: Rule = Rule {
    id: "disk-above-file-limit",
    advice: "Split this disk inside the guest over several smaller ones before moving it to a platform with that limit, or choose another platform for it.",
    source: "",
    thresholds: &["file-limit-mib"],
};

const SECRETS: Rule = Rule {
    id: "secrets-in-annotations",
    advice: "Change these passwords and take them out of the notes: everyone who can read the inventory or an export of it can read them. They were removed here before anything was stored.",
    source: "vInfo Annotation, searched for passwords, keys and tokens",
    thresholds: &[],
};

const TAB: &str = "vDisk";

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    if judge.inventory.disks.is_empty() {
        for rule in [RAW, SHARED, FILE_LIMIT] {
            judge.not_checked(rule, TAB);
        }
    } else {
        raw(judge);
        shared(judge);
        file_limit(judge);
    }
    secrets(judge);
}

fn label(judge: &Judge<'_>, disk: &Disk) -> String {
    let vm = &judge.inventory.vms[disk.vm.0 as usize];
    format!("{}, {}: {}", vm.name, disk.label, size(disk.capacity))
}

fn rows_of(judge: &Judge<'_>, wanted: impl Fn(&Disk) -> bool) -> (Rows, Mib) {
    let (mut rows, mut sum) = (Rows::default(), Mib(0));
    for disk in judge.inventory.disks.iter().filter(|disk| wanted(disk)) {
        if !disk.duplicate {
            sum = sum.plus(disk.capacity);
        }
        rows.push(judge.export, TAB, disk.at, || label(judge, disk));
    }
    (rows, sum)
}

fn raw(judge: &mut Judge<'_>) {
    let (rows, sum) = rows_of(judge, |disk| disk.raw);
    if rows.is_empty() {
        return judge.passed(RAW, "No disk is a raw device mapping.".to_owned());
    }
    let physical = judge.export.disks.iter().filter(|row| {
        let mode = row.raw_compat_mode.as_deref().unwrap_or("");
        row.raw == Some(true)
            && mode.eq_ignore_ascii_case("physicalMode")
            && !judge.left_out(row.at)
    });
    let physical = physical.count() as u64;
    let fact = format!(
        "{} of {} mapped raw, {physical} of them in physical mode.",
        counted(rows.total, "disk is a LUN", "disks are LUNs"),
        size(sum),
    );
    let severity = if physical > 0 { Severity::Stops } else { Severity::Care };
    judge.fired(RAW, severity, fact, rows);
}

fn shared(judge: &mut Judge<'_>) {
    let (rows, sum) = rows_of(judge, |disk| disk.shared);
    if rows.is_empty() {
        return judge.passed(SHARED, "No disk is shared between VMs.".to_owned());
    }
    let fact = format!(
        "{} that VMs share or that are open to several writers, {} when each counts once.",
        counted(rows.total, "listing of disks", "listings of disks"),
        size(sum),
    );
    judge.fired(SHARED, Severity::Care, fact, rows);
}

fn file_limit(judge: &mut Judge<'_>) {
    let limit = Mib(judge.limit("file-limit-mib"));
    let (rows, _) = rows_of(judge, |disk| !disk.raw && disk.capacity > limit);
    if rows.is_empty() {
        return judge.passed(FILE_LIMIT, format!("No virtual disk is above {}.", size(limit)));
    }
    let fact = format!(
        "{} above {}, the largest file of Azure NetApp Files.",
        counted(rows.total, "virtual disk is", "virtual disks are"),
        size(limit),
    );
    judge.fired(FILE_LIMIT, Severity::Stops, fact, rows);
}

fn secrets(judge: &mut Judge<'_>) {
    if judge.export.vms.iter().all(|row| row.annotation.is_none())
        && judge.export.redacted_secrets.is_empty()
    {
        return judge.not_checked(SECRETS, "vInfo Annotation");
    }
    let mut rows = Rows::default();
    for at in &judge.export.redacted_secrets {
        if !judge.left_out(*at) {
            rows.push(judge.export, "vInfo", *at, || {
                "a secret in the annotation, removed".to_owned()
            });
        }
    }
    if rows.is_empty() {
        return judge
            .passed(SECRETS, "No annotation looks like it holds a password or token.".to_owned());
    }
    let fact = format!(
        "{} what looks like a password or token.",
        counted(rows.total, "annotation holds", "annotations hold"),
    );
    judge.fired(SECRETS, Severity::Care, fact, rows);
}
