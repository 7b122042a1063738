//! From an inventory and a performance export to a report: the measured load is what is planned for.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::path::Path;

use plimsoll_ingest::Input;
use plimsoll_planner::{
    Error, Format, PerformanceOptions, SizingOptions, Survey, add_performance, plan, render, survey,
};

fn sample() -> Survey {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/samples/sample.xlsx");
    survey(vec![Input::from_path(path)], &SizingOptions::default(), &mut |_| true).unwrap()
}

/// 48 hours of 8 reads and 2 writes a second of every VM that runs; ten times that at hour 20.
fn export(survey: &Survey) -> String {
    let mut text = "Name,VM UUID,Timestamp,Virtual Disk|Read IOPS,Virtual Disk|Write IOPS,Virtual Disk|Total Throughput (KBps)\n".to_owned();
    for vm in survey.inventory.vms.iter().filter(|vm| vm.exclusion.is_none()) {
        for hour in 0..48 {
            let factor = if hour % 24 == 20 { 10 } else { 1 };
            text.push_str(&format!(
                "\"{}\",{},2026-07-{:02}T{:02}:00:00Z,{},{},{}\n",
                vm.name,
                vm.ids.uuid.as_deref().unwrap_or(""),
                21 + hour / 24,
                hour % 24,
                8 * factor,
                2 * factor,
                160 * factor
            ));
        }
    }
    text
}

#[test]
fn measured_vms_have_their_own_load() {
    let options = SizingOptions::default();
    let mut found = sample();
    let running = found.inventory.vms.iter().filter(|vm| vm.exclusion.is_none()).count();
    let file = Input::memory("aria.csv", export(&found).into_bytes());
    let stated = PerformanceOptions::default();
    add_performance(&mut found, &[file], &stated, &options, &mut |_| true).unwrap();
    let measured = found.measured.clone().unwrap();
    assert_eq!(measured.vms.len(), running);
    let sizing = plan(found, &options, &mut |_| true).unwrap();
    #[expect(clippy::cast_precision_loss, reason = "a sample")]
    let vms = running as f64;
    // 2 of 48 hours are the peak: 4.2 %, so the 95th percentile lies below it.
    let today = sizing.demand.today;
    assert!((today.iops_mean.0 / (vms * 10.0 * 66.0 / 48.0) - 1.0).abs() < 1e-6);
    assert!((today.iops_p95.0 / (vms * 10.0) - 1.0).abs() < 0.4, "{today:?}");
    assert_eq!(measured.iops.unwrap().peak, vms * 100.0);
    assert!((today.read_fraction - 0.8).abs() < 1e-6);
    let report = String::from_utf8(render(&sizing, Format::Md).unwrap()).unwrap();
    assert!(report.contains("Measured, 4 to 16 IOPS on average"), "{report}");
    assert!(report.contains("aria.csv"));
}

#[test]
fn a_refused_export_names_itself() {
    let mut found = sample();
    let file = Input::memory("notes.txt", b"hello\nworld\n".to_vec());
    let options = SizingOptions::default();
    let error =
        add_performance(&mut found, &[file], &PerformanceOptions::default(), &options, &mut |_| {
            true
        })
        .unwrap_err();
    assert!(matches!(error, Error::Performance(_)) && error.is_file_refused());
    let refusal = error.to_refusal();
    assert_eq!(
        (refusal.code.as_str(), refusal.file.as_str()),
        ("performance-unrecognised", "notes.txt")
    );
}
