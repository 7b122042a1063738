//! How far a job is.

use std::time::Instant;

use plimsoll_planner::{Progress, Stage};

use crate::store::JobState;

/// A job at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    /// Where it stands.
    pub state: JobState,
    /// The stage it is in, when it runs.
    pub stage: Option<Stage>,
    /// Done, in the stage's unit.
    pub done: u64,
    /// Of how much, when known.
    pub total: Option<u64>,
    /// When the stage began.
    pub since: Instant,
}

impl Snapshot {
    /// Before it starts.
    pub(super) fn queued() -> Self {
        Self { state: JobState::Queued, stage: None, done: 0, total: None, since: Instant::now() }
    }

    /// Takes a step.
    pub(super) fn advance(&mut self, progress: Progress) {
        if self.stage != Some(progress.stage) {
            self.stage = Some(progress.stage);
            self.since = Instant::now();
        }
        self.done = progress.done;
        self.total = progress.total;
    }

    /// What `done` and `total` count in a stage.
    #[must_use]
    pub fn unit(stage: Stage) -> &'static str {
        match stage {
            Stage::Reading => "bytes",
            Stage::Rendering => "formats",
            Stage::Joining | Stage::Estimating | Stage::Planning => "steps",
        }
    }

    /// Done a second in this stage, when that can be said yet.
    #[must_use]
    pub fn rate_per_second(&self) -> Option<f64> {
        let seconds = self.since.elapsed().as_secs_f64();
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let done = self.done as f64;
        (self.done > 0 && seconds > 0.05).then(|| done / seconds)
    }

    /// Seconds left in this stage at this rate.
    #[must_use]
    pub fn seconds_left(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "a time for people")]
        let left = self.total?.saturating_sub(self.done) as f64;
        self.rate_per_second().map(|rate| left / rate)
    }
}
