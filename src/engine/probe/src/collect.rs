//! Merges what workers tell, second by second, into the figures of a target and of the whole stage.

use std::collections::BTreeMap;

use crate::{
    measure::{CpuSeconds, Failures, Flow, Histogram, Interval, WorkerEnd, judge_steady},
    result::{Figures, LittlesLaw, Second, Side},
    workload::SteadyRule,
};

const MIB: f64 = 1_048_576.0;

/// A running sum of intervals with its series.
#[derive(Debug, Default)]
pub struct Sum {
    pending: BTreeMap<u32, (u32, Box<Interval>)>,
    /// Everything inside of the measurement.
    pub measured: Interval,
    /// Failures before and after it.
    outside: Failures,
    in_flight_seconds: f64,
    measured_seconds: f64,
    /// CPU time of absorbed sums.
    cpu_of_others: CpuSeconds,
    /// The series.
    pub seconds: Vec<Second>,
    /// What workers said at their end.
    pub ends: Vec<WorkerEnd>,
}

impl Sum {
    /// Takes an interval of a worker. Returns the second when `workers` have told of it.
    pub fn take(&mut self, interval: &Interval, workers: u32) -> Option<Second> {
        if interval.late {
            self.late(interval);
            return None;
        }
        let (count, merged) = self.pending.entry(interval.second).or_default();
        *count += 1;
        merged.second = interval.second;
        merged.ramp = interval.ramp;
        merged.merge(interval);
        if *count < workers {
            return None;
        }
        let (_, merged) = self.pending.remove(&interval.second)?;
        Some(self.close_second(&merged))
    }

    /// What ended late: its latency counts, its rate does not.
    fn late(&mut self, interval: &Interval) {
        self.measured.read.latency.merge(&interval.read.latency);
        self.measured.write.latency.merge(&interval.write.latency);
        self.measured.service.merge(&interval.service);
        self.measured.unstamped_bytes += interval.unstamped_bytes;
        self.outside.merge(&interval.failures);
    }

    fn close_second(&mut self, interval: &Interval) -> Second {
        let second = second(interval);
        self.seconds.push(second);
        if interval.ramp {
            self.outside.merge(&interval.failures);
        } else {
            self.measured.merge(interval);
            self.in_flight_seconds += interval.in_flight_seconds;
            self.measured_seconds += interval.seconds;
        }
        second
    }

    /// Adds a finished sum of another stage; rates of the whole are over all their time.
    pub fn absorb(&mut self, other: &Self) {
        self.measured.merge(&other.measured);
        self.outside.merge(&other.outside);
        self.in_flight_seconds += other.in_flight_seconds;
        let longest = other.ends.iter().map(|end| end.measured_seconds).fold(0.0, f64::max);
        self.measured_seconds += longest;
        for end in &other.ends {
            self.cpu_of_others.add(&end.cpu);
        }
    }

    /// Closes seconds that some workers did not live to tell of.
    pub fn flush(&mut self) {
        while let Some((_, (_, interval))) = self.pending.pop_first() {
            self.close_second(&interval);
        }
        self.seconds.sort_by_key(|second| second.second);
    }

    /// Failures, ramp and drain included.
    #[must_use]
    pub fn failures(&self) -> Failures {
        let mut all = self.measured.failures;
        all.merge(&self.outside);
        all
    }

    /// Flows of all workers.
    #[must_use]
    pub fn flows(&self) -> Vec<Flow> {
        self.ends.iter().flat_map(|end| end.flows.iter().cloned()).collect()
    }

    /// CPU time of all workers.
    #[must_use]
    pub fn cpu(&self) -> CpuSeconds {
        let mut sum = self.cpu_of_others;
        self.ends.iter().for_each(|end| sum.add(&end.cpu));
        sum
    }

    /// The figures.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "rates")]
    pub fn figures(&self, rule: &SteadyRule, is_open: bool) -> Figures {
        let interval = &self.measured;
        let longest = self.ends.iter().map(|end| end.measured_seconds).fold(0.0, f64::max);
        let measured_seconds = if longest > 0.0 { longest } else { self.measured_seconds };
        let mut latency = interval.read.latency.clone();
        latency.merge(&interval.write.latency);
        let service: &Histogram = if is_open { &interval.service } else { &latency };
        let rate =
            |count: u64| if measured_seconds > 0.0 { count as f64 / measured_seconds } else { 0.0 };
        let side = |direction: &crate::measure::Direction| Side {
            iops: rate(direction.ios),
            mib_per_s: rate(direction.bytes) / MIB,
            ios: direction.ios,
            bytes: direction.bytes,
            latency_ns: direction.latency.summary(),
            histogram: direction.latency.clone(),
        };
        let series: Vec<f64> = self
            .seconds
            .iter()
            .filter(|second| !second.ramp && second.seconds > 0.99)
            .map(|second| second.iops)
            .collect();
        let steady_state = judge_steady(&series, rule);
        let cpu = self.cpu();
        let iops = rate(interval.ios());
        let failures = self.failures();
        Figures {
            iops,
            mib_per_s: rate(interval.bytes()) / MIB,
            ios: interval.ios(),
            bytes: interval.bytes(),
            measured_seconds,
            latency_ns: latency.summary(),
            service_ns: is_open.then(|| interval.service.summary()),
            read: side(&interval.read),
            write: side(&interval.write),
            errors: failures.total(),
            failures,
            cpu_seconds: cpu.total(),
            cpu_user_seconds: cpu.user,
            cpu_system_seconds: cpu.system,
            cpu_us_per_io: cpu.total() * 1e6 / (interval.ios().max(1) as f64),
            context_switches: cpu.switches,
            littles_law: littles_law(
                self.in_flight_seconds,
                measured_seconds,
                iops,
                service.mean(),
            ),
            steady: steady_state.attained,
            steady_state,
        }
    }
}

fn littles_law(in_flight_seconds: f64, seconds: f64, iops: f64, mean_nanos: f64) -> LittlesLaw {
    let measured = if seconds > 0.0 { in_flight_seconds / seconds } else { 0.0 };
    let expected = iops * mean_nanos / 1e9;
    let ratio = if expected > 0.0 { measured / expected } else { 0.0 };
    LittlesLaw {
        in_flight_measured: measured,
        in_flight_expected: expected,
        ratio,
        holds: (0.9..=1.1).contains(&ratio),
    }
}

#[expect(clippy::cast_precision_loss, reason = "rates")]
fn second(interval: &Interval) -> Second {
    let seconds = interval.seconds.max(1e-9);
    let mut latency = interval.read.latency.clone();
    latency.merge(&interval.write.latency);
    Second {
        second: interval.second,
        ramp: interval.ramp,
        seconds: interval.seconds,
        iops: interval.ios() as f64 / seconds,
        mib_per_s: interval.bytes() as f64 / seconds / MIB,
        read_iops: interval.read.ios as f64 / seconds,
        write_iops: interval.write.ios as f64 / seconds,
        latency_mean_ns: latency.mean(),
        latency_p50_ns: latency.quantile(0.5),
        latency_p99_ns: latency.quantile(0.99),
        latency_max_ns: latency.max(),
        errors: interval.failures.total(),
        in_flight: interval.in_flight_seconds / seconds,
    }
}
