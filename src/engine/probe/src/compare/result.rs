//! A comparison as data: what `plimsoll probe compare --format json` prints (docs/probe-schema.json,
//! `$defs.comparison`). Units stand in the names.

use serde::{Deserialize, Serialize};

use crate::{measure::Summary, workload::Workload};

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// Two or more ways to an array, measured in turns with the same workloads.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Comparison {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `plimsoll probe compare`.
    pub tool: String,
    /// Version of the tool.
    pub tool_version: String,
    /// Start, milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
    /// Wall time of everything.
    pub elapsed_seconds: f64,
    /// Rounds asked for; each measures every side once, in the order of the sides.
    pub rounds: u32,
    /// The ways, in the order given; all are put beside the first.
    pub sides: Vec<Side>,
    /// One per workload.
    pub stages: Vec<Stage>,
    /// What others measured.
    pub reference: Option<Reference>,
    /// Why the comparison is suspect, each `code: text`.
    pub warnings: Vec<String>,
    /// Why it ended early.
    pub stopped: Option<String>,
}

/// A way to the array.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Side {
    /// `A`, `B`, …
    pub name: String,
    /// URL, without secrets.
    pub url: String,
    /// Serial number or export path.
    pub identity: String,
    /// Size.
    pub capacity_bytes: u64,
    /// Process of the target on this machine, when one was named.
    pub target_pid: Option<u32>,
}

/// A workload over all sides.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// All of it.
    pub workload: Workload,
    /// One per side.
    pub sides: Vec<Measured>,
    /// One per side after the first.
    pub changes: Vec<Change>,
}

/// What one side did with a workload.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measured {
    /// Name of the side.
    pub side: String,
    /// Every round.
    pub rounds: Vec<Round>,
    /// Completed I/Os a second, over the rounds.
    pub iops: Spread,
    /// Completed MiB a second, over the rounds.
    pub mib_per_s: Spread,
    /// Latency of all rounds together, from their merged histograms.
    pub latency_ns: Summary,
    /// CPU microseconds of the measuring threads per I/O, over the rounds.
    pub probe_cpu_us_per_io: Spread,
    /// CPU microseconds of the target's process per I/O, over the rounds, where its process was named.
    pub target_cpu_us_per_io: Option<Spread>,
    /// I/Os that failed, all rounds.
    pub errors: u64,
    /// What set the rate.
    pub limit: Limit,
    /// Why a round is suspect, each `code: text`, once.
    pub warnings: Vec<String>,
}

/// One measurement of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Completed I/Os a second.
    pub iops: f64,
    /// Completed MiB a second.
    pub mib_per_s: f64,
    /// Mean latency.
    pub latency_mean_ns: f64,
    /// Median latency.
    pub latency_p50_ns: u64,
    /// 99th percentile.
    pub latency_p99_ns: u64,
    /// CPU microseconds of the measuring threads per I/O.
    pub probe_cpu_us_per_io: f64,
    /// Mean share of a measuring thread that was busy, percent.
    pub probe_busy_pct: f64,
    /// CPU microseconds of the target's process per I/O.
    pub target_cpu_us_per_io: Option<f64>,
    /// Share of the target's busiest thread that was busy, percent.
    pub target_busiest_pct: Option<f64>,
    /// Share of this machine's CPU time that was busy, percent.
    pub machine_busy_pct: Option<f64>,
    /// Share of this machine's CPU time that the probe and the named target took, percent.
    pub own_busy_pct: Option<f64>,
    /// Share of the link's rate that was carried in the busier direction, percent.
    pub link_busy_pct: Option<f64>,
    /// I/Os under way on average.
    pub in_flight: f64,
}

/// A figure over the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spread {
    /// Median.
    pub median: f64,
    /// Lowest.
    pub low: f64,
    /// Highest.
    pub high: f64,
}

impl Spread {
    /// Over some values; all zero over none.
    #[must_use]
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
            return Self::default();
        };
        let middle = sorted.len() / 2;
        let median = if sorted.len().is_multiple_of(2) {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        } else {
            sorted[middle]
        };
        Self { median, low, high }
    }
}

/// What changed from the first side to another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Change {
    /// Name of the other side.
    pub side: String,
    /// Name of the first side.
    pub against: String,
    /// I/Os a second, other over first, round by round.
    pub iops_ratio: Spread,
    /// Median latency, other over first, round by round.
    pub latency_p50_ratio: Spread,
    /// 99th percentile, other over first, round by round.
    pub latency_p99_ratio: Spread,
    /// CPU of the probe per I/O, other over first, round by round.
    pub probe_cpu_ratio: Spread,
    /// CPU of the target per I/O, other over first, round by round.
    pub target_cpu_ratio: Option<Spread>,
    /// Whether every round agrees which is faster: the ratios of I/Os a second do not straddle 1.
    pub clear: bool,
    /// What set the rate before.
    pub limit_before: Resource,
    /// What sets it after.
    pub limit_after: Resource,
    /// In words.
    pub sentence: String,
}

/// What set the rate, with the figure that says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The resource.
    pub resource: Resource,
    /// Why it is taken for that.
    pub evidence: String,
}

/// Something that can set the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A thread of the probe.
    ProbeCpu,
    /// A thread of the target.
    TargetCpu,
    /// All cores of this machine together.
    MachineCpu,
    /// The link.
    Link,
    /// The I/Os that the session or the connections let be under way.
    FlowWindow,
    /// The target's queue: it said busy or task set full.
    TargetQueue,
    /// What was offered in the open loop: nothing was exhausted.
    OfferedRate,
    /// None of these: the time went by at the store, or in the target before it.
    Store,
}

impl Resource {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::ProbeCpu => "CPU of the probe",
            Self::TargetCpu => "CPU of the target",
            Self::MachineCpu => "CPU of this machine",
            Self::Link => "link",
            Self::FlowWindow => "flow window",
            Self::TargetQueue => "queue of the target",
            Self::OfferedRate => "offered rate",
            Self::Store => "store",
        }
    }
}

/// What others measured, put beside.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reference {
    /// Source with its date.
    pub source: String,
    /// What was measured with.
    pub setting: String,
    /// Each result in a line.
    pub results: Vec<String>,
    /// What the source says against itself.
    pub contradictions: Vec<String>,
}
