//! A job as the API shows it.

use plimsoll_planner::Stage;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::App;
use crate::http::problem::Problem;
use crate::jobs::Snapshot;
use crate::store::{JobKind, JobRecord, JobState, StoreError};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobStateBody {
    /// Waits for a slot.
    Queued,
    /// Is being worked on.
    Running,
    /// Ended with a result.
    Done,
    /// Ended with a problem.
    Failed,
    /// Ended on request.
    Cancelled,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum JobKindBody {
    /// Reads an inventory.
    Ingest,
    /// Makes a plan.
    Plan,
}

/// A piece of work.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct JobBody {
    /// Id.
    pub id: Uuid,
    /// What it does.
    pub kind: JobKindBody,
    /// Where it stands.
    pub state: JobStateBody,
    /// Address of the inventory or plan that it works on.
    #[schema(example = "/api/v1/inventories/0199b3d2-7c11-7cc3-98d4-0a9be1f4a2c7")]
    pub result: String,
    /// Jobs that wait before this one.
    pub ahead: u64,
    /// How far it is, while it runs.
    pub progress: Option<ProgressBody>,
    /// How often it was started.
    pub attempts: u32,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub created: String,
    /// When it was started.
    #[schema(format = DateTime)]
    pub started: Option<String>,
    /// When it ended.
    #[schema(format = DateTime)]
    pub finished: Option<String>,
    /// Why it failed.
    pub problem: Option<Problem>,
}

/// How far a job is.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ProgressBody {
    /// `reading`, `joining`, `estimating`, `planning` or `rendering`.
    #[schema(example = "reading")]
    pub stage: String,
    /// Done in this stage.
    pub done: u64,
    /// Of how much, when known.
    pub total: Option<u64>,
    /// What both count.
    #[schema(example = "bytes")]
    pub unit: String,
    /// Done a second.
    pub rate_per_second: Option<f64>,
    /// Left in this stage at this rate.
    pub seconds_left: Option<f64>,
}

fn stage_id(stage: Stage) -> &'static str {
    match stage {
        Stage::Reading => "reading",
        Stage::Joining => "joining",
        Stage::Estimating => "estimating",
        Stage::Planning => "planning",
        Stage::Rendering => "rendering",
    }
}

impl JobBody {
    /// Of a record, with the live state where there is one.
    pub async fn of(app: &App, job: JobRecord) -> Result<Self, StoreError> {
        let snapshot = app.jobs.watch(job.id).map(|watch| *watch.borrow());
        Self::with(app, job, snapshot).await
    }

    /// Of a record and a live state.
    pub async fn with(
        app: &App,
        job: JobRecord,
        snapshot: Option<Snapshot>,
    ) -> Result<Self, StoreError> {
        let ahead =
            if job.state == JobState::Queued { app.store.jobs_ahead(job.id).await? } else { 0 };
        let running = snapshot.filter(|_| job.state == JobState::Running);
        let progress = running.and_then(|snapshot| {
            let stage = snapshot.stage?;
            Some(ProgressBody {
                stage: stage_id(stage).to_owned(),
                done: snapshot.done,
                total: snapshot.total,
                unit: Snapshot::unit(stage).to_owned(),
                rate_per_second: snapshot.rate_per_second(),
                seconds_left: snapshot.seconds_left(),
            })
        });
        let (kind, collection) = match job.kind {
            JobKind::Ingest => (JobKindBody::Ingest, "inventories"),
            JobKind::Plan => (JobKindBody::Plan, "plans"),
        };
        Ok(Self {
            id: job.id,
            kind,
            state: match job.state {
                JobState::Queued => JobStateBody::Queued,
                JobState::Running => JobStateBody::Running,
                JobState::Done => JobStateBody::Done,
                JobState::Failed => JobStateBody::Failed,
                JobState::Cancelled => JobStateBody::Cancelled,
            },
            result: format!("/api/v1/{collection}/{}", job.subject),
            ahead,
            progress,
            attempts: job.attempts,
            created: job.created.to_string(),
            started: job.started.map(|time| time.to_string()),
            finished: job.finished.map(|time| time.to_string()),
            problem: job.problem.map(Problem::refusal),
        })
    }
}
