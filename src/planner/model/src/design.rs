//! Which configuration to measure next: four corners first, then what tells most.
//!
//! After the corners the next point is D-optimal (it shrinks the volume of the parameters' ellipsoid
//! most) or, when the configurations that matter are known, V-optimal (it shrinks the mean variance
//! of `ln X` over them most). Both work on the information that a point adds to what beliefs and
//! earlier points know: `I + j j^T / sigma^2` with `j = d ln X / d theta`; docs/models.md section 5.

use crate::matrix::Square;
use crate::model::Model;
use crate::types::{Configuration, Quantity};
use serde::{Deserialize, Serialize};

/// Standard deviation of a measurement about the curve that a design assumes: 3 % repeatability and
/// 4 % of what the curve leaves out.
pub const DESIGN_SD_LN: f64 = 0.05;
/// Among points that gain at least this share of the best gain the cheapest is taken.
const AS_GOOD: f64 = 0.95;

/// A configuration that could be measured, with what that costs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Configuration.
    pub configuration: Configuration,
    /// Time of all its workloads with preparation, seconds.
    pub seconds: f64,
    /// Bytes written and read.
    pub bytes: f64,
}

/// What may still be spent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Configurations.
    pub points: usize,
    /// Seconds.
    pub seconds: f64,
    /// Bytes.
    pub bytes: f64,
}

impl Budget {
    /// Whether `candidate` can be paid.
    #[must_use]
    pub fn affords(&self, candidate: &Candidate) -> bool {
        self.points > 0 && candidate.seconds <= self.seconds && candidate.bytes <= self.bytes
    }

    /// What is left after `candidate`.
    #[must_use]
    pub fn less(&self, candidate: &Candidate) -> Self {
        Self {
            points: self.points.saturating_sub(1),
            seconds: self.seconds - candidate.seconds,
            bytes: self.bytes - candidate.bytes,
        }
    }
}

/// By which rule a point was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Criterion {
    /// One of the four corners.
    Corner,
    /// Most information on all parameters.
    DOptimal,
    /// Least mean variance over the configurations that matter.
    VOptimal,
}

/// The next point and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Index among the candidates.
    pub candidate: usize,
    /// Rule.
    pub criterion: Criterion,
    /// Gain: of ln det for D, of the mean variance of ln X for V.
    pub gain: f64,
    /// In words.
    pub why: String,
}

/// What a design knows.
#[derive(Debug, Clone, Copy)]
pub struct Design<'a> {
    /// Beliefs, or beliefs and the points so far.
    pub model: &'a Model,
    /// What could be measured.
    pub candidates: &'a [Candidate],
    /// What was, or was tried and set aside: indices of candidates.
    pub done: &'a [usize],
    /// Configurations that matter; none makes the design D-optimal.
    pub targets: &'a [Configuration],
    /// What may be spent.
    pub budget: Budget,
}

impl Design<'_> {
    /// The next point; `None` when nothing is left that can be paid.
    #[must_use]
    pub fn next(&self) -> Option<Choice> {
        let open = |index: &usize| {
            !self.done.contains(index) && self.budget.affords(&self.candidates[*index])
        };
        for (index, says) in corners(self.candidates) {
            if open(&index) {
                let gain = self.gain(index, &self.known());
                let why = format!("corner: {says}");
                return Some(Choice { candidate: index, criterion: Criterion::Corner, gain, why });
            }
        }
        let known = self.known();
        let gains: Vec<(usize, f64)> = (0..self.candidates.len())
            .filter(open)
            .map(|index| (index, self.gain(index, &known)))
            .collect();
        let most = gains.iter().map(|(_, gain)| *gain).fold(0.0, f64::max);
        let cost = |index: usize| self.candidates[index].seconds;
        let (index, gain) = gains
            .iter()
            .filter(|(_, gain)| *gain >= AS_GOOD * most)
            .min_by(|left, right| cost(left.0).total_cmp(&cost(right.0)))
            .copied()?;
        let criterion =
            if self.targets.is_empty() { Criterion::DOptimal } else { Criterion::VOptimal };
        Some(Choice { candidate: index, criterion, gain, why: self.why(index, &known) })
    }

    /// What would be measured if every point came out as expected, in order: to show time and bytes
    /// before anything starts. It ends where the budget does.
    #[must_use]
    pub fn outlook(&self) -> Vec<Choice> {
        let mut model = self.model.clone();
        let mut done = self.done.to_vec();
        let mut budget = self.budget;
        let mut choices = Vec::new();
        loop {
            let design = Design { model: &model, done: &done, budget, ..*self };
            let Some(choice) = design.next() else { return choices };
            let (after, _) = design.after(choice.candidate, &design.known());
            for (row, line) in model.covariance.iter_mut().enumerate() {
                for (column, value) in line.iter_mut().enumerate() {
                    *value = after.at(row, column);
                }
            }
            // The discrepancy is within the covariance now.
            for ceiling in model.series.iter_mut().flat_map(|series| &mut series.ceilings) {
                ceiling.discrepancy_sd_ln = 0.0;
            }
            done.push(choice.candidate);
            budget = budget.less(&self.candidates[choice.candidate]);
            choices.push(choice);
        }
    }

    /// Covariance of what is known, the discrepancy of ceilings that few points probed within.
    fn known(&self) -> Square {
        self.model.design_covariance()
    }

    fn gain(&self, index: usize, known: &Square) -> f64 {
        let after = self.after(index, known);
        if self.targets.is_empty() {
            after.1
        } else {
            self.mean_variance(known) - self.mean_variance(&after.0)
        }
    }

    /// Covariance after measuring a candidate with every workload, and the gain of ln det.
    fn after(&self, index: usize, known: &Square) -> (Square, f64) {
        let mut covariance = known.clone();
        let mut gained = 0.0;
        for series in 0..self.model.series.len() {
            let slope = self.model.sensitivity(series, &self.candidates[index].configuration);
            gained += add_point(&mut covariance, &slope, DESIGN_SD_LN);
        }
        (covariance, gained)
    }

    fn mean_variance(&self, covariance: &Square) -> f64 {
        let mut sum = 0.0;
        for target in self.targets {
            for series in 0..self.model.series.len() {
                sum += covariance.quadratic(&self.model.sensitivity(series, target));
            }
        }
        sum / (self.targets.len() * self.model.series.len()).max(1) as f64
    }

    /// The parameter whose deviation falls most.
    fn why(&self, index: usize, known: &Square) -> String {
        let (after, _) = self.after(index, known);
        let deviation = |matrix: &Square, k: usize| matrix.at(k, k).max(0.0).sqrt();
        let names = self.model.parameter_names();
        let most = (0..known.size).min_by(|&left, &right| {
            let fall = |k: usize| deviation(&after, k) - deviation(known, k);
            fall(left).total_cmp(&fall(right))
        });
        let mut why = match most {
            Some(k) => format!(
                "tells most of {}: its deviation falls from {:.0} to {:.0} %",
                names[k],
                100.0 * deviation(known, k),
                100.0 * deviation(&after, k)
            ),
            None => "nothing is unknown".to_owned(),
        };
        if !self.targets.is_empty() {
            why += &format!(
                "; over the configurations asked for from {:.1} to {:.1} %",
                100.0 * self.mean_variance(known).sqrt(),
                100.0 * self.mean_variance(&after).sqrt()
            );
        }
        why
    }
}

/// Adds a measurement with gradient `slope` to what is known (Sherman and Morrison); returns by how
/// much ln det of the information grows.
fn add_point(covariance: &mut Square, slope: &[f64], sd: f64) -> f64 {
    let n = covariance.size;
    let along: Vec<f64> =
        (0..n).map(|row| (0..n).map(|k| covariance.at(row, k) * slope[k]).sum()).collect();
    let variance: f64 = slope.iter().zip(&along).map(|(s, a)| s * a).sum();
    let whole = variance + sd * sd;
    for row in 0..n {
        for column in 0..n {
            covariance.add(row, column, -along[row] * along[column] / whole);
        }
    }
    (variance / (sd * sd)).ln_1p()
}

/// The candidates at the four corners with what each shows, without repetition.
fn corners(candidates: &[Candidate]) -> Vec<(usize, &'static str)> {
    let value = |index: usize| {
        let at = &candidates[index].configuration;
        (at.hosts, at.datastores, at.flows / (at.hosts * at.datastores), at.outstanding)
    };
    let range = |of: fn((f64, f64, f64, Option<f64>)) -> f64| {
        (0..candidates.len())
            .map(|index| of(value(index)))
            .fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (hosts, datastores) = (range(|v| v.0), range(|v| v.1));
    let connections = range(|v| v.2);
    let wanted = [
        (hosts.0, datastores.0, connections.0, "one of each shows the flow"),
        (hosts.1, datastores.1, connections.1, "most of all shows what is behind all volumes"),
        (hosts.0, datastores.1, connections.1, "one host on all datastores shows the host"),
        (hosts.1, datastores.0, connections.1, "all hosts on one datastore show the volume"),
    ];
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    for (h, d, c, says) in wanted {
        // Where a configuration is there at several depths, the deepest: `None` is deep enough.
        let deepest = (0..candidates.len())
            .filter(|&index| {
                let at = value(index);
                (at.0, at.1) == (h, d) && (at.2 / c - 1.0).abs() < 1e-9
            })
            .max_by(|&left, &right| {
                let depth = |index: usize| value(index).3.unwrap_or(f64::INFINITY);
                depth(left).total_cmp(&depth(right))
            });
        if let Some(index) = deepest
            && found.iter().all(|(known, _)| *known != index)
        {
            found.push((index, says));
        }
    }
    found
}

/// How sure a recommendation is: what the medians recommend and the probability that the truth
/// would have it otherwise, over `draws` draws of what is known.
///
/// `decide` is given what each configuration carries and answers with what it recommends.
pub fn change_probability<T: PartialEq>(
    model: &Model,
    draws: usize,
    seed: u64,
    decide: impl Fn(&dyn Fn(Quantity, &Configuration) -> f64) -> T,
) -> (T, f64) {
    let now = decide(&|quantity, at| model.predict(quantity, at).median);
    let drawn = model.draws(draws, seed);
    let other = drawn
        .iter()
        .filter(|draw| decide(&|quantity, at| model.evaluate(quantity, at, draw)) != now)
        .count();
    (now, other as f64 / draws.max(1) as f64)
}

/// Outstanding I/Os that let the other limits show: four times what the expected rate keeps busy.
#[must_use]
pub fn deep_enough(expected_iops: f64, unloaded_ms: f64) -> f64 {
    (4.0 * expected_iops * unloaded_ms / 1000.0).ceil().max(1.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_added_as_the_inverse_of_the_sum() {
        let prior = Square { size: 2, values: vec![0.16, 0.02, 0.02, 0.09] };
        let slope = [0.7, 0.3];
        let mut covariance = prior.clone();
        let gain = add_point(&mut covariance, &slope, 0.05);
        let mut information = prior.inverse().unwrap();
        for (i, a) in slope.iter().enumerate() {
            for (j, b) in slope.iter().enumerate() {
                information.add(i, j, a * b / 0.0025);
            }
        }
        let expected = information.inverse().unwrap();
        for (own, other) in covariance.values.iter().zip(&expected.values) {
            assert!((own - other).abs() < 1e-12);
        }
        let det = |m: &Square| m.at(0, 0) * m.at(1, 1) - m.at(0, 1) * m.at(1, 0);
        assert!((gain - (det(&prior) / det(&covariance)).ln()).abs() < 1e-9);
    }

    #[test]
    fn depth_is_four_times_what_the_rate_keeps_busy() {
        assert_eq!(deep_enough(100_000.0, 0.5), 200.0);
        assert_eq!(deep_enough(10.0, 0.1), 1.0);
    }
}
