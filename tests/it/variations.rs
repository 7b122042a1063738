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
