//! Both ends of this project over the fabric in process: data, counts per I/O, CHAP, discovery, and units with
//! paths over TCP and RDMA.

use std::net::{SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use plimsoll_fabric::Loops;
use plimsoll_initiator::iscsi::{Device, discover};
use plimsoll_initiator::{
    Chap, Completion, Error, FlowState, Outcome, Policy, Sink, Transport, Url,
};
use plimsoll_storage::{Blocking, Kind, Limits, Volume, VolumeSettings};
use plimsoll_target_iscsi::{Access, Portal, RdmaStats, Server, Settings, TargetSettings};
use plimsoll_target_scsi::{Identity, LogicalUnit, Port, UnitSettings};
use plimsoll_wire::iscsi::chap::Credentials;

use super::super::{read_op, run, run_with, settle, submit, write_op};
use super::*;

const TARGET: &str = "iqn.2026-11.example.plimsoll:test";
const BYTES: usize = 16 << 20;

/// An array with a portal for TCP and one for RDMA on the same address. Fields drop in order.
struct Array {
    rdma: Option<Portal>,
    tcp: Option<Portal>,
    server: Server,
    loops: Loops,
    soft: Arc<Soft>,
    address: SocketAddr,
}

impl Array {
    fn start(faults: Faults, access: Vec<Access>) -> Self {
        let loops = Loops::start(1, Duration::ZERO, "test-io").unwrap();
        let blocking = Arc::new(Blocking::start(1, 256).unwrap());
        let identity = Identity {
            vendor: "PLIMSOLL".to_owned(),
            product: "TEST".to_owned(),
            revision: "1".to_owned(),
        };
        let ports = [Port { relative: 1, group: 1 }];
        let device = plimsoll_target_scsi::Device::new(TARGET, identity, &ports);
        let settings = VolumeSettings {
            name: "unit".to_owned(),
            kind: Kind::Block,
            size_bytes: BYTES as u64,
            limits: Limits::default(),
            remote: None,
        };
        let volume = Volume::memory(settings, "00000000000000a1");
        device.map(0, LogicalUnit::new(volume, UnitSettings::default()));
        let server = Server::new(Settings::default(), blocking);
        let target = TargetSettings { name: TARGET.to_owned(), alias: None, access };
        server.add_target(target, device).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let soft = Soft::with_faults(faults);
        let tcp = Some(server.listen(&loops, listener, 1).unwrap());
        let mut array = Self { rdma: None, tcp, server, loops, soft, address };
        array.listen_rdma();
        array
    }

    fn plain() -> Self {
        Self::start(Faults::default(), Vec::new())
    }

    fn listen_rdma(&mut self) {
        let listener = self.soft.listen(self.address).unwrap();
        self.rdma = Some(self.server.listen_rdma(&self.loops, listener, 1));
    }

    fn url(&self) -> String {
        format!("iser://{}/{TARGET}/0", self.address)
    }

    fn options(&self) -> Options {
        options(&(Arc::clone(&self.soft) as Arc<dyn Fabric>))
    }

    fn open(&self) -> (Box<dyn Datastore>, Ledger) {
        (open(&self.url(), &self.options()).unwrap(), Ledger::new(vec![0; BYTES]))
    }

    /// Ends every session over TCP.
    fn drop_tcp(&self) {
        for session in self.server.sessions() {
            if session.rdma.is_none() {
                self.server.drop_session(session.tsih);
            }
        }
    }

    fn stats(&self) -> RdmaStats {
        let sessions = self.server.sessions();
        sessions.iter().find_map(|session| session.rdma).expect("a session over RDMA")
    }
}

/// Everything that was written is read again, by the content that the ledger has.
fn read_all(store: &mut dyn Datastore, ledger: &mut Ledger) {
    let first = 1 << 32;
    let each = 1024;
    for index in 0..(BYTES / 512 / each) as u64 {
        submit(store, ledger, &read_op(first + index, index * each as u64, each as u32), 0);
        if index % 4 == 3 {
            settle(store, ledger, 10);
        }
    }
    settle(store, ledger, 10);
}

#[test]
fn a_mixed_load_with_everything_read_again() {
    let array = Array::plain();
    let (mut store, mut ledger) = array.open();
    run(&mut *store, &mut ledger, &Load { operations: 4000, depth: 32, max_blocks: 256, ..MIX });
    read_all(&mut *store, &mut ledger);
    assert_eq!(ledger.count(Outcome::Done), ledger.outcomes.len());
    let flow = &store.flows()[0];
    assert_eq!((flow.reconnects, flow.errors, flow.busy), (0, 0, 0), "{flow:?}");
    store.close(&mut ledger);
}

#[test]
fn pitfall_09_large_transfers_are_split() {
    let array = Array::plain();
    let (mut store, mut ledger) = array.open();
    submit(&mut *store, &mut ledger, &write_op(0, 3, 8192), 77);
    settle(&mut *store, &mut ledger, 10);
    read_all(&mut *store, &mut ledger);
    submit(&mut *store, &mut ledger, &read_op(1, 1, 10_000), 0);
    settle(&mut *store, &mut ledger, 10);
    assert_eq!(ledger.count(Outcome::Done), ledger.outcomes.len());
}

#[test]
fn faults_of_the_fabric_lose_and_double_nothing() {
    for faults in [
        Faults { reorder: Some(5), ..Faults::default() },
        Faults { reorder: Some(6), rnr_fails: true, late_established: true, ..Faults::default() },
        Faults { reads: 1, segments: 1, padded_to: 0, ..Faults::default() },
        Faults { works_left: Some(400), ..Faults::default() },
    ] {
        let array = Array::start(faults.clone(), Vec::new());
        let (mut store, mut ledger) = array.open();
        run(&mut *store, &mut ledger, &Load { operations: 1000, max_blocks: 130, ..MIX });
        array.soft.set_faults(Faults::default());
        array.soft.break_all();
        read_all(&mut *store, &mut ledger);
        assert_eq!(ledger.count(Outcome::Done), ledger.outcomes.len(), "{faults:?}");
    }
}

/// Counts of one I/O on both sides.
struct Each {
    own: RdmaCounters,
    target: RdmaStats,
}

struct Count(u32);

impl Sink for Count {
    fn data(&mut self, _tag: u64, _at: u32, _bytes: &[u8]) {}
    fn done(&mut self, completion: Completion) {
        assert_eq!(completion.outcome, Outcome::Done);
        self.0 += 1;
    }
}

/// Runs I/Os of one kind at a depth, from memory that RDMA can reach; the counts of all of them.
fn counts(kind: OpKind, len: u32, depth: u32, total: u32) -> Each {
    let array = Array::plain();
    let mut store = open(&array.url(), &array.options()).unwrap();
    // Blocks that were never written lie nowhere: fill the unit first.
    let mut filled = Count(0);
    for index in 0..16 {
        let fill = op(index, OpKind::Write, index << 20, 1 << 20);
        store.submit(&fill, Some(reachable(1 << 20, 3))).unwrap();
    }
    while filled.0 < 16 {
        store.poll(Some(Duration::from_millis(100)), &mut filled).unwrap();
    }
    let mut go = |count: u32| {
        let (mut submitted, mut done) = (0, Count(0));
        while done.0 < count {
            while submitted < count && submitted - done.0 < depth {
                let places = BYTES as u32 / len;
                let offset = u64::from(submitted * 7 % places * len);
                let data = (kind == OpKind::Write).then(|| reachable(len as usize, 5));
                store.submit(&op(submitted.into(), kind, offset, len), data).unwrap();
                submitted += 1;
            }
            store.poll(Some(Duration::from_millis(100)), &mut done).unwrap();
        }
        (counters(&*store), array.stats())
    };
    let before = go(total / 4);
    let after = go(total);
    std::thread::sleep(Duration::from_millis(20));
    let less = |new: u64, old: u64| new - old;
    let (fabric, old) = (after.0.fabric, before.0.fabric);
    Each {
        own: RdmaCounters {
            fabric: plimsoll_fabric::rdma::Counters {
                sends: less(fabric.sends, old.sends),
                receives: less(fabric.receives, old.receives),
                signalled: less(fabric.signalled, old.signalled),
                send_completions: less(fabric.send_completions, old.send_completions),
                doorbells: less(fabric.doorbells, old.doorbells),
                wake_ups: less(fabric.wake_ups, old.wake_ups),
                ..fabric
            },
            copies: less(after.0.copies, before.0.copies),
            ..after.0
        },
        target: RdmaStats {
            writes: less(after.1.writes, before.1.writes),
            reads: less(after.1.reads, before.1.reads),
            copied_bytes: less(after.1.copied_bytes, before.1.copied_bytes),
            wake_ups: less(after.1.wake_ups, before.1.wake_ups),
            ..after.1
        },
    }
}

#[test]
fn solicited_data_is_copied_on_neither_side() {
    for (len, total) in [(8192, 400), (512 << 10, 60)] {
        for kind in [OpKind::Read, OpKind::Write] {
            let each = counts(kind, len, 8, total);
            let (own, target) = (each.own.fabric, each.target);
            assert_eq!(each.own.copies, 0, "{kind:?} of {len}");
            // The unit may be asked for its size in between, which is told in a few bytes.
            assert!(target.copied_bytes < 512, "{kind:?} of {len}: {target:?}");
            let total = u64::from(total);
            assert!((total..total + 5).contains(&own.sends), "one send a command: {own:?}");
            assert!((total..total + 5).contains(&own.receives), "one response each: {own:?}");
            assert!(own.signalled <= total / 16 + 1);
        }
    }
}

#[test]
fn wake_ups_alone_and_with_many_under_way() {
    let wake_ups = |depth, total: u32| {
        let each = counts(OpKind::Read, 8192, depth, total);
        each.own.fabric.wake_ups as f64 / f64::from(total)
    };
    let (alone, many) = (wake_ups(1, 1000), wake_ups(32, 6400));
    assert!(alone <= 2.0, "{alone} wake-ups an I/O");
    assert!(many <= 0.2, "{many} wake-ups an I/O");
}

const ALL: [Policy; 6] = [
    Policy::Fixed,
    Policy::MostRecentlyUsed,
    Policy::RoundRobinIops(1),
    Policy::RoundRobinBytes(65_536),
    Policy::LeastQueueDepth,
    Policy::Latency,
];

#[test]
fn every_policy_over_tcp_and_rdma_survives_the_loss_of_either_under_load() {
    for policy in ALL {
        for rdma_first in [true, false] {
            let array = Array::plain();
            let tcp = array.address.to_string();
            let (url, portal) = if rdma_first {
                (array.url(), tcp)
            } else {
                (array.url().replace("iser://", "iscsi://"), format!("iser:{tcp}"))
            };
            let options = Options { policy, portals: vec![portal], ..array.options() };
            let mut store = open(&url, &options).unwrap();
            let mut ledger = Ledger::new(vec![0; BYTES]);
            let load = Load { operations: 1500, depth: 16, max_blocks: 64, ..MIX };
            run_with(&mut *store, &mut ledger, &load, &mut |number, _| match number {
                200 => array.soft.remove_device(),
                500 => array.soft.restore_device(),
                600 | 900 => array.drop_tcp(),
                1100 => array.soft.break_all(),
                _ if number % 100 == 0 => std::thread::sleep(Duration::from_millis(30)),
                _ => {}
            });
            read_all(&mut *store, &mut ledger);
            assert_eq!(ledger.count(Outcome::Done), ledger.outcomes.len(), "{policy}");
            let flows = store.flows();
            let moved: u64 = flows.iter().map(|flow| flow.reads + flow.writes).sum();
            assert_eq!(moved as usize, ledger.outcomes.len(), "{policy}");
            let over: Vec<_> = flows.iter().map(|flow| flow.transport).collect();
            let both = [Transport::Iser, Transport::Tcp];
            assert_eq!(over, if rdma_first { both } else { [both[1], both[0]] });
            let lost: u64 = flows.iter().map(|flow| flow.reconnects).sum();
            assert!(lost >= 2, "{policy}: {flows:?}");
        }
    }
}

#[test]
fn pitfall_18_chap_one_way_and_mutual() {
    let users = vec![Credentials::new("host", "twelve bytes or more")];
    let mutual = Some(Credentials::new("array", "and another of that size"));
    let chap = Some(plimsoll_target_iscsi::Chap { users, mutual });
    let array = Array::start(Faults::default(), vec![Access { chap, ..Access::default() }]);
    let own = Chap { user: "host".to_owned(), secret: "twelve bytes or more".to_owned() };
    let theirs = Chap { user: "array".to_owned(), secret: "and another of that size".to_owned() };
    for mutual_chap in [None, Some(theirs.clone())] {
        let options = Options { chap: Some(own.clone()), mutual_chap, ..array.options() };
        let mut store = open(&array.url(), &options).unwrap();
        let mut ledger = Ledger::new(vec![0; BYTES]);
        submit(&mut *store, &mut ledger, &read_op(0, 0, 8), 0);
        settle(&mut *store, &mut ledger, 5);
        store.close(&mut ledger);
    }
    let wrong = Chap { secret: "twelve other bytes".to_owned(), ..own.clone() };
    for (chap, mutual_chap) in [(wrong.clone(), None), (own, Some(Chap { ..wrong }))] {
        let options = Options { chap: Some(chap), mutual_chap, ..array.options() };
        let error = open(&array.url(), &options).err().unwrap();
        assert!(matches!(error, Error::Authentication { .. }), "{error}");
    }
}

#[test]
fn pitfall_19_discovery_over_either_and_both_kinds_of_sessions_on_one_portal() {
    let array = Array::plain();
    let (host, port) = (array.address.ip().to_string(), array.address.port());
    for transport in [Transport::Tcp, Transport::Iser] {
        let found = discover(transport, &host, port, &array.options()).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].name, TARGET);
        let told = &found[0].addresses[0];
        assert_eq!((told.host.as_str(), told.port), (host.as_str(), port));
        assert_eq!(found[0].addresses.len(), 1, "one portal takes both");
    }
    let (mut store, mut ledger) = array.open();
    let mut other = open(&array.url().replace("iser", "iscsi"), &array.options()).unwrap();
    submit(&mut *store, &mut ledger, &write_op(0, 8, 100), 9);
    settle(&mut *store, &mut ledger, 5);
    submit(&mut *other, &mut ledger, &read_op(1, 0, 256), 0);
    settle(&mut *other, &mut ledger, 5);
    assert_eq!(ledger.count(Outcome::Done), 2, "what one wrote the other reads");
}

#[test]
fn a_device_is_looked_at_over_rdma() {
    let array = Array::plain();
    let Url::Iscsi(url) = Url::parse(&array.url()).unwrap() else { unreachable!() };
    let mut device = Device::connect(&url, &array.options()).unwrap();
    assert_eq!(device.facts().blocks, Some(BYTES as u64 / 512));
    assert_eq!(device.facts().serial, "00000000000000a1");
    assert!(device.reservation_keys().unwrap().is_empty());
    let (first, last) = device.read_ends(1 << 20).unwrap();
    assert_eq!((first.len(), last.len()), (1 << 20, 1 << 20));
    device.close();
}

#[test]
fn sixty_four_sessions_at_once() {
    let array = Array::plain();
    let options = Options { connections: 64, policy: Policy::RoundRobinIops(1), ..array.options() };
    let mut store = open(&array.url(), &options).unwrap();
    let mut ledger = Ledger::new(vec![0; BYTES]);
    run(&mut *store, &mut ledger, &Load { operations: 3000, depth: 128, ..MIX });
    assert_eq!(ledger.count(Outcome::Done), 3000);
    assert!(store.flows().iter().all(|flow| flow.reads + flow.writes > 0));
    assert!(store.flows().iter().all(|flow| flow.state == FlowState::Up));
    assert_eq!(array.server.sessions().len(), 64);
}

#[test]
fn a_target_that_is_stopped_and_started_again_under_load() {
    let mut array = Array::plain();
    let (mut store, mut ledger) = array.open();
    run(&mut *store, &mut ledger, &Load { operations: 300, ..MIX });
    for round in 0..3 {
        // The portal closes and its sessions are dropped while operations are under way.
        for tag in 0..32 {
            let tag = (round + 1) * 1_000_000 + tag;
            submit(&mut *store, &mut ledger, &read_op(tag, tag % 100, 64), 0);
        }
        store.poll(Some(Duration::ZERO), &mut ledger).unwrap();
        array.rdma = None;
        for session in array.server.sessions() {
            array.server.drop_session(session.tsih);
        }
        for _ in 0..5 {
            store.poll(Some(Duration::from_millis(10)), &mut ledger).unwrap();
        }
        array.listen_rdma();
        settle(&mut *store, &mut ledger, 10);
        let end = Instant::now() + Duration::from_secs(5);
        while store.flows()[0].reconnects <= round {
            assert!(Instant::now() < end, "{:?}", store.flows());
            store.poll(Some(Duration::from_millis(10)), &mut ledger).unwrap();
        }
    }
    assert_eq!(ledger.count(Outcome::Done), 300 + 3 * 32);
    assert!(array.tcp.is_some());
}
