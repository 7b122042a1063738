//! Placing VMs on datastores.

use std::hint::black_box;
use std::time::Instant;

use plimsoll_plan::placement::{BinLimits, Item, PlaceOptions, lower_bound, place};
use plimsoll_support::prng::Prng;

use crate::{Emit, Result};
use plimsoll_support::figure::Figure;

pub fn run(emit: Emit<'_>) -> Result<()> {
    let mut random = Prng::new(33);
    let items: Vec<Item> = (0..1_000).map(|_| item(&mut random)).collect();
    // 33 datastores of 31 VMs are the least that hold 1,000; the other dimensions are nearly full.
    let sum = |of: fn(&Item) -> f64| items.iter().map(of).sum::<f64>() / 33.0 * 1.05;
    let limits = BinLimits {
        iops: sum(|item| item.iops),
        mibps: sum(|item| item.mibps),
        gib: sum(|item| item.gib),
        vms: 31.0,
    };
    let bound = lower_bound(&items, &limits);
    let options = PlaceOptions::default();
    let mut times = Vec::new();
    let mut left_over = 0;
    for _ in 0..9 {
        let began = Instant::now();
        let result = black_box(place(black_box(&items), &limits, 33, &options));
        times.push(began.elapsed().as_secs_f64() * 1e3);
        left_over = result.unplaced.len();
    }
    times.sort_by(f64::total_cmp);
    let ours = times[times.len() / 2];
    let (first_fit_ms, first_fit_count) = first_fit(&items, &limits);
    emit(Figure {
        name: format!(
            "1,000 VMs placed on 33 datastores (lower bound {bound}, {left_over} left over)"
        ),
        unit: "ms",
        ours,
        reference: format!("first fit decreasing, which needs {first_fit_count} datastores"),
        reference_value: Some(first_fit_ms),
        ratio: Some(ours / first_fit_ms),
        goal: "at most 50 ms at the lower bound".to_owned(),
        met: Some(ours <= 50.0 && bound == 33 && left_over == 0),
        command: "plimsoll-bench plan".to_owned(),
    });
    Ok(())
}

/// Loads that vary by an order of magnitude, each dimension by itself.
fn item(random: &mut Prng) -> Item {
    let mut spread = |median: f64| {
        let sum: f64 = (0..4).map(|_| random.unit()).sum::<f64>() - 2.0;
        median * (sum * 1.6).exp()
    };
    Item { iops: spread(300.0), mibps: spread(6.0), gib: spread(180.0), home: None }
}

/// The textbook heuristic: largest first, each into the first datastore with room.
fn first_fit(items: &[Item], limits: &BinLimits) -> (f64, usize) {
    let began = Instant::now();
    let shares = |item: &Item| {
        [
            item.iops / limits.iops,
            item.mibps / limits.mibps,
            item.gib / limits.gib,
            1.0 / limits.vms,
        ]
    };
    let mut sorted: Vec<[f64; 4]> = items.iter().map(shares).collect();
    let size = |shares: &[f64; 4]| shares.iter().sum::<f64>();
    sorted.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let mut bins: Vec<[f64; 4]> = Vec::new();
    for shares in sorted {
        let fits = |bin: &[f64; 4]| bin.iter().zip(shares).all(|(full, more)| full + more <= 1.0);
        let at = bins.iter().position(fits).unwrap_or_else(|| {
            bins.push([0.0; 4]);
            bins.len() - 1
        });
        for (full, more) in bins[at].iter_mut().zip(shares) {
            *full += more;
        }
    }
    (began.elapsed().as_secs_f64() * 1e3, black_box(bins).len())
}
