//! A square per connection: hosts as rows, target addresses as columns.

use super::Width;
use super::canvas::{Hold, Pen, Style, Words, draw as on_canvas, text_width};
use crate::figure::{SlotAddress, SlotRow, Slots};

/// Free connections drawn behind those in use; more only say "and so on".
const FREE_DRAWN: usize = 4;

struct Layout {
    names: f64,
    square: f64,
    gap: f64,
    row: f64,
    group_gap: f64,
    right: f64,
}

/// Draws it.
pub fn draw(chart: &Slots, width: Width, words: Words<'_>) -> Result<String, String> {
    let (total, names, right) = match width {
        Width::Wide => (780.0, 92.0, 560.0),
        Width::Narrow => (360.0, 64.0, 358.0),
    };
    // Addresses that do not fit beside each other wrap into bands of rows.
    let layout = fit(chart, names, right);
    let bands = bands(chart, &layout);
    let rows = f64::from(u32::try_from(chart.rows.len()).unwrap_or(1));
    let band_height = 42.0 + rows * layout.row + 8.0;
    let notes = notes(chart, width);
    let height = band_height * f64::from(u32::try_from(bands.len()).unwrap_or(1))
        + 17.0 * f64::from(u32::try_from(notes.len()).unwrap_or(0));
    on_canvas(total, height.max(60.0), words, |pen| {
        let mut y = 0.0;
        for (index, band) in bands.iter().enumerate() {
            draw_band(pen, chart, &layout, band, y, width == Width::Wide && index == 0);
            y += band_height;
        }
        for note in &notes {
            pen.text(Style(""), Hold::Start, 0.0, y + 10.0, note);
            y += 17.0;
        }
    })
}

/// Squares of an address, as many as are drawn.
fn drawn(address: &SlotAddress) -> (usize, usize) {
    let used = address.used.len().min(16);
    (used, (address.free as usize).min(FREE_DRAWN))
}

fn group_width(address: &SlotAddress, layout: &Layout) -> f64 {
    let (used, free) = drawn(address);
    let squares = f64::from(u32::try_from(used + free).unwrap_or(0));
    let squares = squares * (layout.square + layout.gap) - layout.gap;
    let head = text_width(&address.name, true).max(text_width(&address.note, false));
    squares.max(head)
}

fn fit(chart: &Slots, names: f64, right: f64) -> Layout {
    let layout = |square: f64, group_gap: f64| Layout {
        names,
        square,
        gap: 5.0,
        row: square + 9.0,
        group_gap,
        right,
    };
    for (square, group_gap) in [(29.0, 40.0), (25.0, 24.0)] {
        let layout = layout(square, group_gap);
        if bands(chart, &layout).len() <= 1 {
            return layout;
        }
    }
    layout(22.0, 24.0)
}

/// Ranges of addresses that fit beside each other.
fn bands(chart: &Slots, layout: &Layout) -> Vec<std::ops::Range<usize>> {
    let mut bands = Vec::new();
    let mut start = 0;
    let mut x = layout.names;
    for (index, address) in chart.addresses.iter().enumerate() {
        let width = group_width(address, layout);
        if index > start && x + width > layout.right {
            bands.push(start..index);
            start = index;
            x = layout.names;
        }
        x += width + layout.group_gap;
    }
    bands.push(start..chart.addresses.len());
    bands
}

fn notes(chart: &Slots, width: Width) -> Vec<String> {
    let mut notes = Vec::new();
    if width == Width::Narrow {
        if let Some(row) = chart.rows.iter().find(|row| !row.lost) {
            notes.push(format!("each host: {}", row.note));
        }
        if let Some(row) = chart.rows.iter().find(|row| row.lost) {
            notes.push(format!("{} is {}", row.name, row.note));
        }
    }
    let hidden = chart.addresses.iter().any(|address| address.free as usize > FREE_DRAWN);
    if hidden {
        let most = chart.addresses.iter().map(|address| address.free).max().unwrap_or(0);
        notes.push(format!("up to {most} free per address; {FREE_DRAWN} of them are drawn"));
    }
    if !chart.rest.is_empty() {
        notes.push(chart.rest.clone());
    }
    notes
}

fn draw_band(
    pen: &Pen<'_>,
    chart: &Slots,
    layout: &Layout,
    band: &std::ops::Range<usize>,
    top: f64,
    with_notes: bool,
) {
    let mut x = layout.names;
    for address in &chart.addresses[band.clone()] {
        pen.text(Style("b"), Hold::Start, x, top + 14.0, &address.name);
        pen.text(Style(""), Hold::Start, x, top + 30.0, &address.note);
        for (index, row) in chart.rows.iter().enumerate() {
            let y = top + 42.0 + layout.row * f64::from(u32::try_from(index).unwrap_or(0));
            squares(pen, layout, address, row, x, y);
        }
        x += group_width(address, layout) + layout.group_gap;
    }
    for (index, row) in chart.rows.iter().enumerate() {
        let y = top + 42.0 + layout.row * f64::from(u32::try_from(index).unwrap_or(0));
        let baseline = y + layout.square / 2.0 + 4.0;
        let style = if row.lost { "" } else { "b" };
        pen.text(Style(style), Hold::Start, 0.0, baseline, &row.name);
        if with_notes {
            let beside = (x - layout.group_gap + 24.0).max(layout.names + 40.0);
            if beside + text_width(&row.note, false) < 780.0 {
                pen.text(Style(""), Hold::Start, beside, baseline, &row.note);
            }
        }
    }
}

fn squares(pen: &Pen<'_>, layout: &Layout, address: &SlotAddress, row: &SlotRow, x: f64, y: f64) {
    let (used, free) = drawn(address);
    let side = layout.square;
    let mut left = x;
    for label in address.used.iter().take(used) {
        let (middle, baseline) = (left + side / 2.0, y + side / 2.0 + 4.0);
        if row.lost {
            pen.rect(Style("open"), left + 0.5, y + 0.5, side - 1.0, side - 1.0);
            pen.rect(Style("hx"), left + 0.5, y + 0.5, side - 1.0, side - 1.0);
            pen.text(Style("in halo"), Hold::Middle, middle, baseline, label);
        } else {
            pen.rect(Style("f1"), left, y, side, side);
            pen.text(Style("on1"), Hold::Middle, middle, baseline, label);
        }
        left += side + layout.gap;
    }
    for _ in 0..free {
        pen.rect(Style("open"), left + 0.5, y + 0.5, side - 1.0, side - 1.0);
        left += side + layout.gap;
    }
}
