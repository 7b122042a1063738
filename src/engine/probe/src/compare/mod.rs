//! The same workloads over several ways to one array, in turns: iSCSI against iSER, NFS beside them, a volume
//! that lies on another array (VJBOD).
//!
//! A round measures every side once, so that what drifts (caches, temperature, neighbours) meets all alike:
//! A B A B. Ratios are made round by round; their spread tells whether a difference is one.

mod limit;
mod meter;
mod page;
mod render;
mod result;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use meter::{Cost, Reading};
pub use render::{Format, render};
pub use result::{
    Change, Comparison, Limit, Measured, Reference, Resource, Round, SCHEMA_VERSION, Side, Spread,
    Stage,
};

use crate::{
    Error, Result, command,
    measure::Histogram,
    result::{ResultSet, Second, TargetResult},
    run::{Doing, Observer, Progress, Target},
    workload::Workload,
};

/// Most sides: letters.
const MOST_SIDES: usize = 26;

/// What to compare.
#[derive(Debug, Clone)]
pub struct Request {
    /// Everything but the URLs, which are the sides: workloads, options, permissions, budget.
    pub base: command::Request,
    /// How often each side is measured.
    pub rounds: u32,
    /// Process of the target on this machine: none, one for all sides, or one each.
    pub target_pids: Vec<u32>,
    /// What others measured.
    pub reference: Option<Reference>,
}

/// What a round of a side left.
struct Turn {
    round: Round,
    result: TargetResult,
}

/// Runs it.
pub fn run(request: &Request, observer: &mut Observer<'_>) -> Result<Comparison> {
    let sides = sides(request)?;
    let began = Instant::now();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut comparison = Comparison {
        schema_version: SCHEMA_VERSION,
        tool: "plimsoll probe compare".to_owned(),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        elapsed_seconds: 0.0,
        rounds: request.rounds,
        sides,
        stages: Vec::new(),
        reference: request.reference.clone(),
        warnings: Vec::new(),
        stopped: None,
    };
    let mut used_bytes = 0;
    for (index, workload) in request.base.stages.iter().enumerate() {
        let mut turns: Vec<Vec<Turn>> = comparison.sides.iter().map(|_| Vec::new()).collect();
        'rounds: for round in 0..request.rounds {
            for (number, turns) in turns.iter_mut().enumerate() {
                let side = &comparison.sides[number];
                let mut inner = request.base.clone();
                inner.urls = vec![request.base.urls[number].clone()];
                inner.stages = vec![workload.clone()];
                inner.budget.bytes = left_bytes(&request.base, used_bytes);
                inner.budget.seconds = request
                    .base
                    .budget
                    .seconds
                    .map(|all| (all - began.elapsed().as_secs_f64()).max(0.01));
                let named = format!(
                    "{}, round {} of {}, {}",
                    side.name,
                    round + 1,
                    request.rounds,
                    workload.name
                );
                let place = (index, request.base.stages.len());
                let (set, spent) = measure(&inner, side.target_pid, &named, place, observer)?;
                used_bytes += set.total.bytes;
                let stopped = set.stopped.clone();
                let link = meter::link_mib_per_s(&inner.urls[0]).filter(|_| inner.netns.is_empty());
                if let Some(result) = set.results.into_iter().next() {
                    turns.push(Turn { round: figures(&result, &spent, link), result });
                }
                if let Some(stopped) = stopped {
                    comparison.stopped =
                        Some(format!("{named}: {}: {}", stopped.guard, stopped.what));
                    break 'rounds;
                }
            }
        }
        for (side, turns) in comparison.sides.iter_mut().zip(&turns) {
            if let Some(turn) = turns.first() {
                side.identity.clone_from(&turn.result.identity);
                side.capacity_bytes = turn.result.capacity_bytes;
            }
        }
        let spins = request.base.client.spin_us > 0;
        comparison.stages.push(stage(workload, &comparison.sides, turns, spins));
        if comparison.stopped.is_some() {
            break;
        }
    }
    comparison.elapsed_seconds = began.elapsed().as_secs_f64();
    comparison.warnings = warnings(&comparison);
    Ok(comparison)
}

fn sides(request: &Request) -> Result<Vec<Side>> {
    let urls = &request.base.urls;
    if !(2..=MOST_SIDES).contains(&urls.len()) {
        return Err(Error::Text {
            text: format!("{} URLs", urls.len()),
            wanted: "two or more URLs to compare (at most 26)",
        });
    }
    if request.rounds == 0 {
        return Err(Error::Text { text: "0".to_owned(), wanted: "a number of rounds from 1" });
    }
    if request.base.is_curve {
        return Err(Error::Text {
            text: "curve".to_owned(),
            wanted: "a profile of fixed workloads: the steps of a curve differ from side to side",
        });
    }
    let pids = &request.target_pids;
    if pids.len() > 1 && pids.len() != urls.len() {
        return Err(Error::Text {
            text: format!("{} processes", pids.len()),
            wanted: "one process for all URLs, or one for each",
        });
    }
    for pid in pids {
        meter::check(*pid)?;
    }
    let letters = 'A'..='Z';
    let side = |((index, url), letter): ((usize, &String), char)| Side {
        name: letter.to_string(),
        url: Target::new(url).shown,
        identity: String::new(),
        capacity_bytes: 0,
        target_pid: pids.get(index).or(pids.first()).copied(),
    };
    Ok(urls.iter().enumerate().zip(letters).map(side).collect())
}

fn left_bytes(base: &command::Request, used: u64) -> Option<u64> {
    base.budget.bytes.map(|all| all.saturating_sub(used).max(1))
}

/// What was spent, and the I/Os of the same time.
#[derive(Default)]
struct Spent {
    cost: Cost,
    ios: f64,
    seconds: f64,
}

/// One side once. What the target spends is read at the ends of whole seconds of the measurement, so that
/// login, filling and ramp do not count.
fn measure(
    request: &command::Request,
    pid: Option<u32>,
    named: &str,
    place: (usize, usize),
    observer: &mut Observer<'_>,
) -> Result<(ResultSet, Spent)> {
    let mut first: Option<(Reading, Instant)> = None;
    let mut spent = Spent::default();
    let mut watch = |progress: &Progress| {
        if let Doing::Measuring(second @ Second { ramp: false, .. }) = progress.doing {
            let (reading, now) = (Reading::take(pid), Instant::now());
            match &first {
                None => first = Some((reading, now)),
                Some((before, since)) => {
                    spent.cost = before.until(&reading);
                    spent.ios += second.iops * second.seconds;
                    spent.seconds = now.duration_since(*since).as_secs_f64();
                }
            }
        }
        observer(&Progress {
            stage: named.to_owned(),
            stage_index: place.0,
            stages: place.1,
            ..progress.clone()
        })
    };
    let set = command::execute(request, &mut watch)?;
    Ok((set, spent))
}

fn figures(result: &TargetResult, spent: &Spent, link_mib_per_s: Option<f64>) -> Round {
    let figures = &result.figures;
    let share = |seconds: f64| (spent.seconds > 0.5).then(|| seconds / spent.seconds * 100.0);
    let busier = figures.read.mib_per_s.max(figures.write.mib_per_s);
    let cores = std::thread::available_parallelism().map_or(1.0, |count| count.get() as f64);
    let target_cores =
        spent.cost.process_seconds.filter(|_| spent.seconds > 0.5).map(|cpu| cpu / spent.seconds);
    let probe_cores = figures.cpu_seconds / figures.measured_seconds.max(1e-9);
    let threads = figures.measured_seconds * f64::from(result.workers);
    Round {
        iops: figures.iops,
        mib_per_s: figures.mib_per_s,
        latency_mean_ns: figures.latency_ns.mean,
        latency_p50_ns: figures.latency_ns.p50,
        latency_p99_ns: figures.latency_ns.p99,
        probe_cpu_us_per_io: figures.cpu_us_per_io,
        probe_busy_pct: if threads > 0.0 { figures.cpu_seconds / threads * 100.0 } else { 0.0 },
        target_cpu_us_per_io: spent
            .cost
            .process_seconds
            .filter(|_| spent.ios >= 1.0)
            .map(|seconds| seconds * 1e6 / spent.ios),
        target_busiest_pct: spent.cost.busiest_seconds.and_then(share),
        machine_busy_pct: spent.cost.machine_share.map(|share| share * 100.0),
        own_busy_pct: Some((probe_cores + target_cores.unwrap_or(0.0)) / cores * 100.0),
        link_busy_pct: link_mib_per_s.map(|rate| busier / rate * 100.0),
        in_flight: figures.littles_law.in_flight_measured,
    }
}

fn stage(workload: &Workload, sides: &[Side], turns: Vec<Vec<Turn>>, spins: bool) -> Stage {
    let measured: Vec<Measured> = sides
        .iter()
        .zip(turns)
        .map(|(side, turns)| side_of_stage(workload, side, turns, spins))
        .collect();
    let changes = match measured.split_first() {
        Some((first, others)) => others.iter().map(|other| change(first, other)).collect(),
        None => Vec::new(),
    };
    Stage { name: workload.name.clone(), workload: workload.clone(), sides: measured, changes }
}

fn side_of_stage(workload: &Workload, side: &Side, turns: Vec<Turn>, spins: bool) -> Measured {
    let (rounds, results): (Vec<Round>, Vec<TargetResult>) =
        turns.into_iter().map(|turn| (turn.round, turn.result)).unzip();
    let spread =
        |field: fn(&Round) -> f64| Spread::of(&rounds.iter().map(field).collect::<Vec<_>>());
    let target: Vec<f64> = rounds.iter().filter_map(|round| round.target_cpu_us_per_io).collect();
    let mut latency = Histogram::default();
    let mut warnings: Vec<String> = Vec::new();
    for result in &results {
        latency.merge(&result.figures.read.histogram);
        latency.merge(&result.figures.write.histogram);
        for warning in &result.warnings {
            let code = warning.split(':').next().unwrap_or_default();
            // Each with the figures of the round that had it first.
            if !warnings.iter().any(|known| known.split(':').next() == Some(code)) {
                warnings.push(warning.clone());
            }
        }
    }
    Measured {
        side: side.name.clone(),
        iops: spread(|round| round.iops),
        mib_per_s: spread(|round| round.mib_per_s),
        latency_ns: latency.summary(),
        probe_cpu_us_per_io: spread(|round| round.probe_cpu_us_per_io),
        target_cpu_us_per_io: (!target.is_empty()).then(|| Spread::of(&target)),
        errors: results.iter().map(|result| result.figures.errors).sum(),
        limit: limit::judge(&rounds, &results, workload, spins),
        warnings,
        rounds,
    }
}

fn change(first: &Measured, other: &Measured) -> Change {
    let ratio = |field: fn(&Round) -> Option<f64>| {
        let pairs = first.rounds.iter().zip(&other.rounds);
        let ratios: Vec<f64> = pairs
            .filter_map(|(before, after)| {
                let (before, after) = (field(before)?, field(after)?);
                (before > 0.0).then(|| after / before)
            })
            .collect();
        (!ratios.is_empty()).then(|| Spread::of(&ratios))
    };
    #[expect(clippy::cast_precision_loss, reason = "nanoseconds")]
    let (p50, p99) = (
        ratio(|round| Some(round.latency_p50_ns as f64)),
        ratio(|round| Some(round.latency_p99_ns as f64)),
    );
    let iops_ratio = ratio(|round| Some(round.iops)).unwrap_or_default();
    let clear = iops_ratio.low > 1.0 || (iops_ratio.high < 1.0 && iops_ratio.high > 0.0);
    let (before, after) = (first.limit.resource, other.limit.resource);
    let moved = if before == after {
        format!("the limit stays: {}", before.words())
    } else {
        format!("the limit moves from {} to {}", before.words(), after.words())
    };
    let difference = if clear { "" } else { " (no clear difference)" };
    Change {
        side: other.side.clone(),
        against: first.side.clone(),
        iops_ratio,
        latency_p50_ratio: p50.unwrap_or_default(),
        latency_p99_ratio: p99.unwrap_or_default(),
        probe_cpu_ratio: ratio(|round| Some(round.probe_cpu_us_per_io)).unwrap_or_default(),
        target_cpu_ratio: ratio(|round| round.target_cpu_us_per_io),
        clear,
        limit_before: before,
        limit_after: after,
        sentence: format!(
            "{} carries {:.2} times the I/Os of {}, {:.2} to {:.2}{difference}; {moved} ({})",
            other.side,
            iops_ratio.median,
            first.side,
            iops_ratio.low,
            iops_ratio.high,
            other.limit.evidence
        ),
    }
}

fn warnings(comparison: &Comparison) -> Vec<String> {
    let mut found = Vec::new();
    if let Some(first) = comparison.sides.first() {
        for other in &comparison.sides[1..] {
            if other.identity != first.identity && !other.identity.is_empty() {
                found.push(format!(
                    "different_volumes: {} is {}, {} is {}: not the same volume, so stores may differ too",
                    first.name, first.identity, other.name, other.identity
                ));
            }
        }
    }
    if comparison.rounds < 3 {
        found.push(format!(
            "few_rounds: {} rounds show no spread; use --rounds 3 or more",
            comparison.rounds
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_is_between_the_two_in_the_middle() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.median, spread.low, spread.high), (2.5, 1.0, 4.0));
        assert_eq!(Spread::of(&[]), Spread::default());
    }
}
