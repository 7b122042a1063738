//! What would change the answer: reach of each assumption, all assumptions with their source.

use std::collections::BTreeSet;

use plimsoll_plan::{MarginOf, Sensitivity};

use super::Context;
use crate::document::{Block, Cell, Column, Note, Section, Table, Text};
use crate::figure::{Chart, Figure, Tornado, TornadoRow};
use crate::number;
use crate::words;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let plan = context.input.plan;
    let mut blocks = Vec::new();
    let load: Vec<&Sensitivity> = margins(context, MarginOf::Performance);
    if !load.is_empty() {
        blocks.push(Block::Figure(Box::new(figure(context))));
    }
    if let Some(table) = capacity_margins(context) {
        blocks.push(Block::Heading("Margin of capacity".to_owned()));
        blocks.push(Block::Table(table));
    }
    blocks.push(Block::Heading("All assumptions, with the evidence for each".to_owned()));
    blocks.push(Block::Table(table(context)));
    if !plan.remarks.is_empty() {
        blocks.push(Block::Heading("Remarks".to_owned()));
        for remark in plan.remarks.iter().take(40) {
            blocks.push(Block::Paragraph(Text::quoted(&words::foreign(remark, 600))));
        }
    }
    let below = load.iter().filter(|one| lowest(one) < 0.0).count() as u64;
    let exhausted = load.iter().filter(|one| lowest(one) < load_itself(context)).count() as u64;
    let finding = match (load.len(), below, exhausted) {
        (0, _, _) => "The answer stands on these assumptions.".to_owned(),
        (_, 0, _) => "No assumption, moved through its range, breaks the plan.".to_owned(),
        (_, below, 0) => format!(
            "{} could eat into the headroom. None could use it up.",
            words::sentence(&words::counted(below, "assumption", "assumptions")),
        ),
        (_, below, exhausted) => format!(
            "{} could eat into the headroom; {} use it up.",
            words::sentence(&words::counted(below, "assumption", "assumptions")),
            words::counted(exhausted, "could", "could"),
        ),
    };
    Section {
        id: "assumptions",
        topic: "What would change the answer".to_owned(),
        finding,
        lead: Vec::new(),
        blocks,
        notes: vec![
            Note {
                heading: "Evidence grades".to_owned(),
                text: "A measured here, B measured on the same class of system, C published, D \
                       assumed. A result has the weakest grade among the inputs that move it by \
                       more than 5%."
                    .into(),
            },
            Note {
                heading: String::new(),
                text: format!(
                    "This plan has grade {}: {}.",
                    plan.grade.letter(),
                    plan.grade.meaning(),
                )
                .into(),
            },
        ],
    }
}

fn margins<'a>(context: &Context<'a>, of: MarginOf) -> Vec<&'a Sensitivity> {
    context.input.plan.sensitivities.iter().filter(|one| one.of == of).collect()
}

fn capacity_margins(context: &Context<'_>) -> Option<Table> {
    let margins = margins(context, MarginOf::Capacity);
    if margins.is_empty() {
        return None;
    }
    let mut table = Table::key(
        "Size of the planned datastores over the capacity needed, when one assumption moves.",
        vec![
            Column::name("Assumption"),
            Column::main("Plan"),
            Column::number("Range"),
            Column::number("Margin"),
            Column::number("Full at"),
        ],
    );
    for one in margins {
        table.row(vec![
            words::foreign(&one.assumption, 80).into(),
            with_unit(one.value, &one.unit).into(),
            format!("{} … {}", with_unit(one.low, &one.unit), with_unit(one.high, &one.unit))
                .into(),
            format!(
                "{} … {}",
                number::signed_percent(one.margin_low_pct),
                number::signed_percent(one.margin_high_pct),
            )
            .into(),
            one.fails_at
                .map_or_else(|| number::MISSING.to_owned(), |at| with_unit(at, &one.unit))
                .into(),
        ]);
    }
    Some(table)
}

fn lowest(one: &Sensitivity) -> f64 {
    one.margin_low_pct.min(one.margin_high_pct)
}

/// Margin over what is needed at which the load itself is only just carried, percent.
fn load_itself(context: &Context<'_>) -> f64 {
    let headroom = context.input.plan.options.headroom_pct;
    -100.0 * headroom / (100.0 + headroom)
}

fn plan_margin(context: &Context<'_>) -> f64 {
    let plan = context.input.plan;
    ((1.0 + plan.headroom_pct / 100.0) / (1.0 + plan.options.headroom_pct / 100.0) - 1.0) * 100.0
}

/// A value with its unit as the assumptions show it.
fn with_unit(value: f64, unit: &str) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    let text = number::short(value, digits);
    match unit {
        "" => text,
        "%" => format!("{text}%"),
        "×" | "x" | "factor" => format!("×{text}"),
        unit if unit.starts_with('%') => format!("{text}{unit}"),
        unit => format!("{text}{}{unit}", number::NBSP),
    }
}

fn figure(context: &Context<'_>) -> Figure {
    let plan = context.input.plan;
    let mut sorted = margins(context, MarginOf::Performance);
    let width = |one: &Sensitivity| (one.margin_high_pct - one.margin_low_pct).abs();
    sorted.sort_by(|one, other| width(other).total_cmp(&width(one)));
    sorted.truncate(12);
    let at = |value: Option<f64>, unit: &str| {
        value.map_or_else(|| number::MISSING.to_owned(), |value| with_unit(value, unit))
    };
    let rows = sorted
        .iter()
        .map(|one| {
            let low = (one.margin_low_pct, with_unit(one.low, &one.unit));
            let high = (one.margin_high_pct, with_unit(one.high, &one.unit));
            let (lower, upper) = if low.0 <= high.0 { (low, high) } else { (high, low) };
            TornadoRow {
                label: format!(
                    "{}, {}",
                    words::foreign(&one.assumption, 60),
                    with_unit(one.value, &one.unit),
                ),
                lower,
                upper,
                smaller_at: at(one.smaller_at, &one.unit),
                fails_at: at(one.fails_at, &one.unit),
            }
        })
        .collect();
    let smaller = context.smaller().map_or_else(
        || "less would do".to_owned(),
        |smaller| format!("{} would do", smaller.datastores),
    );
    let fails = format!("{} no longer do", plan.datastores);
    let chart = Tornado {
        title: "Margin of the 95% level over what is needed".to_owned(),
        condition: format!(
            "at {}",
            words::counted(plan.datastores.into(), "datastore", "datastores")
        ),
        plan: plan_margin(context),
        load_itself: load_itself(context),
        heads: [smaller, fails],
        rows,
    };
    Figure {
        number: 0,
        caption: "Each bar moves one assumption through its range and leaves the rest alone. \
                  Hatched: less than the headroom asked. Dashed line: no headroom left, the load \
                  itself is only just carried."
            .to_owned(),
        title: "How far each assumption moves the margin".to_owned(),
        description: format!(
            "{} bars around the plan’s margin of {}. {}",
            chart.rows.len(),
            number::signed_percent(chart.plan),
            chart
                .rows
                .iter()
                .map(|row| {
                    format!(
                        "{}: {} to {}.",
                        row.label,
                        number::signed_percent(row.lower.0),
                        number::signed_percent(row.upper.0),
                    )
                })
                .collect::<Vec<_>>()
                .join(" "),
        ),
        key: Vec::new(),
        twin: twin(context, &chart),
        chart: Chart::Tornado(chart),
    }
}

fn twin(context: &Context<'_>, chart: &Tornado) -> Table {
    let mut table = Table::dense(
        format!(
            "Margin of the {} over what is needed; plan {}.",
            context.level(),
            number::signed_percent(chart.plan),
        ),
        vec![
            Column::name("Assumption"),
            Column::number("Worse end"),
            Column::number("Margin there"),
            Column::number("Better end"),
            Column::number("Margin there"),
            Column::number(format!("{} at", chart.heads[0])),
            Column::number(format!("{} at", chart.heads[1])),
        ],
    );
    for row in &chart.rows {
        table.row(vec![
            row.label.clone().into(),
            row.lower.1.clone().into(),
            number::signed_percent(row.lower.0).into(),
            row.upper.1.clone().into(),
            number::signed_percent(row.upper.0).into(),
            row.smaller_at.clone().into(),
            row.fails_at.clone().into(),
        ]);
    }
    table
}

fn table(context: &Context<'_>) -> Table {
    let input = context.input;
    let mut table = Table::key(
        "Your options, and what the tool assumed where nothing was measured.",
        vec![
            Column::name("Assumption"),
            Column::word("Value"),
            Column::word("Grade"),
            Column::line("Evidence"),
        ],
    );
    let mut seen = BTreeSet::new();
    for assumption in input.demand.assumptions.iter().chain(&input.plan.assumptions) {
        if !seen.insert((&assumption.id, &assumption.value)) {
            continue;
        }
        table.row(vec![
            words::foreign(&assumption.what, 200).into(),
            words::foreign(&assumption.value, 80).into(),
            Cell::Grade(assumption.grade),
            words::foreign(&assumption.source, 300).into(),
        ]);
    }
    table
}
