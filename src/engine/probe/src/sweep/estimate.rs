//! What a sweep will take, told before it starts.

use std::fmt;

use super::Point;
use crate::{command::Request, guard::workspace, text::show_bytes, workload::Load};

/// Seconds a point takes besides ramp and measurement: opening, closing, waiting for the last I/Os.
const OVERHEAD_SECONDS: f64 = 0.6;
/// Rate assumed per host when nothing else is known: what a 10 GbE wire carries.
const WIRE_BYTES_PER_SECOND: f64 = 1.2e9;

/// Time and bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Points.
    pub points: usize,
    /// Seconds in all.
    pub seconds: f64,
    /// Bytes moved in all, at most, if every host had a 10 GbE wire.
    pub bytes: f64,
    /// Of these, written.
    pub written_bytes: f64,
}

impl Estimate {
    /// Of these points.
    #[must_use]
    pub fn of(points: &[Point], request: &Request) -> Self {
        let mut estimate =
            Self { points: points.len(), seconds: 0.0, bytes: 0.0, written_bytes: 0.0 };
        for point in points {
            let workload = &point.workload;
            let seconds = workload.planned_seconds();
            let wire = f64::from(point.hosts) * WIRE_BYTES_PER_SECOND;
            let rate = match workload.load {
                Load::Closed => wire,
                Load::Open { iops, .. } => {
                    (iops * f64::from(point.datastores) * workload.mean_block_bytes()).min(wire)
                }
            };
            let mut bytes = rate * seconds;
            if let Some(limit) = workload.limit_bytes {
                #[expect(clippy::cast_precision_loss, reason = "an estimate")]
                let limit = limit as f64 * f64::from(point.datastores);
                bytes = bytes.min(limit);
            }
            let write_share = 1.0 - workload.read_pct() / 100.0;
            estimate.seconds += seconds + OVERHEAD_SECONDS;
            estimate.bytes += bytes;
            estimate.written_bytes += bytes * write_share;
            let filled = fill_bytes(point, request);
            estimate.seconds += filled / wire;
            estimate.bytes += filled;
            estimate.written_bytes += filled;
        }
        estimate
    }
}

/// Bytes written before a point to make its NFS files, or its whole working set when that is asked for.
fn fill_bytes(point: &Point, request: &Request) -> f64 {
    let workload = &point.workload;
    let urls = request.urls.iter().take(point.datastores as usize);
    let files = urls.filter(|url| url.starts_with("nfs:")).count();
    let own_files = !request.permission.names.is_empty() && workload.reads() && !request.no_prefill;
    let count = if workload.prefill {
        point.datastores as usize
    } else if own_files {
        files
    } else {
        0
    };
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let bytes =
        count as f64 * workload.working_set_bytes.unwrap_or(workspace::DEFAULT_BYTES) as f64;
    bytes
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let minutes = self.seconds / 60.0;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an estimate")]
        let show = |bytes: f64| show_bytes((bytes / 1_048_576.0).round() as u64 * 1_048_576);
        write!(
            f,
            "{} points, about {minutes:.1} minutes, at most {} moved ({} written) at 10 GbE per host",
            self.points,
            show(self.bytes),
            show(self.written_bytes)
        )
    }
}
