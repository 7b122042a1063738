//! Closed loop: rates, histograms, series, self-tests, cost.

use std::time::Duration;

use plimsoll_initiator::Outcome;
use plimsoll_probe::{
    Workload, run,
    workload::{Access, split_rows},
};

use crate::fake::{Fake, Null};

fn short() -> Workload {
    Workload { ramp_seconds: 0.3, seconds: 1.5, depth: 8, ..Workload::simple(8192, 70.0, 100.0) }
}

#[test]
fn latency_and_rate_are_those_of_the_datastore() {
    let set = run(&short(), &|_| Ok(Box::new(Fake::steady(Duration::from_millis(4))))).unwrap();
    let result = &set.results[0];
    let figures = &result.figures;
    // The completions are stamped with their due time: latency is exact, the rate can only be lower.
    let mean_ms = figures.latency_ns.mean / 1e6;
    assert!((4.0..4.1).contains(&mean_ms), "mean {mean_ms} ms");
    assert!((1500.0..2010.0).contains(&figures.iops), "{} IOPS", figures.iops);
    assert!((figures.mib_per_s - figures.iops / 128.0).abs() < 1e-6);
    assert!(
        (0.68..0.72).contains(&(figures.read.ios as f64 / figures.ios as f64))
            || figures.ios < 2000
    );
    assert_eq!(figures.ios, figures.read.ios + figures.write.ios);
    assert_eq!(figures.latency_ns.count, figures.ios);
    assert_eq!(figures.errors, 0);
    assert!(set.stopped.is_none());
}

#[test]
fn littles_law_holds_for_a_client_that_stamps_what_it_delivers() {
    let open = |_| -> plimsoll_probe::Result<Box<dyn plimsoll_initiator::Datastore>> {
        Ok(Box::new(Fake::steady(Duration::from_millis(4)).stamped_when_delivered()))
    };
    let law = run(&short(), &open).unwrap().total.littles_law;
    assert!(law.holds && (7.0..8.1).contains(&law.in_flight_measured), "{law:?}");
}

#[test]
fn a_mixture_of_latencies_gives_its_percentiles() {
    // One in twenty takes 20 ms, the others 1 ms: p50 and p90 are 1 ms, p99 is 20 ms.
    let slow =
        |n: u64| if n % 20 == 7 { Duration::from_millis(20) } else { Duration::from_millis(1) };
    let workload = Workload { seconds: 2.0, ..short() };
    let set =
        run(&workload, &|_| Ok(Box::new(Fake::new(move |n| (slow(n), Outcome::Done))))).unwrap();
    let latency = set.total.latency_ns;
    for (told, wanted) in [(latency.p50, 1e6), (latency.p90, 1e6), (latency.p99, 2e7)] {
        assert!((told as f64 / wanted - 1.0).abs() < 0.002, "{told} for {wanted}");
    }
    let mean = latency.mean / 1e6;
    assert!((1.6..2.4).contains(&mean), "mean {mean} ms");
}

#[test]
fn the_ramp_is_excluded_and_the_series_has_every_second() {
    // The first half of the ramp is slow; nothing of it may count.
    let workload = Workload { ramp_seconds: 1.0, seconds: 3.0, depth: 4, ..short() };
    let slow = |n: u64| if n < 20 { Duration::from_millis(100) } else { Duration::from_millis(2) };
    let set =
        run(&workload, &|_| Ok(Box::new(Fake::new(move |n| (slow(n), Outcome::Done))))).unwrap();
    let result = &set.results[0];
    let seconds: Vec<(u32, bool)> =
        result.seconds.iter().map(|second| (second.second, second.ramp)).collect();
    assert_eq!(seconds, [(0, true), (1, false), (2, false), (3, false)]);
    assert!(result.seconds[0].latency_max_ns >= 100_000_000);
    assert!(result.figures.latency_ns.max < 3_000_000, "{:?}", result.figures.latency_ns);
    let counted: f64 = result.seconds[1..].iter().map(|second| second.iops * second.seconds).sum();
    assert!((counted - result.figures.ios as f64).abs() < 1e-6 * counted);
}

#[test]
fn workers_are_merged_by_histogram() {
    let workload = Workload { workers: 2, ..short() };
    let set = run(&workload, &|worker| {
        Ok(Box::new(Fake::steady(Duration::from_millis(if worker == 0 { 1 } else { 10 }))))
    })
    .unwrap();
    let latency = set.total.latency_ns;
    // The fast worker does ten times the I/Os: the median is its own, not the mean of the two.
    assert!((0.99e6..1.01e6).contains(&(latency.p50 as f64)), "{latency:?}");
    assert!((9.9e6..10.1e6).contains(&(latency.p99 as f64)), "{latency:?}");
    assert_eq!(set.results[0].workers, 2);
    assert_eq!(set.results[0].flows.len(), 4);
}

#[test]
fn flows_are_counted_and_uneven_ones_found() {
    let even = run(&short(), &|_| Ok(Box::new(Fake::steady(Duration::from_millis(1))))).unwrap();
    let flows = &even.results[0].flows;
    let sum: u64 = flows.iter().map(|flow| flow.ios).sum();
    let ios = even.total.ios;
    assert!(sum.abs_diff(ios) < ios / 20 + 20, "{sum} against {ios}");
    assert!(!even.warnings.iter().any(|warning| warning.starts_with("uneven_flows")));
    let uneven = run(&short(), &|_| {
        let mut fake = Fake::steady(Duration::from_millis(1));
        fake.spread = |n| usize::from(n % 10 == 0);
        Ok(Box::new(fake))
    })
    .unwrap();
    assert!(
        uneven.warnings.iter().any(|warning| warning.starts_with("uneven_flows")),
        "{:?}",
        uneven.warnings
    );
}

#[test]
fn a_byte_limit_ends_the_run() {
    let workload =
        Workload { limit_bytes: Some(8192 * 400), ramp_seconds: 0.0, seconds: 60.0, ..short() };
    let set = run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_millis(1))))).unwrap();
    assert_eq!(set.total.ios, 400);
    assert!(set.total.measured_seconds < 5.0);
    assert!(set.stopped.is_none());
}

#[test]
fn a_queue_shorter_than_the_depth_is_told() {
    let workload = Workload { depth: 32, ..short() };
    let set = run(&workload, &|_| {
        Ok(Box::new(Fake::steady(Duration::from_millis(2)).with_queue(4).stamped_when_delivered()))
    })
    .unwrap();
    assert!(
        set.warnings.iter().any(|warning| warning.starts_with("depth_not_reached")),
        "{:?}",
        set.warnings
    );
    assert!(set.total.littles_law.holds, "{:?}", set.total.littles_law);
}

#[test]
fn a_rate_that_falls_is_not_steady() {
    let falling = |n: u64| Duration::from_micros(500 + n / 2);
    let workload = Workload { ramp_seconds: 0.0, seconds: 6.0, depth: 4, ..short() };
    let set =
        run(&workload, &|_| Ok(Box::new(Fake::new(move |n| (falling(n), Outcome::Done))))).unwrap();
    assert!(!set.results[0].figures.steady);
    let state = &set.results[0].figures.steady_state;
    assert!(state.slope_pct < -10.0, "{state:?}");
    assert!(set.warnings.iter().any(|warning| warning.starts_with("not_steady")));
}

#[test]
fn a_steady_run_may_end_early() {
    let mut workload = Workload { ramp_seconds: 0.0, seconds: 40.0, depth: 2, ..short() };
    workload.steady.stop = true;
    workload.steady.window_seconds = 5;
    workload.steady.excursion_pct = 60.0;
    workload.steady.slope_pct = 60.0;
    let set = run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_millis(5))))).unwrap();
    assert!(set.total.measured_seconds < 30.0, "{}", set.total.measured_seconds);
    assert!(set.total.steady);
}

#[test]
fn pauses_between_bursts_are_kept() {
    let access = Access { burst: 5, delay_ms: 50.0, ..Access::new(8192, 100.0, 100.0) };
    let workload =
        Workload { accesses: vec![access], ramp_seconds: 0.0, seconds: 1.0, depth: 8, ..short() };
    let set = run(&workload, &|_| Ok(Box::new(Fake::steady(Duration::from_micros(100))))).unwrap();
    // Twenty bursts of five in a second.
    assert!((60..=105).contains(&set.total.ios), "{}", set.total.ios);
}

/// The generator must not be what is measured: below 0.2 µs per I/O on an idle core. The machine that runs
/// the tests may be busy, so CPU time counts, not wall time, and the limit here is twice that.
#[test]
fn the_generator_costs_little() {
    for (name, workload) in [
        ("8 KiB reads", Workload::simple(8192, 100.0, 100.0)),
        ("8 KiB writes", Workload::simple(8192, 0.0, 100.0)),
        (
            "mix of five rows",
            Workload {
                accesses: split_rows(&FOUR, &[(8192, 100.0)], 70.0, 50.0),
                ..Workload::default()
            },
        ),
    ] {
        let workload = Workload { ramp_seconds: 0.2, seconds: 1.0, depth: 32, ..workload };
        let set = run(&workload, &|_| Ok(Box::new(Null::new()))).unwrap();
        let cost = set.total.cpu_us_per_io;
        println!(
            "generator, {name}: {cost:.3} µs of CPU per I/O, {:.0} I/Os a second",
            set.total.iops
        );
        assert!(cost < 0.4, "{name}: {cost} µs per I/O");
    }
}

const FOUR: [(u32, f64); 4] = [(4096, 40.0), (8192, 30.0), (16_384, 20.0), (65_536, 10.0)];
