//! The detail sheets: one record a row.

use std::collections::BTreeMap;

use plimsoll_ingest::Problems;
use plimsoll_inventory::{Exclusion, VmId};

use crate::compose::Report;
use crate::input::ReportInput;
use crate::lines;
use crate::words;
use crate::xlsx::{Look, Sheet, Value};

/// Most VMs a sheet takes; the format ends at 1,048,576 rows. All are in the CSV and JSON forms.
const ROWS: usize = 1_000_000;
/// What a VM counts for, as the sheets spell it.
pub const FOR_BOTH: &str = "load and capacity";
/// Same, for space alone.
pub const FOR_CAPACITY: &str = "capacity";
/// Same, for nothing.
const FOR_NOTHING: &str = "nothing";

/// What each count carries.
pub fn frontier<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let rows = input
        .plan
        .frontier
        .iter()
        .map(|point| {
            let mut row = vec![
                Value::Number(point.datastores.into(), Look::Whole),
                Value::Number(point.datastore_size_gib.0, Look::Whole),
                Value::Number(point.pool_size_gib.0, Look::Whole),
                Value::Number(point.flows.into(), Look::Whole),
            ];
            for carried in [&point.iops, &point.mibps] {
                row.extend([
                    Value::Number(carried.p05, Look::Whole),
                    Value::Number(carried.median, Look::Whole),
                    Value::Number(carried.p95, Look::Whole),
                    Value::Number(carried.median_no_failure, Look::Whole),
                    Value::Number(carried.probability, Look::Share),
                    Value::text(words::limit(carried.binding)),
                    Value::Number(carried.binding_share, Look::Share),
                ]);
            }
            row.extend([
                Value::maybe(point.latency_ms.map(|ms| ms.0), Look::Decimal),
                Value::maybe(point.monthly_cost.as_ref().map(|cost| cost.amount), Look::Whole),
                Value::text(if point.feasible { "yes" } else { "no" }),
                Value::text(point.violations.join("; ")),
            ]);
            row
        })
        .collect();
    Sheet {
        name: "Frontier",
        columns: vec![
            ("Datastores", 11.0),
            ("Size, GiB", 10.0),
            ("Pool, GiB", 10.0),
            ("Flows", 8.0),
            ("IOPS, 95% level", 11.0),
            ("IOPS, median", 11.0),
            ("IOPS, 95th percentile", 12.0),
            ("IOPS, all hosts up", 11.0),
            ("IOPS, sure", 9.0),
            ("IOPS, limit", 11.0),
            ("IOPS, limit's share", 11.0),
            ("MiB/s, 95% level", 11.0),
            ("MiB/s, median", 11.0),
            ("MiB/s, 95th percentile", 12.0),
            ("MiB/s, all hosts up", 11.0),
            ("MiB/s, sure", 9.0),
            ("MiB/s, limit", 11.0),
            ("MiB/s, limit's share", 11.0),
            ("Latency, ms", 10.0),
            ("Price a month", 11.0),
            ("Holds", 8.0),
            ("What does not", 60.0),
        ],
        rows,
        filter: false,
    }
}

/// The tiers.
pub fn tiers<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let rows = input
        .plan
        .tiers
        .iter()
        .map(|tier| {
            vec![
                Value::text(tier.name.as_str()),
                Value::text(tier.qos.as_str()),
                Value::Number(tier.datastores.into(), Look::Whole),
                Value::Number(tier.pool_size_gib.0, Look::Whole),
                Value::maybe(tier.cap_mibps.map(|cap| cap.0), Look::Whole),
                Value::maybe(tier.monthly_cost.as_ref().map(|cost| cost.amount), Look::Whole),
                Value::text(if tier.feasible { "yes" } else { "no" }),
                Value::text(tier.sized_by.as_str()),
                Value::text(tier.note.as_str()),
            ]
        })
        .collect();
    Sheet {
        name: "Tiers",
        columns: vec![
            ("Tier", 22.0),
            ("QoS", 10.0),
            ("Datastores", 11.0),
            ("Pool, GiB", 11.0),
            ("Cap, MiB/s", 11.0),
            ("Price a month", 12.0),
            ("Holds", 8.0),
            ("Sized by", 14.0),
            ("Note", 70.0),
        ],
        rows,
        filter: false,
    }
}

/// Load by class.
pub fn classes<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let rows = input
        .demand
        .classes
        .iter()
        .map(|class| {
            vec![
                Value::text(class.name.as_str()),
                #[expect(clippy::cast_precision_loss, reason = "counts of VMs")]
                Value::Number(class.vms as f64, Look::Whole),
                Value::Number(class.iops.median, Look::Decimal),
                Value::Number(class.iops.shape, Look::Decimal),
                Value::Number(class.mibps.median, Look::Decimal),
                Value::Number(class.iops_p95.0, Look::Whole),
                Value::Number(class.mibps_p95.0, Look::Decimal),
                Value::Number(class.block_kib, Look::Decimal),
                Value::Number(class.read_fraction, Look::Share),
                Value::Number(class.correlation, Look::Decimal),
                Value::text(class.grade.letter().to_string()),
                Value::text(class.source.as_str()),
                Value::text(class.rules.join("; ")),
            ]
        })
        .collect();
    Sheet {
        name: "Demand by class",
        columns: vec![
            ("Class", 26.0),
            ("VMs", 9.0),
            ("IOPS of one, median", 12.0),
            ("IOPS, shape", 9.0),
            ("MiB/s of one, median", 12.0),
            ("IOPS of all, p95", 12.0),
            ("MiB/s of all, p95", 12.0),
            ("Block, KiB", 9.0),
            ("Read", 8.0),
            ("Correlation", 11.0),
            ("Grade", 7.0),
            ("Source", 50.0),
            ("Rules", 50.0),
        ],
        rows,
        filter: false,
    }
}

/// What a VM counts for.
fn counts_for(exclusion: Option<Exclusion>, has_demand: bool) -> &'static str {
    match (exclusion, has_demand) {
        (None, true) => FOR_BOTH,
        (Some(_), true) => FOR_CAPACITY,
        (_, false) => FOR_NOTHING,
    }
}

/// Every VM of the file.
#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53 MiB")]
pub fn vms<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let loads: BTreeMap<VmId, &plimsoll_demand::VmDemand> =
        input.demand.vms.iter().map(|load| (load.vm, load)).collect();
    let mib = |size: Option<plimsoll_units::Mib>| {
        Value::maybe(size.map(|size| size.0 as f64), Look::Whole)
    };
    let rows = (0u32..)
        .zip(&input.inventory.vms)
        .take(ROWS)
        .map(|(index, vm)| {
            let load = loads.get(&VmId(index));
            let class = load
                .and_then(|load| input.demand.classes.get(usize::from(load.class.0)))
                .map_or("", |class| class.name.as_str());
            vec![
                Value::text(&*vm.name),
                Value::text(vm.key.as_str()),
                Value::text(vm.cluster.as_deref().unwrap_or_default()),
                Value::text(vm.os.as_deref().unwrap_or_default()),
                Value::text(vm.exclusion.map_or("", words::exclusion)),
                Value::text(counts_for(vm.exclusion, load.is_some())),
                mib(vm.provisioned),
                mib(Some(vm.used)),
                Value::text(words::used_source(vm.used_source)),
                mib(vm.disk_capacity),
                mib(vm.largest_disk),
                Value::text(class),
                Value::maybe(load.map(|load| load.iops_p95.0), Look::Whole),
                Value::maybe(load.map(|load| load.mibps_p95.0), Look::Decimal),
            ]
        })
        .collect();
    Sheet {
        name: "VMs",
        columns: vec![
            ("VM", 28.0),
            ("Key", 24.0),
            ("Cluster", 18.0),
            ("Guest OS", 30.0),
            ("Left out as", 16.0),
            ("Counts for", 17.0),
            ("Provisioned, MiB", 13.0),
            ("Used, MiB", 12.0),
            ("Used from", 18.0),
            ("Disks, MiB", 12.0),
            ("Largest disk, MiB", 12.0),
            ("Class", 20.0),
            ("IOPS, p95", 10.0),
            ("MiB/s, p95", 10.0),
        ],
        rows,
        filter: true,
    }
}

/// The planned datastores.
pub fn datastores<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let slack = input.plan.options.slack_pct;
    let rows = (2u32..)
        .zip(&input.plan.capacity)
        .map(|(row, datastore)| {
            let parts = [datastore.used_gib.0, datastore.growth_gib.0, datastore.snapshot_gib.0];
            let filled: f64 = parts.iter().sum();
            let share =
                if datastore.size_gib.0 > 0.0 { filled / datastore.size_gib.0 } else { 0.0 };
            vec![
                Value::text(datastore.name.as_str()),
                Value::Number(datastore.size_gib.0, Look::Whole),
                Value::Number(parts[0], Look::Decimal),
                Value::Number(parts[1], Look::Decimal),
                Value::Number(parts[2], Look::Decimal),
                Value::Formula(format!("=SUM(C{row}:E{row})"), filled, Look::Decimal),
                Value::Formula(format!("=IF(B{row}>0,F{row}/B{row},0)"), share, Look::Share),
                Value::Number(1.0 - slack / 100.0, Look::Share),
                Value::Number(datastore.vms.into(), Look::Whole),
                Value::Number(datastore.iops.0, Look::Whole),
                Value::Number(datastore.mibps.0, Look::Decimal),
            ]
        })
        .collect();
    Sheet {
        name: "Datastores plan",
        columns: vec![
            ("Datastore", 18.0),
            ("Size, GiB", 11.0),
            ("Used, GiB", 11.0),
            ("Growth, GiB", 11.0),
            ("Snapshots, GiB", 11.0),
            ("Filled, GiB", 11.0),
            ("Filled", 9.0),
            ("Load line", 9.0),
            ("VMs", 8.0),
            ("IOPS, p95", 11.0),
            ("MiB/s, p95", 11.0),
        ],
        rows,
        filter: false,
    }
}

/// Where the VMs go.
#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53 MiB")]
pub fn placement<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let reasons: BTreeMap<VmId, &str> =
        input.plan.unplaced.iter().map(|(vm, reason)| (*vm, reason.as_str())).collect();
    let stripes: BTreeMap<VmId, String> = input
        .plan
        .striping
        .iter()
        .map(|one| {
            (one.vm, format!("stripe: {} disks on {} datastores", one.vmdks, one.datastores))
        })
        .collect();
    let rows = lines::vm_lines(input)
        .take(ROWS)
        .map(|line| {
            let remark = match (reasons.get(&line.vm), stripes.get(&line.vm)) {
                (Some(reason), _) => Value::text(format!("not placed: {reason}")),
                (None, Some(stripe)) => Value::text(stripe.clone()),
                (None, None) => Value::Blank,
            };
            vec![
                Value::text(line.name),
                Value::text(line.class),
                Value::text(line.from.unwrap_or_default()),
                Value::text(line.datastore.unwrap_or_default()),
                Value::Number(line.used.0 as f64, Look::Whole),
                Value::maybe(line.moved.map(|moved| moved.0 as f64), Look::Whole),
                remark,
            ]
        })
        .collect();
    Sheet {
        name: "Placement",
        columns: vec![
            ("VM", 28.0),
            ("Class", 20.0),
            ("Datastore today", 24.0),
            ("Planned datastore", 18.0),
            ("Used, MiB", 12.0),
            ("Moved, MiB", 12.0),
            ("Remark", 60.0),
        ],
        rows,
        filter: true,
    }
}

/// Findings with the rows they stand on.
pub fn findings<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let mut rows = Vec::new();
    for finding in &input.inventory.findings {
        let head = |place: &str, row: Option<u32>, what: &'a str| {
            vec![
                Value::text(finding.id.as_str()),
                Value::text(if row.is_none() { words::severity(finding.severity) } else { "" }),
                Value::text(if row.is_none() { finding.fact.as_str() } else { "" }),
                Value::text(if row.is_none() { finding.advice.as_str() } else { "" }),
                Value::text(place.to_owned()),
                Value::maybe(row.map(f64::from), Look::Whole),
                Value::text(what),
                Value::text(if row.is_none() { finding.source.as_str() } else { "" }),
            ]
        };
        rows.push(head("", None, ""));
        for evidence in &finding.evidence {
            let place = format!("{}, {}", evidence.file, evidence.tab);
            rows.push(head(&place, Some(evidence.row), &evidence.what));
        }
        let left = finding.evidence_total.saturating_sub(finding.evidence.len() as u64);
        if left > 0 {
            rows.push(vec![
                Value::text(finding.id.as_str()),
                Value::Blank,
                Value::Blank,
                Value::Blank,
                Value::text(format!("and {left} more rows")),
            ]);
        }
    }
    Sheet {
        name: "Findings",
        columns: vec![
            ("Rule", 26.0),
            ("Severity", 10.0),
            ("Fact", 60.0),
            ("What to do", 60.0),
            ("Place", 34.0),
            ("Row", 8.0),
            ("Evidence", 50.0),
            ("Source", 40.0),
        ],
        rows,
        filter: true,
    }
}

/// What was not as expected in the files.
pub fn problems<'a>(problems: &'a Problems, name: &'static str) -> Sheet<'a> {
    let mut rows: Vec<Vec<Value<'a>>> = problems
        .items
        .iter()
        .take(ROWS)
        .map(|problem| {
            vec![
                Value::text(problem.file.as_str()),
                Value::text(problem.tab.as_str()),
                Value::maybe(problem.row.map(f64::from), Look::Whole),
                Value::text(problem.column.as_str()),
                Value::text(problem.value.as_str()),
                Value::text(problem.expected.as_str()),
                Value::text(problem.action.as_str()),
                Value::text(match problem.severity {
                    plimsoll_ingest::Severity::Note => "note",
                    plimsoll_ingest::Severity::Warning => "warning",
                    plimsoll_ingest::Severity::Error => "error",
                }),
                Value::text(problem.code.as_str()),
            ]
        })
        .collect();
    for (key, count) in &problems.not_kept {
        rows.push(vec![
            Value::Blank,
            Value::Blank,
            Value::Blank,
            Value::Blank,
            Value::Blank,
            Value::Blank,
            Value::text(format!("{count} more of {key} were counted but not kept")),
        ]);
    }
    Sheet {
        name,
        columns: vec![
            ("File", 34.0),
            ("Tab", 14.0),
            ("Row", 8.0),
            ("Column", 24.0),
            ("Found", 30.0),
            ("Expected", 44.0),
            ("Done", 44.0),
            ("Severity", 10.0),
            ("Code", 26.0),
        ],
        rows,
        filter: true,
    }
}

/// What was assumed.
pub fn assumptions<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
    let rows = input
        .demand
        .assumptions
        .iter()
        .chain(&input.plan.assumptions)
        .map(|one| {
            vec![
                Value::text(one.what.as_str()),
                Value::text(one.value.as_str()),
                Value::text(one.grade.letter().to_string()),
                Value::text(one.grade.meaning()),
                Value::text(one.source.as_str()),
                Value::text(one.id.as_str()),
            ]
        })
        .collect();
    Sheet {
        name: "Assumptions",
        columns: vec![
            ("Assumption", 44.0),
            ("Value", 32.0),
            ("Grade", 7.0),
            ("Meaning", 26.0),
            ("Source", 70.0),
            ("Id", 26.0),
        ],
        rows,
        filter: false,
    }
}

/// What the report stands on.
pub fn provenance<'a>(report: &'a Report<'a>) -> Sheet<'a> {
    let input = &report.input;
    let plan = input.plan;
    let mut rows = vec![
        vec![Value::text("Document SHA-256"), Value::text(report.document_sha256.as_str())],
        vec![Value::text("Tool"), Value::text(format!("Plimsoll {}", input.tool_version))],
        vec![Value::text("Platform"), Value::text(plan.platform.as_str())],
        vec![Value::text("Model"), Value::text(plan.model.as_str())],
        vec![Value::text("Catalogue"), Value::text(plan.catalog_date.as_str())],
        vec![
            Value::text("Evidence grade"),
            Value::text(format!("{}, {}", plan.grade.letter(), plan.grade.meaning())),
        ],
    ];
    if let Some(taken) = input.inventory.taken {
        rows.push(vec![Value::text("Inventory taken"), Value::text(taken.to_string())]);
    }
    for file in input.files {
        rows.push(vec![
            Value::text("Input"),
            Value::text(format!("{}, {} bytes, sha256 {}", file.name, file.bytes, file.sha256)),
        ]);
    }
    rows.push(vec![Value::text("Options"), Value::text(input.options.to_string())]);
    for (number, step) in (1u32..).zip(&plan.derivation) {
        rows.push(vec![
            Value::text(format!("Derivation {number}")),
            Value::text(format!("{}: {} → {}", step.what, step.formula, step.result)),
        ]);
    }
    Sheet {
        name: "Provenance",
        columns: vec![("What", 22.0), ("Value", 130.0)],
        rows,
        filter: false,
    }
}
