//! Capacity: a stack per datastore under the load line.

use super::canvas::{Hold, Pen, Plot, Style, Words, draw as on_canvas, text_width};
use super::{Width, load_mark, spread, title};
use crate::figure::{StackBar, Stacks};
use crate::number::{self, fixed};

struct Layout {
    width: Width,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    bar: f64,
    step: f64,
}

/// Draws it.
pub fn draw(chart: &Stacks, width: Width, words: Words<'_>) -> Result<String, String> {
    let bars = f64::from(u32::try_from(chart.bars.len()).unwrap_or(1).max(1));
    let (total, left, right, top, height) = match width {
        Width::Wide => (780.0, 124.0, 608.0, 34.0, 256.0),
        Width::Narrow => (360.0, 44.0, 354.0, 66.0, 256.0),
    };
    let step = (right - left) / bars;
    let layout = Layout {
        width,
        left,
        right,
        top,
        bottom: top + height,
        bar: (step * 0.68).clamp(6.0, 96.0),
        step,
    };
    let lines = if fits_lines(chart, &layout) { chart.lines.len() } else { 0 };
    let below = 24.0 + 18.0 * f64::from(u32::try_from(lines).unwrap_or(0)) + 6.0;
    on_canvas(total, layout.bottom + below, words, |pen| paint(pen, chart, &layout))
}

/// Whether the lines below the bars have room without touching.
fn fits_lines(chart: &Stacks, layout: &Layout) -> bool {
    chart
        .bars
        .iter()
        .flat_map(|bar| bar.below.iter())
        .all(|text| text_width(text, false) + 4.0 <= layout.step)
}

fn paint(pen: &Pen<'_>, chart: &Stacks, layout: &Layout) {
    title(pen, 14.0, &chart.title, &chart.condition, layout.width);
    let ticks: Vec<f64> = number::ticks(chart.size, 5)
        .into_iter()
        .filter(|tick| *tick <= chart.size * 1.000_001)
        .collect();
    let decimals = number::tick_decimals(&ticks);
    let tallest =
        chart.bars.iter().map(|bar| bar.parts.iter().sum::<f64>()).fold(chart.size, f64::max);
    let area = (layout.left, layout.top, layout.right, layout.bottom);
    let Some(plot) = pen.plot(0.0..1.0, 0.0..tallest, area) else { return };
    for tick in &ticks {
        let y = plot.at(0.0, *tick).1;
        let style = if *tick == 0.0 { "axis" } else { "grid" };
        pen.line(Style(style), (layout.left, y), (layout.right, y));
        pen.text(Style("tk"), Hold::End, layout.left - 6.0, y + 4.0, &fixed(*tick, decimals));
    }
    let with_lines = fits_lines(chart, layout);
    for (index, bar) in chart.bars.iter().enumerate() {
        let middle =
            layout.left + layout.step * (f64::from(u32::try_from(index).unwrap_or(0)) + 0.5);
        stack(pen, &plot, chart, layout, bar, middle);
        let name = match layout.width {
            Width::Wide if text_width(&bar.name, true) <= layout.step => &bar.name,
            _ => &bar.short,
        };
        if text_width(name, true) <= layout.step + 2.0 || index % 2 == 0 {
            pen.text(Style("b"), Hold::Middle, middle, layout.bottom + 20.0, name);
        }
        if with_lines {
            for (line, text) in bar.below.iter().enumerate() {
                let y = layout.bottom + 40.0 + 18.0 * f64::from(u32::try_from(line).unwrap_or(0));
                pen.text(Style(""), Hold::Middle, middle, y, text);
            }
        }
    }
    if with_lines {
        for (line, (long, short)) in chart.lines.iter().enumerate() {
            let y = layout.bottom + 40.0 + 18.0 * f64::from(u32::try_from(line).unwrap_or(0));
            let text = if layout.width == Width::Wide { long } else { short };
            pen.text(Style(""), Hold::Start, 0.0, y, text);
        }
    }
    let y = plot.at(0.0, chart.load_line).1;
    pen.line(Style("markbar"), (layout.left, y), (layout.right, y));
    // The ring stands between two bars, in the middle of the row.
    let between = (chart.bars.len() / 2).max(1);
    let ring = layout.left + layout.step * f64::from(u32::try_from(between).unwrap_or(1));
    let ring = if chart.bars.len() == 1 { layout.right - 12.0 } else { ring };
    load_mark(pen, (ring, y), if layout.step - layout.bar >= 14.0 { 7.0 } else { 5.0 });
    labels(pen, &plot, chart, layout);
}

fn stack(
    pen: &Pen<'_>,
    plot: &Plot<'_, '_>,
    chart: &Stacks,
    layout: &Layout,
    bar: &StackBar,
    middle: f64,
) {
    let left = middle - layout.bar / 2.0;
    let y_of = |value: f64| plot.at(0.0, value).1;
    let filled: f64 = bar.parts.iter().sum();
    pen.rect(
        Style("open"),
        left,
        y_of(chart.size),
        layout.bar,
        (y_of(filled.min(chart.size)) - y_of(chart.size)).max(0.0),
    );
    let mut base = 0.0;
    for ((part, fill), pattern) in bar.parts.iter().zip(["f1", "f2", "f3"]).zip(["", "dx", "hx"]) {
        let (top, bottom) = (y_of(base + part), y_of(base));
        pen.rect(Style(fill), left, top, layout.bar, bottom - top);
        if !pattern.is_empty() {
            pen.rect(Style(pattern), left, top, layout.bar, bottom - top);
        }
        if base > 0.0 && *part > 0.0 {
            pen.line(Style("sep"), (left, bottom), (left + layout.bar, bottom));
        }
        base += part;
    }
    let slack = chart.size - filled;
    // The load line would run through a number at its height.
    let middle_of_slack = filled + slack / 2.0;
    let near = (y_of(middle_of_slack) - y_of(chart.load_line)).abs() < 10.0;
    let slack_at = if near && chart.load_line > filled {
        f64::midpoint(chart.load_line, chart.size)
    } else {
        middle_of_slack
    };
    let texts = [
        (bar.parts[0], bar.parts[0] / 2.0, "on1"),
        (bar.parts[1], bar.parts[0] + bar.parts[1] / 2.0, "b halo-f2"),
        (bar.parts[2], filled - bar.parts[2] / 2.0, "in halo-f3"),
        (slack, slack_at, "tk"),
    ];
    for (value, at, style) in texts {
        let text = fixed(value, chart.decimals);
        let tall = y_of(0.0) - y_of(value.max(0.0)) >= 15.0;
        if tall && text_width(&text, true) + 4.0 <= layout.bar {
            pen.text(Style(style), Hold::Middle, middle, y_of(at) + 4.0, &text);
        }
    }
}

fn labels(pen: &Pen<'_>, plot: &Plot<'_, '_>, chart: &Stacks, layout: &Layout) {
    let Some(last) = chart.bars.last() else { return };
    let y_of = |value: f64| plot.at(0.0, value).1;
    if layout.width == Width::Narrow {
        load_mark(pen, (16.0, 47.0), 5.0);
        pen.text(Style("acb"), Hold::Start, 34.0, 51.0, &chart.load_line_label);
        return;
    }
    let [used, growth, snapshot] = last.parts;
    let filled = used + growth + snapshot;
    let rows = [
        (f64::midpoint(filled.max(chart.load_line), chart.size), "", &chart.parts[3]),
        (chart.load_line, "acb", &chart.load_line_label),
        (used + growth + snapshot / 2.0, "", &chart.parts[2]),
        (used + growth / 2.0, "", &chart.parts[1]),
        (used / 2.0, "", &chart.parts[0]),
    ];
    let positions: Vec<f64> = rows.iter().map(|(at, _, _)| y_of(*at) + 4.0).collect();
    for ((_, style, text), y) in rows.iter().zip(spread(&positions, 16.0, layout.bottom + 2.0)) {
        pen.text(Style(style), Hold::Start, layout.right + 8.0, y, text);
    }
}
