//! From what was typed to the workloads of a run: a profile, a file of another tool, or a single mix, with
//! single settings on top.

use std::path::PathBuf;

use crate::{
    Error, Result, import, profile, text,
    workload::{Arrivals, DataShape, Guards, Load, Workload, describe, split_rows},
};

/// What was typed; `None` means that the default, the profile or the file decides.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// Name of a profile.
    pub profile: Option<String>,
    /// IOmeter configuration.
    pub icf: Option<PathBuf>,
    /// fio job file.
    pub fio: Option<PathBuf>,
    /// Workloads as JSON: one, or a list.
    pub workload: Option<PathBuf>,
    /// Block size or split, for both directions or `READS,WRITES`.
    pub block: Option<String>,
    /// Share of reads, percent.
    pub read_pct: Option<f64>,
    /// Share of random accesses, percent.
    pub random_pct: Option<f64>,
    /// I/Os under way per worker.
    pub depth: Option<u32>,
    /// Workers per target.
    pub workers: Option<u32>,
    /// Open loop: arrivals per second.
    pub rate: Option<f64>,
    /// Open loop: spacing.
    pub arrivals: Option<Arrivals>,
    /// Length of the measurement.
    pub seconds: Option<f64>,
    /// Length of the ramp.
    pub ramp_seconds: Option<f64>,
    /// End after so many bytes.
    pub bytes: Option<String>,
    /// Part of the datastore in use.
    pub working_set: Option<String>,
    /// Its first byte.
    pub offset: Option<String>,
    /// Share of duplicate data, percent.
    pub dedupe_pct: Option<f64>,
    /// Share of compressible data, percent.
    pub compress_pct: Option<f64>,
    /// Stamp and check.
    pub integrity: bool,
    /// Write the working set first.
    pub prefill: Option<bool>,
    /// Seed.
    pub seed: Option<u64>,
    /// Guard: failed I/Os.
    pub max_errors: Option<u64>,
    /// Guard: 99th percentile, milliseconds.
    pub max_latency_ms: Option<f64>,
    /// Window of the steady-state verdict, seconds.
    pub steady_window: Option<u32>,
    /// End when steady.
    pub until_steady: bool,
}

/// Workloads, and what an importer had to say about its file.
#[derive(Debug, Clone)]
pub struct Stages {
    /// One after the other.
    pub workloads: Vec<Workload>,
    /// Each with its line.
    pub notes: Vec<String>,
    /// Find the highest rate with the first workload and run steps of it after that.
    pub is_curve: bool,
}

impl Flags {
    /// The workloads.
    pub fn stages(&self) -> Result<Stages> {
        let base = self.on_top(Workload::default())?;
        let read = |path: &PathBuf| std::fs::read(path).map_err(|error| Error::file(path, error));
        let mut notes = Vec::new();
        let mut is_curve = false;
        let workloads = if let Some(path) = &self.icf {
            let imported = import::icf(&path.display().to_string(), &read(path)?)?;
            notes = imported.notes;
            imported.workloads
        } else if let Some(path) = &self.fio {
            let imported = import::fio(&path.display().to_string(), &read(path)?)?;
            notes = imported.notes;
            imported.workloads
        } else if let Some(path) = &self.workload {
            let refuse = |error: serde_json::Error| Error::Form {
                path: path.clone(),
                what: error.to_string(),
            };
            let bytes = read(path)?;
            match serde_json::from_slice::<serde_json::Value>(&bytes).map_err(refuse)? {
                list @ serde_json::Value::Array(_) => {
                    serde_json::from_value(list).map_err(refuse)?
                }
                one => vec![serde_json::from_value(one).map_err(refuse)?],
            }
        } else if let Some(name) = &self.profile {
            if name == "curve" {
                is_curve = true;
                vec![self.mix(base)?]
            } else {
                profile::workloads(name, &base).ok_or_else(|| Error::Text {
                    text: name.clone(),
                    wanted: "a profile: four-corners, four-corners-read, opt or curve",
                })?
            }
        } else {
            vec![self.mix(base)?]
        };
        let workloads: Vec<Workload> =
            workloads.into_iter().map(|workload| self.on_top(workload)).collect::<Result<_>>()?;
        for workload in &workloads {
            workload.check_alone()?;
        }
        Ok(Stages { workloads, notes, is_curve })
    }

    /// The single mix of block, reads and pattern.
    fn mix(&self, base: Workload) -> Result<Workload> {
        let block = self.block.as_deref().unwrap_or("8k");
        let (reads, writes) = block.split_once(',').unwrap_or((block, block));
        let reads = text::block_split(reads)?;
        let writes = text::block_split(writes)?;
        let accesses = split_rows(
            &reads,
            &writes,
            self.read_pct.unwrap_or(100.0),
            self.random_pct.unwrap_or(100.0),
        );
        Ok(Workload { name: describe(&accesses), accesses, ..base })
    }

    /// Single settings go before those of a profile or file.
    fn on_top(&self, mut workload: Workload) -> Result<Workload> {
        let set = |field: &mut f64, value: Option<f64>| {
            if let Some(value) = value {
                *field = value;
            }
        };
        set(&mut workload.seconds, self.seconds);
        set(&mut workload.ramp_seconds, self.ramp_seconds);
        workload.depth = self.depth.unwrap_or(workload.depth);
        workload.workers = self.workers.unwrap_or(workload.workers);
        workload.seed = self.seed.unwrap_or(workload.seed);
        workload.prefill = self.prefill.unwrap_or(workload.prefill);
        workload.integrity |= self.integrity;
        if let Some(iops) = self.rate {
            workload.load = Load::Open { iops, arrivals: self.arrivals.unwrap_or_default() };
        }
        if let Some(size) = &self.bytes {
            workload.limit_bytes = Some(text::bytes(size)?);
        }
        if let Some(size) = &self.working_set {
            workload.working_set_bytes = Some(text::bytes(size)?);
        }
        if let Some(size) = &self.offset {
            workload.offset_bytes = text::bytes(size)?;
        }
        let DataShape { dedupe_pct, compress_pct } = &mut workload.data;
        set(dedupe_pct, self.dedupe_pct);
        set(compress_pct, self.compress_pct);
        let guards: &mut Guards = &mut workload.guards;
        guards.max_errors = self.max_errors.or(guards.max_errors);
        guards.max_latency_ms = self.max_latency_ms.or(guards.max_latency_ms);
        workload.steady.window_seconds =
            self.steady_window.unwrap_or(workload.steady.window_seconds);
        workload.steady.stop |= self.until_steady;
        Ok(workload)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_single_mix_comes_from_its_flags() {
        let flags = Flags {
            block: Some("64k".to_owned()),
            read_pct: Some(70.0),
            random_pct: Some(0.0),
            depth: Some(16),
            rate: Some(500.0),
            arrivals: Some(Arrivals::Poisson),
            working_set: Some("1g".to_owned()),
            ..Flags::default()
        };
        let stages = flags.stages().unwrap();
        let [workload] = stages.workloads.as_slice() else { unreachable!() };
        assert_eq!(workload.name, "64 KiB sequential 70/30 mix");
        assert_eq!((workload.depth, workload.working_set_bytes), (16, Some(1 << 30)));
        assert_eq!(workload.load, Load::Open { iops: 500.0, arrivals: Arrivals::Poisson });
    }

    #[test]
    fn settings_go_before_those_of_a_profile() {
        let flags = Flags {
            profile: Some("opt".to_owned()),
            seconds: Some(5.0),
            depth: Some(8),
            ..Flags::default()
        };
        let stages = flags.stages().unwrap();
        assert_eq!(stages.workloads.len(), 4);
        assert!(
            stages.workloads.iter().all(|workload| workload.depth == 8 && workload.seconds <= 5.0)
        );
        let wrong = Flags { profile: Some("five-corners".to_owned()), ..Flags::default() };
        assert!(wrong.stages().unwrap_err().is_refusal());
    }

    #[test]
    fn splits_may_differ_by_direction() {
        let flags = Flags {
            block: Some("4k/50:8k/50,64k".to_owned()),
            read_pct: Some(50.0),
            ..Flags::default()
        };
        let stages = flags.stages().unwrap();
        assert_eq!(stages.workloads[0].accesses.len(), 3);
    }

    #[test]
    fn workloads_may_come_from_json() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("w.json");
        let list = vec![Workload::simple(4096, 0.0, 0.0), Workload::simple(8192, 100.0, 100.0)];
        std::fs::write(&path, serde_json::to_vec(&list).unwrap()).unwrap();
        let flags = Flags { workload: Some(path.clone()), ..Flags::default() };
        assert_eq!(flags.stages().unwrap().workloads, list);
        std::fs::write(&path, b"{\"dept\": 3}").unwrap();
        let error = flags.stages().unwrap_err();
        assert!(error.to_string().contains("dept"), "{error}");
    }
}
