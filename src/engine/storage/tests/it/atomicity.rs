//! COMPARE AND WRITE against concurrent writers: the lock a cluster file system takes by it must hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use plimsoll_storage::{BlockStore, Charge, FileStore, MemoryStore, Ready, Space};

fn contend(store: &Arc<BlockStore>) {
    let rounds: u64 = 3000;
    // A counter that straddles two grains, incremented by compare and write only.
    let offset = 65_536 - 256;
    let block = |value: u64| value.to_le_bytes().repeat(64);
    store.write(offset, &block(0)).unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    std::thread::scope(|scope| {
        // A neighbour keeps writing the sectors beside it in the same grains.
        let (noise, quiet) = (Arc::clone(store), Arc::clone(&stop));
        scope.spawn(move || {
            while !quiet.load(Ordering::Relaxed) {
                noise.write(offset - 512, &[9; 512]).unwrap();
                noise.write(offset + 512, &[9; 512]).unwrap();
                noise.unmap(offset + 1024, 4096).unwrap();
            }
        });
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (store, done) = (Arc::clone(store), Arc::clone(&done));
                scope.spawn(move || {
                    let mut value = 0;
                    while done.load(Ordering::SeqCst) < rounds {
                        match store
                            .compare_and_write(offset, &block(value), &block(value + 1))
                            .unwrap()
                        {
                            None => {
                                done.fetch_add(1, Ordering::SeqCst);
                                value += 1;
                            }
                            Some(_) => {
                                let mut bytes = vec![0; 512];
                                store.read_blocking(offset, &mut bytes).unwrap();
                                value = u64::from_le_bytes(bytes[..8].try_into().unwrap());
                            }
                        }
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut bytes = vec![0; 512];
    store.read_blocking(offset, &mut bytes).unwrap();
    assert_eq!(bytes, block(done.load(Ordering::SeqCst)), "an increment was lost or torn");
}

#[test]
fn compare_and_write_in_memory_loses_no_increment() {
    contend(&Arc::new(BlockStore::Memory(MemoryStore::new(1 << 20, Space::unlimited()))));
}

#[test]
fn compare_and_write_in_a_file_loses_no_increment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("volume");
    let store = FileStore::open(&path, 1 << 20, Space::unlimited(), Charge::WhileOpen).unwrap();
    contend(&Arc::new(BlockStore::File(store)));
}

#[test]
fn unmapping_while_reading_never_shows_anything_but_old_bytes_or_zeroes() {
    let store = Arc::new(BlockStore::Memory(MemoryStore::new(1 << 20, Space::unlimited())));
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..20_000 {
                store.write(0, &[5; 4096]).unwrap();
                store.unmap(0, 65_536).unwrap();
            }
            stop.store(true, Ordering::Relaxed);
        });
        scope.spawn(|| {
            let mut out = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                out.clear();
                let ready = store.read(0, 4096, &mut |payload| payload.copy_to(&mut out)).unwrap();
                assert_eq!(ready, Ready::Now);
                assert!(out.iter().all(|&byte| byte == 0 || byte == 5));
            }
        });
    });
}
