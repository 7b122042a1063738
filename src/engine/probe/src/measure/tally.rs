//! What a worker counts in a second and tells at its end; everything here merges by addition.

use std::time::Duration;

use plimsoll_initiator::{FlowCounters, FlowState, Outcome};
use serde::{Deserialize, Serialize};

use super::{CpuSeconds, Histogram};

/// One direction in an interval.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Direction {
    /// Completed I/Os.
    pub ios: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Latency: from issue in the closed loop, from the intended time in the open loop.
    pub latency: Histogram,
}

impl Direction {
    /// Counts a completed I/O.
    #[inline]
    pub fn record(&mut self, bytes: u32, latency_nanos: u64) {
        self.ios += 1;
        self.bytes += u64::from(bytes);
        self.latency.record(latency_nanos);
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }

    fn clear(&mut self) {
        (self.ios, self.bytes) = (0, 0);
        self.latency.clear();
    }
}

/// I/Os that did not complete, by reason; none of them is in a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Failures {
    /// BUSY after all retries.
    pub busy: u64,
    /// TASK SET FULL after all retries.
    pub task_set_full: u64,
    /// Unit attention after all retries.
    pub unit_attention: u64,
    /// RESERVATION CONFLICT.
    pub reservation_conflict: u64,
    /// CHECK CONDITION or another SCSI status.
    pub scsi: u64,
    /// NFS status.
    pub nfs: u64,
    /// Short transfers.
    pub short: u64,
    /// Without an answer.
    pub lost: u64,
    /// Blocks that came back wrong in integrity mode.
    pub corrupt: u64,
}

impl Failures {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.busy
            + self.task_set_full
            + self.unit_attention
            + self.reservation_conflict
            + self.scsi
            + self.nfs
            + self.short
            + self.lost
            + self.corrupt
    }

    /// Counts an outcome that is not `Done`.
    pub fn count(&mut self, outcome: &Outcome) {
        let counter = match outcome {
            Outcome::Done => return,
            Outcome::Busy => &mut self.busy,
            Outcome::TaskSetFull => &mut self.task_set_full,
            Outcome::UnitAttention(..) => &mut self.unit_attention,
            Outcome::ReservationConflict => &mut self.reservation_conflict,
            Outcome::CheckCondition(_) | Outcome::Status(_) => &mut self.scsi,
            Outcome::Nfs(_) => &mut self.nfs,
            Outcome::Short => &mut self.short,
            Outcome::Lost(_) => &mut self.lost,
        };
        *counter += 1;
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Self) {
        self.busy += other.busy;
        self.task_set_full += other.task_set_full;
        self.unit_attention += other.unit_attention;
        self.reservation_conflict += other.reservation_conflict;
        self.scsi += other.scsi;
        self.nfs += other.nfs;
        self.short += other.short;
        self.lost += other.lost;
        self.corrupt += other.corrupt;
    }
}

/// A second of one worker.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Number of the second since the start of the run, ramp included.
    pub second: u32,
    /// Whether it belongs to the ramp.
    pub ramp: bool,
    /// Whether it holds what ended after the time was over: latencies count, rates do not.
    pub late: bool,
    /// Seconds it covers; the last one may be short.
    pub seconds: f64,
    /// Reads.
    pub read: Direction,
    /// Writes.
    pub write: Direction,
    /// Time from issue to completion, both directions, in the open loop only.
    pub service: Histogram,
    /// Failed I/Os.
    pub failures: Failures,
    /// I/Os under way integrated over the second, in I/O seconds.
    pub in_flight_seconds: f64,
    /// I/Os under way at its end.
    pub in_flight: u32,
    /// Turns of the loop.
    pub turns: u64,
    /// Reads whose data began with 16 zero bytes: blocks never written, most likely.
    pub empty_reads: u64,
    /// Bytes of blocks found without a stamp in integrity mode: never written by this run.
    pub unstamped_bytes: u64,
}

impl Interval {
    /// Adds another worker's same second.
    pub fn merge(&mut self, other: &Self) {
        self.seconds = self.seconds.max(other.seconds);
        self.read.merge(&other.read);
        self.write.merge(&other.write);
        self.service.merge(&other.service);
        self.failures.merge(&other.failures);
        self.in_flight_seconds += other.in_flight_seconds;
        self.in_flight += other.in_flight;
        self.turns += other.turns;
        self.empty_reads += other.empty_reads;
        self.unstamped_bytes += other.unstamped_bytes;
    }

    /// As new, with its memory kept.
    pub fn clear(&mut self) {
        self.read.clear();
        self.write.clear();
        self.service.clear();
        self.failures = Failures::default();
        (self.second, self.ramp, self.late, self.seconds) = (0, false, false, 0.0);
        (self.in_flight_seconds, self.in_flight) = (0.0, 0);
        (self.turns, self.empty_reads, self.unstamped_bytes) = (0, 0, 0);
    }

    /// Completed I/Os.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.read.ios + self.write.ios
    }

    /// Bytes of completed I/Os.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.read.bytes + self.write.bytes
    }
}

/// What a flow did during the measurement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Flow {
    /// Path in words.
    pub name: String,
    /// Worker it belongs to.
    pub worker: u32,
    /// `up`, `standby`, `connecting` or `down` at the end.
    pub state: String,
    /// Completed I/Os.
    pub ios: u64,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second, in MiB.
    pub mib_per_s: f64,
    /// I/Os under way at the end.
    pub in_flight: u32,
    /// What it runs over: `tcp` or `iser`.
    #[serde(default)]
    pub transport: String,
    /// TCP segments sent again.
    pub retransmits: u64,
    /// Smoothed round trip of TCP, microseconds.
    pub rtt_us: u32,
    /// Changes to this flow by the policy.
    pub path_switches: u64,
    /// Connections made again.
    pub reconnects: u64,
    /// Why a connection was last lost, if any was.
    #[serde(default)]
    pub last_loss: Option<String>,
    /// I/Os sent again after a loss.
    pub reissued: u64,
    /// BUSY or JUKEBOX answers, retried.
    pub busy: u64,
    /// TASK SET FULL answers, retried.
    pub task_set_full: u64,
    /// Unit attentions, retried.
    pub unit_attentions: u64,
    /// Answers that ended an I/O with an error.
    pub errors: u64,
    /// Changed NFS write verifiers.
    pub verifier_changes: u64,
}

impl Flow {
    /// The difference of two readings.
    #[must_use]
    pub fn between(
        before: Option<&FlowCounters>,
        after: &FlowCounters,
        worker: u32,
        time: Duration,
    ) -> Self {
        let zero = FlowCounters::default();
        let before = before.unwrap_or(&zero);
        let state = match after.state {
            FlowState::Up => "up",
            FlowState::Standby => "standby",
            FlowState::Connecting => "connecting",
            FlowState::Down => "down",
        };
        let less = |new: u64, old: u64| new.saturating_sub(old);
        let reads = less(after.reads, before.reads);
        let writes = less(after.writes, before.writes);
        let bytes = less(after.read_bytes, before.read_bytes)
            + less(after.written_bytes, before.written_bytes);
        let seconds = time.as_secs_f64().max(1e-9);
        #[expect(clippy::cast_precision_loss, reason = "rates")]
        let (iops, mib_per_s) =
            ((reads + writes) as f64 / seconds, bytes as f64 / seconds / 1_048_576.0);
        Self {
            name: after.name.clone(),
            worker,
            state: state.to_owned(),
            ios: reads + writes,
            reads,
            writes,
            bytes,
            iops,
            mib_per_s,
            in_flight: after.in_flight,
            transport: after.transport.to_string(),
            retransmits: less(after.retransmits, before.retransmits),
            rtt_us: after.rtt_us,
            path_switches: less(after.path_switches, before.path_switches),
            reconnects: less(after.reconnects, before.reconnects),
            last_loss: after.last_loss.clone(),
            reissued: less(after.reissued, before.reissued),
            busy: less(after.busy, before.busy),
            task_set_full: less(after.task_set_full, before.task_set_full),
            unit_attentions: less(after.unit_attentions, before.unit_attentions),
            errors: less(after.errors, before.errors),
            verifier_changes: less(after.verifier_changes, before.verifier_changes),
        }
    }
}

/// What a worker tells when it has finished.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WorkerEnd {
    /// Seconds it measured, ramp excluded.
    pub measured_seconds: f64,
    /// CPU time of its thread during that time.
    pub cpu: CpuSeconds,
    /// Its flows.
    pub flows: Vec<Flow>,
    /// I/Os that were due but not yet issued when the time was over (open loop).
    pub backlog: u64,
    /// I/Os without an answer when the worker gave up waiting for them.
    pub unfinished: u64,
    /// Whether it ended because its bytes were done.
    pub reached_limit: bool,
    /// The first wrong blocks, in words.
    pub corrupt_examples: Vec<String>,
    /// The first failures, in words.
    pub failure_examples: Vec<String>,
}
