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

use serde::{Deserialize, Serialize};

use crate::bucket::{Bucket, Rate, Tick};

/// Burst of a limit that does not set its own.
pub const DEFAULT_BURST_MS: u32 = 100;

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Data goes to the initiator.
    Read,
    /// Data comes from the initiator.
    Write,
}

/// When a command may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// At once.
    Now,
    /// At that instant; final, so the caller parks until then and does not ask again.
    At(Instant),
}

/// One limit on commands and bytes per second, reads and writes together; what is absent is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Commands per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    /// MiB per second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mib_per_s: Option<f64>,
    /// How many milliseconds of unused rate may be spent at once; [`DEFAULT_BURST_MS`] when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_ms: Option<u32>,
}

impl Limit {
    /// Whether it limits nothing.
    pub fn is_unlimited(&self) -> bool {
        self.iops.is_none() && self.mib_per_s.is_none()
    }

    /// Why it makes no sense, if so.
    pub fn problem(&self) -> Option<&'static str> {
        let bad = |rate: Option<f64>| rate.is_some_and(|rate| !(rate.is_finite() && rate >= 1e-3));
        if bad(self.iops) || bad(self.mib_per_s) {
            return Some("a rate must be above zero; leave it out for no limit");
        }
        if self.burst_ms.is_some_and(|ms| ms > crate::bucket::MAX_BURST_MS) {
            return Some("a burst is at most 60000 ms");
        }
        None
    }
}

/// The limits that a volume has by setting, beside what its quality of service gives it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// All traffic of the volume.
    #[serde(default, skip_serializing_if = "Limit::is_unlimited")]
    pub volume: Limit,
    /// Each flow (one TCP connection) to the volume.
    #[serde(default, skip_serializing_if = "Limit::is_unlimited")]
    pub flow: Limit,
}

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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::Duration;

    const HOST: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

    struct Bench {
        gate: Gate,
        pool: Limiter,
        hosts: Hosts,
    }

    impl Bench {
        fn new(volume: Limit, flow: Limit, pool: Limit, host: Limit) -> Self {
            let bench =
                Self { gate: Gate::default(), pool: Limiter::default(), hosts: Hosts::default() };
            bench.gate.set(volume, flow, true, Instant::now());
            bench.pool.set(pool, Instant::now());
            bench.hosts.rates.set(host);
            bench
        }

        fn admit(&self, flow: &FlowLimiter, host: IpAddr, bytes: u32, now: Instant) -> Instant {
            match self.gate.admit(&self.pool, &self.hosts, host, flow, bytes, now) {
                Admission::Now => now,
                Admission::At(at) => {
                    assert!(at > now);
                    at
                }
            }
        }

        /// `depth` commands in flight per flow, each sent again when it ran; commands and bytes per second.
        fn closed_loop(
            &self,
            flows: &[(FlowLimiter, IpAddr)],
            depth: usize,
            bytes: u32,
            seconds: u64,
        ) -> Vec<f64> {
            let start = Instant::now();
            let end = start + Duration::from_secs(seconds);
            let mut done = vec![0_u64; flows.len()];
            let mut due = std::collections::BinaryHeap::new();
            for (index, (flow, host)) in flows.iter().enumerate() {
                for _ in 0..depth {
                    due.push(std::cmp::Reverse((self.admit(flow, *host, bytes, start), index)));
                }
            }
            while let Some(std::cmp::Reverse((at, index))) = due.pop() {
                if at > end {
                    break;
                }
                done[index] += 1;
                let (flow, host) = &flows[index];
                // A command takes at least a microsecond, limit or not.
                let next = at + Duration::from_micros(1);
                due.push(std::cmp::Reverse((self.admit(flow, *host, bytes, next), index)));
            }
            done.iter().map(|&done| done as f64 / seconds as f64).collect()
        }
    }

    fn mib(rate: f64, burst_ms: u32) -> Limit {
        Limit { iops: None, mib_per_s: Some(rate), burst_ms: Some(burst_ms) }
    }

    fn iops(rate: f64) -> Limit {
        Limit { iops: Some(rate), mib_per_s: None, burst_ms: Some(0) }
    }

    fn flows(hosts: &[u8]) -> Vec<(FlowLimiter, IpAddr)> {
        hosts.iter().map(|&last| (FlowLimiter::new(), IpAddr::from([192, 0, 2, last]))).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_window_admits_more_than_rate_times_time_plus_burst(
            rate in 1.0_f64..4000.0,
            burst_ms in 0_u32..2000,
            requests in proptest::collection::vec((0_u64..20_000, 1_u32..1_048_577), 2..120),
        ) {
            let bench = Bench::new(mib(rate, burst_ms), Limit::default(), Limit::default(), Limit::default());
            let flow = FlowLimiter::new();
            let start = Instant::now() + Duration::from_secs(10);
            let mut now = start;
            let mut ran = Vec::new();
            for &(pause_us, bytes) in &requests {
                now += Duration::from_micros(pause_us);
                ran.push((bench.admit(&flow, HOST, bytes, now), f64::from(bytes)));
            }
            prop_assert!(ran.is_sorted_by_key(|&(at, _)| at), "first come, first served");
            let largest = ran.iter().map(|&(_, bytes)| bytes).fold(0.0, f64::max);
            let bytes_per_s = rate * 1_048_576.0;
            let slack = (bytes_per_s * f64::from(burst_ms) / 1000.0).max(largest);
            for first in 0..ran.len() {
                let mut sum = 0.0;
                for &(at, bytes) in &ran[first..] {
                    sum += bytes;
                    let window = (at - ran[first].0).as_secs_f64();
                    // A nanosecond of rounding per command.
                    let rounding = bytes_per_s * 1e-9 * ran.len() as f64 + 1.0;
                    prop_assert!(sum <= bytes_per_s * window + slack + rounding,
                        "{sum} bytes in {window} s at {bytes_per_s} B/s, slack {slack}");
                }
            }
        }

        #[test]
        fn the_long_run_rate_is_within_one_percent_of_the_limit(
            rate in 10.0_f64..100_000.0,
            burst_ms in 0_u32..100,
            depth in 1_usize..64,
        ) {
            let limit = Limit { iops: Some(rate), mib_per_s: None, burst_ms: Some(burst_ms) };
            let bench = Bench::new(limit, Limit::default(), Limit::default(), Limit::default());
            let seconds = 20;
            let ran = bench.closed_loop(&flows(&[1]), depth, 4096, seconds)[0];
            let burst = rate * f64::from(burst_ms) / 1000.0 / seconds as f64;
            prop_assert!(ran <= rate + burst + 1.0 && ran >= rate * 0.99 - 1.0,
                "{ran} of {rate} per second");
        }
    }

    #[test]
    fn flows_scale_until_the_volume_is_full() {
        for (count, expected) in [(1, 100.0), (2, 200.0), (4, 400.0), (8, 500.0)] {
            let unlimited = Limit::default();
            let bench = Bench::new(mib(500.0, 0), mib(100.0, 0), unlimited, unlimited);
            let flows = flows(&vec![1; count]);
            let ran: f64 = bench.closed_loop(&flows, 16, 65_536, 10).iter().sum();
            let rate = ran * 65_536.0 / 1_048_576.0;
            assert!((rate / expected - 1.0).abs() < 0.01, "{count} flows: {rate} MiB/s");
        }
    }

    #[test]
    fn equal_flows_share_a_volume_equally_and_hosts_are_limited_apart() {
        let unlimited = Limit::default();
        let bench = Bench::new(iops(10_000.0), unlimited, unlimited, iops(3_000.0));
        // Two flows of one host, two hosts of one flow each: 1500 + 1500, 3000, 3000.
        let ran = bench.closed_loop(&flows(&[1, 1, 2, 3]), 8, 4096, 10);
        for (ran, expected) in ran.iter().zip([1500.0, 1500.0, 3000.0, 3000.0]) {
            assert!((ran / expected - 1.0).abs() < 0.01, "{ran} instead of {expected}");
        }
        let bench = Bench::new(unlimited, unlimited, iops(4_000.0), unlimited);
        for ran in bench.closed_loop(&flows(&[1, 2, 3, 4]), 8, 4096, 10) {
            assert!((ran / 1000.0 - 1.0).abs() < 0.01, "{ran} of the pool");
        }
    }

    #[test]
    fn a_faster_tier_helps_commands_that_come_after_it_at_once() {
        let unlimited = Limit::default();
        let bench = Bench::new(mib(1.0, 0), unlimited, unlimited, unlimited);
        let (flow, now) = (FlowLimiter::new(), Instant::now());
        for _ in 0..100 {
            bench.admit(&flow, HOST, 1 << 20, now);
        }
        assert!(bench.admit(&flow, HOST, 1 << 20, now) - now > Duration::from_secs(100));
        bench.gate.set(mib(1000.0, 0), unlimited, true, now);
        let wait = bench.admit(&flow, HOST, 1 << 20, now) - now;
        assert!(wait < Duration::from_millis(103), "{wait:?}");
    }
}
