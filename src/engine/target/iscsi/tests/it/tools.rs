//! Other people's initiators as judges. A tool that is not installed is told and skipped.

use std::process::{Command, Output};

use crate::array::{Array, TARGET};
use crate::raw::pattern;

fn run(program: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            eprintln!("skipped: {program} cannot be run ({error})");
            None
        }
    }
}

fn url(array: &Array, portal: usize) -> String {
    format!("iscsi://{}/{TARGET}/0", array.portals[portal].address())
}

fn passes(program: &str, arguments: &[&str]) -> String {
    let Some(output) = run(program, arguments) else { return String::new() };
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    text
}

/// The families of the iSCSI layer; those of SCSI are judged where the whole array is.
#[test]
fn libiscsi_iscsi_test_cu_families_of_iscsi() {
    let array = Array::start();
    let (first, second) = (url(&array, 0), url(&array, 1));
    for suite in [
        "ALL.iSCSIcmdsn",
        "ALL.iSCSIdatasn",
        "ALL.iSCSIResiduals",
        "ALL.iSCSITMF",
        "ALL.MultipathIO",
    ] {
        let arguments = ["--dataloss", "--test", suite, &first, &second];
        let Some(output) = run("iscsi-test-cu", &arguments) else { return };
        let text = String::from_utf8_lossy(&output.stdout);
        let summary: Vec<_> = text
            .lines()
            .find(|line| line.trim_start().starts_with("tests"))
            .unwrap_or_else(|| panic!("{suite}: no summary in {text}"))
            .split_whitespace()
            .collect();
        // tests, total, ran, passed, failed, inactive
        assert_eq!(summary[4], "0", "{suite}: {text}");
        assert_ne!(summary[3], "0", "{suite}: nothing ran");
    }
}

#[test]
fn libiscsi_lists_and_inquires() {
    let array = Array::start();
    let portal = format!("iscsi://{}", array.address());
    let list = passes("iscsi-ls", &["-s", &portal]);
    if !list.is_empty() {
        assert!(list.contains(TARGET) && list.contains("Lun:1"), "{list}");
    }
    let inquiry = passes("iscsi-inq", &[&url(&array, 0)]);
    assert!(inquiry.is_empty() || inquiry.contains("PLIMSOLL"), "{inquiry}");
    passes("iscsi-readcapacity16", &[&url(&array, 1)]);
}

#[test]
fn qemu_copies_an_image_to_the_lun_and_back() {
    let array = Array::start();
    let folder = tempfile::tempdir().unwrap();
    let [there, back] = ["there.raw", "back.raw"].map(|name| folder.path().join(name));
    let image = pattern(crate::array::LUN_BYTES as usize, 42);
    std::fs::write(&there, &image).unwrap();
    let (there, back) = (there.to_str().unwrap(), back.to_str().unwrap());
    let url = url(&array, 0);
    let Some(output) = run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", there, &url])
    else {
        return;
    };
    let message = String::from_utf8_lossy(&output.stderr);
    if message.contains("Unknown protocol") || message.contains("Could not open") {
        eprintln!("skipped: qemu-img has no iSCSI driver ({message})");
        return;
    }
    assert!(output.status.success(), "{message}");
    passes("qemu-img", &["convert", "-f", "raw", "-O", "raw", &url, back]);
    assert!(std::fs::read(back).unwrap() == image, "what comes back differs");
    passes(
        "qemu-io",
        &[
            "-f",
            "raw",
            "-c",
            "write -P 0x5a 65536 1048576",
            "-c",
            "read -P 0x5a 65536 1048576",
            "-c",
            "discard 0 65536",
            "-c",
            "read -P 0 0 65536",
            "-c",
            "flush",
            &url,
        ],
    );
}
