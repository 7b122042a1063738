//! The main picture: three panels over the datastore count.

use super::canvas::{Hold, Pen, Plot, Style, Words, draw as on_canvas, text_width};
use super::{Width, curves, limit_mark, load_mark, spread, title};
use crate::figure::{CurvePanel, Frontier, PricePanel};
use crate::number::{self, fixed, signed_percent};
use crate::words;

/// Where things stand.
struct Layout {
    width: Width,
    total: f64,
    left: f64,
    right: f64,
}

impl Layout {
    fn of(width: Width) -> Self {
        match width {
            Width::Wide => Self { width, total: 780.0, left: 44.0, right: 630.0 },
            Width::Narrow => Self { width, total: 360.0, left: 40.0, right: 354.0 },
        }
    }

    fn is_wide(&self) -> bool {
        self.width == Width::Wide
    }
}

/// Draws it.
pub fn draw(chart: &Frontier, width: Width, words: Words<'_>) -> Result<String, String> {
    let layout = Layout::of(width);
    let extra = if layout.is_wide() { 0.0 } else { 16.0 };
    let priced = chart.price.values.len() == chart.counts.len() && !chart.price.values.is_empty();
    let random_top = 64.0 + extra;
    let random_bottom = random_top + 316.0;
    let stream_top = random_bottom + 128.0 + extra;
    let stream_bottom = stream_top + 142.0;
    let price_top = stream_bottom + 88.0 + extra;
    let price_bottom = price_top + 45.0;
    let height = if priced { price_bottom + 40.0 } else { stream_bottom + 42.0 };
    on_canvas(layout.total, height, words, |pen| {
        panel(pen, chart, &chart.random, &layout, random_top, random_bottom, true);
        panel(pen, chart, &chart.stream, &layout, stream_top, stream_bottom, false);
        if priced {
            price(pen, chart, &chart.price, &layout, price_top, price_bottom);
        }
    })
}

fn counts(chart: &Frontier) -> Vec<f64> {
    chart.counts.iter().map(|count| f64::from(*count)).collect()
}

/// Half a step before the first count to half a step after the last.
fn x_range(counts: &[f64]) -> std::ops::Range<f64> {
    let first = counts.first().copied().unwrap_or(1.0);
    let last = counts.last().copied().unwrap_or(1.0);
    first - 0.5..last + 0.5
}

fn panel(
    pen: &Pen<'_>,
    chart: &Frontier,
    panel: &CurvePanel,
    layout: &Layout,
    top: f64,
    bottom: f64,
    main: bool,
) {
    let xs = counts(chart);
    let highest = panel.points.iter().map(|point| point.high.max(point.dotted));
    let mut most = highest.fold(panel.needed, f64::max);
    if let Some((_, cap)) = panel.cap.as_ref().filter(|(_, cap)| *cap <= 1.5 * most) {
        most = most.max(*cap);
    }
    let ticks = number::ticks(most, if main { 6 } else { 4 });
    let y_top = ticks.last().copied().unwrap_or(1.0);
    let heading = top - 50.0 - if layout.is_wide() { 0.0 } else { 16.0 };
    title(pen, heading, &panel.title, &panel.condition, layout.width);
    let area = (layout.left, top, layout.right, bottom);
    let Some(plot) = pen.plot(x_range(&xs), 0.0..y_top, area) else { return };
    let y_of = |value: f64| plot.at(xs.first().copied().unwrap_or(1.0), value).1;

    let water = y_of(panel.load);
    let edges = x_range(&xs);
    plot.area(Style("water"), &[(edges.start, panel.load), (edges.end, panel.load)]);
    let decimals = number::tick_decimals(&ticks);
    for tick in &ticks {
        let y = y_of(*tick);
        let style = if *tick == 0.0 { "axis" } else { "grid" };
        pen.line(Style(style), (layout.left, y), (layout.right, y));
        pen.text(Style("tk"), Hold::End, layout.left - 8.0, y + 4.0, &fixed(*tick, decimals));
    }
    curves::band(&plot, &xs, &panel.points);
    pen.line(Style("load"), (layout.left, water), (layout.right, water));
    let needed = y_of(panel.needed);
    pen.line(Style("need"), (layout.left, needed), (layout.right, needed));
    if let Some((_, cap)) = panel.cap.as_ref().filter(|(_, cap)| *cap <= y_top) {
        pen.line(Style("cap"), (layout.left, y_of(*cap)), (layout.right, y_of(*cap)));
    }
    let chosen_x = plot.at(xs[chart.chosen], 0.0).0;
    pen.line(Style("pick"), (chosen_x, top - 20.0), (chosen_x, if main { water } else { bottom }));
    if panel.dotted.is_some() {
        let ghost: Vec<_> =
            xs.iter().zip(&panel.points).map(|(x, point)| (*x, point.dotted)).collect();
        plot.line(Style("ghost"), &ghost);
    }
    curves::level(&plot, &xs, &panel.points);
    let dots = |passes: bool| -> Vec<(f64, f64)> {
        xs.iter()
            .zip(&panel.points)
            .enumerate()
            .filter(|(index, (_, point))| point.passes == passes && *index != chart.chosen)
            .map(|(_, (x, point))| (*x, point.low))
            .collect()
    };
    plot.dots(Style("hole"), 2.8, &dots(false));
    plot.dots(Style("dot"), 2.8, &dots(true));
    curves::median(&plot, &xs, &panel.points);
    ribbon(pen, &plot, chart, panel, layout, top - 20.0);
    x_axis(pen, &plot, chart, layout, bottom);
    let low = plot.at(xs[chart.chosen], panel.points[chart.chosen].low);
    if main && low.1 < water {
        pen.line(Style("fb"), (low.0, water), (low.0, low.1));
    }
    load_mark(pen, low, 7.0);
    if main {
        explain(pen, &plot, chart, panel, layout, water, bottom);
    }
    if layout.is_wide() {
        right_labels(pen, panel, layout, &y_of, (y_top, bottom));
    } else {
        inner_labels(pen, panel, layout, &y_of);
    }
}

/// Which limit binds, as a strip above the plot with words where they fit.
fn ribbon(
    pen: &Pen<'_>,
    plot: &Plot<'_, '_>,
    chart: &Frontier,
    panel: &CurvePanel,
    layout: &Layout,
    y: f64,
) {
    let xs = counts(chart);
    let step =
        (layout.right - layout.left) / f64::from(u32::try_from(xs.len()).unwrap_or(1).max(1));
    let runs = curves::runs(&panel.points);
    let mut free_from = layout.left;
    for (index, (limit, start, end)) in runs.iter().enumerate() {
        let from = plot.at(xs[*start], 0.0).0 - step / 2.0 + 1.0;
        let to = plot.at(xs[*end], 0.0).0 + step / 2.0 - 1.0;
        pen.rect(Style(ribbon_class(*limit)), from, y, to - from, 4.0);
        let name = words::limit(*limit);
        let text = match (index, index + 1 == runs.len()) {
            (0, _) => format!("{name} binds"),
            (_, true) => format!("{name} binds from {} on", chart.counts[*start]),
            (_, false) => format!("{name} binds from {}", chart.counts[*start]),
        };
        let width = text_width(&text, false) + 18.0;
        // The last one may reach to the right edge of the drawing, others only over their run.
        let room = if index + 1 == runs.len() { layout.total } else { to.max(from + 0.0) + 1.0 };
        let begin = from.max(free_from);
        if begin + width <= room && begin < to + 8.0 {
            limit_mark(pen, *limit, (begin + 6.0, y - 10.0));
            pen.text(Style(""), Hold::Start, begin + 15.0, y - 6.0, &text);
            free_from = begin + width + 8.0;
        }
    }
}

fn ribbon_class(limit: plimsoll_model::Resource) -> &'static str {
    super::limit_class(limit).1.split(' ').next().unwrap_or("p-other")
}

fn x_axis(pen: &Pen<'_>, plot: &Plot<'_, '_>, chart: &Frontier, layout: &Layout, bottom: f64) {
    let xs = counts(chart);
    let step =
        (layout.right - layout.left) / f64::from(u32::try_from(xs.len()).unwrap_or(1).max(1));
    let every = (1..).find(|every| f64::from(*every) * step >= 19.0).unwrap_or(1) as usize;
    let chosen_x = plot.at(xs[chart.chosen], 0.0).0;
    for (index, x) in xs.iter().enumerate() {
        let at = plot.at(*x, 0.0).0;
        let label = chart.counts[index].to_string();
        if index == chart.chosen {
            pen.text(Style("acb"), Hold::Middle, at, bottom + 18.0, &label);
        } else if index % every == 0 && (at - chosen_x).abs() >= 17.0 {
            pen.text(Style("tk"), Hold::Middle, at, bottom + 18.0, &label);
        }
    }
    let middle = f64::midpoint(layout.left, layout.right);
    pen.text(Style("tk"), Hold::Middle, middle, bottom + 35.0, "datastores");
}

/// The planned count and the next smaller one, in words beside their points.
fn explain(
    pen: &Pen<'_>,
    plot: &Plot<'_, '_>,
    chart: &Frontier,
    panel: &CurvePanel,
    layout: &Layout,
    water: f64,
    bottom: f64,
) {
    let xs = counts(chart);
    let chosen = chart.chosen;
    let low = plot.at(xs[chosen], panel.points[chosen].low);
    let value = number::modelled;
    if panel.load > 0.0 && water - low.1 >= 16.0 {
        let room = (panel.points[chosen].low / panel.load - 1.0) * 100.0;
        let text = format!("{} above the load", signed_percent(room.floor()));
        let width = text_width(&text, true);
        let (hold, x) = if low.0 + 12.0 + width < layout.right {
            (Hold::Start, low.0 + 9.0)
        } else {
            (Hold::End, low.0 - 9.0)
        };
        let needed = plot.at(xs[chosen], panel.needed).1;
        // Between the needed line and the load line where there is room, else just above the load.
        let y =
            if water - needed >= 20.0 { f64::midpoint(needed, water) + 4.5 } else { water - 5.0 };
        pen.text(Style("acb halo"), hold, x, y, &text);
    }
    let Some(before) = chosen.checked_sub(1).filter(|before| !panel.points[*before].passes) else {
        return;
    };
    let point = panel.points[before];
    let lines = [
        format!(
            "{}: {} at the 95% level,",
            words::counted(chart.counts[before].into(), "datastore", "datastores").replacen(
                &words::count(chart.counts[before].into()),
                &chart.counts[before].to_string(),
                1
            ),
            value(point.low),
        ),
        format!("{} short of what is needed", value((panel.needed - point.low).max(0.0))),
    ];
    if panel.needed - point.low <= 0.0 {
        return;
    }
    let width = lines.iter().map(|line| text_width(line, false)).fold(0.0, f64::max);
    let at = plot.at(xs[before], point.low);
    let y = (water + 30.0).max(at.1 + 24.0);
    let x = low.0 + 40.0;
    if y + 20.0 > bottom || x + width > layout.right {
        return;
    }
    pen.text(Style("in halo-water"), Hold::Start, x, y, &lines[0]);
    pen.text(Style("in halo-water"), Hold::Start, x, y + 16.0, &lines[1]);
    let elbow = at.0 + 4.0;
    pen.path(Style("lead"), &[(x - 6.0, y - 4.0), (elbow, y - 4.0), (elbow, at.1 + 6.0)]);
}

/// Labels at the ends of the lines.
fn right_labels(
    pen: &Pen<'_>,
    panel: &CurvePanel,
    layout: &Layout,
    y_of: &impl Fn(f64) -> f64,
    (y_top, bottom): (f64, f64),
) {
    let Some(last) = panel.points.last() else { return };
    let value = number::modelled;
    let exact = |value: f64| fixed(value, usize::from(value < 100.0));
    let capped = panel.cap.as_ref().filter(|(_, cap)| (last.median / cap - 1.0).abs() < 0.005);
    let mut labels: Vec<(f64, &'static str, String)> = Vec::new();
    if let Some((name, cap)) = capped {
        labels.push((*cap, "b", format!("{name} {}", exact(*cap))));
        if last.low < cap * 0.97 {
            labels.push((last.low, "b", format!("95% level {}", value(last.low))));
        }
    } else {
        labels.push((last.high, "", format!("95th percentile {}", value(last.high))));
        labels.push((last.median, "b", format!("median {}", value(last.median))));
        labels.push((last.low, "b", format!("95% level {}", value(last.low))));
    }
    let drawn = panel.cap.as_ref().filter(|(_, cap)| capped.is_none() && y_of(*cap) >= y_of(y_top));
    if let Some((name, cap)) = drawn {
        labels.push((*cap, "", format!("{name} {}", exact(*cap))));
    }
    if let Some(hosts) = &panel.dotted
        && (last.dotted / last.median.max(1e-9) - 1.0).abs() > 0.01
    {
        labels.push((last.dotted, "", format!("{hosts}, {}", value(last.dotted))));
    }
    labels.push((panel.needed, "acb", format!("needed {}", value(panel.needed))));
    labels.push((panel.load, "ac", format!("load {}", value(panel.load))));
    let positions: Vec<f64> = labels.iter().map(|(at, _, _)| y_of(*at) + 4.0).collect();
    for ((_, style, text), y) in labels.iter().zip(spread(&positions, 15.0, bottom + 2.0)) {
        pen.text(Style(style), Hold::Start, layout.right + 10.0, y, text);
    }
}

/// On a phone the labels stand inside, at the right, over their lines.
fn inner_labels(pen: &Pen<'_>, panel: &CurvePanel, layout: &Layout, y_of: &impl Fn(f64) -> f64) {
    let Some(last) = panel.points.last() else { return };
    let value = number::modelled;
    let exact = |value: f64| fixed(value, usize::from(value < 100.0));
    let capped = panel.cap.as_ref().filter(|(_, cap)| (last.median / cap - 1.0).abs() < 0.005);
    let mut labels: Vec<(f64, &'static str, String)> = vec![
        (y_of(panel.needed) - 5.0, "acb halo", format!("needed {}", value(panel.needed))),
        (y_of(panel.load) + 14.0, "ac halo-water", format!("load {}", value(panel.load))),
    ];
    // Above the highest point under the label, or the line would run through it.
    let highest = |get: fn(&crate::figure::CurvePoint) -> f64| {
        let tail = panel.points.len() - panel.points.len() / 3;
        panel.points[tail.min(panel.points.len() - 1)..].iter().map(get).fold(0.0, f64::max)
    };
    match capped {
        Some((name, cap)) => {
            labels.push((
                y_of(highest(|point| point.median)) - 9.0,
                "b halo",
                format!("{name} {}", exact(*cap)),
            ));
        }
        None => {
            labels.push((
                y_of(highest(|point| point.median)) - 10.0,
                "b halo",
                format!("median {}", value(last.median)),
            ));
            labels.push((y_of(last.low) - 7.0, "b halo", format!("95% level {}", value(last.low))));
        }
    }
    let positions: Vec<f64> = labels.iter().map(|label| label.0).collect();
    for ((_, style, text), y) in labels.iter().zip(spread(&positions, 14.0, f64::INFINITY)) {
        pen.text(Style(style), Hold::End, layout.right, y, text);
    }
}

fn price(
    pen: &Pen<'_>,
    chart: &Frontier,
    panel: &PricePanel,
    layout: &Layout,
    top: f64,
    bottom: f64,
) {
    let xs = counts(chart);
    let low = panel.values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = panel.values.iter().copied().fold(0.0, f64::max);
    // A range that is narrow against its height starts above zero, and says so.
    let from_zero = low < 0.6 * high;
    let (start, ticks) = if from_zero {
        (0.0, number::ticks(high, 3))
    } else {
        let span = number::ticks((high - low).max(high * 0.04), 3);
        let step = span.get(1).copied().unwrap_or(1.0);
        let start = (low / step).floor() * step;
        let steps = ((high - start) / step).ceil().max(2.0);
        let mut ticks = vec![start];
        let mut index = 1.0;
        while index <= steps {
            ticks.push(start + index * step);
            index += 1.0;
        }
        (start, ticks)
    };
    let decimals = number::tick_decimals(&ticks);
    let condition = if from_zero {
        panel.condition.clone()
    } else {
        format!("{}; axis from {}", panel.condition, fixed(start, decimals))
    };
    let heading = top - 19.0 - if layout.is_wide() { 0.0 } else { 16.0 };
    title(pen, heading, &panel.title, &condition, layout.width);
    let y_top = ticks.last().copied().unwrap_or(1.0);
    let area = (layout.left, top, layout.right, bottom);
    let Some(plot) = pen.plot(x_range(&xs), start..y_top, area) else { return };
    for tick in &ticks {
        let y = plot.at(xs[0], *tick).1;
        pen.line(Style("grid"), (layout.left, y), (layout.right, y));
        pen.text(Style("tk"), Hold::End, layout.left - 8.0, y + 4.0, &fixed(*tick, decimals));
    }
    let mut steps = Vec::new();
    for (x, value) in xs.iter().zip(&panel.values) {
        steps.push((x - 0.5, *value));
        steps.push((x + 0.5, *value));
    }
    plot.line(Style("floor"), &steps);
    let chosen = panel.values[chart.chosen];
    let (from, y) = plot.at(xs[chart.chosen] - 0.5, chosen);
    let (to, _) = plot.at(xs[chart.chosen] + 0.5, chosen);
    pen.rect(Style("pp"), from, y - 2.0, to - from, 4.0);
    x_axis(pen, &plot, chart, layout, bottom + 2.0);
    let value = |value: f64| fixed(value, panel.decimals);
    let mut labels = vec![(
        chosen,
        "acb",
        format!(
            "{} {}: {}",
            chart.counts[chart.chosen],
            if chart.counts[chart.chosen] == 1 { "datastore" } else { "datastores" },
            value(chosen),
        ),
    )];
    for (extreme, name) in [(low, "lowest"), (high, "highest")] {
        if value(extreme) != value(chosen)
            && let Some(index) = panel.values.iter().position(|other| *other == extreme)
        {
            labels.push((
                extreme,
                "",
                format!("{name}, at {}: {}", chart.counts[index], value(extreme)),
            ));
        }
    }
    if layout.is_wide() {
        let positions: Vec<f64> =
            labels.iter().map(|(at, _, _)| plot.at(xs[0], *at).1 + 4.0).collect();
        for ((_, style, text), y) in labels.iter().zip(spread(&positions, 15.0, bottom + 6.0)) {
            pen.text(Style(style), Hold::Start, layout.right + 10.0, y, text);
        }
    } else {
        // One label inside, above the step line at the right.
        let (_, _, text) = &labels[0];
        let highest_right = plot.at(xs[0], high).1;
        pen.text(Style("acb halo"), Hold::End, layout.right, highest_right - 6.0, text);
    }
}
