//! Sweeps: points, estimate, samples, cancel and resume.

use plimsoll_probe::{
    Workload,
    run::Doing,
    sweep::{Matrix, Sweep, points_csv, read_parquet},
};

use crate::arrays::{Array, request, short};

fn matrix() -> Matrix {
    Matrix {
        flows: vec![1, 2],
        blocks: vec![8192, 65_536],
        read_pcts: vec![100.0],
        depths: vec![1, 4],
        ..Matrix::default()
    }
}

#[test]
fn a_sweep_is_estimated_cancelled_and_resumed() {
    let array = Array::start();
    let dir = tempfile::tempdir().unwrap();
    let workload = Workload { seconds: 0.2, ..short(Workload::simple(8192, 100.0, 100.0)) };
    let request = request(&[&array.iscsi], vec![workload], &[]);
    let sweep = Sweep::new(request.clone(), matrix(), dir.path().to_owned()).unwrap();
    assert_eq!(sweep.points().len(), 8);
    let estimate = sweep.estimate();
    assert!((estimate.seconds - 8.0 * (0.1 + 0.2 + 0.6)).abs() < 1e-9);
    assert!(estimate.bytes > 0.0 && estimate.written_bytes == 0.0);

    // Cancelled in the fourth point.
    let done = sweep
        .run(false, &mut |progress| {
            !(progress.stage_index == 3 && matches!(progress.doing, Doing::Measuring(_)))
        })
        .unwrap();
    assert_eq!(done.stopped.as_ref().unwrap().guard, "cancelled");
    assert_eq!((done.measured, done.samples.len()), (3, 3));
    // A crash in the middle of a line.
    let samples = dir.path().join("samples.jsonl");
    let mut text = std::fs::read_to_string(&samples).unwrap();
    text.push_str("{\"schema_version\":1,\"point\":\"h1-");
    std::fs::write(&samples, text).unwrap();

    // Not by mistake into the same folder, and not with another plan.
    assert!(sweep.run(false, &mut |_| true).unwrap_err().to_string().contains("--resume"));
    let other =
        Sweep::new(request, Matrix { depths: vec![2], ..matrix() }, dir.path().to_owned()).unwrap();
    assert!(other.run(true, &mut |_| true).unwrap_err().to_string().contains("another sweep"));

    let done = sweep.run(true, &mut |_| true).unwrap();
    assert_eq!((done.resumed, done.measured, done.samples.len()), (3, 5, 8));
    let order: Vec<&str> = done.samples.iter().map(|sample| sample.point.as_str()).collect();
    let wanted: Vec<&str> = sweep.points().iter().map(|point| point.id.as_str()).collect();
    assert_eq!(order, wanted);
    assert!(done.samples.iter().all(|sample| sample.iops > 0.0));
    assert_eq!(done.samples[7].flows_total, 2);

    // The table says the same as the samples, read by the reader of the format.
    let rows = read_parquet(&dir.path().join("samples.parquet")).unwrap();
    assert_eq!(rows.len(), 8);
    for (row, sample) in rows.iter().zip(&done.samples) {
        let get = |name: &str| row.iter().find(|(have, _)| have == name).unwrap().1.clone();
        assert_eq!(get("point"), sample.point);
        assert_eq!(get("latency_p99_ns"), sample.latency_p99_ns.to_string());
        assert!((get("iops").parse::<f64>().unwrap() / sample.iops - 1.0).abs() < 1e-9);
        let fields = serde_json::to_value(sample).unwrap();
        assert_eq!(row.len(), fields.as_object().unwrap().len());
        assert!(row.iter().all(|(name, _)| fields.get(name).is_some()));
    }
    assert_eq!(std::fs::read_dir(dir.path().join("results")).unwrap().count(), 8);
    assert_eq!(points_csv(&done.samples, "lab").lines().count(), 1 + 3 * 8);
    let header =
        include_str!("../../../../../data/reference/scaling_points.csv").lines().next().unwrap();
    assert_eq!(points_csv(&[], "lab").trim_end(), header);
}

#[test]
fn what_is_not_there_cannot_be_varied() {
    let request = request(&["iscsi://127.0.0.1/iqn.x/0"], vec![Workload::default()], &[]);
    for matrix in [
        Matrix { datastores: vec![2], ..Matrix::default() },
        Matrix { hosts: vec![2], ..Matrix::default() },
        Matrix { depths: vec![4, 4], ..Matrix::default() },
    ] {
        assert!(Sweep::new(request.clone(), matrix, "unused".into()).unwrap_err().is_refusal());
    }
}
