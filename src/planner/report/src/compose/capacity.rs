//! What each planned datastore holds at the horizon.

use plimsoll_plan::PlannedDatastore;

use super::Context;
use crate::document::{Block, Cell, Column, Note, Section, Table};
use crate::figure::{Chart, Figure, StackBar, Stacks};
use crate::number;
use crate::words;

/// Bars drawn; the table twin holds all.
const BARS: usize = 16;

/// The section; absent when nothing is planned.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let plan = context.input.plan;
    let first = plan.capacity.first()?;
    let in_tib = first.size_gib.0 >= 1024.0;
    let (divisor, unit) = if in_tib { (1024.0, "TiB") } else { (1.0, "GiB") };
    let size = first.size_gib.0 / divisor;
    let slack = plan.options.slack_pct;
    let load_line = size * (1.0 - slack / 100.0);
    let decimals = usize::from(in_tib);
    let filled = |datastore: &PlannedDatastore| {
        datastore.used_gib.0 + datastore.growth_gib.0 + datastore.snapshot_gib.0
    };
    let over = plan
        .capacity
        .iter()
        .filter(|datastore| {
            filled(datastore) > datastore.size_gib.0 * (1.0 - slack / 100.0) * 1.000_001
        })
        .count();
    let finding = match (over, context.input.demand.options.horizon_months) {
        (0, 0) => "No datastore is filled past its load line.".to_owned(),
        (0, 12) => "In a year no datastore is filled past its load line.".to_owned(),
        (0, months) => format!("In {months} months no datastore is filled past its load line."),
        (count, _) => format!(
            "{} filled past the load line.",
            words::sentence(&words::counted(count as u64, "datastore is", "datastores are")),
        ),
    };
    let shown = &plan.capacity[..plan.capacity.len().min(BARS)];
    let left_out = plan.capacity.len() - shown.len();
    let figure = Figure {
        number: 0,
        caption: format!(
            "What each datastore holds {}. The load line stands at {}: above it lies the slack \
             that keeps a full datastore from stopping its VMs.{}",
            context.when(),
            number::percent(100.0 - slack),
            match left_out {
                0 => String::new(),
                count => format!(" The first {BARS}; {count} more are in the table."),
            },
        ),
        title: format!("Capacity of the planned datastores {}", context.when()),
        description: description(context, divisor, unit, load_line),
        key: Vec::new(),
        chart: Chart::Stacks(Stacks {
            title: unit.to_owned(),
            condition: format!(
                "{}, each datastore {}",
                context.when(),
                number::size(first.size_gib),
            ),
            size,
            load_line,
            load_line_label: format!(
                "load line, {} {unit} ({})",
                number::short(load_line, decimals),
                number::percent(100.0 - slack),
            ),
            parts: [
                "used today".to_owned(),
                format!(
                    "growth, {} a year",
                    number::percent(context.input.demand.options.capacity_growth_pct_per_year),
                ),
                format!("snapshot reserve, {}", number::percent(plan.options.snapshot_reserve_pct)),
                "slack, kept free".to_owned(),
            ],
            lines: vec![
                ("VMs".to_owned(), "VMs".to_owned()),
                ("thousand IOPS, p95".to_owned(), "k IOPS".to_owned()),
                ("MiB/s, p95".to_owned(), "MiB/s".to_owned()),
            ],
            bars: shown.iter().map(|datastore| bar(datastore, divisor)).collect(),
            decimals,
        }),
        twin: twin(context, divisor, unit),
    };
    Some(Section {
        id: "capacity",
        topic: "Capacity per datastore".to_owned(),
        finding,
        lead: Vec::new(),
        blocks: vec![Block::Figure(Box::new(figure))],
        notes: notes(context),
    })
}

fn bar(datastore: &PlannedDatastore, divisor: f64) -> StackBar {
    let short = datastore.name.rsplit('-').next().unwrap_or(&datastore.name);
    StackBar {
        name: words::foreign(&datastore.name, 14),
        short: words::foreign(short, 6),
        parts: [
            datastore.used_gib.0 / divisor,
            datastore.growth_gib.0 / divisor,
            datastore.snapshot_gib.0 / divisor,
        ],
        below: vec![
            number::count(datastore.vms.into()),
            number::fixed(datastore.iops.0 / 1000.0, 1),
            number::modelled(datastore.mibps.0),
        ],
    }
}

fn description(context: &Context<'_>, divisor: f64, unit: &str, load_line: f64) -> String {
    let plan = context.input.plan;
    let filled: Vec<f64> = plan
        .capacity
        .iter()
        .map(|datastore| {
            (datastore.used_gib.0 + datastore.growth_gib.0 + datastore.snapshot_gib.0) / divisor
        })
        .collect();
    format!(
        "{} stacked bars: used today, growth, snapshot reserve, slack. Filled between {} and {} \
         {unit}; the load line stands at {} {unit}.",
        plan.capacity.len(),
        number::fixed(filled.iter().copied().fold(f64::INFINITY, f64::min), 1),
        number::fixed(filled.iter().copied().fold(0.0, f64::max), 1),
        number::fixed(load_line, 1),
    )
}

fn notes(context: &Context<'_>) -> Vec<Note> {
    let input = context.input;
    let plan = input.plan;
    let mut notes = vec![Note {
        heading: String::new(),
        text: format!(
            "{} are used today; {} are needed {}, and the plan takes {}.",
            number::size(input.demand.used_today),
            number::size(plan.needed_capacity_gib),
            context.when(),
            number::size(plan.pool_size_gib),
        )
        .into(),
    }];
    let loads = plan.capacity.iter().map(|datastore| datastore.iops.0);
    let low = loads.clone().fold(f64::INFINITY, f64::min);
    let high = loads.fold(0.0, f64::max);
    if low > 0.0 && plan.capacity.len() > 1 {
        notes.push(Note {
            heading: String::new(),
            text: format!(
                "VMs are placed by load first: the busiest datastore carries {} more IOPS than \
                 the quietest.",
                number::percent((high / low - 1.0) * 100.0),
            )
            .into(),
        });
    }
    notes
}

fn twin(context: &Context<'_>, divisor: f64, unit: &str) -> Table {
    let plan = context.input.plan;
    let mut table = Table::dense(
        format!("{unit} {}, IOPS and MiB/s at the 95th percentile.", context.when()),
        vec![
            Column::name("Datastore"),
            Column::number("Size"),
            Column::number("Used"),
            Column::number("Growth"),
            Column::number("Snapshots"),
            Column::number("Filled"),
            Column::number("Slack"),
            Column::number("VMs"),
            Column::number("IOPS"),
            Column::number("MiB/s"),
        ],
    );
    let mut sums = [0.0; 6];
    let mut vms = 0;
    for datastore in &plan.capacity {
        let parts = [datastore.used_gib.0, datastore.growth_gib.0, datastore.snapshot_gib.0];
        let filled: f64 = parts.iter().sum();
        let sizes = [
            datastore.size_gib.0,
            parts[0],
            parts[1],
            parts[2],
            filled,
            datastore.size_gib.0 - filled,
        ];
        for (sum, size) in sums.iter_mut().zip(sizes) {
            *sum += size;
        }
        vms += u64::from(datastore.vms);
        let mut cells = vec![Cell::from(words::foreign(&datastore.name, 40))];
        cells.extend(sizes.iter().map(|size| Cell::from(number::fixed(size / divisor, 2))));
        cells.push(number::count(datastore.vms.into()).into());
        cells.push(number::modelled(datastore.iops.0).into());
        cells.push(number::modelled(datastore.mibps.0).into());
        table.row(cells);
    }
    let mut cells = vec![Cell::Strong("Sum".to_owned())];
    cells.extend(sums.iter().map(|size| Cell::from(number::fixed(size / divisor, 2))));
    cells.push(number::count(vms).into());
    // Percentiles are not added: the load of all is its own figure.
    cells.push(number::modelled(plan.load_iops.0).into());
    cells.push(number::modelled(plan.load_mibps.0).into());
    table.row(cells);
    table
}
