//! Fitted models.

use sqlx::SqlitePool;
use uuid::Uuid;

use super::{failed, rows};
use crate::store::{ModelRecord, StoreError};

type Row = (String, String, String);

fn record((id, created, card): Row) -> Result<ModelRecord, StoreError> {
    Ok(ModelRecord { id: rows::id(&id)?, created: rows::time(&created)?, card })
}

pub(super) async fn create(pool: &SqlitePool, model: &ModelRecord) -> Result<(), StoreError> {
    sqlx::query("INSERT INTO models (id, created, card) VALUES (?, ?, ?)")
        .bind(model.id.to_string())
        .bind(model.created.to_string())
        .bind(&model.card)
        .execute(pool)
        .await
        .map_err(failed("keep a model"))?;
    Ok(())
}

pub(super) async fn get(pool: &SqlitePool, id: Uuid) -> Result<Option<ModelRecord>, StoreError> {
    let row: Option<Row> = sqlx::query_as("SELECT id, created, card FROM models WHERE id = ?")
        .bind(id.to_string())
        .fetch_optional(pool)
        .await
        .map_err(failed("read a model"))?;
    row.map(record).transpose()
}

pub(super) async fn list(pool: &SqlitePool) -> Result<Vec<ModelRecord>, StoreError> {
    let found: Vec<Row> = sqlx::query_as("SELECT id, created, card FROM models ORDER BY id")
        .fetch_all(pool)
        .await
        .map_err(failed("list models"))?;
    found.into_iter().map(record).collect()
}
