//! One pool of all media or several pools of their own: which layout carries a load.
//!
//! A pool is limited by its media and by its own bookkeeping (locks, parity engine, log), all pools
//! by the controller. Several pools multiply the bookkeeping and split the media: what one volume
//! leaves idle the others cannot use. docs/models.md section 7.

use crate::curve::ln_smooth_minimum;
use serde::{Deserialize, Serialize};

/// What limits pools on one controller, each in IOPS or each in MiB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PoolCeilings {
    /// All media together.
    pub media: f64,
    /// Bookkeeping of one pool; `None` when it does not bind.
    pub pool: Option<f64>,
    /// Controller; `None` when it does not bind.
    pub controller: Option<f64>,
    /// Exponent of the p-norm.
    pub exponent: f64,
}

/// What a layout carries.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolLayout {
    /// Pools of equal media.
    pub pools: usize,
    /// What all volumes together carry before the first pool is full, in the ceilings' unit.
    pub carries: f64,
    /// Load of the fullest pool over the mean.
    pub imbalance: f64,
    /// What binds most: `media`, `pool` or `controller`.
    pub binding: String,
}

/// What `pools` pools of equal media carry for volumes with these shares of the load. Volumes are
/// spread largest first into the pool with the least load.
///
/// `None` without a pool or without a share above zero.
#[must_use]
pub fn pool_layout(ceilings: &PoolCeilings, pools: usize, shares: &[f64]) -> Option<PoolLayout> {
    let total: f64 = shares.iter().sum();
    if pools == 0 || total.is_nan() || total <= 0.0 || shares.iter().any(|share| *share < 0.0) {
        return None;
    }
    let mut sorted = shares.to_vec();
    sorted.sort_by(|left, right| right.total_cmp(left));
    let mut loads = vec![0.0_f64; pools];
    for share in sorted {
        if let Some(least) = loads.iter_mut().min_by(|left, right| left.total_cmp(right)) {
            *least += share / total;
        }
    }
    let fullest = loads.iter().copied().fold(0.0, f64::max);
    let count = pools as f64;
    let mut named = vec![("media", ceilings.media / count / fullest)];
    named.extend(ceilings.pool.map(|pool| ("pool", pool / fullest)));
    named.extend(ceilings.controller.map(|controller| ("controller", controller)));
    let ln: Vec<f64> = named.iter().map(|(_, ceiling)| ceiling.ln()).collect();
    let mut weights = vec![0.0; ln.len()];
    let carries = ln_smooth_minimum(&ln, ceilings.exponent, &mut weights).exp();
    let binding = named
        .iter()
        .zip(&weights)
        .max_by(|left, right| left.1.total_cmp(right.1))
        .map_or(String::new(), |((name, _), _)| (*name).to_owned());
    Some(PoolLayout { pools, carries, imbalance: fullest * count, binding })
}

/// The better of one pool and `pools` pools, and why, in words; `None` as [`pool_layout`].
#[must_use]
pub fn pool_advice(ceilings: &PoolCeilings, pools: usize, shares: &[f64]) -> Option<String> {
    let one = pool_layout(ceilings, 1, shares)?;
    let several = pool_layout(ceilings, pools, shares)?;
    let gain = several.carries / one.carries - 1.0;
    Some(if gain > 0.05 {
        format!(
            "{pools} pools carry {:.0} % more than one: the bookkeeping of one pool binds ({}), and the load is even enough (fullest pool {:.2} times the mean)",
            100.0 * gain,
            one.binding,
            several.imbalance
        )
    } else if gain < -0.05 {
        format!(
            "one pool carries {:.0} % more than {pools}: the fullest of them has {:.2} times the mean load while media of the others stand idle",
            100.0 * (one.carries / several.carries - 1.0),
            several.imbalance
        )
    } else {
        format!(
            "one pool and {pools} pools carry the same within 5 %; what binds is the {}. {pools} pools keep faults apart, one shares spare room",
            one.binding
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ARRAY: PoolCeilings = PoolCeilings {
        media: 1_500_000.0,
        pool: Some(90_000.0),
        controller: Some(400_000.0),
        exponent: 2.5,
    };

    #[test]
    fn five_pools_of_one_volume_multiply_what_a_pool_holds_back() {
        let even = [1.0; 5];
        let one = pool_layout(&ARRAY, 1, &even).unwrap();
        let five = pool_layout(&ARRAY, 5, &even).unwrap();
        let by_hand = |terms: &[f64]| terms.iter().map(|c| c.powf(-2.5)).sum::<f64>().powf(-0.4);
        assert!((one.carries / by_hand(&[1.5e6, 9e4, 4e5]) - 1.0).abs() < 1e-12);
        assert!((five.carries / by_hand(&[1.5e6, 4.5e5, 4e5]) - 1.0).abs() < 1e-12);
        assert_eq!((one.binding.as_str(), five.binding.as_str()), ("pool", "controller"));
        assert!(pool_advice(&ARRAY, 5, &even).unwrap().starts_with("5 pools carry"));
    }

    #[test]
    fn uneven_loads_leave_media_idle_in_pools_of_their_own() {
        let disks = PoolCeilings { media: 20_000.0, pool: None, controller: None, exponent: 2.5 };
        let uneven = [6.0, 1.0, 1.0, 1.0, 1.0];
        let five = pool_layout(&disks, 5, &uneven).unwrap();
        // The busy volume has a fifth of the media and 60 % of the load.
        assert!(
            (five.carries - 4_000.0 / 0.6).abs() < 1e-6 && (five.imbalance - 3.0).abs() < 1e-12
        );
        assert!((pool_layout(&disks, 1, &uneven).unwrap().carries - 20_000.0).abs() < 1e-6);
        assert!(
            pool_advice(&disks, 5, &uneven).unwrap().starts_with("one pool carries 200 % more")
        );
        assert!(pool_advice(&disks, 5, &[1.0; 5]).unwrap().contains("the same within 5 %"));
        assert_eq!(pool_layout(&disks, 0, &uneven), None);
        assert_eq!(pool_layout(&disks, 2, &[]), None);
    }
}
