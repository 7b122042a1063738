//! What would flip the answer: each assumption is moved through a range while the rest stays.
//!
//! The plan is held as it is and asked again, so placement is not repeated. `fails_at` is where it
//! no longer holds, `smaller_at` where a smaller or cheaper one would do; both by bisection.

use plimsoll_demand::Demand;

use crate::carry::Carry;
use crate::choose::{choose, margin, performance};
use crate::scenario::Scenario;
use crate::shape::Shape;
use crate::types::{MarginOf, PlanOptions, Sensitivity, WhatIf};

/// Halvings of an interval: to a millionth of its width.
const HALVINGS: u32 = 20;

type Apply<'f> = Box<dyn Fn(&mut Scenario<'_>, f64) + 'f>;

/// One assumption and how to move it.
struct Knob<'f> {
    assumption: &'static str,
    unit: &'static str,
    value: f64,
    low: f64,
    high: f64,
    /// Ends of the search for flips.
    search: (f64, f64),
    whole: bool,
    of: MarginOf,
    apply: Apply<'f>,
}

fn factor(pct: f64, years: f64) -> f64 {
    (1.0 + pct / 100.0).max(0.0).powf(years)
}

/// Every sensitivity, widest first.
pub(crate) fn sensitivities(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
    feasible: bool,
    demand: &Demand,
    options: &PlanOptions,
) -> Vec<Sensitivity> {
    let mut all: Vec<Sensitivity> = knobs(scenario, shape, demand, options)
        .iter()
        .map(|knob| turn(scenario, carry, shape, feasible, knob))
        .collect();
    all.sort_by(|left, right| {
        let width = |one: &Sensitivity| (one.margin_high_pct - one.margin_low_pct).abs();
        width(right).total_cmp(&width(left))
    });
    all
}

fn knobs<'f>(
    scenario: &Scenario<'_>,
    shape: &Shape<'_>,
    demand: &Demand,
    options: &PlanOptions,
) -> Vec<Knob<'f>> {
    let need = scenario.need;
    let headroom = options.headroom_pct;
    let mut knobs = vec![
        Knob {
            assumption: "Headroom asked",
            unit: "%",
            value: headroom,
            low: (headroom - 10.0).max(0.0),
            high: headroom + 10.0,
            search: (0.0, headroom + 200.0),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.need.headroom = value / 100.0),
        },
        Knob {
            assumption: "Load in all, against the estimate",
            unit: "%",
            value: 100.0,
            low: 75.0,
            high: 125.0,
            search: (5.0, 1_000.0),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(move |scenario, value| {
                scenario.need.load_iops = need.load_iops * value / 100.0;
                scenario.need.load_mibps = need.load_mibps * value / 100.0;
            }),
        },
        Knob {
            assumption: "IOPS alone, against the estimate",
            unit: "%",
            value: 100.0,
            low: 50.0,
            high: 150.0,
            search: (5.0, 1_000.0),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(move |scenario, value| {
                scenario.need.load_iops = need.load_iops * value / 100.0;
            }),
        },
        Knob {
            assumption: "MiB/s alone, against the estimate",
            unit: "%",
            value: 100.0,
            low: 50.0,
            high: 150.0,
            search: (5.0, 1_000.0),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(move |scenario, value| {
                scenario.need.load_mibps = need.load_mibps * value / 100.0;
            }),
        },
        Knob {
            assumption: "Block of the random load",
            unit: "KiB",
            value: need.block_kib,
            low: need.block_kib * 0.75,
            high: need.block_kib * 1.25,
            search: (need.block_kib.min(4.0), need.block_kib.max(64.0)),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.need.block_kib = value),
        },
        Knob {
            assumption: "Certainty asked",
            unit: "%",
            value: options.certainty_pct,
            low: options.certainty_pct.min(90.0),
            high: options.certainty_pct.max(99.0),
            search: (50.0, 99.9),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.certainty = value / 100.0),
        },
        Knob {
            assumption: "Hosts that may fail",
            unit: "hosts",
            value: f64::from(scenario.hosts_lost),
            low: 0.0,
            high: f64::from((scenario.hosts_lost + 1).min(scenario.hosts.saturating_sub(1))),
            search: (0.0, f64::from(scenario.hosts.saturating_sub(1).min(scenario.hosts_lost + 3))),
            whole: true,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.hosts_lost = to_count(value)),
        },
        Knob {
            assumption: "Hosts",
            unit: "hosts",
            value: f64::from(scenario.hosts),
            low: f64::from(scenario.hosts.saturating_sub(1).max(scenario.hosts_lost + 1)),
            high: f64::from(scenario.hosts + 1),
            search: (
                f64::from(scenario.hosts.saturating_sub(3).max(scenario.hosts_lost + 1)),
                f64::from(scenario.hosts + 3),
            ),
            whole: true,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.hosts = to_count(value)),
        },
    ];
    let years = f64::from(demand.options.horizon_months) / 12.0;
    if years > 0.0 {
        let now = demand.options.load_growth_pct_per_year;
        let (load_iops, load_mibps) = (need.load_iops, need.load_mibps);
        knobs.push(Knob {
            assumption: "Growth of load",
            unit: "% a year",
            value: now,
            low: now / 2.0,
            high: (now * 2.0).max(5.0),
            search: (0.0, 300.0),
            whole: false,
            of: MarginOf::Performance,
            apply: Box::new(move |scenario, value| {
                let ratio = factor(value, years) / factor(now, years).max(1e-9);
                scenario.need.load_iops = load_iops * ratio;
                scenario.need.load_mibps = load_mibps * ratio;
            }),
        });
        let now = demand.options.capacity_growth_pct_per_year;
        knobs.push(Knob {
            assumption: "Growth of used space",
            unit: "% a year",
            value: now,
            low: now / 2.0,
            high: (now * 2.0).max(5.0),
            search: (0.0, 300.0),
            whole: false,
            of: MarginOf::Capacity,
            apply: Box::new(move |scenario, value| {
                let ratio = factor(value, years) / factor(now, years).max(1e-9);
                scenario.need.used_gib = need.used_gib * ratio;
            }),
        });
    }
    knobs.extend(correlation(scenario, demand));
    for (assumption, value, apply) in [
        (
            "Snapshot reserve",
            options.snapshot_reserve_pct,
            Box::new(|scenario: &mut Scenario<'_>, value: f64| {
                scenario.need.snapshots = value / 100.0;
            }) as Apply<'f>,
        ),
        (
            "Slack kept free",
            options.slack_pct,
            Box::new(|scenario: &mut Scenario<'_>, value: f64| {
                scenario.need.slack = value / 100.0;
            }) as Apply<'f>,
        ),
    ] {
        knobs.push(Knob {
            assumption,
            unit: "%",
            value,
            low: (value - 5.0).max(0.0),
            high: (value + 5.0).min(90.0),
            search: (0.0, 90.0),
            whole: false,
            of: MarginOf::Capacity,
            apply,
        });
    }
    let other_nconnect: Vec<u32> = scenario
        .platform
        .nconnect
        .values
        .iter()
        .copied()
        .filter(|value| *value <= scenario.connections.nconnect_max)
        .collect();
    if let (Some(least), Some(most)) = (other_nconnect.iter().min(), other_nconnect.iter().max())
        && least != most
    {
        knobs.push(Knob {
            assumption: "nConnect",
            unit: "connections",
            value: f64::from(scenario.nconnect),
            low: f64::from(*least),
            high: f64::from(*most),
            search: (f64::from(*least), f64::from(*most)),
            whole: true,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.nconnect = to_count(value)),
        });
    }
    let addresses = scenario.addresses.unwrap_or(shape.datastores).min(shape.datastores);
    if shape.datastores > 1 {
        knobs.push(Knob {
            assumption: "Target addresses",
            unit: "addresses",
            value: f64::from(addresses),
            low: 1.0,
            high: f64::from(shape.datastores),
            search: (1.0, f64::from(shape.datastores)),
            whole: true,
            of: MarginOf::Performance,
            apply: Box::new(|scenario, value| scenario.addresses = Some(to_count(value))),
        });
    }
    knobs
}

/// How far the load of machines rises and falls together: the summed 95th percentile is computed
/// anew by the normal formula, and its change is applied to the load.
fn correlation<'f>(scenario: &Scenario<'_>, demand: &Demand) -> Option<Knob<'f>> {
    let counts: Vec<u64> = demand.classes.iter().map(|class| class.vms).collect();
    let bare = Demand {
        options: demand.options.clone(),
        classes: demand.classes.clone(),
        vms: Vec::new(),
        separate: Vec::new(),
        assumptions: Vec::new(),
        ..*demand
    };
    let (iops, mibps) = bare.p95_of(&counts);
    if iops.0 <= 0.0 || mibps.0 <= 0.0 {
        return None;
    }
    let (load_iops, load_mibps) = (scenario.need.load_iops, scenario.need.load_mibps);
    Some(Knob {
        assumption: "Correlation of load between machines",
        unit: "",
        value: demand.options.correlation,
        low: 0.0,
        high: (demand.options.correlation * 2.0).clamp(0.5, 1.0),
        search: (0.0, 1.0),
        whole: false,
        of: MarginOf::Performance,
        apply: Box::new(move |scenario, value| {
            let mut other = bare.clone();
            other.options.correlation = value;
            let (other_iops, other_mibps) = other.p95_of(&counts);
            scenario.need.load_iops = load_iops * other_iops.0 / iops.0;
            scenario.need.load_mibps = load_mibps * other_mibps.0 / mibps.0;
        }),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small whole counts")]
fn to_count(value: f64) -> u32 {
    value.round().max(0.0) as u32
}

fn turn(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
    feasible: bool,
    knob: &Knob<'_>,
) -> Sensitivity {
    let moved = |value: f64| {
        let mut other = scenario.clone();
        (knob.apply)(&mut other, value);
        other
    };
    let at = |carry: &mut Carry<'_>, value: f64| margin_of(&moved(value), carry, shape, knob.of);
    let low = at(carry, knob.low);
    let high = at(carry, knob.high);
    let (bad, good) =
        if low < high { (knob.search.0, knob.search.1) } else { (knob.search.1, knob.search.0) };
    let mut holds = |value: f64| margin_of(&moved(value), carry, shape, knob.of) >= -1e-9;
    let fails_at = (feasible && (low - high).abs() > 1e-12)
        .then(|| flip(knob.value, bad, knob.whole, &mut |value| !holds(value)))
        .flatten();
    let mut smaller = |value: f64| smaller_would_do(&moved(value), carry, shape);
    let smaller_at = (feasible && !smaller(knob.value))
        .then(|| flip(knob.value, good, knob.whole, &mut smaller))
        .flatten();
    Sensitivity {
        assumption: knob.assumption.to_owned(),
        unit: knob.unit.to_owned(),
        value: knob.value,
        low: knob.low,
        high: knob.high,
        margin_low_pct: low * 100.0,
        margin_high_pct: high * 100.0,
        fails_at,
        smaller_at,
        of: knob.of,
    }
}

/// Margin of the plan as it stands, as a share of what is needed.
fn margin_of(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
    of: MarginOf,
) -> f64 {
    match of {
        MarginOf::Performance => {
            let reached = performance(scenario, carry, shape);
            reached.tighter(scenario.need.needed_iops(), scenario.need.needed_mibps()).1
        }
        MarginOf::Capacity => {
            margin(shape.size_gib * f64::from(shape.datastores), scenario.need.capacity_gib())
        }
    }
}

/// Whether a cheaper tier would hold, or as cheap a plan with fewer datastores or a smaller pool. A
/// little less throughput bought on the same tier is no other plan.
fn smaller_would_do(scenario: &Scenario<'_>, carry: &mut Carry<'_>, shape: &Shape<'_>) -> bool {
    // Counts above the plan's own matter only for price, which they never lower.
    let mut fewer = scenario.clone();
    fewer.max_datastores = shape.datastores;
    let Some(choice) = choose(&fewer, carry) else { return false };
    if !choice.feasible {
        return false;
    }
    let price = |shape: &Shape<'_>| shape.monthly.as_ref().map_or(0.0, |money| money.amount);
    let (now, then) = (price(shape), price(&choice.shape));
    let other_tier = choice.shape.offer.tier.id != shape.offer.tier.id;
    (other_tier && then < now - 0.5)
        || (then <= now + 0.5
            && (choice.shape.datastores < shape.datastores
                || smaller_pool(scenario, &choice.shape, shape)))
}

/// A pool smaller by a step; where nothing is pooled, a GiB less is no other plan.
fn smaller_pool(scenario: &Scenario<'_>, other: &Shape<'_>, shape: &Shape<'_>) -> bool {
    scenario.platform.limits.pool_step_tib.is_some() && other.pool_gib < shape.pool_gib - 0.5
}

/// Value between `from`, where the test is false, and `end` at which it turns true; `None` when it
/// stays false up to the end.
fn flip(from: f64, end: f64, whole: bool, test: &mut dyn FnMut(f64) -> bool) -> Option<f64> {
    if whole {
        let step = (end - from).signum();
        let mut value = from;
        while (end - value) * step > 0.5 {
            value += step;
            if test(value) {
                return Some(value);
            }
        }
        return None;
    }
    if (end - from).abs() < 1e-12 || !test(end) {
        return None;
    }
    let (mut no, mut yes) = (from, end);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(no, yes);
        if test(middle) { yes = middle } else { no = middle }
    }
    Some(yes)
}

/// Plans for a load that turns out otherwise.
pub(crate) fn what_if(
    scenario: &Scenario<'_>,
    carry: &mut Carry<'_>,
    shape: &Shape<'_>,
) -> Vec<WhatIf> {
    [-50.0, -25.0, 25.0, 50.0]
        .into_iter()
        .filter_map(|change| {
            let mut other = scenario.clone();
            other.need.load_iops *= 1.0 + change / 100.0;
            other.need.load_mibps *= 1.0 + change / 100.0;
            let choice = choose(&other, carry)?;
            let reached = performance(&other, carry, shape);
            let capacity = shape.violations.is_empty();
            Some(WhatIf {
                load_change_pct: change,
                plan_holds: capacity
                    && reached.iops >= other.need.needed_iops()
                    && reached.mibps >= other.need.needed_mibps(),
                load_carried: reached.iops >= other.need.load_iops
                    && reached.mibps >= other.need.load_mibps,
                feasible: choice.feasible,
                tier: choice.shape.offer.tier.id.clone(),
                datastores: choice.shape.datastores,
                monthly_cost: choice.shape.monthly.clone(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_finds_the_flip_and_says_none_without_one() {
        let at = flip(20.0, 220.0, false, &mut |value| value > 47.3);
        assert!((at.unwrap_or(0.0) - 47.3).abs() < 1e-3);
        assert_eq!(flip(20.0, 0.0, false, &mut |value| value > 47.3), None);
        assert_eq!(flip(1.0, 4.0, true, &mut |value| value >= 2.0), Some(2.0));
        assert_eq!(flip(1.0, 1.0, true, &mut |_| true), None);
    }
}
