//! The journal of a sweep: its plan, one line per sample as they come, one file per full result, and at the
//! end the table as Parquet and CSV.
//!
//! The samples' file is the only record of what is done; a torn last line (a crash while writing) counts as
//! not done.

use std::{
    fs::{File, OpenOptions},
    io::{Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{Point, Sample, file, parquet, samples::points_csv};
use crate::{Error, Result, command::Request, output, result::ResultSet, run::Target};

const PLAN: &str = "plan.json";
const SAMPLES: &str = "samples.jsonl";
const PARQUET: &str = "samples.parquet";
const POINTS: &str = "points.csv";
const RESULTS: &str = "results";

/// What was to be done: a sweep goes on only with the same plan.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Plan {
    schema_version: u32,
    urls: Vec<String>,
    netns: Vec<String>,
    points: Vec<String>,
    seconds: f64,
}

pub struct Journal {
    directory: PathBuf,
    samples: File,
    order: Vec<String>,
    done: Vec<Sample>,
}

impl Journal {
    pub fn open(
        directory: &Path,
        points: &[Point],
        request: &Request,
        resume: bool,
    ) -> Result<Self> {
        let plan = Plan {
            schema_version: 1,
            urls: request.urls.iter().map(|url| Target::new(url).shown).collect(),
            netns: request.netns.clone(),
            points: points.iter().map(|point| point.id.clone()).collect(),
            seconds: points.iter().map(|point| point.workload.planned_seconds()).sum(),
        };
        let plan_path = file(directory, PLAN);
        let samples_path = file(directory, SAMPLES);
        if resume {
            let text = std::fs::read(&plan_path).map_err(|error| Error::file(&plan_path, error))?;
            let before: Plan = serde_json::from_slice(&text).map_err(|error| Error::Form {
                path: plan_path.clone(),
                what: error.to_string(),
            })?;
            if before != plan {
                let what =
                    "is the plan of another sweep; use its arguments, or another --directory"
                        .to_owned();
                return Err(Error::Form { path: plan_path, what });
            }
        } else {
            if samples_path.exists() {
                let what =
                    "holds samples already; add --resume, or use another --directory".to_owned();
                return Err(Error::Form { path: samples_path, what });
            }
            let text = serde_json::to_vec_pretty(&plan)
                .map_err(|error| Error::Run(format!("plan as JSON: {error}")))?;
            std::fs::write(&plan_path, text).map_err(|error| Error::file(&plan_path, error))?;
        }
        let (samples, done) = read(&samples_path)?;
        Ok(Self { directory: directory.to_owned(), samples, order: plan.points, done })
    }

    pub fn done(&self) -> usize {
        self.done.len()
    }

    pub fn has(&self, id: &str) -> bool {
        self.done.iter().any(|sample| sample.point == id)
    }

    /// Adds a sample; it is on the disk when this returns.
    pub fn add(&mut self, sample: Sample, set: &ResultSet) -> Result<()> {
        let results = file(&self.directory, RESULTS);
        std::fs::create_dir_all(&results).map_err(|error| Error::file(&results, error))?;
        let path = results.join(format!("{}.json", sample.point));
        let text = output::render(set, output::Format::Json)?;
        std::fs::write(&path, text).map_err(|error| Error::file(&path, error))?;
        let mut line = serde_json::to_vec(&sample)
            .map_err(|error| Error::Run(format!("sample as JSON: {error}")))?;
        line.push(b'\n');
        let path = file(&self.directory, SAMPLES);
        self.samples
            .write_all(&line)
            .and_then(|()| self.samples.sync_data())
            .map_err(|error| Error::file(path, error))?;
        self.done.push(sample);
        Ok(())
    }

    /// Writes the tables; gives all samples in the order of the matrix.
    pub fn finish(mut self) -> Result<Vec<Sample>> {
        let place = |id: &str| self.order.iter().position(|have| have == id).unwrap_or(usize::MAX);
        self.done.sort_by_key(|sample| place(&sample.point));
        parquet::write(&file(&self.directory, PARQUET), &self.done)?;
        let path = file(&self.directory, POINTS);
        std::fs::write(&path, points_csv(&self.done, "measured"))
            .map_err(|error| Error::file(&path, error))?;
        Ok(self.done)
    }
}

/// Opens the samples' file behind its last whole line.
fn read(path: &Path) -> Result<(File, Vec<Sample>)> {
    let failed = |error| Error::file(path, error);
    let mut samples = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(failed)?;
    let mut text = Vec::new();
    samples.read_to_end(&mut text).map_err(failed)?;
    let mut done = Vec::new();
    let mut whole = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let Ok(sample) = serde_json::from_slice(line) else { break };
        if !line.ends_with(b"\n") {
            break;
        }
        done.push(sample);
        whole += line.len() as u64;
    }
    samples.set_len(whole).map_err(failed)?;
    samples.seek(std::io::SeekFrom::Start(whole)).map_err(failed)?;
    Ok((samples, done))
}
