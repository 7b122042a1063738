//! Tiers with their price, the neighbours of the plan, and plans for other loads.

use plimsoll_plan::{FrontierPoint, TierOption};

use super::Context;
use crate::document::{Block, Cell, Column, Note, Row, Section, Table};
use crate::number::{self, NBSP};
use crate::words;

/// The section.
pub fn section(context: &Context<'_>) -> Section {
    let plan = context.input.plan;
    let mut blocks = Vec::new();
    if !plan.tiers.is_empty() {
        blocks.push(Block::Table(tiers(context)));
    }
    if let Some(runner_up) = &plan.runner_up {
        blocks.push(Block::Heading("The runner-up".to_owned()));
        blocks.push(Block::Paragraph(runner_up.clone().into()));
    }
    if let Some(table) = neighbours(context) {
        blocks.push(Block::Heading(format!("The neighbours of the plan, on {}", context.tier())));
        blocks.push(Block::Table(table));
    }
    if !plan.what_if.is_empty() {
        blocks.push(Block::Heading("If the load turns out different".to_owned()));
        blocks.push(Block::Table(what_if(context)));
    }
    Section {
        id: "tiers",
        topic: "Tiers and price".to_owned(),
        finding: finding(context),
        lead: Vec::new(),
        blocks,
        notes: notes(context),
    }
}

fn is_chosen(context: &Context<'_>, tier: &TierOption) -> bool {
    let plan = context.input.plan;
    tier.tier == plan.tier && (tier.qos == plan.qos || tier.qos.is_empty() || plan.qos.is_empty())
}

fn finding(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let Some(cost) = plan.monthly_cost.as_ref() else {
        return format!("{} is the plan; no price is known for it.", context.tier());
    };
    if !plan.feasible {
        return "No tier meets every limit.".to_owned();
    }
    let next = plan
        .tiers
        .iter()
        .filter(|tier| tier.feasible && !is_chosen(context, tier))
        .filter_map(|tier| tier.monthly_cost.as_ref())
        .map(|other| other.amount - cost.amount)
        .fold(f64::INFINITY, f64::min);
    match next {
        gap if !gap.is_finite() => {
            format!("{} is the only tier that carries what is needed.", context.tier())
        }
        gap if gap < 0.5 => {
            format!("{} carries what is needed at the lowest price.", context.tier())
        }
        gap => format!(
            "{} is the cheapest tier that carries what is needed, by {}{NBSP}{} a month.",
            context.tier(),
            number::whole(gap),
            cost.currency,
        ),
    }
}

fn tiers(context: &Context<'_>) -> Table {
    let plan = context.input.plan;
    let currency = plan.monthly_cost.as_ref().map_or("Price", |cost| cost.currency.as_str());
    let mut table = Table::key(
        format!(
            "Each tier at its best count; needed {} and {}{NBSP}MiB/s. Room: cap over need.",
            number::size(plan.needed_capacity_gib),
            number::modelled(plan.needed_mibps.0),
        ),
        vec![
            Column::name("Tier"),
            Column::number("Datastores"),
            Column::number("Pool"),
            Column::number("Cap, MiB/s"),
            Column::main(format!("{currency} a month")),
            Column::number("to plan"),
            Column::number("Room"),
            Column::line("Sized by"),
        ],
    );
    for tier in &plan.tiers {
        let chosen = is_chosen(context, tier);
        let name = if tier.qos.is_empty() || tier.name.to_lowercase().contains(&tier.qos) {
            tier.name.clone()
        } else {
            format!("{}, {} QoS", tier.name, tier.qos)
        };
        let price =
            tier.monthly_cost.as_ref().map_or_else(|| number::MISSING.to_owned(), number::amount);
        let gap = match (&tier.monthly_cost, &plan.monthly_cost) {
            (Some(tier), Some(plan)) => number::signed(tier.amount - plan.amount, 0),
            _ => number::MISSING.to_owned(),
        };
        let room = tier.cap_mibps.filter(|_| plan.needed_mibps.0 > 0.0).map_or_else(
            || number::MISSING.to_owned(),
            |cap| number::signed((cap.0 / plan.needed_mibps.0 - 1.0) * 100.0, 0) + "%",
        );
        let sized_by = match (tier.feasible, tier.sized_by.as_str(), tier.note.as_str()) {
            (true, sized_by, "") => sized_by.to_owned(),
            (true, sized_by, note) => format!("{sized_by}; {note}"),
            (false, _, note) => format!("does not do: {note}"),
        };
        table.rows.push(Row {
            cells: vec![
                if chosen { Cell::Strong(name) } else { name.into() },
                number::count(tier.datastores.into()).into(),
                number::size(tier.pool_size_gib).into(),
                tier.cap_mibps
                    .map_or_else(|| number::MISSING.to_owned(), |cap| number::whole(cap.0))
                    .into(),
                if chosen { Cell::Strong(price) } else { price.into() },
                gap.into(),
                room.into(),
                sized_by.into(),
            ],
            chosen,
        });
    }
    table
}

fn neighbours(context: &Context<'_>) -> Option<Table> {
    let plan = context.input.plan;
    let chosen = context.chosen?;
    let point = context.point()?;
    let mut table = Table::dense(
        format!(
            "Carried at the {} {}; needed {} IOPS and {}{NBSP}MiB/s.",
            context.level(),
            context.failure(),
            number::modelled(plan.needed_iops.0),
            number::modelled(plan.needed_mibps.0),
        ),
        vec![
            Column::name("Datastores"),
            Column::number("Size"),
            Column::number("IOPS"),
            Column::number("over need"),
            Column::number("MiB/s"),
            Column::number("over need"),
            Column::number("Sure"),
            Column::number("Price a month"),
            Column::number("to plan"),
        ],
    );
    let first = chosen.saturating_sub(2);
    let shown = plan.frontier.iter().enumerate().skip(first).take(chosen - first + 4);
    for (index, other) in shown {
        table.rows.push(Row { cells: neighbour(context, point, other), chosen: index == chosen });
    }
    Some(table)
}

fn neighbour(context: &Context<'_>, point: &FrontierPoint, other: &FrontierPoint) -> Vec<Cell> {
    let plan = context.input.plan;
    let over = |carried: f64, needed: f64| {
        if needed > 0.0 {
            number::signed_percent((carried / needed - 1.0) * 100.0)
        } else {
            number::MISSING.to_owned()
        }
    };
    let gap = match (&other.monthly_cost, &point.monthly_cost) {
        (Some(other), Some(plan)) => number::signed(other.amount - plan.amount, 0),
        _ => number::MISSING.to_owned(),
    };
    vec![
        Cell::Strong(other.datastores.to_string()),
        number::size(other.datastore_size_gib).into(),
        number::modelled(other.iops.at_certainty).into(),
        over(other.iops.at_certainty, plan.needed_iops.0).into(),
        number::modelled(other.mibps.at_certainty).into(),
        over(other.mibps.at_certainty, plan.needed_mibps.0).into(),
        number::certainty(other.iops.probability.min(other.mibps.probability)).into(),
        other
            .monthly_cost
            .as_ref()
            .map_or_else(|| number::MISSING.to_owned(), number::amount)
            .into(),
        gap.into(),
    ]
}

fn what_if(context: &Context<'_>) -> Table {
    let mut table = Table::key(
        "What would be planned for another load, with the same headroom.",
        vec![
            Column::name("Load"),
            Column::line("The plan as it stands"),
            Column::word("Best plan then"),
            Column::value("Price a month"),
        ],
    );
    for case in &context.input.plan.what_if {
        let now = match (case.plan_holds, case.load_carried) {
            (true, _) => "still holds with the headroom asked",
            (false, true) => "carries it, with less headroom than asked",
            (false, false) => "does not carry it",
        };
        let then = if case.feasible {
            let tier = context.input.plan.tiers.iter().find(|tier| tier.tier == case.tier);
            format!(
                "{} on {}",
                words::counted(case.datastores.into(), "datastore", "datastores"),
                tier.map_or(&case.tier, |tier| &tier.name),
            )
        } else {
            "none".to_owned()
        };
        table.row(vec![
            format!("{}%", number::signed(case.load_change_pct, 0)).into(),
            now.into(),
            then.into(),
            case.monthly_cost
                .as_ref()
                .map_or_else(|| number::MISSING.to_owned(), number::money)
                .into(),
        ]);
    }
    table
}

fn notes(context: &Context<'_>) -> Vec<Note> {
    let plan = context.input.plan;
    let mut notes = Vec::new();
    if let Some(price) = &plan.price {
        let discount = match price.discount_pct {
            discount if discount > 0.0 => format!("less {}", number::percent(discount)),
            _ => "list".to_owned(),
        };
        notes.push(Note {
            heading: "Prices".to_owned(),
            text: format!(
                "{}, {}, {} hours a month, as of {}. Source: {}.",
                words::sentence(&discount),
                price.region_name,
                number::whole(price.hours_per_month),
                words::iso_date(&price.date),
                price.source.trim_end_matches('.'),
            )
            .into(),
        });
    }
    notes.push(Note {
        heading: String::new(),
        text: "A count that does not divide the need into whole units rounds up, so its pool can \
               be larger."
            .into(),
    });
    notes
}
