//! Totals of public exports against sums made with openpyxl. The files stay where they are; without
//! them the test says so and passes.

use std::path::PathBuf;

use plimsoll_ingest::{Input, Limits, read};

use crate::types::Totals;
use crate::{InventoryOptions, build};

fn shared() -> PathBuf {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../shared");
    std::env::var_os("PLIMSOLL_SHARED").map_or_else(beside, PathBuf::from)
}

/// Totals of a file; fields that its tabs do not have are zero.
fn expected() -> [(&'static str, Totals); 5] {
    [
        (
            "kubev2v__example1.xlsx",
            Totals {
                vms_in_file: 9,
                powered_off: 6,
                disks: 9,
                provisioned_mib: 1_371_610,
                in_use_mib: 351_571,
                disk_capacity_mib: 1_344_512,
                partition_consumed_mib: 185_714,
                ..Totals::default()
            },
        ),
        (
            "mjvincent__rvtools-small-complete.xlsx",
            Totals {
                vms_in_file: 3,
                powered_off: 1,
                disks: 5,
                provisioned_mib: 532_480,
                disk_capacity_mib: 532_480,
                partition_consumed_mib: 327_680,
                ..Totals::default()
            },
        ),
        (
            "neil1taylor__test-rvtools.xlsx",
            Totals {
                vms_in_file: 3,
                disks: 4,
                datastores: 1,
                provisioned_mib: 665_600,
                in_use_mib: 332_800,
                disk_capacity_mib: 665_600,
                datastore_capacity_mib: 2_097_152,
                datastore_in_use_mib: 1_048_576,
                ..Totals::default()
            },
        ),
        (
            "reinhardfrie__BillSampleNextRvtoolsFinal.xlsx",
            Totals {
                vms_in_file: 131,
                templates: 2,
                powered_off: 20,
                disks: 247,
                provisioned_mib: 40_205_220,
                in_use_mib: 39_720_794,
                disk_capacity_mib: 39_236_545,
                partition_consumed_mib: 18_575_158,
                ..Totals::default()
            },
        ),
        (
            "reinhardfrie__SizingWorkshop-RVTools.xlsx",
            Totals {
                vms_in_file: 805,
                templates: 10,
                powered_off: 32,
                provisioned_mib: 234_526_490,
                in_use_mib: 127_901_813,
                partition_consumed_mib: 101_130_935,
                ..Totals::default()
            },
        ),
    ]
}

#[test]
#[expect(clippy::print_stderr, reason = "says that the files are not there")]
fn totals_of_public_exports() {
    let folder = shared().join("data/rvtools");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    for (name, expected) in expected() {
        let inputs = vec![Input::from_path(folder.join(name))];
        let export = read(inputs, &Limits::default(), &mut |_| true).unwrap();
        let (inventory, _) = build(&export, &InventoryOptions::default());
        let totals = Totals {
            // Not among the sums of the sheets: they depend on exclusions and on merging.
            vms_counted: 0,
            hosts: 0,
            ..inventory.totals.clone()
        };
        assert_eq!(totals, expected, "{name}");
    }
}

/// The project's sample holds a fault for each of these, as its README says.
#[test]
fn the_sample_has_the_findings_it_was_made_for() {
    let sample =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../data/samples/sample.xlsx");
    let export = read(vec![Input::from_path(sample)], &Limits::default(), &mut |_| true).unwrap();
    let (inventory, _) = build(&export, &InventoryOptions::default());
    assert_eq!(inventory.vms.len(), 232);
    assert_eq!(inventory.datastores.iter().filter(|one| !one.local).count(), 7);
    assert_eq!(inventory.datastores.iter().filter(|one| one.local).count(), 4);
    for (rule, evidence) in [
        ("vmkernel-mtu-differs", None),
        ("path-dead", Some(1)),
        ("disk-above-file-limit", Some(1)),
        ("snapshot-old", None),
        ("esxi-builds-mixed", Some(4)),
        ("secrets-in-annotations", None),
        ("datastore-nearly-full", None),
    ] {
        let finding = crate::testing::fired(&inventory, rule);
        let finding = finding.unwrap_or_else(|| panic!("{rule}: {:#?}", inventory.findings));
        assert!(evidence.is_none_or(|rows| rows == finding.evidence_total), "{finding:#?}");
    }
    let fullest = inventory.datastores.iter().filter_map(|one| {
        let (in_use, capacity) = (one.in_use?.0, one.capacity?.0);
        Some((in_use * 100 + capacity / 2) / capacity)
    });
    assert_eq!(fullest.max(), Some(94));
}
