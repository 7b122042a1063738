//! Measured load in the place of class defaults.
//!
//! VMs that were measured get classes of their own, one for each fourfold step of mean IOPS, so that
//! the plan's arithmetic over classes ([`crate::Demand::p95_of`]) holds for any part of them: the
//! class has the members' mean, their swing over time, and the correlation that the measured sum
//! shows. The total is the percentile of the measured sum itself; where only some VMs were measured,
//! the rest is added by the formula.

use plimsoll_inventory::VmId;
use plimsoll_units::EvidenceGrade;
use serde::{Deserialize, Serialize};

use crate::rules::ClassNumbers;
use crate::sum::Z95;

/// Swings of more than this have no lognormal with that mean under its 95th percentile.
const MOST_SWING: f64 = 1.6;

/// A rate of one VM over time: IOPS or MiB/s.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VmRate {
    /// Mean over the period.
    pub mean: f64,
    /// 95th percentile of its intervals.
    pub p95: f64,
    /// Standard deviation over time.
    pub deviation: f64,
}

/// One measured VM.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredVm {
    /// Which.
    pub vm: VmId,
    /// IOPS.
    pub iops: VmRate,
    /// MiB/s; the class default counts where it is missing.
    pub mibps: Option<VmRate>,
    /// Share of reads among its operations, 0-1.
    pub read_fraction: Option<f64>,
}

/// The sum over all measured VMs in aligned intervals.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct AlignedSum {
    /// Mean of the sum.
    pub mean: f64,
    /// 95th percentile of the sum.
    pub p95: f64,
    /// Highest interval of the sum.
    pub peak: f64,
    /// Standard deviation of the sum over time.
    pub deviation: f64,
    /// Length of an interval, seconds.
    pub interval_s: u32,
    /// Intervals that count.
    pub intervals: u64,
    /// Share of VM-intervals that were measured, 0-1; the others were taken at the VM's mean.
    pub coverage: f64,
    /// VMs in it.
    pub vms: u64,
}

/// What was measured of an inventory's VMs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLoad {
    /// VMs in inventory order, each once.
    pub vms: Vec<MeasuredVm>,
    /// Sum of IOPS over VMs with aligned samples.
    pub iops: Option<AlignedSum>,
    /// Sum of MiB/s.
    pub mibps: Option<AlignedSum>,
    /// Where it comes from, in words, with files and period.
    pub source: String,
}

/// Correlation over time between VMs that the variance of their sum shows, 0-1: what of it
/// independent swings do not explain, as a share of what common ones would.
pub(crate) fn correlation(sum: &AlignedSum, rates: impl Iterator<Item = VmRate>) -> f64 {
    let (mut variances, mut deviations) = (0.0, 0.0);
    for rate in rates {
        variances += rate.deviation * rate.deviation;
        deviations += rate.deviation;
    }
    let common = deviations * deviations - variances;
    if common <= 0.0 {
        return 0.0;
    }
    ((sum.deviation * sum.deviation - variances) / common).clamp(0.0, 1.0)
}

/// Which band of mean IOPS: 0 below 1, then one for each factor of 4.
pub(crate) fn band(mean_iops: f64) -> u32 {
    if mean_iops < 1.0 {
        return 0;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 512 for any f64"
    )]
    let band = (mean_iops.log2() / 2.0).floor() as u32;
    band.min(12) + 1
}

/// A member of a band: its rates, the mean MiB/s that counts for it, its class by rules.
pub(crate) struct Member<'a> {
    pub vm: &'a MeasuredVm,
    pub mibps_mean: f64,
    pub by_rules: &'a ClassNumbers,
}

/// The class of a band.
pub(crate) fn class(
    band: u32,
    members: &[Member<'_>],
    correlation: Option<f64>,
    source: &str,
) -> ClassNumbers {
    #[expect(clippy::cast_precision_loss, reason = "numbers of VMs stay far below 2^53")]
    let count = members.len().max(1) as f64;
    let sum = |value: &dyn Fn(&Member<'_>) -> f64| members.iter().map(value).sum::<f64>();
    let (iops, mibps) = (sum(&|m| m.vm.iops.mean), sum(&|m| m.mibps_mean));
    let squares = sum(&|m| m.vm.iops.mean.powi(2));
    let variances = sum(&|m| m.vm.iops.deviation.powi(2));
    // ln(1 + cv^2) is the variance of the logarithm of a lognormal.
    let swing =
        if squares > 0.0 { (variances / squares).ln_1p().sqrt().min(MOST_SWING) } else { 0.0 };
    let average_of_peak = (swing * swing / 2.0 - Z95 * swing).exp();
    let weighted = |value: &dyn Fn(&Member<'_>) -> f64, otherwise: f64| {
        if iops > 0.0 { sum(&|m| m.vm.iops.mean * value(m)) / iops } else { otherwise }
    };
    // The mean block of what was measured; without MiB/s of a VM, that of its class.
    let block_kib = weighted(
        &|m| match m.vm.mibps {
            Some(rate) if m.vm.iops.mean > 0.0 => rate.mean * 1024.0 / m.vm.iops.mean,
            _ => m.by_rules.block_kib,
        },
        8.0,
    );
    let (low, high) =
        if band == 0 { (0.0, 1.0) } else { (4_f64.powi(band as i32 - 1), 4_f64.powi(band as i32)) };
    ClassNumbers {
        id: format!("measured-{band}"),
        name: format!("Measured, {low:.0} to {high:.0} IOPS on average"),
        iops: iops / count / average_of_peak,
        mibps: mibps / count / average_of_peak,
        average_of_peak,
        shape: swing,
        correlation,
        read_fraction: weighted(&|m| m.vm.read_fraction.unwrap_or(m.by_rules.read_fraction), 0.7)
            .clamp(0.0, 1.0),
        block_kib: block_kib.clamp(0.5, 16_384.0),
        stream_block_kib: block_kib.clamp(0.5, 16_384.0),
        source: source.to_owned(),
        grade: EvidenceGrade::A,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(deviation: f64) -> AlignedSum {
        AlignedSum {
            mean: 0.0,
            p95: 0.0,
            peak: 0.0,
            deviation,
            interval_s: 300,
            intervals: 100,
            coverage: 1.0,
            vms: 4,
        }
    }

    #[test]
    fn correlation_of_independent_and_common_swings() {
        let rates = || [VmRate { mean: 10.0, p95: 15.0, deviation: 3.0 }; 4].into_iter();
        // Independent: sqrt(4) x 3. Common: 4 x 3. Half way in variance: sqrt((36 + 144) / 2).
        assert!(correlation(&sum(6.0), rates()).abs() < 1e-12);
        assert!((correlation(&sum(12.0), rates()) - 1.0).abs() < 1e-12);
        assert!((correlation(&sum(90_f64.sqrt()), rates()) - 0.5).abs() < 1e-12);
        assert_eq!(correlation(&sum(1.0), rates().take(1)), 0.0);
    }

    #[test]
    fn bands_step_by_four() {
        for (mean, expected) in
            [(0.0, 0), (0.9, 0), (1.0, 1), (3.9, 1), (4.0, 2), (64.0, 4), (1e30, 13)]
        {
            assert_eq!(band(mean), expected, "{mean}");
        }
    }
}
