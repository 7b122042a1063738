//! Where the VMs go, and how much has to move.

use std::collections::BTreeMap;

use super::Context;
use crate::document::{Block, Cell, Column, Note, Section, Table, Text};
use crate::lines;
use crate::number;
use crate::words;

/// Moves listed; all are in the CSV, the workbook and the JSON.
const MOVES: usize = 25;
/// Unplaced VMs listed.
const UNPLACED: usize = 50;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let plan = context.input.plan;
    let mut blocks = Vec::new();
    if !plan.unplaced.is_empty() {
        blocks.push(Block::Heading("Not placed".to_owned()));
        blocks.push(Block::Table(unplaced(context)));
    }
    if !plan.placements.is_empty() {
        blocks.push(Block::Heading("What leaves today’s datastores".to_owned()));
        blocks.push(Block::Table(sources(context)));
        blocks.push(Block::Folded {
            summary: "The largest moves".to_owned(),
            blocks: vec![Block::Table(moves(context))],
        });
    }
    let placed = plan.placements.len() as u64;
    let finding = match plan.unplaced.len() as u64 {
        0 if placed == 0 => "There is no VM to place.".to_owned(),
        0 => format!("Every VM has its place; {} have to move.", number::size(plan.moved_gib),),
        missing => format!(
            "{} placed, {} not.",
            words::sentence(&words::counted(placed, "VM is", "VMs are")),
            words::counted(missing, "is", "are"),
        ),
    };
    Section {
        id: "placement",
        topic: "Placement".to_owned(),
        finding,
        lead: Vec::new(),
        blocks,
        notes: vec![Note {
            heading: String::new(),
            text: Text::from(
                "The CSV form of this report lists every VM with its planned datastore, the one it \
                 is on today and the space to move.",
            ),
        }],
    }
}

fn unplaced(context: &Context<'_>) -> Table {
    let input = context.input;
    let mut table =
        Table::key("", vec![Column::name("VM"), Column::line("Why it could not be placed")]);
    for (vm, reason) in input.plan.unplaced.iter().take(UNPLACED) {
        table.row(vec![
            Cell::Strong(words::foreign(lines::vm_name(input.inventory, *vm), 60)),
            words::foreign(reason, 300).into(),
        ]);
    }
    if input.plan.unplaced.len() > UNPLACED {
        table.left_out = Some(format!(
            "{} more are in the workbook and the JSON form.",
            input.plan.unplaced.len() - UNPLACED,
        ));
    }
    table
}

/// Today's datastores with what leaves them, largest first.
fn sources(context: &Context<'_>) -> Table {
    const SHOWN: usize = 40;
    let input = context.input;
    let mut by_source: BTreeMap<Option<plimsoll_inventory::DatastoreId>, (u64, u64)> =
        BTreeMap::new();
    for placement in &input.plan.placements {
        let entry = by_source.entry(placement.from).or_default();
        entry.0 += 1;
        entry.1 += placement.moved.0;
    }
    let mut sources: Vec<_> = by_source.into_iter().collect();
    sources.sort_by_key(|(from, (_, moved))| (std::cmp::Reverse(*moved), *from));
    let mut table = Table::key(
        "",
        vec![Column::name("Datastore today"), Column::number("VMs"), Column::main("TiB to move")],
    );
    let all = sources.len();
    for (from, (vms, moved)) in sources.into_iter().take(SHOWN) {
        let name = from.map_or("not known", |from| lines::datastore_name(input.inventory, from));
        table.row(vec![
            words::foreign(name, 80).into(),
            number::count(vms).into(),
            number::tib(plimsoll_units::Mib(moved).gib()).into(),
        ]);
    }
    if all > SHOWN {
        table.left_out = Some(format!("{} more are in the CSV form.", all - SHOWN));
    }
    table
}

fn moves(context: &Context<'_>) -> Table {
    let input = context.input;
    let mut largest: Vec<_> = input.plan.placements.iter().collect();
    largest.sort_by_key(|placement| (std::cmp::Reverse(placement.moved), placement.vm));
    let mut table = Table::dense(
        "",
        vec![
            Column::name("VM"),
            Column::word("from"),
            Column::word("to"),
            Column::number("TiB to move"),
        ],
    );
    for placement in largest.iter().take(MOVES) {
        table.row(vec![
            words::foreign(lines::vm_name(input.inventory, placement.vm), 60).into(),
            placement
                .from
                .map_or(number::MISSING.to_owned(), |from| {
                    words::foreign(lines::datastore_name(input.inventory, from), 60)
                })
                .into(),
            input
                .plan
                .capacity
                .get(placement.datastore as usize)
                .map_or(number::MISSING, |datastore| datastore.name.as_str())
                .into(),
            number::tib(placement.moved.gib()).into(),
        ]);
    }
    if input.plan.placements.len() > MOVES {
        table.left_out = Some(format!(
            "{} more are in the CSV form.",
            number::count((input.plan.placements.len() - MOVES) as u64),
        ));
    }
    table
}
