//! Open loop: the rate is kept whatever the datastore does, and a stall is seen by all who wait.

use std::time::Duration;

use plimsoll_probe::{
    Workload, run,
    workload::{Arrivals, Load},
};

use crate::fake::Fake;

fn open(iops: f64, arrivals: Arrivals) -> Workload {
    Workload {
        load: Load::Open { iops, arrivals },
        ramp_seconds: 0.3,
        seconds: 2.0,
        depth: 256,
        ..Workload::simple(8192, 100.0, 100.0)
    }
}

#[test]
fn the_rate_is_kept_within_one_percent() {
    for workers in [1, 3] {
        let workload = Workload { workers, ..open(3000.0, Arrivals::Fixed) };
        let set =
            run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_millis(2))))).unwrap();
        assert!((set.total.iops / 3000.0 - 1.0).abs() < 0.01, "{workers}: {} IOPS", set.total.iops);
        assert_eq!(set.results[0].mode, "open");
        assert_eq!(set.results[0].rate_iops, Some(3000.0));
    }
}

#[test]
fn poisson_arrivals_keep_the_rate_too() {
    let set = run(&open(4000.0, Arrivals::Poisson), &|_| {
        Ok(Box::new(Fake::steady(Duration::from_millis(1))))
    })
    .unwrap();
    // 8,000 arrivals: one standard deviation is 1.1 %.
    assert!((set.total.iops / 4000.0 - 1.0).abs() < 0.05, "{} IOPS", set.total.iops);
    // Independent arrivals: the number under way is itself Poisson with mean rate times latency.
    assert!((set.total.littles_law.in_flight_expected - 4.0).abs() < 0.5);
}

#[test]
fn a_stall_is_not_omitted() {
    // Half of a second without completions in two: in the closed loop eight I/Os notice it.
    let stall = || {
        Fake::steady(Duration::from_millis(1))
            .with_stall(Duration::from_millis(800), Duration::from_millis(1300))
    };
    let closed = Workload { depth: 8, load: Load::Closed, ..open(1.0, Arrivals::Fixed) };
    let blind = run(&closed, &|_| Ok(Box::new(stall()))).unwrap();
    assert!(blind.total.latency_ns.p99 < 5_000_000, "{:?}", blind.total.latency_ns);
    // In the open loop with few in flight everything that was due in the half second waited: a quarter of all.
    let workload = Workload { depth: 8, ..open(1000.0, Arrivals::Fixed) };
    let set = run(&workload, &|_| Ok(Box::new(stall()))).unwrap();
    let latency = set.total.latency_ns;
    let service = set.total.service_ns.unwrap();
    assert!(latency.p90 > 100_000_000, "{latency:?}");
    assert!(latency.p99 > 400_000_000, "{latency:?}");
    assert!(service.p90 < 10_000_000, "service alone hides it: {service:?}");
    assert!((set.total.iops / 1000.0 - 1.0).abs() < 0.02, "{}", set.total.iops);
}

#[test]
fn overload_is_told() {
    // Depth 4 with 10 ms carries 400 a second of 2,000.
    let workload = Workload { depth: 4, ..open(2000.0, Arrivals::Fixed) };
    let set = run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_millis(10))))).unwrap();
    let result = &set.results[0];
    assert!((300.0..=405.0).contains(&set.total.iops), "{}", set.total.iops);
    assert!(result.backlog > 3000, "{}", result.backlog);
    assert!(
        result.warnings.iter().any(|warning| warning.starts_with("rate_not_reached")),
        "{:?}",
        result.warnings
    );
    assert!(set.total.latency_ns.max > 1_000_000_000);
}

#[test]
fn what_ends_after_the_time_still_counts_as_latency() {
    // Everything takes 600 ms: the last 600 ms of arrivals end after the time is over.
    let workload = Workload { ramp_seconds: 0.0, seconds: 1.0, ..open(100.0, Arrivals::Fixed) };
    let set = run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_millis(600))))).unwrap();
    assert!(set.total.latency_ns.count >= 99, "{}", set.total.latency_ns.count);
    assert!(set.total.ios < 60, "{}", set.total.ios);
}
