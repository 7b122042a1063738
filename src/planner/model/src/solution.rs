//! What a fit found, and what it predicts for a point.

use crate::curve::{curvature, exponent_gradient, ln_smooth_minimum};
use crate::matrix::Square;
use crate::model::MAX_CEILINGS;
use crate::series::Observation;
use crate::solve::{ExponentRule, SeriesLayout, prepare_row};
use crate::types::Resource;

/// What a fit found.
#[derive(Debug, Clone)]
pub(crate) struct Solution {
    pub layouts: Vec<SeriesLayout>,
    pub exponent: ExponentRule,
    pub parameters: Vec<f64>,
    pub covariance: Square,
    pub discrepancy: Vec<f64>,
    pub posterior_to_prior: Vec<f64>,
    pub one_sided: Vec<bool>,
    pub sigma: f64,
    pub degrees_of_freedom: f64,
    pub leverage: Vec<f64>,
}

/// One predicted value: logarithm, variance of the curve, and spread about it.
pub(crate) struct Predicted {
    pub ln_value: f64,
    pub variance: f64,
}

impl Solution {
    pub(crate) fn exponent_value(&self) -> f64 {
        match self.exponent {
            ExponentRule::Fixed(p) => p,
            ExponentRule::Fitted => {
                0.5 + self.parameters.last().copied().unwrap_or(2.0_f64.ln()).exp()
            }
        }
    }

    /// Share of each limit at `observation` of series `index`.
    pub(crate) fn shares(&self, index: usize, observation: &Observation) -> Vec<(Resource, f64)> {
        let layout = &self.layouts[index];
        let row = prepare_row(index, layout, observation);
        let mut ln: Vec<f64> =
            (0..row.len).map(|k| row.ln_counts[k] + self.parameters[row.parameters[k]]).collect();
        if let Some((place, at, waiting)) = row.crosstalk {
            ln[place] -= crate::crosstalk::loss(self.parameters[at], waiting).0;
        }
        let mut shares = vec![0.0; row.len];
        ln_smooth_minimum(&ln, self.exponent_value(), &mut shares);
        let resource = |k: usize| layout.resources[row.parameters[k] - layout.offset];
        (0..row.len).map(|k| (resource(k), shares[k])).collect()
    }

    /// Predicts `observation` of series `index` in its own statistic.
    pub(crate) fn predict(&self, index: usize, observation: &Observation) -> Predicted {
        let layout = &self.layouts[index];
        let row = prepare_row(index, layout, observation);
        debug_assert_eq!(row.series, index);
        let mut ln = [0.0; MAX_CEILINGS];
        for (ln, (count, &at)) in
            ln.iter_mut().zip(row.ln_counts.iter().zip(&row.parameters)).take(row.len)
        {
            *ln = count + self.parameters[at];
        }
        let lost = row.crosstalk.map(|(place, at, waiting)| {
            let (ln_loss, slope) = crate::crosstalk::loss(self.parameters[at], waiting);
            ln[place] -= ln_loss;
            (place, at, slope)
        });
        let mut shares = [0.0; MAX_CEILINGS];
        let p = self.exponent_value();
        let mut ln_value = ln_smooth_minimum(&ln[..row.len], p, &mut shares[..row.len]);
        let mut gradient = vec![0.0; self.parameters.len()];
        let mut variance = 0.0;
        for k in 0..row.len {
            gradient[row.parameters[k]] += shares[k];
            variance += (shares[k] * self.discrepancy[row.parameters[k]]).powi(2);
        }
        if let Some((place, at, slope)) = lost {
            gradient[at] -= shares[place] * slope;
        }
        if self.exponent == ExponentRule::Fitted
            && let Some(last) = gradient.last_mut()
        {
            *last = (p - 0.5) * exponent_gradient(&ln[..row.len], p, ln_value, &shares[..row.len]);
        }
        if let Some(ratio) = row.ratio {
            gradient[ratio] += 1.0;
            variance += self.discrepancy[ratio].powi(2);
            ln_value += self.parameters[ratio];
        }
        variance += self.covariance.quadratic(&gradient);
        let (shift, more) = curvature(&shares[..row.len], p, variance, |i, j| {
            let (i, j) = (row.parameters[i], row.parameters[j]);
            let own = if i == j { self.discrepancy[i].powi(2) } else { 0.0 };
            own + self.covariance.at(i, j)
        });
        Predicted {
            ln_value: ln_value + shift,
            variance: variance + more + self.sigma * self.sigma,
        }
    }
}
