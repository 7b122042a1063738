//! One token bucket, kept as the instant at which everything reserved so far is paid for.
//!
//! A reservation moves that instant on by what it costs; it may run when the instant has come. An instant
//! that lies in the past is unused rate, of which at most the burst counts. So one atomic word is the whole
//! bucket, debt needs no queue, and over any window no more runs than rate x window + the larger of the
//! burst and one request (the virtual scheduling algorithm of ITU-T I.371, with requests paid in advance).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Ticks per second: 1/16 ns, so that a cost of 200 ns is exact to 0.05 %, and 64 bits last for 36 years.
const TICKS_PER_S: f64 = 16e9;
const TICKS_PER_NS: u64 = 16;
/// The clock starts here, so that `now - burst` stays positive.
const START: u64 = 3600 * 16_000_000_000;
/// Longest burst and longest debt that a change of rate rescales.
pub(crate) const MAX_BURST_MS: u32 = 60_000;

/// A point in time of the buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tick(u64);

fn epoch() -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    *EPOCH.get_or_init(Instant::now)
}

impl Tick {
    /// Of an instant; instants before the first use of any bucket count as that use.
    pub fn of(now: Instant) -> Self {
        let since = now.saturating_duration_since(epoch());
        Self(
            START
                + since.as_secs() * 16_000_000_000
                + u64::from(since.subsec_nanos()) * TICKS_PER_NS,
        )
    }

    /// The first nanosecond that is not before this tick.
    pub fn instant(self) -> Instant {
        let ns = self.0.saturating_sub(START).div_ceil(TICKS_PER_NS);
        epoch() + Duration::from_nanos(ns)
    }
}

/// How fast a bucket fills and how much of it can be saved up. All zero: unlimited.
#[derive(Debug, Default)]
pub(crate) struct Rate {
    /// Bits of an `f64`: ticks that one unit costs; zero is unlimited.
    ticks_per_unit: AtomicU64,
    burst: AtomicU64,
}

impl Rate {
    /// Sets units per second; returns by how much a unit became more expensive (1: nothing to rescale).
    pub fn set(&self, units_per_s: Option<f64>, burst_ms: u32) -> f64 {
        let cost = units_per_s.map_or(0.0, |rate| TICKS_PER_S / rate.max(1e-3));
        self.burst.store(u64::from(burst_ms.min(MAX_BURST_MS)) * 16_000_000, Ordering::Relaxed);
        let before = f64::from_bits(self.ticks_per_unit.swap(cost.to_bits(), Ordering::Relaxed));
        if before > 0.0 { cost / before } else { 1.0 }
    }

    fn cost(&self, units: u32) -> u64 {
        let cost = f64::from_bits(self.ticks_per_unit.load(Ordering::Relaxed)) * f64::from(units);
        cost.round() as u64
    }
}

/// A bucket; it is full when created.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    paid_at: AtomicU64,
}

impl Bucket {
    /// Takes `units` and tells when they are paid for: at or before `now` when there is no need to wait.
    pub fn reserve(&self, rate: &Rate, units: u32, now: Tick) -> Tick {
        let cost = rate.cost(units);
        if cost == 0 {
            return now;
        }
        let oldest = now.0 - rate.burst.load(Ordering::Relaxed).min(now.0);
        let mut paid_at = self.paid_at.load(Ordering::Relaxed);
        loop {
            let after = paid_at.max(oldest) + cost;
            match self.paid_at.compare_exchange_weak(
                paid_at,
                after,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Tick(after),
                Err(seen) => paid_at = seen,
            }
        }
    }

    /// Scales the debt to a new rate, so that a faster tier helps at once and a slower one is not outrun.
    pub fn rescale(&self, factor: f64, now: Tick) {
        let _ = self.paid_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |paid_at| {
            let debt = paid_at.checked_sub(now.0)?;
            Some(now.0 + (debt as f64 * factor) as u64)
        });
    }
}
