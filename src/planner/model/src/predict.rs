//! Predictions: median, interval, shares; parameter draws; latency; other block sizes.
//!
//! The interval is the delta method of second order on `ln X` with Student t: variance of the
//! parameters, the discrepancy of ceilings that few points probed, and the spread of points about
//! the curve. Draws sample the same distribution, so the two agree; one draw holds for every configuration, so a
//! draw never loses throughput when a datastore is added.

use crate::curve::{curvature, exponent_gradient, latency_factor, ln_smooth_minimum};
use crate::matrix::Square;
use crate::model::{MAX_CEILINGS, Model, Series};
use crate::random::Random;
use crate::types::{
    Configuration, LatencyPrediction, LatencyUnknown, Prediction, Quantity, Resource,
};
use plimsoll_units::EvidenceGrade;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Utilisation above which no latency is quoted: past the knee single points are off by half to
/// double, docs/models.md section 9.
pub const LATENCY_UTILISATION_LIMIT: f64 = 0.85;

/// One joint sample of the parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Draw {
    pub(crate) parameters: Vec<f64>,
    pub(crate) exponent: f64,
    /// Common error of each series about its curve, in logarithms.
    pub(crate) noise: Vec<f64>,
}

/// Ceilings in logarithms for one configuration, without heap use.
struct Terms {
    ln: [f64; MAX_CEILINGS],
    /// Index of the ceiling in its series.
    index: [usize; MAX_CEILINGS],
    len: usize,
    /// (place of the host's term, place of ln kappa, slope of the loss in it).
    lost: Option<(usize, usize, f64)>,
}

impl Terms {
    fn of(series: &Series, parameters: &[f64], configuration: &Configuration) -> Self {
        let mut terms =
            Self { ln: [0.0; MAX_CEILINGS], index: [0; MAX_CEILINGS], len: 0, lost: None };
        for (index, ceiling) in series.ceilings.iter().enumerate().take(MAX_CEILINGS) {
            if let Some(ln_instances) = ceiling.resource.ln_instances(configuration) {
                terms.ln[terms.len] = ln_instances + parameters[index];
                if let (Resource::Host, Some(at)) = (ceiling.resource, series.crosstalk_place())
                    && let Some(waiting) = crate::crosstalk::waiting(
                        Some(configuration.hosts),
                        configuration.outstanding,
                    )
                {
                    let (ln_loss, slope) = crate::crosstalk::loss(parameters[at], waiting);
                    terms.ln[terms.len] -= ln_loss;
                    terms.lost = Some((terms.len, at, slope));
                }
                terms.index[terms.len] = index;
                terms.len += 1;
            }
        }
        terms
    }
}

/// Cost `a + g x block` of an operation on each resource, from a small-block series of IOPS and a
/// large-block series of MiB/s.
struct BlockLaw<'a> {
    small: &'a Series,
    large: &'a Series,
    small_offset: usize,
    large_offset: usize,
    small_block: f64,
    large_block: f64,
    /// For each ceiling of the small series, its index in the large one.
    partner: [usize; MAX_CEILINGS],
}

impl BlockLaw<'_> {
    /// Ceilings in IOPS at `block_kib`.
    fn terms(&self, parameters: &[f64], block_kib: f64, configuration: &Configuration) -> Terms {
        let mut terms = Terms::of(self.small, &parameters[self.small_offset..], configuration);
        for place in 0..terms.len {
            let k = terms.index[place];
            let ln_small = parameters[self.small_offset + k];
            let per_small = (-ln_small).exp();
            let ln_large = parameters[self.large_offset + self.partner[k]];
            let per_large = self.large_block / (1024.0 * ln_large.exp());
            let g = ((per_large - per_small) / (self.large_block - self.small_block)).max(0.0);
            let cost = if block_kib <= self.small_block {
                per_small
            } else if block_kib <= self.large_block {
                per_small + g * (block_kib - self.small_block)
            } else {
                per_large.max(per_small) * block_kib / self.large_block
            };
            terms.ln[place] += -cost.ln() - ln_small;
        }
        terms
    }
}

impl Model {
    /// Predicts `quantity` for `configuration`: what it carries, without tier or gateway caps,
    /// which stand outside as a hard minimum.
    ///
    /// A model without the quantity answers with `NaN`, no shares and grade D; ask
    /// [`Model::series_for`] first when that can happen.
    #[must_use]
    pub fn predict(&self, quantity: Quantity, configuration: &Configuration) -> Prediction {
        match self.locate(quantity) {
            Some((index, _)) => self.predict_series(index, configuration),
            None => Prediction {
                median: f64::NAN,
                p05: f64::NAN,
                p95: f64::NAN,
                shares: Vec::new(),
                extrapolated: true,
                grade: EvidenceGrade::D,
            },
        }
    }

    /// Predicts the series at `index` (in [`Model::series`] order) for `configuration`.
    ///
    /// # Panics
    /// When `index` is not below the number of series.
    #[must_use]
    pub fn predict_series(&self, index: usize, configuration: &Configuration) -> Prediction {
        let series = &self.series[index];
        let offset = self.offset(index);
        let parameters = self.parameters();
        let terms = Terms::of(series, &parameters[offset..], configuration);
        let mut shares = [0.0; MAX_CEILINGS];
        let p = self.exponent.value;
        let ln_x = ln_smooth_minimum(&terms.ln[..terms.len], p, &mut shares[..terms.len]);
        let mut variance = self.quadratic(&self.sensitivity(index, configuration));
        for (share, &index) in shares.iter().zip(&terms.index).take(terms.len) {
            variance += (share * series.ceilings[index].discrepancy_sd_ln).powi(2);
        }
        let (shift, more) = curvature(&shares[..terms.len], p, variance, |i, j| {
            let (i, j) = (terms.index[i], terms.index[j]);
            let own = if i == j { series.ceilings[i].discrepancy_sd_ln.powi(2) } else { 0.0 };
            own + self.covariance[offset + i][offset + j]
        });
        let ln_x = ln_x + shift;
        variance += more + series.residual_sd_ln.powi(2);
        let half = student_t(0.95, series.degrees_of_freedom) * variance.sqrt();
        let mut named: Vec<(Resource, f64)> =
            (0..terms.len).map(|k| (series.ceilings[terms.index[k]].resource, shares[k])).collect();
        named.sort_by(|left, right| right.1.total_cmp(&left.1));
        let extrapolated = !series.hull.contains(configuration);
        Prediction {
            median: ln_x.exp(),
            p05: (ln_x - half).exp(),
            p95: (ln_x + half).exp(),
            shares: named,
            extrapolated,
            grade: self.grade,
        }
    }

    /// Covariance of the parameters with the discrepancy of each ceiling.
    pub(crate) fn design_covariance(&self) -> Square {
        let size = self.covariance.len();
        let mut covariance = Square::zeros(size);
        for (row, line) in self.covariance.iter().enumerate() {
            for (column, &value) in line.iter().enumerate() {
                covariance.values[row * size + column] = value;
            }
        }
        for (index, series) in self.series.iter().enumerate() {
            let offset = self.offset(index);
            for (k, ceiling) in series.ceilings.iter().enumerate() {
                covariance.add(offset + k, offset + k, ceiling.discrepancy_sd_ln.powi(2));
            }
        }
        covariance
    }

    /// Gradient of `ln X` of series `index` in all parameters (in [`Model::parameter_names`] order)
    /// at `configuration`: the shares of the ceilings, and the slope in the exponent.
    ///
    /// # Panics
    /// When `index` is not below the number of series.
    #[must_use]
    pub fn sensitivity(&self, index: usize, configuration: &Configuration) -> Vec<f64> {
        let offset = self.offset(index);
        let parameters = self.parameters();
        let terms = Terms::of(&self.series[index], &parameters[offset..], configuration);
        let mut shares = [0.0; MAX_CEILINGS];
        let ln = &terms.ln[..terms.len];
        let p = self.exponent.value;
        let ln_x = ln_smooth_minimum(ln, p, &mut shares[..terms.len]);
        let mut gradient = vec![0.0; parameters.len()];
        for k in 0..terms.len {
            gradient[offset + terms.index[k]] = shares[k];
        }
        if let Some((place, at, slope)) = terms.lost {
            gradient[offset + at] -= shares[place] * slope;
        }
        if self.exponent.fitted
            && let Some(last) = gradient.last_mut()
        {
            *last = (p - 0.5) * exponent_gradient(ln, p, ln_x, &shares[..terms.len]);
        }
        gradient
    }

    /// `n` joint draws of the parameters, the same for the same seed.
    #[must_use]
    pub fn draws(&self, n: usize, seed: u64) -> Vec<Draw> {
        let centre = self.parameters();
        let size = centre.len();
        let mut covariance = self.design_covariance();
        // A covariance that lost definiteness to rounding is mended by a variance far below any
        // that matters; a diagonal always factors.
        let factor = covariance.cholesky().or_else(|| {
            (0..size).for_each(|k| covariance.add(k, k, 1e-9));
            covariance.cholesky()
        });
        let mut random = Random::new(seed);
        let mut normals = vec![0.0; size];
        (0..n)
            .map(|_| {
                normals.iter_mut().for_each(|z| *z = random.normal());
                let mut parameters = centre.clone();
                let mut noise = vec![0.0; self.series.len()];
                let mut scales = Vec::with_capacity(size);
                for (index, series) in self.series.iter().enumerate() {
                    let degrees = series.degrees_of_freedom;
                    let scale = (degrees / random.chi_square(degrees)).sqrt();
                    noise[index] = scale * series.residual_sd_ln * random.normal();
                    scales.resize(scales.len() + series.parameters(), scale);
                }
                scales.resize(size, 1.0);
                for row in 0..size {
                    let shift: f64 = match &factor {
                        Some(factor) => (0..=row).map(|k| factor.at(row, k) * normals[k]).sum(),
                        None => covariance.at(row, row).max(0.0).sqrt() * normals[row],
                    };
                    parameters[row] += scales[row] * shift;
                }
                let exponent = if self.exponent.fitted {
                    0.5 + parameters[size - 1].exp()
                } else {
                    self.exponent.value
                };
                Draw { parameters, exponent, noise }
            })
            .collect()
    }

    /// What `draw` says that `configuration` carries; `NaN` when the model lacks the quantity.
    #[must_use]
    pub fn evaluate(&self, quantity: Quantity, configuration: &Configuration, draw: &Draw) -> f64 {
        let Some((index, offset)) = self.locate(quantity) else { return f64::NAN };
        let terms = Terms::of(&self.series[index], &draw.parameters[offset..], configuration);
        let mut shares = [0.0; MAX_CEILINGS];
        let ln = &terms.ln[..terms.len];
        (ln_smooth_minimum(ln, draw.exponent, &mut shares[..terms.len]) + draw.noise[index]).exp()
    }

    /// Response time at `load` (in the quantity's unit), with its 90 % interval.
    ///
    /// # Errors
    /// [`LatencyUnknown`] says why none is quoted: no unloaded response time, no such quantity, or
    /// a utilisation above [`LATENCY_UTILISATION_LIMIT`].
    pub fn latency_ms(
        &self,
        quantity: Quantity,
        configuration: &Configuration,
        load: f64,
    ) -> Result<LatencyPrediction, LatencyUnknown> {
        let unloaded = self.unloaded_ms(quantity);
        let (factor, utilisation) = self.latency_factor(quantity, configuration, load)?;
        let unloaded = unloaded.ok_or(LatencyUnknown::UnloadedNotMeasured)?;
        let Some((index, offset)) = self.locate(quantity) else {
            return Err(LatencyUnknown::NoSuchQuantity);
        };
        let series = &self.series[index];
        let parameters = self.parameters();
        let ln_latency = |parameters: &[f64]| -> f64 {
            let exponent = self.exponent_of(parameters);
            let others = Configuration { outstanding: None, ..*configuration };
            let terms = Terms::of(series, &parameters[offset..], &others);
            let mut shares = [0.0; MAX_CEILINGS];
            let ln_x =
                ln_smooth_minimum(&terms.ln[..terms.len], exponent, &mut shares[..terms.len]);
            let ln_r0 = series
                .ceilings
                .iter()
                .position(|ceiling| ceiling.resource == Resource::Concurrency)
                .map_or(0.0, |k| -parameters[offset + k]);
            ln_r0 + latency_factor((load.ln() - ln_x).exp(), exponent).ln()
        };
        // A ceiling that few points probed is unsure by its discrepancy besides.
        let mut unprobed = 0.0;
        let mut moved = parameters.clone();
        for (k, ceiling) in series.ceilings.iter().enumerate() {
            let (at, step) = (offset + k, 1e-5);
            moved[at] = parameters[at] + step;
            let up = ln_latency(&moved);
            moved[at] = parameters[at] - step;
            let slope = (up - ln_latency(&moved)) / (2.0 * step);
            moved[at] = parameters[at];
            unprobed += (slope * ceiling.discrepancy_sd_ln).powi(2);
        }
        let variance =
            self.variance_of(&ln_latency, &parameters) + unprobed + series.residual_sd_ln.powi(2);
        let median = unloaded * factor;
        let half = student_t(0.95, series.degrees_of_freedom) * variance.sqrt();
        Ok(LatencyPrediction {
            median_ms: median,
            p05_ms: median * (-half).exp(),
            p95_ms: median * half.exp(),
            unloaded_ms: unloaded,
            utilisation,
        })
    }

    /// Response time over the unloaded one at `load`, and the utilisation: what can be said when
    /// the unloaded time comes from elsewhere (a data sheet, a probe).
    ///
    /// # Errors
    /// As [`Model::latency_ms`], save that no unloaded time is needed.
    pub fn latency_factor(
        &self,
        quantity: Quantity,
        configuration: &Configuration,
        load: f64,
    ) -> Result<(f64, f64), LatencyUnknown> {
        let Some((index, offset)) = self.locate(quantity) else {
            return Err(LatencyUnknown::NoSuchQuantity);
        };
        let others = Configuration { outstanding: None, ..*configuration };
        let parameters = self.parameters();
        let terms = Terms::of(&self.series[index], &parameters[offset..], &others);
        let used = crate::curve::utilisation(&terms.ln[..terms.len], self.exponent.value, load);
        if used > LATENCY_UTILISATION_LIMIT {
            return Err(LatencyUnknown::TooCloseToTheLimit { utilisation: used });
        }
        Ok((latency_factor(used, self.exponent.value), used))
    }

    /// IOPS at another block size, by the law that an operation costs `a + g x block` on each
    /// resource: `a` and `g` follow from the IOPS series and the throughput series.
    ///
    /// `None` when the model has not both series with the same resources and known blocks. Below
    /// the small block the law is held at the small block's IOPS, above the large one at its
    /// MiB/s. Random and sequential differ in more than block, so the grade is one step down.
    #[must_use]
    pub fn predict_iops_at_block(
        &self,
        block_kib: f64,
        configuration: &Configuration,
    ) -> Option<Prediction> {
        let law = self.block_law()?;
        let (small, large) = (law.small, law.large);
        if block_kib <= 0.0 {
            return None;
        }
        let at = |parameters: &[f64]| -> (f64, Vec<(Resource, f64)>) {
            let terms = law.terms(parameters, block_kib, configuration);
            let mut shares = [0.0; MAX_CEILINGS];
            let ln_x = ln_smooth_minimum(
                &terms.ln[..terms.len],
                self.exponent_of(parameters),
                &mut shares[..terms.len],
            );
            let named = (0..terms.len)
                .map(|k| (small.ceilings[terms.index[k]].resource, shares[k]))
                .collect();
            (ln_x, named)
        };
        let parameters = self.parameters();
        let (ln_x, mut shares) = at(&parameters);
        shares.sort_by(|left, right| right.1.total_cmp(&left.1));
        let spread = small.residual_sd_ln.max(large.residual_sd_ln);
        let discrepancy: f64 = shares
            .iter()
            .map(|(resource, share)| {
                let of = |quantity| {
                    self.ceiling(quantity, *resource).map_or(0.0, |c| c.discrepancy_sd_ln)
                };
                (share * of(Quantity::Iops).max(of(Quantity::Throughput))).powi(2)
            })
            .sum();
        let variance = self.variance_of(&|theta: &[f64]| at(theta).0, &parameters)
            + discrepancy
            + spread * spread;
        let degrees = small.degrees_of_freedom.min(large.degrees_of_freedom);
        let half = student_t(0.95, degrees) * variance.sqrt();
        Some(Prediction {
            median: ln_x.exp(),
            p05: (ln_x - half).exp(),
            p95: (ln_x + half).exp(),
            shares,
            extrapolated: !small.hull.contains(configuration)
                || block_kib < law.small_block
                || block_kib > law.large_block,
            grade: self.grade.weaker(match self.grade {
                EvidenceGrade::A => EvidenceGrade::B,
                EvidenceGrade::B => EvidenceGrade::C,
                EvidenceGrade::C | EvidenceGrade::D => EvidenceGrade::D,
            }),
        })
    }

    /// What `draw` says of the IOPS at another block size, by the law of
    /// [`Model::predict_iops_at_block`]; `None` where that gives none.
    #[must_use]
    pub fn evaluate_iops_at_block(
        &self,
        block_kib: f64,
        configuration: &Configuration,
        draw: &Draw,
    ) -> Option<f64> {
        let (index, _) = self.locate(Quantity::Iops)?;
        let law = self.block_law()?;
        if block_kib <= 0.0 {
            return None;
        }
        let terms = law.terms(&draw.parameters, block_kib, configuration);
        let mut shares = [0.0; MAX_CEILINGS];
        let ln_x =
            ln_smooth_minimum(&terms.ln[..terms.len], draw.exponent, &mut shares[..terms.len]);
        Some((ln_x + draw.noise[index]).exp())
    }

    /// The cost of an operation by block, when both series have the same resources.
    fn block_law(&self) -> Option<BlockLaw<'_>> {
        let (small_index, small_offset) = self.locate(Quantity::Iops)?;
        let (large_index, large_offset) = self.locate(Quantity::Throughput)?;
        let (small, large) = (&self.series[small_index], &self.series[large_index]);
        let (small_block, large_block) = (small.block_kib?, large.block_kib?);
        if large_block <= small_block || small.ceilings.len() != large.ceilings.len() {
            return None;
        }
        let mut partner = [0; MAX_CEILINGS];
        for (k, ceiling) in small.ceilings.iter().enumerate().take(MAX_CEILINGS) {
            partner[k] =
                large.ceilings.iter().position(|other| other.resource == ceiling.resource)?;
        }
        Some(BlockLaw {
            small,
            large,
            small_offset,
            large_offset,
            small_block,
            large_block,
            partner,
        })
    }

    pub(crate) fn exponent_of(&self, parameters: &[f64]) -> f64 {
        match parameters.last() {
            Some(last) if self.exponent.fitted => 0.5 + last.exp(),
            _ => self.exponent.value,
        }
    }

    /// Variance of a function of the parameters: central differences through the covariance.
    pub(crate) fn variance_of(&self, function: &dyn Fn(&[f64]) -> f64, centre: &[f64]) -> f64 {
        const STEP: f64 = 1e-5;
        let mut moved = centre.to_vec();
        let gradient: Vec<f64> = (0..centre.len())
            .map(|k| {
                moved[k] = centre[k] + STEP;
                let up = function(&moved);
                moved[k] = centre[k] - STEP;
                let down = function(&moved);
                moved[k] = centre[k];
                (up - down) / (2.0 * STEP)
            })
            .collect();
        self.quadratic(&gradient)
    }

    fn quadratic(&self, gradient: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (left, row) in gradient.iter().zip(&self.covariance) {
            if *left != 0.0 {
                sum += left * row.iter().zip(gradient).map(|(c, right)| c * right).sum::<f64>();
            }
        }
        sum.max(0.0)
    }
}

/// Quantile of Student's t; the normal's when `degrees` is large.
pub(crate) fn student_t(probability: f64, degrees: f64) -> f64 {
    match StudentsT::new(0.0, 1.0, degrees.clamp(1.0, 1e6)) {
        Ok(distribution) => distribution.inverse_cdf(probability),
        Err(_) => 1.645, // cannot happen: scale 1 and degrees of at least 1 are valid
    }
}
