//! Inventories and their lists.

use sqlx::SqlitePool;
use uuid::Uuid;

use super::{SqliteStore, failed, jobs, rows};
use crate::store::{
    Created, IdempotencyKey, InventoryRecord, ItemKind, JobRecord, Page, StoreError,
};

type Row = (String, String, String, String, Option<String>);

fn record((id, created, files, job, summary): Row) -> Result<InventoryRecord, StoreError> {
    Ok(InventoryRecord {
        id: rows::id(&id)?,
        created: rows::time(&created)?,
        files: rows::document(&files)?,
        job: rows::id(&job)?,
        summary,
    })
}

pub(super) async fn create(
    pool: &SqlitePool,
    inventory: &InventoryRecord,
    job: &JobRecord,
    key: Option<&IdempotencyKey>,
) -> Result<Created, StoreError> {
    let operation = "keep an inventory";
    let mut transaction = pool.begin().await.map_err(failed(operation))?;
    if let Some(key) = key {
        let before = SqliteStore::claim_key(&mut transaction, key, inventory.id, job.id).await?;
        if before != Created::New {
            return Ok(before);
        }
    }
    sqlx::query("INSERT INTO inventories (id, created, files, job) VALUES (?, ?, ?, ?)")
        .bind(inventory.id.to_string())
        .bind(inventory.created.to_string())
        .bind(rows::text(&inventory.files)?)
        .bind(job.id.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(failed(operation))?;
    jobs::insert(&mut transaction, job).await?;
    transaction.commit().await.map_err(failed(operation))?;
    Ok(Created::New)
}

pub(super) async fn get(
    pool: &SqlitePool,
    id: Uuid,
) -> Result<Option<InventoryRecord>, StoreError> {
    let row: Option<Row> =
        sqlx::query_as("SELECT id, created, files, job, summary FROM inventories WHERE id = ?")
            .bind(id.to_string())
            .fetch_optional(pool)
            .await
            .map_err(failed("read an inventory"))?;
    row.map(record).transpose()
}

pub(super) async fn list(
    pool: &SqlitePool,
    after: Option<Uuid>,
    limit: u32,
) -> Result<Page<InventoryRecord>, StoreError> {
    let found: Vec<Row> = sqlx::query_as(
        "SELECT id, created, files, job, summary FROM inventories
         WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2",
    )
    .bind(after.map(|id| id.to_string()))
    .bind(i64::from(limit) + 1)
    .fetch_all(pool)
    .await
    .map_err(failed("list inventories"))?;
    let records = found.into_iter().map(record).collect::<Result<Vec<_>, _>>()?;
    Ok(rows::page(records, limit, |record| record.id.to_string()))
}

pub(super) async fn append_items(
    pool: &SqlitePool,
    inventory: Uuid,
    kind: ItemKind,
    first: u64,
    items: &str,
) -> Result<(), StoreError> {
    // One statement takes the whole array apart: no round trip for each row.
    sqlx::query(
        "INSERT INTO items (inventory, kind, position, body)
         SELECT ?, ?, ? + key, value FROM json_each(?)",
    )
    .bind(inventory.to_string())
    .bind(kind.id())
    .bind(i64::try_from(first).unwrap_or(i64::MAX))
    .bind(items)
    .execute(pool)
    .await
    .map_err(failed("keep the lists of an inventory"))?;
    Ok(())
}

pub(super) async fn clear_items(pool: &SqlitePool, inventory: Uuid) -> Result<(), StoreError> {
    sqlx::query("DELETE FROM items WHERE inventory = ?")
        .bind(inventory.to_string())
        .execute(pool)
        .await
        .map_err(failed("clear the lists of an inventory"))?;
    Ok(())
}

pub(super) async fn items(
    pool: &SqlitePool,
    inventory: Uuid,
    kind: ItemKind,
    after: Option<u64>,
    limit: u32,
) -> Result<Page<String>, StoreError> {
    let found: Vec<(i64, String)> = sqlx::query_as(
        "SELECT position, body FROM items
         WHERE inventory = ? AND kind = ? AND position > ? ORDER BY position LIMIT ?",
    )
    .bind(inventory.to_string())
    .bind(kind.id())
    .bind(after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX)))
    .bind(i64::from(limit) + 1)
    .fetch_all(pool)
    .await
    .map_err(failed("list what an inventory holds"))?;
    let page = rows::page(found, limit, |(position, _)| position.to_string());
    Ok(Page { items: page.items.into_iter().map(|(_, body)| body).collect(), next: page.next })
}

pub(super) async fn count_items(
    pool: &SqlitePool,
    inventory: Uuid,
    kind: ItemKind,
) -> Result<u64, StoreError> {
    let (count,): (i64,) =
        sqlx::query_as("SELECT count(*) FROM items WHERE inventory = ? AND kind = ?")
            .bind(inventory.to_string())
            .bind(kind.id())
            .fetch_one(pool)
            .await
            .map_err(failed("count what an inventory holds"))?;
    Ok(count.unsigned_abs())
}

pub(super) async fn set_summary(
    pool: &SqlitePool,
    id: Uuid,
    summary: &str,
) -> Result<(), StoreError> {
    sqlx::query("UPDATE inventories SET summary = ? WHERE id = ?")
        .bind(summary)
        .bind(id.to_string())
        .execute(pool)
        .await
        .map_err(failed("note what an inventory holds"))?;
    Ok(())
}

pub(super) async fn delete(pool: &SqlitePool, id: Uuid) -> Result<bool, StoreError> {
    let operation = "forget an inventory";
    let mut transaction = pool.begin().await.map_err(failed(operation))?;
    for statement in [
        "DELETE FROM jobs WHERE subject = ?1
            OR subject IN (SELECT id FROM plans WHERE inventory = ?1)",
        "DELETE FROM idempotency WHERE subject = ?1
            OR subject IN (SELECT id FROM plans WHERE inventory = ?1)",
    ] {
        sqlx::query(statement)
            .bind(id.to_string())
            .execute(&mut *transaction)
            .await
            .map_err(failed(operation))?;
    }
    let deleted = sqlx::query("DELETE FROM inventories WHERE id = ?")
        .bind(id.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(failed(operation))?;
    transaction.commit().await.map_err(failed(operation))?;
    Ok(deleted.rows_affected() > 0)
}
