//! Connections that end at any moment: what was under way is given out again, nothing is lost or done twice.

use plimsoll_initiator::{LostReason, Outcome};

use super::super::{read_op, run_with, settle, submit};
use super::*;

#[test]
fn a_disconnect_at_any_command() {
    for every in [1, 7, 50] {
        let (raw, mut store, mut ledger) = opened(Setting::default());
        raw.set_script(
            move |_, number| {
                if number % (every + 20) == every { Act::Disconnect } else { Act::Serve }
            },
        );
        super::super::run(&mut *store, &mut ledger, &MIX);
        assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
        assert!(raw.content() == ledger.content);
        let flow = &store.flows()[0];
        assert!(flow.reconnects > 1 && flow.reissued > 0, "{flow:?}");
        assert_eq!(flow.reads + flow.writes, MIX.operations, "each is completed once");
    }
}

/// The load over a network that is done something to at some operations; all must be done once and rightly.
fn through(faults: Faults, strike: impl Fn(&Soft, u64)) -> plimsoll_initiator::FlowCounters {
    let soft = Soft::with_faults(faults);
    let fabric: Arc<dyn Fabric> = Arc::clone(&soft) as Arc<dyn Fabric>;
    let (raw, mut store, mut ledger) = opened_on(&fabric, Setting::default());
    let load = Load { operations: 1000, ..MIX };
    run_with(&mut *store, &mut ledger, &load, &mut |number, _| strike(&soft, number));
    assert_eq!(ledger.count(Outcome::Done), 1000);
    assert!(raw.content() == ledger.content, "the unit differs");
    let flow = store.flows().remove(0);
    assert_eq!(flow.reads + flow.writes, 1000, "each is completed once");
    store.close(&mut ledger);
    flow
}

#[test]
fn completions_of_different_queues_in_any_order() {
    for seed in 1..8 {
        let flow = through(Faults { reorder: Some(seed), ..Faults::default() }, |_, _| {});
        assert_eq!(flow.reconnects, 0);
    }
}

#[test]
fn connections_that_break_after_so_many_work_requests() {
    // Fewer would end an operation by the number of connections lost under it.
    for works_left in [120, 151, 202, 400] {
        let faults =
            Faults { works_left: Some(works_left), reorder: Some(works_left), ..Faults::default() };
        assert!(through(faults, |_, _| {}).reconnects > 3);
    }
}

#[test]
fn a_pulled_cable() {
    let flow = through(Faults::default(), |soft, number| {
        if number % 250 == 100 {
            soft.break_all();
        }
    });
    assert_eq!(flow.reconnects, 4);
}

#[test]
fn an_adapter_that_is_removed_and_comes_back() {
    let flow = through(Faults::default(), |soft, number| match number {
        300 => soft.remove_device(),
        301 => {
            std::thread::sleep(std::time::Duration::from_millis(100));
            soft.restore_device();
        }
        _ => {}
    });
    assert_eq!(flow.reconnects, 1);
}

#[test]
fn an_address_that_moves_to_another_adapter() {
    let flow = through(Faults::default(), |soft, number| {
        if number == 500 {
            soft.change_address();
        }
    });
    assert_eq!(flow.reconnects, 1);
}

#[test]
fn a_path_that_goes_and_comes_under_load() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    run_with(&mut *store, &mut ledger, &Load { operations: 1000, ..MIX }, &mut |number, _| {
        match number {
            300 | 700 => {
                raw.cut();
                std::thread::sleep(std::time::Duration::from_millis(100));
                raw.restore();
            }
            _ => {}
        }
    });
    assert_eq!(ledger.count(Outcome::Done), 1000);
    assert!(raw.content() == ledger.content);
    assert!(store.flows()[0].reconnects >= 2);
}

#[test]
fn with_the_path_down_for_too_long_operations_are_lost_once() {
    let fabric = fabric();
    let raw = Raw::start(&fabric, Setting::default());
    let patience =
        Options { path_timeout: std::time::Duration::from_millis(400), ..options(&fabric) };
    let mut store = open(&raw.url(), &patience).unwrap();
    let mut ledger = Ledger::new(raw.content());
    raw.cut();
    for tag in 0..10 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::NoPath)), 10);
    raw.restore();
    let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while store.flows()[0].state != plimsoll_initiator::FlowState::Up {
        assert!(std::time::Instant::now() < end, "{:?}", store.flows());
        store.poll(Some(std::time::Duration::from_millis(20)), &mut ledger).unwrap();
    }
    submit(&mut *store, &mut ledger, &read_op(10, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&10], Outcome::Done);
}

#[test]
fn fewer_bytes_than_asked_for_are_short_and_not_done() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, _| Act::Short);
    submit(&mut *store, &mut ledger, &read_op(0, 0, 64), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::Short);
    assert_eq!(ledger.completions[0].bytes, 64 * 256);
}

#[test]
fn an_operation_that_kills_every_connection_is_given_up() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|command, _| if command.cdb[9] == 7 { Act::Disconnect } else { Act::Serve });
    submit(&mut *store, &mut ledger, &read_op(0, 7, 1), 0);
    settle(&mut *store, &mut ledger, 20);
    assert_eq!(ledger.outcomes[&0], Outcome::Lost(LostReason::Reissues));
    submit(&mut *store, &mut ledger, &read_op(1, 8, 1), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&1], Outcome::Done);
}

#[test]
fn closing_ends_everything_once() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, _| Act::Forget);
    for tag in 0..100 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    store.poll(Some(std::time::Duration::from_millis(50)), &mut ledger).unwrap();
    store.close(&mut ledger);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::Closed)), 100);
    assert_eq!((ledger.under_way(), store.in_flight()), (0, 0));
}
