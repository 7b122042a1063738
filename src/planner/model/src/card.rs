//! Writes a solution down as a model with its card.

use crate::fit::Job;
use crate::generic::SHARED_EXPONENT;
use crate::hull::{Axis, Hull};
use crate::model::{Ceiling, Estimate, Exponent, Model, Prior, SCHEMA_VERSION, Series};
use crate::series::SeriesData;
use crate::solution::Solution;
use crate::solve::{EXPONENT_SD, ExponentRule};

impl Job {
    pub(crate) fn model(&self, solutions: &[(Vec<usize>, Solution)]) -> Model {
        let exponent = solutions
            .first()
            .map_or(SHARED_EXPONENT, |(_, solution)| significant(solution.exponent_value(), 6));
        let fitted = self.exponent == ExponentRule::Fitted;
        let size: usize = solutions.iter().map(|(_, solution)| solution.parameters.len()).sum();
        let mut covariance = vec![vec![0.0; size]; size];
        let mut series = Vec::new();
        let mut offset = 0;
        for (group, solution) in solutions {
            let n = solution.parameters.len();
            for row in 0..n {
                for column in 0..n {
                    covariance[offset + row][offset + column] =
                        significant(solution.covariance.at(row, column), 6);
                }
            }
            offset += n;
            for (place, &index) in group.iter().enumerate() {
                series.push(self.series(index, place, solution));
            }
        }
        let exponent_sd = solutions.first().and_then(|(_, solution)| {
            let last = solution.parameters.len().checked_sub(1)?;
            fitted.then(|| significant(solution.covariance.at(last, last).sqrt(), 4))
        });
        let mut notes = self.notes.clone();
        for kept in &self.prepared.kept_out {
            notes.push(format!("Row {} kept out: {}.", kept.row, kept.reason));
        }
        Model {
            schema_version: SCHEMA_VERSION,
            id: self.id.clone(),
            title: self.title.clone(),
            grade: self.grade,
            exponent: Exponent {
                value: exponent,
                fitted,
                sd_ln: exponent_sd,
                prior: fitted.then(|| Prior {
                    value: SHARED_EXPONENT,
                    sd_ln: EXPONENT_SD,
                    statistic: String::new(),
                    source: "shared value on a public grid of 127 points; ln(p - 0.5) is taken as normal"
                        .to_owned(),
                }),
            },
            series,
            covariance,
            leave_one_out: None,
            coverage_90_pct: None,
            points: self.points_used(),
            points_sha256: self.hash.clone(),
            sources: self.sources.clone(),
            notes,
        }
    }

    fn series(&self, index: usize, place: usize, solution: &Solution) -> Series {
        let data = &self.prepared.series[index];
        let layout = &solution.layouts[place];
        debug_assert!(layout.offset + layout.len() <= solution.parameters.len());
        let sd = |k: usize| significant(solution.covariance.at(k, k).sqrt(), 4);
        let ceilings = layout
            .resources
            .iter()
            .zip(&layout.priors)
            .enumerate()
            .map(|(k, (&resource, prior))| {
                let at = layout.offset + k;
                Ceiling {
                    resource,
                    value: significant(solution.parameters[at].exp(), 6),
                    sd_ln: sd(at),
                    discrepancy_sd_ln: significant(solution.discrepancy[at], 4),
                    posterior_to_prior: Some(significant(solution.posterior_to_prior[at], 4)),
                    one_sided: solution.one_sided[at],
                    prior: Some(Prior { value: significant(prior.value, 6), ..prior.clone() }),
                }
            })
            .collect();
        Series {
            name: data.name.clone(),
            quantity: data.quantity,
            unit: data.quantity.unit().to_owned(),
            block_kib: data.block_kib,
            pattern: data.pattern.clone(),
            read_pct: data.read_pct.clone(),
            statistic: data.statistic.clone(),
            ceilings,
            peak_to_mean: layout.ratio_index().map(|at| Estimate {
                value: significant(solution.parameters[at].exp(), 6),
                sd_ln: sd(at),
            }),
            peak_to_mean_prior: layout.ratio_prior.clone(),
            crosstalk: layout.crosstalk_index().map(|at| Estimate {
                value: significant(solution.parameters[at].exp(), 6),
                sd_ln: sd(at),
            }),
            residual_sd_ln: significant(solution.sigma, 4),
            degrees_of_freedom: significant(solution.degrees_of_freedom, 4),
            points: data.observations.len(),
            hull: hull_of(data),
        }
    }
}

fn hull_of(data: &SeriesData) -> Hull {
    let mut axes = vec![Axis::Hosts, Axis::Datastores, Axis::Flows];
    if data.observations.iter().all(|o| o.outstanding.is_some()) {
        axes.push(Axis::Outstanding);
    }
    let mut vertices: Vec<Vec<f64>> = Vec::new();
    for observation in &data.observations {
        let configuration = observation.configuration();
        let vertex: Vec<f64> =
            axes.iter().map(|axis| axis.of(&configuration).unwrap_or(1.0)).collect();
        if !vertices.contains(&vertex) {
            vertices.push(vertex);
        }
    }
    Hull { axes, vertices }
}

/// `value` with `digits` significant digits, so that files do not differ in the last bits.
pub(crate) fn significant(value: f64, digits: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return if value.is_finite() { 0.0 } else { value };
    }
    let precision = usize::try_from(digits - 1).unwrap_or(0);
    format!("{value:.precision$e}").parse().unwrap_or(value)
}
