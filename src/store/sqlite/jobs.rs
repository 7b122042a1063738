//! Jobs: the queue is the rows in state `queued`, oldest id first.

use jiff::Timestamp;
use sqlx::{Sqlite, SqlitePool, Transaction};
use uuid::Uuid;

use super::{failed, rows};
use crate::store::{JobRecord, JobState, StoreError, StoredProblem};

#[derive(sqlx::FromRow)]
struct Row {
    id: String,
    kind: String,
    subject: String,
    state: String,
    attempts: i64,
    created: String,
    started: Option<String>,
    finished: Option<String>,
    problem: Option<String>,
}

fn record(row: Row) -> Result<JobRecord, StoreError> {
    Ok(JobRecord {
        id: rows::id(&row.id)?,
        kind: rows::kind(&row.kind)?,
        subject: rows::id(&row.subject)?,
        state: rows::state(&row.state)?,
        attempts: u32::try_from(row.attempts).unwrap_or(u32::MAX),
        created: rows::time(&row.created)?,
        started: row.started.as_deref().map(rows::time).transpose()?,
        finished: row.finished.as_deref().map(rows::time).transpose()?,
        problem: row.problem.as_deref().map(rows::document).transpose()?,
    })
}

pub(super) async fn insert(
    transaction: &mut Transaction<'_, Sqlite>,
    job: &JobRecord,
) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO jobs (id, kind, subject, state, created) VALUES (?, ?, ?, ?, ?)")
        .bind(job.id.to_string())
        .bind(job.kind.id())
        .bind(job.subject.to_string())
        .bind(job.state.id())
        .bind(job.created.to_string())
        .execute(&mut **transaction)
        .await
        .map_err(failed("queue a job"))?;
    Ok(())
}

pub(super) async fn get(pool: &SqlitePool, id: Uuid) -> Result<Option<JobRecord>, StoreError> {
    let row: Option<Row> = sqlx::query_as("SELECT * FROM jobs WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(pool)
        .await
        .map_err(failed("read a job"))?;
    row.map(record).transpose()
}

pub(super) async fn claim(pool: &SqlitePool) -> Result<Option<JobRecord>, StoreError> {
    let row: Option<Row> = sqlx::query_as(
        "UPDATE jobs SET state = 'running', attempts = attempts + 1, started = ?
         WHERE id = (SELECT id FROM jobs WHERE state = 'queued' ORDER BY id LIMIT 1)
         RETURNING *",
    )
    .bind(Timestamp::now().to_string())
    .fetch_optional(pool)
    .await
    .map_err(failed("take a job from the queue"))?;
    row.map(record).transpose()
}

pub(super) async fn finish(
    pool: &SqlitePool,
    id: Uuid,
    state: JobState,
    problem: Option<&StoredProblem>,
) -> Result<bool, StoreError> {
    let finished = sqlx::query(
        "UPDATE jobs SET state = ?, finished = ?, problem = ?
         WHERE id = ? AND state IN ('queued', 'running')",
    )
    .bind(state.id())
    .bind(Timestamp::now().to_string())
    .bind(problem.map(rows::text).transpose()?)
    .bind(id.to_string())
    .execute(pool)
    .await
    .map_err(failed("end a job"))?;
    Ok(finished.rows_affected() > 0)
}

pub(super) async fn ahead(pool: &SqlitePool, id: Uuid) -> Result<u64, StoreError> {
    let (count,): (i64,) =
        sqlx::query_as("SELECT count(*) FROM jobs WHERE state = 'queued' AND id < ?")
            .bind(id.to_string())
            .fetch_one(pool)
            .await
            .map_err(failed("count the jobs ahead"))?;
    Ok(count.unsigned_abs())
}

pub(super) async fn unfinished(pool: &SqlitePool) -> Result<Vec<JobRecord>, StoreError> {
    let found: Vec<Row> =
        sqlx::query_as("SELECT * FROM jobs WHERE state IN ('queued', 'running') ORDER BY id")
            .fetch_all(pool)
            .await
            .map_err(failed("list unfinished jobs"))?;
    found.into_iter().map(record).collect()
}

pub(super) async fn requeue(pool: &SqlitePool, id: Uuid) -> Result<(), StoreError> {
    sqlx::query("UPDATE jobs SET state = 'queued' WHERE id = ? AND state = 'running'")
        .bind(id.to_string())
        .execute(pool)
        .await
        .map_err(failed("queue a job again"))?;
    Ok(())
}
