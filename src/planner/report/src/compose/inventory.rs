//! The inventory behind the answer: who counts, how good the data is, what was wrong with it.

use std::collections::BTreeMap;

use plimsoll_ingest::Severity;
use plimsoll_inventory::{FindingSeverity, UsedSource};
use plimsoll_units::{EvidenceGrade, Mib};

use super::Context;
use crate::document::{Bar, Block, Cell, Column, EvidenceShare, Note, Section, Table, Text};
use crate::number;
use crate::words;

/// Problems listed; all kept ones are in the workbook and the JSON.
const PROBLEMS: usize = 100;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let inventory = context.input.inventory;
    let population = &inventory.population;
    let mut blocks = vec![Block::Table(population_table(context))];
    blocks.push(Block::Heading("Where the load figures come from".to_owned()));
    blocks.push(Block::Evidence(evidence(context)));
    blocks.push(Block::Heading("Load by class".to_owned()));
    blocks.push(Block::Table(classes(context)));
    blocks.push(Block::Heading("Totals of the file".to_owned()));
    blocks.push(Block::Table(totals(context)));
    if !inventory.datastores.is_empty() {
        blocks.push(Block::Folded {
            summary: "Today’s datastores".to_owned(),
            blocks: vec![Block::Table(datastores(context))],
        });
    }
    if !inventory.quality.is_empty() {
        blocks.push(Block::Heading("Do the tabs agree?".to_owned()));
        blocks.push(Block::Table(quality(context)));
    }
    blocks.push(Block::Heading("Problems in the input".to_owned()));
    problems(context, &mut blocks);
    Section {
        id: "data",
        topic: "The inventory behind it".to_owned(),
        finding: format!(
            "{} of {} VMs carry load; {} take up space.",
            number::count(population.counted),
            number::count(population.in_file),
            number::count(context.input.demand.vms.len() as u64),
        ),
        lead: Vec::new(),
        blocks,
        notes: notes(context),
    }
}

fn population_table(context: &Context<'_>) -> Table {
    let inventory = context.input.inventory;
    let population = &inventory.population;
    let mut table = Table::key(
        format!(
            "From the file to the VMs that count. Capacity counts {} VMs and {}.",
            number::count(context.input.demand.vms.len() as u64),
            number::size(context.input.demand.used_today),
        ),
        vec![
            Column::name("Population"),
            Column::value("VMs"),
            Column::line(""),
            Column::number("TiB used"),
            Column::word("Counted for"),
        ],
    );
    let whole = population.in_file.max(1);
    #[expect(clippy::cast_precision_loss, reason = "shares of a bar")]
    let part = |count: u64| count as f64 / whole as f64;
    let used: Mib = inventory.vms.iter().map(|vm| vm.used).sum();
    let full = |count| {
        Cell::Bar(Bar { stays: part(count), removed: 0.0, removed_counts: false, whole: true })
    };
    table.row(vec![
        Cell::Strong("In the file".to_owned()),
        Cell::Strong(number::count(population.in_file)),
        full(population.in_file),
        number::tib(used.gib()).into(),
        "".into(),
    ]);
    let mut left = population.in_file;
    for step in population.steps.iter().filter(|step| step.vms > 0) {
        left = left.saturating_sub(step.vms);
        #[expect(clippy::cast_precision_loss, reason = "counts of VMs")]
        let removed = -(step.vms as f64);
        table.row(vec![
            words::exclusion(step.reason).into(),
            number::signed(removed, 0).into(),
            Cell::Bar(Bar {
                stays: part(left),
                removed: part(step.vms),
                removed_counts: step.capacity_counts,
                whole: false,
            }),
            number::tib(step.used.gib()).into(),
            if step.capacity_counts { "capacity only" } else { "left out of load and capacity" }
                .into(),
        ]);
    }
    let counted: Mib =
        inventory.vms.iter().filter(|vm| vm.exclusion.is_none()).map(|vm| vm.used).sum();
    table.row(vec![
        Cell::Strong("Carry load".to_owned()),
        Cell::Strong(number::count(population.counted)),
        full(population.counted),
        number::tib(counted.gib()).into(),
        "load and capacity".into(),
    ]);
    table
}

fn evidence(context: &Context<'_>) -> Vec<EvidenceShare> {
    let demand = context.input.demand;
    let mut by_grade: BTreeMap<EvidenceGrade, (f64, u64)> = BTreeMap::new();
    for vm in &demand.vms {
        if let Some(class) = demand.classes.get(usize::from(vm.class.0))
            && vm.iops_mean.0 > 0.0
        {
            let entry = by_grade.entry(class.grade).or_default();
            entry.0 += vm.iops_mean.0;
            entry.1 += 1;
        }
    }
    let total: f64 = by_grade.values().map(|(load, _)| load).sum();
    by_grade
        .into_iter()
        .map(|(grade, (load, vms))| EvidenceShare {
            grade,
            share: if total > 0.0 { load / total } else { 0.0 },
            what: format!(
                "{}, {} of the IOPS: {}",
                grade.meaning(),
                number::share(if total > 0.0 { load / total } else { 0.0 }),
                words::counted(vms, "VM", "VMs"),
            ),
        })
        .collect()
}

fn classes(context: &Context<'_>) -> Table {
    let demand = context.input.demand;
    let mut table = Table::dense(
        "Load of one VM (median) and of the class (95th percentile of the sum, today).",
        vec![
            Column::name("Class"),
            Column::number("VMs"),
            Column::number("IOPS of one"),
            Column::number("IOPS of all"),
            Column::number("MiB/s of all"),
            Column::number("Block, KiB"),
            Column::number("Read"),
            Column::word("Grade"),
            Column::word("Source"),
        ],
    );
    for class in demand.classes.iter().filter(|class| class.vms > 0) {
        table.row(vec![
            words::foreign(&class.name, 60).into(),
            number::count(class.vms).into(),
            number::modelled(class.iops.median).into(),
            number::modelled(class.iops_p95.0).into(),
            number::modelled(class.mibps_p95.0).into(),
            number::short(class.block_kib, 1).into(),
            number::share(class.read_fraction).into(),
            Cell::Grade(class.grade),
            words::foreign(&class.source, 160).into(),
        ]);
    }
    table.row(vec![
        Cell::Strong("All together".to_owned()),
        number::count(demand.classes.iter().map(|class| class.vms).sum()).into(),
        "".into(),
        number::modelled(demand.today.iops_p95.0).into(),
        number::modelled(demand.today.mibps_p95.0).into(),
        number::short(demand.today.block_kib, 1).into(),
        number::share(demand.today.read_fraction).into(),
        Cell::Grade(demand.grade),
        "p95 of the sum, not the sum of the p95".into(),
    ]);
    table
}

fn totals(context: &Context<'_>) -> Table {
    let totals = &context.input.inventory.totals;
    let mut table = Table::key(
        "Over all rows that are VMs or datastores, before exclusions.",
        vec![Column::name("Total"), Column::value("Value"), Column::line("From")],
    );
    let tib = |mib: u64| format!("{} TiB", number::tib(Mib(mib).gib()));
    for (name, value, from) in [
        ("VMs", number::count(totals.vms_in_file), "vInfo"),
        ("Virtual disks", number::count(totals.disks), "vDisk"),
        ("Datastores", number::count(totals.datastores), "vDatastore, merged across vCenters"),
        ("Hosts", number::count(totals.hosts), "vHost"),
        ("Provisioned", tib(totals.provisioned_mib), "vInfo, Provisioned"),
        ("In use", tib(totals.in_use_mib), "vInfo, In Use"),
        ("Capacity of disks", tib(totals.disk_capacity_mib), "vDisk, Capacity"),
        ("Consumed in guests", tib(totals.partition_consumed_mib), "vPartition, Consumed"),
        ("Capacity of datastores", tib(totals.datastore_capacity_mib), "vDatastore, Capacity"),
        ("In use on datastores", tib(totals.datastore_in_use_mib), "vDatastore, In Use"),
    ] {
        table.row(vec![name.into(), value.into(), from.into()]);
    }
    table
}

fn datastores(context: &Context<'_>) -> Table {
    const SHOWN: usize = 60;
    let datastores = &context.input.inventory.datastores;
    let mut table = Table::dense(
        "TiB as the inventory states them.",
        vec![
            Column::name("Datastore"),
            Column::word("Kind"),
            Column::number("Capacity"),
            Column::number("In use"),
            Column::number("Full"),
            Column::number("Provisioned"),
            Column::number("VMs"),
            Column::number("Hosts"),
            Column::word("Remark"),
        ],
    );
    let tib = |size: Option<Mib>| {
        size.map_or_else(|| number::MISSING.to_owned(), |size| number::tib(size.gib()))
    };
    for datastore in datastores.iter().take(SHOWN) {
        let full = match (datastore.in_use, datastore.capacity) {
            (Some(used), Some(capacity)) if capacity.0 > 0 => {
                number::share(used.gib().0 / capacity.gib().0)
            }
            _ => number::MISSING.to_owned(),
        };
        let remarks: Vec<String> = [
            (!datastore.accessible).then(|| "not accessible".to_owned()),
            datastore.local.then(|| "local".to_owned()),
            datastore.tier_hint.as_ref().map(|hint| format!("name says {hint}")),
        ]
        .into_iter()
        .flatten()
        .collect();
        table.row(vec![
            words::foreign(&datastore.name, 60).into(),
            words::datastore_kind(datastore.kind).into(),
            tib(datastore.capacity).into(),
            tib(datastore.in_use).into(),
            full.into(),
            tib(datastore.provisioned).into(),
            number::count(datastore.vms.len() as u64).into(),
            number::count(datastore.hosts.len() as u64).into(),
            words::foreign(&remarks.join(", "), 80).into(),
        ]);
    }
    if datastores.len() > SHOWN {
        table.left_out = Some(format!("{} more are in the file.", datastores.len() - SHOWN));
    }
    table
}

fn quality(context: &Context<'_>) -> Table {
    let mut table =
        Table::key("", vec![Column::name("Check"), Column::word(""), Column::line("Result")]);
    for check in &context.input.inventory.quality {
        let severity = if check.ok { FindingSeverity::Passed } else { FindingSeverity::Care };
        table.row(vec![
            words::foreign(&check.what, 160).into(),
            Cell::Severity(severity),
            words::foreign(&check.result, 240).into(),
        ]);
    }
    table
}

fn problems(context: &Context<'_>, blocks: &mut Vec<Block>) {
    let problems = context.input.problems;
    if problems.total() == 0 {
        blocks.push(Block::Paragraph("Every row and value was read as expected.".into()));
        return;
    }
    let of = |severity| {
        problems.items.iter().filter(|problem| problem.severity == severity).count() as u64
    };
    let mut by_code: BTreeMap<(Severity, &str, &str), (u64, &str)> = BTreeMap::new();
    for problem in &problems.items {
        let entry = by_code
            .entry((problem.severity, problem.code.as_str(), problem.tab.as_str()))
            .or_insert((0, problem.action.as_str()));
        entry.0 += 1;
    }
    let not_kept: u64 = problems.not_kept.values().sum();
    let mut text = format!(
        "{}: {} left out, {} less accurate, {} for information.",
        words::sentence(&words::counted(problems.total(), "problem", "problems")),
        number::count(of(Severity::Error)),
        number::count(of(Severity::Warning)),
        number::count(of(Severity::Note)),
    );
    if not_kept > 0 {
        text.push_str(&format!(
            " {} further ones of the same kinds were counted but not kept.",
            number::count(not_kept),
        ));
    }
    blocks.push(Block::Paragraph(text.into()));
    let mut kinds = Table::key(
        "Kinds of problems, with what was done.",
        vec![
            Column::name("Kind"),
            Column::word("Tab"),
            Column::word("Severity"),
            Column::value("Count"),
            Column::line("What was done, in the first case"),
        ],
    );
    for ((severity, code, tab), (count, action)) in by_code.into_iter().rev().take(40) {
        kinds.row(vec![
            Text::default().code(words::foreign(code, 60)).into(),
            words::foreign(tab, 40).into(),
            severity_word(severity).into(),
            number::count(count).into(),
            words::foreign(action, 200).into(),
        ]);
    }
    blocks.push(Block::Table(kinds));
    let mut table = Table::dense(
        "",
        vec![
            Column::name("File"),
            Column::word("Tab"),
            Column::number("Row"),
            Column::word("Column"),
            Column::word("Found"),
            Column::word("Expected"),
            Column::word("Done"),
        ],
    );
    // Worst first; the order of the input within a severity.
    for severity in [Severity::Error, Severity::Warning, Severity::Note] {
        for problem in problems.items.iter().filter(|problem| problem.severity == severity) {
            if table.rows.len() >= PROBLEMS {
                break;
            }
            table.row(vec![
                words::foreign(&problem.file, 60).into(),
                words::foreign(&problem.tab, 40).into(),
                problem.row.map_or_else(String::new, |row| row.to_string()).into(),
                words::foreign(&problem.column, 60).into(),
                words::foreign(&problem.value, 80).into(),
                words::foreign(&problem.expected, 160).into(),
                words::foreign(&problem.action, 160).into(),
            ]);
        }
    }
    let shown = table.rows.len();
    if problems.items.len() > shown {
        table.left_out = Some(format!(
            "{} more are in the workbook and the JSON form.",
            number::count((problems.items.len() - shown) as u64),
        ));
    }
    blocks.push(Block::Folded {
        summary: format!(
            "{} with their cells",
            words::counted(shown as u64, "problem", "problems")
        ),
        blocks: vec![Block::Table(table)],
    });
}

/// Severity of a problem in words.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "for information",
        Severity::Warning => "less accurate",
        Severity::Error => "left out",
    }
}

fn notes(context: &Context<'_>) -> Vec<Note> {
    let input = context.input;
    let mut notes = Vec::new();
    for file in input.files.iter().take(8) {
        let rows: u64 = file.tabs.iter().filter(|tab| tab.used).map(|tab| tab.rows).sum();
        notes.push(Note {
            heading: String::new(),
            text: Text::default().code(words::foreign(&file.name, 80)).plain(format!(
                ", {}: {} rows of {}. {}",
                number::bytes(file.bytes),
                number::count(rows),
                words::counted(file.tabs.len() as u64, "tab", "tabs"),
                words::sentence(&words::foreign(&file.reason, 200)),
            )),
        });
    }
    if let Some(taken) = input.inventory.taken {
        notes.push(Note {
            heading: String::new(),
            text: format!(
                "Taken {} {}, {}. Ages are counted from that moment.",
                words::date(taken.date()),
                taken.time().strftime("%H:%M"),
                words::foreign(&input.inventory.taken_from, 120),
            )
            .into(),
        });
    }
    let mut sources: BTreeMap<&'static str, u64> = BTreeMap::new();
    for vm in &input.inventory.vms {
        if vm.used_source != UsedSource::InUse {
            *sources.entry(words::used_source(vm.used_source)).or_default() += 1;
        }
    }
    if !sources.is_empty() {
        let parts: Vec<_> = sources
            .iter()
            .map(|(source, count)| format!("{source} for {}", number::count(*count)))
            .collect();
        notes.push(Note {
            heading: "Used space".to_owned(),
            text: format!("From vInfo, In Use, where it is given; else {}.", words::list(&parts))
                .into(),
        });
    }
    notes
}
