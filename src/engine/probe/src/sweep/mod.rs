//! A matrix of measurements: hosts, datastores, flows, blocks, mixes, depths.
//!
//! Time and bytes are estimated before anything starts. Each point is a run of its own and ends up as one
//! sample; samples are appended to a file as they come, so that an interrupted sweep goes on where it stopped.

mod estimate;
mod matrix;
mod parquet;
mod samples;
mod state;

pub use estimate::Estimate;
pub use matrix::{Matrix, Point};
pub use parquet::{read as read_parquet, write as write_parquet};
pub use samples::{Sample, points_csv};

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    Error, Result,
    command::{Request, execute},
    result::Stopped,
    run::{Observer, Progress},
};

/// A sweep ready to run.
#[derive(Debug)]
pub struct Sweep {
    request: Request,
    points: Vec<Point>,
    directory: PathBuf,
}

/// How a sweep ended.
#[derive(Debug)]
pub struct Done {
    /// Points of the matrix.
    pub points: usize,
    /// Points measured in this call.
    pub measured: usize,
    /// Points measured before it.
    pub resumed: usize,
    /// What ended it early.
    pub stopped: Option<Stopped>,
    /// All samples, in the order of the matrix.
    pub samples: Vec<Sample>,
    /// Where they are.
    pub directory: PathBuf,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} points measured ({} before), samples in {}",
            self.measured + self.resumed,
            self.points,
            self.resumed,
            self.directory.display()
        )?;
        if let Some(stopped) = &self.stopped {
            write!(f, "; stopped by `{}`: {}; go on with --resume", stopped.guard, stopped.what)?;
        }
        Ok(())
    }
}

impl Sweep {
    /// `request` gives targets, connections, safety and the workload on which the matrix is laid.
    pub fn new(request: Request, matrix: Matrix, directory: PathBuf) -> Result<Self> {
        let points = matrix.points(&request)?;
        Ok(Self { request, points, directory })
    }

    /// The points, in order.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Time and bytes.
    #[must_use]
    pub fn estimate(&self) -> Estimate {
        Estimate::of(&self.points, &self.request)
    }

    /// Runs all points, or those that are left.
    pub fn run(&self, resume: bool, observer: &mut Observer<'_>) -> Result<Done> {
        std::fs::create_dir_all(&self.directory)
            .map_err(|error| Error::file(&self.directory, error))?;
        let mut journal =
            state::Journal::open(&self.directory, &self.points, &self.request, resume)?;
        let resumed = journal.done();
        let mut stopped = None;
        let count = self.points.len();
        for (index, point) in self.points.iter().enumerate() {
            if journal.has(&point.id) {
                continue;
            }
            let request = point.request(&self.request);
            let mut watch = |progress: &Progress| {
                observer(&Progress { stage_index: index, stages: count, ..progress.clone() })
            };
            let set = execute(&request, &mut watch)?;
            stopped = set.stopped.clone();
            // A cancelled point is not a sample: it will be measured when the sweep goes on.
            if stopped.as_ref().is_none_or(|stopped| stopped.guard != "cancelled") {
                journal.add(Sample::of(point, &set), &set)?;
            }
            if stopped.is_some() {
                break;
            }
        }
        let measured = journal.done() - resumed;
        let samples = journal.finish()?;
        Ok(Done {
            points: count,
            measured,
            resumed,
            stopped,
            samples,
            directory: self.directory.clone(),
        })
    }
}

/// Names of the files of a sweep.
pub(crate) fn file(directory: &Path, name: &str) -> PathBuf {
    directory.join(name)
}
