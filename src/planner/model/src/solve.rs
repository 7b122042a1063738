//! The fit itself: ceilings, ratios and exponent of a group of series that share an exponent.
//!
//! Starts come from the points and the priors, never from an earlier fit, so that a left-out point
//! cannot leak into its own prediction.

use crate::beliefs::PriorTable;
use crate::curve::{exponent_gradient, ln_smooth_minimum};
use crate::lm::{LinearPrior, Optimum, Problem, Row, minimise};
use crate::model::{MAX_CEILINGS, Prior};
use crate::series::{Observation, SeriesData};
use crate::solution::Solution;
use crate::types::Resource;

/// Standard deviation of a point about the curve before any residual is seen: 3 % repeatability
/// and 4 % of what the curve leaves out.
pub(crate) const SIGMA: f64 = 0.05;
/// What remains of a residual above a lower bound. "Over 530,000" excludes less in full; more is
/// not excluded, yet such numbers are results rounded down, so it counts by a third, as if the
/// bound stood 15 % loose upwards.
pub(crate) const ABOVE_BOUND: f64 = 1.0 / 3.0;
/// Least spread that is believed.
pub(crate) const SIGMA_FLOOR: f64 = 0.03;
/// Extra standard deviation of a ceiling that the points leave at its prior (models.md 2.2: 0.15
/// to 0.20).
pub(crate) const DISCREPANCY: f64 = 0.175;
/// Posterior over prior standard deviation from which a ceiling counts as not probed; below it the
/// extra deviation falls in proportion, so that no point more or less makes a step.
pub(crate) const UNPROBED: f64 = 0.5;
/// Standard deviation of the belief about a ceiling of which nothing is published.
const WEAK_SD: f64 = 1.0;
/// Its centre: this many times the largest value that one instance was seen to carry, for the pool
/// (which is seldom reached) and for the rest.
const WEAK_FACTORS: (f64, f64) = (2.0, 1.5);
/// Belief about peak over mean where none is listed.
const GENERIC_RATIO: (f64, f64) = (1.25, 0.15);
/// How far volume and pool may differ between protocols, in logarithms: 2 %.
const SAME_ARRAY_SD: f64 = 0.02;
/// Belief about the exponent: `ln(p - 0.5)` is normal about `ln 2` with this deviation.
pub(crate) const EXPONENT_SD: f64 = 0.3;

/// How the exponent is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ExponentRule {
    Fixed(f64),
    Fitted,
}

/// What is fitted besides the ceilings.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    pub exponent: ExponentRule,
    /// For each series of the group, whether hosts lose by their own queue ([`crate::crosstalk`]).
    pub crosstalk: Vec<bool>,
    /// Volume and pool are the same for series that differ in protocol alone.
    pub shared_array: bool,
}

/// Where the parameters of one series stand.
#[derive(Debug, Clone)]
pub(crate) struct SeriesLayout {
    pub offset: usize,
    pub resources: Vec<Resource>,
    pub priors: Vec<Prior>,
    pub has_ratio: bool,
    pub ratio_prior: Option<Prior>,
    pub crosstalk: bool,
}

impl SeriesLayout {
    pub(crate) fn ratio_index(&self) -> Option<usize> {
        self.has_ratio.then_some(self.offset + self.resources.len())
    }

    pub(crate) fn crosstalk_index(&self) -> Option<usize> {
        self.crosstalk.then_some(self.offset + self.resources.len() + usize::from(self.has_ratio))
    }

    pub(crate) fn len(&self) -> usize {
        self.resources.len() + usize::from(self.has_ratio) + usize::from(self.crosstalk)
    }
}

/// One observation ready for the inner loop.
#[derive(Clone)]
pub(crate) struct Prepared {
    pub(crate) series: usize,
    pub(crate) ln_counts: [f64; MAX_CEILINGS],
    pub(crate) parameters: [usize; MAX_CEILINGS],
    pub(crate) len: usize,
    pub(crate) ratio: Option<usize>,
    /// (place of the host's term, parameter of ln kappa, outstanding I/Os a host less one).
    pub(crate) crosstalk: Option<(usize, usize, f64)>,
    pub(crate) ln_value: f64,
    pub(crate) one_sided: bool,
}

/// The p-norm of ceilings as a least-squares problem.
#[derive(Clone)]
pub(crate) struct Curve {
    pub(crate) layouts: Vec<SeriesLayout>,
    pub(crate) rows: Vec<Prepared>,
    pub(crate) exponent: ExponentRule,
    pub(crate) size: usize,
    pub(crate) priors: Vec<LinearPrior>,
    /// For each parameter the largest value seen per instance, in logarithms, and the belief's
    /// centre.
    seen: Vec<(f64, f64)>,
    /// Standard deviation of a residual.
    pub(crate) sigma: f64,
    /// What remains of a residual above a lower bound.
    pub(crate) above_bound: f64,
}

impl Curve {
    /// Sets up `series`, leaving out the observation `skip` (series, observation).
    pub(crate) fn new(
        series: &[&SeriesData],
        resources: &[Vec<Resource>],
        table: &PriorTable,
        rules: &Rules,
        skip: Option<(usize, usize)>,
    ) -> Self {
        let exponent = rules.exponent;
        let mut curve = Self {
            layouts: Vec::with_capacity(series.len()),
            rows: Vec::new(),
            exponent,
            size: 0,
            priors: Vec::new(),
            seen: Vec::new(),
            sigma: SIGMA,
            above_bound: ABOVE_BOUND,
        };
        for (index, data) in series.iter().enumerate() {
            let used: Vec<&Observation> = data
                .observations
                .iter()
                .enumerate()
                .filter(|(k, _)| skip != Some((index, *k)))
                .map(|(_, observation)| observation)
                .collect();
            let crosstalk = rules.crosstalk.get(index).copied().unwrap_or(false);
            curve.add_series(index, data, &resources[index], &used, table, crosstalk);
        }
        if rules.shared_array {
            curve.share_array(series);
        }
        if exponent == ExponentRule::Fitted {
            let at = curve.size;
            curve.priors.push(LinearPrior {
                terms: vec![(at, 1.0)],
                centre: 2.0_f64.ln(),
                sd: EXPONENT_SD,
            });
            curve.seen.push((2.0_f64.ln(), 2.0_f64.ln()));
            curve.size += 1;
        }
        curve
    }

    fn add_series(
        &mut self,
        index: usize,
        data: &SeriesData,
        resources: &[Resource],
        used: &[&Observation],
        table: &PriorTable,
        crosstalk: bool,
    ) {
        let offset = self.size;
        let has_ratio = data.observations.iter().any(|observation| observation.peak);
        let ratio = has_ratio.then_some(offset + resources.len());
        let mut priors = Vec::with_capacity(resources.len());
        for (k, &resource) in resources.iter().enumerate() {
            // Peaks are scaled to means by the generic ratio: only starts and weak centres use it.
            let seen = used
                .iter()
                .filter_map(|o| {
                    let scale = if o.peak { GENERIC_RATIO.0 } else { 1.0 };
                    Some(o.value / scale / o.instances(resource)?)
                })
                .fold(0.0_f64, f64::max);
            let seen = if seen > 0.0 { seen } else { 1.0 };
            let mut terms = vec![(offset + k, 1.0)];
            let (centre, sd, prior) = match table.find(data, Some(resource)) {
                Some((value, row)) => {
                    let mut centre = value.ln();
                    let mut sd = row.sd_ln;
                    if row.statistic == "peak" && data.statistic == "mean" {
                        match ratio {
                            Some(ratio) => terms.push((ratio, 1.0)),
                            None => {
                                centre -= GENERIC_RATIO.0.ln();
                                sd = sd.hypot(GENERIC_RATIO.1);
                            }
                        }
                    }
                    let prior = Prior {
                        value,
                        sd_ln: row.sd_ln,
                        statistic: row.statistic.clone(),
                        source: row.source.clone(),
                    };
                    (centre, sd, prior)
                }
                None => {
                    let factor =
                        if resource == Resource::Pool { WEAK_FACTORS.0 } else { WEAK_FACTORS.1 };
                    let value = seen * factor;
                    let source = format!(
                        "weak: {factor} times the largest value seen per instance; nothing is published"
                    );
                    let prior = Prior { value, sd_ln: WEAK_SD, statistic: String::new(), source };
                    (value.ln(), WEAK_SD, prior)
                }
            };
            let own_centre = if terms.len() > 1 { centre - GENERIC_RATIO.0.ln() } else { centre };
            self.seen.push((seen.ln(), own_centre));
            self.priors.push(LinearPrior { terms, centre, sd });
            priors.push(prior);
        }
        let mut ratio_prior = None;
        if let Some(ratio) = ratio {
            let (value, sd, source) = match table.find(data, None) {
                Some((value, row)) => (value, row.sd_ln, row.source.clone()),
                None => (GENERIC_RATIO.0, GENERIC_RATIO.1, "generic".to_owned()),
            };
            self.priors.push(LinearPrior { terms: vec![(ratio, 1.0)], centre: value.ln(), sd });
            self.seen.push((value.ln(), value.ln()));
            ratio_prior = Some(Prior { value, sd_ln: sd, statistic: String::new(), source });
        }
        let layout = SeriesLayout {
            offset,
            resources: resources.to_vec(),
            priors,
            has_ratio,
            ratio_prior,
            crosstalk,
        };
        if let Some(kappa) = layout.crosstalk_index() {
            self.priors.push(crate::crosstalk::prior(kappa));
            self.seen.push((crate::crosstalk::LN_CENTRE, crate::crosstalk::LN_CENTRE));
        }
        self.rows.extend(used.iter().map(|observation| prepare_row(index, &layout, observation)));
        self.size = offset + layout.len();
        self.layouts.push(layout);
    }

    /// Ties volume and pool of series that differ in protocol alone: what the wire costs changes
    /// flow and response time, not the array. The belief about a ceiling then counts once.
    fn share_array(&mut self, series: &[&SeriesData]) {
        for (later, data) in series.iter().enumerate() {
            let Some(first) = series[..later].iter().position(|other| other.same_work(data)) else {
                continue;
            };
            for resource in [Resource::Volume, Resource::Pool] {
                let at = |index: usize| -> Option<usize> {
                    let layout = &self.layouts[index];
                    let place = layout.resources.iter().position(|r| *r == resource)?;
                    Some(layout.offset + place)
                };
                let (Some(own), Some(other)) = (at(later), at(first)) else { continue };
                self.priors.retain(|prior| prior.terms.first() != Some(&(own, 1.0)));
                self.priors.push(LinearPrior {
                    terms: vec![(own, 1.0), (other, -1.0)],
                    centre: 0.0,
                    sd: SAME_ARRAY_SD,
                });
            }
        }
    }

    pub(crate) fn exponent_at(&self, parameters: &[f64]) -> f64 {
        match self.exponent {
            ExponentRule::Fixed(p) => p,
            ExponentRule::Fitted => 0.5 + parameters[self.size - 1].exp(),
        }
    }

    /// Logarithm of the predicted value and its gradient.
    pub(crate) fn evaluate(
        &self,
        row: &Prepared,
        parameters: &[f64],
        gradient: &mut Vec<(usize, f64)>,
    ) -> f64 {
        let mut ln = [0.0; MAX_CEILINGS];
        for (ln, (count, &at)) in
            ln.iter_mut().zip(row.ln_counts.iter().zip(&row.parameters)).take(row.len)
        {
            *ln = count + parameters[at];
        }
        let lost = row.crosstalk.map(|(place, at, waiting)| {
            let (ln_loss, slope) = crate::crosstalk::loss(parameters[at], waiting);
            ln[place] -= ln_loss;
            (place, at, slope)
        });
        let mut shares = [0.0; MAX_CEILINGS];
        let p = self.exponent_at(parameters);
        let ln_x = ln_smooth_minimum(&ln[..row.len], p, &mut shares[..row.len]);
        gradient.extend(row.parameters.iter().copied().zip(shares).take(row.len));
        if let Some((place, at, slope)) = lost {
            gradient.push((at, -shares[place] * slope));
        }
        if self.exponent == ExponentRule::Fitted {
            let slope = exponent_gradient(&ln[..row.len], p, ln_x, &shares[..row.len]);
            gradient.push((self.size - 1, (p - 0.5) * slope));
        }
        match row.ratio {
            Some(ratio) => {
                gradient.push((ratio, 1.0));
                ln_x + parameters[ratio]
            }
            None => ln_x,
        }
    }

    /// Starting points: beliefs, what was seen, and mixtures in which each kind of ceiling is far.
    fn starts(&self) -> Vec<Vec<f64>> {
        let resource_at: Vec<Option<Resource>> = self
            .layouts
            .iter()
            .flat_map(|layout| {
                layout
                    .resources
                    .iter()
                    .map(|&resource| Some(resource))
                    .chain(layout.has_ratio.then_some(None))
                    .chain(layout.crosstalk.then_some(None))
            })
            .chain((self.exponent == ExponentRule::Fitted).then_some(None))
            .collect();
        let far = |which: &[Resource]| -> Vec<f64> {
            self.seen
                .iter()
                .zip(&resource_at)
                .map(|(&(seen, belief), resource)| match resource {
                    None => belief,
                    Some(resource) if which.contains(resource) => seen + 3.0_f64.ln(),
                    Some(_) => seen + 1.1_f64.ln(),
                })
                .collect()
        };
        vec![
            self.seen.iter().map(|&(_, belief)| belief).collect(),
            far(&[]),
            far(&[Resource::Pool]),
            far(&[Resource::Host, Resource::Vm]),
            far(&[Resource::Flow, Resource::Concurrency]),
            far(&[Resource::Pool, Resource::Host, Resource::Volume, Resource::Vm]),
        ]
    }

    /// Best optimum over all starts; `None` when none is finite.
    pub(crate) fn solve(self) -> Option<Solution> {
        let best = self.optimum()?;
        self.describe(best.parameters)
    }

    /// The optimum without what is said of it.
    pub(crate) fn optimum(&self) -> Option<Optimum> {
        let mut best: Option<Optimum> = None;
        for start in self.starts() {
            if let Some(optimum) = minimise(self, &start)
                && best.as_ref().is_none_or(|known| optimum.cost < known.cost)
            {
                best = Some(optimum);
            }
        }
        best
    }
}

pub(crate) fn prepare_row(
    series: usize,
    layout: &SeriesLayout,
    observation: &Observation,
) -> Prepared {
    let mut row = Prepared {
        series,
        ln_counts: [0.0; MAX_CEILINGS],
        parameters: [0; MAX_CEILINGS],
        len: 0,
        ratio: if observation.peak { layout.ratio_index() } else { None },
        crosstalk: None,
        ln_value: observation.ln_value,
        one_sided: observation.one_sided,
    };
    for (k, &resource) in layout.resources.iter().enumerate() {
        if let Some(count) = observation.instances(resource) {
            if let (Resource::Host, Some(kappa)) = (resource, layout.crosstalk_index()) {
                let waiting = crate::crosstalk::waiting(Some(count), observation.outstanding);
                row.crosstalk = waiting.map(|waiting| (row.len, kappa, waiting));
            }
            row.ln_counts[row.len] = count.ln();
            row.parameters[row.len] = layout.offset + k;
            row.len += 1;
        }
    }
    row
}

impl Problem for Curve {
    fn size(&self) -> usize {
        self.size
    }

    fn residuals(&self) -> usize {
        self.rows.len()
    }

    fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
        let prepared = &self.rows[index];
        row.residual = self.evaluate(prepared, parameters, &mut row.gradient) - prepared.ln_value;
        if prepared.one_sided && row.residual > 0.0 {
            row.residual *= self.above_bound;
            row.gradient.iter_mut().for_each(|(_, slope)| *slope *= self.above_bound);
        }
    }

    fn priors(&self) -> &[LinearPrior] {
        &self.priors
    }

    fn sigma(&self) -> f64 {
        self.sigma
    }
}
