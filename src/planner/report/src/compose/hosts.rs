//! Where the limit moves with the number of hosts.

use plimsoll_model::Resource;
use plimsoll_plan::HostCurve;

use super::Context;
use super::frontier::{curve_point, random_condition, unit};
use crate::document::{Block, Column, Note, Section, Table};
use crate::figure::{Chart, Figure, Hosts};
use crate::number;
use crate::words;

/// The section; absent when the plan has no such curves.
pub fn section(context: &Context<'_>) -> Option<Section> {
    let plan = context.input.plan;
    let curves = &plan.by_hosts;
    let first = curves.first()?;
    let last = curves.last()?;
    let needed = plan.needed_iops.0;
    let top = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.iops.p95)
        .fold(needed, f64::max);
    let (divisor, title) = unit(top, "IOPS");
    let figure = Figure {
        number: 0,
        caption: "The same curve for other host counts, without a failure. Band: nine of ten \
                  outcomes. Below each panel the limits in the order in which they bind."
            .to_owned(),
        title: format!(
            "The same curve for {} hosts",
            words::list(&curves.iter().map(|curve| curve.hosts.to_string()).collect::<Vec<_>>()),
        ),
        description: curves
            .iter()
            .map(|curve| {
                format!(
                    "{}: {}; {} IOPS at most.",
                    words::sentence(&words::counted(curve.hosts.into(), "host", "hosts")),
                    order(curve),
                    number::modelled(most(curve)),
                )
            })
            .collect::<Vec<_>>()
            .join(" "),
        key: Vec::new(),
        chart: Chart::Hosts(Hosts {
            title,
            condition: format!("{}, all hosts up", random_condition(context)),
            needed: needed / divisor,
            panels: curves
                .iter()
                .map(|curve| {
                    (
                        curve.hosts,
                        curve.points.iter().map(|point| point.datastores).collect(),
                        curve
                            .points
                            .iter()
                            .map(|point| curve_point(&point.iops, needed, divisor))
                            .collect(),
                    )
                })
                .collect(),
        }),
        twin: twin(curves),
    };
    let gain = if most(first) > 0.0 { most(last) / most(first) } else { 1.0 };
    Some(Section {
        id: "hosts",
        topic: "Where the limit moves with hosts".to_owned(),
        finding: finding(first, last),
        lead: Vec::new(),
        blocks: vec![Block::Figure(Box::new(figure))],
        notes: vec![Note {
            heading: String::new(),
            text: match gain {
                gain if gain < 1.05 => format!(
                    "Hosts beyond {} add nothing to the most that is carried.",
                    words::count(first.hosts.into()),
                ),
                gain => format!(
                    "From {} to {} the most that is carried grows {}-fold.",
                    words::counted(first.hosts.into(), "host", "hosts"),
                    words::counted(last.hosts.into(), "host", "hosts"),
                    number::short(gain, 1),
                ),
            }
            .into(),
        }],
    })
}

fn finding(first: &HostCurve, last: &HostCurve) -> String {
    let limit =
        |curve: &HostCurve| curve.points.last().map_or(Resource::Host, |point| point.iops.binding);
    let (few, many) = (limit(first), limit(last));
    let hosts = |curve: &HostCurve| words::counted(curve.hosts.into(), "host", "hosts");
    if few == many {
        format!(
            "From {} to {}, the {} ends the curve.",
            hosts(first),
            hosts(last),
            words::limit(few)
        )
    } else {
        format!(
            "With {} the {} ends the curve; with {} it is the {}.",
            hosts(first),
            words::limit(few),
            hosts(last),
            words::limit(many),
        )
    }
}

fn most(curve: &HostCurve) -> f64 {
    curve.points.iter().map(|point| point.iops.median).fold(0.0, f64::max)
}

fn order(curve: &HostCurve) -> String {
    let mut limits: Vec<Resource> = curve.points.iter().map(|point| point.iops.binding).collect();
    limits.dedup();
    limits.iter().map(|limit| words::limit(*limit)).collect::<Vec<_>>().join(", then ")
}

fn twin(curves: &[HostCurve]) -> Table {
    let mut columns = vec![Column::name("Datastores")];
    for curve in curves {
        columns.push(Column::number(words::counted(curve.hosts.into(), "host", "hosts")));
        columns.push(Column::number("95% level"));
        columns.push(Column::word("limit"));
    }
    let mut table =
        Table::dense("IOPS, all hosts up: median, 95% level, limit that binds.", columns);
    let counts = curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0);
    for index in 0..counts {
        let count = curves
            .iter()
            .find_map(|curve| curve.points.get(index))
            .map_or_else(String::new, |point| point.datastores.to_string());
        let mut cells = vec![count.into()];
        for curve in curves {
            match curve.points.get(index) {
                Some(point) => cells.extend([
                    number::modelled(point.iops.median).into(),
                    number::modelled(point.iops.p05).into(),
                    words::limit(point.iops.binding).into(),
                ]),
                None => cells.extend(std::iter::repeat_n(number::MISSING.into(), 3)),
            }
        }
        table.row(cells);
    }
    table
}
