//! Work between what was measured: the cost of an operation by block and by read share.
//!
//! On one instance of a resource an operation costs `r (a_R + g_R b) + (1 - r)(a_W + g_W b)`: a
//! fixed part and a part by the KiB, for reads and for writes; costs of a mix add, so rates combine
//! harmonically. Series of a small and a large block, of pure reads and writes, give the four
//! numbers; docs/models.md section 3.

use crate::curve::ln_smooth_minimum;
use crate::model::{MAX_CEILINGS, Model};
use crate::predict::{Draw, student_t};
use crate::types::{Configuration, Prediction, Resource};
use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

/// Fixed cost and cost by size of one operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockLine {
    /// Fixed part, microseconds.
    pub fixed_us: f64,
    /// Part by size, microseconds a KiB.
    pub per_kib_us: f64,
}

impl BlockLine {
    /// Line through rates at several blocks: (block KiB, IOPS). Least squares of the relative error
    /// of the cost; neither part falls below zero.
    ///
    /// `None` with fewer than two different blocks.
    #[must_use]
    pub fn fit(rates: &[(f64, f64)]) -> Option<Self> {
        let costs: Vec<(f64, f64)> = rates
            .iter()
            .filter(|(block, iops)| *block > 0.0 && *iops > 0.0)
            .map(|&(block, iops)| (block, 1e6 / iops))
            .collect();
        let first = costs.first()?.0;
        if costs.iter().all(|&(block, _)| block == first) {
            return None;
        }
        // Rows (1 / c, b / c) against 1.
        let sum = |f: &dyn Fn(f64, f64) -> f64| costs.iter().map(|&(b, c)| f(b, c)).sum::<f64>();
        let (aa, ab, bb) =
            (sum(&|_, c| 1.0 / c / c), sum(&|b, c| b / c / c), sum(&|b, c| b * b / c / c));
        let (ya, yb) = (sum(&|_, c| 1.0 / c), sum(&|b, c| b / c));
        let determinant = aa * bb - ab * ab;
        let (fixed, slope) = ((ya * bb - yb * ab) / determinant, (yb * aa - ya * ab) / determinant);
        Some(if fixed < 0.0 {
            Self { fixed_us: 0.0, per_kib_us: yb / bb }
        } else if slope < 0.0 {
            Self { fixed_us: ya / aa, per_kib_us: 0.0 }
        } else {
            Self { fixed_us: fixed, per_kib_us: slope }
        })
    }

    /// Operations a second at a block.
    #[must_use]
    pub fn iops(&self, block_kib: f64) -> f64 {
        1e6 / (self.fixed_us + self.per_kib_us * block_kib)
    }
}

/// Rate of a mix from those of its parts, read share 0-1: the costs add.
#[must_use]
pub fn mixed_rate(read_rate: f64, write_rate: f64, read_share: f64) -> f64 {
    let read_share = read_share.clamp(0.0, 1.0);
    1.0 / (read_share / read_rate + (1.0 - read_share) / write_rate)
}

/// Work that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Block, KiB.
    pub block_kib: f64,
    /// Share of reads, 0-1.
    pub read_share: f64,
}

/// The series that stand for pure reads and writes, small and large.
struct Corners {
    /// (series, block KiB) by block, reads.
    reads: Vec<(usize, f64)>,
    writes: Vec<(usize, f64)>,
}

impl Model {
    /// IOPS of any block and mix at a configuration, from the model's series of pure reads and pure
    /// writes; `None` when it has not both, or the work is out of range.
    ///
    /// Between the measured blocks the line holds; outside them the prediction is marked as
    /// extrapolated. The grade is one step below the model's: random and sequential work differ in
    /// more than their block.
    #[must_use]
    pub fn predict_work(&self, work: Work, configuration: &Configuration) -> Option<Prediction> {
        let corners = self.corners(work)?;
        let parameters = self.parameters();
        let at = |parameters: &[f64]| self.ln_work(&corners, work, configuration, parameters);
        let (ln_x, mut shares) = at(&parameters);
        shares.sort_by(|left, right| right.1.total_cmp(&left.1));
        let used = || corners.reads.iter().chain(&corners.writes).map(|&(index, _)| index);
        let series = || used().map(|index| &self.series[index]);
        let discrepancy: f64 = shares
            .iter()
            .map(|(resource, share)| {
                let most = series()
                    .flat_map(|series| &series.ceilings)
                    .filter(|ceiling| ceiling.resource == *resource)
                    .map(|ceiling| ceiling.discrepancy_sd_ln)
                    .fold(0.0, f64::max);
                (share * most).powi(2)
            })
            .sum();
        let spread = series().map(|series| series.residual_sd_ln).fold(0.0, f64::max);
        let degrees = series().map(|series| series.degrees_of_freedom).fold(1e6, f64::min);
        let variance = self.variance_of(&|theta: &[f64]| at(theta).0, &parameters)
            + discrepancy
            + spread * spread;
        let half = student_t(0.95, degrees) * variance.sqrt();
        let within = |side: &[(usize, f64)]| {
            side.first().is_some_and(|first| first.1 <= work.block_kib)
                && side.last().is_some_and(|last| work.block_kib <= last.1)
        };
        let inside = used().all(|index| self.series[index].hull.contains(configuration));
        Some(Prediction {
            median: ln_x.exp(),
            p05: (ln_x - half).exp(),
            p95: (ln_x + half).exp(),
            shares,
            extrapolated: !(inside
                && (corners.reads.is_empty() || within(&corners.reads))
                && (corners.writes.is_empty() || within(&corners.writes))),
            grade: match self.grade {
                EvidenceGrade::A => EvidenceGrade::B,
                EvidenceGrade::B => EvidenceGrade::C,
                EvidenceGrade::C | EvidenceGrade::D => EvidenceGrade::D,
            },
        })
    }

    /// What a draw says of the same; `None` where [`Model::predict_work`] gives none.
    #[must_use]
    pub fn evaluate_work(&self, work: Work, at: &Configuration, draw: &Draw) -> Option<f64> {
        let corners = self.corners(work)?;
        let noise =
            corners.reads.first().or(corners.writes.first()).map(|&(k, _)| draw.noise[k])?;
        Some((self.ln_work(&corners, work, at, &draw.parameters).0 + noise).exp())
    }

    fn corners(&self, work: Work) -> Option<Corners> {
        let sane = work.block_kib > 0.0
            && work.block_kib.is_finite()
            && (0.0..=1.0).contains(&work.read_share);
        let side = |read_pct: &str| -> Vec<(usize, f64)> {
            let mut found: Vec<(usize, f64)> = Vec::new();
            for (index, series) in self.series.iter().enumerate() {
                if let Some(block) = series.block_kib.filter(|_| series.read_pct == read_pct)
                    && found.iter().all(|(_, known)| *known != block)
                {
                    found.push((index, block));
                }
            }
            found.sort_by(|left, right| left.1.total_cmp(&right.1));
            found
        };
        let corners = Corners {
            reads: if work.read_share > 0.0 { side("100") } else { Vec::new() },
            writes: if work.read_share < 1.0 { side("0") } else { Vec::new() },
        };
        let missing = (work.read_share > 0.0 && corners.reads.is_empty())
            || (work.read_share < 1.0 && corners.writes.is_empty());
        (sane && !missing).then_some(corners)
    }

    /// `ln X` in IOPS and the shares, by the cost of the mix on each resource.
    fn ln_work(
        &self,
        corners: &Corners,
        work: Work,
        configuration: &Configuration,
        parameters: &[f64],
    ) -> (f64, Vec<(Resource, f64)>) {
        // Seconds of one operation on one instance; `None` when that side knows no such limit.
        let cost = |side: &[(usize, f64)], resource: Resource| -> Option<f64> {
            let known: Vec<(f64, f64)> = side
                .iter()
                .filter_map(|&(index, block)| {
                    let series = &self.series[index];
                    let k = series.ceilings.iter().position(|c| c.resource == resource)?;
                    let value = parameters[self.offset(index) + k].exp();
                    Some((block, 1.0 / series.iops_of(value)?))
                })
                .collect();
            let (first, last) = (known.first()?, known.last()?);
            if first.0 == last.0 {
                return Some(first.1);
            }
            // The line between the neighbours; beyond the ends that of the two outermost, never
            // cheaper than the smallest block and never below the rate in bytes of the largest.
            let upper = known.iter().position(|&(block, _)| work.block_kib <= block);
            let (low, high) = match upper {
                Some(0) => return Some(first.1),
                Some(k) => (known[k - 1], known[k]),
                None => return Some(last.1 * work.block_kib / last.0),
            };
            let slope = (high.1 - low.1).max(0.0) / (high.0 - low.0);
            Some(low.1 + slope * (work.block_kib - low.0))
        };
        let mut named = Vec::with_capacity(MAX_CEILINGS);
        let mut ln = Vec::with_capacity(MAX_CEILINGS);
        for resource in [
            Resource::Concurrency,
            Resource::Pool,
            Resource::Host,
            Resource::Flow,
            Resource::Volume,
            Resource::Vm,
        ] {
            let Some(instances) = resource.ln_instances(configuration) else { continue };
            let read = cost(&corners.reads, resource).map(|cost| work.read_share * cost);
            let write = cost(&corners.writes, resource).map(|cost| (1.0 - work.read_share) * cost);
            if read.is_some() || write.is_some() {
                let whole = read.unwrap_or(0.0) + write.unwrap_or(0.0);
                ln.push(instances - whole.ln());
                named.push(resource);
            }
        }
        let mut shares = vec![0.0; ln.len()];
        let p = self.exponent_of(parameters);
        let ln_x = ln_smooth_minimum(&ln, p, &mut shares);
        (ln_x, named.into_iter().zip(shares).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn line_through_two_blocks_is_exact() {
        // AVS flow: 73.8 k IOPS at 8 KiB, 1,797 MiB/s at 64 KiB, that is 10.5 us and 0.379 us a KiB.
        let line = BlockLine::fit(&[(8.0, 73_800.0), (64.0, 1_797.0 * 16.0)]).unwrap();
        assert!((line.fixed_us - 10.5).abs() < 0.1, "{line:?}");
        assert!((line.per_kib_us - 0.379).abs() < 0.001, "{line:?}");
        assert!((line.iops(8.0) - 73_800.0).abs() < 1e-6);
        // 1 / 0.379 us a KiB is 2.5 GiB/s.
        assert!((1e6 / line.per_kib_us / 1_048_576.0 - 2.52).abs() < 0.01);
    }

    #[test]
    fn neither_part_is_negative_and_one_block_is_no_line() {
        let falling = BlockLine::fit(&[(4.0, 1_000.0), (8.0, 1_100.0)]).unwrap();
        assert_eq!(falling.per_kib_us, 0.0);
        let steep = BlockLine::fit(&[(4.0, 1_000.0), (8.0, 400.0)]).unwrap();
        assert_eq!(steep.fixed_us, 0.0);
        assert_eq!(BlockLine::fit(&[(8.0, 1_000.0), (8.0, 1_100.0)]), None);
    }

    #[test]
    fn a_mix_is_the_harmonic_mean() {
        // 100,000 read, 50,000 write, 70 % reads: 1 / (7e-6 + 6e-6) = 76,923.
        assert!((mixed_rate(100_000.0, 50_000.0, 0.7) - 76_923.076_923).abs() < 1e-3);
        assert!((mixed_rate(100_000.0, 50_000.0, 1.0) - 100_000.0).abs() < 1e-6);
    }
}
