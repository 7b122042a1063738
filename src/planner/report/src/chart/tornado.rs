//! How far each assumption moves the margin.

use super::canvas::{Hold, Pen, Style, Words, draw as on_canvas, text_width};
use super::{Width, title};
use crate::figure::{Tornado, TornadoRow};
use crate::number::{self, signed_percent};

struct Layout {
    width: Width,
    total: f64,
    left: f64,
    right: f64,
    top: f64,
    row: f64,
    bar: f64,
}

/// Draws it.
pub fn draw(chart: &Tornado, width: Width, words: Words<'_>) -> Result<String, String> {
    let layout = match width {
        Width::Wide => Layout {
            width,
            total: 780.0,
            left: 264.0,
            right: 588.0,
            top: 72.0,
            row: 34.0,
            bar: 18.0,
        },
        Width::Narrow => Layout {
            width,
            total: 360.0,
            left: 40.0,
            right: 320.0,
            top: 82.0,
            row: 56.0,
            bar: 14.0,
        },
    };
    let rows = f64::from(u32::try_from(chart.rows.len()).unwrap_or(1));
    let bottom = layout.top + rows * layout.row;
    on_canvas(layout.total, bottom + 24.0, words, |pen| paint(pen, chart, &layout, bottom))
}

fn paint(pen: &Pen<'_>, chart: &Tornado, layout: &Layout, bottom: f64) {
    title(pen, 14.0, &chart.title, &chart.condition, layout.width);
    let (low, high) = range(chart);
    let scale = (layout.right - layout.left) / (high - low);
    let x_of = |margin: f64| layout.left + (margin.clamp(low, high) - low) * scale;
    for tick in ticks(low, high) {
        let x = x_of(tick);
        if tick == 0.0 {
            pen.text(Style("acb"), Hold::Middle, x, bottom + 17.0, "0");
        } else {
            pen.line(Style("grid"), (x, layout.top - 6.0), (x, bottom));
            pen.text(Style("tk"), Hold::Middle, x, bottom + 17.0, &signed_percent(tick));
        }
    }
    if chart.load_itself > low {
        let x = x_of(chart.load_itself);
        pen.line(Style("load"), (x, layout.top - 6.0), (x, bottom));
    }
    for (index, row) in chart.rows.iter().enumerate() {
        let y = layout.top + layout.row * f64::from(u32::try_from(index).unwrap_or(0));
        bar(pen, layout, row, y, &x_of);
    }
    if chart.plan >= low && chart.plan <= high {
        let x = x_of(chart.plan);
        pen.line(Style("floor"), (x, layout.top - 6.0), (x, bottom));
    }
    let zero = x_of(0.0);
    pen.line(Style("markbar"), (zero, layout.top - 12.0), (zero, bottom));
    heads(pen, chart, layout, &x_of, low);
}

/// The axis holds every bar, zero and the plan, but not one far outlier that would flatten the
/// rest: it ends at ±150 %.
fn range(chart: &Tornado) -> (f64, f64) {
    let ends = chart.rows.iter().flat_map(|row| [row.lower.0, row.upper.0]);
    let low = ends.clone().fold(chart.plan.min(0.0), f64::min).max(-100.0);
    let high = ends.fold(chart.plan.max(0.0), f64::max).min(150.0);
    let low = if chart.load_itself > low - 12.0 { low.min(chart.load_itself) } else { low };
    let margin = ((high - low) * 0.06).max(1.0);
    (low - margin, high + margin)
}

fn ticks(low: f64, high: f64) -> Vec<f64> {
    let steps = number::ticks(high - low, 7);
    let step = steps.get(1).copied().unwrap_or(10.0);
    let mut tick = (low / step).ceil() * step;
    let mut out = Vec::new();
    while tick <= high && out.len() < 32 {
        out.push(if tick.abs() < step / 1e6 { 0.0 } else { tick });
        tick += step;
    }
    out
}

fn bar(pen: &Pen<'_>, layout: &Layout, row: &TornadoRow, y: f64, x_of: &impl Fn(f64) -> f64) {
    let (from, to, zero) = (x_of(row.lower.0), x_of(row.upper.0), x_of(0.0));
    let bar_y = if layout.width == Width::Wide { y + 8.0 } else { y + 34.0 };
    if layout.width == Width::Wide {
        pen.line(Style("rule"), (0.0, y + layout.row), (layout.total, y + layout.row));
    }
    if from < zero {
        let end = to.min(zero);
        pen.rect(Style("f3"), from, bar_y, end - from, layout.bar);
        pen.rect(Style("hx"), from, bar_y, end - from, layout.bar);
    }
    if to > zero {
        let start = from.max(zero);
        pen.rect(Style("f2"), start, bar_y, to - start, layout.bar);
    }
    let baseline = bar_y + layout.bar / 2.0 + 4.0;
    pen.text(Style("halo"), Hold::End, from - 5.0, baseline, &row.lower.1);
    // At the end of the bar, but never past the end of the drawing.
    let room = layout.total - text_width(&row.upper.1, false);
    pen.text(Style("halo"), Hold::Start, (to + 5.0).min(room), baseline, &row.upper.1);
    match layout.width {
        Width::Wide => {
            let label = shorten(&row.label, layout.left - 56.0);
            pen.text(Style("in halo"), Hold::Start, 0.0, y + 21.0, &label);
            pen.text(Style("in"), Hold::End, 686.0, y + 21.0, &row.smaller_at);
            pen.text(Style("in"), Hold::End, layout.total, y + 21.0, &row.fails_at);
        }
        Width::Narrow => {
            let flips = format!("{} · {}", row.smaller_at, row.fails_at);
            let room = layout.total - text_width(&flips, false) - 12.0;
            pen.text(Style("in halo"), Hold::Start, 0.0, y + 26.0, &shorten(&row.label, room));
            pen.text(Style("in halo"), Hold::End, layout.total, y + 26.0, &flips);
        }
    }
}

fn shorten(text: &str, room: f64) -> String {
    if text_width(text, false) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    for letter in text.chars() {
        short.push(letter);
        if text_width(&short, false) + 10.0 > room {
            break;
        }
    }
    format!("{}…", short.trim_end())
}

fn heads(pen: &Pen<'_>, chart: &Tornado, layout: &Layout, x_of: &impl Fn(f64) -> f64, low: f64) {
    let zero = x_of(0.0);
    let y = layout.top - 18.0;
    match layout.width {
        Width::Wide => {
            for (x, head) in [(686.0, &chart.heads[0]), (layout.total - 1.0, &chart.heads[1])] {
                // The number of datastores on one line, what it does on the next.
                let (count, verb) = head.split_once(' ').unwrap_or((head, ""));
                pen.text(Style("tk"), Hold::End, x, y - 15.0, count);
                pen.text(Style("tk"), Hold::End, x, y, &format!("{verb} at"));
            }
        }
        Width::Narrow => {
            let heads = format!("{} at · {} at", chart.heads[0], chart.heads[1]);
            pen.text(Style("tk"), Hold::End, layout.total, 50.0, &heads);
        }
    }
    let plan = format!("plan {}", signed_percent(chart.plan));
    let plan_x = x_of(chart.plan);
    let end = x_of(f64::INFINITY);
    if plan_x + 5.0 + text_width(&plan, true) > layout.right.max(end) + 40.0 {
        // Beyond the axis, or so near its end that the words would run into the columns.
        pen.text(Style("acb"), Hold::End, zero - 5.0, y, "needed");
        pen.text(Style("b"), Hold::End, layout.right, y, &plan);
    } else if chart.plan >= 0.0 {
        pen.text(Style("acb"), Hold::End, zero - 5.0, y, "needed");
        pen.text(Style("b"), Hold::Start, plan_x.max(zero) + 5.0, y, &plan);
    } else {
        let room = text_width(&plan, true) + 5.0;
        let (hold, x) = if plan_x.min(zero) >= room {
            (Hold::End, plan_x.min(zero) - 5.0)
        } else {
            (Hold::Start, plan_x + 5.0)
        };
        pen.text(Style("b"), hold, x, y, &plan);
        pen.text(Style("acb"), Hold::Start, zero + 5.0, y, "needed");
    }
    let load_x = x_of(chart.load_itself);
    let left_word = if chart.plan >= 0.0 { "needed" } else { &plan };
    let taken = text_width(left_word, true) + 10.0;
    if chart.load_itself > low && load_x + 5.0 + text_width("load itself", false) < zero - taken {
        pen.text(Style("ac"), Hold::Start, load_x + 5.0, y, "load itself");
    }
}
