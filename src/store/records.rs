//! The records of the store.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Digest;

/// An uploaded set of files and what was read from it.
#[derive(Debug, Clone, PartialEq)]
pub struct InventoryRecord {
    /// Id, ordered by time.
    pub id: Uuid,
    /// When it was received.
    pub created: Timestamp,
    /// The files, in the order of the request.
    pub files: Vec<FileRecord>,
    /// The job that reads it.
    pub job: Uuid,
    /// What it holds, as JSON; `None` until it was read.
    pub summary: Option<String>,
}

/// A received file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRecord {
    /// Name as sent, without folders.
    pub name: String,
    /// SHA-256 of its content.
    pub sha256: Digest,
    /// Size in bytes.
    pub bytes: u64,
}

/// What a plan is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanSource {
    /// An inventory.
    Inventory(Uuid),
    /// Fleet averages, as sent.
    Averages(serde_json::Value),
}

/// A plan asked for, and its reports when it is done.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRecord {
    /// Id, ordered by time.
    pub id: Uuid,
    /// When it was asked for.
    pub created: Timestamp,
    /// From what.
    pub source: PlanSource,
    /// Options, as JSON with every default filled in.
    pub options: String,
    /// The job that makes it.
    pub job: Uuid,
    /// The answer, as JSON; `None` until it is done.
    pub summary: Option<String>,
    /// Reports, one a format.
    pub artefacts: Vec<Artefact>,
}

/// A report kept by content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artefact {
    /// Format id, such as `html`.
    pub format: String,
    /// SHA-256 of its content.
    pub sha256: Digest,
    /// Size in bytes.
    pub bytes: u64,
}

/// What a job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobKind {
    /// Reads an inventory.
    Ingest,
    /// Makes a plan.
    Plan,
}

impl JobKind {
    /// Id in the database and in metrics.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Ingest => "ingest",
            Self::Plan => "plan",
        }
    }
}

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobState {
    /// Waits for a slot.
    Queued,
    /// Is being worked on.
    Running,
    /// Ended with a result.
    Done,
    /// Ended with a problem.
    Failed,
    /// Ended because someone asked for it.
    Cancelled,
}

impl JobState {
    /// Id in the database.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Nothing follows.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// A piece of work on an inventory or plan.
#[derive(Debug, Clone, PartialEq)]
pub struct JobRecord {
    /// Id, ordered by time.
    pub id: Uuid,
    /// What it does.
    pub kind: JobKind,
    /// The inventory or plan.
    pub subject: Uuid,
    /// Where it stands.
    pub state: JobState,
    /// How often it was started.
    pub attempts: u32,
    /// When it was created.
    pub created: Timestamp,
    /// When it was last started.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// Why it failed.
    pub problem: Option<StoredProblem>,
}

/// Why a job failed: the parts of a problem document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredProblem {
    /// Code of the problem.
    pub code: String,
    /// What happened, where and what to do.
    pub detail: String,
    /// Single faults.
    #[serde(default)]
    pub errors: Vec<Fault>,
}

/// One thing that is wrong, and where.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Fault {
    /// Where: a JSON pointer (`/plan/headroom_pct`), a query parameter, a file or a cell.
    pub at: String,
    /// What is wrong.
    pub message: String,
    /// What would have been accepted.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub expected: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub action: String,
}

impl Fault {
    /// A fault that needs no more words.
    #[must_use]
    pub fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into(), ..Self::default() }
    }
}

/// Lists that belong to an inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemKind {
    /// Problems met on reading.
    Problem,
    /// Results of rules.
    Finding,
    /// VMs.
    Vm,
    /// Datastores.
    Datastore,
}

impl ItemKind {
    /// Id in the database.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Self::Problem => "problem",
            Self::Finding => "finding",
            Self::Vm => "vm",
            Self::Datastore => "datastore",
        }
    }
}

/// A caller's promise that two requests are the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The caller's key.
    pub key: String,
    /// Hash of what was asked; a key that comes back with another one is refused.
    pub fingerprint: Digest,
}

/// A model fitted here.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRecord {
    /// Id, ordered by time.
    pub id: Uuid,
    /// When it was fitted.
    pub created: Timestamp,
    /// The model with its card, as JSON.
    pub card: String,
}
