//! A unit over several paths: policies, loss and return of paths, ALUA states.

use std::sync::atomic::Ordering;

use plimsoll_initiator::{FlowState, LostReason, Outcome, Policy};

use super::fake::{Fake, Setting};
use super::*;

const MIX: Load = Load { operations: 3000, depth: 16, writes: 40, max_blocks: 16, seconds: 40 };

const ALL: [Policy; 6] = [
    Policy::Fixed,
    Policy::MostRecentlyUsed,
    Policy::RoundRobinIops(1),
    Policy::RoundRobinBytes(65536),
    Policy::LeastQueueDepth,
    Policy::Latency,
];

fn over(fake: &Fake, policy: Policy, connections: u16) -> (Box<dyn Datastore>, Ledger) {
    let options = Options {
        policy,
        connections,
        portals: fake.portals[1..].iter().map(|portal| portal.address.to_string()).collect(),
        ..options()
    };
    let store = open(&fake.url(), &options).unwrap();
    (store, Ledger::new(fake.shared.blocks.lock().unwrap().clone()))
}

fn two() -> Fake {
    Fake::start(Setting { portals: 2, ..Setting::default() })
}

/// Runs until `done` or fails after some seconds.
fn until(store: &mut dyn Datastore, ledger: &mut Ledger, done: impl Fn(&dyn Datastore) -> bool) {
    let end = Instant::now() + Duration::from_secs(10);
    while !done(store) {
        assert!(Instant::now() < end, "{:?}", store.flows());
        store.poll(Some(Duration::from_millis(20)), ledger).unwrap();
    }
}

#[test]
fn every_policy_survives_paths_that_go_and_come_under_load() {
    for policy in ALL {
        let fake = two();
        let (mut store, mut ledger) = over(&fake, policy, 1);
        run_with(&mut *store, &mut ledger, &MIX, &mut |number, _| {
            match number {
                500 => fake.portals[0].cut(),
                1000 => fake.portals[0].restore(),
                1500 => fake.portals[1].cut(),
                2000 => fake.portals[1].restore(),
                _ => {}
            }
            if number.is_multiple_of(500) {
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize, "{policy}");
        assert!(*fake.shared.blocks.lock().unwrap() == ledger.content, "{policy}: differs");
        let flows = store.flows();
        let moved: u64 = flows.iter().map(|flow| flow.reads + flow.writes).sum();
        assert_eq!(moved, MIX.operations, "{policy}");
        assert!(flows.iter().all(|flow| flow.reads > 0), "{policy}: {flows:?}");
        assert!(flows[1].path_switches > 0, "{policy}");
    }
}

#[test]
fn round_robin_spreads_evenly_and_fixed_does_not() {
    let fake = two();
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 2);
    run(&mut *store, &mut ledger, &Load { operations: 800, writes: 0, ..MIX });
    let flows = store.flows();
    assert_eq!(flows.iter().map(|flow| flow.reads).collect::<Vec<_>>(), [200; 4]);
    assert!(flows.iter().all(|flow| flow.path_switches >= 199));
    let isids = fake.shared.isids.lock().unwrap();
    let distinct: std::collections::HashSet<_> = isids.iter().collect();
    assert_eq!(distinct.len(), 4, "each session has its own ISID");
    drop(isids);

    let (mut store, mut ledger) = over(&fake, Policy::Fixed, 1);
    run(&mut *store, &mut ledger, &Load { operations: 800, writes: 0, ..MIX });
    assert_eq!(store.flows().iter().map(|flow| flow.reads).collect::<Vec<_>>(), [800, 0]);
}

#[test]
fn round_robin_by_thousands_stays_on_one_path() {
    let fake = two();
    let (mut store, mut ledger) = over(&fake, Policy::default(), 1);
    run(&mut *store, &mut ledger, &Load { operations: 1000, writes: 0, ..MIX });
    assert_eq!(store.flows().iter().map(|flow| flow.reads).collect::<Vec<_>>(), [1000, 0]);
    run(&mut *store, &mut ledger, &Load { operations: 500, writes: 0, ..MIX });
    assert_eq!(store.flows().iter().map(|flow| flow.reads).collect::<Vec<_>>(), [1000, 500]);
}

#[test]
fn with_all_paths_down_operations_wait_and_go_on() {
    let fake = two();
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 1);
    fake.portals.iter().for_each(fake::Portal::cut);
    for tag in 0..10 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    let end = Instant::now() + Duration::from_millis(500);
    while Instant::now() < end {
        store.poll(Some(Duration::from_millis(20)), &mut ledger).unwrap();
    }
    assert_eq!(ledger.under_way(), 10);
    fake.portals[1].restore();
    settle(&mut *store, &mut ledger, 10);
    assert_eq!(ledger.count(Outcome::Done), 10);
}

#[test]
fn with_all_paths_down_for_too_long_operations_are_lost_once() {
    let fake = two();
    let options = Options {
        path_timeout: Duration::from_millis(400),
        portals: vec![fake.portals[1].address.to_string()],
        ..options()
    };
    let mut store = open(&fake.url(), &options).unwrap();
    let mut ledger = Ledger::new(fake.shared.blocks.lock().unwrap().clone());
    fake.portals.iter().for_each(fake::Portal::cut);
    for tag in 0..10 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::NoPath)), 10);
    assert!(store.flows().iter().all(|flow| flow.last_end.is_some()));
    fake.portals[0].restore();
    until(&mut *store, &mut ledger, |store| store.flows()[0].state == FlowState::Up);
    submit(&mut *store, &mut ledger, &read_op(10, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&10], Outcome::Done);
}

#[test]
fn spc5_5_18_a_path_that_is_not_optimized_is_used_only_when_no_other_is_left() {
    let fake = two();
    fake.portals[1].state.store(1, Ordering::SeqCst);
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 1);
    run(&mut *store, &mut ledger, &Load { operations: 200, writes: 0, ..MIX });
    assert_eq!(store.flows().iter().map(|flow| flow.reads).collect::<Vec<_>>(), [200, 0]);
    fake.portals[0].cut();
    run(&mut *store, &mut ledger, &Load { operations: 200, writes: 0, ..MIX });
    let reads: Vec<_> = store.flows().iter().map(|flow| flow.reads).collect();
    assert!(reads[1] >= 190 && reads[0] + reads[1] == 400, "{reads:?}");
    fake.portals[0].restore();
    until(&mut *store, &mut ledger, |store| store.flows()[0].state == FlowState::Up);
    run(&mut *store, &mut ledger, &Load { operations: 200, writes: 0, ..MIX });
    assert!(store.flows()[0].reads >= reads[0] + 199, "back to the optimized path");
}

#[test]
fn spc5_5_18_a_standby_path_takes_over_when_its_state_changes() {
    use plimsoll_wire::scsi::SenseKey;
    let fake = two();
    fake.portals[1].state.store(2, Ordering::SeqCst);
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 1);
    assert_eq!(store.flows()[1].state, FlowState::Standby);
    run(&mut *store, &mut ledger, &Load { operations: 100, writes: 0, ..MIX });
    // The controllers change roles: the old path answers with "standby" until it is asked for its state.
    fake.portals[0].state.store(2, Ordering::SeqCst);
    fake.portals[1].state.store(0, Ordering::SeqCst);
    let standby = fake.portals[0].state.clone();
    fake.set_script(move |_, number| {
        if number == 0 && standby.load(Ordering::SeqCst) == 2 {
            fake::Act::Check(SenseKey::NotReady, 0x04, 0x0b)
        } else {
            fake::Act::Serve
        }
    });
    run(&mut *store, &mut ledger, &Load { operations: 300, writes: 0, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 400);
    until(&mut *store, &mut ledger, |store| {
        store.flows()[0].state == FlowState::Standby && store.flows()[1].state == FlowState::Up
    });
    run(&mut *store, &mut ledger, &Load { operations: 100, writes: 0, ..MIX });
    assert!(store.flows()[1].reads >= 100, "{:?}", store.flows());
}

#[test]
fn another_unit_behind_a_portal_is_no_path() {
    let fake = two();
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 1);
    fake.portals[1].cut();
    run(&mut *store, &mut ledger, &Load { operations: 50, ..MIX });
    fake.shared.naa.lock().unwrap()[15] = 99;
    fake.portals[1].restore();
    until(&mut *store, &mut ledger, |store| store.flows()[1].state == FlowState::Down);
    let flows = store.flows();
    assert!(flows[1].last_end.as_ref().unwrap().contains("another unit"), "{flows:?}");
    run(&mut *store, &mut ledger, &Load { operations: 50, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 100);
}

#[test]
fn closing_ends_everything_once() {
    let fake = two();
    fake.set_script(|_, _| fake::Act::Forget);
    let (mut store, mut ledger) = over(&fake, Policy::RoundRobinIops(1), 2);
    for tag in 0..100 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    store.poll(Some(Duration::from_millis(50)), &mut ledger).unwrap();
    store.close(&mut ledger);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::Closed)), 100);
    assert_eq!((ledger.under_way(), store.in_flight()), (0, 0));
}
