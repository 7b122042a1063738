//! Levenberg-Marquardt for robust least squares with normal priors.
//!
//! Minimises `sum_i rho(r_i) / sigma^2 + sum_k ((theta_k - m_k) / tau_k)^2`, where `rho` is the
//! soft-L1 loss `2 s^2 (sqrt(1 + (r/s)^2) - 1)`: near a square for small residuals, near a line
//! for large ones, so that one corrupt point cannot own the fit. Each step solves the reweighted
//! normal equations with Marquardt's damping (Moré 1978; Triggs et al. 1999, section 4.3).

use crate::matrix::Square;

/// Residual in logarithms from which the loss turns linear: 10 %.
pub const SOFT_L1_SCALE: f64 = 0.1;

/// One residual and the parameters that it depends on.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// Predicted minus observed, in logarithms.
    pub residual: f64,
    /// (parameter, derivative).
    pub gradient: Vec<(usize, f64)>,
}

/// A least-squares problem.
pub trait Problem {
    /// Number of parameters.
    fn size(&self) -> usize;
    /// Number of residuals.
    fn residuals(&self) -> usize;
    /// Residual `index` at `parameters`.
    fn row(&self, index: usize, parameters: &[f64], row: &mut Row);
    /// Normal priors: (weights over parameters, centre, standard deviation).
    fn priors(&self) -> &[LinearPrior];
    /// Standard deviation of a residual.
    fn sigma(&self) -> f64;
}

/// A belief that `sum of weight x parameter` is near `centre`.
#[derive(Debug, Clone, PartialEq)]
pub struct LinearPrior {
    /// (parameter, weight).
    pub terms: Vec<(usize, f64)>,
    /// Centre.
    pub centre: f64,
    /// Standard deviation.
    pub sd: f64,
}

impl LinearPrior {
    fn gap(&self, parameters: &[f64]) -> f64 {
        self.terms.iter().map(|&(k, w)| w * parameters[k]).sum::<f64>() - self.centre
    }
}

/// An optimum.
#[derive(Debug, Clone)]
pub struct Optimum {
    /// Parameters.
    pub parameters: Vec<f64>,
    /// Cost there.
    pub cost: f64,
}

/// Weight of a residual under the loss: 1 for a small one, falling for a large one.
pub fn robust_weight(residual: f64) -> f64 {
    1.0 / (1.0 + (residual / SOFT_L1_SCALE).powi(2)).sqrt()
}

fn loss(residual: f64) -> f64 {
    2.0 * SOFT_L1_SCALE.powi(2) * ((1.0 + (residual / SOFT_L1_SCALE).powi(2)).sqrt() - 1.0)
}

/// Normal matrix (its lower triangle) and gradient of the reweighted problem at `parameters`, and
/// the cost.
fn normal_equations(
    problem: &dyn Problem,
    parameters: &[f64],
    matrix: &mut Square,
    gradient: &mut [f64],
    row: &mut Row,
) -> f64 {
    matrix.values.fill(0.0);
    gradient.fill(0.0);
    let precision = problem.sigma().powi(-2);
    let mut cost = 0.0;
    for index in 0..problem.residuals() {
        row.gradient.clear();
        problem.row(index, parameters, row);
        cost += loss(row.residual) * precision;
        let weight = robust_weight(row.residual) * precision;
        for &(i, gi) in &row.gradient {
            gradient[i] += weight * gi * row.residual;
            for &(j, gj) in &row.gradient {
                if j <= i {
                    matrix.add(i, j, weight * gi * gj);
                }
            }
        }
    }
    for prior in problem.priors() {
        let precision = prior.sd.powi(-2);
        let gap = prior.gap(parameters);
        cost += gap * gap * precision;
        for &(i, wi) in &prior.terms {
            gradient[i] += precision * wi * gap;
            for &(j, wj) in &prior.terms {
                if j <= i {
                    matrix.add(i, j, precision * wi * wj);
                }
            }
        }
    }
    cost
}

/// Cost alone.
fn cost_at(problem: &dyn Problem, parameters: &[f64], row: &mut Row) -> f64 {
    let precision = problem.sigma().powi(-2);
    let mut cost = 0.0;
    for index in 0..problem.residuals() {
        row.gradient.clear();
        problem.row(index, parameters, row);
        cost += loss(row.residual) * precision;
    }
    cost + problem
        .priors()
        .iter()
        .map(|prior| (prior.gap(parameters) / prior.sd).powi(2))
        .sum::<f64>()
}

/// Minimises from `start`; `None` when the cost is not finite there.
pub fn minimise(problem: &dyn Problem, start: &[f64]) -> Option<Optimum> {
    const MAX_STEPS: usize = 100;
    const TOLERANCE: f64 = 1e-9;
    let size = problem.size();
    let mut parameters = start.to_vec();
    let mut matrix = Square::zeros(size);
    let mut damped = Square::zeros(size);
    let mut gradient = vec![0.0; size];
    let mut step = vec![0.0; size];
    let mut trial = parameters.clone();
    let mut row = Row::default();
    let mut damping = 1e-2;
    let mut cost = normal_equations(problem, &parameters, &mut matrix, &mut gradient, &mut row);
    if !cost.is_finite() {
        return None;
    }
    for _ in 0..MAX_STEPS {
        damped.values.copy_from_slice(&matrix.values);
        for k in 0..size {
            damped.add(k, k, damping * matrix.at(k, k).max(1e-12));
        }
        let Some(factor) = damped.cholesky() else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
            continue;
        };
        for (s, g) in step.iter_mut().zip(&gradient) {
            *s = -g;
        }
        factor.solve_factored(&mut step);
        // A step of more than e^2 in a ceiling leaves the region where the gradient means anything.
        let longest = step.iter().fold(0.0_f64, |longest, s| longest.max(s.abs()));
        let scale = if longest > 2.0 { 2.0 / longest } else { 1.0 };
        for ((t, p), s) in trial.iter_mut().zip(&parameters).zip(&step) {
            *t = p + scale * s;
        }
        let trial_cost = cost_at(problem, &trial, &mut row);
        if trial_cost.is_finite() && trial_cost <= cost {
            let gain = cost - trial_cost;
            parameters.copy_from_slice(&trial);
            damping = (damping * 0.2).max(1e-9);
            if gain <= TOLERANCE * (1.0 + cost) {
                cost = trial_cost;
                break;
            }
            cost = normal_equations(problem, &parameters, &mut matrix, &mut gradient, &mut row);
        } else {
            damping *= 5.0;
            if damping > 1e12 || longest < 1e-10 {
                break;
            }
        }
    }
    Some(Optimum { parameters, cost })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// `ln y = a + b x` through points with one gross outlier.
    struct Line {
        points: Vec<(f64, f64)>,
        priors: Vec<LinearPrior>,
    }

    impl Problem for Line {
        fn size(&self) -> usize {
            2
        }
        fn residuals(&self) -> usize {
            self.points.len()
        }
        fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
            let (x, y) = self.points[index];
            row.residual = parameters[0] + parameters[1] * x - y;
            row.gradient.extend([(0, 1.0), (1, x)]);
        }
        fn priors(&self) -> &[LinearPrior] {
            &self.priors
        }
        fn sigma(&self) -> f64 {
            0.05
        }
    }

    #[test]
    fn an_outlier_moves_a_soft_l1_line_little() {
        let mut points: Vec<(f64, f64)> =
            (0..20).map(|i| (f64::from(i) / 10.0, 1.0 + 0.5 * f64::from(i) / 10.0)).collect();
        points[7].1 += 3.0;
        let line = Line { points, priors: Vec::new() };
        let optimum = minimise(&line, &[0.0, 0.0]).unwrap();
        // Least squares would be off by 0.15 on average.
        assert!((optimum.parameters[0] - 1.0).abs() < 0.03, "{:?}", optimum.parameters);
        assert!((optimum.parameters[1] - 0.5).abs() < 0.03, "{:?}", optimum.parameters);
    }

    #[test]
    fn a_prior_alone_is_its_own_optimum() {
        let line = Line {
            points: Vec::new(),
            priors: vec![
                LinearPrior { terms: vec![(0, 1.0)], centre: 2.0, sd: 0.3 },
                LinearPrior { terms: vec![(0, 1.0), (1, 1.0)], centre: 5.0, sd: 0.1 },
            ],
        };
        let optimum = minimise(&line, &[0.0, 0.0]).unwrap();
        assert!((optimum.parameters[0] - 2.0).abs() < 1e-6);
        assert!((optimum.parameters[1] - 3.0).abs() < 1e-6);
    }
}
