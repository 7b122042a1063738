//! The borders between the crates: data flows one way, heavy libraries have one home.

use std::collections::BTreeSet;
use std::path::Path;

/// Crate, its folder, and the workspace crates it may depend on.
const ALLOWED: [(&str, &str, &[&str]); 22] = [
    ("units", "src/units", &[]),
    ("ingest", "src/planner/ingest", &["units"]),
    ("advise", "src/planner/advise", &["ingest"]),
    ("inventory", "src/planner/inventory", &["units", "ingest", "advise"]),
    ("demand", "src/planner/demand", &["units", "ingest", "inventory"]),
    ("performance", "src/planner/performance", &["units", "ingest", "inventory", "demand"]),
    ("model", "src/planner/model", &["units"]),
    ("plan", "src/planner/plan", &["units", "ingest", "inventory", "demand", "model"]),
    ("report", "src/planner/report", &["units", "ingest", "inventory", "demand", "model", "plan"]),
    (
        "planner",
        "src/planner",
        &[
            "units",
            "ingest",
            "advise",
            "inventory",
            "demand",
            "performance",
            "model",
            "plan",
            "report",
        ],
    ),
    ("wire", "src/engine/wire", &[]),
    ("fabric", "src/engine/fabric", &[]),
    ("verbs", "src/engine/verbs", &["fabric"]),
    ("storage", "src/engine/storage", &["fabric"]),
    ("remote", "src/engine/remote", &["fabric", "storage", "initiator"]),
    ("target-scsi", "src/engine/target/scsi", &["wire", "storage"]),
    ("target-iscsi", "src/engine/target/iscsi", &["wire", "fabric", "storage", "target-scsi"]),
    ("target-nfs", "src/engine/target/nfs", &["wire", "fabric", "storage"]),
    (
        "target",
        "src/engine/target",
        &["wire", "fabric", "storage", "remote", "target-scsi", "target-iscsi", "target-nfs"],
    ),
    ("initiator", "src/engine/initiator", &["wire", "fabric"]),
    ("probe", "src/engine/probe", &["wire", "initiator"]),
    (
        "root",
        ".",
        &[
            "units",
            "ingest",
            "advise",
            "inventory",
            "demand",
            "model",
            "plan",
            "report",
            "planner",
            "fabric",
            "verbs",
            "target",
            "probe",
        ],
    ),
];

/// Heavy libraries and the crates that may link each: one, but for polars, which joins tabs in the
/// inventory and reads time series in performance.
const HOMES: [(&str, &[&str]); 11] = [
    ("calamine", &["ingest"]),
    ("polars", &["inventory", "performance"]),
    ("plotters", &["report"]),
    ("rust_xlsxwriter", &["report"]),
    ("redb", &["storage"]),
    ("parquet", &["probe"]),
    ("ibverbs", &["verbs"]),
    ("libloading", &["verbs"]),
    ("axum", &["root"]),
    ("tokio", &["root"]),
    ("sqlx", &["root"]),
];

fn dependencies(folder: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    manifest["dependencies"].as_table().unwrap().keys().cloned().collect()
}

#[test]
fn data_flows_one_way() {
    for (name, folder, allowed) in ALLOWED {
        for dependency in dependencies(folder) {
            if let Some(stage) = dependency.strip_prefix("plimsoll-") {
                assert!(allowed.contains(&stage), "{name} may not depend on {stage}");
            }
        }
    }
}

#[test]
fn heavy_libraries_have_their_homes() {
    for (library, homes) in HOMES {
        for (name, folder, _) in ALLOWED {
            assert_eq!(
                dependencies(folder).contains(library),
                homes.contains(&name),
                "{library} belongs to {homes:?} alone; {name} is wrong"
            );
        }
    }
}
