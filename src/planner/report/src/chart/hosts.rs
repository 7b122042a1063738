//! The curve at several host counts: small panels with one value axis.

use super::canvas::{Hold, Pen, Style, Words, draw as on_canvas, text_width};
use super::{Width, curves, limit_mark, title};
use crate::figure::Hosts;
use crate::number::{self, fixed};
use crate::words;

/// Draws it.
pub fn draw(chart: &Hosts, width: Width, words: Words<'_>) -> Result<String, String> {
    let (total, columns) = match width {
        Width::Wide => (780.0, 4usize),
        Width::Narrow => (360.0, 2usize),
    };
    let rows = chart.panels.len().div_ceil(columns).max(1);
    let first = if width == Width::Wide { 0.0 } else { 16.0 };
    let height = 34.0 + first + 226.0 * f64::from(u32::try_from(rows).unwrap_or(1));
    on_canvas(total, height, words, |pen| {
        title(pen, 14.0, &chart.title, &chart.condition, width);
        let top = chart
            .panels
            .iter()
            .flat_map(|(_, _, points)| points)
            .map(|point| point.high)
            .fold(chart.needed, f64::max);
        let ticks = number::ticks(top, 3);
        let (left, right, gap) = match width {
            Width::Wide => (44.0, 726.0, 22.0),
            Width::Narrow => (36.0, 354.0, 26.0),
        };
        let across = f64::from(u32::try_from(columns).unwrap_or(1));
        let panel_width = (right - left - gap * (across - 1.0)) / across;
        for index in 0..chart.panels.len() {
            let column = f64::from(u32::try_from(index % columns).unwrap_or(0));
            let row = f64::from(u32::try_from(index / columns).unwrap_or(0));
            let x = left + column * (panel_width + gap);
            let y = 48.0 + first + row * 226.0;
            panel(pen, chart, index, &ticks, (x, y, x + panel_width), index % columns == 0);
        }
        if width == Width::Wide && !chart.panels.is_empty() {
            let share = 1.0 - chart.needed / ticks.last().copied().unwrap_or(1.0);
            let y = 62.0 + share * 148.0;
            pen.text(Style("acb"), Hold::Start, right + 6.0, y + 4.0, "needed");
        }
    })
}

fn panel(
    pen: &Pen<'_>,
    chart: &Hosts,
    index: usize,
    ticks: &[f64],
    (left, head, right): (f64, f64, f64),
    with_ticks: bool,
) {
    let (hosts, counts, points) = &chart.panels[index];
    let xs: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    let (Some(first), Some(last), Some(end)) = (xs.first(), xs.last(), points.last()) else {
        return;
    };
    pen.text(
        Style("b"),
        Hold::Start,
        left,
        head,
        &format!("{hosts} {}", if *hosts == 1 { "host" } else { "hosts" }),
    );
    let (top, bottom) = (head + 14.0, head + 162.0);
    let y_top = ticks.last().copied().unwrap_or(1.0);
    let range = first - 0.5..last + 0.5;
    let Some(plot) = pen.plot(range, 0.0..y_top, (left, top, right, bottom)) else { return };
    let decimals = number::tick_decimals(ticks);
    for tick in ticks {
        let y = plot.at(*first, *tick).1;
        let style = if *tick == 0.0 { "axis" } else { "grid" };
        pen.line(Style(style), (left, y), (right, y));
        if with_ticks {
            pen.text(Style("tk"), Hold::End, left - 8.0, y + 4.0, &fixed(*tick, decimals));
        }
    }
    curves::band(&plot, &xs, points);
    let needed = plot.at(*first, chart.needed).1;
    pen.line(Style("need"), (left, needed), (right, needed));
    curves::level(&plot, &xs, points);
    curves::median(&plot, &xs, points);
    let value = plot.at(*last, end.median.max(end.high)).1;
    pen.text(Style("b halo"), Hold::End, right, value - 6.0, &number::modelled(end.median));
    for (index, count) in counts.iter().enumerate() {
        if index == 0 || index + 1 == counts.len() || count.is_power_of_two() {
            let x = plot.at(xs[index], 0.0).0;
            pen.text(Style("tk"), Hold::Middle, x, bottom + 17.0, &count.to_string());
        }
    }
    let mut x = left + 5.0;
    let runs = curves::runs(points);
    for (position, (limit, _, _)) in runs.iter().enumerate() {
        let text = if position + 1 < runs.len() {
            format!("{}, then", words::limit(*limit))
        } else {
            words::limit(*limit).to_owned()
        };
        let width = text_width(&text, false);
        if x + 8.0 + width > right + 14.0 && position > 0 {
            break;
        }
        limit_mark(pen, *limit, (x, bottom + 33.0));
        pen.text(Style(""), Hold::Start, x + 8.0, bottom + 37.0, &text);
        x += width + 20.0;
    }
}
