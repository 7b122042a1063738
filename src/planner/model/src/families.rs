//! Simpler families on the same points, to show what the recommended model is worth.
//!
//! Universal scalability law (Gunther), Amdahl's law and a power law in what was varied; they know
//! nothing of which resource scales with which axis. Fitted by the same robust loss, without
//! priors, each series on its own, with its own ratio of peak to mean.

use crate::lm::{LinearPrior, Problem, Row, minimise};
use crate::series::{Observation, SeriesData};

/// A family of one-line scaling laws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Family {
    /// `X = l N / (1 + s (N - 1) + k N (N - 1))`.
    Usl,
    /// The same with `k = 0`.
    Amdahl,
    /// `X = l h^a m^b` in hosts and what each host has (outstanding I/Os or datastores).
    PowerLaw,
}

impl Family {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Usl => "universal scalability law",
            Self::Amdahl => "Amdahl",
            Self::PowerLaw => "power law",
        }
    }

    fn parameters(self) -> usize {
        match self {
            Self::Amdahl => 2,
            Self::Usl | Self::PowerLaw => 3,
        }
    }

    /// Parameters with the ratio of peak to mean where the series has both.
    pub(crate) fn size(self, series: &SeriesData) -> usize {
        self.parameters() + usize::from(series.observations.iter().any(|o| o.peak))
    }

    /// Predicts observation `index` from the others; `None` when they do not suffice.
    pub(crate) fn left_out(self, series: &SeriesData, index: usize) -> Option<f64> {
        let law = Law::new(self, series, Some(index));
        let optimum = law.solve()?;
        let observation = &series.observations[index];
        let mut row = Row::default();
        law.evaluate(&law.coordinates(observation), observation.peak, &optimum, &mut row);
        row.residual.is_finite().then(|| row.residual.exp())
    }
}

struct Law {
    family: Family,
    /// (coordinates, peak, logarithm of the value).
    rows: Vec<([f64; 2], bool, f64)>,
    by_outstanding: bool,
    has_ratio: bool,
    priors: Vec<LinearPrior>,
}

impl Law {
    fn new(family: Family, series: &SeriesData, skip: Option<usize>) -> Self {
        let by_outstanding = series.observations.iter().all(|o| o.outstanding.is_some());
        let mut law = Self {
            family,
            rows: Vec::new(),
            by_outstanding,
            has_ratio: series.observations.iter().any(|o| o.peak),
            priors: Vec::new(),
        };
        for (index, observation) in series.observations.iter().enumerate() {
            if skip != Some(index) {
                let row = (law.coordinates(observation), observation.peak, observation.ln_value);
                law.rows.push(row);
            }
        }
        // Not a belief: a wall far out, so that a coefficient without influence (no peak left, a
        // sigma of zero) does not run off and stop the solver.
        let size = family.parameters() + usize::from(law.has_ratio);
        law.priors = (0..size)
            .map(|k| LinearPrior { terms: vec![(k, 1.0)], centre: 0.0, sd: 1e3 })
            .collect();
        law
    }

    /// Concurrency and 1 for the laws in N; hosts and load per host for the power law.
    fn coordinates(&self, observation: &Observation) -> [f64; 2] {
        let hosts = observation.hosts.unwrap_or(1.0);
        let all = if self.by_outstanding {
            observation.outstanding
        } else {
            observation.flows.or(observation.hosts)
        }
        .unwrap_or(1.0);
        match self.family {
            Family::PowerLaw => [hosts.ln(), (all / hosts).ln()],
            Family::Usl | Family::Amdahl => [all, 0.0],
        }
    }

    /// Logarithm of the prediction into `row.residual`, its gradient beside.
    fn evaluate(&self, at: &[f64; 2], peak: bool, parameters: &[f64], row: &mut Row) {
        row.gradient.clear();
        row.gradient.push((0, 1.0));
        let mut ln_x = parameters[0];
        match self.family {
            Family::PowerLaw => {
                ln_x += parameters[1] * at[0] + parameters[2] * at[1];
                row.gradient.extend([(1, at[0]), (2, at[1])]);
            }
            Family::Usl | Family::Amdahl => {
                let n = at[0];
                let sigma = parameters[1].exp();
                let kappa = if self.family == Family::Usl { parameters[2].exp() } else { 0.0 };
                let below = 1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0);
                ln_x += n.ln() - below.ln();
                row.gradient.push((1, -sigma * (n - 1.0) / below));
                if self.family == Family::Usl {
                    row.gradient.push((2, -kappa * n * (n - 1.0) / below));
                }
            }
        }
        if peak && self.has_ratio {
            let ratio = self.family.parameters();
            ln_x += parameters[ratio];
            row.gradient.push((ratio, 1.0));
        }
        row.residual = ln_x;
    }

    fn solve(&self) -> Option<Vec<f64>> {
        let per_unit = self
            .rows
            .iter()
            .map(|(at, _, ln)| match self.family {
                Family::PowerLaw => *ln,
                Family::Usl | Family::Amdahl => ln - at[0].ln(),
            })
            .fold(f64::NEG_INFINITY, f64::max);
        if !per_unit.is_finite() {
            return None;
        }
        let shapes: &[(f64, f64)] = match self.family {
            Family::PowerLaw => &[(0.5, 0.5), (1.0, 0.2), (0.2, 1.0)],
            Family::Usl | Family::Amdahl => &[
                (-2.0, -6.0),
                (-4.0, -9.0),
                (-6.0, -12.0),
                (-1.0, -4.0),
                (-3.0, -14.0),
                (-8.0, -7.0),
            ],
        };
        let mut best: Option<(f64, Vec<f64>)> = None;
        for &(first, second) in shapes {
            let mut start = vec![per_unit, first];
            if self.family.parameters() == 3 {
                start.push(second);
            }
            if self.has_ratio {
                start.push(0.2);
            }
            if let Some(optimum) = minimise(self, &start)
                && best.as_ref().is_none_or(|(cost, _)| optimum.cost < *cost)
            {
                best = Some((optimum.cost, optimum.parameters));
            }
        }
        best.map(|(_, parameters)| parameters)
    }
}

impl Problem for Law {
    fn size(&self) -> usize {
        self.family.parameters() + usize::from(self.has_ratio)
    }

    fn residuals(&self) -> usize {
        self.rows.len()
    }

    fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
        let (at, peak, ln_value) = &self.rows[index];
        self.evaluate(at, *peak, parameters, row);
        row.residual -= ln_value;
    }

    fn priors(&self) -> &[LinearPrior] {
        &self.priors
    }

    fn sigma(&self) -> f64 {
        0.05
    }
}
