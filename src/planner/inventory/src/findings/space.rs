//! Space on datastores: full, promised twice, out of reach, local, owned by nobody, mounted twice.

use std::collections::{BTreeMap, BTreeSet};

use plimsoll_units::Mib;

use super::judge::{Judge, Rows, Rule};
use crate::frames;
use crate::names::nfs_address;
use crate::population::used_by_datastore;
use crate::types::{Datastore, DatastoreKind, Exclusion, FindingSeverity as Severity};
use crate::words::{counted, fine_percent, percent, size};

const FULL: Rule = Rule {
    id: "datastore-nearly-full",
    advice: "Free or add space before anything is moved there; thin disks and snapshots stop with the datastore that holds them.",
    source: "",
    thresholds: &["space-note-pct", "space-care-pct"],
};

const OVERCOMMITTED: Rule = Rule {
    id: "datastore-overcommitted",
    advice: "Thin disks may grow to more than the datastore holds: watch its growth, and size the target by what is used plus growth, not by what is provisioned.",
    source: "",
    thresholds: &["overcommit-note-pct", "overcommit-care-pct"],
};

const INACCESSIBLE: Rule = Rule {
    id: "datastore-inaccessible",
    advice: "Restore access or remove the datastore from vCenter; its size is not trusted, and what stands on it cannot be moved.",
    source: "RVTools manual: the figures and URL of a datastore hold only while it is accessible",
    thresholds: &[],
};

const LOCAL: Rule = Rule {
    id: "datastore-local-with-vms",
    advice: "Move these VMs to shared storage: they cannot be restarted on another host, and local disks are no target for consolidation.",
    source: "RVTools vDatastore: # Hosts and MHA (multiple host access)",
    thresholds: &[],
};

const NOBODYS: Rule = Rule {
    id: "space-without-vm",
    advice: "Look for files that no VM owns (removed from inventory, old copies, ISO stores) with vHealth or a file listing, and delete what is not needed before sizing; VMs filtered out of vInfo give the same picture.",
    source: "",
    thresholds: &["space-without-vm-pct"],
};

const MOUNTED_TWICE: Rule = Rule {
    id: "nfs-mounted-twice",
    advice: "One export under two names counts twice in capacity and stops vMotion between the hosts that differ: mount it under one name and one server address everywhere.",
    source: "Plimsoll: same NFS address, or same path with equal capacity and use on two server names",
    thresholds: &[],
};

const TAB: &str = "vDatastore";

/// Judges the rules of this file.
pub(crate) fn judge(judge: &mut Judge<'_>) {
    if listed(judge).is_empty() {
        for rule in [FULL, OVERCOMMITTED, INACCESSIBLE, LOCAL, NOBODYS, MOUNTED_TWICE] {
            judge.not_checked(rule, TAB);
        }
        return;
    }
    full(judge);
    overcommitted(judge);
    inaccessible(judge);
    local(judge);
    nobodys(judge);
    mounted_twice(judge);
}

/// Datastores of vDatastore, with their index.
fn listed<'a>(judge: &Judge<'a>) -> Vec<(usize, &'a Datastore)> {
    let all = judge.inventory.datastores.iter().enumerate();
    all.filter(|(_, datastore)| !datastore.at.is_empty()).collect()
}

/// In use, else capacity less free, of a datastore whose capacity is known.
fn fill(datastore: &Datastore) -> Option<(u64, u64)> {
    let capacity = datastore.capacity.filter(|capacity| capacity.0 > 0)?.0;
    let in_use = datastore.in_use.map(|in_use| in_use.0);
    let by_free = datastore.free.and_then(|free| capacity.checked_sub(free.0));
    Some((in_use.or(by_free)?, capacity))
}

fn full(judge: &mut Judge<'_>) {
    let (note, care) = (judge.limit("space-note-pct"), judge.limit("space-care-pct"));
    let mut fills: Vec<(u64, u64, &Datastore)> = listed(judge)
        .into_iter()
        .filter(|(_, datastore)| datastore.accessible)
        .filter_map(|(_, datastore)| fill(datastore).map(|(used, all)| (used, all, datastore)))
        .collect();
    if fills.is_empty() {
        return judge.not_checked(FULL, "vDatastore Capacity and In Use");
    }
    let judged = fills.len() as u64;
    let above = |used: u64, all: u64, limit: u64| {
        u128::from(used) * 100 > u128::from(all) * u128::from(limit)
    };
    fills.retain(|(used, all, _)| above(*used, *all, note));
    fills.sort_by_key(|(used, all, _)| {
        std::cmp::Reverse(u128::from(*used) * 1_000_000 / u128::from(*all))
    });
    let Some((used, all, fullest)) = fills.first() else {
        return judge.passed(FULL, format!("No datastore of {judged} is more than {note} % full."));
    };
    let grave = fills.iter().filter(|(used, all, _)| above(*used, *all, care)).count() as u64;
    let fact = format!(
        "{} of {judged} more than {note} % full, {grave} of them more than {care} %; {} is the fullest at {}.",
        counted(fills.len() as u64, "datastore", "datastores"),
        fullest.name,
        fine_percent(*used, *all),
    );
    let mut rows = Rows::default();
    for (used, all, datastore) in &fills {
        rows.push(judge.export, TAB, datastore.at[0], || {
            let free = Mib(all.saturating_sub(*used));
            format!("{}: {} full, {} free", datastore.name, fine_percent(*used, *all), size(free))
        });
    }
    let severity = if grave > 0 { Severity::Care } else { Severity::Note };
    judge.fired(FULL, severity, fact, rows);
}

fn overcommitted(judge: &mut Judge<'_>) {
    let (note, care) = (judge.limit("overcommit-note-pct"), judge.limit("overcommit-care-pct"));
    let mut shares: Vec<(u64, &Datastore)> = listed(judge)
        .into_iter()
        .filter_map(|(_, datastore)| {
            let capacity = datastore.capacity.filter(|capacity| capacity.0 > 0)?;
            Some((percent(datastore.provisioned?.0, capacity.0), datastore))
        })
        .collect();
    if shares.is_empty() {
        return judge.not_checked(OVERCOMMITTED, "vDatastore Capacity and Provisioned");
    }
    let judged = shares.len() as u64;
    let promised = |datastore: &Datastore| datastore.provisioned > datastore.capacity;
    shares.retain(|(share, datastore)| *share >= note && promised(datastore));
    shares.sort_by_key(|(share, _)| std::cmp::Reverse(*share));
    let Some((most, worst)) = shares.first() else {
        return judge.passed(
            OVERCOMMITTED,
            format!("None of {judged} datastores has more provisioned than it holds."),
        );
    };
    let fact = format!(
        "{} of {judged} with more provisioned than capacity; {} promises {most} % of its capacity.",
        counted(shares.len() as u64, "datastore", "datastores"),
        worst.name,
    );
    let severity = if *most > care { Severity::Care } else { Severity::Note };
    let mut rows = Rows::default();
    for (share, datastore) in &shares {
        rows.push(judge.export, TAB, datastore.at[0], || {
            format!("{}: {share} % of capacity provisioned", datastore.name)
        });
    }
    judge.fired(OVERCOMMITTED, severity, fact, rows);
}

fn inaccessible(judge: &mut Judge<'_>) {
    let mut rows = Rows::default();
    let mut vms = 0;
    for (_, datastore) in listed(judge) {
        if !datastore.accessible {
            vms += datastore.vms.len() as u64;
            rows.push(judge.export, TAB, datastore.at[0], || {
                let vms = counted(datastore.vms.len() as u64, "VM", "VMs");
                format!("{}: not accessible, {vms} on it", datastore.name)
            });
        }
    }
    if rows.is_empty() {
        return judge.passed(INACCESSIBLE, "Every datastore is accessible.".to_owned());
    }
    let fact = format!(
        "{} not accessible, with {} in all.",
        counted(rows.total, "datastore is", "datastores are"),
        counted(vms, "VM", "VMs"),
    );
    let severity = if vms > 0 { Severity::Stops } else { Severity::Care };
    judge.fired(INACCESSIBLE, severity, fact, rows);
}

fn local(judge: &mut Judge<'_>) {
    let placed = judge.inventory.vms.iter().any(|vm| !vm.datastores.is_empty());
    if !placed && listed(judge).iter().any(|(_, datastore)| datastore.local) {
        return judge.not_checked(LOCAL, "the Path of VMs or disks");
    }
    let mut rows = Rows::default();
    let mut vms = 0;
    for (_, datastore) in listed(judge) {
        // vCLS VMs belong on local storage, and placeholders take none.
        let moves = datastore.vms.iter().filter(|id| {
            let exclusion = judge.inventory.vms[id.0 as usize].exclusion;
            !matches!(exclusion, Some(Exclusion::Vcls | Exclusion::SrmPlaceholder))
        });
        let moves = moves.count() as u64;
        if datastore.local && moves > 0 {
            vms += moves;
            rows.push(judge.export, TAB, datastore.at[0], || {
                format!("{}: {}", datastore.name, counted(moves, "VM", "VMs"))
            });
        }
    }
    if rows.is_empty() {
        return judge
            .passed(LOCAL, "No VM stands on a datastore that only one host sees.".to_owned());
    }
    let fact = format!(
        "{} on {} that only one host sees.",
        counted(vms, "VM stands", "VMs stand"),
        counted(rows.total, "local datastore", "local datastores"),
    );
    judge.fired(LOCAL, Severity::Care, fact, rows);
}

fn nobodys(judge: &mut Judge<'_>) {
    let used_by_vms = used_by_datastore(judge.inventory);
    let known: Vec<(u64, u64, &Datastore)> = listed(judge)
        .into_iter()
        .filter(|(_, datastore)| datastore.accessible)
        .filter_map(|(index, datastore)| Some((datastore.in_use?.0, used_by_vms[index], datastore)))
        .collect();
    let placed = judge.inventory.vms.iter().any(|vm| !vm.datastores.is_empty());
    if known.is_empty() || !placed {
        return judge.not_checked(NOBODYS, "the Path of VMs or disks");
    }
    let in_use: u64 = known.iter().map(|(in_use, ..)| *in_use).fold(0, u64::saturating_add);
    let of_vms: u64 = judge
        .inventory
        .vms
        .iter()
        .filter(|vm| vm.exclusion != Some(Exclusion::SrmPlaceholder))
        .map(|vm| vm.used.0)
        .fold(0, u64::saturating_add);
    let gap = in_use.saturating_sub(of_vms);
    let limit = judge.limit("space-without-vm-pct");
    let words = format!(
        "{} of the {} in use on datastores ({}) belong to no listed VM",
        size(Mib(gap)),
        size(Mib(in_use)),
        fine_percent(gap, in_use),
    );
    if u128::from(gap) * 100 <= u128::from(in_use) * u128::from(limit) {
        return judge.passed(NOBODYS, format!("{words}: within the usual {limit} %."));
    }
    let mut gaps: Vec<(u64, &Datastore)> = known
        .into_iter()
        .map(|(in_use, of_vms, datastore)| (in_use.saturating_sub(of_vms), datastore))
        .filter(|(gap, _)| *gap > 0)
        .collect();
    gaps.sort_by_key(|(gap, _)| std::cmp::Reverse(*gap));
    let mut rows = Rows::default();
    for (gap, datastore) in &gaps {
        rows.push(judge.export, TAB, datastore.at[0], || {
            format!("{}: {} without a VM", datastore.name, size(Mib(*gap)))
        });
    }
    let strangers = frames::proven(frames::missing(&judge.frames.disks, &judge.frames.vms, "vm"));
    let filtered = match strangers {
        0 => String::new(),
        some => format!(
            "; {} in vDisk but not in vInfo, so the file was filtered",
            counted(some as u64, "VM is", "VMs are")
        ),
    };
    judge.fired(NOBODYS, Severity::Care, format!("{words}{filtered}."), rows);
}

fn mounted_twice(judge: &mut Judge<'_>) {
    let nfs = |kind| matches!(kind, DatastoreKind::Nfs | DatastoreKind::Nfs41);
    let mut by_address: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut by_content: BTreeMap<(String, u64, u64), Vec<usize>> = BTreeMap::new();
    for (index, datastore) in listed(judge) {
        let address = datastore.address.as_deref().filter(|_| nfs(datastore.kind));
        let Some((server, path)) = address.and_then(nfs_address) else { continue };
        by_address.entry((server.to_lowercase(), path.to_owned())).or_default().push(index);
        if let (Some(capacity), Some(in_use)) = (datastore.capacity, datastore.in_use)
            && in_use.0 > 0
        {
            by_content.entry((path.to_owned(), capacity.0, in_use.0)).or_default().push(index);
        }
    }
    if by_address.is_empty() {
        return judge.passed(MOUNTED_TWICE, "There are no NFS datastores.".to_owned());
    }
    let same = by_address.into_values().chain(by_content.into_values());
    let twice: BTreeSet<usize> = same.filter(|same| same.len() > 1).flatten().collect();
    let mut rows = Rows::default();
    for index in twice {
        let datastore = &judge.inventory.datastores[index];
        rows.push(judge.export, TAB, datastore.at[0], || {
            format!("{}: {}", datastore.name, datastore.address.as_deref().unwrap_or(""))
        });
    }
    if rows.is_empty() {
        return judge
            .passed(MOUNTED_TWICE, "Each NFS export is mounted under one name.".to_owned());
    }
    let fact = format!(
        "{} are mounts of an export that has another name or server address too.",
        counted(rows.total, "datastore", "datastores")
    );
    judge.fired(MOUNTED_TWICE, Severity::Care, fact, rows);
}
