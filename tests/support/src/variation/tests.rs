//! Fixtures open with another reader, hold what their site says, and never change by themselves.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use calamine::{Data, Reader, open_workbook_auto};

use super::{NAMES, write};
use crate::hostile;

/// Sum of a column of a sheet, found by its header, over rows with something in the first column.
fn column_sum(path: &Path, sheet: &str, header: &str) -> Option<(u64, u64)> {
    let mut book = open_workbook_auto(path).ok()?;
    let range = book.worksheet_range(sheet).ok()?;
    let mut rows = range.rows();
    let place = rows.next()?.iter().position(|cell| *cell == header)?;
    let mut sum = 0;
    let mut count = 0;
    for row in rows.filter(|row| !matches!(&row[0], Data::Empty)) {
        count += 1;
        sum += row[place].to_string().parse::<f64>().map_or(0, |value| value as u64);
    }
    Some((count, sum))
}

/// The writers for xlsx and xls are our own: another reader must find the site's sums in them.
#[test]
fn workbooks_open_with_another_reader() {
    let folder = tempfile::tempdir().unwrap();
    let mut opened = 0;
    for (name, sheet, header) in [
        ("family-3.8-xls", "tabvInfo", "In Use MB"),
        ("family-3.8-xls-text-numbers", "tabvInfo", "In Use MB"),
        ("family-3.10", "vInfo", "In Use MB"),
        ("family-4.7", "vInfo", "In Use MiB"),
        ("family-4.7-xls", "vInfo", "In Use MiB"),
        ("family-db", "vInfo", "vInfoInUse"),
        ("xlsx-inline", "vInfo", "In Use MiB"),
        ("xlsx-formula-text", "vInfo", "In Use MiB"),
        ("xlsx-prefix", "vInfo", "In Use MiB"),
        ("xlsx-no-references", "vInfo", "In Use MiB"),
        ("two-vcenters-merged", "vInfo", "In Use MiB"),
    ] {
        let made = write(name, &folder.path().join(name)).unwrap();
        let found = column_sum(&made.files[0], sheet, header);
        assert_eq!(found, Some((made.expected.vms_in_file, made.expected.in_use_mib)), "{name}");
        opened += 1;
    }
    assert_eq!(opened, 11);
}

#[test]
fn every_fixture_is_written_and_is_the_same_every_time() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let first = write(name, &folder.path().join("first")).unwrap();
        let second = write(name, &folder.path().join("second")).unwrap();
        assert!(!first.files.is_empty(), "{name}");
        assert_eq!(first.expected, second.expected, "{name}");
        for (one, other) in first.files.iter().zip(&second.files) {
            assert!(
                fs::read(one).unwrap() == fs::read(other).unwrap(),
                "{name}: {}",
                one.display()
            );
        }
    }
}

#[test]
fn unknown_names_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(write("no-such", folder.path()).is_err());
    assert!(hostile::write("no-such", folder.path()).is_err());
}

/// In a merge of two vCenters the shared datastore is listed twice and counted once.
#[test]
fn a_datastore_of_two_vcenters_counts_once() {
    let folder = tempfile::tempdir().unwrap();
    let made = write("two-vcenters-merged", folder.path()).unwrap();
    let (listed, _) = column_sum(&made.files[0], "vDatastore", "Capacity MiB").unwrap();
    assert_eq!(listed, made.expected.datastores + 1);
}
