//! Results of IOmeter: a CSV of several tables, each headed by a line that starts with `'`.
//!
//! The row of all managers (`ALL`) of each run becomes a benchmark. Older versions have `MBps`, which
//! is binary; newer ones say which (`MBps (Binary)`, `MBps (Decimal)`). The access specification's
//! first line gives the block size when there is one line.

use crate::catalog::normalise;
use crate::collect::Collector;
use crate::error::Error;
use crate::number::{Number, number};
use crate::table::split;
use crate::types::Benchmark;

use super::NUMBER_UNREADABLE;

/// Whether the head of a file is IOmeter's.
pub(crate) fn recognise(head: &str) -> bool {
    let head = head.to_lowercase();
    head.contains("target type,target name,access specification name")
        || head.contains("'test type,test description")
}

/// Reads the results.
pub(crate) fn read(bytes: &[u8], out: &mut Collector) -> Result<(), Error> {
    let text = String::from_utf8_lossy(bytes);
    let file = out.file();
    let tool = text
        .lines()
        .zip(text.lines().skip(1))
        .find(|(line, _)| line.to_lowercase().starts_with("'version"))
        .map_or_else(|| "IOmeter".to_owned(), |(_, version)| format!("IOmeter {}", version.trim()));
    let (mut headers, mut block_kib, mut asks_block) = (Vec::new(), None, 0);
    let mut seconds = None;
    let mut depth = None;
    for (row, line) in (1_u64..).zip(text.lines()) {
        let fields = split(line, b',');
        let first = normalise(&fields[0]);
        if let Some(heading) = first.strip_prefix('\'') {
            let names: Vec<String> =
                fields.iter().map(|f| normalise(f.trim_start_matches('\''))).collect();
            match heading {
                "target type" => headers = names,
                "access specifications" => block_kib = None,
                "size" => asks_block = 1,
                "run time" => asks_block = 2,
                "queue depth start" | "outstanding i/os" | "# outstanding i/os" => asks_block = 3,
                _ => asks_block = 0,
            }
            continue;
        }
        let cell = |at: usize| fields.get(at).map(|f| number(f, false));
        match (asks_block, cell(0)) {
            (1, Some(Number::Value(bytes))) => {
                let share = cell(1);
                block_kib = (share == Some(Number::Value(100.0))).then_some(bytes / 1024.0);
                asks_block = 0;
            }
            (2, Some(Number::Value(hours))) => {
                if let (Some(Number::Value(minutes)), Some(Number::Value(rest))) =
                    (cell(1), cell(2))
                {
                    seconds = Some(hours * 3600.0 + minutes * 60.0 + rest).filter(|s| *s > 0.0);
                }
                asks_block = 0;
            }
            (3, Some(Number::Value(value))) => {
                depth = Some(value);
                asks_block = 0;
            }
            _ => {}
        }
        if first != "all" || headers.is_empty() {
            continue;
        }
        let mut value = |names: &[&str]| {
            let at =
                names.iter().find_map(|name| headers.iter().position(|header| header == name))?;
            let text = fields.get(at)?;
            match number(text, false) {
                Number::Value(value) => Some(value),
                Number::Missing => None,
                Number::Unreadable => {
                    out.note(NUMBER_UNREADABLE, Some(row), &headers[at], || text.clone());
                    None
                }
            }
        };
        let read_iops = value(&["read iops"]);
        let write_iops = value(&["write iops"]);
        let (Some(read_iops), Some(write_iops)) = (read_iops, write_iops) else { continue };
        const DECIMAL: f64 = 1e6 / 1_048_576.0;
        let read_mibps = value(&["read mbps (binary)", "read mbps"])
            .or_else(|| Some(value(&["read mbps (decimal)"])? * DECIMAL));
        let write_mibps = value(&["write mbps (binary)", "write mbps"])
            .or_else(|| Some(value(&["write mbps (decimal)"])? * DECIMAL));
        let mean_latency_ms = value(&["average response time"]);
        let workers = value(&["# workers"]);
        out.benchmarks.push(Benchmark {
            file,
            name: fields.get(2).cloned().unwrap_or_default(),
            tool: tool.clone(),
            block_kib,
            in_flight: depth.map(|depth: f64| depth * workers.unwrap_or(1.0)),
            read_iops,
            write_iops,
            read_mibps: read_mibps.unwrap_or(0.0),
            write_mibps: write_mibps.unwrap_or(0.0),
            mean_latency_ms: mean_latency_ms.filter(|ms| *ms > 0.0),
            p99_latency_ms: None,
            seconds,
        });
        if let Some(file) = out.files.last_mut() {
            file.used += 1;
        }
    }
    if out.benchmarks.iter().all(|benchmark| benchmark.file != file) {
        return Err(Error::Unusable {
            file: out.file_name().to_owned(),
            format: "results of IOmeter".to_owned(),
            wrong: "it has no row ALL with Read IOps and Write IOps".to_owned(),
            action: "let a test run to its end with results of all managers",
        });
    }
    Ok(())
}
