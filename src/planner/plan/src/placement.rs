//! Where every VM goes.
//!
//! Vector packing with four dimensions (IOPS, MiB/s, space, number of VMs). Largest first, each VM
//! into the datastore where it disturbs an even load least, over all dimensions; when that leaves
//! VMs over, into the one whose fullest dimension is least full afterwards (the min-max greedy that
//! reaches the lower bound where first and best fit need a fifth more), then a score between the
//! two. A local search of moves and swaps places what was left over and evens out the rest.
//!
//! [`place`] and [`fewest`] know nothing of VMs; [`layout`] joins them to inventory and demand, and
//! [`recheck`] asks whether the unequal loads that come out are still carried.

mod greedy;
mod improve;
pub mod layout;
pub mod recheck;

use greedy::{Packing, Score};

/// Dimensions of a load: IOPS, MiB/s, GiB, number of VMs.
pub const DIMENSIONS: usize = 4;

/// Names of the dimensions, in order.
pub const DIMENSION_NAMES: [&str; DIMENSIONS] = ["IOPS", "MiB/s", "GiB", "VMs"];

/// Room for sums of floating-point shares that are exactly 1 on paper.
pub(crate) const ROUNDING: f64 = 1e-9;

/// Something to place. Values are finite and not negative; others count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Item {
    /// IOPS that add up on a datastore.
    pub iops: f64,
    /// MiB/s that add up on a datastore.
    pub mibps: f64,
    /// Space, GiB.
    pub gib: f64,
    /// Where it is today: a number below [`PlaceOptions::homes`].
    pub home: Option<u32>,
}

/// What one datastore may carry and hold; `f64::INFINITY` for no limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BinLimits {
    /// IOPS.
    pub iops: f64,
    /// MiB/s.
    pub mibps: f64,
    /// Space, GiB.
    pub gib: f64,
    /// Number of VMs.
    pub vms: f64,
}

impl BinLimits {
    fn shares(&self, item: &Item) -> [f64; DIMENSIONS] {
        [
            share(item.iops, self.iops),
            share(item.mibps, self.mibps),
            share(item.gib, self.gib),
            share(1.0, self.vms),
        ]
    }
}

/// Part of the limit that a value takes; nothing fits under a limit of zero except zero.
fn share(value: f64, limit: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        0.0
    } else if limit > 0.0 {
        value / limit
    } else {
        f64::INFINITY
    }
}

/// What else is asked of a placement.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PlaceOptions {
    /// Groups of items to spread: no datastore holds more of a group than it must.
    pub apart: Vec<Vec<u32>>,
    /// Number of places where items are today; 0 when staying is of no use. Only decides between
    /// datastores that are equally good.
    pub homes: u32,
}

/// Why an item has no place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Unplaced {
    /// It alone is more than a whole datastore in this dimension (index into
    /// [`DIMENSION_NAMES`]), by this factor.
    TooLarge {
        /// The dimension.
        dimension: usize,
        /// Its value over the limit.
        factor: f64,
    },
    /// No datastore had room left.
    NoRoom,
}

/// Outcome of a placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementResult {
    /// For each item its datastore, 0 to the count less one.
    pub bins: Vec<Option<u32>>,
    /// Items without a place, by index.
    pub unplaced: Vec<(u32, Unplaced)>,
    /// Sum of shares of each datastore.
    pub utilisation: Vec<[f64; DIMENSIONS]>,
    /// Groups that could not be spread fully: a datastore holds more than one of them.
    pub crowded: Vec<u32>,
}

impl PlacementResult {
    /// Fullest dimension of the fullest datastore.
    #[must_use]
    pub fn max_utilisation(&self) -> f64 {
        self.utilisation.iter().flatten().copied().fold(0.0, f64::max)
    }

    /// Whether all that can have a place has one.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.unplaced.iter().all(|(_, why)| *why != Unplaced::NoRoom)
    }
}

/// Fewest datastores that the sums allow: items larger than a whole datastore are left out.
#[must_use]
pub fn lower_bound(items: &[Item], limits: &BinLimits) -> u32 {
    let mut sums = [0.0; DIMENSIONS];
    for item in items {
        let shares = limits.shares(item);
        if too_large(&shares).is_none() {
            for (sum, share) in sums.iter_mut().zip(shares) {
                *sum += share;
            }
        }
    }
    let most = sums.into_iter().fold(0.0, f64::max);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "shares are at most 1 each, so the sum is at most the number of items"
    )]
    let whole = (most - ROUNDING).ceil().max(0.0) as u32;
    whole.max(u32::from(!items.is_empty()))
}

/// Places items on `count` datastores.
#[must_use]
pub fn place(
    items: &[Item],
    limits: &BinLimits,
    count: u32,
    options: &PlaceOptions,
) -> PlacementResult {
    let mut best: Option<Packing<'_>> = None;
    for score in [Score::Even, Score::Fullest, Score::Powers] {
        let mut packing = Packing::new(items, limits, count, options);
        packing.greedy(score);
        improve::place_leftovers(&mut packing);
        if best.as_ref().is_none_or(|best| packing.left_over() < best.left_over()) {
            best = Some(packing);
        }
        if best.as_ref().is_some_and(|best| best.left_over() == 0) {
            break;
        }
    }
    let mut packing = best.unwrap_or_else(|| Packing::new(items, limits, count, options));
    improve::level(&mut packing);
    packing.finish()
}

/// Places items on as few datastores as hold them all, starting from the lower bound and going up
/// by one (from 512 datastores on by 0.4 %); at `most` datastores what does not fit is left over.
/// Returns the count too.
#[must_use]
pub fn fewest(
    items: &[Item],
    limits: &BinLimits,
    most: u32,
    options: &PlaceOptions,
) -> (u32, PlacementResult) {
    let mut count = lower_bound(items, limits).clamp(1, most.max(1));
    loop {
        let result = place(items, limits, count, options);
        if result.complete() || count >= most {
            return (count, result);
        }
        count = count.saturating_add((count / 256).max(1)).min(most);
    }
}

fn too_large(shares: &[f64; DIMENSIONS]) -> Option<Unplaced> {
    let (dimension, factor) =
        shares.iter().copied().enumerate().max_by(|left, right| left.1.total_cmp(&right.1))?;
    (factor > 1.0 + ROUNDING).then_some(Unplaced::TooLarge { dimension, factor })
}

#[cfg(test)]
mod tests;
