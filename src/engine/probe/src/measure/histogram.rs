//! Latency histograms: 1 µs to 10 minutes with three significant digits (below 1 µs to the nanosecond),
//! merged by adding counts, never by averaging percentiles. Samples beyond the range are counted.

use std::fmt;

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Ten minutes.
pub const HIGHEST_NANOS: u64 = 600_000_000_000;

/// A histogram of nanoseconds.
#[derive(Clone)]
pub struct Histogram {
    counts: Hdr<u64>,
    saturated: u64,
    /// Exact sum: the mean is not made from buckets.
    sum_nanos: u128,
    max_nanos: u64,
    min_nanos: u64,
}

/// What a histogram says, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Arithmetic mean, exact.
    pub mean: f64,
    /// Smallest, exact.
    pub min: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 95th percentile.
    pub p95: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p99_9: u64,
    /// 99.99th percentile.
    pub p99_99: u64,
    /// Largest, exact.
    pub max: u64,
    /// Standard deviation.
    pub stddev: f64,
    /// Samples.
    pub count: u64,
    /// Samples beyond ten minutes, counted at ten minutes.
    pub saturated: u64,
}

impl fmt::Debug for Histogram {
    /// The figures; its thirty thousand buckets help nobody.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary().fmt(f)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// An empty histogram.
    #[must_use]
    pub fn new() -> Self {
        #[expect(clippy::expect_used, reason = "constant bounds: low 1, high > 2, 3 digits")]
        let counts = Hdr::new_with_bounds(1, HIGHEST_NANOS, 3).expect("constant bounds are valid");
        Self { counts, saturated: 0, sum_nanos: 0, max_nanos: 0, min_nanos: u64::MAX }
    }

    /// Adds a sample.
    #[inline]
    pub fn record(&mut self, nanos: u64) {
        self.saturated += u64::from(nanos > HIGHEST_NANOS);
        self.sum_nanos += u128::from(nanos);
        self.max_nanos = self.max_nanos.max(nanos);
        self.min_nanos = self.min_nanos.min(nanos);
        self.counts.saturating_record(nanos.min(HIGHEST_NANOS));
    }

    /// Adds all samples of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count() == 0 {
            return;
        }
        self.saturated += other.saturated;
        self.sum_nanos += other.sum_nanos;
        self.max_nanos = self.max_nanos.max(other.max_nanos);
        self.min_nanos = self.min_nanos.min(other.min_nanos);
        // Cannot fail: the bounds of all histograms are the same.
        let _ = self.counts.add(&other.counts);
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        if self.count() > 0 {
            self.counts.reset();
            (self.saturated, self.sum_nanos) = (0, 0);
            (self.max_nanos, self.min_nanos) = (0, u64::MAX);
        }
    }

    /// Samples.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// Samples beyond the range.
    #[must_use]
    pub fn saturated(&self) -> u64 {
        self.saturated
    }

    /// Largest sample, exact; 0 when empty.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.max_nanos
    }

    /// Exact mean; 0 when empty.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "statistics")]
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_nanos as f64 / self.count() as f64 }
    }

    /// The value at or below which this share of the samples lies; 0 when empty.
    #[must_use]
    pub fn quantile(&self, share: f64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        let value = self.counts.value_at_quantile(share).min(self.max_nanos);
        if value == 0 { 0 } else { value.max(self.min_nanos) }
    }

    /// The usual figures.
    #[must_use]
    pub fn summary(&self) -> Summary {
        if self.count() == 0 {
            return Summary::default();
        }
        Summary {
            mean: self.mean(),
            min: self.min_nanos,
            p50: self.quantile(0.5),
            p90: self.quantile(0.9),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            p99_9: self.quantile(0.999),
            p99_99: self.quantile(0.9999),
            max: self.max_nanos,
            stddev: self.counts.stdev(),
            count: self.count(),
            saturated: self.saturated,
        }
    }

    /// Every bucket that holds samples: its highest value and their number.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.counts
            .iter_recorded()
            .map(|entry| (entry.value_iterated_to(), entry.count_since_last_iteration()))
    }
}

/// The form between processes: buckets that hold something, and the exact figures.
#[derive(Serialize, Deserialize)]
struct Wire {
    buckets: Vec<(u64, u64)>,
    saturated: u64,
    sum_nanos: u128,
    max_nanos: u64,
    min_nanos: u64,
}

impl Serialize for Histogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Wire {
            buckets: self.buckets().collect(),
            saturated: self.saturated,
            sum_nanos: self.sum_nanos,
            max_nanos: self.max_nanos,
            min_nanos: self.min_nanos,
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        let mut histogram = Self::new();
        for (value, count) in wire.buckets {
            if value == 0 && count == 0 {
                continue;
            }
            histogram
                .counts
                .record_n(value.min(HIGHEST_NANOS), count)
                .map_err(|_| D::Error::custom("a bucket lies outside of the histogram"))?;
        }
        histogram.saturated = wire.saturated;
        histogram.sum_nanos = wire.sum_nanos;
        histogram.max_nanos = wire.max_nanos;
        histogram.min_nanos = wire.min_nanos;
        Ok(histogram)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn percentiles_are_right_to_three_digits() {
        // Exponential with mean 200 µs: its percentiles are known in closed form.
        let mut histogram = Histogram::new();
        let mut random = Random::new(3, 3);
        let mut samples: Vec<u64> =
            (0..400_000).map(|_| (random.exponential() * 200_000.0) as u64).collect();
        for &sample in &samples {
            histogram.record(sample);
        }
        samples.sort_unstable();
        for share in [0.5, 0.9, 0.99, 0.999] {
            let exact = samples[(share * samples.len() as f64) as usize] as f64;
            let told = histogram.quantile(share) as f64;
            assert!((told / exact - 1.0).abs() < 0.0011, "{share}: {told} against {exact}");
            let theory = -(1.0f64 - share).ln() * 200_000.0;
            assert!((told / theory - 1.0).abs() < 0.05, "{share}: {told} against {theory}");
        }
        let mean = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
        assert!((histogram.mean() - mean).abs() < 1e-6);
        assert_eq!(histogram.summary().max, *samples.last().unwrap());
    }

    #[test]
    fn merging_is_the_same_as_recording_together() {
        let (mut one, mut other, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for value in 1..10_000u64 {
            let sample = value * value;
            if value % 3 == 0 {
                one.record(sample);
            } else {
                other.record(sample);
            }
            both.record(sample);
        }
        one.merge(&other);
        assert_eq!(one.summary(), both.summary());
        // Averaging the percentiles of two unlike halves gives something else.
        let (mut fast, mut slow) = (Histogram::new(), Histogram::new());
        (0..990).for_each(|_| fast.record(1_000));
        (0..10).for_each(|_| slow.record(1_000_000));
        let average = (fast.quantile(0.5) + slow.quantile(0.5)) / 2;
        fast.merge(&slow);
        assert_eq!(fast.quantile(0.5), 1_000);
        assert!(average > 400_000);
    }

    #[test]
    fn what_lies_beyond_is_counted_not_hidden() {
        let mut histogram = Histogram::new();
        histogram.record(HIGHEST_NANOS + 5);
        histogram.record(17_200_000_000);
        let summary = histogram.summary();
        assert_eq!((summary.saturated, summary.count), (1, 2));
        assert_eq!(summary.max, HIGHEST_NANOS + 5);
        assert!(summary.p50 >= 17_190_000_000);
    }

    #[test]
    fn survives_the_way_between_processes() {
        let mut histogram = Histogram::new();
        for value in [0, 1, 999, 12_345, 77_777_777, HIGHEST_NANOS + 1] {
            histogram.record(value);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        let back: Histogram = serde_json::from_str(&text).unwrap();
        assert_eq!(back.summary(), histogram.summary());
        assert!(serde_json::from_str::<Histogram>(&text.replace("12", "x")).is_err());
    }

    #[test]
    fn cleared_is_as_new() {
        let mut histogram = Histogram::new();
        histogram.record(5);
        histogram.clear();
        assert_eq!(histogram.summary(), Summary::default());
        histogram.record(7);
        assert_eq!((histogram.summary().min, histogram.summary().max), (7, 7));
    }
}
