//! The engine's commands as a user meets them: what a machine can do, two protocols beside each other, advice.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::program::run;
use crate::reports::sample;

/// A target on free ports, ended when it is dropped.
struct Served {
    child: Child,
    urls: Vec<String>,
}

impl Served {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll"))
            .args(["target", "--quick", "64MiB", "--iscsi", "127.0.0.1:0", "--nfs", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let urls = lines.take(2).map(Result::unwrap).collect();
        Self { child, urls }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn the_doctor_says_what_this_machine_can_do() {
    let text = run(&["doctor"]);
    assert_eq!(text.status, Some(0), "{}", text.stderr);
    let said = String::from_utf8_lossy(&text.stdout).into_owned();
    for wanted in ["rdma", "open files", "port 3260", "clock", "usable: iSCSI"] {
        assert!(said.contains(wanted), "{wanted} in {said}");
    }
    let json = run(&["doctor", "--format", "json"]).json();
    assert_eq!((&json["schema_version"], &json["usable"]), (&1.into(), &true.into()));
    // Asked for by name, what is missing is a failure.
    let needed = run(&["doctor", "--need", "rdma"]);
    assert_eq!(needed.status == Some(0), json["rdma"] == true, "{}", needed.stderr);
}

#[test]
fn iser_where_there_is_no_adapter_is_told_in_a_sentence() {
    if run(&["doctor", "--format", "json"]).json()["rdma"] == true {
        return;
    }
    let run = run(&["probe", "iser://127.0.0.1:1/iqn.example:none/0", "--seconds", "1"]);
    assert_eq!(run.status, Some(1));
    assert!(run.stderr.contains("RDMA"), "{}", run.stderr);
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
}

#[test]
fn two_protocols_to_one_target_are_put_beside_each_other() {
    let served = Served::start();
    let [iscsi, nfs] = served.urls.as_slice() else { panic!("{:?}", served.urls) };
    let pid = served.child.id().to_string();
    let run = run(&[
        "probe",
        "compare",
        iscsi.as_str(),
        nfs.as_str(),
        "--rounds",
        "1",
        "--seconds",
        "2.5",
        "--ramp",
        "0.2",
        "--depth",
        "4",
        "--working-set",
        "1MiB",
        "--allow-write",
        "/export0",
        "--target-pid",
        pid.as_str(),
        "--format",
        "json",
    ]);
    assert_eq!(run.status, Some(0), "{}", run.stderr);
    let json = run.json();
    for side in json["stages"][0]["sides"].as_array().unwrap() {
        assert!(side["iops"]["median"].as_f64().unwrap() > 0.0, "{side}");
        assert!(side["target_cpu_us_per_io"]["median"].as_f64().unwrap() > 0.0, "{side}");
    }
    let reference = json["reference"].to_string();
    assert!(reference.contains("+60 % by the heading, +80 % by the text"), "{reference}");
}

#[test]
fn advice_on_iser_comes_from_an_export_or_by_hand() {
    let from_file = run(&["advise", "iser", sample().to_str().unwrap()]);
    assert_eq!(from_file.status, Some(0), "{}", from_file.stderr);
    let by_hand = run(&[
        "advise",
        "iser",
        "--esxi",
        "6.7",
        "--nic",
        "ConnectX-4",
        "--vmnic",
        "vmnic4",
        "--portal",
        "10.10.1.2",
        "--format",
        "markdown",
    ]);
    assert_eq!(by_hand.status, Some(0), "{}", by_hand.stderr);
    let text = String::from_utf8_lossy(&by_hand.stdout).into_owned();
    assert!(text.contains("esxcli rdma iser add") && text.contains("10.10.1.2:3260"), "{text}");
    let odd = ["advise", "iser", "--esxi", "6.7", "--nic", "nmlx5_core", "--portal", "a;b"];
    assert_eq!(run(&odd).status, Some(3));
    assert_eq!(run(&["advise", "iser"]).status, Some(2));
}
