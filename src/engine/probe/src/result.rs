//! The result of a run, as data: the schema of `--format json` (docs/probe-schema.json).
//!
//! Units stand in the names. Percentiles come from merged histograms. Fields may be added; a field that
//! goes or changes its meaning raises `schema_version`.

use serde::{Deserialize, Serialize};

use crate::{
    measure::{Failures, Flow, Histogram, SteadyState, Summary},
    workload::Workload,
};

/// Version of the result's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// Everything a run measured.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResultSet {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `plimsoll probe`.
    pub tool: String,
    /// Version of the tool.
    pub tool_version: String,
    /// Start of the run, milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// Wall time of the whole run, seconds.
    pub elapsed_seconds: f64,
    /// Hosts that drove the load; `local` for this process.
    pub hosts: Vec<String>,
    /// The workloads that were run, in order, each with its sum over all targets.
    pub stages: Vec<Stage>,
    /// One entry per stage and target.
    pub results: Vec<TargetResult>,
    /// The sum over all results; with several stages over unlike workloads, so look at `stages` then.
    pub total: Figures,
    /// The guard that ended the run early, if one did.
    pub stopped: Option<Stopped>,
    /// Warnings of all results, each `code: text`.
    pub warnings: Vec<String>,
}

/// A workload that was run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// All of it.
    pub workload: Workload,
    /// Sum over all targets.
    pub total: Figures,
    /// Per second, over all targets.
    pub seconds: Vec<Second>,
}

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stopped {
    /// `errors`, `latency`, `stall`, `bytes`, `time`, `integrity`, `datastore`, `cancelled`.
    pub guard: String,
    /// In words.
    pub what: String,
}

/// Figures of a measurement.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Figures {
    /// Completed I/Os a second.
    pub iops: f64,
    /// Completed MiB a second.
    pub mib_per_s: f64,
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes of completed I/Os.
    pub bytes: u64,
    /// Seconds measured, ramp excluded.
    pub measured_seconds: f64,
    /// Latency: from issue in the closed loop, from the intended time in the open loop.
    pub latency_ns: Summary,
    /// Open loop: from issue to completion, without the wait before.
    pub service_ns: Option<Summary>,
    /// Reads.
    pub read: Side,
    /// Writes.
    pub write: Side,
    /// I/Os that failed; they are in no rate and no histogram.
    pub errors: u64,
    /// The same by reason.
    pub failures: Failures,
    /// CPU seconds of the measuring threads.
    pub cpu_seconds: f64,
    /// Of these, in user space.
    pub cpu_user_seconds: f64,
    /// Of these, in the kernel.
    pub cpu_system_seconds: f64,
    /// CPU microseconds per completed I/O.
    pub cpu_us_per_io: f64,
    /// Context switches of the measuring threads.
    pub context_switches: u64,
    /// Self-test by Little's law.
    pub littles_law: LittlesLaw,
    /// Whether the steady state was attained.
    pub steady: bool,
    /// The verdict with its figures.
    pub steady_state: SteadyState,
}

/// One direction.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Side {
    /// Completed I/Os a second.
    pub iops: f64,
    /// Completed MiB a second.
    pub mib_per_s: f64,
    /// Completed I/Os.
    pub ios: u64,
    /// Bytes of completed I/Os.
    pub bytes: u64,
    /// Latency.
    pub latency_ns: Summary,
    /// The histogram behind `latency_ns`.
    #[serde(skip)]
    pub histogram: Histogram,
}

/// I/Os under way, measured, against rate times mean time in service.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LittlesLaw {
    /// Mean number of I/Os under way, integrated over time.
    pub in_flight_measured: f64,
    /// I/Os a second times mean seconds in service.
    pub in_flight_expected: f64,
    /// Measured over expected; 0 when nothing completed.
    pub ratio: f64,
    /// Whether both agree within 10 %.
    pub holds: bool,
}

/// A second of the series.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Second {
    /// Number since the start of the ramp.
    pub second: u32,
    /// Whether it belongs to the ramp and so not to the figures.
    pub ramp: bool,
    /// Seconds covered: 1, or less for the last of ramp or run.
    pub seconds: f64,
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
    /// Median latency.
    pub latency_p50_ns: u64,
    /// 99th percentile.
    pub latency_p99_ns: u64,
    /// Largest latency.
    pub latency_max_ns: u64,
    /// Failed I/Os.
    pub errors: u64,
    /// I/Os under way, mean.
    pub in_flight: f64,
}

/// The result of one target in one stage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TargetResult {
    /// URL, without secrets.
    pub url: String,
    /// Name of the stage.
    pub stage: String,
    /// Serial number or export path.
    pub identity: String,
    /// Size of the datastore.
    pub capacity_bytes: u64,
    /// `closed` or `open`.
    pub mode: String,
    /// Workers over all hosts.
    pub workers: u32,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// What each connection did.
    pub flows: Vec<Flow>,
    /// Open loop: the rate asked for.
    pub rate_iops: Option<f64>,
    /// Open loop: I/Os that were due and not issued when the time was over.
    pub backlog: u64,
    /// I/Os without an answer when waiting for them was given up.
    pub unfinished: u64,
    /// Seconds after which the first worker was done.
    pub first_done_seconds: f64,
    /// Seconds after which the last worker was done.
    pub last_done_seconds: f64,
    /// Share of reads that began with zeroes, percent.
    pub empty_reads_pct: f64,
    /// Integrity mode: bytes read that this run never wrote.
    pub unstamped_bytes: u64,
    /// The first failures, in words.
    pub failure_examples: Vec<String>,
    /// The first wrong blocks, in words.
    pub corrupt_examples: Vec<String>,
    /// The series.
    pub seconds: Vec<Second>,
    /// Why this measurement is suspect, each `code: text`.
    pub warnings: Vec<String>,
}
