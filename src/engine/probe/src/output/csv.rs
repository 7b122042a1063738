//! One row per stage and target, for spreadsheets; a last row `total` per stage when there are several
//! targets.

use std::fmt::Write as _;

use crate::result::{Figures, ResultSet};

const HEADER: &str = "stage,url,mode,block_bytes,read_pct,random_pct,depth,workers,seconds,iops,mib_per_s,\
read_iops,write_iops,latency_mean_ns,latency_p50_ns,latency_p99_ns,latency_p99_9_ns,latency_max_ns,errors,\
cpu_seconds,cpu_us_per_io,in_flight,steady,excursion_pct,slope_pct,warnings";

/// The table.
pub fn render(set: &ResultSet) -> String {
    let mut out = format!("{HEADER}\n");
    for stage in &set.stages {
        let results: Vec<_> =
            set.results.iter().filter(|result| result.stage == stage.name).collect();
        for result in &results {
            let warnings: Vec<&str> =
                result.warnings.iter().map(|text| text.split(':').next().unwrap_or(text)).collect();
            row(&mut out, stage, &result.url, &result.mode, &result.figures, &warnings.join(" "));
        }
        if results.len() > 1 {
            row(&mut out, stage, "total", &results[0].mode, &stage.total, "");
        }
    }
    out
}

fn row(
    out: &mut String,
    stage: &crate::result::Stage,
    url: &str,
    mode: &str,
    figures: &Figures,
    warnings: &str,
) {
    let workload = &stage.workload;
    let latency = &figures.latency_ns;
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "{},{},{mode},{:.0},{},{},{},{},{:.3},{:.3},{:.3},{:.3},{:.3},{:.0},{},{},{},{},{},{:.3},{:.3},{:.3},{},{:.2},{:.2},{}",
        quoted(&stage.name),
        quoted(url),
        workload.mean_block_bytes(),
        workload.read_pct(),
        workload.random_pct(),
        workload.depth,
        workload.workers,
        figures.measured_seconds,
        figures.iops,
        figures.mib_per_s,
        figures.read.iops,
        figures.write.iops,
        latency.mean,
        latency.p50,
        latency.p99,
        latency.p99_9,
        latency.max,
        figures.errors,
        figures.cpu_seconds,
        figures.cpu_us_per_io,
        figures.littles_law.in_flight_measured,
        figures.steady,
        figures.steady_state.excursion_pct,
        figures.steady_state.slope_pct,
        quoted(warnings),
    );
}

/// RFC 4180.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
