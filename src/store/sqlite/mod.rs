//! The store in one SQLite file: the embedded default.
//!
//! Write-ahead log with full synchronisation, so that what a call returned from is on disk. Queries
//! are checked at run time by the conformance suite; migrations are embedded.

mod inventories;
mod jobs;
mod models;
mod plans;
mod rows;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Sqlite, SqlitePool, Transaction};
use uuid::Uuid;

use super::{
    Artefact, Created, Digest, IdempotencyKey, InventoryRecord, ItemKind, JobRecord, JobState,
    ModelRecord, Page, PlanRecord, Store, StoreError, StoredProblem,
};

/// Connections: SQLite has one writer at a time, the others read.
const CONNECTIONS: u32 = 6;

/// How long a writer waits for another.
const BUSY_TIMEOUT: Duration = Duration::from_secs(30);

/// The store in one SQLite file.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    pool: SqlitePool,
}

/// Names the operation in an error of the database.
fn failed(operation: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Database { operation, source }
}

impl SqliteStore {
    /// Opens the file, makes it when missing, and brings its schema up to date.
    ///
    /// # Errors
    /// When it cannot be opened or migrated.
    pub async fn open(file: &Path) -> Result<Self, StoreError> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let pool = SqlitePoolOptions::new()
            .max_connections(CONNECTIONS)
            .connect_with(options)
            .await
            .map_err(failed("open the database"))?;
        sqlx::migrate!("src/store/sqlite/migrations").run(&pool).await?;
        Ok(Self { pool })
    }

    /// Notes the key of a request; the earlier request's result when there was one.
    async fn claim_key(
        transaction: &mut Transaction<'_, Sqlite>,
        key: &IdempotencyKey,
        subject: Uuid,
        job: Uuid,
    ) -> Result<Created, StoreError> {
        let inserted = sqlx::query(
            "INSERT INTO idempotency (key, fingerprint, subject, job) VALUES (?, ?, ?, ?)
             ON CONFLICT (key) DO NOTHING",
        )
        .bind(&key.key)
        .bind(key.fingerprint.as_str())
        .bind(subject.to_string())
        .bind(job.to_string())
        .execute(&mut **transaction)
        .await
        .map_err(failed("note the idempotency key"))?;
        if inserted.rows_affected() == 1 {
            return Ok(Created::New);
        }
        let (fingerprint, subject, job): (String, String, String) =
            sqlx::query_as("SELECT fingerprint, subject, job FROM idempotency WHERE key = ?")
                .bind(&key.key)
                .fetch_one(&mut **transaction)
                .await
                .map_err(failed("read the idempotency key"))?;
        if fingerprint != key.fingerprint.as_str() {
            return Err(StoreError::KeyReused);
        }
        Ok(Created::Before { subject: rows::id(&subject)?, job: rows::id(&job)? })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<(), StoreError> {
        sqlx::query("SELECT 1")
            .execute(&self.pool)
            .await
            .map(|_| ())
            .map_err(failed("reach the database"))
    }

    async fn create_inventory(
        &self,
        inventory: &InventoryRecord,
        job: &JobRecord,
        key: Option<&IdempotencyKey>,
    ) -> Result<Created, StoreError> {
        inventories::create(&self.pool, inventory, job, key).await
    }

    async fn inventory(&self, id: Uuid) -> Result<Option<InventoryRecord>, StoreError> {
        inventories::get(&self.pool, id).await
    }

    async fn inventories(
        &self,
        after: Option<Uuid>,
        limit: u32,
    ) -> Result<Page<InventoryRecord>, StoreError> {
        inventories::list(&self.pool, after, limit).await
    }

    async fn append_items(
        &self,
        inventory: Uuid,
        kind: ItemKind,
        first: u64,
        items: &str,
    ) -> Result<(), StoreError> {
        inventories::append_items(&self.pool, inventory, kind, first, items).await
    }

    async fn clear_items(&self, inventory: Uuid) -> Result<(), StoreError> {
        inventories::clear_items(&self.pool, inventory).await
    }

    async fn items(
        &self,
        inventory: Uuid,
        kind: ItemKind,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Page<String>, StoreError> {
        inventories::items(&self.pool, inventory, kind, after, limit).await
    }

    async fn count_items(&self, inventory: Uuid, kind: ItemKind) -> Result<u64, StoreError> {
        inventories::count_items(&self.pool, inventory, kind).await
    }

    async fn set_inventory_summary(&self, id: Uuid, summary: &str) -> Result<(), StoreError> {
        inventories::set_summary(&self.pool, id, summary).await
    }

    async fn delete_inventory(&self, id: Uuid) -> Result<bool, StoreError> {
        inventories::delete(&self.pool, id).await
    }

    async fn create_plan(
        &self,
        plan: &PlanRecord,
        job: &JobRecord,
        key: Option<&IdempotencyKey>,
    ) -> Result<Created, StoreError> {
        plans::create(&self.pool, plan, job, key).await
    }

    async fn plan(&self, id: Uuid) -> Result<Option<PlanRecord>, StoreError> {
        plans::get(&self.pool, id).await
    }

    async fn plans(&self, after: Option<Uuid>, limit: u32) -> Result<Page<PlanRecord>, StoreError> {
        plans::list(&self.pool, after, limit).await
    }

    async fn set_plan_result(
        &self,
        id: Uuid,
        summary: &str,
        artefacts: &[Artefact],
    ) -> Result<(), StoreError> {
        plans::set_result(&self.pool, id, summary, artefacts).await
    }

    async fn job(&self, id: Uuid) -> Result<Option<JobRecord>, StoreError> {
        jobs::get(&self.pool, id).await
    }

    async fn claim_job(&self) -> Result<Option<JobRecord>, StoreError> {
        jobs::claim(&self.pool).await
    }

    async fn finish_job(
        &self,
        id: Uuid,
        state: JobState,
        problem: Option<&StoredProblem>,
    ) -> Result<bool, StoreError> {
        jobs::finish(&self.pool, id, state, problem).await
    }

    async fn jobs_ahead(&self, id: Uuid) -> Result<u64, StoreError> {
        jobs::ahead(&self.pool, id).await
    }

    async fn unfinished_jobs(&self) -> Result<Vec<JobRecord>, StoreError> {
        jobs::unfinished(&self.pool).await
    }

    async fn requeue_job(&self, id: Uuid) -> Result<(), StoreError> {
        jobs::requeue(&self.pool, id).await
    }

    async fn create_model(&self, model: &ModelRecord) -> Result<(), StoreError> {
        models::create(&self.pool, model).await
    }

    async fn model(&self, id: Uuid) -> Result<Option<ModelRecord>, StoreError> {
        models::get(&self.pool, id).await
    }

    async fn models(&self) -> Result<Vec<ModelRecord>, StoreError> {
        models::list(&self.pool).await
    }

    async fn digests_in_use(&self) -> Result<BTreeSet<Digest>, StoreError> {
        let texts: Vec<(String,)> = sqlx::query_as(
            "SELECT json_extract(file.value, '$.sha256')
               FROM inventories, json_each(inventories.files) AS file
             UNION
             SELECT json_extract(artefact.value, '$.sha256')
               FROM plans, json_each(plans.artefacts) AS artefact",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(failed("list the blobs in use"))?;
        texts.into_iter().map(|(text,)| rows::digest(text)).collect()
    }
}
