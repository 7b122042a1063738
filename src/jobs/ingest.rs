//! Reads an inventory: stored files to lists and a summary.

use std::sync::Arc;

use plimsoll_ingest::Input;
use plimsoll_planner::{SizingOptions, Survey};
use serde::Serialize;
use uuid::Uuid;

use super::{Inner, Live, WorkError, lists, runner, summary};
use crate::store::{BlobStore, InventoryRecord, ItemKind, JobRecord};

/// Entries written in one statement: bounds the text that is held at a time.
const CHUNK: usize = 2_000;

/// The stored files under the names they came with.
pub(super) fn inputs(blobs: &BlobStore, inventory: &InventoryRecord) -> Vec<Input> {
    inventory
        .files
        .iter()
        .map(|file| Input::named_path(file.name.clone(), blobs.path(&file.sha256)))
        .collect()
}

pub(super) async fn run(inner: &Arc<Inner>, job: &JobRecord, live: &Live) -> Result<(), WorkError> {
    let Some(inventory) = inner.store.inventory(job.subject).await? else {
        return Err(plimsoll_planner::Error::Cancelled.into());
    };
    inner.store.clear_items(inventory.id).await?;
    let inputs = inputs(&inner.blobs, &inventory);
    let mut observer = runner::observer(live);
    let read = tokio::task::spawn_blocking(move || {
        plimsoll_planner::survey(inputs, &SizingOptions::default(), &mut observer)
    });
    let survey = read.await.map_err(|_| WorkError::Panicked)??;
    let survey = Arc::new(survey);
    write(inner, inventory.id, ItemKind::Problem, &survey, lists::problems).await?;
    write(inner, inventory.id, ItemKind::Finding, &survey, lists::findings).await?;
    write(inner, inventory.id, ItemKind::Datastore, &survey, lists::datastores).await?;
    write(inner, inventory.id, ItemKind::Vm, &survey, lists::vms).await?;
    let text = serde_json::to_string(&summary::InventorySummary::of(&survey))?;
    inner.store.set_inventory_summary(inventory.id, &text).await?;
    // Freeing a large inventory takes long enough to matter to the runtime.
    tokio::task::spawn_blocking(move || drop(survey));
    Ok(())
}

async fn write<T: Serialize + Send + 'static>(
    inner: &Inner,
    inventory: Uuid,
    kind: ItemKind,
    survey: &Arc<Survey>,
    list: fn(&Survey, std::ops::Range<usize>) -> Vec<T>,
) -> Result<(), WorkError> {
    let mut first = 0;
    loop {
        let survey = Arc::clone(survey);
        let text = tokio::task::spawn_blocking(move || {
            let chunk = list(&survey, first..first + CHUNK);
            if chunk.is_empty() { Ok(None) } else { serde_json::to_string(&chunk).map(Some) }
        })
        .await
        .map_err(|_| WorkError::Panicked)??;
        let Some(text) = text else { return Ok(()) };
        inner.store.append_items(inventory, kind, first as u64, &text).await?;
        first += CHUNK;
    }
}
