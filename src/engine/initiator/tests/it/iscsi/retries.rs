//! Statuses that are no success: which are retried, which are told, and what each is counted as.

use plimsoll_initiator::{Outcome, Sense};
use plimsoll_wire::scsi::SenseKey;

use super::fake::{Act, Setting};
use super::*;

const MIX: Load = Load { operations: 300, depth: 16, writes: 40, max_blocks: 16, seconds: 20 };

fn every_seventh(act: Act) -> plimsoll_initiator::FlowCounters {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(move |_, number| if number % 7 == 3 { act } else { Act::Serve });
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize, "{act:?}");
    assert!(*fake.shared.blocks.lock().unwrap() == ledger.content, "{act:?}: the unit differs");
    let flow = store.flows().remove(0);
    assert_eq!(flow.reads + flow.writes, MIX.operations, "{act:?}: retries are not counted");
    assert_eq!((flow.reconnects, flow.errors), (0, 0), "{act:?}");
    flow
}

#[test]
fn sam5_5_3_1_busy_is_retried_and_counted_apart() {
    // The fake itself answers BUSY to commands that come while it gathers a write.
    assert!(every_seventh(Act::Status(0x08)).busy >= 40);
}

#[test]
fn sam5_5_3_1_task_set_full_is_retried_and_counted_apart() {
    assert!(every_seventh(Act::Status(0x28)).task_set_full >= 40);
}

#[test]
fn sam5_5_14_unit_attention_is_retried_and_counted_apart() {
    let flow = every_seventh(Act::Check(SenseKey::UnitAttention, 0x29, 0));
    assert!(flow.unit_attentions >= 40);
}

#[test]
fn an_aborted_command_is_retried() {
    every_seventh(Act::Check(SenseKey::AbortedCommand, 0, 0));
}

#[test]
fn what_stays_busy_ends_as_busy() {
    let patience = Options { op_timeout: Duration::from_millis(400), ..options() };
    for (status, outcome) in [(0x08, Outcome::Busy), (0x28, Outcome::TaskSetFull)] {
        let (fake, mut store, mut ledger) = opened(Setting::default(), &patience);
        fake.set_script(move |_, _| Act::Status(status));
        submit(&mut *store, &mut ledger, &read_op(0, 0, 8), 0);
        settle(&mut *store, &mut ledger, 5);
        assert_eq!(ledger.outcomes[&0], outcome);
        assert_eq!((store.flows()[0].reads, store.flows()[0].errors), (0, 1));
    }
}

#[test]
fn an_endless_unit_attention_ends_as_one() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, _| Act::Check(SenseKey::UnitAttention, 0x29, 3));
    submit(&mut *store, &mut ledger, &read_op(0, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::UnitAttention(0x29, 3));
}

#[test]
fn sam5_5_3_1_a_reservation_conflict_is_told_at_once() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, _| Act::Status(0x18));
    submit(&mut *store, &mut ledger, &write_op(0, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::ReservationConflict);
    let flow = &store.flows()[0];
    assert_eq!((flow.reservation_conflicts, flow.writes, flow.errors), (1, 0, 0));
}

#[test]
fn a_medium_error_is_told_with_its_sense() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, _| Act::Check(SenseKey::MediumError, 0x11, 0));
    submit(&mut *store, &mut ledger, &read_op(0, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    let sense = Sense { key: 3, asc: 0x11, ascq: 0 };
    assert_eq!(ledger.outcomes[&0], Outcome::CheckCondition(sense));
    assert_eq!(store.flows()[0].errors, 1);
}

#[test]
fn spc5_a_capacity_that_grew_is_noticed() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    assert_eq!(store.capacity_bytes(), 8 << 20);
    fake.shared.blocks.lock().unwrap().resize(16 << 20, 0);
    fake.set_script(|_, number| match number {
        0 => Act::Check(SenseKey::UnitAttention, 0x2a, 0x09),
        _ => Act::Serve,
    });
    submit(&mut *store, &mut ledger, &read_op(0, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&0], Outcome::Done);
    store.poll(Some(Duration::from_millis(300)), &mut ledger).unwrap();
    assert_eq!(store.capacity_bytes(), 16 << 20);
}
