//! Bytes that must not change, and memory that an adapter writes into: what other commands may do meanwhile.
#![allow(unsafe_code)]

use std::sync::Arc;

use plimsoll_fabric::Payload;
use plimsoll_storage::{BlockStore, MemoryStore, Place, Placement, Ready, Space, StoreError};

fn store() -> (BlockStore, Arc<Space>) {
    let space = Space::unlimited();
    (BlockStore::Memory(MemoryStore::new(1 << 20, Arc::clone(&space))), space)
}

fn read(store: &BlockStore, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    store.read_blocking(offset, &mut bytes).unwrap();
    bytes
}

fn stable(store: &BlockStore, offset: u64, len: usize) -> Vec<Payload> {
    let mut all = Vec::new();
    assert_eq!(store.read_stable(offset, len, &mut |part| all.push(part)).unwrap(), Ready::Now);
    all
}

fn bytes(parts: &[Payload]) -> Vec<u8> {
    parts.iter().flat_map(|part| part.stable_bytes().unwrap().iter().copied()).collect()
}

/// What an adapter does.
fn fill(placement: &Placement, byte: u8) {
    for place in placement.places() {
        // SAFETY: the placement keeps the bytes, and this test is the adapter.
        unsafe { std::ptr::write_bytes(place.pointer(), byte, place.len()) };
    }
}

#[test]
fn stable_bytes_stay_while_the_store_goes_on() {
    let (store, space) = store();
    store.write(60_000, &[1; 20_000]).unwrap();
    let held = stable(&store, 60_000, 20_000);
    assert!(held.iter().all(|part| part.stable_bytes().unwrap().iter().all(|byte| *byte == 1)));
    store.write(61_000, &[2; 10_000]).unwrap();
    store.or_write(75_000, &[4; 100]).unwrap();
    store.unmap(76_800, 1024).unwrap();
    assert_eq!(store.compare_and_write(60_000, &[1; 8], &[9; 8]).unwrap(), None);
    assert_eq!(bytes(&held), vec![1; 20_000]);
    let mut expected = vec![1; 20_000];
    expected[..8].fill(9);
    expected[1000..11_000].fill(2);
    expected[15_000..15_100].fill(5);
    expected[16_800..17_824].fill(0);
    assert_eq!(read(&store, 60_000, 20_000), expected);
    store.unmap(0, 1 << 20).unwrap();
    assert_eq!(bytes(&held), vec![1; 20_000]);
    assert_eq!(space.used(), 0);
}

#[test]
fn stable_bytes_cost_no_copy_and_let_go_of_the_grain() {
    let (store, _) = store();
    store.write(0, &[1; 512]).unwrap();
    let address = |part: &[Payload]| part[0].pointer();
    let held = stable(&store, 0, 512);
    let before = address(&held);
    drop(held);
    store.write(0, &[2; 512]).unwrap();
    let held = stable(&store, 0, 512);
    assert_eq!(address(&held), before, "nobody held it when it was written");
    store.write(0, &[3; 512]).unwrap();
    assert_ne!(address(&stable(&store, 0, 512)), before, "it was held");
}

#[test]
fn placed_data_is_there_and_counts_as_written_from_the_start() {
    let (store, space) = store();
    let placement = store.place(65_000, 4000).unwrap().unwrap();
    assert_eq!(placement.places().iter().map(Place::len).sum::<usize>(), 4000);
    assert_eq!(placement.places().len(), 2, "two grains");
    assert_eq!(read(&store, 65_000, 4000), vec![0; 4000]);
    assert_eq!(space.used(), 8192);
    fill(&placement, 7);
    drop(placement);
    assert_eq!(read(&store, 64_999, 4002), [&[0][..], &[7; 4000], &[0]].concat());
}

#[test]
fn what_would_tear_a_placement_is_told_to_come_again() {
    let (store, _) = store();
    store.write(0, &[1; 131_072]).unwrap();
    let placement = store.place(0, 8192).unwrap().unwrap();
    let busy = |result: Result<(), StoreError>| assert!(matches!(result, Err(StoreError::Busy)));
    busy(store.compare_and_write(16_384, &[1; 512], &[2; 512]).map(drop));
    busy(store.or_write(0, &[1; 512]));
    busy(store.unmap(0, 65_536));
    // Another grain, and plain writes, go on.
    store.unmap(65_536, 65_536).unwrap();
    store.write(16_384, &[3; 512]).unwrap();
    let held = stable(&store, 16_384, 512);
    fill(&placement, 7);
    store.write(16_384, &[4; 512]).unwrap();
    assert_eq!(
        bytes(&held),
        vec![3; 512],
        "held bytes are a copy while an adapter writes beside them"
    );
    drop(placement);
    assert_eq!(store.compare_and_write(16_384, &[4; 512], &[2; 512]).unwrap(), None);
    assert_eq!(read(&store, 0, 8192), vec![7; 8192]);
    store.unmap(0, 65_536).unwrap();
}

#[test]
fn a_placement_never_changes_bytes_that_are_held() {
    let (store, _) = store();
    store.write(0, &[1; 4096]).unwrap();
    let held = stable(&store, 0, 4096);
    let placement = store.place(1024, 1024).unwrap().unwrap();
    fill(&placement, 7);
    assert_eq!(bytes(&held), vec![1; 4096]);
    drop(placement);
    assert_eq!(read(&store, 0, 4096), [&[1; 1024][..], &[7; 1024], &[1; 2048]].concat());
}

#[test]
fn a_shrink_waits_for_the_adapter_and_a_placement_outlives_the_store() {
    let (store, _) = store();
    let placement = store.place(900_000, 4096).unwrap().unwrap();
    std::thread::scope(|scope| {
        let shrink = scope.spawn(|| store.resize(65_536));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!shrink.is_finished(), "it waits");
        assert!(store.place(900_000, 4096).is_err(), "nothing new gets in");
        fill(&placement, 7);
        drop(placement);
        shrink.join().unwrap().unwrap();
    });
    store.resize(1 << 20).unwrap();
    assert_eq!(read(&store, 900_000, 4096), vec![0; 4096]);
    let placement = store.place(0, 512).unwrap().unwrap();
    drop(store);
    fill(&placement, 1);
}
