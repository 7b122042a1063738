//! One point of a sweep as a row: what fits of models and other tools read.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::Point;
use crate::result::{ResultSet, SCHEMA_VERSION};

/// A measured point. Names carry their units; latencies are from merged histograms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Version of this row.
    pub schema_version: u32,
    /// Point of the matrix.
    pub point: String,
    /// Start, milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// URLs, separated by blanks.
    pub urls: String,
    /// Hosts.
    pub hosts: u32,
    /// Datastores.
    pub datastores: u32,
    /// Flows per host and datastore.
    pub flows: u32,
    /// Flows in all.
    pub flows_total: u32,
    /// Workers per host and datastore.
    pub workers: u32,
    /// I/Os under way per worker.
    pub depth: u32,
    /// `closed` or `open`.
    pub mode: String,
    /// Mean block.
    pub block_bytes: f64,
    /// Share of reads.
    pub read_pct: f64,
    /// Share of random accesses.
    pub random_pct: f64,
    /// Seconds measured.
    pub measured_seconds: f64,
    /// Completed I/Os a second.
    pub iops: f64,
    /// Completed MiB a second.
    pub mib_per_s: f64,
    /// Completed reads a second.
    pub read_iops: f64,
    /// Completed writes a second.
    pub write_iops: f64,
    /// Mean latency.
    pub latency_mean_ns: f64,
    /// Median.
    pub latency_p50_ns: u64,
    /// 90th percentile.
    pub latency_p90_ns: u64,
    /// 99th percentile.
    pub latency_p99_ns: u64,
    /// 99.9th percentile.
    pub latency_p99_9_ns: u64,
    /// Largest.
    pub latency_max_ns: u64,
    /// Mean number of I/Os under way.
    pub in_flight: f64,
    /// Failed I/Os.
    pub errors: u64,
    /// CPU seconds of the measuring threads.
    pub cpu_seconds: f64,
    /// Whether the steady state was attained.
    pub steady: bool,
    /// Excursion of the steady-state window.
    pub excursion_pct: f64,
    /// Slope of the steady-state window.
    pub slope_pct: f64,
    /// Codes of the warnings, separated by blanks.
    pub warnings: String,
    /// Guard that stopped it, or nothing.
    pub stopped: String,
}

impl Sample {
    /// Of a point's result.
    #[must_use]
    pub fn of(point: &Point, set: &ResultSet) -> Self {
        let total = &set.total;
        let latency = &total.latency_ns;
        let workload = &point.workload;
        let mut codes: Vec<&str> =
            set.warnings.iter().filter_map(|warning| warning.split(':').next()).collect();
        codes.sort_unstable();
        codes.dedup();
        let urls: Vec<&str> = set.results.iter().map(|result| result.url.as_str()).collect();
        Self {
            schema_version: SCHEMA_VERSION,
            point: point.id.clone(),
            started_unix_ms: set.started_unix_ms,
            urls: urls.join(" "),
            hosts: point.hosts,
            datastores: point.datastores,
            flows: u32::from(point.flows),
            flows_total: u32::from(point.flows) * point.hosts * point.datastores * workload.workers,
            workers: workload.workers,
            depth: workload.depth,
            mode: set.results.first().map_or_else(String::new, |result| result.mode.clone()),
            block_bytes: workload.mean_block_bytes(),
            read_pct: workload.read_pct(),
            random_pct: workload.random_pct(),
            measured_seconds: total.measured_seconds,
            iops: total.iops,
            mib_per_s: total.mib_per_s,
            read_iops: total.read.iops,
            write_iops: total.write.iops,
            latency_mean_ns: latency.mean,
            latency_p50_ns: latency.p50,
            latency_p90_ns: latency.p90,
            latency_p99_ns: latency.p99,
            latency_p99_9_ns: latency.p99_9,
            latency_max_ns: latency.max,
            in_flight: total.littles_law.in_flight_measured,
            errors: total.errors,
            cpu_seconds: total.cpu_seconds,
            steady: total.steady,
            excursion_pct: total.steady_state.excursion_pct,
            slope_pct: total.steady_state.slope_pct,
            warnings: codes.join(" "),
            stopped: set.stopped.as_ref().map_or_else(String::new, |stopped| stopped.guard.clone()),
        }
    }
}

/// Samples in the columns that `plimsoll fit` reads (those of data/reference/scaling_points.csv), three rows
/// each: IOPS, MiB/s, mean latency.
#[must_use]
pub fn points_csv(samples: &[Sample], platform: &str) -> String {
    let mut out = String::from(
        "source,platform,protocol,workload,hosts,datastores,flows,vms,vmdks,outstanding,block_kib,pattern,\
         read_pct,statistic,metric,value,unit,note\n",
    );
    for sample in samples {
        let protocol = if sample.urls.starts_with("nfs") { "NFSv3" } else { "iSCSI" };
        let vms = sample.workers * sample.hosts * sample.datastores;
        let pattern = match sample.random_pct {
            p if p >= 100.0 => "random",
            p if p <= 0.0 => "sequential",
            _ => "mixed",
        };
        let note = if sample.steady { "" } else { "steady state not attained" };
        let latency_ms = sample.latency_mean_ns / 1e6;
        for (metric, value, unit) in [
            ("iops", sample.iops, "IOPS"),
            ("throughput", sample.mib_per_s, "MiB/s"),
            ("latency", latency_ms, "ms"),
        ] {
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "plimsoll probe,{platform},{protocol},,{},{},{},{vms},,{},{},{pattern},{:.0},,{metric},{value:.6},{unit},{note}",
                sample.hosts,
                sample.datastores,
                sample.flows_total,
                sample.depth * vms,
                sample.block_bytes / 1024.0,
                sample.read_pct,
            );
        }
    }
    out
}
