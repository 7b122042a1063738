//! Parametric bootstrap: refits of points and beliefs that the fitted model itself could have made.
//!
//! Each replicate draws every point about the fitted curve and every centre of a belief about the
//! fitted parameters, with their deviations, and fits again. A belief is treated as the observation
//! that it stands for; were it kept still, a ceiling that only a belief decides would come out
//! certain. Replicates are [`Draw`]s, so whatever asks a model by draws asks them;
//! docs/models.md section 4.

use crate::error::ModelError;
use crate::fit::{FitOptions, Job};
use crate::lm::minimise;
use crate::model::Model;
use crate::points::Point;
use crate::predict::Draw;
use crate::random::Random;
use crate::types::{Configuration, Quantity};

/// Refits and the model that they vary about.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    /// The fit of the points themselves.
    pub model: Model,
    /// One joint parameter vector a replicate.
    pub draws: Vec<Draw>,
}

impl Bootstrap {
    /// 5th percentile, median and 95th percentile of what `configuration` carries.
    #[must_use]
    pub fn quantiles(&self, quantity: Quantity, configuration: &Configuration) -> [f64; 3] {
        let mut values: Vec<f64> = self
            .draws
            .iter()
            .map(|draw| self.model.evaluate(quantity, configuration, draw))
            .collect();
        values.sort_by(f64::total_cmp);
        [0.05, 0.5, 0.95].map(|share| {
            let index = (share * values.len() as f64) as usize;
            values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
        })
    }

    /// Share of the replicates in which `configuration` carries at least `needed`.
    #[must_use]
    pub fn confidence(&self, quantity: Quantity, at: &Configuration, needed: f64) -> f64 {
        let enough = self.draws.iter().filter(|d| self.model.evaluate(quantity, at, d) >= needed);
        enough.count() as f64 / self.draws.len().max(1) as f64
    }
}

/// `replicates` refits of `points`, the same for the same seed.
///
/// # Errors
/// As [`crate::fit()`]; a replicate without a finite optimum is drawn again, and when that happens
/// to more than half of them there is none of the whole.
pub fn bootstrap(
    points: &[Point],
    options: &FitOptions,
    replicates: usize,
    seed: u64,
) -> Result<Bootstrap, ModelError> {
    let job = Job::new(points, options)?;
    let solutions = job.solve()?;
    let mut random = Random::new(seed);
    let mut curves = Vec::with_capacity(solutions.len());
    for (group, solution) in &solutions {
        let mut curve = job.curve(group, job.exponent, None);
        curve.sigma = solution.sigma;
        let mut gradient = Vec::new();
        let fitted: Vec<f64> = curve
            .rows
            .iter()
            .map(|row| {
                gradient.clear();
                let fitted = curve.evaluate(row, &solution.parameters, &mut gradient);
                // A bound below the curve stays the bound that it is.
                if row.one_sided { fitted.min(row.ln_value) } else { fitted }
            })
            .collect();
        curves.push((curve, fitted, solution));
    }
    let mut draws = Vec::with_capacity(replicates);
    let mut failures = 0;
    while draws.len() < replicates {
        let mut parameters = Vec::new();
        let mut noise = Vec::new();
        let mut exponent = f64::NAN;
        for (curve, fitted, solution) in &mut curves {
            let degrees = solution.degrees_of_freedom;
            let scale = (degrees / random.chi_square(degrees)).sqrt();
            for (row, fitted) in curve.rows.iter_mut().zip(fitted.iter()) {
                row.ln_value = fitted + scale * solution.sigma * random.normal();
            }
            for prior in &mut curve.priors {
                let at: f64 = prior.terms.iter().map(|&(k, w)| w * solution.parameters[k]).sum();
                prior.centre = at + prior.sd * random.normal();
            }
            let Some(optimum) = minimise(&*curve, &solution.parameters) else { break };
            let refitted = optimum.parameters;
            exponent = curve.exponent_at(&refitted);
            for (value, discrepancy) in refitted.iter().zip(&solution.discrepancy) {
                parameters.push(value + discrepancy * random.normal());
            }
            for _ in &solution.layouts {
                noise.push(scale * solution.sigma * random.normal());
            }
        }
        if noise.len() == job.prepared.series.len() && parameters.iter().all(|x| x.is_finite()) {
            draws.push(Draw { parameters, exponent, noise });
        } else {
            failures += 1;
            if failures > replicates {
                return Err(ModelError::NoOptimum { platform: job.platforms.join("; ") });
            }
        }
    }
    Ok(Bootstrap { model: job.model(&solutions), draws })
}
