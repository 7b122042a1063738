//! When a measurement is suspect, the result says so: each warning is `code: text`, and the text says
//! what to do about it.

use crate::{
    measure::Flow,
    result::TargetResult,
    text::show_bytes,
    workload::{Load, Workload},
};

/// A working set up to this size may live in the cache of an array.
const CACHE_BYTES: u64 = 16 << 30;
/// CPU share of a thread above which it, not the datastore, sets the rate.
const BUSY_SHARE: f64 = 0.9;

/// Finds what is suspect in a result. `spins`: the client polls awake, so its CPU time says nothing.
#[must_use]
pub fn find(
    result: &TargetResult,
    workload: &Workload,
    busiest_worker: f64,
    spins: bool,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut warn = |code: &str, text: String| found.push(format!("{code}: {text}"));
    let figures = &result.figures;
    if figures.ios == 0 {
        warn("no_io", "nothing completed".to_owned());
        return found;
    }
    if busiest_worker > BUSY_SHARE && !spins {
        warn(
            "client_limited",
            format!(
                "a measuring thread was busy {:.0} % of the time: the rate is its limit; use more --workers",
                busiest_worker * 100.0
            ),
        );
    }
    let steady = &figures.steady_state;
    match steady.verdict.as_str() {
        "not attained" => warn(
            "not_steady",
            format!(
                "excursion {:.1} % (limit {:.0} %), slope {:.1} % (limit {:.0} %) over {} s",
                steady.excursion_pct,
                steady.excursion_limit_pct,
                steady.slope_pct,
                steady.slope_limit_pct,
                steady.window_seconds
            ),
        ),
        "too short" => warn(
            "too_short",
            format!("{} whole seconds are too few to tell a steady state", steady.window_seconds),
        ),
        _ => {}
    }
    if let Some(text) = uneven(&result.flows) {
        warn("uneven_flows", text);
    }
    let size = workload.size_on(result.capacity_bytes);
    if size <= CACHE_BYTES && workload.reads() {
        warn(
            "cache_sized_working_set",
            format!("the working set of {} may live in the cache of the array", show_bytes(size)),
        );
    }
    if result.empty_reads_pct > 50.0 {
        warn(
            "thin_unwritten",
            format!(
                "{:.0} % of the blocks read were empty: blocks never written are answered without touching \
                 media; use --prefill",
                result.empty_reads_pct
            ),
        );
    }
    if !figures.littles_law.holds {
        warn(
            "littles_law",
            format!(
                "{:.2} I/Os were under way, rate times latency says {:.2}: clocks or counts are off",
                figures.littles_law.in_flight_measured, figures.littles_law.in_flight_expected
            ),
        );
    }
    open_loop(result, workload, &mut warn);
    events(result, &mut warn);
    found
}

fn open_loop(result: &TargetResult, workload: &Workload, warn: &mut dyn FnMut(&str, String)) {
    let Load::Open { .. } = workload.load else {
        let full = f64::from(workload.depth) * f64::from(result.workers);
        let reached = result.figures.littles_law.in_flight_measured;
        let pauses = workload.accesses.iter().any(|row| row.delay_ms > 0.0);
        if reached < 0.8 * full && !pauses {
            warn(
                "depth_not_reached",
                format!("{reached:.1} of {full:.0} I/Os were under way on average"),
            );
        }
        return;
    };
    let Some(rate) = result.rate_iops else { return };
    if result.backlog > 0 && result.figures.iops < 0.99 * rate {
        warn(
            "rate_not_reached",
            format!(
                "{:.0} of {rate:.0} I/Os a second were carried and {} were left over: the latency grows \
                 with the length of the run",
                result.figures.iops, result.backlog
            ),
        );
    }
    let service = result.figures.service_ns.map_or(0.0, |summary| summary.mean);
    let waited = result.figures.latency_ns.mean - service;
    if waited > service && waited > 100_000.0 {
        warn(
            "late_issue",
            format!(
                "I/Os waited {:.0} µs on average before they were issued, longer than their service took",
                waited / 1000.0
            ),
        );
    }
}

fn events(result: &TargetResult, warn: &mut dyn FnMut(&str, String)) {
    let sum = |field: fn(&Flow) -> u64| result.flows.iter().map(field).sum::<u64>();
    let saturated = result.figures.latency_ns.saturated;
    if saturated > 0 {
        warn("saturated", format!("{saturated} latencies were beyond ten minutes"));
    }
    if result.figures.errors > 0 {
        let example = result.failure_examples.first().or(result.corrupt_examples.first());
        let example = example.map(|text| format!("; the first: {text}")).unwrap_or_default();
        warn("errors", format!("{} I/Os failed{example}", result.figures.errors));
    }
    if result.unfinished > 0 {
        warn("unfinished", format!("{} I/Os were never answered", result.unfinished));
    }
    let ios = result.figures.ios;
    let retransmits = sum(|flow| flow.retransmits);
    if retransmits > 10 && retransmits > ios / 1000 {
        warn(
            "retransmits",
            format!("TCP sent {retransmits} segments again: the network loses packets"),
        );
    }
    let reconnects = sum(|flow| flow.reconnects);
    if reconnects > 0 {
        let mut text = format!("connections were lost and made again {reconnects} times");
        let lossy = result.flows.iter().filter(|flow| flow.reconnects > 0);
        if let Some(why) = lossy.filter_map(|flow| flow.last_loss.as_ref()).next_back() {
            text += &format!("; the last: {why}");
        }
        warn("reconnects", text);
    }
    let verifiers = sum(|flow| flow.verifier_changes);
    if verifiers > 0 {
        warn("verifier_changed", "the NFS server restarted while data was unstable".to_owned());
    }
    let retried = sum(|flow| flow.busy) + sum(|flow| flow.task_set_full);
    if retried > ios / 1000 {
        warn(
            "busy",
            format!(
                "{retried} answers said busy or task set full: the queue of the target is short"
            ),
        );
    }
    if result.unstamped_bytes > 0 {
        warn(
            "unstamped",
            format!(
                "{} were read that this run never wrote and so could not be checked; use --prefill",
                show_bytes(result.unstamped_bytes)
            ),
        );
    }
}

/// Flows that carried less than half of the mean.
fn uneven(flows: &[Flow]) -> Option<String> {
    let carrying: Vec<u64> =
        flows.iter().filter(|flow| flow.state != "standby").map(|flow| flow.bytes).collect();
    let count = carrying.len() as u64;
    if count < 2 {
        return None;
    }
    let mean = carrying.iter().sum::<u64>() / count;
    let (low, high) = (carrying.iter().min()?, carrying.iter().max()?);
    (*low < mean / 2 || *high > mean.saturating_mul(2)).then(|| {
        format!(
            "{} flows carried between {} and {}: look at the path policy and at each path",
            count,
            show_bytes(*low),
            show_bytes(*high)
        )
    })
}
