//! A fitted model with its card: ceilings, priors, covariance, where it comes from, how good it is.
//!
//! A model is plain data, written as JSON under `models/` (shape: `models/model.schema.json`). The
//! exponent belongs to the ceilings it was fitted with and is stored beside them. Parameters are
//! logarithms; the covariance is theirs, in the order of [`Model::parameter_names`].

use crate::error::ModelError;
use crate::hull::Hull;
use crate::types::{Configuration, Quantity, Resource};
use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

/// Version of the JSON shape.
pub const SCHEMA_VERSION: u32 = 1;

/// Most ceilings one series may hold: one for each resource that a p-norm can contain.
pub const MAX_CEILINGS: usize = 6;

/// A labelled belief that went into the fit: a number, how sure, and where from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prior {
    /// Centre, in the unit of what it is about.
    pub value: f64,
    /// Standard deviation of its logarithm (of `ln(p - 0.5)` for the exponent).
    pub sd_ln: f64,
    /// Which statistic the centre speaks of: `mean`, `peak`, or empty when the series has one only.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub statistic: String,
    /// Where the number comes from.
    pub source: String,
}

/// The limit that one instance of a resource sets.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// Which resource.
    pub resource: Resource,
    /// What one instance carries, in the series' unit; for `concurrency` what one outstanding I/O
    /// brings (the inverse of the unloaded response time).
    pub value: f64,
    /// Standard deviation of its logarithm.
    pub sd_ln: f64,
    /// Extra standard deviation for what no point probed: 0 when the points decide this ceiling.
    pub discrepancy_sd_ln: f64,
    /// Posterior over prior standard deviation: near 1 the points say nothing about this ceiling.
    pub posterior_to_prior: Option<f64>,
    /// True when the points bound it from below only.
    pub one_sided: bool,
    /// What was believed before the points.
    pub prior: Option<Prior>,
}

/// An estimate in logarithms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Estimate {
    /// Value itself, not its logarithm.
    pub value: f64,
    /// Standard deviation of its logarithm.
    pub sd_ln: f64,
}

/// One workload: its ceilings for one quantity at one block size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// Name: workload and what tells it from its siblings.
    pub name: String,
    /// Quantity predicted.
    pub quantity: Quantity,
    /// `IOPS` or `MiB/s`.
    pub unit: String,
    /// Block, KiB; `None` when not published.
    pub block_kib: Option<f64>,
    /// `random`, `sequential`, `mixed` or empty.
    pub pattern: String,
    /// Percent of reads, `mix` for all mixes from 0 to 100, or empty.
    pub read_pct: String,
    /// Statistic that the prediction is: `mean`, `peak` or `as published`.
    pub statistic: String,
    /// Ceilings.
    pub ceilings: Vec<Ceiling>,
    /// Peak over mean, when points of both statistics exist.
    pub peak_to_mean: Option<Estimate>,
    /// Belief about it.
    pub peak_to_mean_prior: Option<Prior>,
    /// Loss of a host by its own queue, where the points show it: its ceiling is divided by
    /// `1 + kappa (q - 1)` at `q` outstanding I/Os a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crosstalk: Option<Estimate>,
    /// Spread of the points about the curve, standard deviation of the logarithm, at least 0.03.
    pub residual_sd_ln: f64,
    /// Degrees of freedom of that spread (Student t).
    pub degrees_of_freedom: f64,
    /// Points fitted.
    pub points: usize,
    /// Measured configurations; outside them a prediction is marked as extrapolated.
    pub hull: Hull,
}

/// The exponent p.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exponent {
    /// p.
    pub value: f64,
    /// Whether the points moved it; otherwise it is the shared 2.5.
    pub fitted: bool,
    /// Standard deviation of `ln(p - 0.5)`, when fitted.
    pub sd_ln: Option<f64>,
    /// Belief about it.
    pub prior: Option<Prior>,
}

/// Errors when each point is predicted by a fit that never saw it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeaveOneOut {
    /// Median of |predicted / published - 1|, percent.
    pub median_pct: f64,
    /// Mean of it, percent.
    pub mean_pct: f64,
}

/// A fitted model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Version of this shape.
    pub schema_version: u32,
    /// Id, lower case with dashes.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// What the numbers rest on.
    pub grade: EvidenceGrade,
    /// Exponent of the p-norm, shared by the series.
    pub exponent: Exponent,
    /// Workloads; the first of a quantity answers [`Model::predict`].
    pub series: Vec<Series>,
    /// Covariance of the parameters.
    pub covariance: Vec<Vec<f64>>,
    /// Leave-one-out error over all points, when it could be computed.
    pub leave_one_out: Option<LeaveOneOut>,
    /// Share of left-out points inside their 90 % interval, percent.
    pub coverage_90_pct: Option<f64>,
    /// Points fitted in all.
    pub points: usize,
    /// SHA-256 of the rows that were fitted.
    pub points_sha256: String,
    /// Where the points come from.
    pub sources: Vec<String>,
    /// What a reader must know: points kept out, doubts, what was decided.
    pub notes: Vec<String>,
}

impl Model {
    /// Reads a model and checks that it can be used.
    ///
    /// # Errors
    /// When the text is not JSON of this shape, or its numbers cannot be (a ceiling of zero, a
    /// covariance of the wrong size).
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        let model: Self = serde_json::from_str(text)?;
        model.check()?;
        Ok(model)
    }

    /// The model as JSON, indented, with a final newline: the same model gives the same bytes.
    ///
    /// # Errors
    /// When a value is not finite.
    pub fn to_json(&self) -> Result<String, ModelError> {
        Ok(with_short_arrays(&serde_json::to_string_pretty(self)?))
    }

    fn check(&self) -> Result<(), ModelError> {
        let refuse = |reason: String| Err(ModelError::Invalid { id: self.id.clone(), reason });
        if self.schema_version != SCHEMA_VERSION {
            return refuse(format!(
                "schema_version is {}, this program reads {SCHEMA_VERSION}",
                self.schema_version
            ));
        }
        if self.exponent.value.is_nan() || self.exponent.value <= 0.5 {
            return refuse(format!("exponent {} is not above 0.5", self.exponent.value));
        }
        for series in &self.series {
            if series.ceilings.is_empty() || series.ceilings.len() > MAX_CEILINGS {
                return refuse(format!(
                    "series {:?} has {} ceilings; it needs 1 to {MAX_CEILINGS}",
                    series.name,
                    series.ceilings.len()
                ));
            }
            if !(series.degrees_of_freedom >= 1.0 && series.residual_sd_ln >= 0.0) {
                return refuse(format!(
                    "series {:?}: degrees of freedom below 1 or negative spread",
                    series.name
                ));
            }
            for (index, ceiling) in series.ceilings.iter().enumerate() {
                if !(ceiling.value > 0.0 && ceiling.value.is_finite()) {
                    return refuse(format!(
                        "series {:?}: ceiling of {:?} is {}, not a positive number",
                        series.name, ceiling.resource, ceiling.value
                    ));
                }
                if matches!(ceiling.resource, Resource::Tier | Resource::Gateway)
                    || series.ceilings[..index].iter().any(|c| c.resource == ceiling.resource)
                {
                    return refuse(format!(
                        "series {:?}: {:?} is twice there or is a hard limit, which stands outside",
                        series.name, ceiling.resource
                    ));
                }
            }
            for (ratio, name) in
                [(&series.peak_to_mean, "peak_to_mean"), (&series.crosstalk, "crosstalk")]
            {
                if ratio.is_some_and(|ratio| !(ratio.value > 0.0 && ratio.value.is_finite())) {
                    return refuse(format!("series {:?}: {name} is not positive", series.name));
                }
            }
        }
        let size = self.parameter_names().len();
        if self.covariance.len() != size || self.covariance.iter().any(|row| row.len() != size) {
            return refuse(format!("covariance is not {size} x {size}"));
        }
        if self.covariance.iter().flatten().any(|value| !value.is_finite()) {
            return refuse("covariance holds a value that is not finite".to_owned());
        }
        if (0..size).any(|k| self.covariance[k][k] < 0.0) {
            return refuse("covariance holds a negative variance".to_owned());
        }
        Ok(())
    }

    /// Names of the parameters in the order of the covariance: for each series its ceilings and
    /// then its `peak_to_mean` and `crosstalk`, at the end `exponent`, each only where it was estimated.
    #[must_use]
    pub fn parameter_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for series in &self.series {
            for ceiling in &series.ceilings {
                names.push(format!("{}: {}", series.name, ceiling.resource.name()));
            }
            if series.peak_to_mean.is_some() {
                names.push(format!("{}: peak_to_mean", series.name));
            }
            if series.crosstalk.is_some() {
                names.push(format!("{}: crosstalk", series.name));
            }
        }
        if self.exponent.fitted {
            names.push("exponent".to_owned());
        }
        names
    }

    /// Parameters: logarithms of the ceilings and ratios, `ln(p - 0.5)`.
    pub(crate) fn parameters(&self) -> Vec<f64> {
        let mut values = Vec::new();
        for series in &self.series {
            values.extend(series.ceilings.iter().map(|ceiling| ceiling.value.ln()));
            values.extend(series.peak_to_mean.iter().map(|ratio| ratio.value.ln()));
            values.extend(series.crosstalk.iter().map(|kappa| kappa.value.ln()));
        }
        if self.exponent.fitted {
            values.push((self.exponent.value - 0.5).ln());
        }
        values
    }

    /// Series that answers for `quantity`, its index and the offset of its parameters.
    pub(crate) fn locate(&self, quantity: Quantity) -> Option<(usize, usize)> {
        let index = self.series.iter().position(|series| series.quantity == quantity)?;
        Some((index, self.offset(index)))
    }

    /// Offset of the parameters of series `index`.
    pub(crate) fn offset(&self, index: usize) -> usize {
        self.series[..index].iter().map(Series::parameters).sum()
    }

    /// The series that answers for `quantity`: the first that has it.
    #[must_use]
    pub fn series_for(&self, quantity: Quantity) -> Option<&Series> {
        self.series.iter().find(|series| series.quantity == quantity)
    }

    /// What one instance of `resource` carries, when the model has that limit.
    #[must_use]
    pub fn ceiling(&self, quantity: Quantity, resource: Resource) -> Option<&Ceiling> {
        self.series_for(quantity)?.ceilings.iter().find(|ceiling| ceiling.resource == resource)
    }

    /// Block size of a quantity, KiB.
    #[must_use]
    pub fn block_kib(&self, quantity: Quantity) -> Option<f64> {
        self.series_for(quantity)?.block_kib
    }

    /// Unloaded response time of a quantity, ms, when the points gave one.
    #[must_use]
    pub fn unloaded_ms(&self, quantity: Quantity) -> Option<f64> {
        let series = self.series_for(quantity)?;
        let ceiling = self.ceiling(quantity, Resource::Concurrency)?;
        Some(1000.0 / series.iops_of(ceiling.value)?)
    }
}

/// Indented JSON with each array of numbers on one line, and a final newline.
fn with_short_arrays(pretty: &str) -> String {
    let is_number = |line: &str| {
        let line = line.trim().trim_end_matches(',');
        line.starts_with(|c: char| c == '-' || c.is_ascii_digit())
    };
    let mut text = String::with_capacity(pretty.len());
    let mut lines = pretty.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        if line.ends_with('[') && lines.peek().is_some_and(|next| is_number(next)) {
            let mut first = true;
            while let Some(number) = lines.next_if(|next| is_number(next)) {
                if !first {
                    text.push(' ');
                }
                text.push_str(number.trim());
                first = false;
            }
            text.push_str(lines.next().map_or("", str::trim));
        }
        text.push('\n');
    }
    text
}

impl Series {
    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.ceilings.len()
            + usize::from(self.peak_to_mean.is_some())
            + usize::from(self.crosstalk.is_some())
    }

    /// Place of ln kappa among the parameters of the series.
    pub(crate) fn crosstalk_place(&self) -> Option<usize> {
        self.crosstalk.as_ref().map(|_| self.parameters() - 1)
    }

    /// A rate of this series in operations a second; `None` without a block size to convert by.
    pub(crate) fn iops_of(&self, value: f64) -> Option<f64> {
        match self.quantity {
            Quantity::Iops => Some(value),
            Quantity::Throughput => self.block_kib.map(|block| value * 1024.0 / block),
        }
    }
}

impl Resource {
    /// Name in lower case, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Host => "host",
            Self::Volume => "volume",
            Self::Vm => "vm",
            Self::Pool => "pool",
            Self::Concurrency => "concurrency",
            Self::Tier => "tier",
            Self::Gateway => "gateway",
        }
    }

    /// Logarithm of the number of instances in `configuration`; `None` when there are more than
    /// enough of them to matter, or when the resource stands outside the p-norm.
    pub(crate) fn ln_instances(self, configuration: &Configuration) -> Option<f64> {
        match self {
            Self::Flow => Some(configuration.flows.ln()),
            Self::Host => Some(configuration.hosts.ln()),
            Self::Volume => Some(configuration.datastores.ln()),
            Self::Vm => configuration.vms.map(f64::ln),
            Self::Concurrency => configuration.outstanding.map(f64::ln),
            Self::Pool => Some(0.0),
            Self::Tier | Self::Gateway => None,
        }
    }
}
