//! What waits is bounded in number, bytes and time; commands that must not be torn are not.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_remote::{Engine, Settings};
use plimsoll_storage::{BlockStore, RemoteStore, StoreError};

use crate::support::{MIB, begin, end, engine, free_port, read, settings, start, url, write};

/// An engine whose target is not there.
fn lonely(change: impl FnOnce(&mut Settings)) -> Arc<Engine> {
    let url = format!("iscsi://127.0.0.1:{}/iqn.2026-11.org.plimsoll:array/0", free_port());
    let mut lonely = settings(&url);
    change(&mut lonely);
    Engine::start(lonely, Some(4 * MIB), |_, _| None).unwrap()
}

#[test]
fn too_much_that_waits_is_turned_away() {
    let engine = lonely(|settings| settings.queue_operations = 4);
    let waiting: Vec<_> = (0..4).map(|at| begin(&engine, write(at * 512, vec![1; 512]))).collect();
    assert!(matches!(end(&begin(&engine, read(0, 512))), Err(StoreError::Busy)));
    assert!(waiting.iter().all(|answer| answer.try_recv().is_err()), "the others wait on");
    let status = engine.status();
    assert_eq!((status.queued_operations, status.queued_bytes), (4, 2048));
    assert_eq!(status.turned_away, 1);
    let engine = lonely(|settings| settings.queue_bytes = 1024);
    let _first = begin(&engine, write(0, vec![1; 1024]));
    assert!(matches!(end(&begin(&engine, write(0, vec![1; 512]))), Err(StoreError::Busy)));
}

#[test]
fn patience_ends() {
    let engine = lonely(|settings| settings.patience = Duration::from_millis(300));
    let since = Instant::now();
    let result = end(&begin(&engine, write(0, vec![1; 512])));
    assert!(matches!(result, Err(StoreError::Io { kind: std::io::ErrorKind::TimedOut, .. })));
    assert!(since.elapsed() >= Duration::from_millis(300));
    assert_eq!(engine.status().queued_operations, 0);
}

#[test]
fn dropping_an_engine_ends_what_waits() {
    let engine = lonely(|_| {});
    let waiting = begin(&engine, write(0, vec![1; 512]));
    drop(engine);
    assert!(end(&waiting).is_err());
}

/// A counter that only COMPARE AND WRITE changes loses no increment, whatever is written beside it.
#[test]
fn compare_and_write_is_atomic() {
    let far = start(0, None, None);
    let store = Arc::new(BlockStore::Remote(RemoteStore::new(engine(settings(&url(&far))))));
    let block = |value: u64| value.to_le_bytes().repeat(64);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let mut value = 0;
                for _ in 0..60 {
                    loop {
                        let result =
                            store.compare_and_write(512, &block(value), &block(value + 1)).unwrap();
                        if result.is_none() {
                            break;
                        }
                        let mut held = vec![0; 512];
                        store.read_blocking(512, &mut held).unwrap();
                        value = u64::from_le_bytes(held[..8].try_into().unwrap());
                    }
                    store.write(1024, &[1; 512]).unwrap();
                }
            });
        }
    });
    let mut held = vec![0; 512];
    store.read_blocking(512, &mut held).unwrap();
    assert_eq!(held, block(180));
    assert_eq!(store.compare_and_write(512, &[0; 512], &[1; 512]).unwrap(), Some(0));
    store.or_write(512, &[1; 512]).unwrap();
    store.unmap(1024, 512).unwrap();
    store.flush().unwrap();
    store.read_blocking(1024, &mut held).unwrap();
    assert_eq!(held, vec![0; 512]);
    assert!(store.write(4 * MIB, &[0; 512]).is_err(), "beyond the end");
    assert_eq!(store.remote().unwrap().size_bytes(), 4 * MIB);
}
