//! The first screen: the answer in one sentence, how sure it is, key figures, caveats.

use plimsoll_ingest::Severity;
use plimsoll_inventory::FindingSeverity;
use plimsoll_model::Quantity;
use plimsoll_plan::{Carried, FrontierPoint};
use plimsoll_units::Money;

use super::Context;
use crate::document::{Answer, Fact, Notice, Text};
use crate::number::{self, NBSP};
use crate::words;

/// The answer.
pub fn answer(context: &Context<'_>) -> Answer {
    let plan = context.input.plan;
    let notices = notices(context);
    if plan.feasible {
        Answer { sentence: sentence(context), deck: deck(context), notices }
    } else {
        Answer { sentence: refusal(context), deck: nearest(context), notices }
    }
}

fn load_words(context: &Context<'_>) -> String {
    match context.input.demand.options.horizon_months {
        0 => "today’s p95 load".to_owned(),
        12 => "next year’s p95 load".to_owned(),
        months => format!("the p95 load in {months} months"),
    }
}

fn set_of(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    // Two numbers in digits would run into each other: "16 5 TiB datastores".
    if plan.datastores > 12 {
        let size = number::size(plan.datastore_size_gib);
        return format!("{} datastores of {size}", plan.datastores);
    }
    format!(
        "{} {} {}",
        words::count(plan.datastores.into()),
        number::size(plan.datastore_size_gib),
        if plan.datastores == 1 { "datastore" } else { "datastores" },
    )
}

fn sentence(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let verb = if plan.datastores == 1 { "carries" } else { "carry" };
    let room = match plan.headroom_pct.floor() {
        // Beyond four times the load a percentage says less than a factor.
        room if room >= 300.0 => {
            format!("room for {} times as much", number::whole((1.0 + room / 100.0).floor()))
        }
        room if room >= 1.0 => format!("{}% to spare", number::whole(room)),
        _ => "nothing to spare".to_owned(),
    };
    words::sentence(&format!(
        "{} on {} {verb} {} {}, and {room}.",
        set_of(context),
        context.tier(),
        load_words(context),
        context.failure(),
    ))
}

fn deck(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let mut deck = format!(
        "We are {} sure; {} was asked. The first limit is {}",
        number::certainty(plan.certainty),
        number::percent(plan.options.certainty_pct),
        words::the_limit(plan.binding_resource),
    );
    match (context.point(), context.larger()) {
        (Some(point), Some(larger)) => {
            let gain = gain_pct(point, larger, plan.binding_quantity);
            let effect = match gain {
                gain if gain >= 0.5 => format!("would add {}", number::percent(gain)),
                _ => "would add nothing".to_owned(),
            };
            deck.push_str(&format!(
                ": {} datastore {effect}{}",
                words::another(larger.datastores.into()),
                bill_change(point, larger),
            ));
        }
        _ => deck.push_str(&bill(plan.monthly_cost.as_ref())),
    }
    deck.push('.');
    deck
}

/// Change of what is carried for certain from one count to another, percent.
pub fn gain_pct(from: &FrontierPoint, to: &FrontierPoint, quantity: Quantity) -> f64 {
    let level = |point: &FrontierPoint| of(point, quantity).at_certainty;
    if level(from) > 0.0 { (level(to) / level(from) - 1.0) * 100.0 } else { 0.0 }
}

/// The part of a point that concerns a quantity.
pub fn of(point: &FrontierPoint, quantity: Quantity) -> &Carried {
    match quantity {
        Quantity::Iops => &point.iops,
        Quantity::Throughput => &point.mibps,
    }
}

fn bill(cost: Option<&Money>) -> String {
    cost.map_or_else(
        || "; no price is known for it".to_owned(),
        |cost| format!("; the bill is {} a month", number::money(cost)),
    )
}

fn bill_change(point: &FrontierPoint, larger: &FrontierPoint) -> String {
    let (Some(now), Some(then)) = (&point.monthly_cost, &larger.monthly_cost) else {
        return bill(point.monthly_cost.as_ref());
    };
    match then.amount - now.amount {
        change if change.abs() < 0.5 => {
            format!(" and leave the bill of {} a month as it is", number::money(now))
        }
        change => format!(
            " and {} the bill of {} a month by {}",
            if change > 0.0 { "raise" } else { "lower" },
            number::money(now),
            number::whole(change.abs()),
        ),
    }
}

fn refusal(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let where_ = match &plan.options.tier {
        Some(_) => format!("{} of {}", context.tier(), plan.platform_name),
        None => plan.platform_name.clone(),
    };
    match plan.infeasible_because.first() {
        Some(reason) => format!(
            "No plan on {where_} carries {}: {}.",
            load_words(context),
            reason.trim_end_matches('.'),
        ),
        None => format!("No plan on {where_} carries {}.", load_words(context)),
    }
}

fn nearest(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let mut text = format!(
        "The nearest plan is {} on {}{}.",
        set_of(context),
        context.tier(),
        plan.monthly_cost
            .as_ref()
            .map(|cost| format!(", at {} a month", number::money(cost)))
            .unwrap_or_default(),
    );
    if let Some(point) = context.point() {
        text.push_str(&format!(
            " At the {} it carries {} of the {} IOPS needed and {} of the {}{NBSP}MiB/s.",
            context.level(),
            number::modelled(point.iops.at_certainty),
            number::modelled(plan.needed_iops.0),
            number::modelled(point.mibps.at_certainty),
            number::modelled(plan.needed_mibps.0),
        ));
    }
    text.push_str(" The report below shows that plan and what it lacks.");
    text
}

/// The six key figures.
pub fn facts(context: &Context<'_>) -> Vec<Fact> {
    let plan = context.input.plan;
    let point = context.point();
    let fact =
        |name: &str, value: String, note: String| Fact { name: name.to_owned(), value, note };
    let cap = point
        .and_then(|point| point.mibps.hard_cap)
        .map(|cap| format!("{}{NBSP}MiB/s cap", number::whole(cap)));
    let price_note = match plan.options.discount_pct {
        discount if discount > 0.0 => format!("a month, list less {}", number::percent(discount)),
        _ => "a month, list".to_owned(),
    };
    let shares: Vec<_> = point
        .map(|point| of(point, plan.binding_quantity).shares.as_slice())
        .unwrap_or_default()
        .iter()
        .take(2)
        .filter(|(_, share)| *share >= 0.005)
        .collect();
    let share_note = match shares.as_slice() {
        [(_, first), (second, share), ..] => format!(
            "{} share, {} {}",
            number::share(*first),
            words::limit(*second),
            number::share(*share),
        ),
        [(_, first)] => format!("{} share", number::share(*first)),
        [] => String::new(),
    };
    let (tier_fact, tier_note) = match plan.tier_name.is_empty() {
        true => ("Platform", plan.qos.clone()),
        false => ("Service tier", cap.unwrap_or_else(|| plan.qos.clone())),
    };
    let mut facts = vec![
        fact(
            "Datastores",
            format!("{} × {}", plan.datastores, number::size(plan.datastore_size_gib)),
            format!("{} in all", number::size(plan.pool_size_gib)),
        ),
        fact(tier_fact, context.tier().to_owned(), tier_note),
        match &plan.monthly_cost {
            Some(cost) => fact("Price", number::money(cost), price_note),
            None => fact("Price", number::MISSING.to_owned(), "not known".to_owned()),
        },
        fact(
            "Load to carry",
            format!("{}{NBSP}IOPS", number::modelled(plan.load_iops.0)),
            format!("{}{NBSP}MiB/s; p95 {}", number::modelled(plan.load_mibps.0), context.when()),
        ),
    ];
    if let Some(point) = point {
        facts.push(fact(
            &format!("Carried at the {}", context.level()),
            format!("{}{NBSP}IOPS", number::modelled(point.iops.at_certainty)),
            format!(
                "{}{NBSP}MiB/s; {}",
                number::modelled(point.mibps.at_certainty),
                context.failure_short(),
            ),
        ));
    }
    facts.push(fact(
        "First limit",
        words::sentence(words::limit(plan.binding_resource)),
        share_note,
    ));
    facts
}

fn notices(context: &Context<'_>) -> Vec<Notice> {
    let input = context.input;
    let mut notices = Vec::new();
    let mut add = |severity, label: &str, text: Text| {
        notices.push(Notice { severity, label: label.to_owned(), text });
    };
    let unplaced = input.plan.unplaced.len() as u64;
    if unplaced > 0 {
        add(
            FindingSeverity::Stops,
            "Incomplete",
            Text::default()
                .plain(format!(
                    "{} could not be placed: ",
                    words::sentence(&words::counted(unplaced, "VM", "VMs")),
                ))
                .link("placement", "see the placement")
                .plain("."),
        );
    }
    let stops = input
        .inventory
        .findings
        .iter()
        .filter(|finding| finding.severity == FindingSeverity::Stops)
        .count() as u64;
    if stops > 0 {
        add(
            FindingSeverity::Stops,
            "Stops",
            Text::default()
                .plain(format!(
                    "{} to be dealt with before the move: ",
                    words::sentence(&words::counted(stops, "finding has", "findings have")),
                ))
                .link("findings", "see the findings")
                .plain("."),
        );
    }
    let extrapolated =
        context.point().is_some_and(|point| of(point, input.plan.binding_quantity).extrapolated);
    if extrapolated {
        add(
            FindingSeverity::Care,
            "Extrapolated",
            Text::default()
                .plain("The plan lies outside the configurations that were measured: ")
                .link("assumptions", "see the assumptions")
                .plain("."),
        );
    }
    let left_out =
        input.problems.items.iter().filter(|problem| problem.severity == Severity::Error).count();
    if left_out > 0 {
        add(
            FindingSeverity::Care,
            "Input",
            Text::default()
                .plain(format!(
                    "{} left out because they could not be read: ",
                    words::sentence(&words::counted(
                        left_out as u64,
                        "value or row was",
                        "values or rows were",
                    )),
                ))
                .link("data", "see the problems")
                .plain("."),
        );
    }
    notices
}
