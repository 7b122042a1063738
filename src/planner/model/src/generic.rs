//! A model from ceilings that a user states, for arrays that nobody published points of.

use crate::hull::Hull;
use crate::model::{Ceiling, Exponent, Model, Prior, SCHEMA_VERSION, Series};
use crate::types::{Quantity, Resource};
use plimsoll_units::EvidenceGrade;

/// The shared exponent where no points decide it; docs/models.md section 1.
pub const SHARED_EXPONENT: f64 = 2.5;

/// What the user says of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct StatedCeilings {
    /// Model id.
    pub id: String,
    /// Name for people.
    pub title: String,
    /// Limits: quantity, resource, what one instance carries (IOPS or MiB/s).
    pub ceilings: Vec<(Quantity, Resource, f64)>,
    /// Block of the IOPS limits, KiB.
    pub iops_block_kib: f64,
    /// Block of the MiB/s limits, KiB.
    pub throughput_block_kib: f64,
    /// Unloaded response time, ms.
    pub unloaded_ms: Option<f64>,
    /// How far off each limit may be: standard deviation of its logarithm, about its relative
    /// error (0.15 is 15 %).
    pub relative_sd: f64,
    /// A when measured, D when assumed.
    pub grade: EvidenceGrade,
    /// Where the numbers come from.
    pub source: String,
}

impl Model {
    /// A model from stated ceilings, exponent 2.5. Limits that are not positive finite numbers are
    /// left out: a limit that is not stated does not bind.
    #[must_use]
    pub fn from_ceilings(stated: &StatedCeilings) -> Self {
        let mut series = Vec::new();
        for quantity in [Quantity::Iops, Quantity::Throughput] {
            let block = match quantity {
                Quantity::Iops => stated.iops_block_kib,
                Quantity::Throughput => stated.throughput_block_kib,
            };
            let mut ceilings: Vec<Ceiling> = Vec::new();
            for &(of, resource, value) in &stated.ceilings {
                let outside = matches!(resource, Resource::Tier | Resource::Gateway);
                let twice = ceilings.iter().any(|ceiling| ceiling.resource == resource);
                if of == quantity && value > 0.0 && value.is_finite() && !outside && !twice {
                    ceilings.push(stated.ceiling(resource, value));
                }
            }
            if ceilings.is_empty() {
                continue;
            }
            let has_concurrency = ceilings.iter().any(|c| c.resource == Resource::Concurrency);
            if let Some(ms) = stated.unloaded_ms.filter(|ms| *ms > 0.0 && ms.is_finite())
                && !has_concurrency
            {
                let iops = 1000.0 / ms;
                let rate = match quantity {
                    Quantity::Iops => iops,
                    Quantity::Throughput => iops * block / 1024.0,
                };
                ceilings.push(stated.ceiling(Resource::Concurrency, rate));
            }
            series.push(Series {
                name: match quantity {
                    Quantity::Iops => "iops".to_owned(),
                    Quantity::Throughput => "throughput".to_owned(),
                },
                quantity,
                unit: quantity.unit().to_owned(),
                block_kib: Some(block),
                pattern: match quantity {
                    Quantity::Iops => "random".to_owned(),
                    Quantity::Throughput => "sequential".to_owned(),
                },
                read_pct: String::new(),
                statistic: "as published".to_owned(),
                ceilings,
                peak_to_mean: None,
                peak_to_mean_prior: None,
                crosstalk: None,
                residual_sd_ln: 0.03,
                degrees_of_freedom: 1000.0,
                points: 0,
                hull: Hull::default(),
            });
        }
        let size: usize = series.iter().map(|s| s.ceilings.len()).sum();
        let variance = stated.relative_sd.max(0.0).powi(2);
        let covariance = (0..size)
            .map(|row| (0..size).map(|col| if row == col { variance } else { 0.0 }).collect())
            .collect();
        Self {
            schema_version: SCHEMA_VERSION,
            id: stated.id.clone(),
            title: stated.title.clone(),
            grade: stated.grade,
            exponent: Exponent { value: SHARED_EXPONENT, fitted: false, sd_ln: None, prior: None },
            series,
            covariance,
            leave_one_out: None,
            coverage_90_pct: None,
            points: 0,
            points_sha256: String::new(),
            sources: vec![stated.source.clone()],
            notes: vec!["Limits as stated; no point was fitted.".to_owned()],
        }
    }
}

impl StatedCeilings {
    fn ceiling(&self, resource: Resource, value: f64) -> Ceiling {
        Ceiling {
            resource,
            value,
            sd_ln: self.relative_sd.max(0.0),
            discrepancy_sd_ln: 0.0,
            posterior_to_prior: None,
            one_sided: false,
            prior: Some(Prior {
                value,
                sd_ln: self.relative_sd.max(0.0),
                statistic: String::new(),
                source: self.source.clone(),
            }),
        }
    }
}

impl Quantity {
    /// `IOPS` or `MiB/s`.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::Throughput => "MiB/s",
        }
    }
}
