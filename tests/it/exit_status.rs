//! Exit status: 0 done, 2 wrong use, 3 input refused, 4 no feasible plan.

use crate::program::{report, run};
use crate::reports::sample;

#[test]
fn a_report_is_status_0_on_stdout_and_nothing_else_there() {
    let run = report(&[sample()], "json");
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.json().is_object());
}

#[test]
fn wrong_use_is_status_2() {
    for arguments in [
        &["report"][..],
        &["report", "x.xlsx", "--format", "pdfx"],
        &["report", "x.xlsx", "--no-such-flag"],
        &["no-such-command"],
    ] {
        let run = run(arguments);
        assert_eq!(run.status, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(!run.stderr.is_empty());
    }
}

#[test]
fn a_refused_input_is_status_3_with_the_reason_on_stderr_and_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "shopping list").unwrap();
    let run = report(std::slice::from_ref(&path), "json");
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("notes.txt"), "{}", run.stderr);
    let refusal = run.json();
    assert!(refusal["message"].as_str().is_some_and(|text| text.contains("notes.txt")));
    // Other formats leave stdout alone.
    let run = report(&[path], "html");
    assert_eq!(run.status, Some(3));
    assert!(run.stdout.is_empty());
}

#[test]
fn a_file_that_is_not_there_is_status_3() {
    let run = report(&["no-such-file.xlsx".into()], "json");
    assert_eq!(run.status, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("no-such-file.xlsx"));
}

#[test]
fn no_feasible_plan_is_status_4_with_a_report_that_says_why() {
    // A million IOPS for each of 500 VMs is beyond any datastore service.
    let run = run(&["report", "--vms", "500", "--iops", "1000000", "--format", "json"]);
    assert_eq!(run.status, Some(4), "{}", run.stderr);
    let json = run.json();
    assert!(json["answer"].as_str().is_some_and(|answer| !answer.is_empty()));
    assert!(!run.stderr.is_empty());
}

#[test]
fn output_goes_to_the_named_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let sample = sample().display().to_string();
    let target = path.display().to_string();
    let run = run(&["report", &sample, "--format", "json", "-o", &target]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    assert!(run.stdout.is_empty());
    let written: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    assert!(written["answer"].is_string());
}
