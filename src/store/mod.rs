//! What the service remembers: inventories, jobs, plans and models in a database, files and
//! reports by content hash beside it.
//!
//! [`Store`] is the border: handlers and jobs know only it. [`sqlite`] is the embedded default; one
//! conformance suite ([`conformance`]) holds for every implementation. A write has reached the disk
//! when its call returns, so that an answer `202` is a promise that survives a kill.

pub mod blobs;
mod records;
pub mod sqlite;

#[cfg(test)]
mod conformance;

use async_trait::async_trait;
use uuid::Uuid;

pub use blobs::{BlobStore, Digest};
pub use records::{
    Artefact, Fault, FileRecord, IdempotencyKey, InventoryRecord, ItemKind, JobKind, JobRecord,
    JobState, ModelRecord, PlanRecord, PlanSource, StoredProblem,
};

/// Why a call to the store failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The database failed.
    #[error("{operation}: {source}")]
    Database {
        /// What was being done.
        operation: &'static str,
        /// The cause.
        source: sqlx::Error,
    },
    /// The schema could not be brought up to date.
    #[error("migrate the database: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// A file or folder failed.
    #[error("{operation} {path}: {source}")]
    File {
        /// What was being done.
        operation: &'static str,
        /// Where.
        path: std::path::PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A stored document does not fit its type.
    #[error("{operation}: stored document does not fit: {source}")]
    Document {
        /// What was being read or written.
        operation: &'static str,
        /// The cause.
        source: serde_json::Error,
    },
    /// The key was used before for something else.
    #[error("idempotency key was used for a different request")]
    KeyReused,
}

/// What became of a request to create something.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It is new; its job is queued.
    New,
    /// The same request came before under the same key.
    Before {
        /// The inventory or plan of that time.
        subject: Uuid,
        /// Its job.
        job: Uuid,
    },
}

/// A page of a list in a fixed order.
#[derive(Debug, Clone, PartialEq)]
pub struct Page<T> {
    /// Entries.
    pub items: Vec<T>,
    /// Position to ask for the next page after; `None` on the last page.
    pub next: Option<String>,
}

/// The service's memory. Lists are in the order of creation, newest first, by id (UUIDv7).
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Answers when the database does.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Keeps an inventory and its job, both or none.
    async fn create_inventory(
        &self,
        inventory: &InventoryRecord,
        job: &JobRecord,
        key: Option<&IdempotencyKey>,
    ) -> Result<Created, StoreError>;
    /// One inventory.
    async fn inventory(&self, id: Uuid) -> Result<Option<InventoryRecord>, StoreError>;
    /// Inventories created before `after`.
    async fn inventories(
        &self,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Page<InventoryRecord>, StoreError>;
    /// Adds entries to an inventory's list, in order; `items` is a JSON array.
    async fn append_items(
        &self,
        inventory: Uuid,
        kind: ItemKind,
        first: u64,
        items: &str,
    ) -> Result<(), StoreError>;
    /// Removes what an interrupted job left in an inventory's lists.
    async fn clear_items(&self, inventory: Uuid) -> Result<(), StoreError>;
    /// Entries of a list beyond position `after`, as JSON.
    async fn items(
        &self,
        inventory: Uuid,
        kind: ItemKind,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Page<String>, StoreError>;
    /// Entries of a list in all.
    async fn count_items(&self, inventory: Uuid, kind: ItemKind) -> Result<u64, StoreError>;
    /// Notes what an inventory holds, as JSON.
    async fn set_inventory_summary(&self, id: Uuid, summary: &str) -> Result<(), StoreError>;
    /// Forgets an inventory with its plans and jobs; false when there is none.
    async fn delete_inventory(&self, id: Uuid) -> Result<bool, StoreError>;

    /// Keeps a plan and its job, both or none.
    async fn create_plan(
        &self,
        plan: &PlanRecord,
        job: &JobRecord,
        key: Option<&IdempotencyKey>,
    ) -> Result<Created, StoreError>;
    /// One plan.
    async fn plan(&self, id: Uuid) -> Result<Option<PlanRecord>, StoreError>;
    /// Plans created before `after`.
    async fn plans(&self, after: Option<Uuid>, limit: u32) -> Result<Page<PlanRecord>, StoreError>;
    /// Notes a plan's answer, as JSON, and its reports.
    async fn set_plan_result(
        &self,
        id: Uuid,
        summary: &str,
        artefacts: &[Artefact],
    ) -> Result<(), StoreError>;

    /// One job.
    async fn job(&self, id: Uuid) -> Result<Option<JobRecord>, StoreError>;
    /// Takes the oldest queued job and marks it running; `None` when the queue is empty.
    async fn claim_job(&self) -> Result<Option<JobRecord>, StoreError>;
    /// Ends a job that is queued or running; false when it had ended already.
    async fn finish_job(
        &self,
        id: Uuid,
        state: JobState,
        problem: Option<&StoredProblem>,
    ) -> Result<bool, StoreError>;
    /// Queued jobs older than this one.
    async fn jobs_ahead(&self, id: Uuid) -> Result<u64, StoreError>;
    /// Queued and running jobs.
    async fn unfinished_jobs(&self) -> Result<Vec<JobRecord>, StoreError>;
    /// Puts a job that the process did not survive back into the queue.
    async fn requeue_job(&self, id: Uuid) -> Result<(), StoreError>;

    /// Keeps a fitted model.
    async fn create_model(&self, model: &ModelRecord) -> Result<(), StoreError>;
    /// One model.
    async fn model(&self, id: Uuid) -> Result<Option<ModelRecord>, StoreError>;
    /// All models kept, oldest first.
    async fn models(&self) -> Result<Vec<ModelRecord>, StoreError>;

    /// Hashes of every file and report that something refers to.
    async fn digests_in_use(&self) -> Result<std::collections::BTreeSet<Digest>, StoreError>;
}
