//! Each source is recognised by its content and read into the same units.

use plimsoll_performance::{Match, MatchedBy, Metric, Statistic};

use crate::fixtures::*;

#[test]
fn powercli_get_stat() {
    let text = "#TYPE VMware.VimAutomation.ViCore.Impl.V1.Stat\r\n\
\"Value\",\"Timestamp\",\"MetricId\",\"Unit\",\"Description\",\"Entity\",\"EntityId\",\"IntervalSecs\",\"Instance\"\r\n\
\"10\",\"7/21/2026 2:05:00 PM\",\"virtualDisk.numberReadAveraged.average\",\"Number\",\"reads\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"scsi0:0\"\r\n\
\"32\",\"7/21/2026 2:05:00 PM\",\"virtualDisk.numberReadAveraged.average\",\"Number\",\"reads\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"scsi0:1\"\r\n\
\"2048\",\"7/21/2026 2:05:00 PM\",\"virtualDisk.read.average\",\"KBps\",\"rate\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"scsi0:0\"\r\n\
\"6000\",\"7/21/2026 2:05:00 PM\",\"disk.numberWrite.summation\",\"Number\",\"writes\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"\"\r\n\
\"5\",\"7/21/2026 2:05:00 PM\",\"virtualDisk.totalReadLatency.average\",\"Millisecond\",\"latency\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"scsi0:0\"\r\n\
\"9\",\"7/21/2026 2:05:00 PM\",\"virtualDisk.totalReadLatency.average\",\"Millisecond\",\"latency\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"scsi0:1\"\r\n\
\"77\",\"7/21/2026 2:05:00 PM\",\"cpu.usage.average\",\"Percent\",\"cpu\",\"db-01\",\"VirtualMachine-vm-1\",\"300\",\"\"\r\n";
    let found = survey(text);
    // Disks are added, not averaged; a summation is divided by its interval; KBps is KiB/s.
    assert_eq!(values(series(&found, "db-01", Metric::ReadIops)), [42.0]);
    assert_eq!(values(series(&found, "db-01", Metric::WriteIops)), [20.0]);
    assert_eq!(values(series(&found, "db-01", Metric::ReadMibps)), [2.0]);
    assert_eq!(values(series(&found, "db-01", Metric::ReadLatencyMs)), [9.0]);
    // A time is the end of its interval: 14:05 is the interval from 14:00.
    assert_eq!(series(&found, "db-01", Metric::ReadIops).samples[0].at_s, 1_784_642_400);
    assert_eq!(found.matches, [Match::Vm(DB, MatchedBy::Id)]);
    assert!(problem(&found, "counter-not-used").unwrap().contains("cpu.usage.average"));
}

#[test]
fn powercli_get_stat_of_another_culture() {
    let text = "MetricId;Timestamp;Value;Unit;IntervalSecs;Instance;Entity;EntityId\n\
virtualDisk.numberReadAveraged.average;21.07.2026 14:05:00;1,5;Number;20;;db-01;VirtualMachine-vm-1\n";
    assert_eq!(values(series(&survey(text), "db-01", Metric::ReadIops)), [1.5]);
}

#[test]
fn aria_operations() {
    let text = "\u{feff}\"Name\",\"Interval Breakdown\",\"Virtual Disk|Read IOPS|Avg\",\"Virtual Disk|Write IOPS|Avg\",\"Virtual Disk|Read IOPS|Max\",\"Virtual Disk|Total Throughput (KBps)|Avg\",\"CPU|Usage (%)|Avg\"\n\
\"db-01\",\"12:00 AM 21 July 2026\",\"1,791.5\",\"10\",\"9,999\",\"1,024\",\"50\"\n\
\"db-01\",\"1:00 AM 21 July 2026\",\"-\",\"12\",\"9,999\",\"2,048\",\"50\"\n\
\"db-01\",\"2:00 AM 21 July 2026\",\"oops\",\"14\",\"9,999\",\"512\",\"50\"\n";
    let found = survey(text);
    assert_eq!(values(series(&found, "db-01", Metric::ReadIops)), [1791.5]);
    assert_eq!(values(series(&found, "db-01", Metric::WriteIops)), [10.0, 12.0, 14.0]);
    assert_eq!(values(series(&found, "db-01", Metric::TotalMibps)), [1.0, 2.0, 0.5]);
    assert_eq!(series(&found, "db-01", Metric::WriteIops).interval_s, 3600);
    let bad = problem(&found, "number-unreadable").unwrap();
    assert!(bad.contains("Some(4)") && bad.contains("Read IOPS") && bad.contains("oops"), "{bad}");
    assert!(problem(&found, "extreme-not-used").is_some());
}

#[test]
fn esxtop_batch() {
    let text = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\esx01\\Virtual Disk(db-01)\\Reads/sec\",\"\\\\esx01\\Virtual Disk(db-01:scsi0:0)\\Reads/sec\",\"\\\\esx01\\Virtual Disk(web-01:scsi0:0)\\MBytes Read/sec\",\"\\\\esx01\\Memory\\Free MBytes\"\n\
\"07/08/2026 10:00:00\",\"5.00\",\"5.00\",\"1.50\",\"9\"\n\
\"07/08/2026 10:00:05\",\"7.00\",\"7.00\",\"2.50\",\"9\"\n\
\"07/08/2026 10:00:10\",\"8.0";
    let found = survey(text);
    // The VM as a whole counts once, not again with its disk; the date is 8 July.
    let reads = series(&found, "db-01", Metric::ReadIops);
    assert_eq!((values(reads), reads.interval_s), (vec![5.0, 7.0], 5));
    // The file ends within a value, which may be any part of it: it is missing.
    assert_eq!(reads.samples[0].at_s, 1_783_504_800 - 5);
    assert_eq!(values(series(&found, "web-01", Metric::ReadMibps)), [1.5, 2.5]);
    assert!(problem(&found, "row-cut-short").unwrap().contains("Some(4)"));
}

#[test]
fn prometheus_range_query() {
    let text = r#"{"status":"success","data":{"resultType":"matrix","result":[
{"metric":{"__name__":"vsphere_vm_virtualDisk_numberReadAveraged_average","vmname":"db-01","moid":"vm-1","vcenter":"vc1","disk":"scsi0:0"},"values":[[1784642700,"10"],[1784643000,"20"]]},
{"metric":{"__name__":"vmware_vm_disk_read_average","vm_name":"web-01"},"values":[[1784642700,"1024"],[1784643000,"NaN"]]},
{"metric":{"__name__":"volume_read_latency","volume":"vol-01","svm":"s"},"values":[[1784642700.5,"1500"],[1784643000.5,"500"]]},
{"metric":{"__name__":"vmware_datastore_capacity_size","ds_name":"vol-02"},"values":[[1784642700,"2097152"],[1784643000,"2097152"]]},
{"metric":{"__name__":"vmware_datastore_freespace_size","ds_name":"vol-02"},"values":[[1784642700,"1048576"],[1784643000,"0"]]},
{"metric":{"__name__":"node_disk_reads_completed_total","nodename":"web-01","device":"sda"},"values":[[1784642700,"100"],[1784642760,"700"],[1784642820,"60"],[1784642880,"180"]]},
{"metric":{"instance":"x"},"values":[[1784642700,"1"]]}]}}"#;
    let found = survey(text);
    assert_eq!(values(series(&found, "db-01", Metric::ReadIops)), [10.0, 20.0]);
    assert_eq!(found.matches[0], Match::Vm(DB, MatchedBy::Id));
    assert_eq!(values(series(&found, "web-01", Metric::ReadMibps)), [1.0]);
    assert_eq!(values(series(&found, "vol-01", Metric::ReadLatencyMs)), [1.5, 0.5]);
    assert_eq!(values(series(&found, "vol-02", Metric::UsedMib)), [1.0, 2.0]);
    // A counter that grows: its rate, and nothing for the step in which it was reset.
    assert_eq!(values(series(&found, "web-01", Metric::ReadIops)), [10.0, 2.0]);
    assert!(problem(&found, "counter-reset").is_some());
    assert!(problem(&found, "series-without-metric-name").is_some());
}

#[test]
fn azure_monitor_json() {
    let text = r#"{"cost":59,"timespan":"x","interval":"PT5M","value":[{"id":"/subscriptions/0/resourceGroups/g/providers/Microsoft.NetApp/netAppAccounts/a/capacityPools/p/volumes/vol-01/providers/Microsoft.Insights/metrics/ReadIops","type":"Microsoft.Insights/metrics","name":{"value":"ReadIops","localizedValue":"Read iops"},"unit":"CountPerSecond","timeseries":[{"metadatavalues":[],"data":[{"timeStamp":"2026-07-21T14:00:00Z","average":12.5},{"timeStamp":"2026-07-21T14:05:00Z"},{"timeStamp":"2026-07-21T14:10:00Z","average":0.0}]}]},
{"id":"/subscriptions/0/x/volumes/vol-01/providers/Microsoft.Insights/metrics/ReadThroughput","name":{"value":"ReadThroughput"},"unit":"BytesPerSecond","timeseries":[{"data":[{"timeStamp":"2026-07-21T14:00:00Z","average":1048576}]}]}]}"#;
    let found = survey(text);
    let reads = series(&found, "vol-01", Metric::ReadIops);
    // An interval without measurements is missing; one of zero is zero.
    assert_eq!((values(reads), reads.interval_s), (vec![12.5, 0.0], 300));
    assert_eq!(reads.samples[0].at_s, 1_784_642_400);
    assert_eq!(values(series(&found, "vol-01", Metric::ReadMibps)), [1.0]);
    assert!(matches!(found.matches[0], Match::Datastore(_)));
    assert!(problem(&found, "series-gaps").unwrap().contains("1 of 4"));
}

#[test]
fn azure_monitor_csv() {
    let rows = "TimeGenerated [UTC],Resource,MetricName,Total,Average,Maximum,TimeGrain,UnitName\n\
\"7/21/2026, 2:00:00.000 PM\",VOL-01,WriteIops,1500,25,90,PT1M,CountPerSecond\n\
\"7/21/2026, 2:00:00.000 PM\",web-01,Disk Read Bytes,62914560,1,1,PT1M,Bytes\n";
    let found = survey(rows);
    assert_eq!(values(series(&found, "VOL-01", Metric::WriteIops)), [25.0]);
    // Bytes over a minute: 60 MiB / 60 s.
    assert_eq!(values(series(&found, "web-01", Metric::ReadMibps)), [1.0]);
    let chart = "Timestamp (UTC),Read iops (Avg),Write iops (Avg),Read iops (Max)\n\
2026-07-21T14:00:00Z,10,20,99\n2026-07-21T14:05:00Z,,30,99\n";
    let found = try_survey("exports/vol-02.csv", chart, &Default::default()).unwrap();
    assert_eq!(values(series(&found, "vol-02", Metric::ReadIops)), [10.0]);
    assert_eq!(values(series(&found, "vol-02", Metric::WriteIops)), [20.0, 30.0]);
    assert!(matches!(found.matches[0], Match::Datastore(_)));
}

#[test]
fn live_optics_workbook() {
    let bytes = workbook(&[
        ("Details", &[&["Project ID", "1"]]),
        (
            "VM Performance",
            &[
                &[
                    "VM Name",
                    "MOB ID",
                    "Peak IOPS",
                    "Average IOPS",
                    "Avg Read IOPS",
                    "Avg Write IOPS",
                    "Average KB/sec",
                ],
                &["db-01", "vm-1", "900", "100", "70", "30", "2048"],
            ],
        ),
        (
            "ESX Performance",
            &[
                &["Host", "Peak IOPS", "Average IOPS", "95% IOPS"],
                &["esx01", "5000", "700", "2000"],
            ],
        ),
    ]);
    let found = survey(bytes);
    let get = |metric, statistic| {
        found
            .summaries
            .iter()
            .find(|s| s.metric == metric && s.statistic == statistic)
            .map(|s| s.value)
    };
    assert_eq!(get(Metric::TotalIops, Statistic::Mean), Some(100.0));
    assert_eq!(get(Metric::TotalIops, Statistic::Peak), Some(900.0));
    assert_eq!(get(Metric::TotalMibps, Statistic::Mean), Some(2.0));
    assert_eq!(found.matches, [Match::Vm(DB, MatchedBy::Id), Match::NotSought]);
}

#[test]
fn nutanix_collector_workbook() {
    let bytes = workbook(&[(
        "vInfo",
        &[
            &["VM Name", "Sizing Enabled", "95th Percentile IOPS", "MOID", "UUID"],
            &["renamed", "true", "140", "", "5000AAAA-0000-0000-0000-000000000001"],
        ],
    )]);
    let found = survey(bytes);
    assert_eq!((found.summaries[0].statistic, found.summaries[0].value), (Statistic::P95, 140.0));
    assert_eq!(found.matches, [Match::Vm(DB, MatchedBy::Uuid)]);
}

#[test]
fn azure_migrate_template() {
    let text = "*Server name,*Cores,Disk 1 size (In GB),Disk 1 read throughput (MB per second),Disk 1 read ops (Operations per second),Disk 2 read ops (Operations per second),Disk 1 write ops (Operations per second)\n\
db-01,4,100,8,50,25,30\nweb-01,2,50,,,,\n";
    let found = survey(text);
    let read = found.summaries.iter().find(|s| s.metric == Metric::ReadIops).unwrap();
    assert_eq!((read.value, read.statistic), (75.0, Statistic::P95));
    // A server without numbers is not a server without load.
    assert_eq!(found.entities.len(), 1);
}

#[test]
fn fio_results() {
    let text = r#"fio: a warning
{"fio version":"fio-3.33","global options":{"bs":"8k","iodepth":"32"},"jobs":[{"jobname":"mix","job options":{"numjobs":"4"},
"read":{"bw":61440,"bw_bytes":62914560,"iops":7680.0,"runtime":60000,"total_ios":300,"lat_ns":{"mean":2000000.0},"clat_ns":{"percentile":{"99.000000":5000000}}},
"write":{"bw":20480,"bw_bytes":20971520,"iops":2560.0,"runtime":60000,"total_ios":100,"lat_ns":{"mean":4000000.0},"clat_ns":{"percentile":{"99.000000":9000000}}}}]}"#;
    let found = survey(text);
    let job = &found.benchmarks[0];
    assert_eq!((job.read_iops, job.write_mibps, job.block_kib), (7680.0, 20.0, Some(8.0)));
    assert_eq!((job.in_flight, job.seconds), (Some(128.0), Some(60.0)));
    // (2 x 300 + 4 x 100) / 400
    assert_eq!((job.mean_latency_ms, job.p99_latency_ms), (Some(2.5), Some(9.0)));
    // A load generator's result is nobody's load.
    assert!(found.series.is_empty() && found.entities.is_empty());
}

#[test]
fn iometer_results() {
    let text = "'Test Type,Test Description\n0,demo\n'Version\n1.1.0 \n'Run Time\n'hours,minutes,seconds\n'Access specifications\n'Access specification name,default assignment\n4K; 100% Read,none\n'size,% of size,% reads,% random,delay,burst,align,reply\n4096,100,100,100,0,1,0,0\n'End access specifications\n'Results\n'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,Write IOps,MBps (Binary),Read MBps (Binary),Write MBps (Binary),Average Response Time\nALL,All,4K; 100% Read,1,4,4,5000.5,5000.5,0.0,19.53,19.53,0.0,0.8\nMANAGER,HOST,4K; 100% Read,,4,4,5000.5,5000.5,0,19.53,19.53,0,0.8\n";
    let found = survey(text);
    assert_eq!(found.benchmarks.len(), 1);
    let run = &found.benchmarks[0];
    assert_eq!((run.name.as_str(), run.tool.as_str()), ("4K; 100% Read", "IOmeter 1.1.0"));
    assert_eq!((run.read_iops, run.read_mibps, run.block_kib), (5000.5, 19.53, Some(4.0)));
    assert_eq!(run.mean_latency_ms, Some(0.8));
}

#[test]
fn a_script_report_of_vm_disks() {
    let text = "VM;Datastore;Start;Finish;IOPSWriteMax;IOPSWriteAvg;IOPSReadMax;IOPSReadAvg;IOPSTotalAvg\n\
db-01;ds1;a;b;90;10,5;80;20;30,5\ndb-01;ds2;a;b;9;1;8;2;3\n";
    let found = survey(text);
    let mut load = found.clone();
    let measured = plimsoll_performance::load(&mut load, &site(), Default::default()).unwrap();
    assert_eq!(measured.vms[0].iops.mean, 33.5);
}
