//! Total cost with and without external datastores.

use super::Context;
use crate::document::{Block, Cell, Column, Note, Row, Section, Table};
use crate::number;

/// The section; absent where the platform has no hosts with prices.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let tco = context.input.plan.tco.as_ref()?;
    let finding = match tco.saving_pct {
        saving if saving >= 0.5 => format!(
            "External datastores save {} of the bill, because {} of {} hosts are not needed.",
            number::percent(saving.round()),
            tco.hosts_without.saturating_sub(tco.hosts_with),
            tco.hosts_without,
        ),
        saving if saving <= -0.5 => format!(
            "External datastores cost {} more than keeping storage inside the cluster.",
            number::percent(-saving.round()),
        ),
        _ => "With or without external datastores, the bill is about the same.".to_owned(),
    };
    let mut table = Table::key(
        "A month, whole hosts and whole pool steps.",
        vec![Column::name("Part"), Column::number("Hosts"), Column::value("Price a month")],
    );
    table.row(vec![
        "Storage inside the cluster".into(),
        number::count(tco.hosts_without.into()).into(),
        number::money(&tco.monthly_without).into(),
    ]);
    table.rows.push(Row {
        cells: vec![
            Cell::Strong("With external datastores".to_owned()),
            number::count(tco.hosts_with.into()).into(),
            Cell::Strong(number::money(&tco.monthly_with)),
        ],
        chosen: true,
    });
    for (name, part) in &tco.parts {
        table.row(vec![format!("of that, {name}").into(), "".into(), number::money(part).into()]);
    }
    let [cpu, memory, storage] = tco.hosts_by;
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(tco.notes.iter().map(|note| Block::Paragraph(note.clone().into())));
    Some(Section {
        id: "tco",
        topic: "Total cost".to_owned(),
        finding,
        lead: vec![
            format!(
                "Compute asks for {cpu} hosts of type {}, memory for {memory}, storage inside the \
                 cluster for {storage}. The largest of the three counts; external datastores take \
                 the third away.",
                tco.host_type,
            )
            .into(),
        ],
        blocks,
        notes: vec![Note { heading: "Host prices".to_owned(), text: tco.source.clone().into() }],
    })
}
