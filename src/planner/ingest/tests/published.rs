//! Published exports and hostile files of the shared folder, when it is there.
//!
//! Totals were read from the files with openpyxl. Hostile files run in a child process of this test
//! binary, so that an abort or runaway memory shows as a failure of that file.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use plimsoll_ingest::{Export, Input, Limits, read};
use plimsoll_units::Mib;

fn shared(path: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PLIMSOLL_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"),
        PathBuf::from,
    );
    let found = root.join(path);
    if !found.exists() {
        println!("skipped: {} is not there", found.display());
        return None;
    }
    Some(found)
}

fn load(name: &str) -> Option<Export> {
    let path = shared("data/rvtools")?.join(name);
    Some(read(vec![Input::from_path(path)], &Limits::default(), &mut |_| true).unwrap())
}

fn sum(values: impl Iterator<Item = Option<Mib>>) -> u64 {
    values.flatten().map(|mib| mib.0).sum()
}

/// vInfo rows, provisioned, in use; vDisk rows, capacity; vPartition rows, capacity, consumed;
/// vDatastore rows, capacity; vHost rows.
type Totals = (usize, u64, u64, usize, u64, usize, u64, u64, usize, u64, usize);

fn totals(export: &Export) -> Totals {
    (
        export.vms.len(),
        sum(export.vms.iter().map(|row| row.provisioned)),
        sum(export.vms.iter().map(|row| row.in_use)),
        export.disks.len(),
        sum(export.disks.iter().map(|row| row.capacity)),
        export.partitions.len(),
        sum(export.partitions.iter().map(|row| row.capacity)),
        sum(export.partitions.iter().map(|row| row.consumed)),
        export.datastores.len(),
        sum(export.datastores.iter().map(|row| row.capacity)),
        export.hosts.len(),
    )
}

#[test]
fn published_exports_have_their_totals() {
    let expected: [(&str, Totals); 5] = [
        (
            "kubev2v__example1.xlsx",
            (9, 1_371_610, 351_571, 9, 1_344_512, 9, 922_530, 185_714, 0, 0, 7),
        ),
        (
            "mjvincent__rvtools-small-complete.xlsx",
            (3, 532_480, 0, 5, 532_480, 5, 532_480, 327_680, 0, 0, 2),
        ),
        (
            "neil1taylor__test-rvtools.xlsx",
            (3, 665_600, 332_800, 4, 665_600, 0, 0, 0, 1, 2_097_152, 2),
        ),
        (
            "reinhardfrie__BillSampleNextRvtoolsFinal.xlsx",
            (131, 40_205_220, 39_720_794, 247, 39_236_545, 286, 34_625_595, 18_575_158, 0, 0, 8),
        ),
        (
            "reinhardfrie__SizingWorkshop-RVTools.xlsx",
            (805, 234_526_490, 127_901_813, 0, 0, 1618, 216_986_720, 101_130_935, 0, 0, 34),
        ),
    ];
    for (name, expected) in expected {
        if let Some(export) = load(name) {
            assert_eq!(totals(&export), expected, "{name}");
        }
    }
}

#[test]
fn a_key_header_lost_to_find_and_replace_is_recovered_and_said() {
    let Some(export) = load("reinhardfrie__BillSampleNextRvtoolsFinal.xlsx") else { return };
    assert!(export.partitions.iter().all(|row| row.vm.name.is_some()));
    let said = export.problems.items.iter().any(|p| {
        p.code == "header-replaced" && p.tab == "vPartition" && p.column == "NEXT Data Center"
    });
    assert!(said);
    assert!(export.vms.iter().any(|vm| vm.custom.iter().any(|(name, _)| &**name == "Last Backup")));
}

/// Not a test by itself: reads the file named in the environment and says what came of it.
#[test]
fn child() {
    let Some(path) = std::env::var_os("PLIMSOLL_TEST_FILE") else { return };
    match read(vec![Input::from_path(path)], &Limits::default(), &mut |_| true) {
        Ok(export) => println!("outcome=read vms={}", export.vms.len()),
        Err(error) => println!("outcome={} {error}", error.code()),
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    println!("peak_kib={}", peak.trim().trim_end_matches(" kB"));
}

#[test]
fn hostile_files_end_in_time_and_bounds() {
    // A loaded machine may be slower than the 2 s that a quiet one keeps.
    const LONGEST: Duration = Duration::from_secs(10);
    const MOST_KIB: u64 = 256 * 1024;
    let Some(folder) = shared("data/rvtools/hostile") else { return };
    let expected = [
        ("badss.xlsx", "minimum-set"),
        ("csv.xlsx", "minimum-set"),
        ("dim_a1.xlsx", "minimum-set"),
        ("dim_huge.xlsx", "minimum-set"),
        ("dim_none.xlsx", "minimum-set"),
        ("enc.xlsx", "encrypted"),
        ("far_blank_styled.xlsx", "minimum-set"),
        ("far_cell.xlsx", "minimum-set"),
        ("far_cell_50k.xlsx", "minimum-set"),
        ("hidden.xlsx", "minimum-set"),
        ("html.xls", "unsupported-format"),
        ("norefs.xlsx", "minimum-set"),
        ("renamed.xls", "minimum-set"),
        ("types.xlsx", "minimum-set"),
        ("xprefix.xlsx", "minimum-set"),
    ];
    for (name, outcome) in expected {
        let started = Instant::now();
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture"])
            .env("PLIMSOLL_TEST_FILE", folder.join(name))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {text}");
        assert!(started.elapsed() < LONGEST, "{name} took {:?}", started.elapsed());
        assert!(text.contains(&format!("outcome={outcome} ")), "{name}: {text}");
        let peak: u64 = text
            .lines()
            .find_map(|line| line.split("peak_kib=").nth(1)?.trim().parse().ok())
            .unwrap();
        assert!(peak < MOST_KIB, "{name} took {peak} KiB");
    }
}
