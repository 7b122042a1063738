//! The state of a packing, and the min-max greedy.

use std::collections::BTreeSet;

use super::{
    BinLimits, DIMENSIONS, Item, PlaceOptions, PlacementResult, ROUNDING, Unplaced, too_large,
};

/// From this number of datastores on, only the least full ones are tried first.
const MANY_BINS: usize = 96;

/// How many of them.
const CANDIDATES: usize = 24;

/// Datastores whose fullest dimension differs by less than this are equally good.
const EQUAL: f64 = 0.002;

/// Largest table of datastores x homes that is kept.
const HOME_TABLE: usize = 1 << 22;

/// What makes a datastore the right one for an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Score {
    /// The sum over all dimensions of the fourth power of load over mean load grows least: evens
    /// out every dimension, also those that are far from their limit.
    Even,
    /// Its fullest dimension is least full afterwards.
    Fullest,
    /// The sum of the fourth powers over all dimensions grows least: keeps two tight dimensions in
    /// step where the fullest alone would fill one of them too early.
    Powers,
}

pub(super) struct Packing<'a> {
    items: &'a [Item],
    pub shares: Vec<[f64; DIMENSIONS]>,
    pub bins: Vec<Option<u32>>,
    pub loads: Vec<[f64; DIMENSIONS]>,
    pub unplaced: Vec<(u32, Unplaced)>,
    /// Per dimension: one over the mean load of a datastore, 0 without load.
    evenness: [f64; DIMENSIONS],
    /// Groups of each item.
    groups_of: Vec<Vec<u32>>,
    /// Per group: items of it that one datastore may hold.
    group_cap: Vec<u32>,
    /// Per group and datastore: items held.
    group_held: Vec<Vec<u32>>,
    homes: usize,
    /// Per datastore and home: GiB held that are there today; empty when not kept.
    home_held: Vec<f64>,
}

impl<'a> Packing<'a> {
    pub fn new(items: &'a [Item], limits: &BinLimits, count: u32, options: &PlaceOptions) -> Self {
        let count = count as usize;
        let mut groups_of = vec![Vec::new(); items.len()];
        let mut group_cap = Vec::new();
        for (group, members) in (0_u32..).zip(&options.apart) {
            for &member in members {
                if let Some(groups) = groups_of.get_mut(member as usize) {
                    groups.push(group);
                }
            }
            // More members than datastores: as even as can be.
            let even = members.len().div_ceil(count.max(1)).max(1);
            group_cap.push(u32::try_from(even).unwrap_or(u32::MAX));
        }
        let homes = options.homes as usize;
        let table = homes.saturating_mul(count);
        let shares: Vec<[f64; DIMENSIONS]> = items.iter().map(|item| limits.shares(item)).collect();
        Self {
            items,
            evenness: one_over_mean(&shares, count),
            shares,
            bins: vec![None; items.len()],
            loads: vec![[0.0; DIMENSIONS]; count],
            unplaced: Vec::new(),
            groups_of,
            group_held: vec![vec![0; count]; group_cap.len()],
            group_cap,
            homes,
            home_held: if table <= HOME_TABLE { vec![0.0; table] } else { Vec::new() },
        }
    }

    /// Largest first, each into the best datastore by the score.
    pub fn greedy(&mut self, score: Score) {
        let largest = |shares: &[f64; DIMENSIONS]| shares.iter().copied().fold(0.0, f64::max);
        let mut order: Vec<(f64, u32)> = self.shares.iter().map(largest).zip(0..).collect();
        order.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(&right.1)));
        let mut least_full = (self.loads.len() >= MANY_BINS)
            .then(|| (0..self.loads.len()).map(|bin| (0, bin)).collect::<BTreeSet<(u64, usize)>>());
        for (_, item) in order {
            let index = item as usize;
            if let Some(why) = too_large(&self.shares[index]) {
                self.unplaced.push((item, why));
                continue;
            }
            let found = match &least_full {
                Some(bins) => self
                    .best(index, bins.iter().take(CANDIDATES).map(|(_, bin)| *bin), score)
                    .or_else(|| self.best(index, 0..self.loads.len(), score)),
                None => self.best(index, 0..self.loads.len(), score),
            };
            let Some(bin) = found else {
                self.unplaced.push((item, Unplaced::NoRoom));
                continue;
            };
            let before = self.fullness(bin, score);
            self.put(index, bin);
            if let Some(bins) = &mut least_full {
                // Not negative, so the bits are in the order of the numbers.
                bins.remove(&(before.to_bits(), bin));
                bins.insert((self.fullness(bin, score).to_bits(), bin));
            }
        }
    }

    /// The best datastore; among equally good ones the one that holds most of what is at the item's
    /// home today.
    fn best(&self, item: usize, bins: impl Iterator<Item = usize>, score: Score) -> Option<usize> {
        let mut best: Option<(f64, f64, usize)> = None;
        for bin in bins {
            let fullest = self.after(item, bin);
            if fullest > 1.0 + ROUNDING || !self.may_join(item, bin) {
                continue;
            }
            let value = match score {
                Score::Fullest => fullest,
                Score::Powers => self.added_powers(item, bin, &[1.0; DIMENSIONS]),
                Score::Even => self.added_powers(item, bin, &self.evenness),
            };
            let at_home = self.at_home(item, bin);
            let better = best.is_none_or(|(least, most_home, _)| {
                value < least - EQUAL
                    || (value < least + EQUAL && at_home > most_home)
                    || (value < least && at_home >= most_home)
            });
            if better {
                best = Some((value, at_home, bin));
            }
        }
        best.map(|(_, _, bin)| bin)
    }

    fn fullness(&self, bin: usize, score: Score) -> f64 {
        match score {
            Score::Fullest => self.fullest(bin),
            Score::Powers => self.loads[bin].iter().map(|load| load.powi(4)).sum(),
            Score::Even => pressure(&self.loads[bin], &self.evenness),
        }
    }

    fn added_powers(&self, item: usize, bin: usize, weights: &[f64; DIMENSIONS]) -> f64 {
        let (load, share) = (&self.loads[bin], &self.shares[item]);
        let mut added = 0.0;
        for dimension in 0..DIMENSIONS {
            let now = load[dimension] * weights[dimension];
            let then = now + share[dimension] * weights[dimension];
            added += then * then * then * then - now * now * now * now;
        }
        added
    }

    /// Fullest dimension of a datastore.
    pub fn fullest(&self, bin: usize) -> f64 {
        self.loads[bin].iter().copied().fold(0.0, f64::max)
    }

    /// Fullest dimension of a datastore with one more item.
    pub fn after(&self, item: usize, bin: usize) -> f64 {
        let (load, share) = (&self.loads[bin], &self.shares[item]);
        let mut fullest: f64 = 0.0;
        for dimension in 0..DIMENSIONS {
            fullest = fullest.max(load[dimension] + share[dimension]);
        }
        fullest
    }

    /// Fullest dimension of a datastore with one item exchanged for another.
    pub fn after_exchange(&self, out: usize, into: usize, bin: usize) -> f64 {
        let (load, out, into) = (&self.loads[bin], &self.shares[out], &self.shares[into]);
        let mut fullest: f64 = 0.0;
        for dimension in 0..DIMENSIONS {
            fullest = fullest.max(load[dimension] - out[dimension] + into[dimension]);
        }
        fullest
    }

    /// The load of a datastore without one item and with another.
    pub fn changed(
        &self,
        bin: usize,
        out: Option<usize>,
        into: Option<usize>,
    ) -> [f64; DIMENSIONS] {
        let mut load = self.loads[bin];
        if let Some(item) = out {
            for (load, share) in load.iter_mut().zip(&self.shares[item]) {
                *load -= share;
            }
        }
        if let Some(item) = into {
            for (load, share) in load.iter_mut().zip(&self.shares[item]) {
                *load += share;
            }
        }
        load
    }

    /// How far a load is above the mean in the dimension where it is furthest.
    pub fn pressure(&self, load: &[f64; DIMENSIONS]) -> f64 {
        pressure(load, &self.evenness)
    }

    /// Fullest dimension of a datastore with one item exchanged for another and a third added.
    pub fn after_exchange_and(&self, out: usize, into: usize, more: usize, bin: usize) -> f64 {
        let (load, out, into) = (&self.loads[bin], &self.shares[out], &self.shares[into]);
        let mut fullest: f64 = 0.0;
        for dimension in 0..DIMENSIONS {
            let then = load[dimension] - out[dimension] + into[dimension];
            fullest = fullest.max(then + self.shares[more][dimension]);
        }
        fullest
    }

    /// Whether no group of the item has its fill on the datastore.
    pub fn may_join(&self, item: usize, bin: usize) -> bool {
        self.groups_of[item].iter().all(|&group| {
            let group = group as usize;
            self.group_held[group][bin] < self.group_cap[group]
        })
    }

    /// Whether the item may join when another one leaves.
    pub fn may_replace(&self, item: usize, leaving: usize, bin: usize) -> bool {
        self.groups_of[item].iter().all(|group| {
            let freed = u32::from(self.groups_of[leaving].contains(group));
            let group = *group as usize;
            self.group_held[group][bin] - freed < self.group_cap[group]
        })
    }

    fn at_home(&self, item: usize, bin: usize) -> f64 {
        let home = self.items[item].home.map(|home| home as usize);
        let Some(home) = home.filter(|home| *home < self.homes) else { return 0.0 };
        self.home_held.get(bin * self.homes + home).copied().unwrap_or(0.0)
    }

    pub fn put(&mut self, item: usize, bin: usize) {
        self.change(item, bin, 1.0);
        self.bins[item] = u32::try_from(bin).ok();
    }

    pub fn take(&mut self, item: usize) {
        if let Some(bin) = self.bins[item].take() {
            self.change(item, bin as usize, -1.0);
        }
    }

    fn change(&mut self, item: usize, bin: usize, sign: f64) {
        for (load, share) in self.loads[bin].iter_mut().zip(self.shares[item]) {
            *load = (*load + sign * share).max(0.0);
        }
        for &group in &self.groups_of[item] {
            let held = &mut self.group_held[group as usize][bin];
            *held = if sign > 0.0 { *held + 1 } else { held.saturating_sub(1) };
        }
        let home = self.items[item].home.map(|home| home as usize);
        if let Some(home) = home.filter(|home| *home < self.homes)
            && let Some(held) = self.home_held.get_mut(bin * self.homes + home)
        {
            *held += sign * self.items[item].gib;
        }
    }

    /// Items for which no datastore had room.
    pub fn left_over(&self) -> usize {
        self.unplaced.iter().filter(|(_, why)| *why == Unplaced::NoRoom).count()
    }

    pub fn finish(mut self) -> PlacementResult {
        self.unplaced.sort_by_key(|(item, _)| *item);
        // Sums anew, in the order of the items: moves leave rounding behind.
        let mut utilisation = vec![[0.0; DIMENSIONS]; self.loads.len()];
        for (bin, shares) in self.bins.iter().zip(&self.shares) {
            if let Some(bin) = bin {
                for (sum, share) in utilisation[*bin as usize].iter_mut().zip(shares) {
                    *sum += share;
                }
            }
        }
        let crowded = (0_u32..)
            .zip(&self.group_held)
            .filter(|(_, held)| held.iter().any(|held| *held > 1))
            .map(|(group, _)| group)
            .collect();
        PlacementResult { bins: self.bins, unplaced: self.unplaced, utilisation, crowded }
    }
}

fn pressure(load: &[f64; DIMENSIONS], weights: &[f64; DIMENSIONS]) -> f64 {
    load.iter().zip(weights).map(|(load, weight)| load * weight).fold(0.0, f64::max)
}

fn one_over_mean(shares: &[[f64; DIMENSIONS]], bins: usize) -> [f64; DIMENSIONS] {
    let mut sums = [0.0; DIMENSIONS];
    for share in shares.iter().filter(|shares| too_large(shares).is_none()) {
        for (sum, share) in sums.iter_mut().zip(share) {
            *sum += share;
        }
    }
    #[expect(clippy::cast_precision_loss, reason = "small counts")]
    sums.map(|sum| if sum > 0.0 { bins as f64 / sum } else { 0.0 })
}
