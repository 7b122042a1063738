//! What the points leave unknown after a fit: covariance, spread, leverage, which ceilings are
//! bounded from below only.
//!
//! Reweighted normal matrix plus the priors, inverted; docs/models.md section 2, step 7.

use crate::lm::{Problem, Row, robust_weight};
use crate::matrix::Square;
use crate::solution::Solution;
use crate::solve::{ABOVE_BOUND, Curve, DISCREPANCY, SIGMA, SIGMA_FLOOR, UNPROBED};

impl Curve {
    /// Information matrix of the points with residual deviation `sigma`, without priors.
    pub(crate) fn information(&self, parameters: &[f64], sigma: f64) -> (Square, Vec<(f64, Row)>) {
        let mut matrix = Square::zeros(self.size);
        let mut rows = Vec::with_capacity(self.rows.len());
        for index in 0..self.rows.len() {
            let mut row = Row::default();
            self.row(index, parameters, &mut row);
            if self.rows[index].one_sided && row.residual > 0.0 {
                // A bound is sharp downwards, and the lower side is the one that plans rest on:
                // the covariance takes it as sharp on both, which hides only what more there is.
                row.gradient.iter_mut().for_each(|(_, slope)| *slope /= ABOVE_BOUND);
            }
            let weight = robust_weight(row.residual) / (sigma * sigma);
            for &(i, gi) in &row.gradient {
                for &(j, gj) in &row.gradient {
                    matrix.add(i, j, weight * gi * gj);
                }
            }
            rows.push((weight, row));
        }
        (matrix, rows)
    }

    fn prior_information(&self) -> Square {
        let mut matrix = Square::zeros(self.size);
        for prior in &self.priors {
            for &(i, wi) in &prior.terms {
                for &(j, wj) in &prior.terms {
                    matrix.add(i, j, wi * wj / (prior.sd * prior.sd));
                }
            }
        }
        matrix
    }

    fn posterior(&self, information: &Square) -> Option<Square> {
        let mut matrix = self.prior_information();
        for (sum, value) in matrix.values.iter_mut().zip(&information.values) {
            *sum += value;
        }
        matrix.inverse()
    }

    pub(crate) fn describe(self, parameters: Vec<f64>) -> Option<Solution> {
        let leverages = |covariance: &Square, rows: &[(f64, Row)]| -> Vec<f64> {
            rows.iter()
                .map(|(weight, row)| {
                    let mut gradient = vec![0.0; self.size];
                    row.gradient.iter().for_each(|&(k, g)| gradient[k] += g);
                    weight * covariance.quadratic(&gradient)
                })
                .collect()
        };
        // The spread decides how many parameters the points pay for, and that number the spread:
        // one pass with the assumed spread is enough for the count.
        let (information, rows) = self.information(&parameters, SIGMA);
        let leverage = leverages(&self.posterior(&information)?, &rows);
        // A gross outlier is reported, not believed: it must not widen every interval.
        let limit = gross_limit(rows.iter().map(|(_, row)| row.residual.abs()).collect());
        let kept = || rows.iter().filter(|(_, row)| row.residual.abs() <= limit);
        let n = kept().count() as f64;
        let degrees = (n - leverage.iter().sum::<f64>()).max(3.0);
        let squares: f64 = kept().map(|(_, row)| row.residual.powi(2)).sum();
        let sigma = (squares / degrees).sqrt().max(SIGMA_FLOOR);
        let (information, _) = self.information(&parameters, sigma);
        let covariance = self.posterior(&information)?;
        let prior_covariance = self.prior_information().inverse()?;
        let posterior_to_prior: Vec<f64> = (0..self.size)
            .map(|k| (covariance.at(k, k) / prior_covariance.at(k, k)).sqrt())
            .collect();
        let mut discrepancy = vec![0.0; self.size];
        for layout in &self.layouts {
            for k in layout.offset..layout.offset + layout.len() {
                discrepancy[k] = DISCREPANCY * (posterior_to_prior[k] / UNPROBED).min(1.0);
            }
        }
        let one_sided = (0..self.size).map(|k| self.bounded_below_only(&parameters, k)).collect();
        Some(Solution {
            layouts: self.layouts,
            exponent: self.exponent,
            parameters,
            covariance,
            discrepancy,
            posterior_to_prior,
            one_sided,
            sigma,
            degrees_of_freedom: degrees,
            leverage,
        })
    }

    /// True when four times the value fits the points as well (at the 90 % level) and half of it
    /// does not.
    fn bounded_below_only(&self, parameters: &[f64], k: usize) -> bool {
        const LIMIT: f64 = 2.71; // chi-square, one degree, 90 %
        let misfit = |parameters: &[f64]| -> f64 {
            let mut row = Row::default();
            (0..self.rows.len())
                .map(|index| {
                    row.gradient.clear();
                    self.row(index, parameters, &mut row);
                    if self.rows[index].one_sided && row.residual > 0.0 {
                        return 0.0;
                    }
                    row.residual.powi(2) / (SIGMA * SIGMA)
                })
                .sum()
        };
        let here = misfit(parameters);
        let mut moved = parameters.to_vec();
        moved[k] = parameters[k] + 4.0_f64.ln();
        let above = misfit(&moved) - here;
        moved[k] = parameters[k] - 2.0_f64.ln();
        above < LIMIT && misfit(&moved) - here > LIMIT
    }
}

/// Residual beyond which a point is a gross outlier: a factor of two and six robust deviations.
fn gross_limit(mut sizes: Vec<f64>) -> f64 {
    sizes.sort_by(f64::total_cmp);
    let median = sizes.get(sizes.len() / 2).copied().unwrap_or(0.0);
    2.0_f64.ln().max(6.0 * 1.4826 * median)
}
