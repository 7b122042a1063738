//! A comparison as one page: a table and bars per workload, readable without colour and without scripts.

use std::fmt::Write as _;

use super::{
    render::{HEADS, change_row, described, side_row},
    result::{Comparison, Measured, Stage},
};

/// Width of the longest bar, pixels.
const BAR: f64 = 420.0;
/// Height of a row of the drawing, pixels.
const ROW: f64 = 26.0;
/// Left of it the names, right of it the figures.
const LEFT: f64 = 34.0;
/// Width of the drawing.
const WIDTH: f64 = 640.0;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1c2526;--paper:#fbfaf6;--bar:#3f7d8c;--line:#b8c4c4}\
@media(prefers-color-scheme:dark){:root{--ink:#e4e9e6;--paper:#161c1d;--bar:#6fb2c0;--line:#48585a}}\
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:72rem;margin:2rem auto;padding:0 1rem}\
table{font-size:.9rem;border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}\
th,td{padding:.25rem .55rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
th:first-child,td:first-child,th:last-child,td:last-child{text-align:left}\
svg{max-width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:var(--ink)}\
svg rect{fill:var(--bar)}svg line{stroke:var(--ink);stroke-width:1.5}code{overflow-wrap:anywhere}";

/// The page.
pub(super) fn html(comparison: &Comparison) -> String {
    let mut out = String::from("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">");
    // Writing to a String cannot fail.
    let _ = write!(
        out,
        "<meta name=\"viewport\" content=\"width=device-width\"><title>Comparison</title><style>{STYLE}</style>\
         </head><body><h1>Comparison</h1><ul>"
    );
    for side in &comparison.sides {
        let _ = write!(
            out,
            "<li><b>{}</b> <code>{}</code> ({})</li>",
            side.name,
            escape(&side.url),
            escape(&side.identity)
        );
    }
    out.push_str("</ul>");
    for stage in &comparison.stages {
        section(&mut out, stage, comparison.rounds);
    }
    list(&mut out, "Warnings", comparison.warnings.iter().chain(&comparison.stopped));
    if let Some(reference) = &comparison.reference {
        let _ = write!(
            out,
            "<h2>Beside it</h2><p>{}: {}</p>",
            escape(&reference.source),
            escape(&reference.setting)
        );
        list(&mut out, "", reference.results.iter());
        list(&mut out, "What it says against itself", reference.contradictions.iter());
    }
    out.push_str("</body></html>\n");
    out
}

fn section(out: &mut String, stage: &Stage, rounds: u32) {
    let _ =
        write!(out, "<h2>{}</h2><p>{}</p>", escape(&stage.name), escape(&described(stage, rounds)));
    out.push_str("<table><thead><tr>");
    for head in HEADS {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(head));
    }
    out.push_str("</tr></thead><tbody>");
    let rows = stage.sides.iter().map(side_row).chain(stage.changes.iter().map(change_row));
    for row in rows {
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<td>{}</td>", escape(&cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    bars(out, stage);
    list(out, "", stage.changes.iter().map(|change| &change.sentence));
    let warned = stage
        .sides
        .iter()
        .flat_map(|one| one.warnings.iter().map(move |warning| format!("{}: {warning}", one.side)));
    list(out, "Warnings of the rounds", warned);
}

/// A bar of IOPS per side: its length the median, the line across it from the lowest to the highest round.
fn bars(out: &mut String, stage: &Stage) {
    let most = stage.sides.iter().map(|one| one.iops.high).fold(0.0, f64::max);
    if most <= 0.0 {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "a handful")]
    let height = stage.sides.len() as f64 * ROW;
    let words: Vec<String> =
        stage.sides.iter().map(|one| format!("{} {:.0} IOPS", one.side, one.iops.median)).collect();
    let _ = write!(
        out,
        "<svg role=\"img\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" aria-label=\"{}\">",
        escape(&words.join(", "))
    );
    let mut top = 0.0;
    for one in &stage.sides {
        bar(out, one, top, BAR / most);
        top += ROW;
    }
    out.push_str("</svg>");
}

fn bar(out: &mut String, one: &Measured, top: f64, scale: f64) {
    let (low, median, high) =
        (one.iops.low * scale, one.iops.median * scale, one.iops.high * scale);
    let (middle, base) = (top + ROW / 2.0, top + ROW / 2.0 + 5.0);
    let _ = write!(
        out,
        "<text x=\"0\" y=\"{base}\">{}</text>\
         <rect x=\"{LEFT}\" y=\"{}\" width=\"{median:.1}\" height=\"{}\"/>\
         <line x1=\"{:.1}\" y1=\"{middle}\" x2=\"{:.1}\" y2=\"{middle}\"/>\
         <text x=\"{:.1}\" y=\"{base}\">{:.0} IOPS</text>",
        one.side,
        top + 3.0,
        ROW - 6.0,
        LEFT + low,
        LEFT + high,
        LEFT + high + 8.0,
        one.iops.median
    );
}

fn list(out: &mut String, head: &str, lines: impl Iterator<Item = impl AsRef<str>>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    if !head.is_empty() {
        let _ = write!(out, "<h3>{head}</h3>");
    }
    out.push_str("<ul>");
    for line in lines {
        let _ = write!(out, "<li>{}</li>", escape(line.as_ref()));
    }
    out.push_str("</ul>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
