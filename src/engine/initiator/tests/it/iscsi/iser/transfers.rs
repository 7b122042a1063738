//! Data in both directions by every way that iSER has, and what it costs.

use std::sync::atomic::Ordering;

use plimsoll_initiator::{Error, Outcome, Transport};

use super::super::{read_op, run, settle, submit, write_op};
use super::*;

fn mixed(setting: Setting) -> (Raw, Box<dyn Datastore>) {
    let (raw, mut store, mut ledger) = opened(setting);
    let load = Load { operations: 2000, depth: 24, max_blocks: 64, ..MIX };
    run(&mut *store, &mut ledger, &load);
    assert_eq!(ledger.count(Outcome::Done), 2000);
    assert!(raw.content() == ledger.content, "the unit differs");
    let flow = &store.flows()[0];
    assert_eq!((flow.reconnects, flow.transport), (0, Transport::Iser));
    assert!(flow.name.starts_with("iser "), "{}", flow.name);
    (raw, store)
}

#[test]
fn rfc7145_7_3_reads_are_placed_and_writes_fetched() {
    let (raw, mut store) = mixed(Setting::default());
    assert!(raw.shared.immediate.load(Ordering::SeqCst) > 0, "small writes go with their command");
    store.close(&mut Ledger::new(Vec::new()));
}

#[test]
fn rfc7145_7_3_without_immediate_data_everything_is_fetched() {
    let (raw, _store) = mixed(Setting { immediate_data: false, ..Setting::default() });
    assert_eq!(raw.shared.immediate.load(Ordering::SeqCst), 0);
}

#[test]
fn rfc7143_4_2_2_1_a_window_of_one_is_obeyed() {
    mixed(Setting { window: 1, ..Setting::default() });
}

#[test]
fn answers_in_another_order_than_asked_for() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, number| if number % 2 == 0 { Act::Later } else { Act::Serve });
    run(&mut *store, &mut ledger, &Load { writes: 0, operations: 401, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 401);
    assert_eq!(store.flows()[0].reconnects, 0);
}

#[test]
fn pings_of_the_target_are_answered() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    raw.set_script(|_, number| if number % 4 == 1 { Act::Ping } else { Act::Serve });
    run(&mut *store, &mut ledger, &MIX);
    let pongs = || raw.shared.pongs.load(Ordering::SeqCst);
    let end = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while pongs() < 104 && std::time::Instant::now() < end {
        store.poll(Some(std::time::Duration::from_millis(20)), &mut ledger).unwrap();
    }
    assert_eq!(pongs(), 104, "four of the login and one in four");
    assert_eq!(store.flows()[0].reconnects, 0);
}

#[test]
fn payloads_in_reachable_memory_are_not_copied_and_others_are_counted() {
    let (raw, mut store, mut ledger) = opened(Setting::default());
    let write = |store: &mut Box<dyn Datastore>, payload: Payload| {
        let len = payload.len() as u32;
        store.submit(&op(900, OpKind::Write, 0, len), Some(payload)).unwrap();
        let mut done = Done(0);
        while done.0 == 0 {
            store.poll(Some(std::time::Duration::from_millis(20)), &mut done).unwrap();
        }
    };
    let before = counters(&*store);
    assert_eq!((before.copies, before.copied_bytes), (0, 0), "the set-up writes nothing");
    for _ in 0..10 {
        write(&mut store, reachable(8192, 7));
        write(&mut store, reachable(512 << 10, 7));
    }
    assert_eq!(counters(&*store).copies, 0, "solicited data goes from where it is");
    write(&mut store, Payload::from_vec(vec![9; 65_536]));
    let after = counters(&*store);
    assert_eq!((after.copies, after.copied_bytes), (1, 65_536));
    write(&mut store, reachable(512, 3));
    let after = counters(&*store);
    assert_eq!((after.copies, after.copied_bytes), (2, 66_048), "immediate data is copied");
    assert!(raw.content()[..512].iter().all(|byte| *byte == 3));
    assert!(raw.content()[512..65_536].iter().all(|byte| *byte == 9));
    // Reads cost none at all: they are looked at in place.
    ledger.content = raw.content();
    for tag in 0..10 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag * 100, 64), 0);
    }
    settle(&mut *store, &mut ledger, 5);
    assert_eq!(counters(&*store).copies, 2);
}

struct Done(u32);

impl plimsoll_initiator::Sink for Done {
    fn data(&mut self, _tag: u64, _at: u32, _bytes: &[u8]) {}
    fn done(&mut self, completion: plimsoll_initiator::Completion) {
        assert_eq!(completion.outcome, Outcome::Done);
        self.0 += 1;
    }
}

#[test]
fn wake_ups_stay_below_two_an_io_alone_and_a_fifth_with_many() {
    let (_raw, mut store, mut ledger) = opened(Setting { window: 128, ..Setting::default() });
    for (depth, most) in [(1, 2.0), (32, 0.2)] {
        let before = counters(&*store).fabric;
        let load = Load { operations: 2000, depth, writes: 0, max_blocks: 16, seconds: 30 };
        run(&mut *store, &mut ledger, &load);
        let after = counters(&*store).fabric;
        let each = (after.wake_ups - before.wake_ups) as f64 / 2000.0;
        assert!(each <= most, "{each} wake-ups an I/O at a depth of {depth}");
    }
}

#[test]
fn more_is_asked_for_than_there_is_memory_and_waits() {
    // 300 transfers of 512 KiB: more than the slots of a connection.
    let fabric = fabric();
    let raw = Raw::start(&fabric, Setting { window: 512, ..Setting::default() });
    let options = Options { flow_depth: 512, ..options(&fabric) };
    let mut store = open(&raw.url(), &options).unwrap();
    let mut ledger = Ledger::new(raw.content());
    for tag in 0..300 {
        submit(&mut *store, &mut ledger, &read_op(tag, tag, 1024), 0);
    }
    settle(&mut *store, &mut ledger, 20);
    assert_eq!(ledger.count(Outcome::Done), 300);
    let registered = counters(&*store).registered_bytes;
    assert!(registered < 70 << 20, "{registered}");
    submit(&mut *store, &mut ledger, &write_op(300, 0, 8), 0);
    settle(&mut *store, &mut ledger, 5);
}

#[test]
fn without_a_provider_of_rdma_the_reason_is_told() {
    let options = Options { rdma_absent: "no adapter was found".to_owned(), ..Options::default() };
    let error = open("iser://127.0.0.1/iqn.x/0", &options).err().unwrap();
    assert!(matches!(error, Error::Option { option: "rdma", .. }), "{error}");
    assert!(error.to_string().contains("no adapter was found"), "{error}");
    let portals = vec!["iser:127.0.0.1".to_owned()];
    let options = Options { portals, ..options };
    assert!(open("iscsi://127.0.0.1/iqn.x/0", &options).is_err());
}

#[test]
fn nobody_listens() {
    let fabric = fabric();
    let error = open("iser://127.0.0.1:9/iqn.x/0", &options(&fabric)).err().unwrap();
    assert!(matches!(error, Error::Connect { .. }), "{error}");
}
