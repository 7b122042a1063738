//! The forms of a result, checked by other means than those that wrote them.

use std::{process::Command, time::Duration};

use plimsoll_initiator::Datastore;
use plimsoll_probe::{
    Workload, curve,
    measure::Seat,
    output::{Format, render},
    result::ResultSet,
    run::{Local, Runner, Target},
    workload::{Arrivals, Load},
};
use serde_json::Value;

use crate::{fake::Fake, schema};

type Opened = plimsoll_probe::Result<Box<dyn Datastore>>;

fn open(_: &Seat) -> Opened {
    Ok(Box::new(Fake::steady(Duration::from_millis(2))))
}

/// Two targets, three stages, one of them open.
fn sample() -> ResultSet {
    let host = Local::new(&open);
    let targets = vec![Target::new("nfs://one/a"), Target::new("iscsi://joe%secret@two/iqn.x/0")];
    let short = |workload| Workload { ramp_seconds: 0.1, seconds: 1.2, depth: 4, ..workload };
    let stages = [
        short(Workload::simple(8192, 70.0, 100.0)),
        short(Workload::simple(65_536, 100.0, 0.0)),
        Workload {
            name: "open".to_owned(),
            load: Load::Open { iops: 400.0, arrivals: Arrivals::Poisson },
            ..short(Workload::simple(4096, 0.0, 100.0))
        },
    ];
    Runner::new(vec![&host], targets).run(&stages, &mut |_| true).unwrap()
}

fn schema_document() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/probe-schema.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn json_follows_its_schema_and_keeps_its_promises() {
    let set = sample();
    let text = render(&set, Format::Json).unwrap();
    assert!(!text.contains("secret"));
    let json: Value = serde_json::from_str(&text).unwrap();
    let faults = schema::faults(&schema_document(), &json);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_eq!(json["results"].as_array().unwrap().len(), 6);
    for result in json["results"].as_array().unwrap() {
        for key in ["url", "iops", "mib_per_s", "errors", "cpu_seconds"] {
            assert!(!result[key].is_null(), "{key}");
        }
        for key in ["mean", "p50", "p99", "p99_9", "max"] {
            assert!(result["latency_ns"][key].as_f64().unwrap() > 0.0, "{key}");
        }
        assert!(
            result["flows"].is_array()
                && result["warnings"].is_array()
                && result["steady"].is_boolean()
        );
    }
    assert!(json["total"]["iops"].as_f64().unwrap() > 0.0);
    // What was written can be read again.
    let back: ResultSet = serde_json::from_str(&text).unwrap();
    assert_eq!(back.results[3].figures.ios, set.results[3].figures.ios);
}

#[test]
fn the_schema_finds_faults() {
    let mut json: Value = serde_json::from_str(&render(&sample(), Format::Json).unwrap()).unwrap();
    json["results"][0]["iops"] = "many".into();
    json["results"][1]["latency_ns"].as_object_mut().unwrap().remove("p99_9");
    json["results"][2]["steady"] = 1.into();
    json["schema_version"] = 2.into();
    assert_eq!(schema::faults(&schema_document(), &json).len(), 4);
}

#[test]
fn csv_has_a_row_per_result_and_totals() {
    let text = render(&sample(), Format::Csv).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    // A header, and two results and a total for each stage.
    assert_eq!(rows.len(), 1 + 3 * 3);
    let columns = rows[0].split(',').count();
    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{text}");
    assert!(rows[3].contains(",total,"), "{text}");
}

#[test]
fn text_names_stages_and_warnings() {
    let text = render(&sample(), Format::Text).unwrap();
    for wanted in
        ["8 KiB random 70/30 mix", "IOPS", "p99.9", "steady state", "all 2 together", "warning: "]
    {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[test]
fn the_curve_has_its_maximum_and_its_steps() {
    let host = Local::new(&open);
    let runner = Runner::new(vec![&host], vec![Target::new("nfs://one/a")]);
    let workload = Workload {
        ramp_seconds: 0.1,
        seconds: 1.0,
        depth: 4,
        ..Workload::simple(8192, 100.0, 100.0)
    };
    let set = curve::run(&runner, &workload, &[25.0, 50.0], &mut |_| true).unwrap();
    assert_eq!(set.stages.len(), 3);
    let max = set.stages[0].total.iops;
    assert!(
        (set.stages[2].total.iops / max - 0.5).abs() < 0.1,
        "{} of {max}",
        set.stages[2].total.iops
    );
    assert_eq!(set.results[1].mode, "open");
}

/// Every key of fio's own document is there with a value of the same type.
fn same_shape(path: &str, fio: &Value, ours: &Value, faults: &mut Vec<String>) {
    match (fio, ours) {
        (Value::Object(fio), Value::Object(ours)) => {
            for (key, value) in fio {
                // What a job was told, and its histogram buckets, are not of one shape.
                if ["job options", "bins", "disk_util"].contains(&key.as_str()) {
                    continue;
                }
                match ours.get(key) {
                    None => faults.push(format!("{path}/{key} is missing")),
                    Some(own) => same_shape(&format!("{path}/{key}"), value, own, faults),
                }
            }
        }
        (Value::Array(fio), Value::Array(ours)) => {
            if let (Some(fio), Some(ours)) = (fio.first(), ours.first()) {
                same_shape(&format!("{path}/0"), fio, ours, faults);
            }
        }
        (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)) => {}
        (fio, ours) => faults.push(format!("{path}: {ours} where fio has {fio}")),
    }
}

#[test]
fn fio_json_has_every_key_of_a_real_run() {
    let set = sample();
    let ours: Value = serde_json::from_str(&render(&set, Format::FioJson).unwrap()).unwrap();
    let job = &ours["jobs"][0];
    let read = &set.results[0].figures.read;
    assert_eq!(job["read"]["total_ios"], read.ios);
    assert!((job["read"]["iops"].as_f64().unwrap() - read.iops).abs() < 1e-9);
    let p99 = job["read"]["clat_ns"]["percentile"]["99.000000"].as_u64().unwrap();
    assert_eq!(p99, read.latency_ns.p99);
    assert_eq!(ours["jobs"][2]["job options"]["rw"], "read");
    assert_eq!(ours["jobs"][4]["job options"]["rate_process"], "poisson");

    let dir = tempfile::tempdir().unwrap();
    let run = Command::new("fio")
        .current_dir(dir.path())
        .args(["--name=a", "--ioengine=null", "--size=1m", "--bs=8k", "--rw=randrw", "--iodepth=4"])
        .args(["--time_based", "--runtime=1", "--output-format=json"])
        .output();
    let Ok(run) = run else {
        println!("skipped: fio is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&run.stdout);
    let theirs: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let mut faults = Vec::new();
    same_shape("", &theirs, &ours, &mut faults);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
