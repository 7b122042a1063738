//! Whether a measurement may be used: errors, Little's law, steady state, a loader that limits.
//!
//! A bad sample is measured again or set aside with its reason; it is never used in silence.

use crate::series::DISAGREEMENT_LN;
use serde::{Deserialize, Serialize};

/// Busy share of the load generator from which it, not the storage, may be what was measured.
pub const CLIENT_BUSY: f64 = 0.9;

/// One workload's result at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// Index of the workload in the plan.
    pub workload: usize,
    /// Rate in the workload's unit: IOPS, or MiB/s for throughput.
    pub value: f64,
    /// Operations a second, for Little's law.
    pub iops: Option<f64>,
    /// Mean response time, ms.
    pub latency_ms: Option<f64>,
    /// Outstanding I/Os in all.
    pub outstanding: Option<f64>,
    /// Whether the rate was steady.
    pub steady: bool,
    /// Busy share of the busiest core of the load generators, 0-1.
    pub client_busy: Option<f64>,
    /// Operations that failed.
    pub errors: u64,
}

/// What to do with a sample.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "do", content = "reason")]
pub enum Verdict {
    /// Use it.
    Use,
    /// Measure it again: chance may have spoilt it.
    Again(String),
    /// Set it aside: measuring again would find the same.
    SetAside(String),
}

impl Sample {
    /// Judges the sample.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        if !(self.value > 0.0 && self.value.is_finite()) {
            return Verdict::Again(format!("its rate is {}", self.value));
        }
        if self.errors > 0 {
            return Verdict::Again(format!("{} operations failed", self.errors));
        }
        if let Some(busy) = self.client_busy.filter(|busy| *busy >= CLIENT_BUSY) {
            return Verdict::SetAside(format!(
                "a load generator was {:.0} % busy: its own limit was measured",
                100.0 * busy
            ));
        }
        if let (Some(iops), Some(ms), Some(outstanding)) =
            (self.iops, self.latency_ms, self.outstanding)
        {
            let ratio = iops * ms / 1000.0 / outstanding;
            if ratio.ln().abs() > DISAGREEMENT_LN {
                return Verdict::Again(format!(
                    "rate x latency is {:.1}, outstanding is {outstanding:.0}: Little's law is off by a factor of {ratio:.2}",
                    iops * ms / 1000.0
                ));
            }
        }
        if !self.steady {
            return Verdict::Again("its rate was not steady".to_owned());
        }
        Verdict::Use
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Sample {
        Sample {
            workload: 0,
            value: 50_000.0,
            iops: Some(50_000.0),
            latency_ms: Some(0.64),
            outstanding: Some(32.0),
            steady: true,
            client_busy: Some(0.4),
            errors: 0,
        }
    }

    #[test]
    fn each_fault_is_named() {
        assert_eq!(sample().verdict(), Verdict::Use);
        let says = |sample: Sample| match sample.verdict() {
            Verdict::Use => "use".to_owned(),
            Verdict::Again(reason) => format!("again: {reason}"),
            Verdict::SetAside(reason) => format!("aside: {reason}"),
        };
        let off = says(Sample { latency_ms: Some(0.9), ..sample() });
        assert!(off.starts_with("again") && off.contains("1.41"), "{off}");
        assert!(says(Sample { steady: false, ..sample() }).contains("not steady"));
        assert!(says(Sample { errors: 3, ..sample() }).contains("3 operations"));
        assert!(says(Sample { client_busy: Some(0.97), ..sample() }).starts_with("aside"));
        assert!(says(Sample { value: 0.0, ..sample() }).starts_with("again"));
        // Unknown is not zero: without a latency there is nothing to check.
        assert_eq!(says(Sample { latency_ms: None, ..sample() }), "use");
    }
}
