//! Aligned sums: what the matched VMs did together, for `plimsoll-demand`.
//!
//! All series are brought to one grain, the longest interval (up to 2 hours) that at least one VM in
//! twenty has; finer series are averaged where at least half of a grain is there. VMs with coarser
//! data alone, or with less than half of the period, are left to their class. In an interval that
//! counts, at least half of the VMs were measured; one that is missing stands at its own mean, and
//! coverage says how many cells were measured. Then the percentile is taken of the sum.

use std::collections::BTreeMap;

use plimsoll_demand::{AlignedSum, MeasuredLoad, MeasuredVm, VmRate};
use plimsoll_ingest::Severity;
use plimsoll_inventory::{Exclusion, Inventory, VmId};

use crate::finish::pair_up;
use crate::report::{Kind, Report};
use crate::survey::Survey;
use crate::types::{EntityId, Match, Metric, Sample, Statistic};

/// Coarser series say nothing about peaks.
const COARSEST_S: u32 = 7_200;
/// Intervals of a period at most; bogus dates would stretch it.
const MOST_SLOTS: usize = 1_000_000;
/// Average over time as a share of the 95th percentile, as the classes assume where only one of the
/// two is known, and the deviation of a lognormal with that share, as a share of the mean.
const AVERAGE_OF_PEAK: f64 = 0.7;
const DEVIATION_OF_MEAN: f64 = 0.236_6;

const LEFT_OUT: Kind = Kind {
    code: "vm-measured-too-little",
    severity: Severity::Warning,
    expected: "at least half of the period at the common grain, and both reads and writes or their total",
    action: "left to the load of its class",
};
const NOT_COUNTED: Kind = Kind {
    code: "vm-measured-but-excluded",
    severity: Severity::Note,
    expected: "VMs that cause load: no templates, no powered-off VMs",
    action: "its measurements were not used",
};
const ALIGNED: Kind = Kind {
    code: "aligned-sum",
    severity: Severity::Note,
    expected: "the percentile of the sum over aligned intervals; peaks and percentiles of VMs are never added",
    action: "used in the place of class defaults",
};
const UNALIGNED: Kind = Kind {
    code: "statistics-without-time",
    severity: Severity::Warning,
    expected: "series: statistics of VMs do not say whether VMs peak together",
    action: "means were added; the percentile of the sum follows from the assumed swing and correlation; peaks were not used",
};
const CUT: Kind = Kind {
    code: "period-too-long",
    severity: Severity::Warning,
    expected: "a period of at most a million intervals; check for wrong dates",
    action: "the last million intervals were used",
};

/// What of the inventory counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LoadOptions {
    /// Powered-off VMs cause load, as in the options of the demand.
    pub include_powered_off: bool,
}

/// The measured load of an inventory's VMs; `None` when nothing was measured. What was decided on the
/// way is added to the survey's problems.
pub fn load(
    survey: &mut Survey,
    inventory: &Inventory,
    options: LoadOptions,
) -> Option<MeasuredLoad> {
    let mut report = Report::default();
    let measured = make(survey, inventory, options, &mut report);
    survey.problems.append(report.into_problems());
    measured
}

/// Series of one VM by their intervals, the coarsest first.
type Lines = Vec<(u32, Vec<Sample>)>;

fn make(
    survey: &Survey,
    inventory: &Inventory,
    options: LoadOptions,
    report: &mut Report,
) -> Option<MeasuredLoad> {
    let vm_of = counted(survey, inventory, options, report);
    let name = |vm: VmId| inventory.vms[vm.0 as usize].name.to_string();
    let iops = lines(survey, &vm_of, [Metric::TotalIops, Metric::ReadIops, Metric::WriteIops]);
    let mibps = lines(survey, &vm_of, [Metric::TotalMibps, Metric::ReadMibps, Metric::WriteMibps]);
    let iops = align(&iops, &name, report);
    let mibps = align(&mibps, &name, report);
    let reads = read_fractions(survey, &vm_of);
    let mut vms: BTreeMap<VmId, MeasuredVm> = BTreeMap::new();
    let mut source = Vec::new();
    if let Some(aligned) = &iops {
        for (&vm, &rate) in &aligned.rates {
            let mibps = mibps.as_ref().and_then(|mibps| mibps.rates.get(&vm)).copied();
            let read_fraction = reads.get(&vm).copied();
            vms.insert(vm, MeasuredVm { vm, iops: rate, mibps, read_fraction });
        }
        report.tell(ALIGNED, "", words(&aligned.sum, "IOPS"));
        if let Some(mibps) = &mibps {
            report.tell(ALIGNED, "", words(&mibps.sum, "MiB/s"));
        }
        source.push(period(&aligned.sum, aligned.first_s));
    }
    let before = vms.len();
    add_summaries(survey, &vm_of, &mut vms);
    if vms.len() > before {
        let added = vms.len() - before;
        report.tell(UNALIGNED, "", format!("{added} VMs"));
        source.push(format!("statistics of {added} VMs without times"));
    }
    if vms.is_empty() {
        return None;
    }
    let files: Vec<&str> = survey.files.iter().map(|file| file.name.as_str()).collect();
    source.push(format!("from {}", files.join(", ")));
    let keep = |aligned: Option<Aligned>| aligned.map(|aligned| aligned.sum);
    Some(MeasuredLoad {
        vms: vms.into_values().collect(),
        iops: keep(iops),
        mibps: keep(mibps),
        source: source.join("; "),
    })
}

/// VMs of the inventory that count, by the objects of the files.
fn counted(
    survey: &Survey,
    inventory: &Inventory,
    options: LoadOptions,
    report: &mut Report,
) -> BTreeMap<EntityId, VmId> {
    let mut vm_of = BTreeMap::new();
    for (at, (entity, found)) in (0_u32..).zip(survey.entities.iter().zip(&survey.matches)) {
        let Match::Vm(vm, _) = found else { continue };
        let counts = match inventory.vms.get(vm.0 as usize).map(|vm| vm.exclusion) {
            Some(None) => true,
            Some(Some(Exclusion::PoweredOff)) => options.include_powered_off,
            _ => false,
        };
        if counts {
            vm_of.insert(EntityId(at), *vm);
        } else {
            let file = survey.files.get(entity.file as usize).map_or("", |file| &file.name);
            report.note(NOT_COUNTED, file, Some(entity.row), "", || entity.name.clone());
        }
    }
    vm_of
}

/// Totals of each VM: as stated, else reads and writes where both are there.
fn lines(
    survey: &Survey,
    vm_of: &BTreeMap<EntityId, VmId>,
    [total, read, write]: [Metric; 3],
) -> BTreeMap<VmId, Lines> {
    type Found<'a> = [Option<&'a [Sample]>; 3];
    let mut found: BTreeMap<(VmId, u32), Found<'_>> = BTreeMap::new();
    for series in &survey.series {
        let Some(vm) = vm_of.get(&series.entity) else { continue };
        let Some(place) = [total, read, write].iter().position(|m| *m == series.metric) else {
            continue;
        };
        found.entry((*vm, series.interval_s)).or_default()[place] = Some(&series.samples);
    }
    let mut lines: BTreeMap<VmId, Lines> = BTreeMap::new();
    for ((vm, interval_s), [total, read, write]) in found.into_iter().rev() {
        let samples = match (read.zip(write), total) {
            (Some((read, write)), _) => pair_up(read, write, |read, write| read + write),
            (None, Some(total)) => total.to_vec(),
            (None, None) => Vec::new(),
        };
        lines.entry(vm).or_default().push((interval_s, samples));
    }
    lines
}

struct Aligned {
    rates: BTreeMap<VmId, VmRate>,
    sum: AlignedSum,
    /// Start of the first interval.
    first_s: u32,
}

fn align(
    lines: &BTreeMap<VmId, Lines>,
    name: &impl Fn(VmId) -> String,
    report: &mut Report,
) -> Option<Aligned> {
    let grain_s = grain(lines)?;
    let fits = || {
        lines
            .values()
            .flatten()
            .filter(|(interval_s, _)| *interval_s <= grain_s)
            .map(|(_, samples)| samples)
    };
    let first = fits().filter_map(|samples| Some(samples.first()?.at_s / grain_s)).min()?;
    let last = fits().filter_map(|samples| Some(samples.last()?.at_s / grain_s)).max()?;
    let mut slots = (last - first) as usize + 1;
    let mut first = first;
    if slots > MOST_SLOTS {
        report.note(CUT, "", None, "", || format!("{slots} intervals of {grain_s} s"));
        first += u32::try_from(slots - MOST_SLOTS).unwrap_or(0);
        slots = MOST_SLOTS;
    }
    let mut cells = vec![f32::NAN; slots];
    let mut sums = vec![0.0_f64; slots];
    let mut present = vec![0_u32; slots];
    let mut rates = BTreeMap::new();
    for (&vm, lines) in lines {
        to_cells(lines, grain_s, first, &mut cells);
        let Some(rate) = rate_of(&cells) else {
            report.note(LEFT_OUT, "", None, "", || name(vm));
            continue;
        };
        for ((cell, sum), present) in cells.iter().zip(&mut sums).zip(&mut present) {
            if cell.is_nan() {
                *sum += rate.mean;
            } else {
                *sum += f64::from(*cell);
                *present += 1;
            }
        }
        rates.insert(vm, rate);
    }
    let vms = rates.len();
    let counts = |present: u32| 2 * present as usize >= vms && present > 0;
    let mut of_counting: Vec<f64> =
        sums.iter().zip(&present).filter(|(_, p)| counts(**p)).map(|(sum, _)| *sum).collect();
    let measured: u64 = present.iter().filter(|p| counts(**p)).map(|p| u64::from(*p)).sum();
    if vms == 0 || of_counting.is_empty() {
        return None;
    }
    let intervals = of_counting.len();
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let (count, cells_of_sum) = (intervals as f64, (intervals * vms) as f64);
    let mean = of_counting.iter().sum::<f64>() / count;
    let variance = of_counting.iter().map(|sum| (sum - mean).powi(2)).sum::<f64>() / count;
    of_counting.sort_by(f64::total_cmp);
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let coverage = measured as f64 / cells_of_sum;
    Some(Aligned {
        rates,
        sum: AlignedSum {
            mean,
            p95: percentile(&of_counting, 0.95),
            peak: of_counting.last().copied().unwrap_or(mean),
            deviation: variance.sqrt(),
            interval_s: grain_s,
            intervals: intervals as u64,
            coverage,
            vms: vms as u64,
        },
        first_s: first * grain_s,
    })
}

/// The longest interval up to 2 hours that at least one VM in twenty has.
fn grain(lines: &BTreeMap<VmId, Lines>) -> Option<u32> {
    let mut with: BTreeMap<u32, usize> = BTreeMap::new();
    for (interval_s, samples) in lines.values().flatten() {
        if !samples.is_empty() && (1..=COARSEST_S).contains(interval_s) {
            *with.entry(*interval_s).or_insert(0) += 1;
        }
    }
    let enough = |count: &usize| 20 * count >= lines.len();
    with.iter()
        .rev()
        .find(|(_, count)| enough(count))
        .or(with.iter().next_back())
        .map(|(grain, _)| *grain)
}

/// One VM's intervals at the grain; NaN where there is none. The coarsest series that fits counts.
fn to_cells(lines: &Lines, grain_s: u32, first: u32, cells: &mut [f32]) {
    cells.fill(f32::NAN);
    for (interval_s, samples) in lines.iter().filter(|(interval_s, _)| *interval_s <= grain_s) {
        let needed = f64::from(grain_s) / f64::from(*interval_s) / 2.0;
        for group in samples.chunk_by(|one, two| one.at_s / grain_s == two.at_s / grain_s) {
            let Some(slot) = (group[0].at_s / grain_s).checked_sub(first) else { continue };
            let Some(cell) = cells.get_mut(slot as usize).filter(|cell| cell.is_nan()) else {
                continue;
            };
            #[expect(clippy::cast_precision_loss, reason = "a few samples")]
            let count = group.len() as f64;
            if count >= needed {
                let sum: f64 = group.iter().map(|sample| f64::from(sample.value)).sum();
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "24 bits are more than counters are exact to"
                )]
                {
                    *cell = (sum / count) as f32;
                }
            }
        }
    }
}

/// Statistics of one VM; `None` when less than half of the period is there.
fn rate_of(cells: &[f32]) -> Option<VmRate> {
    let mut values: Vec<f64> =
        cells.iter().filter(|cell| !cell.is_nan()).map(|cell| f64::from(*cell)).collect();
    if values.is_empty() || 2 * values.len() < cells.len() {
        return None;
    }
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    values.sort_by(f64::total_cmp);
    Some(VmRate { mean, p95: percentile(&values, 0.95), deviation: variance.sqrt() })
}

/// Quantile of sorted values, linear between neighbours (Hyndman and Fan's type 7).
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
    let place = share.clamp(0.0, 1.0) * last as f64;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the last index"
    )]
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}

/// Share of reads over the whole period.
fn read_fractions(survey: &Survey, vm_of: &BTreeMap<EntityId, VmId>) -> BTreeMap<VmId, f64> {
    let mut sums: BTreeMap<VmId, [f64; 2]> = BTreeMap::new();
    for series in &survey.series {
        let place = match series.metric {
            Metric::ReadIops => 0,
            Metric::WriteIops => 1,
            _ => continue,
        };
        if let Some(vm) = vm_of.get(&series.entity) {
            let operations: f64 = series.samples.iter().map(|s| f64::from(s.value)).sum();
            sums.entry(*vm).or_default()[place] += operations * f64::from(series.interval_s);
        }
    }
    sums.into_iter()
        .filter(|(_, [read, write])| read + write > 0.0)
        .map(|(vm, [read, write])| (vm, read / (read + write)))
        .collect()
}

/// VMs that have statistics only: a mean, else a 95th percentile with the classes' share of it.
fn add_summaries(
    survey: &Survey,
    vm_of: &BTreeMap<EntityId, VmId>,
    vms: &mut BTreeMap<VmId, MeasuredVm>,
) {
    let mut found: BTreeMap<VmId, BTreeMap<(Metric, Statistic), f64>> = BTreeMap::new();
    for summary in &survey.summaries {
        if let Some(vm) = vm_of.get(&summary.entity)
            && !vms.contains_key(vm)
        {
            // Several rows of a VM: one for each datastore in a script's report; means add up.
            let entry = found.entry(*vm).or_default();
            *entry.entry((summary.metric, summary.statistic)).or_insert(0.0) += summary.value;
        }
    }
    for (vm, values) in found {
        let get = |metric, statistic| values.get(&(metric, statistic)).copied();
        let total = |[total, read, write]: [Metric; 3], statistic| {
            get(total, statistic).or_else(|| Some(get(read, statistic)? + get(write, statistic)?))
        };
        let rate = |metrics: [Metric; 3]| {
            let mean = total(metrics, Statistic::Mean);
            let p95 = total(metrics, Statistic::P95);
            let mean_of = mean.or(p95.map(|p95| p95 * AVERAGE_OF_PEAK))?;
            let p95 = p95.unwrap_or(mean_of / AVERAGE_OF_PEAK);
            Some(VmRate { mean: mean_of, p95, deviation: mean_of * DEVIATION_OF_MEAN })
        };
        let Some(iops) = rate([Metric::TotalIops, Metric::ReadIops, Metric::WriteIops]) else {
            continue;
        };
        let mibps = rate([Metric::TotalMibps, Metric::ReadMibps, Metric::WriteMibps]);
        let of = |statistic| {
            let (read, write) =
                (get(Metric::ReadIops, statistic)?, get(Metric::WriteIops, statistic)?);
            (read + write > 0.0).then(|| read / (read + write))
        };
        let read_fraction = of(Statistic::Mean).or_else(|| of(Statistic::P95));
        vms.insert(vm, MeasuredVm { vm, iops, mibps, read_fraction });
    }
}

fn words(sum: &AlignedSum, unit: &str) -> String {
    format!(
        "{unit}: 95th percentile of the sum {:.1}, mean {:.1}, highest {:.1}; {} VMs, {} intervals of {} s, coverage {:.1} %",
        sum.p95,
        sum.mean,
        sum.peak,
        sum.vms,
        sum.intervals,
        sum.interval_s,
        sum.coverage * 100.0
    )
}

fn period(sum: &AlignedSum, first_s: u32) -> String {
    let day = jiff::Timestamp::from_second(i64::from(first_s))
        .map(|at| at.to_string())
        .unwrap_or_default();
    format!(
        "series of {} VMs, {} intervals of {} s from {day}",
        sum.vms, sum.intervals, sum.interval_s
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(start: u32, interval: u32, values: &[f32]) -> (u32, Vec<Sample>) {
        let samples =
            (0_u32..).zip(values).map(|(i, v)| Sample { at_s: start + i * interval, value: *v });
        (interval, samples.collect())
    }

    fn aligned(lines: Vec<Lines>) -> Aligned {
        let lines = (0_u32..).map(VmId).zip(lines).collect();
        align(&lines, &|vm| vm.0.to_string(), &mut Report::default())
            .unwrap_or_else(|| panic!("nothing aligned"))
    }

    #[test]
    fn peaks_that_do_not_meet_are_not_added() {
        // Each VM peaks at 100 once, at different times: the sum never exceeds 110.
        let one = series(0, 300, &[100.0, 10.0, 10.0, 10.0]);
        let two = series(0, 300, &[10.0, 10.0, 10.0, 100.0]);
        let found = aligned(vec![vec![one], vec![two]]);
        assert_eq!(found.sum.peak, 110.0);
        assert!(found.sum.p95 <= 110.0);
        assert_eq!((found.sum.mean, found.sum.coverage), (65.0, 1.0));
        // numpy.percentile([110, 20, 20, 110], 95) = 110
        assert_eq!(found.sum.p95, 110.0);
    }

    #[test]
    fn finer_series_are_averaged_to_the_common_grain() {
        let coarse = series(0, 7200, &[10.0, 20.0]);
        let fine = series(0, 300, &[6.0; 48]);
        let found = aligned(vec![vec![coarse], vec![fine]]);
        assert_eq!((found.sum.interval_s, found.sum.intervals), (7200, 2));
        assert_eq!((found.sum.mean, found.sum.peak), (21.0, 26.0));
    }

    #[test]
    fn a_missing_interval_stands_at_the_mean_and_is_told() {
        let whole = series(0, 300, &[10.0, 20.0, 30.0, 20.0]);
        let (interval, mut samples) = series(0, 300, &[1.0, 9.0, 3.0, 2.0]);
        samples.remove(1);
        let found = aligned(vec![vec![whole], vec![(interval, samples)]]);
        assert_eq!(found.sum.coverage, 7.0 / 8.0);
        // 11, 20 + 2 (the mean of 1, 3, 2), 33, 22
        assert_eq!((found.sum.mean, found.sum.peak), (22.0, 33.0));
    }

    #[test]
    fn too_little_of_the_period_is_left_out() {
        let found =
            aligned(vec![vec![series(0, 300, &[1.0; 10])], vec![series(0, 300, &[5.0; 3])]]);
        assert_eq!(found.sum.vms, 1);
    }

    #[test]
    fn daily_means_do_not_hide_the_peaks_of_the_others() {
        let mut vms = vec![vec![series(0, 300, &[1.0; 600])]; 3];
        vms.push(vec![series(0, 86_400, &[1.0; 2])]);
        assert_eq!(aligned(vms).sum.interval_s, 300);
    }

    #[test]
    fn percentiles_are_linear_between_neighbours() {
        // numpy.percentile([1, 2, 3, 4], 95) = 3.85
        assert!((percentile(&[1.0, 2.0, 3.0, 4.0], 0.95) - 3.85).abs() < 1e-12);
        assert_eq!(percentile(&[7.0], 0.95), 7.0);
    }

    #[test]
    fn deviation_of_a_lognormal_with_the_assumed_share() {
        let z = 1.644_853_626_951_472_2_f64;
        let swing = z - (z * z + 2.0 * AVERAGE_OF_PEAK.ln()).sqrt();
        let deviation = (swing * swing).exp_m1().sqrt();
        assert!((deviation - DEVIATION_OF_MEAN).abs() < 1e-3, "{deviation}");
    }
}
