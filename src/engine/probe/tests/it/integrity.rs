//! Integrity mode finds what a datastore does to data.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use plimsoll_initiator::Outcome;
use plimsoll_probe::{Workload, run};

use crate::fake::{Fake, Memory};

fn workload(block: u32) -> Workload {
    Workload {
        integrity: true,
        prefill: true,
        ramp_seconds: 0.1,
        seconds: 1.0,
        depth: 16,
        workers: 2,
        ..Workload::simple(block, 50.0, 100.0)
    }
}

fn memory() -> Memory {
    Arc::new(Mutex::new(vec![0; 4 << 20]))
}

#[test]
fn a_good_datastore_passes() {
    for block in [8192, 4096, 1536] {
        let memory = memory();
        let set = run(&workload(block), &|_| {
            Ok(Box::new(Fake::steady(Duration::from_micros(300)).with_memory(&memory)))
        })
        .unwrap();
        assert!(set.stopped.is_none(), "{:?}", set.stopped);
        assert_eq!(set.total.errors, 0);
        assert_eq!(set.results[0].unstamped_bytes, 0, "{block}");
        assert!(set.total.read.ios > 100 && set.total.write.ios > 100);
    }
}

#[test]
fn a_flipped_bit_is_found() {
    let memory = memory();
    let set = run(&Workload { seconds: 5.0, ..workload(8192) }, &|_| {
        let memory = Arc::clone(&memory);
        let flip = Arc::clone(&memory);
        Ok(Box::new(
            Fake::new(move |n| {
                if n % 500 == 499 {
                    let mut bytes = flip.lock().unwrap();
                    for at in (100..bytes.len()).step_by(65_536) {
                        bytes[at] ^= 1;
                    }
                }
                (Duration::from_micros(300), Outcome::Done)
            })
            .with_memory(&memory),
        ))
    })
    .unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "integrity");
    assert!(set.total.failures.corrupt > 0);
    assert!(
        set.results[0].corrupt_examples[0].contains("checksum"),
        "{:?}",
        set.results[0].corrupt_examples
    );
}

#[test]
fn a_lost_write_is_found() {
    // Every so often the datastore forgets: it goes back to an earlier image of itself.
    let memory = memory();
    let image: Arc<Mutex<Option<Vec<u8>>>> = Arc::default();
    let set = run(&Workload { seconds: 5.0, ..workload(8192) }, &|_| {
        let (memory, back, image) = (Arc::clone(&memory), Arc::clone(&memory), Arc::clone(&image));
        Ok(Box::new(
            Fake::new(move |n| {
                if n % 2000 == 1000 {
                    *image.lock().unwrap() = Some(back.lock().unwrap().clone());
                } else if n % 2000 == 1999
                    && let Some(bytes) = &*image.lock().unwrap()
                {
                    back.lock().unwrap().copy_from_slice(bytes);
                }
                (Duration::from_micros(300), Outcome::Done)
            })
            .with_memory(&memory),
        ))
    })
    .unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "integrity");
    let examples = &set.results[0].corrupt_examples;
    assert!(examples.iter().all(|text| text.contains("older write")), "{examples:?}");
}

#[test]
fn a_failed_write_is_no_corruption() {
    let memory = memory();
    let set = run(&workload(8192), &|_| {
        Ok(Box::new(
            Fake::new(|n| {
                let outcome = if n > 3000 && n % 50 == 0 { Outcome::Short } else { Outcome::Done };
                (Duration::from_micros(300), outcome)
            })
            .with_memory(&memory),
        ))
    })
    .unwrap();
    assert_eq!(set.total.failures.corrupt, 0, "{:?}", set.results[0].corrupt_examples);
    assert!(set.total.failures.short > 0);
}

#[test]
fn blocks_never_written_are_told() {
    let memory = memory();
    let workload = Workload { prefill: false, ramp_seconds: 0.0, ..workload(8192) };
    let set = run(&workload, &|_| {
        Ok(Box::new(Fake::steady(Duration::from_micros(300)).with_memory(&memory)))
    })
    .unwrap();
    assert_eq!(set.total.failures.corrupt, 0);
    assert!(set.results[0].unstamped_bytes > 0);
    assert!(set.warnings.iter().any(|warning| warning.starts_with("unstamped")));
}
