//! The promises of the buckets, in virtual time.

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
        // One command at a time, and nothing saved up meanwhile: the microsecond that it takes comes on top.
        let least = if depth == 1 && burst_ms == 0 { 1.0 / (1.0 / rate + 1e-6) } else { rate };
        prop_assert!(ran <= rate + burst + 1.0 && ran >= least * 0.99 - 1.0,
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
