//! Figures as drawings: one file a chart, plotters behind [`canvas`].
//!
//! Every figure is drawn twice, 780 and 360 pixels wide, so that text keeps its 12 pixels on a
//! phone; the page switches between them.

mod canvas;
mod curves;
mod frontier;
mod hosts;
mod slots;
mod stacks;
mod tornado;

use plimsoll_model::Resource;

use crate::figure::{Chart, Figure};
use canvas::{Hold, Pen, Style, Words};

/// Which of the two drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// 780 pixels.
    Wide,
    /// 360 pixels.
    Narrow,
}

/// Draws a figure as accessible SVG whose colours come from the page's style sheet.
///
/// # Errors
/// When plotters refuses an element.
pub fn draw(figure: &Figure, width: Width, metadata: &str) -> Result<String, String> {
    let letter = match width {
        Width::Wide => 'w',
        Width::Narrow => 'n',
    };
    let id = format!("f{}{letter}", figure.number);
    let words = Words { id: &id, title: &figure.title, description: &figure.description, metadata };
    match &figure.chart {
        Chart::Frontier(chart) => frontier::draw(chart, width, words),
        Chart::Hosts(chart) => hosts::draw(chart, width, words),
        Chart::Slots(chart) => slots::draw(chart, width, words),
        Chart::Stacks(chart) => stacks::draw(chart, width, words),
        Chart::Tornado(chart) => tornado::draw(chart, width, words),
    }
}

/// Classes of a limit's line and of its mark.
#[must_use]
pub fn limit_class(limit: Resource) -> (&'static str, &'static str) {
    match limit {
        Resource::Flow => ("med s-flow", "p-flow pt"),
        Resource::Host => ("med s-host", "p-host pt"),
        Resource::Volume => ("med s-volume", "p-volume pt"),
        Resource::Pool => ("med s-pool", "p-pool pt"),
        Resource::Tier => ("med s-tier", "p-tier pt"),
        Resource::Vm | Resource::Concurrency | Resource::Gateway => ("med s-other", "p-other pt"),
    }
}

/// Outline of a limit's mark around its centre, pixels.
fn limit_outline(limit: Resource) -> Vec<(f64, f64)> {
    match limit {
        Resource::Flow => (0..16)
            .map(|step| {
                let angle = f64::from(step) * std::f64::consts::TAU / 16.0;
                (4.3 * angle.cos(), 4.3 * angle.sin())
            })
            .collect(),
        Resource::Host => vec![(-3.8, -3.8), (3.8, -3.8), (3.8, 3.8), (-3.8, 3.8)],
        Resource::Volume => vec![(0.0, -5.0), (4.7, 3.6), (-4.7, 3.6)],
        Resource::Pool => vec![(0.0, -5.4), (5.4, 0.0), (0.0, 5.4), (-5.4, 0.0)],
        Resource::Tier => vec![(-5.2, -2.1), (5.2, -2.1), (5.2, 2.1), (-5.2, 2.1)],
        Resource::Vm | Resource::Concurrency | Resource::Gateway => vec![
            (0.0, -4.5),
            (1.3, -1.3),
            (4.5, 0.0),
            (1.3, 1.3),
            (0.0, 4.5),
            (-1.3, 1.3),
            (-4.5, 0.0),
            (-1.3, -1.3),
        ],
    }
}

/// The load line mark: a ring with a bar through it.
fn load_mark(pen: &Pen<'_>, (x, y): (f64, f64), radius: f64) {
    pen.circle(Style("mark"), (x, y), radius);
    let reach = radius * 2.15;
    pen.line(Style("markbar"), (x - reach, y), (x + reach, y));
}

/// A limit's mark in a line of text.
fn limit_mark(pen: &Pen<'_>, limit: Resource, (x, y): (f64, f64)) {
    let outline: Vec<_> =
        limit_outline(limit).into_iter().map(|(dx, dy)| (x + dx * 0.9, y + dy * 0.9)).collect();
    pen.polygon(Style(limit_class(limit).1), &outline);
}

/// Title in bold and the condition after it, or below it where the width asks for that.
/// Returns the baseline of the last line.
fn title(pen: &Pen<'_>, y: f64, title: &str, condition: &str, width: Width) -> f64 {
    pen.text(Style("h"), Hold::Start, 0.0, y, title);
    match width {
        Width::Wide => {
            let after = canvas::text_width(title, true) * 13.0 / 12.0 + 10.0;
            pen.text(Style(""), Hold::Start, after, y, condition);
            y
        }
        Width::Narrow => {
            pen.text(Style(""), Hold::Start, 0.0, y + 16.0, condition);
            y + 16.0
        }
    }
}

/// Moves labels apart until no two are closer than `gap`, keeping their order and staying at or
/// above `bottom`. Positions are baselines; the result has the order of the input.
fn spread(positions: &[f64], gap: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..positions.len()).collect();
    order.sort_by(|a, b| positions[*a].total_cmp(&positions[*b]));
    let mut placed: Vec<f64> = order.iter().map(|index| positions[*index]).collect();
    // Pushing neighbours apart by half their overlap settles within a few rounds.
    for _ in 0..200 {
        let mut moved = false;
        for upper in 1..placed.len() {
            let overlap = gap - (placed[upper] - placed[upper - 1]);
            if overlap > 0.05 {
                placed[upper - 1] -= overlap / 2.0;
                placed[upper] += overlap / 2.0;
                moved = true;
            }
        }
        if let Some(last) = placed.last_mut()
            && *last > bottom
        {
            *last = bottom;
        }
        if !moved {
            break;
        }
    }
    let mut out = vec![0.0; positions.len()];
    for (place, index) in placed.into_iter().zip(order) {
        out[index] = place;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_keep_their_distance_and_order() {
        let placed = spread(&[100.0, 101.0, 50.0, 99.0], 13.0, 200.0);
        assert!(placed[2] < placed[3] && placed[3] < placed[0] && placed[0] < placed[1]);
        assert!(placed[1] - placed[0] >= 12.8 && placed[0] - placed[3] >= 12.8, "{placed:?}");
    }
}
