//! Our client as the load: closed loops over `plimsoll-initiator`, one thread a worker.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use plimsoll_fabric::Payload;
use plimsoll_initiator::{Completion, Datastore, Op, OpKind, Options, Outcome, Sink, open};

use crate::Result;
use crate::load::{Direction, Load};

/// Runs a load against the URLs, one worker with one connection for each of `load.connections`, over the URLs
/// in turn. Returns I/Os and the time they took; `meter` is called when the loop begins and when it ends.
pub fn run(
    urls: &[String],
    options: &Options,
    load: &Load,
    span: Duration,
    mut meter: impl FnMut() -> f64,
) -> Result<(u64, Duration, f64)> {
    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicU64::new(0));
    let ready = Arc::new(Barrier::new(load.connections + 1));
    let mut workers = Vec::new();
    for index in 0..load.connections {
        let url = urls[index % urls.len()].clone();
        let options = options.clone();
        let load = *load;
        let (stop, done, ready) = (Arc::clone(&stop), Arc::clone(&done), Arc::clone(&ready));
        workers.push(std::thread::spawn(move || -> std::result::Result<(), String> {
            let opened = open(&url, &options);
            ready.wait();
            let datastore = opened.map_err(|error| format!("{url}: {error}"))?;
            Worker::new(datastore, &load, index as u64)
                .run(&stop, &done)
                .map_err(|error| format!("{url}: {error}"))
        }));
    }
    ready.wait();
    // The first tenth is left out: buffers grow, caches warm.
    std::thread::sleep(span / 10);
    let (began, first, cpu) = (Instant::now(), done.load(Ordering::Relaxed), meter());
    std::thread::sleep(span);
    let (count, elapsed, cpu) =
        (done.load(Ordering::Relaxed) - first, began.elapsed(), meter() - cpu);
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        worker.join().map_err(|_| "a worker panicked")??;
    }
    Ok((count, elapsed, cpu))
}

/// Counts completions, refuses any that is not a done one.
struct Count {
    free: Vec<u64>,
    done: u64,
    bytes: u64,
    failed: Option<Outcome>,
}

impl Sink for Count {
    fn data(&mut self, _tag: u64, _at: u32, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
    }

    fn done(&mut self, completion: Completion) {
        if completion.outcome == Outcome::Done {
            self.done += 1;
        } else {
            self.failed = Some(completion.outcome);
        }
        self.free.push(completion.tag);
    }
}

struct Worker {
    datastore: Box<dyn Datastore>,
    load: Load,
    blocks: u64,
    seed: u64,
    next: u64,
    payload: Option<Payload>,
}

impl Worker {
    fn new(datastore: Box<dyn Datastore>, load: &Load, index: u64) -> Self {
        let blocks = (datastore.capacity_bytes() / load.block_bytes as u64).max(1);
        let payload = (load.direction == Direction::Write)
            .then(|| Payload::from_vec(vec![0x5a; load.block_bytes]));
        let seed = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index + 1);
        Self { datastore, load: *load, blocks, seed, next: index * blocks / 8, payload }
    }

    fn run(mut self, stop: &AtomicBool, done: &AtomicU64) -> Result<()> {
        let free = (0..self.load.depth as u64).collect();
        let mut count = Count { free, done: 0, bytes: 0, failed: None };
        let reads = self.load.direction == Direction::Read;
        let mut total = 0;
        while !stop.load(Ordering::Relaxed) {
            while let Some(tag) = count.free.pop() {
                let op = self.op(tag, reads);
                self.datastore.submit(&op, self.payload.clone())?;
            }
            self.datastore.poll(Some(Duration::from_millis(100)), &mut count)?;
            if let Some(outcome) = count.failed {
                return Err(format!("an I/O ended with {outcome:?}").into());
            }
            done.fetch_add(count.done, Ordering::Relaxed);
            total += count.done;
            count.done = 0;
        }
        if reads && count.bytes < total * self.load.block_bytes as u64 {
            return Err(format!("{total} reads brought only {} bytes", count.bytes).into());
        }
        self.datastore.close(&mut count);
        Ok(())
    }

    fn op(&mut self, tag: u64, reads: bool) -> Op {
        let block = if self.load.sequential {
            self.next += 1;
            self.next % self.blocks
        } else {
            // xorshift64
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            self.seed % self.blocks
        };
        let len = u32::try_from(self.load.block_bytes).unwrap_or(u32::MAX);
        let kind = if reads { OpKind::Read } else { OpKind::Write };
        Op { tag, kind, offset: block * u64::from(len), len }
    }
}
