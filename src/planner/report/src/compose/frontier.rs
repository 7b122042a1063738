//! What each datastore count carries, with the price: the main picture.

use plimsoll_model::{Quantity, Resource};
use plimsoll_plan::{Carried, FrontierPoint};

use super::Context;
use super::answer::gain_pct;
use crate::document::{Block, Cell, Column, Note, Row, Section, Table, Text};
use crate::figure::{Chart, CurvePanel, CurvePoint, Figure, Frontier, PricePanel};
use crate::number::{self, NBSP};
use crate::words;

/// The section; absent when the plan has no frontier.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let plan = context.input.plan;
    let frontier = &plan.frontier;
    let first = frontier.first()?;
    let last = frontier.last()?;
    let chosen = context.chosen?;
    let point = context.point()?;
    let random = panel(context, Quantity::Iops);
    let stream = panel(context, Quantity::Throughput);
    let mut key: Vec<Resource> = Vec::new();
    for carried in frontier.iter().flat_map(|point| [&point.iops, &point.mibps]) {
        if !key.contains(&carried.binding) {
            key.push(carried.binding);
        }
    }
    key.sort_unstable();
    let range = format!("{} to {}", first.datastores, last.datastores);
    let figure = Figure {
        number: 0,
        caption: format!(
            "What {range} datastores carry {}. Grey band: nine of ten outcomes; its lower edge is \
             the 95% level. Blue: the load and what is needed, which is the load plus {} headroom.{}",
            match plan.options.hosts_lost {
                0 => "with every host up".to_owned(),
                lost =>
                    format!("after the loss of {}", words::counted(lost.into(), "host", "hosts")),
            },
            number::percent(plan.options.headroom_pct),
            if random.dotted.as_deref() == Some(HARDWARE)
                || stream.dotted.as_deref() == Some(HARDWARE)
            {
                " Dotted: what the hardware would carry at the 95% level without the cap."
            } else {
                ""
            },
        ),
        title: format!("What {range} datastores carry on {}", context.tier()),
        description: description(context, point),
        key,
        chart: Chart::Frontier(Frontier {
            counts: frontier.iter().map(|point| point.datastores).collect(),
            chosen,
            random,
            stream,
            price: price(context),
        }),
        twin: twin(context),
    };
    Some(Section {
        id: "frontier",
        topic: "What each count carries".to_owned(),
        finding: finding(context, point),
        lead: vec![lead(context).into()],
        blocks: vec![Block::Figure(Box::new(figure))],
        notes: notes(context, point),
    })
}

/// What a smaller count lacks, in words: `fall just short`, `fall short`, `do not fit`.
fn lacking(context: &Context<'_>, smaller: &FrontierPoint) -> &'static str {
    let plan = context.input.plan;
    let ratio = (smaller.iops.at_certainty / plan.needed_iops.0.max(1e-9))
        .min(smaller.mibps.at_certainty / plan.needed_mibps.0.max(1e-9));
    match (ratio, smaller.datastores) {
        (ratio, 1) if ratio >= 1.0 => "does not meet every limit",
        (ratio, _) if ratio >= 1.0 => "do not meet every limit",
        (ratio, 1) if ratio >= 0.97 => "falls just short",
        (ratio, _) if ratio >= 0.97 => "fall just short",
        (_, 1) => "falls short",
        _ => "fall short",
    }
}

fn finding(context: &Context<'_>, point: &FrontierPoint) -> String {
    let plan = context.input.plan;
    if !plan.feasible {
        return format!(
            "No count up to {} is enough.",
            plan.frontier.last().map_or(0, |last| last.datastores),
        );
    }
    let mut text = String::new();
    if let Some(smaller) = context.smaller().filter(|smaller| !smaller.feasible) {
        text = format!(
            "{} {}. ",
            words::sentence(&words::counted(smaller.datastores.into(), "datastore", "datastores")),
            lacking(context, smaller),
        );
    }
    let count = words::sentence(&words::count(point.datastores.into()));
    let verb = if point.datastores == 1 { "is" } else { "are" };
    let noun = match (text.is_empty(), point.datastores) {
        (false, _) => String::new(),
        (true, 1) => " datastore".to_owned(),
        (true, _) => " datastores".to_owned(),
    };
    text.push_str(&format!("{count}{noun} {verb} enough"));
    if let Some(larger) = context.larger() {
        let gain = gain_pct(point, larger, plan.binding_quantity);
        let another = words::another(larger.datastores.into());
        text.push_str(&match gain {
            gain if gain < 0.5 => format!(", and {another} adds nothing"),
            gain if gain < 5.0 => format!(", and {another} adds little"),
            gain => format!("; {another} would add {}", number::percent(gain.round())),
        });
    }
    text.push('.');
    text
}

/// Runs of counts with the same limit: (limit, first count, last count).
pub fn runs(
    points: &[FrontierPoint],
    of: impl Fn(&FrontierPoint) -> Resource,
) -> Vec<(Resource, u32, u32)> {
    let mut runs: Vec<(Resource, u32, u32)> = Vec::new();
    for point in points {
        match runs.last_mut() {
            Some((limit, _, end)) if *limit == of(point) => *end = point.datastores,
            _ => runs.push((of(point), point.datastores, point.datastores)),
        }
    }
    runs
}

fn lead(context: &Context<'_>) -> String {
    let plan = context.input.plan;
    let bound = |runs: &[(Resource, u32, u32)]| {
        let parts: Vec<_> = runs
            .iter()
            .enumerate()
            .map(|(index, (limit, start, end))| {
                let limit = format!("the {}", words::limit(*limit));
                match (index, start == end, index + 1 == runs.len()) {
                    (0, _, true) => format!("{limit} at every count"),
                    (_, _, true) => format!("{limit} from {start} on"),
                    (0, false, _) => format!("{limit} up to {end}"),
                    (_, true, _) => format!("{limit} at {start}"),
                    (_, false, _) => format!("{limit} from {start} to {end}"),
                }
            })
            .collect();
        words::list(&parts)
    };
    let mut text = format!(
        "Small random I/O is held back by {}; large sequential I/O by {}.",
        bound(&runs(&plan.frontier, |point| point.iops.binding)),
        bound(&runs(&plan.frontier, |point| point.mibps.binding)),
    );
    match (plan.latency_ms, plan.latency_limit_ms) {
        (Some(at_load), Some(limit)) => text.push_str(&format!(
            " At the load the response time is about {}{NBSP}ms; {}{NBSP}ms is the limit.",
            number::modelled(at_load.0),
            number::modelled(limit.0),
        )),
        (Some(at_load), None) => text.push_str(&format!(
            " At the load the response time is about {}{NBSP}ms.",
            number::modelled(at_load.0),
        )),
        (None, _) => {}
    }
    let costs: Vec<f64> = plan
        .frontier
        .iter()
        .filter_map(|point| point.monthly_cost.as_ref())
        .map(|cost| cost.amount)
        .collect();
    let low = costs.iter().copied().fold(f64::INFINITY, f64::min);
    let high = costs.iter().copied().fold(0.0, f64::max);
    if let (Some(cost), false) = (&plan.monthly_cost, costs.is_empty()) {
        text.push_str(&match high - low {
            range if range < 0.5 => {
                " The bill is the same at every count: the pool is charged, not the datastores \
                 in it."
                    .to_owned()
            }
            range if range < 0.15 * low => format!(
                " The bill hardly moves: {} to {}{NBSP}{} a month, for the pool is charged, not \
                 the datastores in it.",
                number::whole(low),
                number::whole(high),
                cost.currency,
            ),
            _ => format!(
                " The bill lies between {} and {}{NBSP}{} a month.",
                number::whole(low),
                number::whole(high),
                cost.currency,
            ),
        });
    }
    text
}

fn notes(context: &Context<'_>, point: &FrontierPoint) -> Vec<Note> {
    let plan = context.input.plan;
    let mut notes = vec![
        Note {
            heading: "How to read it".to_owned(),
            text: "p95: the load is higher during 36 hours of a month. The water is the load. The \
                   ring with a bar is the load line: how deep the plan may be loaded and still \
                   hold at the 95% level. What lies between is the room to spare."
                .into(),
        },
        Note {
            heading: String::new(),
            text: "An open dot on the lower edge means the count falls short of what is needed, \
                   a filled dot that it passes."
                .into(),
        },
    ];
    let chances: Vec<_> = [context.smaller(), Some(point), context.larger()]
        .into_iter()
        .flatten()
        .map(|point| {
            format!(
                "{} {}",
                words::counted(point.datastores.into(), "datastore", "datastores"),
                number::certainty(point.iops.probability.min(point.mibps.probability)),
            )
        })
        .collect();
    notes.push(Note {
        heading: "How sure".to_owned(),
        text: format!("Chance of carrying what is needed: {}.", words::list(&chances)).into(),
    });
    let most = plan.frontier.iter().map(|point| point.iops.at_certainty).fold(0.0, f64::max);
    notes.push(Note {
        heading: "Where it ends".to_owned(),
        text: format!(
            "No count up to {} carries more than {} IOPS at the {} on this tier.",
            plan.frontier.last().map_or(0, |last| last.datastores),
            number::modelled(most),
            context.level(),
        )
        .into(),
    });
    notes
}

/// Divisor and word for axis values: thousands from 10,000 on.
pub fn unit(top: f64, name: &str) -> (f64, String) {
    if top >= 10_000.0 && name == "IOPS" {
        (1000.0, format!("Thousand {name}"))
    } else {
        (1.0, name.to_owned())
    }
}

/// A point of a curve in axis units.
pub fn curve_point(carried: &Carried, needed: f64, divisor: f64) -> CurvePoint {
    CurvePoint {
        low: carried.p05 / divisor,
        median: carried.median / divisor,
        high: carried.p95 / divisor,
        dotted: carried.median_no_failure / divisor,
        limit: carried.binding,
        passes: carried.at_certainty >= needed,
    }
}

/// What the small random load is: block, reads.
pub fn random_condition(context: &Context<'_>) -> String {
    let horizon = &context.input.demand.horizon;
    format!(
        "{}{NBSP}KiB random, {} read",
        number::short(horizon.block_kib, 1),
        number::share(horizon.read_fraction),
    )
}

/// Label of the dotted line where a cap hides what the hardware carries.
const HARDWARE: &str = "hardware";

fn panel(context: &Context<'_>, quantity: Quantity) -> CurvePanel {
    let plan = context.input.plan;
    let of = |point: &FrontierPoint| -> Carried { super::answer::of(point, quantity).clone() };
    let (load, needed, name) = match quantity {
        Quantity::Iops => (plan.load_iops.0, plan.needed_iops.0, "IOPS"),
        Quantity::Throughput => (plan.load_mibps.0, plan.needed_mibps.0, "MiB/s"),
    };
    let top = plan
        .frontier
        .iter()
        .map(|point| of(point).p95.max(of(point).hardware))
        .fold(needed, f64::max);
    let (divisor, title) = unit(top, name);
    let what = match quantity {
        Quantity::Iops => random_condition(context),
        Quantity::Throughput => format!(
            "{}{NBSP}KiB sequential",
            number::short(context.input.demand.horizon.stream_block_kib, 1),
        ),
    };
    let cap = context.point().map(of).and_then(|carried| {
        let name = match carried.binding {
            Resource::Gateway => "gateway",
            _ => "tier cap",
        };
        carried.hard_cap.map(|cap| (name.to_owned(), cap / divisor))
    });
    let mut points: Vec<CurvePoint> =
        plan.frontier.iter().map(|point| curve_point(&of(point), needed, divisor)).collect();
    let beyond = |carried: &Carried| carried.hardware > carried.at_certainty * 1.01;
    let dotted = if plan.frontier.iter().any(|point| beyond(&of(point))) {
        for (point, frontier) in points.iter_mut().zip(&plan.frontier) {
            let carried = of(frontier);
            point.dotted = carried.hardware.max(carried.at_certainty) / divisor;
        }
        Some(HARDWARE.to_owned())
    } else {
        (plan.options.hosts_lost > 0)
            .then(|| format!("{} up", words::counted(plan.hosts.into(), "host", "hosts")))
    };
    CurvePanel {
        title,
        condition: format!("{what}, {}", context.failure_short()),
        points,
        load: load / divisor,
        needed: needed / divisor,
        cap,
        dotted,
    }
}

fn price(context: &Context<'_>) -> PricePanel {
    let plan = context.input.plan;
    let values: Option<Vec<f64>> = plan
        .frontier
        .iter()
        .map(|point| point.monthly_cost.as_ref().map(|cost| cost.amount))
        .collect();
    let values = values.unwrap_or_default();
    let top = values.iter().copied().fold(0.0, f64::max);
    let currency = plan.monthly_cost.as_ref().map_or("", |cost| cost.currency.as_str());
    let (divisor, thousand) = if top >= 10_000.0 { (1000.0, "thousand ") } else { (1.0, "") };
    PricePanel {
        title: "Price".to_owned(),
        condition: format!("{thousand}{currency} a month, {}", context.tier()),
        values: values.into_iter().map(|value| value / divisor).collect(),
        decimals: usize::from(divisor > 1.0),
    }
}

fn description(context: &Context<'_>, point: &FrontierPoint) -> String {
    let plan = context.input.plan;
    let first = plan.frontier.first().unwrap_or(point);
    let last = plan.frontier.last().unwrap_or(point);
    let part = |name: &str, get: fn(&FrontierPoint) -> &Carried, needed: f64| {
        format!(
            "{name}: the median rises from {} at {} to {} at the planned {} and {} at {}; the 95 \
             percent level at the planned count is {}, {} the {} needed.",
            number::modelled(get(first).median),
            words::counted(first.datastores.into(), "datastore", "datastores"),
            number::modelled(get(point).median),
            point.datastores,
            number::modelled(get(last).median),
            last.datastores,
            number::modelled(get(point).p05),
            if get(point).p05 >= needed { "above" } else { "below" },
            number::modelled(needed),
        )
    };
    let mut text = format!(
        "Panels over the same axis, the number of datastores from {} to {}. {} {}",
        first.datastores,
        last.datastores,
        part("IOPS", |point| &point.iops, plan.needed_iops.0),
        part("MiB/s", |point| &point.mibps, plan.needed_mibps.0),
    );
    if let Some(cost) = &point.monthly_cost {
        text.push_str(&format!(" Price at the planned count: {} a month.", number::money(cost)));
    }
    text
}

fn twin(context: &Context<'_>) -> Table {
    let plan = context.input.plan;
    let mut table = Table::dense(
        format!(
            "Carried {}; needed {} IOPS and {} MiB/s.",
            context.failure(),
            number::modelled(plan.needed_iops.0),
            number::modelled(plan.needed_mibps.0),
        ),
        vec![
            Column::name("Datastores"),
            Column::number("Size"),
            Column::number("Flows"),
            Column::number("IOPS, 95% level"),
            Column::number("median"),
            Column::number("95th percentile"),
            Column::number("all hosts up"),
            Column::word("limit"),
            Column::number("MiB/s, 95% level"),
            Column::number("median"),
            Column::word("limit"),
            Column::number("Sure"),
            Column::number("Latency, ms"),
            Column::number("Price a month"),
            Column::word("Holds"),
        ],
    );
    for (index, point) in plan.frontier.iter().enumerate() {
        let limit = |carried: &Carried| -> Cell {
            format!(
                "{} {}{}",
                words::limit(carried.binding),
                number::share(carried.binding_share),
                if carried.extrapolated { ", extrapolated" } else { "" },
            )
            .into()
        };
        let cells = vec![
            Cell::Strong(point.datastores.to_string()),
            number::size(point.datastore_size_gib).into(),
            number::count(point.flows.into()).into(),
            number::modelled(point.iops.p05).into(),
            number::modelled(point.iops.median).into(),
            number::modelled(point.iops.p95).into(),
            number::modelled(point.iops.median_no_failure).into(),
            limit(&point.iops),
            number::modelled(point.mibps.p05).into(),
            number::modelled(point.mibps.median).into(),
            limit(&point.mibps),
            number::certainty(point.iops.probability.min(point.mibps.probability)).into(),
            point
                .latency_ms
                .map_or_else(|| number::MISSING.to_owned(), |ms| number::modelled(ms.0))
                .into(),
            point
                .monthly_cost
                .as_ref()
                .map_or_else(|| number::MISSING.to_owned(), number::money)
                .into(),
            if point.feasible {
                "yes".into()
            } else {
                Text::from(format!("no: {}", point.violations.join("; "))).into()
            },
        ];
        table.rows.push(Row { cells, chosen: Some(index) == context.chosen });
    }
    table
}
