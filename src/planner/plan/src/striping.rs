//! VMs that one datastore cannot carry or hold, and how to spread them.
//!
//! A VM reaches more than one datastore only through several virtual disks that the guest joins. The
//! price is that a snapshot of one datastore holds only part of the data.

use plimsoll_demand::Demand;
use plimsoll_inventory::{Inventory, Vm};
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec};

use crate::types::StripingAdvice;
use crate::words::{modelled, size};

/// What one datastore carries and holds for one VM; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct StripingLimits {
    /// IOPS of one VM through one datastore.
    pub iops: Option<Iops>,
    /// MiB/s of one VM through one datastore.
    pub mibps: Option<MibPerSec>,
    /// Space of one datastore beside slack and snapshot reserve.
    pub space: Option<Gib>,
    /// Largest file.
    pub file: Option<Mib>,
}

/// One ceiling that a VM passes.
struct Passed {
    words: String,
    /// Datastores (or for the file limit: disks) that it takes.
    parts: f64,
}

/// Advice for each VM above a ceiling at the horizon, in inventory order.
#[must_use]
pub fn advise(
    inventory: &Inventory,
    demand: &Demand,
    limits: &StripingLimits,
) -> Vec<StripingAdvice> {
    let load_growth = growth(demand.horizon.iops_p95.0, demand.today.iops_p95.0);
    let space_growth = growth(demand.used_horizon.0, demand.used_today.0);
    let mut advice = Vec::new();
    for load in &demand.vms {
        let Some(vm) = inventory.vms.get(load.vm.0 as usize) else { continue };
        let class = demand.classes.get(load.class.0 as usize);
        let known = class.map_or(String::new(), |class| match class.grade {
            EvidenceGrade::A | EvidenceGrade::B => String::new(),
            EvidenceGrade::C | EvidenceGrade::D => {
                format!(" (estimated from its class, {}; measure before acting)", class.name)
            }
        });
        let iops = limits.iops.and_then(|limit| {
            above(load.iops_p95.0 * load_growth, limit.0, |value, limit| {
                format!(
                    "{} IOPS at the 95th percentile{known}; one datastore gives it {}",
                    modelled(value),
                    modelled(limit)
                )
            })
        });
        let mibps = limits.mibps.and_then(|limit| {
            above(load.mibps_p95.0 * load_growth, limit.0, |value, limit| {
                format!(
                    "{} MiB/s at the 95th percentile{known}; one datastore gives it {}",
                    modelled(value),
                    modelled(limit)
                )
            })
        });
        let space = limits.space.and_then(|limit| {
            above(load.used.gib().0 * space_growth, limit.0, |value, limit| {
                format!("{} used at the horizon; one datastore holds {}", size(value), size(limit))
            })
        });
        let file = limits.file.zip(vm.largest_disk).and_then(|(limit, disk)| {
            above(disk.gib().0, limit.gib().0, |value, limit| {
                format!("a virtual disk of {}; the largest file is {}", size(value), size(limit))
            })
        });
        let datastores = most([&iops, &mibps, &space]);
        let disks = most([&file, &None, &None]).max(datastores);
        if disks < 2 {
            continue;
        }
        let reasons: Vec<String> =
            [iops, mibps, space, file].into_iter().flatten().map(|passed| passed.words).collect();
        advice.push(StripingAdvice {
            vm: load.vm,
            reason: reasons.join("; "),
            vmdks: disks,
            datastores,
            caveat: caveat(vm, datastores),
        });
    }
    advice
}

fn above(value: f64, limit: f64, words: impl FnOnce(f64, f64) -> String) -> Option<Passed> {
    let passes = value.is_finite() && limit > 0.0 && value > limit;
    passes.then(|| Passed { words: words(value, limit), parts: (value / limit).ceil() })
}

fn most(passed: [&Option<Passed>; 3]) -> u32 {
    let parts = passed.into_iter().flatten().map(|passed| passed.parts).fold(1.0, f64::max);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to the range of small counts"
    )]
    let parts = parts.clamp(1.0, 65_535.0) as u32;
    parts
}

/// How the guest joins the disks, and what that means for snapshots.
fn caveat(vm: &Vm, datastores: u32) -> String {
    let os = vm.os.as_deref().unwrap_or_default().to_lowercase();
    let windows = "Storage Spaces, or files of the database on each volume";
    let linux = "a striped LVM volume, or ASM disks";
    let (join, freeze) = if os.contains("windows") {
        (windows.to_owned(), "a VSS-aware backup has to quiesce the guest")
    } else if os.is_empty() || os.contains("other") {
        (format!("{windows} (Windows), {linux} (Linux)"), "VSS or xfs_freeze has to hold writes")
    } else {
        (linux.to_owned(), "xfs_freeze, or fsfreeze, has to hold writes")
    };
    if datastores > 1 {
        format!(
            "Join the disks in the guest: {join}. Snapshots taken on the storage are of one datastore \
             at a time and do not fit together unless they are taken while the guest stands still: \
             {freeze} until the last of them is done. Restore them together."
        )
    } else {
        format!(
            "Join the disks in the guest: {join}. They can stay on one datastore, so that a snapshot \
             of it holds them all; {freeze} for it to be consistent."
        )
    }
}

fn growth(then: f64, now: f64) -> f64 {
    if now > 0.0 { then / now } else { 1.0 }
}
