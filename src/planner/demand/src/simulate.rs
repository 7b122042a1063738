//! The 95th percentile of a small sum by simulation: a Gaussian copula with a factor for the site
//! and one for each class.
//!
//! Deterministic: an own generator (SplitMix64) from an explicit seed. Normal deviates are the
//! midpoints of [`QUANTILES`] equal slices of the distribution, picked at random: no inverse of the
//! normal distribution and no exponential per draw.

use std::sync::LazyLock;

use statrs::distribution::{ContinuousCDF, Normal};

use crate::sum::Cohort;

/// Draws of the whole sum.
const DRAWS: usize = 8_192;

/// Slices of the normal distribution.
const QUANTILES: usize = 4_096;

static NORMAL: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let normal = Normal::standard();
    (0..QUANTILES)
        .map(|slice| normal.inverse_cdf((to_f64(slice) + 0.5) / to_f64(QUANTILES)))
        .collect()
});

/// 95th percentile of the sum of `vms[i]` loads of `cohorts[i]`.
pub(crate) fn p95(cohorts: &[Cohort], vms: &[u64], seed: u64) -> f64 {
    p95_of_draws(cohorts, vms, seed, DRAWS)
}

pub(crate) fn p95_of_draws(cohorts: &[Cohort], vms: &[u64], seed: u64, draws: usize) -> f64 {
    let mut site = Random::new(seed);
    let site: Vec<f64> = (0..draws).map(|_| NORMAL[site.slice()]).collect();
    let mut sums = vec![0.0; draws];
    for (index, (cohort, &vms)) in
        cohorts.iter().zip(vms).enumerate().filter(|(_, (_, vms))| **vms > 0)
    {
        // A stream for each cohort: another cohort more does not change this one's draws.
        let stream = u64::try_from(index).unwrap_or(u64::MAX).wrapping_add(1);
        let mut random = Random::new(seed ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let own_swing = cohort.swing * (1.0 - cohort.site - cohort.class).max(0.0).sqrt();
        let own = cohort.level().hypot(own_swing);
        let factors: Vec<f64> = NORMAL.iter().map(|z| (own * z).exp()).collect();
        let (on_site, on_class) =
            (cohort.swing * cohort.site.sqrt(), cohort.swing * cohort.class.sqrt());
        let median = cohort.median();
        for (sum, site) in sums.iter_mut().zip(&site) {
            let class = NORMAL[random.slice()];
            let common = (on_site * site + on_class * class).exp();
            let own: f64 = (0..vms).map(|_| factors[random.slice()]).sum();
            *sum += median * common * own;
        }
    }
    quantile(&mut sums, 0.95)
}

/// Value below which the share `level` of the draws lies.
fn quantile(draws: &mut [f64], level: f64) -> f64 {
    if draws.is_empty() {
        return 0.0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of draws"
    )]
    let at = (to_f64(draws.len()) * level) as usize;
    let at = at.min(draws.len() - 1);
    *draws.select_nth_unstable_by(at, f64::total_cmp).1
}

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A slice of the normal distribution.
    fn slice(&mut self) -> usize {
        usize::try_from(self.next() >> 52).unwrap_or(0) % QUANTILES
    }
}

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn to_f64(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sum::p95_normal;

    fn close(a: f64, b: f64, relative: f64) {
        assert!((a / b - 1.0).abs() <= relative, "{a} against {b}");
    }

    #[test]
    fn generator_gives_the_published_sequence() {
        // First outputs of SplitMix64 for seed 1234567, from the reference C code.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn one_vm_agrees_with_its_lognormal() {
        let cohort = Cohort::new(50.0, 0.7, 1.0, 0.25, 0.25);
        close(p95_of_draws(&[cohort], &[1], 1, 200_000), cohort.p95_of_one(), 0.02);
    }

    #[test]
    fn formula_and_simulation_agree_from_fifty_vms_on() {
        let cohorts = [
            Cohort::new(50.0, 0.7, 1.2, 0.25, 0.25),
            Cohort::new(500.0, 0.7, 1.2, 0.25, 0.25),
            Cohort::new(16.0, 0.5, 0.8, 0.9, 0.25),
        ];
        for (vms, tolerance) in [
            ([50, 0, 0], 0.05),
            ([200, 20, 0], 0.08),
            ([200, 60, 300], 0.03),
            ([0, 0, 1_000], 0.07),
        ] {
            close(p95_of_draws(&cohorts, &vms, 7, 20_000), p95_normal(&cohorts, &vms), tolerance);
        }
    }

    #[test]
    fn a_boot_storm_does_not_average_out() {
        let storm = Cohort::new(16.0, 0.5, 0.8, 0.9, 0.25);
        let calm = Cohort::new(16.0, 0.5, 0.8, 0.25, 0.25);
        let ratio =
            |cohort: Cohort| p95_of_draws(&[cohort], &[40], 3, DRAWS) / (40.0 * cohort.mean);
        // Common swing alone, correlation 0.9: exp(1.645 x 0.496 x 0.95 - 0.9 x 0.123) = 1.94.
        assert!(ratio(storm) > 1.8 && ratio(storm) < 2.1, "{}", ratio(storm));
        assert!(ratio(calm) < 1.6, "{}", ratio(calm));
    }

    #[test]
    fn same_seed_same_result_and_other_cohorts_do_not_disturb() {
        let cohort = Cohort::new(50.0, 0.7, 1.0, 0.25, 0.25);
        let alone = p95(&[cohort], &[20], 5);
        assert_eq!(alone.to_bits(), p95(&[cohort], &[20], 5).to_bits());
        assert_eq!(alone.to_bits(), p95(&[cohort, cohort], &[20, 0], 5).to_bits());
    }
}
