//! Results of fio as JSON, and of `plimsoll probe --format fio-json`, which writes the same.
//!
//! A result of a load generator says what a target did: it becomes a benchmark, never a load of VMs.
//! In fio `bw_bytes` is bytes a second, `iops` operations a second, times are ns.

use serde::Deserialize;
use std::collections::BTreeMap;

use crate::collect::Collector;
use crate::error::Error;
use crate::types::Benchmark;

#[derive(Deserialize)]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    #[serde(default, rename = "global options")]
    global: Options,
    jobs: Vec<Job>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Options {
    bs: Option<String>,
    iodepth: Option<String>,
    numjobs: Option<String>,
}

#[derive(Deserialize)]
struct Job {
    jobname: String,
    #[serde(default, rename = "job options")]
    options: Options,
    read: Side,
    write: Side,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Side {
    /// KiB a second in all versions; `bw_bytes` since 3.0.
    bw: f64,
    bw_bytes: Option<f64>,
    iops: f64,
    runtime: f64,
    total_ios: f64,
    lat_ns: Latency,
    clat_ns: Latency,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Latency {
    mean: f64,
    percentile: BTreeMap<String, f64>,
}

/// Whether the head of a file is fio's.
pub(crate) fn recognise(head: &str) -> bool {
    head.contains("\"fio version\"")
}

/// Reads the jobs.
pub(crate) fn read(bytes: &[u8], out: &mut Collector) -> Result<(), Error> {
    // Versions of fio print warnings before the document.
    let start = bytes.iter().position(|byte| *byte == b'{').unwrap_or(0);
    let document: Document =
        serde_json::from_slice(&bytes[start..]).map_err(|error| Error::Unusable {
            file: out.file_name().to_owned(),
            format: "results of fio".to_owned(),
            wrong: error.to_string(),
            action: "write them with fio --output-format=json (without json+ or normal beside it)",
        })?;
    let file = out.file();
    for job in document.jobs {
        let option = |get: fn(&Options) -> &Option<String>| {
            get(&job.options).as_ref().or(get(&document.global).as_ref()).cloned()
        };
        let count = |text: Option<String>| text.and_then(|text| text.parse::<f64>().ok());
        let depth = count(option(|options| &options.iodepth));
        let jobs = count(option(|options| &options.numjobs)).unwrap_or(1.0);
        let (read, write) = (&job.read, &job.write);
        let ios = read.total_ios + write.total_ios;
        let mean_ns = (ios > 0.0).then(|| {
            (read.lat_ns.mean * read.total_ios + write.lat_ns.mean * write.total_ios) / ios
        });
        let p99 = |side: &Side| side.clat_ns.percentile.get("99.000000").copied();
        let p99_ns = [p99(read), p99(write)].into_iter().flatten().reduce(f64::max);
        let runtime_ms = read.runtime.max(write.runtime);
        out.benchmarks.push(Benchmark {
            file,
            name: job.jobname.clone(),
            tool: document.version.clone(),
            block_kib: option(|options| &options.bs).and_then(|text| block_kib(&text)),
            in_flight: depth.map(|depth| depth * jobs),
            read_iops: read.iops,
            write_iops: write.iops,
            read_mibps: mibps(read),
            write_mibps: mibps(write),
            mean_latency_ms: mean_ns.filter(|ns| *ns > 0.0).map(|ns| ns / 1e6),
            p99_latency_ms: p99_ns.filter(|ns| *ns > 0.0).map(|ns| ns / 1e6),
            seconds: (runtime_ms > 0.0).then_some(runtime_ms / 1000.0),
        });
        if let Some(file) = out.files.last_mut() {
            file.used += 1;
        }
    }
    Ok(())
}

fn mibps(side: &Side) -> f64 {
    side.bw_bytes.map_or(side.bw / 1024.0, |bytes| bytes / 1_048_576.0)
}

/// `8k`, `1M`, `4096`, `4KiB`; of `8k,16k` the first.
fn block_kib(text: &str) -> Option<f64> {
    let first = text.split([',', '-']).next()?.trim().to_lowercase();
    let digits = first.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().ok()?;
    let kib = match &first[digits.len()..] {
        "" | "b" => number / 1024.0,
        "k" | "kb" | "kib" => number,
        "m" | "mb" | "mib" => number * 1024.0,
        _ => return None,
    };
    (kib > 0.0).then_some(kib)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks() {
        for (text, kib) in
            [("8k", 8.0), ("1M", 1024.0), ("4096", 4.0), ("4KiB", 4.0), ("8k,16k", 8.0)]
        {
            assert_eq!(block_kib(text), Some(kib), "{text}");
        }
        assert_eq!(block_kib("x"), None);
    }
}
