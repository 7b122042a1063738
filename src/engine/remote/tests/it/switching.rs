//! From iSER to TCP and back, with operations under way all the time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_fabric::rdma::soft::Soft;
use plimsoll_remote::{Connection, Engine, Return, Settings};
use plimsoll_storage::RemoteOperation;
use proptest::prelude::*;

use crate::support::{begin, end, engine, free_port, read, settings, start, url, wait_for, write};

fn with_rdma(url: &str, soft: &Arc<Soft>) -> Settings {
    Settings { rdma: Ok(soft.clone()), ..settings(url) }
}

#[test]
fn without_the_adapter_it_goes_on_by_tcp_and_returns_on_request() {
    let soft = Soft::new();
    let far = start(free_port(), None, Some(soft.clone()));
    let engine = engine(with_rdma(&url(&far), &soft));
    wait_for(&engine, Connection::Iser);
    end(&begin(&engine, write(0, vec![1; 8192]))).unwrap();
    soft.remove_device();
    end(&begin(&engine, write(8192, vec![2; 8192]))).unwrap();
    wait_for(&engine, Connection::Tcp);
    let status = engine.status();
    assert!(status.reason.contains("could not be had"), "{status:?}");
    soft.restore_device();
    std::thread::sleep(Duration::from_millis(400));
    assert_eq!(engine.status().connection, Connection::Tcp, "only on request");
    engine.reconnect();
    wait_for(&engine, Connection::Iser);
    let held = end(&begin(&engine, read(0, 16_384))).unwrap();
    assert_eq!(held, [[1; 8192], [2; 8192]].concat());
    assert_eq!(engine.status().switches, 2);
}

#[test]
fn it_returns_by_itself_when_told_to() {
    let soft = Soft::new();
    let far = start(free_port(), None, Some(soft.clone()));
    let healthy = Return::WhenHealthy(Duration::from_millis(500));
    let engine = engine(Settings { back: healthy, ..with_rdma(&url(&far), &soft) });
    wait_for(&engine, Connection::Iser);
    soft.remove_device();
    end(&begin(&engine, write(0, vec![1; 512]))).unwrap();
    wait_for(&engine, Connection::Tcp);
    soft.restore_device();
    let since = Instant::now();
    wait_for(&engine, Connection::Iser);
    assert!(since.elapsed() >= Duration::from_millis(500));
}

#[test]
fn a_target_without_iser_is_reached_by_tcp() {
    let far = start(free_port(), None, None);
    let engine = engine(with_rdma(&url(&far), &Soft::new()));
    wait_for(&engine, Connection::Tcp);
    end(&begin(&engine, write(0, vec![1; 512]))).unwrap();
    let no_rdma = crate::support::engine(settings(&url(&far)));
    wait_for(&no_rdma, Connection::Tcp);
}

#[derive(Debug, Clone)]
enum Step {
    Write { block: u8, blocks: u8 },
    Read { block: u8, blocks: u8 },
    Flush,
    BreakRdma,
    RemoveDevice,
    RestoreDevice,
    Reconnect,
    Pause,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (0_u8..24, 1_u8..8).prop_map(|(block, blocks)| Step::Write { block, blocks }),
        6 => (0_u8..24, 1_u8..8).prop_map(|(block, blocks)| Step::Read { block, blocks }),
        1 => Just(Step::Flush),
        2 => Just(Step::BreakRdma),
        1 => Just(Step::RemoveDevice),
        2 => Just(Step::RestoreDevice),
        1 => Just(Step::Reconnect),
        2 => Just(Step::Pause),
    ]
}

const BLOCK: usize = 4096;

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Operations in any order, with connections that break and transports that change: everything ends well, every
    /// read sees all older writes and no newer ones, and at the end the bytes are those of the writes in order.
    #[test]
    fn nothing_is_lost_doubled_or_reordered_across_switches(
        steps in proptest::collection::vec(step(), 20..160),
    ) {
        let soft = Soft::new();
        let far = start(free_port(), None, Some(soft.clone()));
        let settings = Settings { keepalive: Duration::from_secs(2), ..with_rdma(&url(&far), &soft) };
        let engine: Arc<Engine> = engine(settings);
        let mut model = vec![0_u8; 32 * BLOCK];
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
                Step::BreakRdma => soft.break_all(),
                Step::RemoveDevice => soft.remove_device(),
                Step::RestoreDevice => soft.restore_device(),
                Step::Reconnect => engine.reconnect(),
                Step::Pause => std::thread::sleep(Duration::from_millis(3)),
            }
        }
        for (answer, expected) in answers {
            let data = end(&answer);
            prop_assert!(data.is_ok(), "{data:?}: {:?}", engine.status());
            if let Some(expected) = expected {
                prop_assert!(data.unwrap() == expected, "a read saw something else");
            }
        }
        soft.restore_device();
        let held = end(&begin(&engine, read(0, model.len() as u32))).unwrap();
        prop_assert!(held == model, "the bytes are not those of the writes in order");
    }
}
