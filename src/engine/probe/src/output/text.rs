//! For people: a block per result, the total when there are several, the warnings last.

use std::fmt::Write as _;

use crate::{
    measure::Summary,
    result::{Figures, ResultSet, TargetResult},
    run::{Doing, Progress},
    text::{show_bytes, show_nanos},
};

/// Everything.
pub fn render(set: &ResultSet) -> String {
    let mut out = String::new();
    // With many stages the same warning would come again and again: once is enough.
    let mut told: Vec<(&str, &str)> = Vec::new();
    // Writing to a String cannot fail.
    for stage in &set.stages {
        let workload = &stage.workload;
        let _ = writeln!(
            out,
            "{}: depth {} x {} worker{}, {:.0} s after a ramp of {:.0} s",
            stage.name,
            workload.depth,
            workload.workers,
            if workload.workers == 1 { "" } else { "s" },
            workload.seconds,
            workload.ramp_seconds,
        );
        let results: Vec<_> =
            set.results.iter().filter(|result| result.stage == stage.name).collect();
        for result in &results {
            let _ = writeln!(out, "  {}", result.url);
            write_figures(&mut out, &result.figures);
            write_flows(&mut out, result);
            for warning in &result.warnings {
                if !told.contains(&(&result.url, warning)) {
                    told.push((&result.url, warning));
                    let _ = writeln!(out, "    warning: {warning}");
                }
            }
        }
        if results.len() > 1 {
            let _ = writeln!(out, "  all {} together", results.len());
            write_figures(&mut out, &stage.total);
        }
    }
    if let Some(stopped) = &set.stopped {
        let _ = writeln!(out, "stopped by the guard `{}`: {}", stopped.guard, stopped.what);
    }
    out
}

fn write_figures(out: &mut String, figures: &Figures) {
    let _ = writeln!(out, "    {:>12.0} IOPS  {:>10.1} MiB/s", figures.iops, figures.mib_per_s);
    if figures.read.ios > 0 && figures.write.ios > 0 {
        for (name, side) in [("read", &figures.read), ("write", &figures.write)] {
            let _ = writeln!(
                out,
                "    {:>12.0} IOPS  {:>10.1} MiB/s  {name}: {}",
                side.iops,
                side.mib_per_s,
                latency(&side.latency_ns)
            );
        }
    }
    let _ = writeln!(out, "    latency {}", latency(&figures.latency_ns));
    if let Some(service) = &figures.service_ns {
        let _ = writeln!(out, "    (from the intended time; service alone: {})", latency(service));
    }
    let steady = &figures.steady_state;
    let _ = writeln!(
        out,
        "    steady state {}: excursion {:.1} %, slope {:.1} % over {} s; {:.1} I/Os under way (Little: {:.1})",
        steady.verdict,
        steady.excursion_pct,
        steady.slope_pct,
        steady.window_seconds,
        figures.littles_law.in_flight_measured,
        figures.littles_law.in_flight_expected,
    );
    let _ = writeln!(
        out,
        "    CPU of the probe {:.2} s ({:.2} µs per I/O); {} errors",
        figures.cpu_seconds, figures.cpu_us_per_io, figures.errors
    );
}

fn write_flows(out: &mut String, result: &TargetResult) {
    if result.flows.len() < 2 {
        return;
    }
    const SHOWN: usize = 16;
    for flow in result.flows.iter().take(SHOWN) {
        let _ = writeln!(
            out,
            "    flow {} ({}): {:.0} IOPS, {}, {} retransmits, {} switches",
            flow.name,
            flow.state,
            flow.iops,
            show_bytes(flow.bytes),
            flow.retransmits,
            flow.path_switches
        );
    }
    if result.flows.len() > SHOWN {
        let _ = writeln!(out, "    and {} flows more", result.flows.len() - SHOWN);
    }
}

fn latency(summary: &Summary) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for reading")]
    let show = |nanos: u64| show_nanos(nanos as f64);
    format!(
        "mean {}, p50 {}, p99 {}, p99.9 {}, max {}",
        show_nanos(summary.mean),
        show(summary.p50),
        show(summary.p99),
        show(summary.p99_9),
        show(summary.max)
    )
}

/// One line of a live view.
#[must_use]
pub fn line(progress: &Progress) -> String {
    let place = if progress.stages > 1 {
        format!("[{}/{}] ", progress.stage_index + 1, progress.stages)
    } else {
        String::new()
    };
    match &progress.doing {
        Doing::Opening => format!("{place}{}: opening", progress.stage),
        Doing::Filling(bytes) => {
            format!(
                "{place}{}: writing the working set, {} so far",
                progress.stage,
                show_bytes(*bytes)
            )
        }
        Doing::Measuring(second) => {
            #[expect(clippy::cast_precision_loss, reason = "for reading")]
            let p99 = show_nanos(second.latency_p99_ns as f64);
            format!(
                "{place}{}: {:.0}/{:.0} s{}  {:.0} IOPS  {:.1} MiB/s  p99 {p99}  {} errors",
                progress.stage,
                progress.seconds.0,
                progress.seconds.1,
                if second.ramp { " (ramp)" } else { "" },
                second.iops,
                second.mib_per_s,
                second.errors,
            )
        }
    }
}
