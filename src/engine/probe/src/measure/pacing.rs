//! Arrival times of the open loop, in nanoseconds since the start of the run.
//!
//! The schedule depends on nothing but rate and seed: a slow datastore does not slow it down, which is
//! what makes latency from the intended time honest (no coordinated omission).

use crate::{random::Random, workload::Arrivals};

/// The schedule of one worker.
#[derive(Debug, Clone)]
pub struct Pacer {
    mean_gap_nanos: f64,
    arrivals: Arrivals,
    random: Random,
    next_nanos: f64,
}

impl Pacer {
    /// `iops` of this worker; workers of fixed arrivals are spread over one gap.
    #[must_use]
    pub fn new(iops: f64, arrivals: Arrivals, seed: u64, worker: u32, workers: u32) -> Self {
        let mean_gap_nanos = 1e9 / iops.max(1e-9);
        let mut random = Random::new(seed, 0xa441_0000 + u64::from(worker));
        let next_nanos = match arrivals {
            Arrivals::Fixed => mean_gap_nanos * f64::from(worker) / f64::from(workers.max(1)),
            Arrivals::Poisson => mean_gap_nanos * random.exponential(),
        };
        Self { mean_gap_nanos, arrivals, random, next_nanos }
    }

    /// When the next I/O is due.
    #[inline]
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, saturates"
    )]
    pub fn due_nanos(&self) -> u64 {
        self.next_nanos as u64
    }

    /// Goes on to the one after.
    #[inline]
    pub fn advance(&mut self) {
        self.next_nanos += match self.arrivals {
            Arrivals::Fixed => self.mean_gap_nanos,
            Arrivals::Poisson => self.mean_gap_nanos * self.random.exponential(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(mut pacer: Pacer, count: usize) -> Vec<u64> {
        (0..count)
            .map(|_| {
                let due = pacer.due_nanos();
                pacer.advance();
                due
            })
            .collect()
    }

    #[test]
    fn fixed_arrivals_keep_the_rate_without_drift() {
        for iops in [7.0, 333.3, 123_456.0] {
            let count = 1_000_000;
            let all = arrivals(Pacer::new(iops, Arrivals::Fixed, 1, 0, 1), count);
            let rate = (count - 1) as f64 / all[count - 1] as f64 * 1e9;
            assert!((rate / iops - 1.0).abs() < 1e-6, "{rate} for {iops}");
        }
    }

    #[test]
    fn fixed_arrivals_of_workers_interleave() {
        let two = arrivals(Pacer::new(1000.0, Arrivals::Fixed, 1, 1, 4), 2);
        assert_eq!(two, [250_000, 1_250_000]);
    }

    /// Kolmogorov-Smirnov: 1.95 / sqrt(n) is the 0.1 % point for a fully given distribution.
    #[test]
    fn poisson_arrivals_are_exponential() {
        for (seed, worker) in [(1, 0), (2, 0), (1, 1)] {
            let all = arrivals(Pacer::new(5000.0, Arrivals::Poisson, seed, worker, 2), 20_000);
            let mut gaps: Vec<f64> =
                all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 200_000.0).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean - 1.0).abs() < 0.03, "mean {mean}");
            gaps.sort_by(f64::total_cmp);
            let count = gaps.len() as f64;
            let distance = gaps
                .iter()
                .enumerate()
                .map(|(index, gap)| {
                    let expected = 1.0 - (-gap).exp();
                    let below = index as f64 / count;
                    (expected - below).abs().max((expected - below - 1.0 / count).abs())
                })
                .fold(0.0, f64::max);
            assert!(distance < 1.95 / count.sqrt(), "KS distance {distance}");
        }
    }

    #[test]
    fn poisson_gaps_do_not_depend_on_each_other() {
        let all = arrivals(Pacer::new(1000.0, Arrivals::Poisson, 9, 0, 1), 50_000);
        let gaps: Vec<f64> =
            all.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1e6 - 1.0).collect();
        let lagged = gaps.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / gaps.len() as f64;
        assert!(lagged.abs() < 0.02, "correlation {lagged}");
    }
}
