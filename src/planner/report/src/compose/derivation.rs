//! How the number was reached, with the numbers put in.

use plimsoll_plan::Ceiling;

use super::Context;
use crate::document::{Block, Column, Section, Step, Table};
use crate::number;
use crate::words;

/// The section; absent when the plan has no derivation.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let steps: Vec<Step> = context
        .input
        .plan
        .derivation
        .iter()
        .map(|step| Step {
            what: step.what.clone(),
            formula: step.formula.clone(),
            result: step.result.clone(),
        })
        .collect();
    if steps.is_empty() {
        return None;
    }
    let mut blocks = vec![Block::Derivation(steps)];
    if !context.input.plan.ceilings.is_empty() {
        blocks.push(Block::Heading(format!("The limits of the plan, {}", context.failure_short())));
        blocks.push(Block::Table(ceilings(&context.input.plan.ceilings)));
    }
    Some(Section {
        id: "derivation",
        topic: "Derivation".to_owned(),
        finding: "How the number was reached.".to_owned(),
        lead: Vec::new(),
        blocks,
        notes: Vec::new(),
    })
}

fn ceilings(ceilings: &[Ceiling]) -> Table {
    let mut table = Table::key(
        "Each limit alone; together they blend, and the lowest binds first.",
        vec![
            Column::name("Limit"),
            Column::number("Number"),
            Column::number("IOPS of one"),
            Column::number("IOPS of all"),
            Column::number("MiB/s of one"),
            Column::number("MiB/s of all"),
        ],
    );
    let shown =
        |value: Option<f64>| value.map_or_else(|| number::MISSING.to_owned(), number::modelled);
    for ceiling in ceilings {
        table.row(vec![
            words::sentence(words::limit(ceiling.resource)).into(),
            ceiling
                .instances
                .map_or_else(|| number::MISSING.to_owned(), |count| number::short(count, 1))
                .into(),
            shown(ceiling.iops_each.map(|iops| iops.0)).into(),
            shown(ceiling.iops.map(|iops| iops.0)).into(),
            shown(ceiling.mibps_each.map(|rate| rate.0)).into(),
            shown(ceiling.mibps.map(|rate| rate.0)).into(),
        ]);
    }
    table
}
