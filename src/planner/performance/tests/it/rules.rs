//! What holds for every source: clock changes, gaps, matching, refusals, and the load that follows.

use plimsoll_performance::{LoadOptions, Match, MatchedBy, Metric, ReadOptions, load};

use crate::fixtures::*;

fn get_stat(rows: &[(&str, &str, &str)]) -> String {
    let mut text =
        "MetricId,Timestamp,Value,Unit,IntervalSecs,Instance,Entity,EntityId\n".to_owned();
    for (entity, time, value) in rows {
        for metric in ["numberReadAveraged", "numberWriteAveraged"] {
            text.push_str(&format!(
                "virtualDisk.{metric}.average,{time},{value},Number,3600,,{entity},\n"
            ));
        }
    }
    text
}

/// Hourly local times of the week in which Paris puts clocks back: 169 of them.
fn autumn_week() -> Vec<String> {
    let mut times = Vec::new();
    for day in 19..26 {
        for hour in 0..24 {
            times.push(format!("2026-10-{day} {hour:02}:00:00"));
            if (day, hour) == (25, 2) {
                times.push(format!("2026-10-{day} {hour:02}:00:00"));
            }
        }
    }
    times
}

#[test]
fn a_week_of_169_hours_in_local_time() {
    let times = autumn_week();
    let rows: Vec<(&str, &str, &str)> =
        times.iter().map(|time| ("db-01", time.as_str(), "1")).collect();
    let found = try_survey("a.csv", get_stat(&rows), &in_zone("Europe/Paris")).unwrap();
    let reads = series(&found, "db-01", Metric::ReadIops);
    assert_eq!(reads.samples.len(), 169);
    assert!(reads.samples.windows(2).all(|pair| pair[1].at_s - pair[0].at_s == 3600));
    assert!(problem(&found, "clocks-went-back").is_some());
    // Without the zone one hour is there twice, and that is said.
    let found = survey(get_stat(&rows));
    assert_eq!(series(&found, "db-01", Metric::ReadIops).samples.len(), 168);
    assert!(problem(&found, "sample-repeated").is_some());
    assert!(problem(&found, "time-zone-assumed").is_some());
}

#[test]
fn a_time_that_does_not_exist_in_the_zone() {
    let rows = [("db-01", "2026-03-29 01:00:00", "1"), ("db-01", "2026-03-29 02:30:00", "1")];
    let found = try_survey("a.csv", get_stat(&rows), &in_zone("Europe/Paris")).unwrap();
    assert!(problem(&found, "time-does-not-exist").unwrap().contains("Some(4)"));
}

#[test]
fn day_and_month_that_cannot_be_told_apart() {
    let rows = [("db-01", "05/06/2026 01:00:00", "1"), ("db-01", "05/06/2026 02:00:00", "1")];
    let found = survey(get_stat(&rows));
    assert!(found.series.is_empty());
    assert!(problem(&found, "date-order-undecided").unwrap().contains("4 times"));
    let stated = ReadOptions { day_first: Some(true), ..ReadOptions::default() };
    let found = try_survey("a.csv", get_stat(&rows), &stated).unwrap();
    // 2026-06-05T00:00Z: the end of the interval is 01:00.
    assert_eq!(series(&found, "db-01", Metric::ReadIops).samples[0].at_s, 1_780_617_600);
}

#[test]
fn objects_are_matched_by_uuid_then_id_then_name() {
    let text = "Name,VM UUID,MOID,vCenter,Timestamp,Virtual Disk|Read IOPS\n\
other,5000AAAA-0000-0000-0000-000000000001,,,2026-07-21 00:00:00,1\n\
other,,vm-3,vc2,2026-07-21 00:00:00,1\n\
twin,,vm-3,,2026-07-21 00:00:00,1\n\
WEB-01,,,,2026-07-21 00:00:00,1\n\
nobody,,,,2026-07-21 00:00:00,1\n";
    let found = survey(text);
    let by: Vec<String> = found.matches.iter().map(|found| format!("{found:?}")).collect();
    assert!(matches!(found.matches[0], Match::Vm(DB, MatchedBy::Uuid)), "{by:?}");
    assert!(matches!(found.matches[1], Match::Vm(vm, MatchedBy::Id) if vm.0 == 3), "{by:?}");
    assert_eq!(found.matches[2], Match::Ambiguous);
    assert!(matches!(found.matches[3], Match::Vm(vm, MatchedBy::Name) if vm.0 == 1), "{by:?}");
    assert_eq!(found.matches[4], Match::Unmatched);
    let counts = problem(&found, "performance-matched").unwrap();
    assert!(
        counts.contains("3 of 5 VMs (UUID 1, id 1, name 1), ambiguous 1, unmatched 1"),
        "{counts}"
    );
}

#[test]
fn the_load_is_the_percentile_of_the_sum() {
    let times: Vec<String> = (0..20).map(|hour| format!("2026-07-21 {hour:02}:00:00")).collect();
    let mut rows = Vec::new();
    for (hour, time) in times.iter().enumerate() {
        rows.push(("db-01", time.as_str(), if hour == 3 { "500" } else { "5" }));
        rows.push(("web-01", time.as_str(), if hour == 17 { "500" } else { "5" }));
        rows.push(("old-01", time.as_str(), "1000"));
    }
    let mut found = survey(get_stat(&rows));
    let measured = load(&mut found, &site(), LoadOptions::default()).unwrap();
    // Reads and writes: 10 and 10, or 1000 and 10 once each. numpy.percentile of 18 x 20 and
    // 2 x 1010 at 95: 1010; at no time 2000.
    let sum = measured.iops.unwrap();
    assert_eq!((sum.p95, sum.peak, sum.vms), (1010.0, 1010.0, 2));
    assert_eq!((sum.mean, sum.coverage, sum.interval_s), (119.0, 1.0, 3600));
    assert_eq!(measured.vms[0].read_fraction, Some(0.5));
    // A VM that is off is not measured load.
    assert!(problem(&found, "vm-measured-but-excluded").is_some());
    let demand =
        plimsoll_demand::estimate_measured(&site(), &measured, &Default::default()).unwrap();
    assert!(demand.today.iops_p95.0 >= 1010.0);
    let db = demand.vms.iter().find(|vm| vm.vm == DB).unwrap();
    assert_eq!(db.iops_mean.0, 59.5);
    assert_eq!(demand.assumptions[0].id, "measured-load");
    assert!(demand.assumptions[0].value.starts_with("2 of 4 VMs"));
}

#[test]
fn a_fully_measured_site_plans_for_what_was_measured() {
    let times: Vec<String> = (0..20).map(|hour| format!("2026-07-21 {hour:02}:00:00")).collect();
    let mut text =
        "Name,VM UUID,Timestamp,Virtual Disk|Total IOPS,Virtual Disk|Total Throughput (KBps)\n"
            .to_owned();
    for vm in 1..=4 {
        for (hour, time) in times.iter().enumerate() {
            let value = 100 * vm + if hour % 4 == 0 { 50 } else { 0 };
            text.push_str(&format!(
                "x{vm},5000aaaa-0000-0000-0000-00000000000{vm},{time},{value},{}\n",
                value * 16
            ));
        }
    }
    let mut found = survey(text);
    let measured = load(&mut found, &site(), LoadOptions::default()).unwrap();
    let demand =
        plimsoll_demand::estimate_measured(&site(), &measured, &Default::default()).unwrap();
    // 1000 in common, 1200 every fourth hour.
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6 * b, "{a} against {b}");
    close(demand.today.iops_p95.0, 1200.0);
    close(demand.today.iops_mean.0, 1050.0);
    close(demand.today.mibps_p95.0, 1200.0 / 64.0);
    close(demand.today.mibps_mean.0, 1050.0 / 64.0);
    close(demand.today.block_kib, 16.0);
    assert_eq!(demand.grade.letter(), 'A');
    // They swing as one, and the classes say so.
    assert!(
        demand.classes.iter().filter(|class| class.vms > 0).all(|class| class.correlation > 0.999)
    );
}

#[test]
fn means_without_time_are_added_and_peaks_are_not() {
    let text = "VM Name,MOB ID,Peak IOPS,Average IOPS\ndb-01,vm-1,9000,100\nweb-01,vm-2,8000,50\n";
    let mut found = survey(text);
    let measured = load(&mut found, &site(), LoadOptions::default()).unwrap();
    assert!(measured.iops.is_none());
    assert_eq!(measured.vms.iter().map(|vm| vm.iops.mean).sum::<f64>(), 150.0);
    assert!(measured.vms[0].iops.p95 < 150.0);
    assert!(problem(&found, "statistics-without-time").is_some());
}

#[test]
fn what_is_no_performance_export_is_refused_with_what_would_be() {
    for (text, expected) in [
        ("", "it is empty"),
        ("VM,Powerstate\nx,poweredOn\n", "begins `VM,Powerstate`"),
        ("{\"a\": 1}", "JSON of another shape"),
        ("\0\u{1}\u{2}", "no header row"),
    ] {
        let error = try_survey("x.csv", text, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.starts_with("x.csv: ") && error.contains(expected), "{error}");
    }
    let error = try_survey("x.csv", "a,b\n", &in_zone("Mars/Olympus")).unwrap_err();
    assert_eq!(error.code(), "time-zone");
    let cut = r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric""#;
    let error = try_survey("p.json", cut, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("line 1 column"), "{error}");
}

#[test]
fn the_same_file_twice_changes_nothing_but_is_said() {
    let rows = [("db-01", "2026-07-21 01:00:00", "1"), ("db-01", "2026-07-21 02:00:00", "3")];
    let text = get_stat(&rows);
    let twice: Vec<plimsoll_ingest::Input> = ["a.csv", "b.csv"]
        .map(|name| plimsoll_ingest::Input::memory(name, text.clone().into_bytes()))
        .into();
    let options = ReadOptions::default();
    let limits = plimsoll_ingest::Limits::default();
    let found =
        plimsoll_performance::read(&twice, &site(), &options, &limits, &mut |_| true).unwrap();
    assert_eq!(values(series(&found, "db-01", Metric::ReadIops)), [1.0, 3.0]);
    assert!(problem(&found, "sample-repeated").is_some());
}
