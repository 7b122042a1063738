//! The sheets of the workbook: details row by row, and a summary of live formulas over them.

use std::collections::BTreeMap;

use plimsoll_ingest::Problems;
use plimsoll_inventory::{Exclusion, FindingSeverity, UsedSource, VmId};

use crate::compose::{Report, plain_spaces};
use crate::input::ReportInput;
use crate::lines;
use crate::words;
use crate::xlsx::{Book, Look, Sheet, Value};

/// Most VMs a sheet takes; the format ends at 1,048,576 rows. All are in the CSV and JSON forms.
const ROWS: usize = 1_000_000;
/// MiB in a TiB.
const MIB_PER_TIB: f64 = 1_048_576.0;
/// What a VM counts for, as the sheets spell it.
const FOR_BOTH: &str = "load and capacity";
/// Same, for space alone.
const FOR_CAPACITY: &str = "capacity";
/// Same, for nothing.
const FOR_NOTHING: &str = "nothing";

/// The workbook of a report.
pub fn compose<'a>(report: &'a Report<'a>) -> Book<'a> {
    let input = &report.input;
    let details = vec![
        frontier(input),
        tiers(input),
        classes(input),
        vms(input),
        datastores(input),
        placement(input),
        findings(input),
        problems(input.problems, "Problems"),
        assumptions(input),
        provenance(report),
    ];
    let mut sheets = vec![summary(report, &details)];
    sheets.extend(details);
    Book {
        title: report.title.clone(),
        author: format!("Plimsoll {}", input.tool_version),
        origin: format!(
            "model {}; catalogue {}; document sha256 {}",
            input.plan.model, input.plan.catalog_date, report.document_sha256,
        ),
        properties: vec![
            ("Model", input.plan.model.clone()),
            ("Catalogue", input.plan.catalog_date.clone()),
            ("Document SHA-256", report.document_sha256.clone()),
            ("Evidence grade", input.plan.grade.letter().to_string()),
        ],
        date: input.date(),
        sheets,
    }
}

/// The workbook of problems alone.
pub fn problems_only(problems: &Problems) -> Book<'_> {
    Book {
        title: "Rows left out or doubted".to_owned(),
        author: "Plimsoll".to_owned(),
        origin: String::new(),
        properties: Vec::new(),
        date: None,
        sheets: vec![self::problems(problems, "Rejected rows")],
    }
}

/// A range of a detail sheet with the values in it, for formulas and their results.
struct Range<'s, 'a> {
    sheet: &'s Sheet<'a>,
    column: usize,
}

impl<'s, 'a> Range<'s, 'a> {
    fn of(sheets: &'s [Sheet<'a>], name: &str, head: &str) -> Option<Self> {
        let sheet = sheets.iter().find(|sheet| sheet.name == name)?;
        let column = sheet.columns.iter().position(|(one, _)| *one == head)?;
        Some(Self { sheet, column })
    }

    /// Such as `'VMs'!$H$2:$H$269`.
    fn address(&self) -> String {
        let column = column_letters(self.column);
        let last = self.sheet.rows.len() + 1;
        format!("'{}'!${column}$2:${column}${}", self.sheet.name, last.max(2))
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        self.sheet.rows.iter().map(|row| match row.get(self.column) {
            Some(Value::Number(number, _) | Value::Formula(_, number, _)) => *number,
            _ => 0.0,
        })
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        self.sheet.rows.iter().map(|row| match row.get(self.column) {
            Some(Value::Text(text) | Value::Strong(text)) => text.as_ref(),
            _ => "",
        })
    }
}

fn column_letters(mut column: usize) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'A' + u8::try_from(column % 26).unwrap_or(0)));
        if column < 26 {
            break;
        }
        column = column / 26 - 1;
    }
    letters.iter().rev().collect()
}

/// The summary: inputs as numbers, everything that can be counted or looked up as a formula.
struct Summary<'s, 'a> {
    details: &'s [Sheet<'a>],
    rows: Vec<Vec<Value<'a>>>,
}

impl<'a> Summary<'_, 'a> {
    fn row(&mut self, name: &'static str, value: Value<'a>, unit: &'static str, note: String) {
        self.rows.push(vec![
            Value::text(name),
            value,
            Value::text(unit),
            if note.is_empty() { Value::Blank } else { Value::text(note) },
        ]);
    }

    fn head(&mut self, name: &'static str) {
        self.rows.push(Vec::new());
        self.rows.push(vec![Value::Strong(name.into())]);
    }

    fn range(&self, sheet: &str, head: &str) -> Option<Range<'_, 'a>> {
        Range::of(self.details, sheet, head)
    }

    /// Sum of a column over `divisor`.
    fn sum(
        &mut self,
        name: &'static str,
        place: (&str, &str),
        divisor: f64,
        unit: &'static str,
        note: &str,
    ) {
        let Some(range) = self.range(place.0, place.1) else { return };
        let total: f64 = range.numbers().sum();
        let formula = match divisor {
            1.0 => format!("=SUM({})", range.address()),
            divisor => format!("=SUM({})/{divisor}", range.address()),
        };
        let look = if unit == "TiB" { Look::Decimal } else { Look::Whole };
        self.row(name, Value::Formula(formula, total / divisor, look), unit, note.to_owned());
    }

    /// Sum of a column where another holds one of `words`.
    fn sum_where(
        &mut self,
        name: &'static str,
        (sheet, head): (&str, &str),
        (by, words): (&str, &[&str]),
        divisor: f64,
        unit: &'static str,
    ) {
        let (Some(values), Some(keys)) = (self.range(sheet, head), self.range(sheet, by)) else {
            return;
        };
        let total: f64 = values
            .numbers()
            .zip(keys.texts())
            .filter(|(_, key)| words.contains(key))
            .map(|(value, _)| value)
            .sum();
        let parts: Vec<_> = words
            .iter()
            .map(|word| format!("SUMIFS({},{},\"{word}\")", values.address(), keys.address()))
            .collect();
        let formula = format!("=({})/{divisor}", parts.join("+"));
        self.row(
            name,
            Value::Formula(formula, total / divisor, Look::Decimal),
            unit,
            String::new(),
        );
    }

    /// Rows of a sheet, or those where a column holds `word`.
    #[expect(clippy::cast_precision_loss, reason = "rows of a sheet")]
    fn count(
        &mut self,
        name: &'static str,
        place: (&str, &str),
        word: Option<&str>,
        unit: &'static str,
    ) {
        let Some(range) = self.range(place.0, place.1) else { return };
        let (formula, count) = match word {
            Some(word) => (
                format!("=COUNTIF({},\"{word}\")", range.address()),
                range.texts().filter(|text| *text == word).count(),
            ),
            None if range.sheet.rows.is_empty() => ("=0".to_owned(), 0),
            None => (format!("=ROWS({})", range.address()), range.sheet.rows.len()),
        };
        self.row(name, Value::Formula(formula, count as f64, Look::Whole), unit, String::new());
    }

    /// A column of the frontier at the planned count, which stands in `cell`.
    fn at_plan(
        &mut self,
        name: &'static str,
        head: &str,
        cell: &str,
        planned: f64,
        unit: &'static str,
    ) {
        let (Some(counts), Some(values)) =
            (self.range("Frontier", "Datastores"), self.range("Frontier", head))
        else {
            return;
        };
        let Some((_, value)) =
            counts.numbers().zip(values.numbers()).find(|(count, _)| *count == planned)
        else {
            return;
        };
        let formula = format!("=INDEX({},MATCH({cell},{},0))", values.address(), counts.address());
        self.row(name, Value::Formula(formula, value, Look::Whole), unit, String::new());
    }
}

fn summary<'a>(report: &'a Report<'a>, details: &[Sheet<'a>]) -> Sheet<'a> {
    let input = &report.input;
    let plan = input.plan;
    let mut summary = Summary { details, rows: Vec::new() };
    summary.rows.push(vec![
        Value::Strong("Answer".into()),
        Value::Blank,
        Value::Blank,
        Value::Strong(plain_spaces(&report.answer.sentence).into()),
    ]);
    summary.rows.push(vec![
        Value::Blank,
        Value::Blank,
        Value::Blank,
        Value::text(plain_spaces(&report.answer.deck)),
    ]);
    summary.head("Plan");
    summary.row("Platform", Value::text(plan.platform_name.as_str()), "", String::new());
    summary.row("Tier", Value::text(plan.tier_name.as_str()), "", plan.qos.clone());
    let planned = f64::from(plan.datastores);
    summary.row(
        "Datastores",
        Value::Number(planned, Look::Whole),
        "",
        "change it to look up another count below".to_owned(),
    );
    // The row just written; the first row of the sheet holds the heads.
    let cell = format!("$B${}", summary.rows.len() + 1);
    summary.at_plan("Size of each", "Size, GiB", &cell, planned, "GiB");
    summary.at_plan("Pool", "Pool, GiB", &cell, planned, "GiB");
    summary.at_plan("Price a month", "Price a month", &cell, planned, currency(input));
    summary.at_plan("Carried IOPS, 95% level", "IOPS, 95% level", &cell, planned, "IOPS");
    let carried = summary.rows.len() + 1;
    summary.row(
        "Load",
        Value::Number(plan.load_iops.0, Look::Whole),
        "IOPS",
        "p95 at the horizon".to_owned(),
    );
    let load = summary.rows.len() + 1;
    if let Some(point) = plan.frontier.iter().find(|point| point.datastores == plan.datastores)
        && plan.load_iops.0 > 0.0
    {
        let room = point.iops.p05 / plan.load_iops.0 - 1.0;
        summary.row(
            "Room above the load",
            Value::Formula(format!("=B{carried}/B{load}-1"), room, Look::Share),
            "",
            String::new(),
        );
    }
    summary.at_plan("Carried MiB/s, 95% level", "MiB/s, 95% level", &cell, planned, "MiB/s");
    summary.row(
        "Load",
        Value::Number(plan.load_mibps.0, Look::Whole),
        "MiB/s",
        "p95 at the horizon".to_owned(),
    );
    summary.row("Certainty", Value::Number(plan.certainty, Look::Share), "", String::new());
    summary.row("First limit", Value::text(words::limit(plan.binding_resource)), "", String::new());
    summary.row(
        "Capacity needed",
        Value::Number(plan.needed_capacity_gib.tib().0, Look::Decimal),
        "TiB",
        "with growth, snapshot reserve and slack".to_owned(),
    );
    summary.head("Planned datastores");
    summary.count("Datastores", ("Datastores plan", "Datastore"), None, "");
    summary.sum("Size in all", ("Datastores plan", "Size, GiB"), 1024.0, "TiB", "");
    summary.sum("Filled at the horizon", ("Datastores plan", "Filled, GiB"), 1024.0, "TiB", "");
    summary.sum("To move", ("Placement", "Moved, MiB"), MIB_PER_TIB, "TiB", "");
    summary.head("Inventory");
    summary.count("VMs in the file", ("VMs", "VM"), None, "");
    summary.count("VMs that carry load", ("VMs", "Counts for"), Some(FOR_BOTH), "");
    summary.sum(
        "Provisioned",
        ("VMs", "Provisioned, MiB"),
        MIB_PER_TIB,
        "TiB",
        "all VMs of the file",
    );
    summary.sum_where(
        "In use, vInfo",
        ("VMs", "Used, MiB"),
        ("Used from", &[words::used_source(UsedSource::InUse)]),
        MIB_PER_TIB,
        "TiB",
    );
    summary.sum_where(
        "Used space that counts",
        ("VMs", "Used, MiB"),
        ("Counts for", &[FOR_BOTH, FOR_CAPACITY]),
        MIB_PER_TIB,
        "TiB",
    );
    summary.head("Findings and problems");
    for (name, severity) in [
        ("Findings that stop", FindingSeverity::Stops),
        ("Findings that need care", FindingSeverity::Care),
    ] {
        summary.count(name, ("Findings", "Severity"), Some(words::severity(severity)), "");
    }
    summary.count("Problems kept", ("Problems", "File"), None, "");
    Sheet {
        name: "Summary",
        columns: vec![("Item", 28.0), ("Value", 18.0), ("Unit", 10.0), ("Note", 90.0)],
        rows: summary.rows,
        filter: false,
    }
}

fn currency<'a>(input: &ReportInput<'a>) -> &'static str {
    match input.plan.monthly_cost.as_ref().map(|cost| cost.currency.as_str()) {
        Some("EUR") => "EUR",
        Some("GBP") => "GBP",
        Some("JPY") => "JPY",
        Some("USD") => "USD",
        _ => "",
    }
}

fn frontier<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn tiers<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn classes<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53 MiB")]
fn vms<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn datastores<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

#[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53 MiB")]
fn placement<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn findings<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn problems<'a>(problems: &'a Problems, name: &'static str) -> Sheet<'a> {
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

fn assumptions<'a>(input: &ReportInput<'a>) -> Sheet<'a> {
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

fn provenance<'a>(report: &'a Report<'a>) -> Sheet<'a> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_lettered_like_a_spreadsheet() {
        assert_eq!(column_letters(0), "A");
        assert_eq!(column_letters(25), "Z");
        assert_eq!(column_letters(26), "AA");
        assert_eq!(column_letters(701), "ZZ");
        assert_eq!(column_letters(702), "AAA");
    }
}
