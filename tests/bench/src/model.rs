//! Fitting the scaling model.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use plimsoll_model::{FitOptions, Point, fit_model, read_points, select};

use crate::{Emit, Result, child};
use plimsoll_support::figure::Figure;

/// The platform whose points are fitted.
const PLATFORM: &str = "AVS-AV36+ANF";

/// The peer: a general least-squares fit of the same kind, one start, no priors and no intervals.
const SCIPY: &str = "
import csv, sys, time
import numpy
from scipy.optimize import least_squares
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r['platform'] == sys.argv[2]][:16]
number = lambda r, k: float(r[k] or 1)
x = numpy.array([[number(r, k) for k in ('flows', 'hosts', 'datastores', 'vms')] for r in rows])
y = numpy.log([float(r['value']) for r in rows])
series = numpy.array([0 if r['metric'] == 'iops' else 1 for r in rows])
start = numpy.log([[7e4, 2e5, 1.5e5, 1.3e5], [1800, 2400, 4200, 2800]]).ravel()
def residual(p):
    limits = numpy.exp(p.reshape(2, 4))[series] * x
    return -numpy.log((limits ** -2.5).sum(axis=1)) / 2.5 - y
least_squares(residual, start, loss='soft_l1')
times = []
for _ in range(50):
    began = time.perf_counter()
    least_squares(residual, start, loss='soft_l1')
    times.append(time.perf_counter() - began)
print(sorted(times)[25])
";

pub fn run(emit: Emit<'_>) -> Result<()> {
    let table =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/reference/scaling_points.csv");
    let all = read_points(&std::fs::read(&table)?)?;
    let points = sixteen(&all)?;
    let options = FitOptions::default();
    fit_model(&points, &options)?;
    let mut times: Vec<f64> = (0..200)
        .map(|_| {
            let began = Instant::now();
            black_box(fit_model(black_box(&points), &options))
                .map(|_| began.elapsed().as_secs_f64())
        })
        .collect::<std::result::Result<_, _>>()?;
    times.sort_by(f64::total_cmp);
    let ours = times[times.len() / 2] * 1e3;
    let peer = scipy(&table)?;
    let reference = match peer {
        Some(_) => "scipy least_squares, soft_l1, one start, no priors",
        None => "scipy: not run, PLIMSOLL_PYTHON names no python with scipy",
    };
    emit(Figure {
        name: "fit of 16 points".to_owned(),
        unit: "ms",
        ours,
        reference: reference.to_owned(),
        reference_value: peer,
        ratio: peer.map(|peer| ours / peer),
        goal: "at most 1 ms".to_owned(),
        met: Some(ours <= 1.0),
        command: "plimsoll-bench model".to_owned(),
    });
    let began = Instant::now();
    for _ in 0..1_000 {
        black_box(fit_model(black_box(&points), &options)?);
    }
    let seconds = began.elapsed().as_secs_f64();
    emit(Figure {
        name: "1,000 refits of 16 points".to_owned(),
        unit: "s",
        ours: seconds,
        reference: reference.to_owned(),
        reference_value: peer,
        ratio: peer.map(|peer| seconds / peer),
        goal: "below 1 s".to_owned(),
        met: Some(seconds < 1.0),
        command: "plimsoll-bench model".to_owned(),
    });
    Ok(())
}

/// The first sixteen points of the platform: IOPS and MiB/s, fitted together.
fn sixteen(all: &[Point]) -> Result<Vec<Point>> {
    let found: Vec<Point> = select(all, Some(PLATFORM))?.into_iter().take(16).cloned().collect();
    if found.len() == 16 {
        Ok(found)
    } else {
        Err(format!("{PLATFORM} has {} points, 16 are needed", found.len()).into())
    }
}

/// Median milliseconds of the peer's fit.
fn scipy(table: &Path) -> Result<Option<f64>> {
    let Some(python) = child::python() else { return Ok(None) };
    let output =
        std::process::Command::new(python).args(["-c", SCIPY]).arg(table).arg(PLATFORM).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.trim().parse::<f64>().ok().map(|seconds| seconds * 1e3))
}
