//! Storage of two media: SSD before disks, as cache or as tier, and how much of the work it takes.
//!
//! Of the I/Os a share `h` ends on the fast medium and the rest on the slow one. Both work at once,
//! so the fast one lets `C_fast / h` pass in all and the slow one `C_slow / (1 - h)`: two more
//! ceilings of the same p-norm. The hit ratio follows from the working set: `h = min(1, (S / w)^s)`
//! for a fast medium of size S; s is 1 where every block is as likely, less where some are hot
//! (1 less Zipf's exponent). Probes at several working sets give S and both ceilings; docs/models.md
//! section 7.

use crate::curve::ln_smooth_minimum;
use crate::error::ModelError;
use crate::lm::{LinearPrior, Problem, Row, minimise};
use crate::model::Model;
use crate::types::{Quantity, Resource};
use serde::{Deserialize, Serialize};

/// One size of working set and the rate that it brought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkingSetPoint {
    /// Working set, GiB.
    pub working_set_gib: f64,
    /// Rate, IOPS or MiB/s.
    pub rate: f64,
}

/// Two media behind one pool.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Hybrid {
    /// What the fast medium carries, IOPS or MiB/s.
    pub fast: f64,
    /// What the slow one carries.
    pub slow: f64,
    /// Size of the fast one that holds data, GiB.
    pub fast_gib: f64,
    /// 1 where every block of the working set is as likely, towards 0 the hotter some are.
    pub evenness: f64,
    /// Exponent of the p-norm.
    pub exponent: f64,
}

impl Hybrid {
    /// Share of the I/Os that the fast medium takes, 0-1.
    #[must_use]
    pub fn hit_ratio(&self, working_set_gib: f64) -> f64 {
        if working_set_gib <= self.fast_gib {
            return 1.0;
        }
        (self.fast_gib / working_set_gib).powf(self.evenness).clamp(0.0, 1.0)
    }

    /// What both carry together for a working set, in the unit of the ceilings.
    #[must_use]
    pub fn carries(&self, working_set_gib: f64) -> f64 {
        let hit = self.hit_ratio(working_set_gib);
        let mut shares = [0.0; 2];
        if hit >= 1.0 {
            return self.fast;
        }
        let ln = [(self.fast / hit).ln(), (self.slow / (1.0 - hit)).ln()];
        ln_smooth_minimum(&ln, self.exponent, &mut shares).exp()
    }

    /// The same media under work of another evenness: a probe is even, users are not.
    #[must_use]
    pub fn with_evenness(self, evenness: f64) -> Self {
        Self { evenness: evenness.clamp(0.0, 1.0), ..self }
    }

    /// Largest working set that still carries `rate`, GiB; `None` when not even the fast medium
    /// does, infinite when the slow one does alone.
    #[must_use]
    pub fn largest_working_set(&self, rate: f64) -> Option<f64> {
        if rate > self.fast {
            return None;
        }
        let (mut holds, mut fails) = (self.fast_gib, self.fast_gib * 1e6);
        if self.carries(fails) >= rate {
            return Some(f64::INFINITY);
        }
        for _ in 0..100 {
            let middle = (holds * fails).sqrt();
            if self.carries(middle) >= rate { holds = middle } else { fails = middle }
        }
        Some(holds)
    }

    /// Fits both ceilings and the fast medium's size to even probes of several working sets.
    ///
    /// `believed_fast_gib` is the size by the data sheet, unsure by 30 % (metadata, reserve).
    ///
    /// # Errors
    /// Fewer than three sizes, or none that reaches beyond the fast medium or stays within.
    pub fn fit(
        points: &[WorkingSetPoint],
        believed_fast_gib: f64,
        exponent: f64,
    ) -> Result<Self, ModelError> {
        let few = |reason: &str| ModelError::TooFewPoints {
            platform: "two media".to_owned(),
            reason: reason.to_owned(),
        };
        let usable = |point: &&WorkingSetPoint| point.working_set_gib > 0.0 && point.rate > 0.0;
        let used: Vec<WorkingSetPoint> = points.iter().filter(usable).copied().collect();
        let positive = believed_fast_gib > 0.0 && believed_fast_gib.is_finite();
        if used.len() < 3 || !positive {
            return Err(few("at least 3 working sets and the size of the fast medium are needed"));
        }
        let widest = used.iter().map(|p| p.working_set_gib).fold(0.0, f64::max);
        let narrowest = used.iter().map(|p| p.working_set_gib).fold(f64::INFINITY, f64::min);
        if widest < 1.5 * believed_fast_gib || narrowest > believed_fast_gib {
            return Err(few(
                "one working set must lie within the fast medium and one at 1.5 times its size or more",
            ));
        }
        let most = used.iter().map(|p| p.rate).fold(0.0, f64::max);
        let least = used.iter().map(|p| p.rate).fold(f64::INFINITY, f64::min);
        let size = LinearPrior { terms: vec![(2, 1.0)], centre: believed_fast_gib.ln(), sd: 0.3 };
        let wall =
            |k: usize, at: f64| LinearPrior { terms: vec![(k, 1.0)], centre: at.ln(), sd: 3.0 };
        let problem =
            Media { points: used, exponent, priors: vec![size, wall(0, most), wall(1, least)] };
        let best = [0.5, 1.0, 2.0]
            .iter()
            .filter_map(|factor| {
                minimise(&problem, &[most.ln(), (least * factor).ln(), believed_fast_gib.ln()])
            })
            .min_by(|left, right| left.cost.total_cmp(&right.cost))
            .ok_or_else(|| ModelError::NoOptimum { platform: "two media".to_owned() })?;
        Ok(Media::at(&best.parameters, exponent))
    }
}

struct Media {
    points: Vec<WorkingSetPoint>,
    exponent: f64,
    priors: Vec<LinearPrior>,
}

impl Media {
    fn at(parameters: &[f64], exponent: f64) -> Hybrid {
        Hybrid {
            fast: parameters[0].exp(),
            slow: parameters[1].exp(),
            fast_gib: parameters[2].exp(),
            evenness: 1.0,
            exponent,
        }
    }
}

impl Problem for Media {
    fn size(&self) -> usize {
        3
    }

    fn residuals(&self) -> usize {
        self.points.len()
    }

    fn row(&self, index: usize, parameters: &[f64], row: &mut Row) {
        const STEP: f64 = 1e-5;
        let point = &self.points[index];
        let ln = |parameters: &[f64]| {
            Self::at(parameters, self.exponent).carries(point.working_set_gib).ln()
        };
        row.residual = ln(parameters) - point.rate.ln();
        let mut moved = [parameters[0], parameters[1], parameters[2]];
        for k in 0..3 {
            moved[k] = parameters[k] + STEP;
            let up = ln(&moved);
            moved[k] = parameters[k] - STEP;
            row.gradient.push((k, (up - ln(&moved)) / (2.0 * STEP)));
            moved[k] = parameters[k];
        }
    }

    fn priors(&self) -> &[LinearPrior] {
        &self.priors
    }

    fn sigma(&self) -> f64 {
        0.05
    }
}

impl Model {
    /// The model with `factor` times as much behind all volumes: a pool of other media, a larger
    /// working set, or `factor` pools that share nothing.
    #[must_use]
    pub fn with_pools(&self, factor: f64) -> Self {
        let mut model = self.clone();
        for series in &mut model.series {
            for ceiling in series.ceilings.iter_mut().filter(|c| c.resource == Resource::Pool) {
                ceiling.value *= factor;
            }
        }
        model.notes.push(format!("The pool's ceiling is taken {factor} times."));
        model
    }

    /// The model under a working set: the pool's ceiling of `quantity` becomes what the two media
    /// carry, with the relative uncertainty that it had.
    #[must_use]
    pub fn with_media(&self, quantity: Quantity, media: &Hybrid, working_set_gib: f64) -> Self {
        let mut model = self.clone();
        for series in model.series.iter_mut().filter(|series| series.quantity == quantity) {
            for ceiling in series.ceilings.iter_mut().filter(|c| c.resource == Resource::Pool) {
                ceiling.value = media.carries(working_set_gib);
            }
        }
        model.notes.push(format!(
            "The pool's ceiling is that of two media at a working set of {working_set_gib} GiB, hit ratio {:.2}.",
            media.hit_ratio(working_set_gib)
        ));
        model
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const QTIER: Hybrid =
        Hybrid { fast: 180_000.0, slow: 3_000.0, fast_gib: 800.0, evenness: 1.0, exponent: 2.5 };

    #[test]
    fn rates_are_those_computed_by_hand() {
        // 1,600 GiB: half hits. (360,000^-2.5 + 6,000^-2.5)^(-0.4) = 5,999.91.
        assert_eq!(QTIER.hit_ratio(1_600.0), 0.5);
        let by_hand = (360_000.0_f64.powf(-2.5) + 6_000.0_f64.powf(-2.5)).powf(-0.4);
        assert!((QTIER.carries(1_600.0) / by_hand - 1.0).abs() < 1e-12);
        assert!((by_hand - 5_999.91).abs() < 0.01);
        assert_eq!(QTIER.carries(100.0), 180_000.0);
        // Zipf of 0.8: (800 / 8,000)^0.2 = 0.631 of the I/Os hit a tenth of the data.
        let hot = QTIER.with_evenness(0.2);
        assert!((hot.hit_ratio(8_000.0) - 0.630_957).abs() < 1e-6);
        assert!(hot.carries(8_000.0) > 2.0 * QTIER.carries(8_000.0));
    }

    #[test]
    fn probes_of_several_working_sets_find_both_media() {
        let points: Vec<WorkingSetPoint> = [100.0, 400.0, 1_000.0, 1_600.0, 3_200.0, 6_400.0]
            .into_iter()
            .enumerate()
            .map(|(k, gib)| WorkingSetPoint {
                working_set_gib: gib,
                rate: QTIER.carries(gib) * (0.03 * (k as f64 * 2.3).sin()).exp(),
            })
            .collect();
        let found = Hybrid::fit(&points, 960.0, 2.5).unwrap();
        for (own, truth) in
            [(found.fast, QTIER.fast), (found.slow, QTIER.slow), (found.fast_gib, QTIER.fast_gib)]
        {
            assert!((own / truth - 1.0).abs() < 0.06, "{found:?}");
        }
        let message = Hybrid::fit(&points[..2], 960.0, 2.5).unwrap_err().to_string();
        assert!(message.contains("3 working sets"), "{message}");
        let message = Hybrid::fit(&points[..3], 960.0, 2.5).unwrap_err().to_string();
        assert!(message.contains("1.5 times its size"), "{message}");
    }

    #[test]
    fn largest_working_set_is_where_the_rate_is_met() {
        let size = QTIER.largest_working_set(20_000.0).unwrap();
        assert!((QTIER.carries(size) / 20_000.0 - 1.0).abs() < 1e-6 && size > 800.0);
        assert_eq!(QTIER.largest_working_set(200_000.0), None);
        assert_eq!(QTIER.largest_working_set(2_900.0), Some(f64::INFINITY));
    }
}
