//! Local search: give a place to what is left over, and even out the loads.
//!
//! Bounded by a number of trials, so that a large or hopeless case costs milliseconds, not minutes.

use super::greedy::Packing;
use super::{DIMENSIONS, ROUNDING, Unplaced};

/// Trials to place what is left over.
const TRIALS_LEFT_OVER: usize = 2_000_000;

/// Trials to level.
const TRIALS_LEVEL: usize = 400_000;

/// A change must bring the worst datastore nearer to the mean by this much of it.
const GAIN: f64 = 1e-4;

/// Tries to place each left-over item by moving one item out of its way.
pub(super) fn place_leftovers(packing: &mut Packing<'_>) {
    let waiting: Vec<u32> = packing
        .unplaced
        .iter()
        .filter(|(_, why)| *why == Unplaced::NoRoom)
        .map(|(item, _)| *item)
        .collect();
    if waiting.is_empty() {
        return;
    }
    let mut trials = TRIALS_LEFT_OVER;
    let mut members = members(packing);
    for item in waiting {
        let index = item as usize;
        let free = (0..packing.loads.len()).find(|&bin| fits(packing, index, bin));
        let placed = match free {
            Some(bin) => {
                packing.put(index, bin);
                members[bin].push(index);
                true
            }
            None => {
                make_room(packing, &mut members, index, &mut trials)
                    || gather_room(packing, &mut members, index, &mut trials)
            }
        };
        if placed {
            packing.unplaced.retain(|(left, _)| *left != item);
        }
    }
}

fn fits(packing: &Packing<'_>, item: usize, bin: usize) -> bool {
    packing.after(item, bin) <= 1.0 + ROUNDING && packing.may_join(item, bin)
}

/// Finds an item that can leave its datastore for another so that `item` fits.
fn make_room(
    packing: &mut Packing<'_>,
    members: &mut [Vec<usize>],
    item: usize,
    trials: &mut usize,
) -> bool {
    for bin in 0..packing.loads.len() {
        for place in 0..members[bin].len() {
            let leaving = members[bin][place];
            *trials = trials.saturating_sub(1);
            if packing.after_exchange(leaving, item, bin) > 1.0 + ROUNDING
                || !packing.may_replace(item, leaving, bin)
            {
                continue;
            }
            *trials = trials.saturating_sub(packing.loads.len());
            let other = (0..packing.loads.len())
                .find(|&other| other != bin && fits(packing, leaving, other));
            if let Some(other) = other {
                packing.take(leaving);
                packing.put(leaving, other);
                packing.put(item, bin);
                members[bin][place] = item;
                members[other].push(leaving);
                return true;
            }
        }
        if *trials == 0 {
            return false;
        }
    }
    false
}

/// Gathers the room that is spread over many datastores on one of them, by swaps that each leave
/// more room there, until the item fits.
fn gather_room(
    packing: &mut Packing<'_>,
    members: &mut [Vec<usize>],
    item: usize,
    trials: &mut usize,
) -> bool {
    let roomiest = (0..packing.loads.len())
        .filter(|&bin| packing.may_join(item, bin))
        .min_by(|&left, &right| packing.after(item, left).total_cmp(&packing.after(item, right)));
    let Some(bin) = roomiest else { return false };
    while !fits(packing, item, bin) {
        let mut least = packing.after(item, bin) - ROUNDING;
        let mut swap = None;
        for other in (0..packing.loads.len()).filter(|&other| other != bin) {
            *trials = trials.saturating_sub(members[bin].len() * members[other].len());
            if *trials == 0 {
                return false;
            }
            for (place, &out) in members[bin].iter().enumerate() {
                for (with_place, &with) in members[other].iter().enumerate() {
                    let then = packing.after_exchange_and(out, with, item, bin);
                    if then < least
                        && packing.after_exchange(out, with, bin) <= 1.0 + ROUNDING
                        && packing.after_exchange(with, out, other) <= 1.0 + ROUNDING
                        && packing.may_replace(out, with, other)
                        && packing.may_replace(with, out, bin)
                    {
                        least = then;
                        swap = Some((place, other, with_place));
                    }
                }
            }
        }
        let Some((place, other, with_place)) = swap else { return false };
        exchange(packing, members, (bin, place), (other, with_place));
    }
    packing.put(item, bin);
    members[bin].push(item);
    true
}

/// Exchanges two items, each given by its datastore and its place among the members there.
fn exchange(
    packing: &mut Packing<'_>,
    members: &mut [Vec<usize>],
    (here, place): (usize, usize),
    (there, with_place): (usize, usize),
) {
    let (item, with) = (members[here][place], members[there][with_place]);
    packing.take(item);
    packing.take(with);
    packing.put(item, there);
    packing.put(with, here);
    members[here][place] = with;
    members[there][with_place] = item;
}

/// Moves items away from the datastore that is furthest above the mean in some dimension, or swaps
/// them for smaller ones, while that brings it nearer.
pub(super) fn level(packing: &mut Packing<'_>) {
    let bins = packing.loads.len();
    if bins < 2 {
        return;
    }
    let mut members = members(packing);
    let mut trials = TRIALS_LEVEL;
    while trials > 0 {
        let above = |bin: &usize| packing.pressure(&packing.loads[*bin]);
        let Some(hot) = (0..bins).max_by(|left, right| above(left).total_cmp(&above(right))) else {
            return;
        };
        let Some((place, change)) = best_change(packing, &members, hot, &mut trials) else {
            return;
        };
        match change {
            Change::Move(to) => {
                let item = members[hot].swap_remove(place);
                packing.take(item);
                packing.put(item, to);
                members[to].push(item);
            }
            Change::Swap(to, with_place) => {
                exchange(packing, &mut members, (hot, place), (to, with_place));
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Change {
    /// To this datastore.
    Move(usize),
    /// With the item at this place of this datastore.
    Swap(usize, usize),
}

/// The change that leaves the two datastores nearest to the mean; `None` when none helps.
fn best_change(
    packing: &Packing<'_>,
    members: &[Vec<usize>],
    hot: usize,
    trials: &mut usize,
) -> Option<(usize, Change)> {
    let mut best = packing.pressure(&packing.loads[hot]) - GAIN;
    let mut found = None;
    let within = |load: &[f64; DIMENSIONS]| load.iter().all(|share| *share <= 1.0 + ROUNDING);
    for (place, &item) in members[hot].iter().enumerate() {
        let here = packing.pressure(&packing.changed(hot, Some(item), None));
        if here >= best {
            continue;
        }
        for to in (0..packing.loads.len()).filter(|&to| to != hot) {
            *trials = trials.saturating_sub(1);
            let load = packing.changed(to, None, Some(item));
            let after = packing.pressure(&load).max(here);
            if after < best && within(&load) && packing.may_join(item, to) {
                best = after;
                found = Some((place, Change::Move(to)));
            }
        }
    }
    if found.is_some() {
        return found;
    }
    for (place, &item) in members[hot].iter().enumerate() {
        for to in (0..packing.loads.len()).filter(|&to| to != hot) {
            if *trials == 0 {
                return found;
            }
            *trials = trials.saturating_sub(members[to].len());
            for (with_place, &with) in members[to].iter().enumerate() {
                let load = packing.changed(hot, Some(item), Some(with));
                let here = packing.pressure(&load);
                if here >= best || !within(&load) {
                    continue;
                }
                let load = packing.changed(to, Some(with), Some(item));
                let after = packing.pressure(&load).max(here);
                if after < best
                    && within(&load)
                    && packing.may_replace(item, with, to)
                    && packing.may_replace(with, item, hot)
                {
                    best = after;
                    found = Some((place, Change::Swap(to, with_place)));
                }
            }
        }
    }
    found
}

fn members(packing: &Packing<'_>) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); packing.loads.len()];
    for (item, bin) in packing.bins.iter().enumerate() {
        if let Some(bin) = bin {
            members[*bin as usize].push(item);
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::{BinLimits, Item, PlaceOptions};

    #[test]
    fn an_item_is_moved_out_of_the_way_of_one_left_over() {
        // 5 + 3 and 6 in two of 10 leave no room for 5; 5 + 5 and 6 + 3 do.
        let items = [5.0, 3.0, 6.0, 5.0].map(|gib| Item { gib, ..Item::default() });
        let none = f64::INFINITY;
        let limits = BinLimits { iops: none, mibps: none, gib: 10.0, vms: none };
        let options = PlaceOptions::default();
        let mut packing = Packing::new(&items, &limits, 2, &options);
        packing.put(0, 0);
        packing.put(1, 0);
        packing.put(2, 1);
        packing.unplaced.push((3, Unplaced::NoRoom));
        place_leftovers(&mut packing);
        assert_eq!(packing.bins, [Some(0), Some(1), Some(1), Some(0)]);
        assert!(packing.unplaced.is_empty());
    }
}
