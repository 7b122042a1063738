//! Raw samples to series: order, clock changes, growing counters, instances, layers.
//!
//! - A second pass of an hour that happens twice is told by time going back in the file's order.
//! - Of samples of one time the first counts.
//! - A counter that falls was reset: that interval has no value. A step longer than three usual ones
//!   is a gap, not a mean.
//! - Instances of a rate are added, of a latency the highest counts. Where the file also has the
//!   object as a whole, that counts alone.
//! - The same I/O seen at several layers (virtual disk, datastore, device) counts once, at the
//!   highest.

use std::collections::BTreeMap;

use plimsoll_ingest::Severity;

use crate::catalog::{Kind, Stamp, catalog};
use crate::collect::{Collector, Raw};
use crate::report::{Kind as Note, Report};
use crate::survey::Survey;
use crate::types::{Dimension, EntityId, Match, Metric, Sample, Series};

const REPEATED: Note = Note {
    code: "sample-repeated",
    severity: Severity::Warning,
    expected: "one value for each object, counter and time; local times repeat an hour when clocks go back",
    action: "the first was kept; state the time zone of the export if clocks changed in it",
};
const FOLDED: Note = Note {
    code: "clocks-went-back",
    severity: Severity::Note,
    expected: "local times: one hour of this week happened twice",
    action: "the second pass was told by the order of the file and put an hour later",
};
const RESET: Note = Note {
    code: "counter-reset",
    severity: Severity::Note,
    expected: "a counter that grows; it fell, as after a restart",
    action: "the interval has no value",
};
const GAPS: Note = Note {
    code: "series-gaps",
    severity: Severity::Note,
    expected: "a sample for each interval from the first to the last",
    action: "missing is not zero: coverage says how much there is",
};
const ONE_SAMPLE: Note = Note {
    code: "series-too-short",
    severity: Severity::Warning,
    expected: "two samples or a stated interval: one sample does not tell its length",
    action: "left out",
};
const LAYERS: Note = Note {
    code: "same-io-at-another-layer",
    severity: Severity::Note,
    expected: "each I/O counted once: virtual disk before datastore before device",
    action: "left out in favour of the other layer",
};
const INSTANCE_MISSING: Note = Note {
    code: "instance-missing",
    severity: Severity::Note,
    expected: "samples of all disks of an object at each time",
    action: "the sum is of those that are there",
};
const GRAIN: Note = Note {
    code: "series-grain",
    severity: Severity::Note,
    expected: "short intervals: a mean over 2 hours hides the peaks that a mean over 5 minutes shows",
    action: "series of different lengths are brought to the longest that they share",
};

/// A series of fewer samples takes the interval of its file: gaps would be taken for it.
const TELLING_SAMPLES: usize = 5;

/// Makes the survey of what was collected.
pub(crate) fn finish(out: Collector, matches: Vec<Match>) -> Survey {
    let Collector {
        files, entities, mut raw, instances, summaries, benchmarks, mut report, ..
    } = out;
    let canonical = canonical(&entities, &matches);
    raw.sort_by_key(|raw| {
        let counter = &catalog().counters[usize::from(raw.counter)];
        (
            canonical[raw.entity.0 as usize],
            counter.metric,
            counter.layer,
            raw.counter,
            raw.interval_s,
            raw.instance,
            raw.file,
        )
    });
    let usual = usual_of_files(&raw);
    let mut series: Vec<Series> = Vec::new();
    let mut whole: Vec<(u32, Vec<Sample>)> = Vec::new();
    let mut raws = raw.into_iter().peekable();
    let mut chosen: Option<(EntityId, Metric, u16)> = None;
    while let Some(first) = raws.next() {
        let entity = canonical[first.entity.0 as usize];
        let metric = catalog().counters[usize::from(first.counter)].metric;
        let file = files.get(first.file as usize).map_or("", |file| file.name.as_str());
        if let Some((of, same, counter)) = chosen
            && of == entity
            && same == metric
            && counter != first.counter
        {
            let name = || entities[entity.0 as usize].name.clone();
            report.note(LAYERS, file, None, &format!("{metric:?}"), name);
            continue;
        }
        let (counter, interval) = (first.counter, first.interval_s);
        let mut parts = vec![first];
        while let Some(next) = raws.next_if(|next| {
            canonical[next.entity.0 as usize] == entity
                && next.counter == counter
                && next.interval_s == interval
        }) {
            parts.push(next);
        }
        whole.clear();
        let mut interval_s = interval;
        for part in parts {
            let file = files.get(part.file as usize).map_or("", |file| file.name.as_str());
            let instance = part.instance;
            let Some((length, samples)) = clean(part, file, &usual, &mut report) else { continue };
            interval_s = interval_s.max(length);
            match whole.last_mut() {
                Some((same, earlier)) if *same == instance => {
                    earlier.extend(samples);
                    let repeated = order(earlier);
                    report.note_times(REPEATED, file, None, "", repeated, String::new);
                }
                _ => whole.push((instance, samples)),
            }
        }
        let samples = together(&mut whole, metric, interval_s, file, &instances, &mut report);
        if samples.is_empty() {
            continue;
        }
        chosen = Some((entity, metric, counter));
        series.push(Series { entity, metric, interval_s, samples });
    }
    used_from_free(&mut series);
    say_gaps_and_grains(&series, &mut report);
    let summaries = summaries
        .into_iter()
        .map(|mut summary| {
            summary.entity = canonical[summary.entity.0 as usize];
            summary
        })
        .collect();
    Survey {
        files,
        entities,
        matches,
        series,
        summaries,
        benchmarks,
        problems: report.into_problems(),
    }
}

/// For each object the first that is the same: one object of the inventory, or one naming.
fn canonical(entities: &[crate::types::Entity], matches: &[Match]) -> Vec<EntityId> {
    let mut seen: BTreeMap<String, EntityId> = BTreeMap::new();
    (0_u32..)
        .zip(entities)
        .zip(matches)
        .map(|((at, entity), found)| {
            let key = match found {
                Match::Vm(vm, _) => format!("vm {}", vm.0),
                Match::Datastore(store) => format!("store {}", store.0),
                _ => format!(
                    "{:?} {} {:?} {:?} {:?}",
                    entity.kind, entity.name, entity.uuid, entity.id, entity.vcenter
                ),
            };
            *seen.entry(key).or_insert(EntityId(at))
        })
        .collect()
}

/// Samples in order, by the start of their intervals, and the length of these.
fn clean(
    raw: Raw,
    file: &str,
    usual: &BTreeMap<u32, u32>,
    report: &mut Report,
) -> Option<(u32, Vec<Sample>)> {
    let Raw { counter, interval_s, stamp, mut samples, folds, file: of, .. } = raw;
    let moved = unfold(&mut samples, &folds);
    report.note_times(FOLDED, file, None, "", moved, String::new);
    let repeated = order(&mut samples);
    report.note_times(REPEATED, file, None, "", repeated, String::new);
    let interval_s = match interval_s {
        0 => usual_step(&samples)
            .filter(|_| samples.len() >= TELLING_SAMPLES)
            .or_else(|| usual.get(&of).copied())
            .unwrap_or(0),
        stated => stated,
    };
    if interval_s == 0 {
        report.note(ONE_SAMPLE, file, None, "", String::new);
        return None;
    }
    if catalog().counters[usize::from(counter)].kind == Kind::Total {
        let (rates, resets) = rates(&samples, interval_s);
        report.note_times(RESET, file, None, "", resets, String::new);
        samples = rates;
    } else if stamp == Stamp::End {
        for sample in &mut samples {
            sample.at_s = sample.at_s.saturating_sub(interval_s);
        }
    }
    samples.shrink_to_fit();
    Some((interval_s, samples))
}

/// Moves the second pass of hours that happen twice; the number of samples moved.
fn unfold(samples: &mut [Sample], folds: &[(u32, u16)]) -> u64 {
    if folds.is_empty() {
        return 0;
    }
    let is_descending =
        samples.first().zip(samples.last()).is_some_and(|(first, last)| first.at_s > last.at_s);
    let mut moved = 0;
    let mut last: Option<(u32, u32)> = None;
    let mut is_second = false;
    let mut visit = |&(index, later): &(u32, u16)| {
        let Some(sample) = samples.get_mut(index as usize) else { return };
        let at = sample.at_s;
        match last {
            // Another year's change.
            Some((_, before)) if at.abs_diff(before) > 2 * u32::from(later) => is_second = false,
            Some((_, before)) if at <= before => is_second = true,
            _ => {}
        }
        last = Some((index, at));
        if is_second {
            sample.at_s = at + u32::from(later);
            moved += 1;
        }
    };
    if is_descending {
        folds.iter().rev().for_each(&mut visit);
    } else {
        folds.iter().for_each(&mut visit);
    }
    moved
}

/// Orders by time and keeps the first of each; the number left out.
fn order(samples: &mut Vec<Sample>) -> u64 {
    if !samples.is_sorted_by_key(|sample| sample.at_s) {
        samples.sort_by_key(|sample| sample.at_s);
    }
    let before = samples.len();
    samples.dedup_by_key(|sample| sample.at_s);
    (before - samples.len()) as u64
}

/// Interval of each file that states none: the step that most of its series have.
fn usual_of_files(raw: &[Raw]) -> BTreeMap<u32, u32> {
    let mut counts: BTreeMap<u32, BTreeMap<u32, usize>> = BTreeMap::new();
    for raw in raw.iter().filter(|raw| raw.interval_s == 0) {
        if let Some(step) = usual_step(&raw.samples).filter(|step| *step > 0) {
            *counts.entry(raw.file).or_default().entry(step).or_insert(0) += 1;
        }
    }
    // Of steps that are as common the shortest: gaps only lengthen them.
    let most =
        |steps: BTreeMap<u32, usize>| steps.into_iter().rev().max_by_key(|(_, count)| *count);
    counts.into_iter().filter_map(|(file, steps)| Some((file, most(steps)?.0))).collect()
}

/// Median step between samples that follow each other, in any direction.
fn usual_step(samples: &[Sample]) -> Option<u32> {
    let mut steps: Vec<u32> =
        samples.windows(2).map(|pair| pair[1].at_s.abs_diff(pair[0].at_s)).collect();
    if steps.is_empty() {
        return None;
    }
    let middle = steps.len() / 2;
    let (_, median, _) = steps.select_nth_unstable(middle);
    Some(*median)
}

/// Rates of a growing counter, and how often it was reset.
fn rates(samples: &[Sample], interval_s: u32) -> (Vec<Sample>, u64) {
    let mut resets = 0;
    let mut rates = Vec::with_capacity(samples.len());
    for pair in samples.windows(2) {
        let step_s = pair[1].at_s - pair[0].at_s;
        if pair[1].value < pair[0].value {
            resets += 1;
        } else if step_s <= 3 * interval_s {
            #[expect(clippy::cast_precision_loss, reason = "a step of seconds")]
            let value = (pair[1].value - pair[0].value) / step_s as f32;
            rates.push(Sample { at_s: pair[0].at_s, value });
        }
    }
    (rates, resets)
}

/// All instances of an object as one.
fn together(
    whole: &mut Vec<(u32, Vec<Sample>)>,
    metric: Metric,
    interval_s: u32,
    file: &str,
    instances: &[String],
    report: &mut Report,
) -> Vec<Sample> {
    if let Some(at) =
        whole.iter().position(|(instance, samples)| *instance == 0 && !samples.is_empty())
    {
        return whole.swap_remove(at).1;
    }
    if whole.len() == 1 {
        return whole.pop().map(|(_, samples)| samples).unwrap_or_default();
    }
    let mut sums: BTreeMap<u32, (f64, u32)> = BTreeMap::new();
    let mut missing = 0_u64;
    for (_, samples) in whole.iter() {
        if let (Some(first), Some(last)) = (samples.first(), samples.last()) {
            let expected = u64::from((last.at_s - first.at_s) / interval_s.max(1)) + 1;
            missing += expected.saturating_sub(samples.len() as u64);
        }
        for sample in samples {
            let (sum, count) = sums.entry(sample.at_s).or_insert((0.0, 0));
            let value = f64::from(sample.value);
            *sum = if metric.dimension() == Dimension::Latency {
                sum.max(value)
            } else {
                *sum + value
            };
            *count += 1;
        }
    }
    let name =
        || whole.first().and_then(|(i, _)| instances.get(*i as usize).cloned()).unwrap_or_default();
    report.note_times(INSTANCE_MISSING, file, None, "", missing, name);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "24 bits are more than counters are exact to"
    )]
    sums.into_iter().map(|(at_s, (sum, _))| Sample { at_s, value: sum as f32 }).collect()
}

/// Used space where only free space and capacity are known.
fn used_from_free(series: &mut Vec<Series>) {
    let mut made = Vec::new();
    for free in series.iter().filter(|series| series.metric == Metric::FreeMib) {
        let of = |metric| {
            series.iter().find(move |s: &&Series| s.entity == free.entity && s.metric == metric)
        };
        if of(Metric::UsedMib).is_some() {
            continue;
        }
        let Some(capacity) = of(Metric::CapacityMib) else { continue };
        let samples =
            pair_up(&free.samples, &capacity.samples, |free, capacity| (capacity - free).max(0.0));
        made.push(Series {
            entity: free.entity,
            metric: Metric::UsedMib,
            interval_s: free.interval_s,
            samples,
        });
    }
    series.extend(made);
}

/// Values of times that both have.
pub(crate) fn pair_up(
    one: &[Sample],
    two: &[Sample],
    join: impl Fn(f32, f32) -> f32,
) -> Vec<Sample> {
    let mut other = two.iter().peekable();
    let mut out = Vec::with_capacity(one.len().min(two.len()));
    for sample in one {
        while other.next_if(|o| o.at_s < sample.at_s).is_some() {}
        if let Some(same) = other.next_if(|o| o.at_s == sample.at_s) {
            out.push(Sample { at_s: sample.at_s, value: join(sample.value, same.value) });
        }
    }
    out
}

fn say_gaps_and_grains(series: &[Series], report: &mut Report) {
    let (mut expected, mut present, mut with_gaps) = (0_u64, 0_u64, 0_u64);
    let mut grains: BTreeMap<u32, u64> = BTreeMap::new();
    for one in series {
        let (Some(first), Some(last)) = (one.samples.first(), one.samples.last()) else { continue };
        let should = u64::from((last.at_s - first.at_s) / one.interval_s) + 1;
        let is = one.samples.len() as u64;
        expected += should.max(is);
        present += is;
        with_gaps += u64::from(is < should);
        *grains.entry(one.interval_s).or_insert(0) += 1;
    }
    if with_gaps > 0 {
        let missing = expected - present;
        report.tell(
            GAPS,
            "",
            format!(
                "{missing} of {expected} intervals missing, in {with_gaps} of {} series",
                series.len()
            ),
        );
    }
    if !grains.is_empty() {
        let list: Vec<String> =
            grains.iter().map(|(seconds, count)| format!("{seconds} s: {count} series")).collect();
        report.tell(GRAIN, "", list.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(times: &[(u32, f32)]) -> Vec<Sample> {
        times.iter().map(|&(at_s, value)| Sample { at_s, value }).collect()
    }

    #[test]
    fn the_second_pass_of_an_hour_is_told_by_the_order() {
        // 5 steps of 30 minutes: 0, 30 | 0, 30 (second) | 60
        let mut up = at(&[(0, 1.0), (1800, 2.0), (0, 3.0), (1800, 4.0), (7200, 5.0)]);
        let folds = [(0, 3600), (1, 3600), (2, 3600), (3, 3600)];
        assert_eq!(unfold(&mut up, &folds), 2);
        order(&mut up);
        assert_eq!(up, at(&[(0, 1.0), (1800, 2.0), (3600, 3.0), (5400, 4.0), (7200, 5.0)]));
        let mut down = at(&[(7200, 5.0), (1800, 4.0), (0, 3.0), (1800, 2.0), (0, 1.0)]);
        assert_eq!(unfold(&mut down, &[(1, 3600), (2, 3600), (3, 3600), (4, 3600)]), 2);
        order(&mut down);
        assert_eq!(down, up);
    }

    #[test]
    fn a_counter_that_falls_was_reset_and_a_long_step_is_a_gap() {
        let samples = at(&[(0, 100.0), (60, 700.0), (120, 60.0), (180, 120.0), (600, 1000.0)]);
        let (rates, resets) = rates(&samples, 60);
        assert_eq!((rates, resets), (at(&[(0, 10.0), (120, 1.0)]), 1));
    }

    #[test]
    fn pairs_need_both() {
        let sum = pair_up(&at(&[(0, 1.0), (2, 2.0)]), &at(&[(1, 1.0), (2, 5.0)]), |a, b| a + b);
        assert_eq!(sum, at(&[(2, 7.0)]));
    }
}
