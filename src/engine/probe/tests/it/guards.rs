//! Guards end a run with what was measured until then.

use std::time::Duration;

use plimsoll_initiator::Outcome;
use plimsoll_probe::{
    Workload, run,
    run::{Budget, Local, Runner, Target},
    workload::Guards,
};

use crate::fake::Fake;

fn workload(guards: Guards) -> Workload {
    Workload {
        ramp_seconds: 0.0,
        seconds: 20.0,
        depth: 4,
        guards,
        ..Workload::simple(8192, 50.0, 100.0)
    }
}

#[test]
fn errors_stop_the_run_and_are_no_ios() {
    let guards = Guards { max_errors: Some(50), ..Guards::default() };
    let set = run(&workload(guards), &|_| {
        Ok(Box::new(Fake::new(|n| {
            let outcome = if n % 4 == 0 { Outcome::ReservationConflict } else { Outcome::Done };
            (Duration::from_millis(2), outcome)
        })))
    })
    .unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "errors");
    let figures = &set.results[0].figures;
    assert!(figures.errors > 50);
    assert_eq!(figures.failures.reservation_conflict, figures.errors);
    assert_eq!(figures.latency_ns.count, figures.ios);
    assert!(figures.measured_seconds < 10.0);
    assert!(set.results[0].failure_examples[0].contains("ReservationConflict"));
}

#[test]
fn slow_seconds_stop_the_run() {
    let guards = Guards { max_latency_ms: Some(20.0), latency_seconds: 2, ..Guards::default() };
    let slow = |n: u64| if n > 400 { Duration::from_millis(40) } else { Duration::from_millis(3) };
    let set =
        run(&workload(guards), &|_| Ok(Box::new(Fake::new(move |n| (slow(n), Outcome::Done)))))
            .unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "latency");
    assert!(set.total.measured_seconds < 8.0);
}

#[test]
fn silence_stops_the_run() {
    let guards = Guards { stall_seconds: Some(2.0), ..Guards::default() };
    let set = run(&workload(guards), &|_| {
        let fake = Fake::steady(Duration::from_millis(1));
        Ok(Box::new(fake.with_stall(Duration::from_millis(300), Duration::from_secs(15))))
    })
    .unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "stall");
    assert_eq!(set.results[0].unfinished, 4);
}

#[test]
fn budgets_of_bytes_and_time_are_kept_over_stages() {
    let open = |_: &plimsoll_probe::measure::Seat| -> plimsoll_probe::Result<Box<dyn plimsoll_initiator::Datastore>> {
        Ok(Box::new(Fake::steady(Duration::from_millis(1))))
    };
    let host = Local::new(&open);
    let target = || vec![Target::new("nfs://fake/x")];
    let mut runner = Runner::new(vec![&host], target());
    runner.budget = Budget { bytes: Some(4 << 20), seconds: None };
    let first =
        Workload { seconds: 0.5, limit_bytes: Some(1 << 20), ..workload(Guards::default()) };
    let stages = [first.clone(), workload(Guards::default()), workload(Guards::default())];
    let set = runner.run(&stages, &mut |_| true).unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "bytes");
    assert_eq!(set.stages.len(), 2);
    let bytes: u64 = set.results.iter().map(|result| result.figures.bytes).sum();
    assert!((3 << 20..=(4 << 20) + 65_536).contains(&bytes), "{bytes}");

    let mut runner = Runner::new(vec![&host], target());
    runner.budget = Budget { bytes: None, seconds: Some(1.0) };
    let set = runner.run(&stages[1..], &mut |_| true).unwrap();
    assert_eq!(set.stopped.as_ref().unwrap().guard, "time");
    assert!(set.elapsed_seconds < 4.0);
}

#[test]
fn cancelling_keeps_what_was_measured() {
    let open = |_: &plimsoll_probe::measure::Seat| -> plimsoll_probe::Result<Box<dyn plimsoll_initiator::Datastore>> {
        Ok(Box::new(Fake::steady(Duration::from_millis(1))))
    };
    let host = Local::new(&open);
    let runner = Runner::new(vec![&host], vec![Target::new("nfs://fake/x")]);
    let mut calls = 0;
    let set = runner
        .run(&[workload(Guards::default())], &mut |_| {
            calls += 1;
            calls < 3
        })
        .unwrap();
    assert_eq!(set.stopped.unwrap().guard, "cancelled");
    assert!(set.total.ios > 100);
}

#[test]
fn a_datastore_that_cannot_be_opened_is_an_error() {
    let error = run(&workload(Guards::default()), &|_| {
        Err(plimsoll_probe::Error::Run("no route".to_owned()))
    })
    .unwrap_err();
    assert!(error.to_string().contains("no route"));
}
