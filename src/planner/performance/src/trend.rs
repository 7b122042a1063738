//! Growth of used space and the day a datastore is full.
//!
//! The slope is Theil and Sen's (median of the slopes of all pairs) on the logarithm of used space,
//! so it is a percentage a year and one odd sample does not turn it. Its band is a bootstrap over
//! samples (90 %: 5th to 95th percentile). The day of being full is the first on which the 90th
//! percentile of the projected use reaches the limit, which is the 10th percentile of the days on
//! which single projections do. Below [`LEAST_SAMPLES`] days with samples there is a band and no day.
//!
//! Sources: P. K. Sen, J. Am. Stat. Assoc. 63 (1968); B. Efron, Ann. Statist. 7 (1979).

use std::collections::BTreeMap;

use plimsoll_inventory::{DatastoreId, Inventory};
use plimsoll_units::Mib;
use serde::{Deserialize, Serialize};

use crate::load::percentile;
use crate::survey::Survey;
use crate::types::{Match, Metric};

/// Samples on different days below which no day is named.
pub const LEAST_SAMPLES: usize = 8;
/// Samples used; more are brought together by medians of several days.
const MOST_SAMPLES: usize = 60;
const DRAWS: usize = 400;
const DAY_S: i64 = 86_400;

/// Used space at one time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Seconds since 1970.
    pub at_s: i64,
    /// Used space, MiB.
    pub used_mib: f64,
}

/// Used space of one datastore over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Name of the datastore, of its last sighting.
    pub name: String,
    /// Its capacity at the last sighting.
    pub capacity: Option<Mib>,
    /// Samples, in any order.
    pub points: Vec<Point>,
}

/// A value with its 90 % band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// 5th percentile.
    pub low: f64,
    /// Estimate from all samples.
    pub middle: f64,
    /// 95th percentile.
    pub high: f64,
}

/// Growth of one datastore.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Name of the datastore.
    pub name: String,
    /// Days with samples.
    pub samples: usize,
    /// From the first to the last, days.
    pub span_days: f64,
    /// Growth, percent a year.
    pub pct_per_year: Band,
    /// Days from the last sample until the 90 % band reaches the limit; 0: it has.
    pub days_until_full: Option<f64>,
    /// Why there is no such number, in words; empty where there is.
    pub why_no_date: String,
}

/// Histories of the datastores of several inventories of one site.
#[must_use]
pub fn histories_of_inventories(inventories: &[&Inventory]) -> Vec<History> {
    let mut dated: Vec<(i64, &Inventory)> = inventories
        .iter()
        .filter_map(|inventory| {
            let taken = inventory.taken?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
            Some((taken.timestamp().as_second(), *inventory))
        })
        .collect();
    dated.sort_by_key(|(at_s, _)| *at_s);
    let mut histories: BTreeMap<&str, History> = BTreeMap::new();
    for (at_s, inventory) in dated {
        for store in inventory.datastores.iter().filter(|store| store.accessible) {
            let Some(used) = store.in_use else { continue };
            let history = histories.entry(&store.key).or_insert_with(|| History {
                name: String::new(),
                capacity: None,
                points: Vec::new(),
            });
            history.name = store.name.to_string();
            history.capacity = store.capacity.or(history.capacity);
            #[expect(clippy::cast_precision_loss, reason = "MiB stay far below 2^53")]
            history.points.push(Point { at_s, used_mib: used.0 as f64 });
        }
    }
    histories.into_values().collect()
}

/// Histories of the datastores of performance files; capacities also from the inventory.
#[must_use]
pub fn histories_of_survey(survey: &Survey, inventory: &Inventory) -> Vec<History> {
    let last_of = |entity, metric| {
        let series = survey.series.iter().find(|s| s.entity == entity && s.metric == metric)?;
        series.samples.last().map(|sample| f64::from(sample.value))
    };
    survey
        .series
        .iter()
        .filter(|series| series.metric == Metric::UsedMib)
        .map(|series| {
            let at = series.entity.0 as usize;
            let known = match survey.matches.get(at) {
                Some(Match::Datastore(DatastoreId(store))) => {
                    inventory.datastores.get(*store as usize)
                }
                _ => None,
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "not negative, far below 2^63"
            )]
            let stated = last_of(series.entity, Metric::CapacityMib).map(|mib| Mib(mib as u64));
            History {
                name: survey.entities.get(at).map(|entity| entity.name.clone()).unwrap_or_default(),
                capacity: stated.or_else(|| known?.capacity),
                points: series
                    .samples
                    .iter()
                    .map(|s| Point { at_s: i64::from(s.at_s), used_mib: f64::from(s.value) })
                    .collect(),
            }
        })
        .collect()
}

/// Growth of a datastore; `reserve_share` of its capacity (0-1) is kept free. `None` below two days
/// with samples.
#[must_use]
pub fn growth(history: &History, reserve_share: f64, seed: u64) -> Option<Growth> {
    let (samples, points) = daily(&history.points);
    let (first, last) = (points.first()?.0, points.last()?.0);
    let all = theil_sen(&points)?;
    let mut random = Random(seed);
    let mut slopes = Vec::with_capacity(DRAWS);
    let limit = history.capacity.map(|capacity| {
        #[expect(clippy::cast_precision_loss, reason = "MiB stay far below 2^53")]
        let mib = capacity.0 as f64 * (1.0 - reserve_share.clamp(0.0, 1.0));
        mib.max(1.0).ln()
    });
    let mut passages = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let drawn: Vec<(f64, f64)> =
            points.iter().map(|_| points[random.below(points.len())]).collect();
        // A draw of one day alone has no slope.
        let Some(line) = theil_sen(&drawn) else { continue };
        slopes.push(line.slope);
        if let Some(limit) = limit {
            let now = line.level + line.slope * last;
            passages.push(if now >= limit {
                0.0
            } else if line.slope > 0.0 {
                (limit - now) / line.slope
            } else {
                f64::INFINITY
            });
        }
    }
    slopes.sort_by(f64::total_cmp);
    passages.sort_by(f64::total_cmp);
    let per_year = |slope: f64| (slope * 365.25).exp_m1() * 100.0;
    let passage = percentile_of_passages(&passages, 0.1);
    let (days_until_full, why_no_date) = if samples < LEAST_SAMPLES {
        (None, format!("{samples} days with samples; a day is named from {LEAST_SAMPLES} on"))
    } else if limit.is_none() {
        (None, "capacity unknown".to_owned())
    } else {
        match passage {
            Some(days) if days <= 3650.0 => (Some(days), String::new()),
            Some(days) if days.is_finite() => (None, "not within ten years".to_owned()),
            _ => (None, "does not grow, with 90 % confidence".to_owned()),
        }
    };
    Some(Growth {
        name: history.name.clone(),
        samples,
        span_days: last - first,
        pct_per_year: Band {
            low: per_year(percentile(&slopes, 0.05)),
            middle: per_year(all.slope),
            high: per_year(percentile(&slopes, 0.95)),
        },
        days_until_full,
        why_no_date,
    })
}

/// Lower of two neighbours: no arithmetic with infinity.
fn percentile_of_passages(sorted: &[f64], share: f64) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a few hundred"
    )]
    let place = (share * sorted.len().checked_sub(1)? as f64).floor() as usize;
    sorted.get(place).copied()
}

/// Days with samples, and medians of days (of several where there are many): day and ln MiB.
fn daily(points: &[Point]) -> (usize, Vec<(f64, f64)>) {
    let usable =
        || points.iter().filter(|point| point.used_mib > 0.0 && point.used_mib.is_finite());
    let mut days: Vec<i64> = usable().map(|point| point.at_s.div_euclid(DAY_S)).collect();
    days.sort_unstable();
    days.dedup();
    let (Some(first), Some(last)) = (days.first(), days.last()) else { return (0, Vec::new()) };
    let most = i64::try_from(MOST_SAMPLES).unwrap_or(i64::MAX);
    let width = ((last - first) / most + 1).max(1);
    let mut bins: BTreeMap<i64, (Vec<f64>, Vec<f64>)> = BTreeMap::new();
    for point in usable() {
        let day = point.at_s.div_euclid(DAY_S);
        let (times, values) = bins.entry((day - first) / width).or_default();
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 stay far below 2^53")]
        times.push(point.at_s as f64 / DAY_S as f64);
        values.push(point.used_mib.ln());
    }
    let points =
        bins.into_values().map(|(mut t, mut y)| (median(&mut t), median(&mut y))).collect();
    (days.len(), points)
}

struct Line {
    /// Of ln MiB, per day.
    slope: f64,
    /// At day 0.
    level: f64,
}

fn theil_sen(points: &[(f64, f64)]) -> Option<Line> {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (at, one) in points.iter().enumerate() {
        for two in &points[at + 1..] {
            if one.0 != two.0 {
                slopes.push((two.1 - one.1) / (two.0 - one.0));
            }
        }
    }
    if slopes.is_empty() {
        return None;
    }
    let slope = median(&mut slopes);
    let mut levels: Vec<f64> = points.iter().map(|(t, y)| y - slope * t).collect();
    Some(Line { slope, level: median(&mut levels) })
}

/// Median; of an even number the mean of the middle two. Not called without values.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    percentile(values, 0.5)
}

/// SplitMix64: <https://prng.di.unimi.it/splitmix64.c>, public domain.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count.max(1) as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn weekly(weeks: i64, used: impl Fn(i64) -> f64) -> History {
        let points =
            (0..weeks).map(|week| Point { at_s: week * 7 * DAY_S, used_mib: used(week) }).collect();
        History { name: "ds".to_owned(), capacity: Some(Mib(2_000)), points }
    }

    #[test]
    fn a_steady_growth_is_found_exactly() {
        // 1 % a week from 1000 MiB: full (2000) after ln 2 / ln 1.01 = 69.66 weeks from the start.
        let found =
            growth(&weekly(20, |week| 1000.0 * 1.01_f64.powi(week as i32)), 0.0, 1).unwrap();
        let per_year = (1.01_f64.powf(365.25 / 7.0) - 1.0) * 100.0;
        assert!((found.pct_per_year.middle - per_year).abs() < 1e-6);
        assert!((found.pct_per_year.high - found.pct_per_year.low).abs() < 1e-6);
        let weeks = 2_f64.ln() / 1.01_f64.ln() - 19.0;
        assert!((found.days_until_full.unwrap() - weeks * 7.0).abs() < 1e-6);
    }

    #[test]
    fn a_reserve_brings_the_day_forward() {
        let history = weekly(20, |week| 1000.0 * 1.01_f64.powi(week as i32));
        let with = growth(&history, 0.1, 1).unwrap().days_until_full.unwrap();
        let weeks = 1.8_f64.ln() / 1.01_f64.ln() - 19.0;
        assert!((with - weeks * 7.0).abs() < 1e-6);
    }

    #[test]
    fn one_odd_sample_does_not_turn_the_slope() {
        let odd = |week: i64| if week == 10 { 1900.0 } else { 1000.0 * 1.01_f64.powi(week as i32) };
        let found = growth(&weekly(20, odd), 0.0, 1).unwrap();
        let per_year = (1.01_f64.powf(365.25 / 7.0) - 1.0) * 100.0;
        assert!((found.pct_per_year.middle - per_year).abs() < 0.02 * per_year);
    }

    #[test]
    fn below_eight_days_there_is_no_date() {
        let found = growth(&weekly(7, |week| 1000.0 + week as f64), 0.0, 1).unwrap();
        assert_eq!((found.samples, found.days_until_full), (7, None));
        assert!(found.why_no_date.contains("8"));
        // A thousand samples of one day are one day.
        let one_day = History {
            points: (0..1000)
                .map(|i| Point { at_s: i * 20, used_mib: 1000.0 + i as f64 })
                .collect(),
            ..weekly(1, |_| 1.0)
        };
        assert!(growth(&one_day, 0.0, 1).is_none());
        assert_eq!(growth(&weekly(8, |week| 1000.0 + week as f64), 0.0, 1).unwrap().samples, 8);
    }

    #[test]
    fn what_does_not_grow_is_never_full() {
        let found = growth(&weekly(20, |_| 1000.0), 0.0, 1).unwrap();
        assert_eq!(found.days_until_full, None);
        assert!(found.why_no_date.contains("does not grow"));
        let full = growth(&weekly(20, |_| 2100.0), 0.0, 1).unwrap();
        assert_eq!(full.days_until_full, Some(0.0));
    }

    #[test]
    fn the_band_holds_the_truth_as_often_as_it_says() {
        // 200 histories of 26 weeks, 0.5 % a week, noise of 2 %.
        let truth = (1.005_f64.powf(365.25 / 7.0) - 1.0) * 100.0;
        let mut inside = 0;
        for seed in 0..200 {
            let mut random = Random(seed * 7919);
            let mut noise =
                || (0..12).map(|_| random.next() as f64 / u64::MAX as f64).sum::<f64>() - 6.0;
            let values: Vec<f64> = (0..26)
                .map(|week| 1000.0 * 1.005_f64.powi(week) * (0.02 * noise()).exp())
                .collect();
            let band =
                growth(&weekly(26, |week| values[week as usize]), 0.0, seed).unwrap().pct_per_year;
            inside += i32::from(band.low <= truth && truth <= band.high);
        }
        assert!((166..=196).contains(&inside), "{inside} of 200 for a nominal 90 %");
    }
}
