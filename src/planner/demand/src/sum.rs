//! The 95th percentile of a sum of correlated lognormal loads.
//!
//! The load of a VM is `X = A · B`. `A`, its level, is what is not known when only the class is
//! known: it differs from VM to VM, independently. `B`, its swing over time, has mean 1 and is
//! correlated between VMs. Both are lognormal, so `X` is one with `shape² = level² + swing²`.
//!
//! The class table gives a planning peak `T` (class average of each VM's own 95th percentile over
//! time) and the average over time as a share `a` of it. From them, with `z = 1.645`:
//! - mean of `X` = `a·T`, so the median is `a·T·exp(-shape²/2)`;
//! - 95th percentile of `B` = `1/a`, so `z·swing - swing²/2 = -ln a`, `swing = z - sqrt(z² + 2 ln a)`
//!   (0.233 for `a` = 0.7).
//!
//! Only swings are common, so the covariance of two VMs is `μᵢ μⱼ (exp(ϱ swingᵢ swingⱼ) - 1)`, and for
//! many VMs `D = Σμ + z·sqrt(Σσ² + 2 Σ cov)`. Below [`SIMULATE_BELOW`] VMs the sum is still skewed
//! and is simulated instead. Against the simulation the formula is within 3 % for a mixed fleet and
//! 6 % low for one that swings as one (desktops alone).
//!
//! Correlations: one factor for the site and one for each class. Classes that swing together more
//! than the site does (desktops at boot, backups) have their own factor for the difference.

use crate::simulate;

/// 95 % point of the standard normal distribution (`statrs` agrees in a test).
pub(crate) const Z95: f64 = 1.644_853_626_951_472_2;

/// Below this number of VMs the sum is simulated.
pub(crate) const SIMULATE_BELOW: u64 = 50;

/// VMs with the same distribution of load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cohort {
    /// Mean load of one VM.
    pub mean: f64,
    /// Standard deviation of the logarithm.
    pub shape: f64,
    /// The part of it that is over time.
    pub swing: f64,
    /// Loading on the site's factor, 0-1 (a correlation).
    pub site: f64,
    /// Loading on the class's own factor, 0-1; `site + class` is the correlation inside the class.
    pub class: f64,
}

impl Cohort {
    /// From a planning peak, the average as a share of it, and correlations.
    pub fn new(peak: f64, average_of_peak: f64, shape: f64, inside: f64, site: f64) -> Self {
        let swing = Z95 - (Z95 * Z95 + 2.0 * average_of_peak.ln()).max(0.0).sqrt();
        let site = site.min(inside);
        Self {
            mean: average_of_peak * peak,
            shape: shape.max(swing),
            swing,
            site,
            class: inside - site,
        }
    }

    pub fn median(&self) -> f64 {
        self.mean * (-self.shape * self.shape / 2.0).exp()
    }

    /// 95th percentile of one VM.
    pub fn p95_of_one(&self) -> f64 {
        self.median() * (Z95 * self.shape).exp()
    }

    /// Standard deviation of the logarithm of the level.
    pub fn level(&self) -> f64 {
        (self.shape * self.shape - self.swing * self.swing).max(0.0).sqrt()
    }

    fn variance(&self) -> f64 {
        self.mean * self.mean * (self.shape * self.shape).exp_m1()
    }

    fn covariance_inside(&self) -> f64 {
        self.mean * self.mean * ((self.site + self.class) * self.swing * self.swing).exp_m1()
    }

    fn covariance(&self, other: &Self) -> f64 {
        let correlation = (self.site * other.site).sqrt();
        self.mean * other.mean * (correlation * self.swing * other.swing).exp_m1()
    }
}

/// Mean of the sum.
pub(crate) fn mean(cohorts: &[Cohort], vms: &[u64]) -> f64 {
    cohorts.iter().zip(vms).map(|(cohort, &vms)| count(vms) * cohort.mean).sum()
}

/// 95th percentile of the sum by the normal formula.
pub(crate) fn p95_normal(cohorts: &[Cohort], vms: &[u64]) -> f64 {
    mean(cohorts, vms) + Z95 * variance(cohorts, vms).sqrt()
}

fn variance(cohorts: &[Cohort], vms: &[u64]) -> f64 {
    let used: Vec<(&Cohort, f64)> = cohorts
        .iter()
        .zip(vms)
        .filter(|(_, vms)| **vms > 0)
        .map(|(cohort, &vms)| (cohort, count(vms)))
        .collect();
    let mut variance = 0.0;
    for (index, (cohort, vms)) in used.iter().enumerate() {
        variance += vms * cohort.variance() + vms * (vms - 1.0) * cohort.covariance_inside();
        for (other, others) in &used[index + 1..] {
            variance += 2.0 * vms * others * cohort.covariance(other);
        }
    }
    variance
}

/// 95th percentile of the sum: exact for one VM, simulated for a few, by formula for many.
pub(crate) fn p95(cohorts: &[Cohort], vms: &[u64], seed: u64) -> f64 {
    match vms.iter().sum::<u64>() {
        few if few > 1 && few < SIMULATE_BELOW => simulate::p95(cohorts, vms, seed),
        _ => p95_by_formula(cohorts, vms),
    }
}

/// The same without simulation: for a few VMs from 5 % below to 12 % above it.
pub(crate) fn p95_by_formula(cohorts: &[Cohort], vms: &[u64]) -> f64 {
    match vms.iter().sum::<u64>() {
        0 => 0.0,
        1 => cohorts
            .iter()
            .zip(vms)
            .find(|(_, vms)| **vms == 1)
            .map_or(0.0, |(cohort, _)| cohort.p95_of_one()),
        _ => p95_normal(cohorts, vms),
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of VMs stay far below 2^53")]
fn count(vms: u64) -> f64 {
    vms as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use statrs::distribution::{ContinuousCDF, LogNormal, Normal};

    fn generic(mean_peak: f64) -> Cohort {
        Cohort::new(mean_peak, 0.7, 1.0, 0.25, 0.25)
    }

    fn close(a: f64, b: f64, relative: f64) {
        assert!((a / b - 1.0).abs() <= relative, "{a} against {b}");
    }

    #[test]
    fn constant_is_the_95_percent_point() {
        close(Normal::standard().inverse_cdf(0.95), Z95, 1e-9);
    }

    #[test]
    fn mean_and_percentiles_of_one_vm_follow_from_the_planning_peak() {
        let cohort = generic(50.0);
        let one = LogNormal::new(cohort.median().ln(), cohort.shape).unwrap();
        close(statrs::statistics::Distribution::mean(&one).unwrap(), 35.0, 1e-9);
        close(one.inverse_cdf(0.95), cohort.p95_of_one(), 1e-6);
        // The swing over time alone: mean 1, 95th percentile 1 / 0.7.
        let swing = LogNormal::new(-cohort.swing.powi(2) / 2.0, cohort.swing).unwrap();
        close(swing.inverse_cdf(0.95), 1.0 / 0.7, 1e-6);
        close(cohort.swing, 0.2334, 1e-3);
    }

    #[test]
    fn formula_by_hand() {
        // Two VMs, mean 35, shape 1, swing 0.23337, correlation 0.25:
        // variance of one 1225 (e - 1) = 2104.90, covariance 1225 (exp(0.25 x 0.054462) - 1) = 16.793,
        // 70 + 1.644854 sqrt(2 x 2104.90 + 2 x 16.793) = 177.15.
        close(p95_normal(&[generic(50.0)], &[2]), 177.15, 1e-3);
    }

    #[test]
    fn many_vms_approach_mean_plus_common_swing() {
        // Independent parts vanish: 0.7 T (1 + 1.645 sqrt(exp(0.25 x 0.2334^2) - 1)) = 0.8352 T.
        close(p95_normal(&[generic(1.0)], &[100_000_000]), 0.8352e8, 1e-3);
    }

    #[test]
    fn percentile_of_the_sum_is_below_the_sum_of_percentiles() {
        for vms in [2, 10, 49, 50, 1_000] {
            let cohort = generic(50.0);
            assert!(p95(&[cohort], &[vms], 1) < count(vms) * cohort.p95_of_one());
            assert!(p95(&[cohort], &[vms], 1) > mean(&[cohort], &[vms]));
        }
    }

    #[test]
    fn splitting_a_cohort_changes_nothing_when_correlation_is_the_sites() {
        let cohort = generic(50.0);
        let whole = p95_normal(&[cohort], &[300]);
        close(p95_normal(&[cohort, cohort], &[100, 200]), whole, 1e-12);
    }

    #[test]
    fn formula_for_few_vms_is_within_12_percent_of_the_simulation() {
        let wide = Cohort::new(50.0, 0.7, 1.2, 0.25, 0.25);
        let cohorts = [wide, Cohort::new(500.0, 0.7, 1.2, 0.25, 0.25)];
        for vms in [[2, 0], [3, 0], [5, 0], [10, 0], [30, 0], [1, 1], [20, 2], [40, 8]] {
            let simulated = simulate::p95_of_draws(&cohorts, &vms, 3, 100_000);
            let ratio = p95_by_formula(&cohorts, &vms) / simulated;
            assert!((0.95..1.12).contains(&ratio), "{vms:?}: {ratio}");
        }
        close(p95_by_formula(&cohorts, &[0, 1]), cohorts[1].p95_of_one(), 1e-12);
    }

    #[test]
    fn nothing_is_no_load() {
        assert_eq!(p95(&[generic(50.0)], &[0], 1), 0.0);
        assert_eq!(p95(&[], &[], 1), 0.0);
    }
}
