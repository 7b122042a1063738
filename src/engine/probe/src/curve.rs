//! The curve of latency over load: find the highest rate in the closed loop, then run shares of it in the
//! open loop with Poisson arrivals. Sizing needs the knee, not the maximum.

use crate::{
    Result,
    result::ResultSet,
    run::{Observer, Runner},
    workload::{Arrivals, Load, Workload},
};

/// Shares of the highest rate, percent.
pub const STEPS_PCT: [f64; 10] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0];

/// Runs the curve. The result's `total` is that of the maximum.
pub fn run(
    runner: &Runner<'_>,
    workload: &Workload,
    steps_pct: &[f64],
    observer: &mut Observer<'_>,
) -> Result<ResultSet> {
    let top = Workload {
        name: format!("{}, maximum", workload.name),
        load: Load::Closed,
        ..workload.clone()
    };
    let mut set = runner.run(std::slice::from_ref(&top), observer)?;
    let max = set.total.iops;
    if set.stopped.is_some() || max <= 0.0 {
        return Ok(set);
    }
    // Each target is offered its own share of what all reached together.
    #[expect(clippy::cast_precision_loss, reason = "a handful of targets")]
    let per_target = max / set.results.len().max(1) as f64;
    let steps: Vec<Workload> =
        steps_pct.iter().map(|&share| step(workload, per_target, share)).collect();
    let rest = runner.run(&steps, observer)?;
    set.elapsed_seconds += rest.elapsed_seconds;
    set.stages.extend(rest.stages);
    set.results.extend(rest.results);
    set.warnings.extend(rest.warnings);
    set.stopped = rest.stopped;
    Ok(set)
}

fn step(workload: &Workload, max_iops: f64, share_pct: f64) -> Workload {
    Workload {
        name: format!("{}, {share_pct:.0} %", workload.name),
        load: Load::Open {
            iops: (max_iops * share_pct / 100.0).max(1.0),
            arrivals: Arrivals::Poisson,
        },
        // Room for what waits: the depth of the maximum alone would close the loop again.
        depth: workload.depth.saturating_mul(4).min(65_536),
        prefill: false,
        ..workload.clone()
    }
}
