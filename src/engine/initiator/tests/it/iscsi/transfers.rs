//! Data in both directions by every way that the negotiation allows (RFC 7143 section 4.2.5).

use std::sync::atomic::Ordering;

use plimsoll_initiator::{Error, Op, OpKind, Outcome};

use super::fake::{Act, Setting};
use super::*;

const MIX: Load = Load { operations: 2000, depth: 24, writes: 50, max_blocks: 64, seconds: 20 };

fn mixed(setting: Setting) -> fake::Fake {
    let (fake, mut store, mut ledger) = opened(setting, &options());
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
    assert!(*fake.shared.blocks.lock().unwrap() == ledger.content, "the unit differs");
    assert_eq!(store.flows()[0].reconnects, 0, "the target found nothing to complain of");
    store.close(&mut ledger);
    fake
}

#[test]
fn rfc7143_4_2_5_2_immediate_data_then_r2t() {
    mixed(Setting::default());
}

#[test]
fn rfc7143_4_2_5_2_no_immediate_data_all_by_r2t() {
    mixed(Setting { immediate: false, ..Setting::default() });
}

#[test]
fn rfc7143_4_2_5_2_unsolicited_data_out() {
    mixed(Setting { initial_r2t: false, first_burst: 40 << 10, ..Setting::default() });
    mixed(Setting { initial_r2t: false, immediate: false, ..Setting::default() });
}

#[test]
fn rfc7143_4_2_2_1_a_window_of_one_is_obeyed() {
    mixed(Setting { window: 1, ..Setting::default() });
}

#[test]
fn rfc7143_13_1_digests_both_ways_by_every_kind_of_data() {
    let digests = plimsoll_initiator::Digests { header: true, data: true };
    let with = Options { digests, ..options() };
    for initial_r2t in [true, false] {
        let setting = Setting { digests: true, initial_r2t, ..Setting::default() };
        let (fake, mut store, mut ledger) = opened(setting, &with);
        run(&mut *store, &mut ledger, &MIX);
        assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
        assert!(*fake.shared.blocks.lock().unwrap() == ledger.content, "the unit differs");
        assert_eq!(store.flows()[0].reconnects, 0, "the target found nothing to complain of");
    }
    let plain = fake::Fake::start(Setting::default());
    assert!(open(&plain.url(), &with).is_err(), "digests are insisted on");
}

#[test]
fn rfc7143_7_8_data_that_its_digest_does_not_match_is_read_again() {
    let digests = plimsoll_initiator::Digests { header: true, data: true };
    let with = Options { digests, ..options() };
    let (fake, mut store, mut ledger) =
        opened(Setting { digests: true, ..Setting::default() }, &with);
    fake.set_script(|_, number| if number % 50 == 20 { Act::WrongDigest } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { operations: 300, writes: 0, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 300);
    assert!(store.flows()[0].reconnects >= 5);
}

#[test]
fn sbc4_6_6_5_large_transfers_are_split_at_the_limit_of_the_unit() {
    let setting = Setting { max_transfer: 32 << 10, ..Setting::default() };
    let (fake, mut store, mut ledger) = opened(setting, &options());
    submit(&mut *store, &mut ledger, &write_op(0, 3, 2048), 9);
    settle(&mut *store, &mut ledger, 10);
    submit(&mut *store, &mut ledger, &read_op(1, 0, 4096), 0);
    settle(&mut *store, &mut ledger, 10);
    assert_eq!(ledger.count(Outcome::Done), 2);
    assert_eq!(fake.shared.longest.load(Ordering::SeqCst), 32 << 10);
    let flows = store.flows();
    assert_eq!((flows[0].reads, flows[0].writes), (1, 1), "parts are not operations");
    assert_eq!(flows[0].read_bytes, 2 << 20);
}

#[test]
fn a_flush_is_a_synchronize_cache() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|command, _| {
        assert_eq!(command.cdb[0], 0x91);
        Act::Serve
    });
    let flush = Op { tag: 5, kind: OpKind::Flush, offset: 0, len: 0 };
    submit(&mut *store, &mut ledger, &flush, 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.outcomes[&5], Outcome::Done);
}

#[test]
fn operations_that_do_not_fit_are_refused_before_they_are_sent() {
    let (_fake, mut store, _) = opened(Setting::default(), &options());
    let refused = |store: &mut dyn Datastore, op: Op| {
        assert!(matches!(store.submit(&op, None), Err(Error::Operation { .. })), "{op:?}");
    };
    let capacity = store.capacity_bytes();
    assert_eq!(capacity, 8 << 20);
    refused(&mut *store, Op { tag: 0, kind: OpKind::Read, offset: capacity, len: 512 });
    refused(&mut *store, Op { tag: 0, kind: OpKind::Read, offset: u64::MAX - 511, len: 512 });
    refused(&mut *store, Op { tag: 0, kind: OpKind::Read, offset: 1, len: 512 });
    refused(&mut *store, Op { tag: 0, kind: OpKind::Read, offset: 0, len: 100 });
    refused(&mut *store, Op { tag: 0, kind: OpKind::Read, offset: 0, len: 0 });
    refused(&mut *store, Op { tag: 0, kind: OpKind::Write, offset: 0, len: 512 });
    assert_eq!(store.in_flight(), 0);
}

#[test]
fn rfc7143_11_19_a_ping_of_the_target_is_answered() {
    let (fake, mut store, mut ledger) = opened(Setting::default(), &options());
    fake.set_script(|_, number| if number % 10 == 3 { Act::Ping } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { operations: 100, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 100);
    store.poll(Some(Duration::from_millis(100)), &mut ledger).unwrap();
    assert_eq!(fake.shared.pongs.load(Ordering::SeqCst), 10);
    assert_eq!(store.flows()[0].reconnects, 0);
}

#[test]
fn spinning_gives_the_same_answers() {
    let spinning = plimsoll_initiator::Options { spin: Duration::from_micros(50), ..options() };
    let (_fake, mut store, mut ledger) = opened(Setting::default(), &spinning);
    run(&mut *store, &mut ledger, &Load { operations: 500, depth: 1, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 500);
}
