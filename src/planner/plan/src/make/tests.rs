//! The whole choice against published examples, and properties that hold for every demand.
#![allow(clippy::unwrap_used)]

use plimsoll_demand::Demand;
use plimsoll_model::{Quantity, Resource};
use proptest::prelude::*;

use super::*;
use crate::testing::{demand, inventory};

fn options() -> PlanOptions {
    PlanOptions { hosts: Some(4), ..PlanOptions::default() }
}

fn plan(demand: &Demand, options: &PlanOptions) -> Plan {
    make_plan(&inventory(), demand, &Catalog::built_in().unwrap(), None, options).unwrap()
}

/// Limits and exponent of the worked example in docs/models.md.
fn described() -> Model {
    let mut model = Model::from_ceilings(&StatedCeilings {
        id: "described".to_owned(),
        title: "As described".to_owned(),
        ceilings: vec![
            (Quantity::Iops, Resource::Flow, 73_800.0),
            (Quantity::Iops, Resource::Host, 201_000.0),
            (Quantity::Iops, Resource::Volume, 158_000.0),
            (Quantity::Iops, Resource::Pool, 469_000.0),
            (Quantity::Throughput, Resource::Flow, 1_797.0),
            (Quantity::Throughput, Resource::Pool, 9_946.0),
        ],
        iops_block_kib: 8.0,
        throughput_block_kib: 64.0,
        unloaded_ms: None,
        relative_sd: 0.09,
        grade: EvidenceGrade::C,
        source: "docs/models.md".to_owned(),
    });
    model.exponent.value = 5.36;
    model
}

/// The worked example: at 95 % on four hosts without a failure two datastores carry 250,000 IOPS
/// and do not carry 300,000, for which four do.
#[test]
fn two_datastores_carry_250_thousand_and_four_carry_300_thousand() {
    let alone = PlanOptions {
        hosts_lost: 0,
        headroom_pct: 0.0,
        tier: Some("ultra".to_owned()),
        ..options()
    };
    let catalog = Catalog::built_in().unwrap();
    let ask = |iops: f64| {
        let load = demand(iops, 500.0, 45.0, 200);
        make_plan(&inventory(), &load, &catalog, Some(&described()), &alone).unwrap()
    };
    let small = ask(250_000.0);
    assert!(small.feasible);
    assert_eq!(small.datastores, 2, "{:?}", small.frontier[1].iops);
    let large = ask(300_000.0);
    assert!(!large.frontier[1].feasible);
    assert!(large.frontier[3].feasible);
    assert!((3..=4).contains(&large.datastores));
}

/// The model that comes with the program against the published 5th percentile and median of the
/// same example, thousand IOPS on four hosts.
#[test]
fn the_shipped_model_reproduces_the_published_table() {
    let alone = PlanOptions { hosts_lost: 0, tier: Some("ultra".to_owned()), ..options() };
    let plan = plan(&demand(100_000.0, 500.0, 45.0, 200), &alone);
    for (datastores, p05, median) in [(1, 137.0, 159.0), (2, 263.0, 306.0), (4, 366.0, 454.0)] {
        let ours = &plan.frontier[datastores - 1].iops;
        for (ours, published) in [(ours.p05, p05), (ours.median, median)] {
            let off = ours / 1_000.0 / published - 1.0;
            assert!(off.abs() < 0.12, "{datastores}: {ours} against {published} thousand");
        }
    }
}

#[test]
fn a_lost_host_is_tested_and_not_scaled() {
    let load = demand(100_000.0, 500.0, 45.0, 200);
    let plan = plan(&load, &PlanOptions { tier: Some("ultra".to_owned()), ..options() });
    let four = &plan.frontier[3];
    // Three of four hosts carry more than three quarters: the pool is not lost.
    assert!(four.iops.median > 0.80 * four.iops.median_no_failure);
    assert!(four.iops.median < four.iops.median_no_failure);
    assert_eq!(plan.flow_budget.flows_with_failure * 4, plan.flow_budget.flows * 3);
}

#[test]
fn the_cheapest_tier_that_carries_the_throughput_is_chosen_and_the_rest_is_shown() {
    // 45.8 TiB with 15 % and 20 % reserve are 67.4 TiB; 3,000 MiB/s with 20 % are 3,600.
    let load = demand(100_000.0, 3_000.0, 45.8, 200);
    let plan = plan(&load, &PlanOptions { region: "westeurope".to_owned(), ..options() });
    assert!(plan.feasible, "{:?}", plan.infeasible_because);
    assert_eq!(plan.tier, "premium");
    assert_eq!(plan.pool_size_gib.0, 68.0 * 1024.0);
    // 68 TiB x 1,024 x 0.000403 x 730.
    assert!((plan.monthly_cost.as_ref().unwrap().amount - 20_484.9).abs() < 1.0);
    let row = |id: &str| plan.tiers.iter().find(|tier| tier.tier == id).unwrap();
    // Standard needs 3,600 / 16 = 225 TiB; Ultra is sized by capacity as Premium is.
    assert_eq!(row("standard").pool_size_gib.0, 225.0 * 1024.0);
    assert_eq!(row("standard").sized_by, "throughput");
    assert_eq!(row("ultra").pool_size_gib.0, 68.0 * 1024.0);
    assert_eq!(row("flexible").cap_mibps.unwrap().0, 3_600.0);
    assert!(row("elastic").note.contains("preview"));
    assert!(!row("elastic").feasible);
    assert!(plan.runner_up.as_ref().unwrap().contains("more"));
}

#[test]
fn a_region_without_a_price_shows_the_tier_and_does_not_choose_it() {
    let load = demand(50_000.0, 3_000.0, 45.8, 200);
    let plan = plan(&load, &PlanOptions { region: "mexicocentral".to_owned(), ..options() });
    assert_eq!(plan.tier, "ultra");
    let premium = plan.tiers.iter().find(|tier| tier.tier == "premium").unwrap();
    assert!(premium.monthly_cost.is_none() && !premium.feasible);
    assert!(premium.note.contains("no price in Mexico Central"), "{}", premium.note);
}

#[test]
fn a_named_tier_without_a_price_is_planned_without_one() {
    let load = demand(50_000.0, 1_000.0, 45.8, 200);
    let options = PlanOptions {
        region: "mexicocentral".to_owned(),
        tier: Some("premium".to_owned()),
        ..options()
    };
    let plan = plan(&load, &options);
    assert!(plan.feasible && plan.monthly_cost.is_none() && plan.price.is_none());
    assert!(plan.remarks.iter().any(|remark| remark.contains("no price")));
}

#[test]
fn a_load_beyond_every_count_is_infeasible_and_says_what_would_be_carried() {
    let plan = plan(&demand(900_000.0, 1_000.0, 45.0, 400), &options());
    assert!(!plan.feasible);
    assert!(plan.infeasible_because[0].contains("IOPS"), "{:?}", plan.infeasible_because);
    assert!(plan.infeasible_because.iter().any(|reason| reason.contains("nearest plan")));
    assert!(plan.infeasible_because.iter().any(|reason| reason.contains("of the load")));
    assert_eq!(plan.frontier.len(), 16);
    assert!(plan.frontier.iter().all(|point| !point.feasible));
}

#[test]
fn all_hosts_lost_is_said_and_not_computed() {
    let plan = plan(&demand(1_000.0, 10.0, 1.0, 10), &PlanOptions { hosts_lost: 4, ..options() });
    assert!(!plan.feasible);
    assert!(plan.infeasible_because[0].contains("leaves none"), "{:?}", plan.infeasible_because);
}

#[test]
fn a_slow_gateway_caps_and_binds() {
    let load = demand(10_000.0, 150.0, 20.0, 100);
    let options = PlanOptions {
        gateway: Some("high-performance".to_owned()),
        tier: Some("standard".to_owned()),
        ..options()
    };
    let plan = plan(&load, &options);
    // 2,000 Mbit/s are 238.4 MiB/s.
    assert!((plan.frontier[0].mibps.hard_cap.unwrap() - 238.4).abs() < 0.1);
    assert_eq!(plan.frontier[0].mibps.binding, Resource::Gateway);
    assert!(plan.feasible);
}

#[test]
fn an_own_array_is_planned_from_its_ceilings() {
    let array = ArrayCeilings {
        flow_iops: Some(40_000.0),
        array_iops: Some(200_000.0),
        array_mibps: Some(4_000.0),
        array_tib: Some(200.0),
        latency_ms: Some(0.4),
        usd_per_gib_month: Some(0.05),
        ..ArrayCeilings::default()
    };
    let options = PlanOptions {
        platform: "generic-array".to_owned(),
        array: Some(array),
        latency_slo_ms: Some(2.0),
        ..options()
    };
    let load = demand(80_000.0, 500.0, 20.0, 100);
    let chosen = plan(&load, &options);
    assert!(chosen.feasible, "{:?}", chosen.infeasible_because);
    // 20 TiB over 0.85 and 0.80 at 0.05 USD a GiB.
    let space = 20.0 * 1024.0 / 0.85 / 0.80;
    assert!((chosen.monthly_cost.unwrap().amount - space * 0.05).abs() < 1e-6);
    assert_eq!(
        chosen.datastores,
        chosen.frontier.iter().find(|one| one.feasible).unwrap().datastores
    );
    assert!(chosen.latency_ms.unwrap().0 >= 0.4);
    let too_small =
        PlanOptions { array: Some(ArrayCeilings { array_tib: Some(10.0), ..array }), ..options };
    let refused = plan(&load, &too_small);
    assert!(!refused.feasible);
    assert!(refused.infeasible_because[0].contains("the array holds"));
}

#[test]
fn an_array_without_ceilings_is_refused_with_what_to_state() {
    let options = PlanOptions { platform: "generic-array".to_owned(), ..options() };
    let error = make_plan(
        &inventory(),
        &demand(1.0, 1.0, 1.0, 1),
        &Catalog::built_in().unwrap(),
        None,
        &options,
    )
    .unwrap_err();
    assert!(error.to_string().contains("state at least one"), "{error}");
}

#[test]
fn the_flip_values_flip() {
    let load = demand(200_000.0, 2_000.0, 45.8, 200);
    let plan = plan(&load, &options());
    let find = |name: &str| {
        plan.sensitivities.iter().find(|one| one.assumption.starts_with(name)).unwrap()
    };
    let scaled = |percent: f64| {
        let factor = percent / 100.0;
        let other = demand(200_000.0 * factor, 2_000.0 * factor, 45.8, 200);
        crate::make::tests::plan(&other, &options())
    };
    let whole = find("Load in all");
    assert!(whole.margin_low_pct > whole.margin_high_pct);
    let fails = whole.fails_at.unwrap();
    let point = |percent: f64| scaled(percent).frontier[plan.datastores as usize - 1].clone();
    if plan.tier == "flexible" {
        // Throughput is bought to the need: any more load needs more of it.
        assert!((100.0..101.0).contains(&fails), "{fails}");
    } else {
        assert!(point(fails - 0.5).iops.probability >= 0.95);
    }
    if let Some(smaller) = whole.smaller_at {
        let what = |plan: &Plan| (plan.tier.clone(), plan.datastores, plan.pool_size_gib.0);
        assert_ne!(what(&scaled(smaller - 0.5)), what(&plan));
        assert_eq!(what(&scaled(smaller + 0.5)), what(&plan));
    }
    let headroom = find("Headroom");
    assert!(headroom.fails_at.is_none_or(|at| at > 20.0));
}

#[test]
fn the_same_question_gives_the_same_answer() {
    let load = demand(200_000.0, 2_000.0, 45.8, 200);
    assert_eq!(plan(&load, &options()), plan(&load, &options()));
}

#[test]
fn flows_that_bind_cost_one_more_datastore_when_that_is_free() {
    // One host down of two: the flow binds at one datastore (74 thousand), the host later.
    let options =
        PlanOptions { hosts: Some(3), hosts_lost: 2, headroom_pct: 0.0, ..PlanOptions::default() };
    let plan = plan(&demand(90_000.0, 100.0, 20.0, 100), &options);
    let chosen = &plan.frontier[plan.datastores as usize - 1];
    let fewer = &plan.frontier[plan.datastores as usize - 2];
    assert!(
        chosen.iops.binding != Resource::Flow
            || !plan.frontier[plan.datastores as usize].feasible
            || plan.frontier[plan.datastores as usize].iops.binding == Resource::Flow
    );
    assert_eq!(fewer.iops.binding, Resource::Flow);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn more_datastores_never_carry_less(
        iops in 1_000.0..600_000.0_f64,
        mibps in 10.0..9_000.0_f64,
        tib in 1.0..300.0_f64,
        hosts in 3_u32..12,
        block in 4.0..80.0_f64,
    ) {
        let options = PlanOptions {
            hosts: Some(hosts),
            tier: Some("ultra".to_owned()),
            qos: Some("manual".to_owned()),
            ..options()
        };
        let mut load = demand(iops, mibps, tib, 300);
        load.horizon.block_kib = block;
        let plan = plan(&load, &options);
        for pair in plan.frontier.windows(2) {
            for (more, fewer) in [(&pair[1].iops, &pair[0].iops), (&pair[1].mibps, &pair[0].mibps)] {
                prop_assert!(more.p05 >= fewer.p05 * (1.0 - 1e-9));
                prop_assert!(more.median >= fewer.median * (1.0 - 1e-9));
                prop_assert!(more.p95 >= fewer.p95 * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn a_feasible_plan_exceeds_no_limit_and_skips_no_cheaper_tier(
        iops in 1_000.0..500_000.0_f64,
        mibps in 10.0..8_000.0_f64,
        tib in 0.1..900.0_f64,
    ) {
        let load = demand(iops, mibps, tib, 300);
        let chosen = plan(&load, &options());
        // A value that is not a finite number would come back as null and not be read.
        let text = serde_json::to_string(&chosen).unwrap();
        prop_assert!(serde_json::from_str::<Plan>(&text).is_ok());
        if chosen.feasible {
            let point = &chosen.frontier[chosen.datastores as usize - 1];
            prop_assert!(point.feasible, "{:?}", point.violations);
            prop_assert!(point.violations.is_empty());
            let size = chosen.datastore_size_gib.0;
            prop_assert!((50.0..=102_400.0).contains(&size) && size.fract() == 0.0);
            prop_assert!(size * f64::from(chosen.datastores) <= chosen.pool_size_gib.0 + 1e-6);
            prop_assert!(chosen.pool_size_gib.0 <= 2_048.0 * 1024.0);
            prop_assert!((chosen.pool_size_gib.0 / 1024.0).fract() == 0.0);
            prop_assert!(
                size * f64::from(chosen.datastores) >= chosen.needed_capacity_gib.0 - f64::from(chosen.datastores)
            );
            prop_assert!(point.iops.at_certainty >= chosen.needed_iops.0);
            prop_assert!(point.mibps.at_certainty >= chosen.needed_mibps.0);
            prop_assert!(chosen.certainty >= 0.95);
            let cap = point.mibps.hard_cap.unwrap();
            prop_assert!(cap >= chosen.needed_mibps.0 - 1e-6);
            prop_assert!(cap >= chosen.needed_iops.0 * 8.0 / 1024.0 - 1e-6);
            prop_assert!(cap <= f64::from(chosen.datastores) * 4_500.0 + 1e-6);
            let cost = chosen.monthly_cost.unwrap().amount;
            for tier in &chosen.tiers {
                if let (true, Some(money)) = (tier.feasible, &tier.monthly_cost) {
                    prop_assert!(money.amount >= cost - 0.01, "{} is cheaper", tier.tier);
                }
            }
            for fewer in &chosen.frontier[..chosen.datastores as usize - 1] {
                let price = fewer.monthly_cost.as_ref().unwrap().amount;
                prop_assert!(
                    !fewer.feasible || price > cost + 0.004 || fewer.iops.binding == Resource::Flow
                        || fewer.mibps.binding == Resource::Flow
                );
            }
        } else {
            prop_assert!(!chosen.infeasible_because.is_empty());
        }
    }
}

/// Not a limit of time but of order: the whole plan stays far below what a person notices.
#[test]
fn a_plan_for_five_thousand_machines_takes_well_under_a_second() {
    let load = demand(300_000.0, 3_000.0, 300.0, 5_000);
    let start = std::time::Instant::now();
    let plan = plan(&load, &options());
    let taken = start.elapsed();
    assert!(taken.as_millis() < 1_000, "{taken:?}");
    assert_eq!(plan.placements.len(), 5_000);
}

#[test]
fn capacity_beyond_sixteen_volumes_raises_the_default_count_and_not_a_stated_one() {
    // 1,700 TiB over 0.68 are 2,500 TiB: above one pool; 1,200 TiB are 1,765, 18 volumes of 100.
    let load = demand(50_000.0, 500.0, 1_200.0, 400);
    let free = plan(&load, &options());
    assert!(free.feasible, "{:?}", free.infeasible_because);
    assert_eq!(free.datastores, 18);
    assert_eq!(free.frontier.len(), 22);
    let bound = plan(&load, &PlanOptions { max_datastores: 12, ..options() });
    assert!(!bound.feasible);
    assert!(bound.infeasible_because[0].contains("a volume holds at most 100 TiB"));
}

#[test]
fn what_two_pools_would_carry_is_said() {
    let options = PlanOptions { hosts: Some(12), ..PlanOptions::default() };
    let plan = plan(&demand(500_000.0, 1_000.0, 45.0, 400), &options);
    assert!(!plan.feasible);
    let side = plan.infeasible_because.iter().find(|reason| reason.contains("pools side by side"));
    assert!(side.is_some_and(|side| side.contains("2 pools")), "{:?}", plan.infeasible_because);
}
