//! Which resource set the rate: the first that was exhausted, else the store.
//!
//! A closed loop always waits for something. Whoever was busy all the time is named with its figure; when
//! nobody was, the time went by behind the target. The order is from what says most to what says least.

use super::result::{Limit, Resource, Round, Spread};
use crate::{
    result::TargetResult,
    workload::{Load, Workload},
};

/// Share above which something counts as exhausted, percent.
const FULL_PCT: f64 = 90.0;
/// Share of the whole machine, percent: above it there is no idle core left for anybody.
const MACHINE_FULL_PCT: f64 = 95.0;
/// Share of answers that said busy above which the queue is the limit.
const BUSY_SHARE: f64 = 0.01;
/// Share of the asked depth below which the window is the limit.
const WINDOW_SHARE: f64 = 0.8;

/// Judges the rounds of a side. `spins`: the client polls awake, so that its CPU says nothing.
#[must_use]
pub fn judge(
    rounds: &[Round],
    results: &[TargetResult],
    workload: &Workload,
    spins: bool,
) -> Limit {
    let median = |field: fn(&Round) -> Option<f64>| {
        let values: Vec<f64> = rounds.iter().filter_map(field).collect();
        (!values.is_empty()).then(|| Spread::of(&values).median)
    };
    let is = |resource, evidence: String| Limit { resource, evidence };
    if let Load::Open { iops, .. } = workload.load {
        let carried = median(|round| Some(round.iops)).unwrap_or(0.0);
        if carried >= 0.99 * iops {
            return is(
                Resource::OfferedRate,
                format!("{carried:.0} of {iops:.0} I/Os a second were offered and carried"),
            );
        }
    }
    if let Some(share) = median(|round| round.link_busy_pct).filter(|share| *share >= FULL_PCT) {
        return is(Resource::Link, format!("it carried {share:.0} % of its rate"));
    }
    if !spins && mostly(results, "client_limited: ") {
        let share = median(|round| Some(round.probe_busy_pct)).unwrap_or(0.0);
        let evidence = format!(
            "its threads were busy {share:.0} % of the time; more --workers may carry more"
        );
        return is(Resource::ProbeCpu, evidence);
    }
    if let Some(share) = median(|round| round.target_busiest_pct).filter(|share| *share >= FULL_PCT)
    {
        return is(
            Resource::TargetCpu,
            format!("its busiest thread was busy {share:.0} % of the time"),
        );
    }
    if let Some(share) =
        median(|round| round.machine_busy_pct).filter(|share| *share >= MACHINE_FULL_PCT && !spins)
    {
        let own = median(|round| round.own_busy_pct).unwrap_or(share);
        let others = if own < share / 2.0 {
            format!(
                ", {own:.0} % by probe and named target: something else runs here, or the kernel for them"
            )
        } else {
            String::new()
        };
        let evidence = format!("its cores were busy {share:.0} % of the time{others}");
        return is(Resource::MachineCpu, evidence);
    }
    let flows = || results.iter().flat_map(|result| &result.flows);
    let refused: u64 = flows().map(|flow| flow.busy + flow.task_set_full).sum();
    let ios: u64 = results.iter().map(|result| result.figures.ios).sum();
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let refused_share = refused as f64 / ios.max(1) as f64;
    if refused_share >= BUSY_SHARE {
        let evidence =
            format!("{:.1} % of its answers said busy or task set full", refused_share * 100.0);
        return is(Resource::TargetQueue, evidence);
    }
    let in_flight = median(|round| Some(round.in_flight)).unwrap_or(0.0);
    let workers = results.first().map_or(1, |result| result.workers);
    let full = f64::from(workload.depth) * f64::from(workers);
    if mostly(results, "depth_not_reached: ") && in_flight < WINDOW_SHARE * full {
        let evidence = format!("{in_flight:.1} of {full:.0} I/Os were under way on average");
        return is(Resource::FlowWindow, evidence);
    }
    let mean = median(|round| Some(round.latency_mean_ns)).unwrap_or(0.0);
    is(
        Resource::Store,
        format!(
            "nothing else was exhausted; {in_flight:.1} I/Os were under way, {} each",
            crate::text::show_nanos(mean)
        ),
    )
}

/// Whether more than half of the results carry a warning.
fn mostly(results: &[TargetResult], code: &str) -> bool {
    let with = |result: &&TargetResult| result.warnings.iter().any(|one| one.starts_with(code));
    2 * results.iter().filter(with).count() > results.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Round = Round {
        iops: 1000.0,
        mib_per_s: 8.0,
        latency_mean_ns: 500_000.0,
        latency_p50_ns: 500_000,
        latency_p99_ns: 900_000,
        probe_cpu_us_per_io: 5.0,
        probe_busy_pct: 20.0,
        target_cpu_us_per_io: Some(6.0),
        target_busiest_pct: Some(30.0),
        machine_busy_pct: Some(40.0),
        own_busy_pct: Some(30.0),
        link_busy_pct: Some(10.0),
        in_flight: 32.0,
    };

    fn limit(change: impl FnOnce(&mut Round), spins: bool) -> Resource {
        let mut round = ROUND;
        change(&mut round);
        judge(&[round], &[], &Workload::default(), spins).resource
    }

    #[test]
    fn whatever_is_exhausted_is_named() {
        assert_eq!(limit(|_| {}, false), Resource::Store);
        assert_eq!(limit(|round| round.link_busy_pct = Some(95.0), false), Resource::Link);
        assert_eq!(
            limit(|round| round.target_busiest_pct = Some(97.0), false),
            Resource::TargetCpu
        );
        assert_eq!(limit(|round| round.machine_busy_pct = Some(99.0), false), Resource::MachineCpu);
    }

    #[test]
    fn a_client_that_polls_awake_says_nothing_of_the_machine() {
        assert_eq!(limit(|round| round.machine_busy_pct = Some(99.0), true), Resource::Store);
    }

    #[test]
    fn an_offered_rate_that_was_carried_is_no_limit() {
        let load = Load::Open { iops: 1000.0, arrivals: crate::workload::Arrivals::Poisson };
        let workload = Workload { load, ..Workload::default() };
        assert_eq!(judge(&[ROUND], &[], &workload, false).resource, Resource::OfferedRate);
    }
}
