//! A volume of one target whose bytes are at another.

use std::time::{Duration, Instant};

use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Options, Outcome, Payload, Sink};
use plimsoll_remote::Connection;

use crate::support::{MIB, free_port, start, start_remote, url};

#[derive(Default)]
struct Collected {
    data: Vec<u8>,
    ends: Vec<Completion>,
}

impl Sink for Collected {
    fn data(&mut self, _tag: u64, at: u32, bytes: &[u8]) {
        let end = at as usize + bytes.len();
        self.data.resize(self.data.len().max(end), 0);
        self.data[at as usize..end].copy_from_slice(bytes);
    }

    fn done(&mut self, completion: Completion) {
        self.ends.push(completion);
    }
}

fn run(datastore: &mut dyn Datastore, kind: OpKind, offset: u64, data: Vec<u8>) -> Vec<u8> {
    let mut collected = Collected::default();
    let len = data.len() as u32;
    let payload = (kind == OpKind::Write).then(|| Payload::from_vec(data));
    datastore.submit(&Op { tag: 1, kind, offset, len }, payload).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while collected.ends.is_empty() {
        assert!(Instant::now() < deadline);
        datastore.poll(Some(Duration::from_millis(100)), &mut collected).unwrap();
    }
    assert_eq!(collected.ends[0].outcome, Outcome::Done);
    collected.data
}

#[test]
fn data_goes_through_and_size_and_kind_are_told() {
    let far = start(0, None, None);
    let near = start_remote(0, &url(&far), "", None);
    let mut through = plimsoll_initiator::open(&url(&near), &Options::default()).unwrap();
    assert_eq!(through.capacity_bytes(), 4 * MIB);
    assert!(through.model().ends_with("REMOTE VOLUME"), "{}", through.model());
    let pattern: Vec<u8> = (0..300_032_u32).map(|at| (at / 512 + at) as u8).collect();
    let pattern = pattern[..pattern.len() / 512 * 512].to_vec();
    run(&mut *through, OpKind::Write, 1536, pattern.clone());
    run(&mut *through, OpKind::Flush, 0, Vec::new());
    assert_eq!(run(&mut *through, OpKind::Read, 1536, vec![0; pattern.len()]), pattern);
    let mut direct = plimsoll_initiator::open(&url(&far), &Options::default()).unwrap();
    assert!(!direct.model().ends_with("REMOTE VOLUME"));
    assert_eq!(run(&mut *direct, OpKind::Read, 1536, vec![0; pattern.len()]), pattern);
    let statistics = near.statistics();
    let remote = statistics.volumes[0].remote.as_ref().unwrap();
    assert_eq!(remote.connection, Connection::Tcp);
    assert_eq!(remote.reason, "the preferred transport");
}

#[test]
fn a_remote_unit_that_grows_grows_here_too() {
    let far = start(0, None, None);
    let near = start_remote(0, &url(&far), "", None);
    let mut through = plimsoll_initiator::open(&url(&near), &Options::default()).unwrap();
    assert!(near.array().resize_volume("far", 8 * MIB).is_err(), "only there");
    far.array().resize_volume("disk", 8 * MIB).unwrap();
    let deadline = Instant::now() + Duration::from_secs(15);
    while through.capacity_bytes() != 8 * MIB {
        assert!(Instant::now() < deadline, "{}", through.capacity_bytes());
        // The unit attention comes with the next command.
        run(&mut *through, OpKind::Read, 0, vec![0; 512]);
        std::thread::sleep(Duration::from_millis(50));
    }
    run(&mut *through, OpKind::Write, 8 * MIB - 512, vec![7; 512]);
}

#[test]
fn a_restart_of_the_remote_target_is_waited_for() {
    let folder = std::env::temp_dir().join(format!("plimsoll-remote-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let port = free_port();
    let far = start(port, Some(&folder), None);
    let near = start_remote(0, &url(&far), "", None);
    let mut through = plimsoll_initiator::open(&url(&near), &Options::default()).unwrap();
    run(&mut *through, OpKind::Write, 0, vec![1; 4096]);
    far.stop().unwrap();
    let restarted = std::thread::spawn({
        let folder = folder.clone();
        move || {
            std::thread::sleep(Duration::from_millis(300));
            start(port, Some(&folder), None)
        }
    });
    run(&mut *through, OpKind::Write, 4096, vec![2; 4096]);
    assert_eq!(run(&mut *through, OpKind::Read, 0, vec![0; 8192]), [[1; 4096], [2; 4096]].concat());
    restarted.join().unwrap().stop().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}
