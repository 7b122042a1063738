//! A comparison of two ways to one array, and what it refuses.

use plimsoll_probe::{
    Workload,
    compare::{self, Format, Reference, Request, Resource},
};
use serde_json::Value;

use crate::{
    arrays::{Array, request, short},
    schema,
};

/// Two rounds of random reads over iSCSI and NFS to one process, which is this one.
fn compared() -> compare::Comparison {
    let array = Array::start();
    let export = array.export();
    let reads = Workload {
        seconds: 2.2,
        working_set_bytes: Some(4 << 20),
        ..short(Workload::simple(8192, 100.0, 100.0))
    };
    let request = Request {
        base: request(&[&array.iscsi, &array.nfs], vec![reads], &[&export]),
        rounds: 2,
        target_pids: vec![std::process::id()],
        reference: Some(Reference {
            source: "somebody".to_owned(),
            setting: "somewhere".to_owned(),
            results: vec!["twice as fast".to_owned()],
            contradictions: vec!["60 % here, 80 % there".to_owned()],
        }),
    };
    let mut order = Vec::new();
    let comparison = compare::run(&request, &mut |progress| {
        if order.last() != Some(&progress.stage) {
            order.push(progress.stage.clone());
        }
        true
    });
    let letters: String = order.iter().filter_map(|stage| stage.chars().next()).collect();
    assert_eq!(letters, "ABAB", "{order:?}");
    comparison.unwrap()
}

#[test]
fn two_protocols_are_measured_in_turns_and_put_beside_each_other() {
    let comparison = compared();
    assert_eq!(comparison.sides.len(), 2);
    let stage = &comparison.stages[0];
    for side in &stage.sides {
        assert_eq!(side.rounds.len(), 2);
        assert!(side.iops.low > 0.0 && side.iops.low <= side.iops.median, "{side:?}");
        assert!(side.latency_ns.p50 > 0 && side.probe_cpu_us_per_io.median > 0.0, "{side:?}");
        assert!(side.target_cpu_us_per_io.unwrap().median > 0.0, "{side:?}");
        assert_eq!(side.errors, 0);
        // Nothing but CPU or store can be the limit over loopback.
        assert!(![Resource::Link, Resource::OfferedRate].contains(&side.limit.resource));
    }
    let change = &stage.changes[0];
    let expected = stage.sides[1].iops.median / stage.sides[0].iops.median;
    assert!((change.iops_ratio.median / expected - 1.0).abs() < 0.5, "{change:?}");
    assert!(change.target_cpu_ratio.is_some());
    // An export is not the unit, and two rounds show little.
    let codes: Vec<&str> =
        comparison.warnings.iter().filter_map(|text| text.split(':').next()).collect();
    assert_eq!(codes, ["different_volumes", "few_rounds"]);

    let text = compare::render(&comparison, Format::Text).unwrap();
    for wanted in ["B/A", "the limit", "somebody", "60 % here, 80 % there", "p99.9"] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
    let page = compare::render(&comparison, Format::Html).unwrap();
    assert!(page.contains("<svg role=\"img\"") && page.contains("aria-label=\"A "), "{page}");
    assert!(compare::render(&comparison, Format::Markdown).unwrap().contains("| B/A |"));

    let json: Value =
        serde_json::from_str(&compare::render(&comparison, Format::Json).unwrap()).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/probe-schema.json");
    let document: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let schema = serde_json::json!({"$ref": "#/$defs/comparison", "$defs": document["$defs"]});
    let faults = schema::faults(&schema, &json);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let reads = vec![short(Workload::simple(8192, 100.0, 100.0))];
    let of = |urls: &[&str]| Request {
        base: request(urls, reads.clone(), &[]),
        rounds: 3,
        target_pids: Vec::new(),
        reference: None,
    };
    let refused = |request: &Request| compare::run(request, &mut |_| true).unwrap_err().to_string();
    let (one, two) = ("iscsi://127.0.0.1/iqn.x/0", "nfs://127.0.0.1/a");
    assert!(refused(&of(&[one])).contains("two or more URLs"));
    assert!(refused(&Request { rounds: 0, ..of(&[one, two]) }).contains("rounds"));
    let pids = Request { target_pids: vec![1, 2, 3], ..of(&[one, two]) };
    assert!(refused(&pids).contains("one process for all URLs"));
    let gone = Request { target_pids: vec![u32::MAX], ..of(&[one, two]) };
    assert!(refused(&gone).contains("/proc/4294967295"));
}
