//! Every version family, dialect and writer gives the totals that the site was made with.

use plimsoll_support::variation;

use crate::program::{report, run};

/// Runs the variations whose place in the list is `part` modulo `parts`.
fn check(part: usize, parts: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for name in variation::NAMES.iter().skip(part).step_by(parts) {
        let made = variation::write(name, &folder.path().join(name)).unwrap();
        let run = report(&made.files, "json");
        if !run.made_a_report() {
            wrong.push(format!("{name}: status {:?}: {}", run.status, run.stderr));
            continue;
        }
        let found = &run.json()["inventory"]["totals"];
        let wanted = serde_json::to_value(&made.expected).unwrap();
        for (column, want) in wanted.as_object().unwrap() {
            if found.get(column).is_some() && found[column] != *want {
                wrong.push(format!("{name}: {column} is {}, the site has {want}", found[column]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_variation_gives_the_totals_of_its_site_first_half() {
    check(0, 2);
}

#[test]
fn each_variation_gives_the_totals_of_its_site_second_half() {
    check(1, 2);
}

/// A folder is taken as well as the files in it.
#[test]
fn a_folder_of_csv_is_one_export() {
    let folder = tempfile::tempdir().unwrap();
    let made = variation::write("csv-comma", folder.path()).unwrap();
    let json = report(&[folder.path().to_owned()], "json").json();
    let totals = &json["inventory"]["totals"];
    assert_eq!(totals["vms_in_file"], made.expected.vms_in_file);
    assert_eq!(totals["datastore_capacity_mib"], made.expected.datastore_capacity_mib);
}

/// Two files are two vCenters, whatever order they come in.
#[test]
fn the_order_of_files_does_not_change_totals() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = variation::write("two-vcenters", folder.path()).unwrap().files;
    let forward = report(&files, "json").json();
    files.reverse();
    let backward = report(&files, "json").json();
    assert_eq!(forward["inventory"]["totals"], backward["inventory"]["totals"]);
}

/// What was odd in an input is told with its place.
#[test]
fn what_was_odd_is_a_problem_that_names_the_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, tab, word) in [
        ("attribute-datacenter", "vInfo", "Datacenter"),
        ("two-vcenters-header-again", "vInfo", "header"),
        ("csv-invented-multipath", "vMultiPath", "left out"),
        ("same-file-twice", "", "not read again"),
        ("missing-columns", "vInfo", "SRM placeholders cannot be told"),
        ("missing-columns", "vInfo", "a VM without a disk path"),
        ("missing-columns", "vDatastore", "the hosts of a datastore"),
    ] {
        let place = folder.path().join(format!("{name}-{word}"));
        let made = variation::write(name, &place).unwrap();
        let json = report(&made.files, "json").json();
        let told = json["problems"]
            .as_array()
            .unwrap()
            .iter()
            .any(|problem| problem["tab"] == tab && problem.to_string().contains(word));
        assert!(told, "{name}: no problem of {tab:?} says {word:?}: {:#}", json["problems"]);
    }
}

/// Every size that is none is a problem of its cell, and adds nothing.
#[test]
fn absurd_sizes_are_left_out_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = plimsoll_support::hostile::write("absurd-numbers.xlsx", folder.path()).unwrap();
    let json = report(&[path], "json").json();
    let of_row = |row: u64| {
        json["problems"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|problem| problem["row"] == row && problem["severity"] == "error")
            .count()
    };
    // 1e308, -5, 24 digits, NaN, infinity, hexadecimal, 2^64: both sizes of each row.
    for row in [2, 3, 4, 5, 6, 9, 11] {
        assert_eq!(of_row(row), 2, "row {row}: {:#}", json["problems"]);
    }
    // -1 is how exports write "none", and 1.5 MiB is rounded.
    for row in [7, 8] {
        assert_eq!(of_row(row), 0, "row {row}");
    }
    assert_eq!(json["inventory"]["totals"]["provisioned_mib"], 2);
}

/// Exports of other tools are named and refused; the same headers alone do not make an RVTools.
#[test]
fn other_tools_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    for (file, text, name) in [
        (
            "migrate.csv",
            "*Server name,Disk 1 size (In GB),Disk 1 read ops (Operations per second),Memory (In MB)\r\na,10,5,1024\r\n",
            "Azure Migrate",
        ),
        (
            "stats.csv",
            "#TYPE VMware.VimAutomation\r\n\"MetricId\",\"Timestamp\",\"Value\",\"Unit\",\"Entity\",\"EntityId\",\"IntervalSecs\",\"Instance\",\"Description\"\r\n\"disk.numberread.summation\",\"1\",\"2\",\"number\",\"vm\",\"vm-1\",\"20\",\"\",\"\"\r\n",
            "PowerCLI",
        ),
        (
            "top.csv",
            "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx\\Physical Disk\"\r\n\"1\",\"2\"\r\n",
            "esxtop",
        ),
    ] {
        let path = folder.path().join(file);
        std::fs::write(&path, text).unwrap();
        let run = report(&[path], "json");
        assert_eq!(run.status, Some(3), "{file}: {}", run.stderr);
        assert!(run.stderr.contains(name), "{file}: {:?} does not name {name}", run.stderr);
    }
}

#[test]
fn averages_stand_in_for_files() {
    let run = run(&["report", "--vms", "120", "--storage-gib", "300", "--format", "json"]);
    assert!(run.made_a_report(), "{}", run.stderr);
    assert_eq!(run.json()["inventory"]["totals"]["vms_in_file"], 120);
}
