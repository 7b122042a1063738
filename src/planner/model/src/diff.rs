//! Two models side by side: which ceilings moved, and whether by more than both are unsure.

use crate::model::{Model, Series};
use crate::types::{Quantity, Resource};
use serde::Serialize;

/// Deviations from which a difference is one: 90 % two-sided.
pub const SIGNIFICANT_DEVIATIONS: f64 = 1.645;

/// One ceiling in two models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CeilingChange {
    /// Series.
    pub series: String,
    /// Resource.
    pub resource: Resource,
    /// Unit.
    pub unit: String,
    /// Value before; `None` when the model before has no such ceiling.
    pub before: Option<f64>,
    /// Value after; `None` when the model after has none.
    pub after: Option<f64>,
    /// `after / before`, where both have it.
    pub ratio: Option<f64>,
    /// Difference of the logarithms over their common deviation, where both have it.
    pub deviations: Option<f64>,
    /// Whether the difference is more than both are unsure: always where only one has it.
    pub differs: bool,
}

/// Two models.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ModelDiff {
    /// Id before.
    pub before: String,
    /// Id after.
    pub after: String,
    /// Exponents before and after.
    pub exponents: (f64, f64),
    /// Whether both were fitted to the same points.
    pub same_points: bool,
    /// Series that one of the two lacks.
    pub unmatched: Vec<String>,
    /// Ceilings of the series that both have.
    pub ceilings: Vec<CeilingChange>,
}

/// Series are the same when they stand for the same work; names may differ between sites.
fn same_work(left: &Series, right: &Series) -> bool {
    let work = |series: &Series| -> (Quantity, Option<u64>, String, String, String) {
        let block = series.block_kib.map(f64::to_bits);
        (
            series.quantity,
            block,
            series.pattern.clone(),
            series.read_pct.clone(),
            series.statistic.clone(),
        )
    };
    work(left) == work(right)
}

impl ModelDiff {
    /// Compares two models.
    #[must_use]
    pub fn between(before: &Model, after: &Model) -> Self {
        let mut ceilings = Vec::new();
        let mut unmatched = Vec::new();
        let mut taken = vec![false; after.series.len()];
        for own in &before.series {
            // Of several series of one work (workloads of one file) the one of the same name.
            let twin = (0..after.series.len())
                .filter(|&k| !taken[k] && same_work(own, &after.series[k]))
                .max_by_key(|&k| usize::from(after.series[k].name == own.name));
            let Some(twin) = twin else {
                unmatched.push(format!("{}: {}", before.id, own.name));
                continue;
            };
            taken[twin] = true;
            ceilings.extend(changes(own, &after.series[twin]));
        }
        for (series, taken) in after.series.iter().zip(taken) {
            if !taken {
                unmatched.push(format!("{}: {}", after.id, series.name));
            }
        }
        Self {
            before: before.id.clone(),
            after: after.id.clone(),
            exponents: (before.exponent.value, after.exponent.value),
            same_points: !before.points_sha256.is_empty()
                && before.points_sha256 == after.points_sha256,
            unmatched,
            ceilings,
        }
    }
}

fn changes(before: &Series, after: &Series) -> Vec<CeilingChange> {
    let of = |series: &Series, resource: Resource| {
        let ceiling = series.ceilings.iter().find(|ceiling| ceiling.resource == resource)?;
        Some((ceiling.value, ceiling.sd_ln.hypot(ceiling.discrepancy_sd_ln)))
    };
    let mut resources: Vec<Resource> = before.ceilings.iter().map(|c| c.resource).collect();
    for ceiling in &after.ceilings {
        if !resources.contains(&ceiling.resource) {
            resources.push(ceiling.resource);
        }
    }
    resources
        .into_iter()
        .map(|resource| {
            let (own, other) = (of(before, resource), of(after, resource));
            let both = own.zip(other);
            let deviations = both.map(|((left, left_sd), (right, right_sd))| {
                let gap = (right / left).ln();
                // Two exact numbers differ as soon as they are not the same.
                if gap == 0.0 { 0.0 } else { gap / left_sd.hypot(right_sd) }
            });
            CeilingChange {
                series: before.name.clone(),
                resource,
                unit: before.unit.clone(),
                before: own.map(|(value, _)| value),
                after: other.map(|(value, _)| value),
                ratio: both.map(|((left, _), (right, _))| right / left),
                deviations,
                differs: deviations.is_none_or(|d| d.abs() > SIGNIFICANT_DEVIATIONS),
            }
        })
        .collect()
}
