//! Hostile files: each ends in a clear error or a clean read, in little memory, never an abort.

use std::path::Path;

use plimsoll_support::hostile;

use crate::program::{expected, field, report, shared};

/// Peak memory allowed for one of these files.
const PEAK_MIB: f64 = 256.0;

/// Generous, for busy machines; the benchmark holds them to 2 s.
const SECONDS: f64 = 10.0;

fn check(path: &Path, outcome: &str, wrong: &mut Vec<String>) {
    let name = path.file_name().unwrap().to_string_lossy();
    let run = report(&[path.to_owned()], "json");
    let mut note = |text: String| wrong.push(format!("{name}: {text}"));
    match run.status {
        Some(0 | 4) if outcome != "refused" => {
            if !run.json()["inventory"]["totals"].is_object() {
                note("a report without totals".to_owned());
            }
        }
        Some(3) if outcome != "read" => {
            let refusal = run.json();
            for key in ["code", "message", "action"] {
                if refusal[key].as_str().is_none_or(str::is_empty) {
                    note(format!("refused without {key}: {refusal}"));
                }
            }
            if run.stderr.trim().is_empty() {
                note("refused without a word on stderr".to_owned());
            }
        }
        status => note(format!("status {status:?}, expected {outcome}: {}", run.stderr.trim())),
    }
    if run.stderr.contains("panicked") {
        note(format!("panicked: {}", run.stderr));
    }
    if run.peak_mib > PEAK_MIB {
        note(format!("took {:.0} MiB", run.peak_mib));
    }
    if run.took.as_secs_f64() > SECONDS {
        note(format!("took {:.1} s", run.took.as_secs_f64()));
    }
}

#[test]
fn generated_hostile_files_end_well() {
    let folder = tempfile::tempdir().unwrap();
    let table = expected("hostile.tsv");
    let mut wrong = Vec::new();
    for name in hostile::NAMES {
        let row = table
            .iter()
            .find(|row| field(row, "set") == "generated" && field(row, "file") == *name)
            .unwrap_or_else(|| panic!("tests/expected/hostile.tsv does not list {name}"));
        let path = hostile::write(name, folder.path()).unwrap();
        check(&path, field(row, "outcome"), &mut wrong);
        std::fs::remove_file(path).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!Path::new("/tmp/plimsoll-escaped.csv").exists(), "an entry left its archive");
}

#[test]
fn published_hostile_files_end_well() {
    let Some(shared) = shared() else { return };
    let mut wrong = Vec::new();
    for row in expected("hostile.tsv").iter().filter(|row| field(row, "set") == "published") {
        let path = shared.join("data/rvtools/hostile").join(field(row, "file"));
        check(&path, field(row, "outcome"), &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
