//! What a demand takes for granted, each with its value, source and evidence.

use plimsoll_inventory::{Exclusion, Inventory};
use plimsoll_units::EvidenceGrade;

use crate::measured::{AlignedSum, MeasuredLoad};
use crate::sum::SIMULATE_BELOW;
use crate::types::{Assumption, Class, DemandOptions, Load};

/// Share of a total from which a class decides the overall grade.
const MATTERS: f64 = 0.05;

/// Figures of the whole that the cross-checks need.
pub(crate) struct Fleet {
    pub vms: u64,
    pub cpus: u64,
    pub used_gib: f64,
    pub load: Load,
}

/// All assumptions, in a fixed order.
pub(crate) fn list(
    inventory: &Inventory,
    options: &DemandOptions,
    classes: &[Class],
    fleet: &Fleet,
) -> Vec<Assumption> {
    let mut list = Vec::new();
    let mut add = |id: &str, what: &str, value: String, source: &str, grade| {
        list.push(Assumption {
            id: id.to_owned(),
            what: what.to_owned(),
            value,
            source: source.to_owned(),
            grade,
        });
    };
    for class in classes.iter().filter(|class| class.vms > 0) {
        let peak =
            |median: f64, shape: f64| median * (shape * shape / 2.0).exp() / class.average_of_peak;
        add(
            &format!("class-{}", class.id),
            &format!("load of one VM at peak: {} ({} VMs)", class.name, class.vms),
            format!(
                "{} IOPS of {} KiB, {} MiB/s, {:.0} % reads",
                number(peak(class.iops.median, class.iops.shape)),
                number(class.block_kib),
                number(peak(class.mibps.median, class.mibps.shape)),
                class.read_fraction * 100.0
            ),
            &class.source,
            class.grade,
        );
    }
    if fleet.vms > 0 {
        add(
            "average-of-peak",
            "average load over time as a share of the 95th percentile over time",
            "0.7 unless a class states its own".to_owned(),
            "store-predict research notes, read 2026-11-30",
            EvidenceGrade::D,
        );
        add(
            "class-spread",
            "spread between VMs of a class when only the class is known (lognormal shape)",
            "0.8 to 1.2 by class".to_owned(),
            "published figures for one class differ up to 60-fold; the shape is assumed",
            EvidenceGrade::D,
        );
        add(
            "correlation",
            "how far VMs swing together over time",
            format!(
                "{} across the site; 0.9 inside desktops and backup",
                number(options.correlation)
            ),
            "office hours are common to all, boot storms and backup windows more so; assumed",
            EvidenceGrade::D,
        );
        let method = if fleet.vms < SIMULATE_BELOW {
            "simulated: the sum over fewer than 50 VMs is skewed"
        } else {
            "mean and standard deviation of the sum, normal"
        };
        add(
            "percentile-of-sum",
            "the planned load is the 95th percentile of the sum over VMs, not a sum of percentiles",
            method.to_owned(),
            "VMs do not peak at one moment: percentiles of single VMs do not add up",
            EvidenceGrade::D,
        );
        add(
            "cross-check",
            "the load against vCPUs and used space, to compare with a site that was measured",
            cross_check(fleet),
            "computed from the numbers above",
            EvidenceGrade::D,
        );
    }
    add(
        "load-growth",
        "growth of load",
        format!(
            "{} % a year over {} months",
            number(options.load_growth_pct_per_year),
            options.horizon_months
        ),
        "option",
        EvidenceGrade::D,
    );
    add(
        "capacity-growth",
        "growth of used space",
        format!(
            "{} % a year over {} months",
            number(options.capacity_growth_pct_per_year),
            options.horizon_months
        ),
        "option",
        EvidenceGrade::D,
    );
    for (reason, what) in [
        (Exclusion::Template, "templates cause no load; their space counts"),
        (Exclusion::PoweredOff, "powered-off VMs cause no load; their space counts"),
        (Exclusion::Vcls, "cluster-service VMs cause no load"),
        (Exclusion::Orphaned, "VMs that are not connected cause no load; their space counts"),
        (
            Exclusion::SrmPlaceholder,
            "placeholders have no storage here: neither load nor space counts",
        ),
    ] {
        if reason == Exclusion::PoweredOff && options.include_powered_off {
            continue;
        }
        let vms = inventory.vms.iter().filter(|vm| vm.exclusion == Some(reason)).count();
        if vms > 0 {
            add(
                &format!("excluded-{}", what.split(' ').next().unwrap_or_default()),
                what,
                format!("{vms} VMs"),
                "power state, template and connection columns of the input",
                EvidenceGrade::A,
            );
        }
    }
    list
}

/// What was measured, first in the list.
pub(crate) fn measured(measured: &MeasuredLoad, vms: u64, of: u64) -> Assumption {
    let sum = |sum: &Option<AlignedSum>, unit: &str| {
        sum.map(|sum| {
            format!(
                "; {unit} of {} VMs: 95th percentile of the sum {}, mean {}, highest {} over {} intervals of {} s, {:.1} % of VM intervals measured",
                sum.vms, number(sum.p95), number(sum.mean), number(sum.peak), sum.intervals, sum.interval_s,
                sum.coverage * 100.0
            )
        })
        .unwrap_or_default()
    };
    Assumption {
        id: "measured-load".to_owned(),
        what: "load of VMs measured, in the place of class defaults; missing intervals at the VM's own mean".to_owned(),
        value: format!("{vms} of {of} VMs{}{}", sum(&measured.iops, "IOPS"), sum(&measured.mibps, "MiB/s")),
        source: measured.source.clone(),
        grade: EvidenceGrade::A,
    }
}

fn cross_check(fleet: &Fleet) -> String {
    #[expect(clippy::cast_precision_loss, reason = "numbers of vCPUs stay far below 2^53")]
    let per_cpu = (fleet.cpus > 0).then(|| fleet.load.iops_p95.0 / fleet.cpus as f64);
    let per_gib = (fleet.used_gib > 0.0).then(|| fleet.load.iops_p95.0 / fleet.used_gib);
    let parts: Vec<String> = [(per_cpu, "vCPU"), (per_gib, "GiB used")]
        .into_iter()
        .filter_map(|(rate, of)| Some(format!("{} IOPS for each {of}", number(rate?))))
        .collect();
    if parts.is_empty() { "nothing to compare with".to_owned() } else { parts.join(", ") }
}

/// The weakest grade among classes that make more than 5 % of either demand.
pub(crate) fn overall_grade(classes: &[Class], load: &Load) -> EvidenceGrade {
    let matters = |part: f64, whole: f64| whole > 0.0 && part > MATTERS * whole;
    classes
        .iter()
        .filter(|class| {
            matters(class.iops_p95.0, load.iops_p95.0)
                || matters(class.mibps_p95.0, load.mibps_p95.0)
        })
        .map(|class| class.grade)
        .max()
        .unwrap_or(EvidenceGrade::A)
}

/// At most three significant digits, without zeros at the end.
fn number(value: f64) -> String {
    let text = if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else if value.abs() >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in
            [(50.0, "50"), (9.4, "9.4"), (0.25, "0.25"), (1500.0, "1500"), (0.0, "0")]
        {
            assert_eq!(number(value), text);
        }
    }
}
