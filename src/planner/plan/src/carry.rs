//! What a configuration carries, from draws of the model's parameters.
//!
//! The same draws serve every configuration, so adding a datastore never lowers what one draw
//! carries, and differences between counts are not noise. Sorted results are kept: a sensitivity
//! that moves only the load asks the same curves again.

use std::collections::BTreeMap;
use std::rc::Rc;

use plimsoll_model::{Configuration, Draw, Model, Quantity, Resource};

use crate::types::Carried;

/// Draws of the parameters; the 5th percentile then rests on 100 of them.
pub(crate) const DRAWS: usize = 2_000;

/// What one configuration carries, without hard caps.
#[derive(Debug)]
pub(crate) struct Curve {
    /// One value a draw, smallest first.
    sorted: Vec<f64>,
    shares: Vec<(Resource, f64)>,
    extrapolated: bool,
}

impl Curve {
    /// Value that is reached with this probability (0-1).
    pub(crate) fn level(&self, probability: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        let place = ((1.0 - probability) * self.sorted.len() as f64 + 1e-9).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0..=DRAWS")]
        let index = (place.max(0.0) as usize).min(last);
        self.sorted.get(index).copied().unwrap_or(0.0)
    }

    /// Probability of carrying `needed`.
    pub(crate) fn probability(&self, needed: f64) -> f64 {
        let below = self.sorted.partition_point(|value| *value < needed);
        (self.sorted.len() - below) as f64 / self.sorted.len().max(1) as f64
    }

    /// The limit with the largest share.
    pub(crate) fn binding(&self) -> Option<Resource> {
        self.shares.first().map(|share| share.0)
    }
}

/// A hard cap with what sets it.
pub(crate) type Cap = Option<(Resource, f64)>;

/// Everything the report says of one quantity at one count.
pub(crate) fn carried(
    curve: &Curve,
    no_failure: &Curve,
    cap: Cap,
    needed: f64,
    certainty: f64,
) -> Carried {
    let limit = cap.map_or(f64::INFINITY, |(_, value)| value);
    let at = |probability: f64| curve.level(probability).min(limit);
    let median = curve.level(0.5);
    let shares = match cap {
        Some((resource, value)) if value < median => vec![(resource, 1.0)],
        _ => curve.shares.clone(),
    };
    let (binding, binding_share) = shares.first().copied().unwrap_or((Resource::Pool, 0.0));
    Carried {
        p05: at(0.95),
        median: at(0.5),
        p95: at(0.05),
        at_certainty: at(certainty),
        hardware: curve.level(certainty),
        median_no_failure: no_failure.level(0.5).min(limit),
        probability: if limit < needed { 0.0 } else { curve.probability(needed) },
        binding,
        binding_share,
        shares,
        hard_cap: cap.map(|(_, value)| value),
        extrapolated: curve.extrapolated,
    }
}

/// Curves by configuration.
pub(crate) struct Carry<'m> {
    pub(crate) model: &'m Model,
    draws: Vec<Draw>,
    curves: BTreeMap<(Quantity, [u64; 5]), Rc<Curve>>,
}

impl<'m> Carry<'m> {
    pub(crate) fn new(model: &'m Model, seed: u64) -> Self {
        Self { model, draws: model.draws(DRAWS, seed), curves: BTreeMap::new() }
    }

    /// The curve of a configuration at a block size, KiB.
    pub(crate) fn curve(
        &mut self,
        quantity: Quantity,
        configuration: &Configuration,
        block_kib: f64,
    ) -> Rc<Curve> {
        let key = (
            quantity,
            [
                configuration.hosts.to_bits(),
                configuration.datastores.to_bits(),
                configuration.flows.to_bits(),
                configuration.vms.unwrap_or(0.0).to_bits(),
                block_kib.to_bits(),
            ],
        );
        if let Some(curve) = self.curves.get(&key) {
            return Rc::clone(curve);
        }
        let curve = Rc::new(self.compute(quantity, configuration, block_kib));
        self.curves.insert(key, Rc::clone(&curve));
        curve
    }

    fn compute(&self, quantity: Quantity, configuration: &Configuration, block_kib: f64) -> Curve {
        // IOPS at another block, where the model can tell; else as they are stated.
        let at_block = (quantity == Quantity::Iops
            && self.model.block_kib(quantity).is_some_and(|own| (block_kib - own).abs() > 1e-9))
        .then(|| self.model.predict_iops_at_block(block_kib, configuration))
        .flatten();
        let evaluate = |draw: &Draw| {
            at_block
                .as_ref()
                .and_then(|_| self.model.evaluate_iops_at_block(block_kib, configuration, draw))
                .unwrap_or_else(|| self.model.evaluate(quantity, configuration, draw))
        };
        let mut sorted: Vec<f64> = self.draws.iter().map(evaluate).collect();
        sorted.sort_by(f64::total_cmp);
        let prediction = at_block.unwrap_or_else(|| self.model.predict(quantity, configuration));
        Curve { sorted, shares: prediction.shares, extrapolated: prediction.extrapolated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve() -> Curve {
        Curve {
            sorted: (1..=100).map(f64::from).collect(),
            shares: vec![(Resource::Flow, 1.0)],
            extrapolated: false,
        }
    }

    #[test]
    fn the_level_is_reached_with_the_probability_and_no_higher_value_is() {
        let curve = curve();
        assert_eq!(curve.level(0.95), 6.0);
        assert_eq!(curve.probability(6.0), 0.95);
        assert!(curve.probability(6.5) < 0.95);
        assert_eq!(curve.level(1.0), 1.0);
        assert_eq!(curve.level(0.0), 100.0);
    }

    #[test]
    fn a_cap_below_the_median_binds_and_a_cap_below_the_need_is_certain_to_fail() {
        let curve = curve();
        let capped = carried(&curve, &curve, Some((Resource::Tier, 40.0)), 41.0, 0.95);
        assert_eq!(capped.binding, Resource::Tier);
        assert_eq!(capped.probability, 0.0);
        assert_eq!((capped.p05, capped.median, capped.p95), (6.0, 40.0, 40.0));
        let free = carried(&curve, &curve, Some((Resource::Tier, 90.0)), 41.0, 0.95);
        assert_eq!(free.binding, Resource::Flow);
        assert_eq!(free.probability, 0.6);
    }
}
