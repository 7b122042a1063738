//! Performance exports: 5,000 VMs for 30 days by the hour, against a bare scan of the same file.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use plimsoll_support::figure::Figure;

use crate::child::{self, Measured};
use crate::{Emit, Result};

const VMS: u32 = 5_000;
const HOURS: u32 = 30 * 24;

pub fn run(emit: Emit<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("series.csv");
    write(&path)?;
    let mib = std::fs::metadata(&path)?.len() / (1 << 20);
    let path = path.to_string_lossy();
    let program = std::env::current_exe()?;
    let [ours, scan] = child::medians(
        5,
        [
            Measured { program: &program, arguments: &["peer", "series", &path], accepted: &[0] },
            Measured { program: &program, arguments: &["peer", "polars", &path], accepted: &[0] },
        ],
    )?;
    let ratio = ours.seconds / scan.seconds;
    let command = "plimsoll-bench peer series FILE".to_owned();
    let reference = "polars reading the same file into a frame and nothing else".to_owned();
    emit(Figure {
        name: format!("3.6 million rows ({mib} MiB CSV) to series: time"),
        unit: "s",
        ours: ours.seconds,
        reference: reference.clone(),
        reference_value: Some(scan.seconds),
        ratio: Some(ratio),
        goal: "ratio at most 3".to_owned(),
        met: Some(ratio <= 3.0),
        command: command.clone(),
    });
    emit(Figure {
        name: format!("3.6 million rows ({mib} MiB CSV) to series: peak memory"),
        unit: "MiB",
        ours: ours.peak_mib,
        reference,
        reference_value: Some(scan.peak_mib),
        ratio: Some(ours.peak_mib / scan.peak_mib),
        goal: "at most 600 MiB".to_owned(),
        met: Some(ours.peak_mib <= 600.0),
        command,
    });
    Ok(())
}

/// An Aria Operations view as it is exported: all fields quoted, thousands marks, `-` for missing.
fn write(path: &Path) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(
        out,
        "\u{feff}\"Name\",\"Interval Breakdown\",\"Virtual Disk|Read IOPS|Avg\",\"Virtual Disk|Write IOPS|Avg\",\"Virtual Disk|Total Throughput (KBps)|Avg\""
    )?;
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    for vm in 0..VMS {
        for hour in 0..HOURS {
            let day = hour / 24 + 1;
            let (of_day, half) = (hour % 24, if hour % 24 < 12 { "AM" } else { "PM" });
            let clock = if of_day % 12 == 0 { 12 } else { of_day % 12 };
            let (reads, writes, kbps) = (next() % 900, next() % 700, next() % 9_000);
            write!(
                out,
                "\"vm-{vm:05}\",\"{clock}:00 {half} {day} July 2026\",\"{reads}.{:02}\",",
                reads % 97
            )?;
            if writes == 7 {
                write!(out, "\"-\",")?;
            } else {
                write!(out, "\"{writes}.{:02}\",", writes % 89)?;
            }
            if kbps >= 1000 {
                writeln!(out, "\"{},{:03}.5\"", kbps / 1000, kbps % 1000)?;
            } else {
                writeln!(out, "\"{kbps}.5\"")?;
            }
        }
    }
    out.flush()?;
    Ok(())
}
