//! What went wrong between other initiators and targets, numbered as in the notes on interoperability: the
//! initiator's side of each.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use plimsoll_initiator::{LostReason, Outcome, Transport, Url, iscsi};
use plimsoll_wire::scsi::SenseKey;

use super::super::{read_op, run, settle, submit, write_op};
use super::*;

/// The act strikes every 20th command; everything must be done all the same, by reissues on new sessions, and
/// the path must tell why it was lost.
fn survives(act: Act, why: &str) {
    survives_on(Faults::default(), act, why);
}

fn survives_on(faults: Faults, act: Act, why: &str) {
    let fabric: Arc<dyn Fabric> = Soft::with_faults(faults);
    let (raw, mut store, mut ledger) = opened_on(&fabric, Setting::default());
    raw.set_script(move |_, number| if number % 20 == 10 { act } else { Act::Serve });
    let mut reasons = Vec::new();
    super::super::run_with(&mut *store, &mut ledger, &MIX, &mut |_, store| {
        reasons.extend(store.flows()[0].last_end.clone());
    });
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize, "{act:?}");
    assert!(raw.content() == ledger.content, "{act:?}: the unit differs");
    let flow = &store.flows()[0];
    assert!(flow.reconnects >= 2, "{act:?}: {} reconnects", flow.reconnects);
    assert_eq!(flow.reads + flow.writes, MIX.operations, "{act:?}: reissues are not counted");
    assert!(reasons.iter().any(|reason| reason.contains(why)), "{act:?}: {reasons:?}");
    store.close(&mut ledger);
}

#[test]
fn pitfall_01_an_accept_without_private_data_promises_nothing() {
    for (private_data, padded_to) in [(vec![], 0), (vec![], 196), (vec![0x80, 0, 0, 0], 196)] {
        let fabric: Arc<dyn Fabric> = Soft::with_faults(Faults { padded_to, ..Faults::default() });
        let raw = Raw::start(&fabric, Setting::default());
        *raw.shared.private_data.lock().unwrap() = private_data;
        let mut store = open(&raw.url(), &options(&fabric)).unwrap();
        let mut ledger = Ledger::new(raw.content());
        run(&mut *store, &mut ledger, &MIX);
        assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
        let asks = &raw.shared.asks.lock().unwrap()[0];
        assert_eq!(asks.private_data[0], 0xc0, "no abilities of our own");
        assert!(asks.responder_resources > 0, "the target may fetch");
    }
}

#[test]
fn pitfall_02_an_invalidation_that_nobody_allowed_ends_the_connection() {
    // Registrations as an adapter in a kernel has them: then it is noticed by the completion.
    let invalidatable = Faults { invalidatable: true, ..Faults::default() };
    survives_on(invalidatable, Act::InvalidateOwn, "invalidated key");
    // Registrations of user space: then the adapter ends the connection.
    survives(Act::InvalidateOwn, "");
    survives(Act::InvalidateBogus, "");
}

#[test]
fn pitfall_02_an_invalidation_told_by_the_adapter_alone_ends_the_connection() {
    let soft = Soft::new();
    let fabric: Arc<dyn Fabric> = Arc::clone(&soft) as Arc<dyn Fabric>;
    let (raw, mut store, mut ledger) = opened_on(&fabric, Setting::default());
    super::super::run_with(&mut *store, &mut ledger, &MIX, &mut |number, _| {
        if number == 100 {
            soft.invalidate_unasked(0x0bad_0bad);
        }
    });
    assert_eq!(ledger.count(Outcome::Done), MIX.operations as usize);
    assert_eq!(store.flows()[0].reconnects, 1);
    assert!(raw.content() == ledger.content);
}

#[test]
fn pitfall_04_receives_are_posted_before_the_login_ends() {
    let fabric: Arc<dyn Fabric> =
        Soft::with_faults(Faults { rnr_fails: true, ..Faults::default() });
    let (raw, mut store, mut ledger) = opened_on(&fabric, Setting::default());
    run(&mut *store, &mut ledger, &MIX);
    assert_eq!(raw.shared.pongs.load(Ordering::SeqCst), 4, "all that came at once were answered");
    assert_eq!(store.flows()[0].reconnects, 0);
}

#[test]
fn pitfall_06_more_data_than_this_end_takes_ends_the_connection() {
    survives(Act::LongMessage, "");
}

#[test]
fn pitfall_06_answers_in_pieces_are_put_together() {
    let fabric = fabric();
    for text_bytes in [100, 201, 4096] {
        let raw = Raw::start(&fabric, Setting { targets: 40, text_bytes, ..Setting::default() });
        let port = raw.address.port();
        let found = iscsi::discover(Transport::Iser, "127.0.0.1", port, &options(&fabric)).unwrap();
        assert_eq!(found.len(), 40);
    }
}

#[test]
fn pitfall_09_no_command_moves_more_than_512_kib() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    submit(&mut *store, &mut ledger, &write_op(0, 100, 4096), 5);
    submit(&mut *store, &mut ledger, &read_op(1, 8192, 3000), 0);
    settle(&mut *store, &mut ledger, 5);
    submit(&mut *store, &mut ledger, &read_op(2, 100, 4096), 0);
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(ledger.count(Outcome::Done), 3);
    assert_eq!(raw.shared.longest.load(Ordering::SeqCst), 512 << 10);
    assert!(raw.content() == ledger.content);
}

#[test]
fn pitfall_10_nothing_is_padded() {
    // The target asserts it of every message; the names make the login's keys odd.
    for name in ["iqn.2026-01.test:a", "iqn.2026-01.test:ab", "iqn.2026-01.test:abc"] {
        let fabric = fabric();
        let raw = Raw::start(&fabric, Setting::default());
        let options = Options { initiator_name: name.to_owned(), ..options(&fabric) };
        let mut store = open(&raw.url(), &options).unwrap();
        let mut ledger = Ledger::new(raw.content());
        raw.set_script(|_, number| match number {
            3 => Act::Check(SenseKey::UnitAttention, 0x29, 0),
            _ => Act::Serve,
        });
        run(&mut *store, &mut ledger, &MIX);
        assert_eq!(store.flows()[0].unit_attentions, 1);
    }
}

#[test]
fn pitfall_11_a_message_shorter_than_its_headers_say_ends_the_connection() {
    survives(Act::ShortMessage, "shorter than its headers say");
    survives(Act::Stump, "shorter than its headers say");
}

#[test]
fn pitfall_14_a_tag_that_nobody_gave_ends_the_connection() {
    survives(Act::WrongTag, "unknown task");
    survives(Act::Twice, "unknown task");
}

#[test]
fn pitfall_14_memory_has_one_right_and_ends_where_it_ends() {
    survives(Act::PlaceBeyond, "");
    survives(Act::WrongRight, "");
    survives(Act::StaleKey, "");
}

#[test]
fn pitfall_14_a_send_in_sixteen_asks_for_its_completion_and_none_is_used_before() {
    let (_raw, mut store, mut ledger) = opened(Setting::default());
    run(&mut *store, &mut ledger, &Load { operations: 4000, depth: 32, ..MIX });
    let fabric = counters(&*store).fabric;
    assert_eq!(fabric.signalled, fabric.sends / 16);
    assert!(fabric.sends >= 4000 && fabric.receives >= 4000, "{fabric:?}");
    assert_eq!((fabric.reads, fabric.writes), (0, 0), "data is moved by the target");
}

#[test]
fn pitfall_15_silence_is_noticed_by_pings_long_before_the_fabric_notices() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, number| if number == 20 { Act::Stall } else { Act::Serve });
    let start = Instant::now();
    run(&mut *store, &mut ledger, &Load { operations: 100, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 100);
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(500), "two keepalive times of 300 ms: {took:?}");
    assert!(took < Duration::from_secs(4), "{took:?}");
    assert_eq!(store.flows()[0].reconnects, 1);
}

#[test]
fn pitfall_17_a_first_login_that_fails_is_tried_again() {
    for (rejects, breaks) in [(1, 0), (0, 1)] {
        let fabric = fabric();
        let raw = Raw::start(&fabric, Setting::default());
        let fail = || {
            raw.shared.rejects.store(rejects, Ordering::SeqCst);
            raw.shared.breaks.store(breaks, Ordering::SeqCst);
        };
        fail();
        let mut store = open(&raw.url(), &options(&fabric)).unwrap();
        let mut ledger = Ledger::new(raw.content());
        run(&mut *store, &mut ledger, &Load { operations: 20, ..MIX });
        assert_eq!(ledger.count(Outcome::Done), 20);
        fail();
        let Url::Iscsi(url) = Url::parse(&raw.url()).unwrap() else { unreachable!() };
        let device = iscsi::Device::connect(&url, &options(&fabric)).unwrap();
        assert_eq!(device.facts().serial, "FAKE0001");
        device.close();
    }
}

#[test]
fn pitfall_18_the_keys_of_rfc7145_are_negotiated_and_digests_are_not() {
    let (raw, _store, _) = opened(Setting::default());
    let keys = raw.shared.keys.lock().unwrap();
    let value = |name: &str| keys.iter().find(|(key, _)| key == name).map(|(_, value)| &**value);
    assert_eq!(value("RDMAExtensions"), Some("Yes"));
    assert_eq!(value("InitialR2T"), Some("Yes"));
    assert_eq!(value("InitiatorRecvDataSegmentLength"), Some("512"));
    assert_eq!(value("TargetRecvDataSegmentLength"), Some("4096"));
    assert_eq!((value("HeaderDigest"), value("DataDigest")), (None, None));
}

#[test]
fn lio_numbers_answers_in_one_thread_and_sends_them_in_another() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, number| if number % 3 == 0 { Act::Overtaken } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { operations: 2000, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 2000);
    assert!(raw.content() == ledger.content);
    assert_eq!(store.flows()[0].reconnects, 0);
    // The numbers still have to be right: one that came before is a broken target.
    survives(Act::OldStatSn, "StatSN");
}

#[test]
fn rfc7145_7_3_data_by_pdus_and_hello_end_the_connection() {
    survives(Act::R2t, "RFC 7145");
    survives(Act::Hello, "Hello");
    survives(Act::WildResidual, "residual");
}

#[test]
fn rfc7145_7_3_3_an_aborted_task_keeps_its_memory_until_the_target_lets_go() {
    let fabric = fabric();
    let raw = Raw::start(&fabric, Setting::default());
    let patience = Options { op_timeout: Duration::from_millis(300), ..options(&fabric) };
    let mut store = open(&raw.url(), &patience).unwrap();
    let mut ledger = Ledger::new(raw.content());
    // The target scribbles over what it forgot until it answers the abort; every other read is checked.
    raw.set_script(
        |command, number| {
            if command.read && number % 10 == 5 { Act::Forget } else { Act::Serve }
        },
    );
    run(&mut *store, &mut ledger, &Load { operations: 300, writes: 20, ..MIX });
    let lost = ledger.count(Outcome::Lost(LostReason::Timeout));
    assert_eq!(ledger.count(Outcome::Done) + lost, 300);
    assert_eq!(raw.shared.aborts.load(Ordering::SeqCst), lost as u64);
    assert!(lost >= 15, "{lost}");
    assert_eq!(store.flows()[0].reconnects, 0, "an abort that works needs no new session");
}

#[test]
fn rfc7145_8_1_many_aborts_at_once_are_sent_as_the_target_takes_them() {
    let fabric = fabric();
    let raw = Raw::start(&fabric, Setting::default());
    let patience = Options { op_timeout: Duration::from_millis(300), ..options(&fabric) };
    let mut store = open(&raw.url(), &patience).unwrap();
    let mut ledger = Ledger::new(raw.content());
    raw.set_script(|_, _| Act::Forget);
    for tag in 0..60 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 8), 0);
    }
    settle(&mut *store, &mut ledger, 10);
    assert_eq!(ledger.count(Outcome::Lost(LostReason::Timeout)), 60);
    assert_eq!(raw.shared.aborts.load(Ordering::SeqCst), 60);
    assert_eq!(store.flows()[0].reconnects, 0);
}
