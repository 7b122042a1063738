//! Connections that are cut under load, with older copies of writes still on their way to the target; targets that go
//! and come back; ways that swallow everything.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::Fabric;
use plimsoll_fabric::rdma::soft::Soft;
use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Options, Outcome, Payload, Sink};
use plimsoll_remote::{Connection, Prefer, Settings};
use plimsoll_storage::RemoteOperation;
use plimsoll_target::Running;
use proptest::prelude::*;

use crate::proxy::Proxy;
use crate::support::{
    begin, end, engine, free_port, read, settings, start, start_remote, url, wait_for, write,
};

/// The unit of a target as it is reached through a relay.
fn through(proxy: &Proxy, far: &Running) -> String {
    let direct = url(far);
    let (_, unit) = direct.trim_start_matches("iscsi://").split_once('/').unwrap();
    format!("iscsi://127.0.0.1:{}/{unit}", proxy.port)
}

fn by_tcp(url: &str) -> Settings {
    Settings { prefer: Prefer::Tcp, ..settings(url) }
}

#[derive(Debug, Clone)]
enum Step {
    Write { block: u8, blocks: u8 },
    Read { block: u8, blocks: u8 },
    Flush,
    Cut,
    Reconnect,
    Pause { ms: u8 },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (0_u8..12, 1_u8..6).prop_map(|(block, blocks)| Step::Write { block, blocks }),
        5 => (0_u8..12, 1_u8..6).prop_map(|(block, blocks)| Step::Read { block, blocks }),
        1 => Just(Step::Flush),
        3 => Just(Step::Cut),
        1 => Just(Step::Reconnect),
        4 => (1_u8..6).prop_map(|ms| Step::Pause { ms }),
    ]
}

const BLOCK: usize = 4096;
const LATE: Duration = Duration::from_millis(8);

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever is cut, and however late the rest of it arrives: everything ends well, every read sees the writes that
    /// were begun before it and no others, and the target holds the writes in their order, then and later.
    #[test]
    fn no_write_is_overtaken_by_an_older_copy(
        steps in proptest::collection::vec(step(), 20..120),
    ) {
        let far = start(0, None, None);
        let proxy = Proxy::start(far.iscsi_portals()[0], LATE);
        let engine = engine(by_tcp(&through(&proxy, &far)));
        let mut model = vec![0_u8; 20 * BLOCK];
        let mut answers = Vec::new();
        for (number, step) in (1_u32..).zip(steps) {
            match step {
                Step::Write { block, blocks } => {
                    let (at, len) = (usize::from(block) * BLOCK, usize::from(blocks) * BLOCK);
                    let data = number.to_le_bytes().repeat(len / 4);
                    model[at..at + len].copy_from_slice(&data);
                    answers.push((begin(&engine, write(at as u64, data)), None));
                }
                Step::Read { block, blocks } => {
                    let (at, len) = (usize::from(block) * BLOCK, usize::from(blocks) * BLOCK);
                    let expected = model[at..at + len].to_vec();
                    answers.push((begin(&engine, read(at as u64, len as u32)), Some(expected)));
                }
                Step::Flush => answers.push((begin(&engine, RemoteOperation::Flush), None)),
                Step::Cut => proxy.cut(),
                Step::Reconnect => engine.reconnect(),
                Step::Pause { ms } => std::thread::sleep(Duration::from_millis(ms.into())),
            }
        }
        for (answer, expected) in answers {
            let data = end(&answer);
            prop_assert!(data.is_ok(), "{data:?}: {:?}", engine.status());
            if let Some(expected) = expected {
                prop_assert!(data.unwrap() == expected, "a read saw something else");
            }
        }
        let len = model.len() as u32;
        prop_assert!(end(&begin(&engine, read(0, len))).unwrap() == model);
        drop(engine);
        std::thread::sleep(LATE * 3);
        let direct = crate::support::engine(by_tcp(&url(&far)));
        prop_assert!(end(&begin(&direct, read(0, len))).unwrap() == model, "an older copy came later");
    }
}

/// A process that was killed has left a write on its way; the one that comes after it overwrites the same block.
#[test]
fn a_new_process_ends_what_the_old_one_left() {
    let far = start(0, None, None);
    let proxy = Proxy::start(far.iscsi_portals()[0], Duration::ZERO);
    let session = || Some("00c0ffee12345678".to_owned());
    let old = engine(Settings { session: session(), ..by_tcp(&through(&proxy, &far)) });
    end(&begin(&old, write(0, vec![1; 4096]))).unwrap();
    proxy.hold(true);
    let _left = begin(&old, write(0, vec![2; 4096]));
    std::thread::sleep(Duration::from_millis(100));
    proxy.close();
    proxy.cut();
    let new = engine(Settings { session: session(), ..by_tcp(&url(&far)) });
    end(&begin(&new, write(0, vec![3; 4096]))).unwrap();
    proxy.hold(false);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(end(&begin(&new, read(0, 4096))).unwrap(), [3; 4096]);
}

#[test]
fn a_write_is_sent_again_as_often_as_its_patience_lasts() {
    let far = start(0, None, None);
    let proxy = Proxy::start(far.iscsi_portals()[0], Duration::from_millis(1));
    let engine = engine(by_tcp(&through(&proxy, &far)));
    proxy.cut_next(12);
    let data = stamp(1, 1).repeat(128);
    let result = end(&begin(&engine, write(0, data.clone())));
    assert!(result.is_ok(), "{result:?}: {:?}", engine.status());
    assert!(proxy.connections() > 12, "{}", proxy.connections());
    assert_eq!(end(&begin(&engine, read(0, data.len() as u32))).unwrap(), data);
}

/// The adapter is there, but nothing that is sent by it arrives anywhere.
#[test]
fn a_way_that_swallows_everything_does_not_keep_a_volume_from_the_other() {
    let far = start(free_port(), None, None);
    let soft = Soft::new();
    let _deaf = soft.listen(far.iscsi_portals()[0]).unwrap();
    let since = Instant::now();
    let settings = Settings {
        rdma: Ok(soft.clone()),
        connect_timeout: Duration::from_millis(500),
        ..settings(&url(&far))
    };
    let engine = engine(settings);
    wait_for(&engine, Connection::Tcp);
    assert!(since.elapsed() >= Duration::from_millis(500), "it was not even tried");
    end(&begin(&engine, write(0, vec![1; 512]))).unwrap();
}

/// Answers by tag.
#[derive(Default)]
struct Ends {
    data: HashMap<u64, Vec<u8>>,
    done: Vec<Completion>,
}

impl Sink for Ends {
    fn data(&mut self, tag: u64, at: u32, bytes: &[u8]) {
        let data = self.data.entry(tag).or_default();
        let end = at as usize + bytes.len();
        data.resize(data.len().max(end), 0);
        data[at as usize..end].copy_from_slice(bytes);
    }

    fn done(&mut self, completion: Completion) {
        self.done.push(completion);
    }
}

/// Runs one operation per block at a time, and checks that each ends well.
fn round(disk: &mut dyn Datastore, blocks: u64, data: impl Fn(u64) -> Option<Vec<u8>>) -> Ends {
    let mut ends = Ends::default();
    for block in 0..blocks {
        let data = data(block);
        let kind = if data.is_some() { OpKind::Write } else { OpKind::Read };
        let op = Op { tag: block, kind, offset: block * BLOCK as u64, len: BLOCK as u32 };
        disk.submit(&op, data.map(Payload::from_vec)).unwrap();
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while ends.done.len() < blocks as usize {
        assert!(Instant::now() < deadline, "{} of {blocks} ended", ends.done.len());
        disk.poll(Some(Duration::from_millis(50)), &mut ends).unwrap();
    }
    assert!(ends.done.iter().all(|end| end.outcome == Outcome::Done), "{:?}", ends.done);
    ends
}

fn stamp(round: u64, block: u64) -> Vec<u8> {
    (round << 32 | block).to_le_bytes().repeat(BLOCK / 8)
}

/// Rounds of stamped writes through the served volume until told to stop; the number of the last round.
fn write_rounds(disk: &mut dyn Datastore, stop: &AtomicBool) -> u64 {
    let mut number = 0;
    while !stop.load(Ordering::SeqCst) || number < 3 {
        number += 1;
        round(disk, 32, |block| Some(stamp(number, block)));
    }
    number
}

fn check_rounds(disk: &mut dyn Datastore, number: u64) {
    let ends = round(disk, 32, |_| None);
    for block in 0..32 {
        assert!(ends.data[&block] == stamp(number, block), "block {block}");
    }
}

#[test]
fn a_served_volume_goes_on_while_its_connection_is_cut_under_load() {
    let far = start(0, None, None);
    let proxy = Proxy::start(far.iscsi_portals()[0], LATE);
    let near = start_remote(0, &through(&proxy, &far), "", None);
    let mut disk = plimsoll_initiator::open(&url(&near), &Options::default()).unwrap();
    let stop = AtomicBool::new(false);
    let rounds = std::thread::scope(|scope| {
        let writing = scope.spawn(|| write_rounds(&mut *disk, &stop));
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(40));
            proxy.cut();
        }
        stop.store(true, Ordering::SeqCst);
        writing.join().unwrap()
    });
    assert!(proxy.connections() > 3, "{}", proxy.connections());
    check_rounds(&mut *disk, rounds);
    let status = near.statistics().volumes[0].remote.clone().unwrap();
    assert!(status.reconnects >= 3 && status.failed == 0, "{status:?}");
    let mut direct = plimsoll_initiator::open(&url(&far), &Options::default()).unwrap();
    check_rounds(&mut *direct, rounds);
}

#[test]
fn a_served_volume_goes_on_while_its_target_is_restarted_under_load() {
    let folder = std::env::temp_dir().join(format!("plimsoll-remote-load-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let port = free_port();
    let soft = Soft::new();
    let fabric: Arc<dyn Fabric> = soft.clone();
    let far = start(port, Some(&folder), Some(Arc::clone(&fabric)));
    let engine = engine(Settings { rdma: Ok(fabric.clone()), ..settings(&url(&far)) });
    let stop = AtomicBool::new(false);
    let (written, far) = std::thread::scope(|scope| {
        let writing = scope.spawn(|| {
            let mut number = 0_u64;
            while !stop.load(Ordering::SeqCst) || number < 3 {
                number += 1;
                let round = |block| write(block * BLOCK as u64, stamp(number, block));
                let answers: Vec<_> = (0..32).map(|block| begin(&engine, round(block))).collect();
                for answer in answers {
                    let result = end(&answer);
                    assert!(result.is_ok(), "{result:?}: {:?}", engine.status());
                }
            }
            number
        });
        let mut far = far;
        for _ in 0..3 {
            std::thread::sleep(Duration::from_millis(150));
            far.stop().unwrap();
            far = start(port, Some(&folder), Some(Arc::clone(&fabric)));
        }
        stop.store(true, Ordering::SeqCst);
        (writing.join().unwrap(), far)
    });
    let held = end(&begin(&engine, read(0, 32 * BLOCK as u32))).unwrap();
    for (block, held) in (0_u64..).zip(held.chunks(BLOCK)) {
        assert!(held == stamp(written, block), "block {block}");
    }
    drop(engine);
    far.stop().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_target_that_shows_another_unit_is_not_written_to() {
    let port = free_port();
    let far = start(port, None, None);
    let engine = engine(Settings { patience: Duration::from_secs(2), ..by_tcp(&url(&far)) });
    end(&begin(&engine, write(0, vec![1; 512]))).unwrap();
    let address: SocketAddr = far.iscsi_portals()[0];
    far.stop().unwrap();
    // In memory: after the restart it has a new volume with a new serial.
    let other = start(address.port(), None, None);
    assert!(end(&begin(&engine, write(0, vec![2; 512]))).is_err());
    let status = engine.status();
    assert!(status.reason.contains("another unit answers"), "{status:?}");
    let direct = crate::support::engine(by_tcp(&url(&other)));
    assert_eq!(end(&begin(&direct, read(0, 512))).unwrap(), [0; 512]);
}
