//! Totals of published exports against what openpyxl counts in them.

use serde_json::Value;

use crate::program::{expected, field, report, shared};

/// Fields of `inventory.totals` that tests/expected/rvtools_totals.tsv lists.
const FIELDS: [&str; 12] = [
    "vms_in_file",
    "vms_counted",
    "templates",
    "powered_off",
    "disks",
    "datastores",
    "provisioned_mib",
    "in_use_mib",
    "disk_capacity_mib",
    "partition_consumed_mib",
    "datastore_capacity_mib",
    "datastore_in_use_mib",
];

#[test]
fn published_exports_give_the_totals_counted_with_openpyxl() {
    let Some(shared) = shared() else { return };
    let mut wrong = Vec::new();
    for row in expected("rvtools_totals.tsv") {
        let name = field(&row, "file");
        let run = report(&[shared.join("data/rvtools").join(name)], "json");
        if !run.made_a_report() {
            wrong.push(format!("{name}: status {:?}: {}", run.status, run.stderr));
            continue;
        }
        let totals = &run.json()["inventory"]["totals"];
        for column in FIELDS {
            let want: u64 = field(&row, column).parse().unwrap();
            if totals[column].as_u64() != Some(want) {
                wrong.push(format!(
                    "{name}: {column} is {}, openpyxl counts {want}",
                    totals[column]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_corrupted_header_of_a_published_export_is_a_problem() {
    let Some(shared) = shared() else { return };
    let file = shared.join("data/rvtools/reinhardfrie__BillSampleNextRvtoolsFinal.xlsx");
    let json = report(&[file], "json").json();
    let told = json["problems"].as_array().unwrap().iter().any(|problem| {
        problem["tab"] == "vPartition"
            && [&problem["column"], &problem["value"]]
                .iter()
                .any(|text| text.as_str().is_some_and(|text| text.contains("NEXT Data Center")))
    });
    assert!(told, "no problem names the header of vPartition: {:#}", json["problems"]);
}

/// Every field the interface promises is there, of the promised kind.
#[test]
fn the_report_has_the_promised_fields() {
    let sample = crate::reports::sample();
    let json = report(&[sample], "json").json();
    assert!(json["answer"].as_str().is_some_and(|answer| !answer.is_empty()));
    for column in FIELDS {
        assert!(json["inventory"]["totals"][column].is_u64(), "inventory.totals.{column}");
    }
    for list in ["problems", "findings"] {
        assert!(json[list].is_array(), "{list}");
    }
    for part in ["demand", "provenance"] {
        assert!(json[part].is_object(), "{part}");
    }
    let plan = &json["plan"];
    for (name, kind) in [
        ("platform", Value::is_string as fn(&Value) -> bool),
        ("tier", Value::is_string),
        ("datastores", Value::is_u64),
        ("datastore_size_gib", Value::is_number),
        ("binding_resource", Value::is_string),
        ("headroom_pct", Value::is_number),
        ("frontier", Value::is_array),
    ] {
        assert!(kind(&plan[name]), "plan.{name} is {}", plan[name]);
    }
    assert!(plan["monthly_cost"]["amount"].is_number() || plan["monthly_cost"].is_null());
    assert!(plan["monthly_cost"]["currency"].is_string() || plan["monthly_cost"].is_null());
    for problem in json["problems"].as_array().unwrap() {
        for key in ["severity", "file", "tab", "row", "column", "value", "expected", "action"] {
            assert!(problem.get(key).is_some(), "a problem without {key}: {problem}");
        }
    }
}
