//! Work between the measured series, storage of two media, pools, latency: predictions against
//! truths that are computed here.
#![allow(clippy::unwrap_used)]

use plimsoll_model::{
    Configuration, FitOptions, Hybrid, LatencyUnknown, Model, Point, PriorTable, Quantity,
    Resource, StatedCeilings, Work, fit_model, read_points,
};
use plimsoll_units::EvidenceGrade;

const HEADER: &str =
    "platform,hosts,datastores,flows,outstanding,block_kib,pattern,read_pct,metric,value,unit\n";

/// Costs of one operation in us: (fixed read, a KiB read, fixed write, a KiB write).
const FLOW: [f64; 4] = [10.0, 0.35, 14.0, 0.45];
const HOST: [f64; 4] = [4.0, 0.38, 5.0, 0.40];
const VOLUME: [f64; 4] = [5.0, 0.15, 9.0, 0.20];
const POOL: [f64; 4] = [1.2, 0.07, 2.5, 0.10];

fn ceiling(cost: [f64; 4], block: f64, read: f64) -> f64 {
    1e6 / (read * (cost[0] + cost[1] * block) + (1.0 - read) * (cost[2] + cost[3] * block))
}

fn truth(h: f64, d: f64, c: f64, block: f64, read: f64) -> f64 {
    [
        h * d * c * ceiling(FLOW, block, read),
        h * ceiling(HOST, block, read),
        d * ceiling(VOLUME, block, read),
        ceiling(POOL, block, read),
    ]
    .iter()
    .map(|x| x.powf(-2.5))
    .sum::<f64>()
    .powf(-0.4)
}

/// The least plan: four configurations x small random and large sequential x reads and writes.
fn sixteen_runs() -> Model {
    let mut rows = String::from(HEADER);
    let mut index = 0;
    for (pattern, block, metric, unit) in
        [("random", 8.0, "iops", "IOPS"), ("sequential", 64.0, "throughput", "MiB/s")]
    {
        for read in [100.0, 0.0] {
            for (h, d, c) in [(1.0, 1.0, 1.0), (8.0, 8.0, 4.0), (1.0, 8.0, 4.0), (8.0, 1.0, 4.0)] {
                index += 1;
                let noise = (0.02 * f64::from(index * index).sin()).exp();
                let iops = truth(h, d, c, block, read / 100.0) * noise;
                let value = if metric == "iops" { iops } else { iops * block / 1024.0 };
                rows += &format!(
                    "made,{h},{d},{},,{block},{pattern},{read},{metric},{value},{unit}\n",
                    h * d * c
                );
            }
        }
    }
    let mut beliefs =
        String::from("platform,quantity,read_pct,resource,value,unit,statistic,sd_ln,source\n");
    for (resource, iops, rate) in
        [("flow", 70e3, 1.8e3), ("host", 1.4e5, 2.3e3), ("volume", 1.5e5, 4e3), ("pool", 6e5, 1e4)]
    {
        beliefs += &format!("made,iops,,{resource},{iops},IOPS,,0.5,stated\n");
        beliefs += &format!("made,throughput,,{resource},{rate},MiB/s,,0.5,stated\n");
    }
    let options = FitOptions {
        priors: Some(PriorTable::read(beliefs.as_bytes()).unwrap()),
        grade: Some(EvidenceGrade::A),
        ..FitOptions::default()
    };
    let points: Vec<Point> = read_points(rows.as_bytes()).unwrap();
    fit_model(&points, &options).unwrap()
}

#[test]
fn sixteen_runs_tell_other_blocks_mixes_and_configurations() {
    let model = sixteen_runs();
    let (mut errors, mut inside, mut all) = (Vec::new(), 0, 0);
    for block in [8.0, 16.0, 32.0, 64.0] {
        for read in [1.0, 0.7, 0.5, 0.0] {
            for (h, d, c) in [(1.0, 1.0, 1.0), (2.0, 4.0, 1.0), (4.0, 4.0, 4.0), (8.0, 2.0, 1.0)] {
                let at = Configuration::full(h, d, c);
                let work = Work { block_kib: block, read_share: read };
                let own = model.predict_work(work, &at).unwrap();
                let right = truth(h, d, c, block, read);
                errors.push((own.median / right - 1.0).abs());
                all += 1;
                inside += u32::from(own.p05 <= right && right <= own.p95);
                // (8, 2, 1) lies outside the corners, which have one connection at (1, 1) only.
                assert_eq!(own.extrapolated, (h, d, c) == (8.0, 2.0, 1.0) || (h, d) == (2.0, 4.0));
                assert_eq!(own.grade, EvidenceGrade::B);
                let sum: f64 = own.shares.iter().map(|share| share.1).sum();
                assert!((sum - 1.0).abs() < 1e-9);
            }
        }
    }
    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
    assert!(mean < 0.03, "mean error {mean}");
    assert!(f64::from(inside) >= 0.9 * f64::from(all), "{inside} of {all}");
}

#[test]
fn pure_work_at_a_measured_block_is_the_series_itself() {
    let model = sixteen_runs();
    let at = Configuration::full(4.0, 4.0, 1.0);
    for (index, series) in model.series.iter().enumerate() {
        let block = series.block_kib.unwrap();
        let read_share = series.read_pct.parse::<f64>().unwrap() / 100.0;
        let own = model.predict_work(Work { block_kib: block, read_share }, &at).unwrap().median;
        // Without the shift of the median that the interval's second order brings.
        let mut exact = model.clone();
        exact.covariance.iter_mut().flatten().for_each(|value| *value = 0.0);
        exact
            .series
            .iter_mut()
            .flat_map(|s| &mut s.ceilings)
            .for_each(|c| c.discrepancy_sd_ln = 0.0);
        let rate = exact.predict_series(index, &at).median;
        let iops = if series.quantity == Quantity::Iops { rate } else { rate * 1024.0 / block };
        assert!((own / iops - 1.0).abs() < 1e-9, "{}", series.name);
    }
    let mixed = Work { block_kib: 8.0, read_share: 0.7 };
    let draws = model.draws(2_000, 5);
    let mut drawn: Vec<f64> =
        draws.iter().map(|draw| model.evaluate_work(mixed, &at, draw).unwrap()).collect();
    drawn.sort_by(f64::total_cmp);
    let own = model.predict_work(mixed, &at).unwrap();
    assert!((drawn[1_000] / own.median).ln().abs() < 0.03);
    // What the model cannot say it does not say.
    assert!(model.predict_work(Work { block_kib: 0.0, read_share: 0.5 }, &at).is_none());
    assert!(model.predict_work(Work { block_kib: 8.0, read_share: 1.5 }, &at).is_none());
    assert!(
        model.predict_work(Work { block_kib: 256.0, read_share: 0.5 }, &at).unwrap().extrapolated
    );
    let avs = Model::built_in("azure-vmware-solution-av36-anf").unwrap();
    assert!(avs.predict_work(mixed, &at).is_none(), "it has no series of pure reads");
}

fn stated(pool: f64, unloaded_ms: Option<f64>) -> Model {
    Model::from_ceilings(&StatedCeilings {
        id: "stated".to_owned(),
        title: "stated".to_owned(),
        ceilings: vec![
            (Quantity::Iops, Resource::Host, 200_000.0),
            (Quantity::Iops, Resource::Pool, pool),
        ],
        iops_block_kib: 8.0,
        throughput_block_kib: 64.0,
        unloaded_ms,
        relative_sd: 0.1,
        grade: EvidenceGrade::D,
        source: "stated".to_owned(),
    })
}

#[test]
fn pools_and_media_replace_what_is_behind_the_volumes() {
    let one = stated(90_000.0, None);
    let at = Configuration::full(5.0, 5.0, 1.0);
    let by_hand = |pool: f64| (1e6_f64.powf(-2.5) + pool.powf(-2.5)).powf(-0.4);
    let five = one.with_pools(5.0);
    let own = |model: &Model| model.ceiling(Quantity::Iops, Resource::Pool).unwrap().value;
    assert_eq!(own(&five), 450_000.0);
    let mut exact = five.clone();
    exact.covariance.iter_mut().flatten().for_each(|value| *value = 0.0);
    let median = exact.predict(Quantity::Iops, &at).median;
    assert!((median / by_hand(450_000.0) - 1.0).abs() < 1e-9, "{median}");
    assert_eq!(five.covariance, one.covariance);
    let media =
        Hybrid { fast: 180_000.0, slow: 3_000.0, fast_gib: 800.0, evenness: 1.0, exponent: 2.5 };
    let within = one.with_media(Quantity::Iops, &media, 500.0);
    let beyond = one.with_media(Quantity::Iops, &media, 8_000.0);
    assert_eq!(own(&within), 180_000.0);
    assert!(own(&beyond) < 3_400.0);
    assert!(beyond.notes.last().unwrap().contains("hit ratio 0.10"));
}

#[test]
fn latency_rises_as_the_open_form_says_and_stops_at_85_percent() {
    let model = stated(500_000.0, Some(0.4));
    let at = Configuration::full(4.0, 1.0, 1.0);
    let limit = (800_000.0_f64.powf(-2.5) + 500_000.0_f64.powf(-2.5)).powf(-0.4);
    let mut last = (0.0, 0.0);
    for used in [0.1, 0.5, 0.8, 0.849] {
        let own = model.latency_ms(Quantity::Iops, &at, used * limit).unwrap();
        let by_hand = 0.4 * (1.0 - f64::powf(used, 2.5)).powf(-0.4);
        assert!((own.median_ms / by_hand - 1.0).abs() < 1e-9, "{own:?} {by_hand}");
        assert!((own.utilisation / used - 1.0).abs() < 1e-9);
        // The nearer the limit, the less sure.
        let width = own.p95_ms / own.p05_ms;
        assert!(own.p05_ms < own.median_ms && own.median_ms < own.p95_ms);
        assert!(own.median_ms > last.0 && width > last.1, "{own:?}");
        last = (own.median_ms, width);
    }
    let refused = model.latency_ms(Quantity::Iops, &at, 0.851 * limit).unwrap_err();
    assert!(matches!(refused, LatencyUnknown::TooCloseToTheLimit { .. }), "{refused}");
    let deviation = |used: f64| {
        // By hand: d ln R / d ln X' = -u^p / (1 - u^p), with ceilings and R0 of 10 % each, 3 % spread.
        let slope = used.powf(2.5) / (1.0 - used.powf(2.5));
        let shares =
            [(limit / 800_000.0).powf(2.5), (limit / 500_000.0).powf(2.5)].map(|w| w * slope * 0.1);
        (shares[0].powi(2) + shares[1].powi(2) + 0.01 + 0.0009_f64).sqrt()
    };
    let own = model.latency_ms(Quantity::Iops, &at, 0.8 * limit).unwrap();
    let half = (own.p95_ms / own.median_ms).ln() / 1.6464; // Student's t, 1,000 degrees
    assert!((half / deviation(0.8) - 1.0).abs() < 0.01, "{half} {}", deviation(0.8));
    // A ceiling that nobody probed widens it.
    let mut unprobed = model.clone();
    unprobed.series[0].ceilings[1].discrepancy_sd_ln = 0.175;
    let wider = unprobed.latency_ms(Quantity::Iops, &at, 0.8 * limit).unwrap();
    assert!(wider.p95_ms > 1.05 * own.p95_ms);
}
