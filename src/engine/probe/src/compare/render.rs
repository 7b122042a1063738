//! A comparison as text, Markdown, JSON, or a page with bars.

use std::fmt::Write as _;

use super::{
    page,
    result::{Change, Comparison, Measured, Spread, Stage},
};
use crate::{
    Error, Result,
    text::{show_bytes, show_nanos},
};

/// A form of output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For a terminal.
    Text,
    /// For a report or an issue.
    Markdown,
    /// Everything (docs/probe-schema.json, `$defs.comparison`).
    Json,
    /// One self-contained page.
    Html,
}

/// Writes it.
pub fn render(comparison: &Comparison, format: Format) -> Result<String> {
    match format {
        Format::Text => Ok(text(comparison)),
        Format::Markdown => Ok(markdown(comparison)),
        Format::Html => Ok(page::html(comparison)),
        Format::Json => serde_json::to_string_pretty(comparison)
            .map(|text| text + "\n")
            .map_err(|error| Error::Run(format!("comparison as JSON: {error}"))),
    }
}

/// Heads of the table of a stage.
pub(super) const HEADS: [&str; 9] =
    ["", "IOPS", "MiB/s", "p50", "p99", "p99.9", "probe µs/IO", "target µs/IO", "limit"];

/// A side as a row.
pub(super) fn side_row(one: &Measured) -> [String; 9] {
    #[expect(clippy::cast_precision_loss, reason = "for reading")]
    let nanos = |nanos: u64| show_nanos(nanos as f64);
    [
        one.side.clone(),
        spread(one.iops, 0),
        spread(one.mib_per_s, 1),
        nanos(one.latency_ns.p50),
        nanos(one.latency_ns.p99),
        nanos(one.latency_ns.p99_9),
        spread(one.probe_cpu_us_per_io, 2),
        one.target_cpu_us_per_io.map_or_else(|| "-".to_owned(), |cpu| spread(cpu, 2)),
        one.limit.resource.words().to_owned(),
    ]
}

/// A change as a row under the sides.
pub(super) fn change_row(one: &Change) -> [String; 9] {
    let times = |ratio: Spread| spread(ratio, 2);
    [
        format!("{}/{}", one.side, one.against),
        times(one.iops_ratio),
        String::new(),
        times(one.latency_p50_ratio),
        times(one.latency_p99_ratio),
        String::new(),
        times(one.probe_cpu_ratio),
        one.target_cpu_ratio.map_or_else(|| "-".to_owned(), times),
        if one.clear { String::new() } else { "no clear difference".to_owned() },
    ]
}

fn spread(spread: Spread, digits: usize) -> String {
    let Spread { median, low, high } = spread;
    if (high - low).abs() < f64::EPSILON {
        return format!("{median:.digits$}");
    }
    format!("{median:.digits$} ({low:.digits$}-{high:.digits$})")
}

fn rows(stage: &Stage) -> Vec<[String; 9]> {
    stage.sides.iter().map(side_row).chain(stage.changes.iter().map(change_row)).collect()
}

/// Depth and length of a stage in a line.
pub(super) fn described(stage: &Stage, rounds: u32) -> String {
    let workload = &stage.workload;
    format!(
        "depth {} x {} worker{}, {:.0} s after a ramp of {:.0} s, {rounds} round{}",
        workload.depth,
        workload.workers,
        if workload.workers == 1 { "" } else { "s" },
        workload.seconds,
        workload.ramp_seconds,
        if rounds == 1 { "" } else { "s" },
    )
}

fn text(comparison: &Comparison) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    for side in &comparison.sides {
        let size = show_bytes(side.capacity_bytes);
        let _ = writeln!(out, "{}  {} ({}, {size})", side.name, side.url, side.identity);
    }
    for stage in &comparison.stages {
        let _ = writeln!(out, "\n{}: {}", stage.name, described(stage, comparison.rounds));
        let rows = rows(stage);
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.chain([HEADS[column].chars().count()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..HEADS.len()).map(width).collect();
        let mut line = |cells: &[&str]| {
            let mut text = String::new();
            for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
                let width = *width;
                let _ = match column {
                    0 | 8 => write!(text, "  {cell:<width$}"),
                    _ => write!(text, "  {cell:>width$}"),
                };
            }
            let _ = writeln!(out, "{}", text.trim_end());
        };
        line(&HEADS);
        for row in &rows {
            line(&row.each_ref().map(String::as_str));
        }
        for change in &stage.changes {
            let _ = writeln!(out, "  {}", change.sentence);
        }
        for one in &stage.sides {
            for warning in &one.warnings {
                let _ = writeln!(out, "  {}: warning: {warning}", one.side);
            }
        }
    }
    for warning in &comparison.warnings {
        let _ = writeln!(out, "\nwarning: {warning}");
    }
    if let Some(reference) = &comparison.reference {
        let _ = writeln!(out, "\nBeside it, from {}\n  {}", reference.source, reference.setting);
        for result in &reference.results {
            let _ = writeln!(out, "  - {result}");
        }
        for contradiction in &reference.contradictions {
            let _ = writeln!(out, "  ! {contradiction}");
        }
    }
    if let Some(stopped) = &comparison.stopped {
        let _ = writeln!(out, "\nstopped: {stopped}");
    }
    out
}

fn markdown(comparison: &Comparison) -> String {
    let mut out = String::from("# Comparison\n\n| | URL | volume | size |\n|---|---|---|---|\n");
    let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    for side in &comparison.sides {
        let _ = writeln!(
            out,
            "| {} | `{}` | {} | {} |",
            side.name,
            side.url,
            cell(&side.identity),
            show_bytes(side.capacity_bytes)
        );
    }
    for stage in &comparison.stages {
        let _ = writeln!(out, "\n## {}\n\n{}\n", stage.name, described(stage, comparison.rounds));
        let _ = writeln!(out, "| {} |", HEADS.join(" | "));
        let _ = writeln!(out, "|---|{}---|", "---:|".repeat(HEADS.len() - 2));
        for row in rows(stage) {
            let _ = writeln!(out, "| {} |", row.map(|text| cell(&text)).join(" | "));
        }
        out.push('\n');
        for change in &stage.changes {
            let _ = writeln!(out, "- {}", change.sentence);
        }
        for one in &stage.sides {
            for warning in &one.warnings {
                let _ = writeln!(out, "- {}: {warning}", one.side);
            }
        }
    }
    for warning in &comparison.warnings {
        let _ = writeln!(out, "\n**{warning}**");
    }
    if let Some(reference) = &comparison.reference {
        let _ = writeln!(out, "\n## Beside it\n\n{}: {}\n", reference.source, reference.setting);
        for result in &reference.results {
            let _ = writeln!(out, "- {result}");
        }
        for contradiction in &reference.contradictions {
            let _ = writeln!(out, "- **Contradiction:** {contradiction}");
        }
    }
    if let Some(stopped) = &comparison.stopped {
        let _ = writeln!(out, "\nStopped: {stopped}");
    }
    out
}
