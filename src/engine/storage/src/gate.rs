//! When a command may run: token buckets of the volume, its pool, the host and the flow.
//!
//! Admission reserves into debt: a command that must wait is told the one instant at which it may run, and
//! its tokens are taken at once in every bucket. So the order of asking is the order of running (first come,
//! first served across flows), nobody asks twice, and a parked command needs nothing but a timer. A bucket
//! that is not the narrowest one may see its commands run later than it reserved them: its long-run rate is
//! exact, its windows may shift by the time the narrower bucket made them wait.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Instant;

use serde::Serialize;

use crate::bucket::{Bucket, Rate, Tick};
use crate::{Admission, DEFAULT_BURST_MS, Direction, Limit};

/// The two rates of a limit.
#[derive(Debug, Default)]
pub(crate) struct Rates {
    limited: AtomicBool,
    iops: Rate,
    bytes: Rate,
}

impl Rates {
    /// Sets the limit; returns by how much commands and bytes became more expensive.
    pub fn set(&self, limit: Limit) -> (f64, f64) {
        let burst = limit.burst_ms.unwrap_or(DEFAULT_BURST_MS);
        let factors = (
            self.iops.set(limit.iops, burst),
            self.bytes.set(limit.mib_per_s.map(|rate| rate * 1_048_576.0), burst),
        );
        self.limited.store(!limit.is_unlimited(), Ordering::Relaxed);
        factors
    }

    pub fn are_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }
}

/// The two buckets of whoever is limited.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    iops: Bucket,
    bytes: Bucket,
}

impl Buckets {
    /// Takes one command of `bytes` bytes; tells when it is paid for.
    pub fn reserve(&self, rates: &Rates, bytes: u32, now: Tick) -> Tick {
        if !rates.are_limited() {
            return now;
        }
        let commands = self.iops.reserve(&rates.iops, 1, now);
        commands.max(self.bytes.reserve(&rates.bytes, bytes, now))
    }

    pub fn rescale(&self, factors: (f64, f64), now: Tick) {
        self.iops.rescale(factors.0, now);
        self.bytes.rescale(factors.1, now);
    }
}

/// A limit with its own buckets.
#[derive(Debug, Default)]
pub(crate) struct Limiter {
    rates: Rates,
    buckets: Buckets,
}

impl Limiter {
    pub fn set(&self, limit: Limit, now: Instant) {
        let factors = self.rates.set(limit);
        self.buckets.rescale(factors, Tick::of(now));
    }

    pub fn is_limited(&self) -> bool {
        self.rates.are_limited()
    }

    pub fn reserve(&self, bytes: u32, now: Tick) -> Tick {
        self.buckets.reserve(&self.rates, bytes, now)
    }
}

/// The limit that every host has to the whole array, with the buckets of the hosts that are connected.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub rates: Rates,
    known: Mutex<HashMap<IpAddr, Weak<Buckets>>>,
}

impl Hosts {
    fn get(&self, host: IpAddr) -> Arc<Buckets> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(buckets) = known.get(&host).and_then(Weak::upgrade) {
            return buckets;
        }
        known.retain(|_, buckets| buckets.strong_count() > 0);
        let buckets = Arc::new(Buckets::default());
        known.insert(host, Arc::downgrade(&buckets));
        buckets
    }

    fn reserve(&self, host: IpAddr, flow: &FlowLimiter, bytes: u32, now: Tick) -> Tick {
        if !self.rates.are_limited() {
            return now;
        }
        flow.host.get_or_init(|| self.get(host)).reserve(&self.rates, bytes, now)
    }
}

/// What a connection owns to be limited as a flow and counted; all its commands come from one host.
#[derive(Debug)]
pub struct FlowLimiter {
    buckets: Buckets,
    host: OnceLock<Arc<Buckets>>,
    shard: usize,
}

impl FlowLimiter {
    /// A flow that has used nothing yet.
    pub fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
        Self { buckets: Buckets::default(), host: OnceLock::new(), shard }
    }
}

impl Default for FlowLimiter {
    fn default() -> Self {
        Self::new()
    }
}

const SHARDS: usize = 4;

/// Counters on a cache line of their own, so that the threads of different flows do not share one.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Shard {
    reads: AtomicU64,
    read_bytes: AtomicU64,
    writes: AtomicU64,
    written_bytes: AtomicU64,
    delayed: AtomicU64,
}

/// What a volume was asked for since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct VolumeCounters {
    /// Commands that read data.
    pub reads: u64,
    /// Bytes they asked for.
    pub read_bytes: u64,
    /// Commands that wrote data.
    pub writes: u64,
    /// Bytes they brought.
    pub written_bytes: u64,
    /// Commands that a limit made wait.
    pub delayed: u64,
}

/// Everything that stands between a command and its volume.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    /// Whether any of the limits is set: the one thing an unlimited command looks at.
    limited: AtomicBool,
    volume: Limiter,
    flow: Rates,
    counters: [Shard; SHARDS],
}

impl Gate {
    /// Sets the limits; `elsewhere` tells whether the pool or the hosts are limited.
    pub fn set(&self, volume: Limit, flow: Limit, elsewhere: bool, now: Instant) {
        self.volume.set(volume, now);
        self.flow.set(flow);
        let limited = elsewhere || self.volume.is_limited() || self.flow.are_limited();
        self.limited.store(limited, Ordering::Relaxed);
    }

    pub fn is_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed)
    }

    pub fn count(&self, flow: &FlowLimiter, direction: Direction, bytes: u32) {
        let shard = &self.counters[flow.shard];
        let (commands, transferred) = match direction {
            Direction::Read => (&shard.reads, &shard.read_bytes),
            Direction::Write => (&shard.writes, &shard.written_bytes),
        };
        commands.fetch_add(1, Ordering::Relaxed);
        transferred.fetch_add(u64::from(bytes), Ordering::Relaxed);
    }

    pub fn counters(&self) -> VolumeCounters {
        self.counters.iter().fold(VolumeCounters::default(), |sum, shard| VolumeCounters {
            reads: sum.reads + shard.reads.load(Ordering::Relaxed),
            read_bytes: sum.read_bytes + shard.read_bytes.load(Ordering::Relaxed),
            writes: sum.writes + shard.writes.load(Ordering::Relaxed),
            written_bytes: sum.written_bytes + shard.written_bytes.load(Ordering::Relaxed),
            delayed: sum.delayed + shard.delayed.load(Ordering::Relaxed),
        })
    }

    /// Reserves in every bucket.
    pub fn admit(
        &self,
        pool: &Limiter,
        hosts: &Hosts,
        host: IpAddr,
        flow: &FlowLimiter,
        bytes: u32,
        now: Instant,
    ) -> Admission {
        let tick = Tick::of(now);
        let paid_at = flow
            .buckets
            .reserve(&self.flow, bytes, tick)
            .max(hosts.reserve(host, flow, bytes, tick))
            .max(self.volume.reserve(bytes, tick))
            .max(pool.reserve(bytes, tick));
        if paid_at <= tick {
            return Admission::Now;
        }
        self.counters[flow.shard].delayed.fetch_add(1, Ordering::Relaxed);
        Admission::At(paid_at.instant())
    }
}

#[cfg(test)]
mod tests;
