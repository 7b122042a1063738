//! Demands and inventories for the tests of this crate.

use plimsoll_demand::{Class, ClassId, Demand, DemandOptions, Load, Lognormal, VmDemand};
use plimsoll_inventory::{Inventory, VmId};
use plimsoll_units::{EvidenceGrade, Gib, Iops, Mib, MibPerSec};

/// A demand of `vms` equal VMs with this load and used space, no growth.
pub(crate) fn demand(iops: f64, mibps: f64, used_tib: f64, vms: u32) -> Demand {
    let load = Load {
        iops_p95: Iops(iops),
        iops_mean: Iops(iops * 0.7),
        mibps_p95: MibPerSec(mibps),
        mibps_mean: MibPerSec(mibps * 0.7),
        read_fraction: 0.7,
        block_kib: 8.0,
        stream_block_kib: 64.0,
    };
    let each = f64::from(vms);
    Demand {
        options: DemandOptions {
            capacity_growth_pct_per_year: 0.0,
            load_growth_pct_per_year: 0.0,
            ..DemandOptions::default()
        },
        classes: vec![Class {
            id: "generic".to_owned(),
            name: "Generic".to_owned(),
            iops: Lognormal { median: 50.0, shape: 1.0 },
            mibps: Lognormal { median: 1.0, shape: 1.0 },
            read_fraction: 0.7,
            block_kib: 8.0,
            correlation: 0.25,
            average_of_peak: 0.7,
            source: "test".to_owned(),
            grade: EvidenceGrade::C,
            rules: Vec::new(),
            vms: u64::from(vms),
            iops_p95: Iops(iops),
            mibps_p95: MibPerSec(mibps),
        }],
        vms: (0..vms)
            .map(|index| VmDemand {
                vm: VmId(index),
                class: ClassId(0),
                rule: 0,
                iops_p95: Iops(iops / each),
                iops_mean: Iops(iops * 0.7 / each),
                mibps_p95: MibPerSec(mibps / each),
                mibps_mean: MibPerSec(mibps * 0.7 / each),
                used: mib(used_tib / each),
            })
            .collect(),
        separate: Vec::new(),
        today: load,
        horizon: load,
        used_today: Gib(used_tib * 1024.0),
        used_horizon: Gib(used_tib * 1024.0),
        provisioned_today: Gib(used_tib * 1024.0),
        vm_memory: Gib(0.0),
        grade: EvidenceGrade::C,
        assumptions: Vec::new(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn mib(tib: f64) -> Mib {
    Mib((tib * 1_048_576.0) as u64)
}

/// An inventory without rows: the plan takes hosts from the options.
pub(crate) fn inventory() -> Inventory {
    Inventory::default()
}
