//! What the points alone say of each ceiling: profile likelihood, with one-sided answers.
//!
//! The ceiling is held at a value, everything else is fitted again, and the value is inside while
//! the cost rises by no more than Student's t squared over the least. The belief about the ceiling
//! itself is taken out and a lower bound counts on its lower side only, so that "at least 430,000,
//! no upper bound from these data" can come out; docs/models.md section 4.

use crate::error::ModelError;
use crate::fit::{FitOptions, Job};
use crate::lm::{LinearPrior, Optimum, Problem, Row, minimise};
use crate::points::Point;
use crate::predict::student_t;
use crate::solve::Curve;
use crate::types::Resource;
use serde::Serialize;

/// A bound farther than this factor from the estimate is none.
pub const WIDEST_FACTOR: f64 = 100.0;

/// Interval of one ceiling from the points alone, 90 %.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CeilingProfile {
    /// Series.
    pub series: String,
    /// Resource.
    pub resource: Resource,
    /// Unit of the values.
    pub unit: String,
    /// Estimate of the fit, beliefs included.
    pub estimate: f64,
    /// Lower end; `None` when the points bear any lower value.
    pub lower: Option<f64>,
    /// Upper end; `None` when the points bear any higher value.
    pub upper: Option<f64>,
}

impl CeilingProfile {
    /// In words: "pool at least 430,000 IOPS, no upper bound from these data".
    #[must_use]
    pub fn sentence(&self) -> String {
        let name = self.resource.name();
        let unit = &self.unit;
        let number = crate::markdown::grouped;
        match (self.lower, self.upper) {
            (Some(low), Some(high)) => {
                format!("{name} {} to {} {unit}", number(low), number(high))
            }
            (Some(low), None) => {
                format!("{name} at least {} {unit}, no upper bound from these data", number(low))
            }
            (None, Some(high)) => {
                format!("{name} at most {} {unit}, no lower bound from these data", number(high))
            }
            (None, None) => format!("{name}: these data say nothing of it"),
        }
    }
}

/// Profiles every ceiling of the fit of `points`.
///
/// # Errors
/// As [`crate::fit()`].
pub fn profile(points: &[Point], options: &FitOptions) -> Result<Vec<CeilingProfile>, ModelError> {
    let job = Job::new(points, options)?;
    let mut profiles = Vec::new();
    for (group, solution) in job.solve()? {
        let mut curve = job.curve(&group, job.exponent, None);
        curve.sigma = solution.sigma;
        curve.above_bound = 0.0;
        let limit = student_t(0.95, solution.degrees_of_freedom).powi(2);
        for (place, layout) in solution.layouts.iter().enumerate() {
            let data = &job.prepared.series[group[place]];
            for (k, &resource) in layout.resources.iter().enumerate() {
                let at = layout.offset + k;
                let (lower, upper) = bounds(&curve, at, &solution.parameters, limit);
                profiles.push(CeilingProfile {
                    series: data.name.clone(),
                    resource,
                    unit: data.quantity.unit().to_owned(),
                    estimate: solution.parameters[at].exp(),
                    lower: lower.map(f64::exp),
                    upper: upper.map(f64::exp),
                });
            }
        }
    }
    Ok(profiles)
}

/// A problem with one parameter held.
struct Held<'a> {
    curve: &'a Curve,
    at: usize,
    value: f64,
    priors: Vec<LinearPrior>,
}

impl<'a> Held<'a> {
    fn new(curve: &'a Curve, at: usize, value: f64) -> Self {
        let priors = curve
            .priors
            .iter()
            .filter_map(|prior| {
                let mut held = prior.clone();
                for &(k, weight) in &prior.terms {
                    if k == at {
                        held.centre -= weight * value;
                    }
                }
                held.terms.retain(|&(k, _)| k != at);
                held.terms.iter_mut().for_each(|term| term.0 -= usize::from(term.0 > at));
                (!held.terms.is_empty()).then_some(held)
            })
            .collect();
        Self { curve, at, value, priors }
    }

    fn whole(&self, parameters: &[f64]) -> Vec<f64> {
        let mut whole = parameters.to_vec();
        whole.insert(self.at, self.value);
        whole
    }

    /// Least cost with the parameter held, the others starting from `start`.
    fn solve(&self, start: &[f64]) -> Option<Optimum> {
        let mut others = start.to_vec();
        others.remove(self.at);
        let mut optimum = minimise(self, &others)?;
        optimum.parameters = self.whole(&optimum.parameters);
        Some(optimum)
    }
}

impl Problem for Held<'_> {
    fn size(&self) -> usize {
        self.curve.size - 1
    }

    fn residuals(&self) -> usize {
        self.curve.residuals()
    }

    fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
        self.curve.row(index, &self.whole(parameters), row);
        row.gradient.retain(|&(k, _)| k != self.at);
        row.gradient.iter_mut().for_each(|term| term.0 -= usize::from(term.0 > self.at));
    }

    fn priors(&self) -> &[LinearPrior] {
        &self.priors
    }

    fn sigma(&self) -> f64 {
        self.curve.sigma
    }
}

/// Ends of the interval of parameter `at`, in logarithms.
fn bounds(curve: &Curve, at: usize, solution: &[f64], limit: f64) -> (Option<f64>, Option<f64>) {
    let mut free = curve.clone();
    // Its own belief goes; a tie to another protocol's ceiling (a negative weight) stays.
    free.priors.retain(|prior| {
        let own = prior.terms.first() == Some(&(at, 1.0));
        !own || prior.terms.iter().any(|&(_, weight)| weight < 0.0)
    });
    let widest = WIDEST_FACTOR.ln();
    let (floor, ceiling) = (solution[at] - widest, solution[at] + widest);
    let cost = |value: f64, start: &[f64]| Held::new(&free, at, value).solve(start);
    // Where nothing pulls back, the free optimum runs off: it is sought from the solution within
    // the range that is looked at.
    let mut best = match minimise(&free, solution) {
        Some(optimum) if (floor..=ceiling).contains(&optimum.parameters[at]) => optimum,
        _ => match cost(solution[at], solution) {
            Some(optimum) => optimum,
            None => return (None, None),
        },
    };
    // The least over a coarse walk, so that a flat side does not hide a lower point.
    for step in -8..=8 {
        let value = solution[at] + f64::from(step) * widest / 8.0;
        if let Some(optimum) = cost(value, &best.parameters)
            && optimum.cost < best.cost - 1e-6
        {
            best = optimum;
        }
    }
    let rise = |value: f64, start: &[f64]| -> Option<(f64, Vec<f64>)> {
        cost(value, start).map(|optimum| (optimum.cost - best.cost, optimum.parameters))
    };
    let walk = |direction: f64, end: f64| -> Option<f64> {
        let (mut inside, mut stride) = (best.parameters[at], 0.01);
        let mut start = best.parameters.clone();
        loop {
            if inside == end {
                return None;
            }
            let outside = (inside + direction * stride).clamp(floor, ceiling);
            let (gain, parameters) = rise(outside, &start)?;
            if gain > limit {
                return Some(bisect(inside, outside, limit, |value| {
                    rise(value, &start).map_or(f64::INFINITY, |(gain, _)| gain)
                }));
            }
            (inside, start) = (outside, parameters);
            stride *= 1.5;
        }
    };
    (walk(-1.0, floor), walk(1.0, ceiling))
}

fn bisect(mut inside: f64, mut outside: f64, limit: f64, rise: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..30 {
        let middle = 0.5 * (inside + outside);
        if rise(middle) > limit { outside = middle } else { inside = middle }
    }
    inside
}
