//! Plans.

use sqlx::SqlitePool;
use uuid::Uuid;

use super::{SqliteStore, failed, jobs, rows};
use crate::store::{
    Artefact, Created, IdempotencyKey, JobRecord, Page, PlanRecord, PlanSource, StoreError,
};

#[derive(sqlx::FromRow)]
struct Row {
    id: String,
    created: String,
    inventory: Option<String>,
    averages: Option<String>,
    options: String,
    job: String,
    summary: Option<String>,
    artefacts: String,
}

fn record(row: Row) -> Result<PlanRecord, StoreError> {
    let source = match row.inventory {
        Some(inventory) => PlanSource::Inventory(rows::id(&inventory)?),
        None => PlanSource::Averages(rows::document(row.averages.as_deref().unwrap_or("null"))?),
    };
    Ok(PlanRecord {
        id: rows::id(&row.id)?,
        created: rows::time(&row.created)?,
        source,
        options: row.options,
        job: rows::id(&row.job)?,
        summary: row.summary,
        artefacts: rows::document(&row.artefacts)?,
    })
}

pub(super) async fn create(
    pool: &SqlitePool,
    plan: &PlanRecord,
    job: &JobRecord,
    key: Option<&IdempotencyKey>,
) -> Result<Created, StoreError> {
    let operation = "keep a plan";
    let mut transaction = pool.begin().await.map_err(failed(operation))?;
    if let Some(key) = key {
        let before = SqliteStore::claim_key(&mut transaction, key, plan.id, job.id).await?;
        if before != Created::New {
            return Ok(before);
        }
    }
    let (inventory, averages) = match &plan.source {
        PlanSource::Inventory(id) => (Some(id.to_string()), None),
        PlanSource::Averages(averages) => (None, Some(rows::text(averages)?)),
    };
    sqlx::query(
        "INSERT INTO plans (id, created, inventory, averages, options, job)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(plan.id.to_string())
    .bind(plan.created.to_string())
    .bind(inventory)
    .bind(averages)
    .bind(&plan.options)
    .bind(job.id.to_string())
    .execute(&mut *transaction)
    .await
    .map_err(failed(operation))?;
    jobs::insert(&mut transaction, job).await?;
    transaction.commit().await.map_err(failed(operation))?;
    Ok(Created::New)
}

pub(super) async fn get(pool: &SqlitePool, id: Uuid) -> Result<Option<PlanRecord>, StoreError> {
    let row: Option<Row> = sqlx::query_as("SELECT * FROM plans WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(pool)
        .await
        .map_err(failed("read a plan"))?;
    row.map(record).transpose()
}

pub(super) async fn list(
    pool: &SqlitePool,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Page<PlanRecord>, StoreError> {
    let found: Vec<Row> =
        sqlx::query_as("SELECT * FROM plans WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2")
            .bind(after.map(|id| id.to_string()))
            .bind(i64::from(limit) + 1)
            .fetch_all(pool)
            .await
            .map_err(failed("list plans"))?;
    let records = found.into_iter().map(record).collect::<Result<Vec<_>, _>>()?;
    Ok(rows::page(records, limit, |record| record.id.to_string()))
}

pub(super) async fn set_result(
    pool: &SqlitePool,
    id: Uuid,
    summary: &str,
    artefacts: &[Artefact],
) -> Result<(), StoreError> {
    sqlx::query("UPDATE plans SET summary = ?, artefacts = ? WHERE id = ?")
        .bind(summary)
        .bind(rows::text(&artefacts)?)
        .bind(id.to_string())
        .execute(pool)
        .await
        .map_err(failed("note a plan's answer"))?;
    Ok(())
}
