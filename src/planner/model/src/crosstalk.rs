//! Hosts that lose by their own queue: the one retrograde term, taken only where points show it.
//!
//! A host with `q` outstanding I/Os carries `C / (1 + kappa (q - 1))`: contention that grows with
//! the number of contenders, the pairwise term of the universal scalability law on one resource.
//! It is chosen for a series when the corrected Akaike criterion gains at least [`LEAST_GAIN`];
//! docs/models.md section 2.

use crate::beliefs::PriorTable;
use crate::lm::{LinearPrior, Problem, Row, SOFT_L1_SCALE};
use crate::series::SeriesData;
use crate::solve::{Curve, ExponentRule, Rules};
use crate::types::Resource;

/// Gain of the criterion from which the term is taken (Burnham and Anderson: from 4 on the model
/// without it has considerably less support).
pub(crate) const LEAST_GAIN: f64 = 4.0;
/// Where ln kappa starts: 0.3 % of a host for each further outstanding I/O.
pub(crate) const LN_CENTRE: f64 = -5.8;
/// Its deviation: a wall against running off, not a belief.
const WALL: f64 = 3.0;

/// The wall about the parameter at `index`.
pub(crate) fn prior(index: usize) -> LinearPrior {
    LinearPrior { terms: vec![(index, 1.0)], centre: LN_CENTRE, sd: WALL }
}

/// Outstanding I/Os a host less one, when both are stated; never below zero.
pub(crate) fn waiting(hosts: Option<f64>, outstanding: Option<f64>) -> Option<f64> {
    Some((outstanding? / hosts? - 1.0).max(0.0))
}

/// Logarithm of the loss `1 + kappa waiting` and its derivative in ln kappa.
pub(crate) fn loss(ln_kappa: f64, waiting: f64) -> (f64, f64) {
    let part = ln_kappa.exp() * waiting;
    ((1.0 + part).ln(), part / (1.0 + part))
}

/// Akaike's criterion corrected for small samples, of `n` residuals with mean loss `mean_square`
/// and `k` parameters, the deviation counted among them; infinite when `n` does not bear `k`.
pub(crate) fn aicc(n: usize, mean_square: f64, k: usize) -> f64 {
    let (n, k) = (n as f64, k as f64);
    if n - k - 1.0 <= 0.0 {
        return f64::INFINITY;
    }
    n * mean_square.max(1e-12).ln() + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0)
}

/// Whether `series` is better told with the term.
pub(crate) fn gains(
    series: &SeriesData,
    resources: &[Resource],
    table: &PriorTable,
    exponent: ExponentRule,
) -> bool {
    let stated = series.observations.iter().all(|o| waiting(o.hosts, o.outstanding).is_some());
    if !stated || !resources.contains(&Resource::Host) {
        return false;
    }
    let criterion = |crosstalk: bool| -> Option<f64> {
        let rules = Rules { exponent, crosstalk: vec![crosstalk], shared_array: false };
        let curve = Curve::new(&[series], &[resources.to_vec()], table, &rules, None);
        let optimum = curve.optimum()?;
        let mut row = Row::default();
        let scale = SOFT_L1_SCALE * SOFT_L1_SCALE;
        let sum: f64 = (0..curve.residuals())
            .map(|index| {
                row.gradient.clear();
                curve.row(index, &optimum.parameters, &mut row);
                2.0 * scale * ((1.0 + row.residual.powi(2) / scale).sqrt() - 1.0)
            })
            .sum();
        let n = curve.residuals();
        Some(aicc(n, sum / n as f64, curve.size + 1))
    };
    matches!((criterion(false), criterion(true)),
        (Some(without), Some(with)) if with.is_finite() && without - with >= LEAST_GAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criterion_is_that_of_the_textbook() {
        // 10 residuals with mean square 0.04, 3 parameters: -32.189 + 6 + 24/6.
        assert!((aicc(10, 0.04, 3) - (-22.188_758_248_682)).abs() < 1e-9);
        assert!(aicc(4, 0.04, 3).is_infinite());
    }

    #[test]
    fn loss_has_its_own_derivative() {
        let (at, slope) = loss(-5.0, 63.0);
        assert!((at - (1.0 + 63.0 * (-5.0_f64).exp()).ln()).abs() < 1e-15);
        let difference = (loss(-5.0 + 1e-6, 63.0).0 - loss(-5.0 - 1e-6, 63.0).0) / 2e-6;
        assert!((slope - difference).abs() < 1e-9);
        assert_eq!(waiting(Some(4.0), Some(2.0)), Some(0.0));
        assert_eq!(waiting(None, Some(2.0)), None);
    }
}
