//! Writing the working set before a measurement: each worker its own part, with the loop of the worker, so
//! that stamps and budgets count as they do later.

use std::time::{Duration, Instant};

use plimsoll_initiator::Datastore;

use super::{Core, LONGEST_WAIT, poll};
use crate::{
    Error, Result,
    generate::{Addresses, Stamps},
    measure::link::{Event, Link, Seat},
    workload::{Load, Workload},
};

/// Writes the worker's part of the working set once.
pub(super) fn fill(
    seat: &Seat,
    datastore: &mut dyn Datastore,
    stamps: Option<Stamps>,
    link: &Link,
) -> Result<Option<Stamps>> {
    let workload = &seat.workload;
    let capacity_bytes = datastore.capacity_bytes();
    let coarse = u64::from(workload.max_block_bytes());
    let (base, size) = part(workload, seat.worker, capacity_bytes);
    if size < coarse {
        return Ok(stamps);
    }
    let wide = coarse * (65_536 / coarse).max(1);
    let block = if size.is_multiple_of(wide) { wide } else { coarse };
    #[expect(clippy::cast_possible_truncation, reason = "at most the largest block or 64 KiB")]
    let filling = Workload {
        accesses: Workload::simple(block as u32, 0.0, 0.0).accesses,
        load: Load::Closed,
        ramp_seconds: 0.0,
        seconds: 1e7,
        limit_bytes: None,
        depth: workload.depth.clamp(8, 64),
        ..workload.clone()
    };
    let mut core = Core::new(seat, &filling, capacity_bytes, stamps, link);
    core.addresses = Addresses::within(&filling, seat.worker, (base, size), 0);
    core.begin(Instant::now(), &filling);
    core.limit_left = Some(size / block * block);
    let mut told = Instant::now();
    let mut done = 0;
    while !(core.idle() && core.limit_left == Some(0)) {
        if link.stopped() {
            break;
        }
        let now = Instant::now();
        core.issue(datastore, now, &seat.url)?;
        core.spend();
        let bytes = core.interval.write.bytes;
        poll(datastore, Some(LONGEST_WAIT), &mut core, &seat.url)?;
        done += core.interval.write.bytes.saturating_sub(bytes);
        if core.interval.failures.total() > 0 {
            let example = core.last_words.failure_examples.first().cloned().unwrap_or_default();
            return Err(Error::Run(format!(
                "{}: the working set cannot be written: {example}",
                seat.url
            )));
        }
        if told.elapsed() > Duration::from_millis(500) {
            told = now;
            link.tell(Event::Filling { id: seat.id, bytes: done });
        }
    }
    link.tell(Event::Filling { id: seat.id, bytes: done });
    Ok(core.stamps.take())
}

/// The part of the working set that this worker writes before the measurement: first byte and length.
fn part(workload: &Workload, worker: u32, capacity_bytes: u64) -> (u64, u64) {
    let (base, size) = Addresses::new(workload, worker, capacity_bytes).range();
    if workload.integrity {
        return (base, size);
    }
    let block = u64::from(workload.max_block_bytes());
    let share = size / u64::from(workload.workers) / block * block;
    let start = share * u64::from(worker);
    // The last one takes what the division leaves.
    let is_last = worker + 1 == workload.workers;
    (base + start, if is_last { size - start } else { share })
}
