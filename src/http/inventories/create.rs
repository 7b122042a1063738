//! `POST /api/v1/inventories`: takes files and reads them in a job.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::accepted;
use super::body::InventoryBody;
use crate::http::App;
use crate::http::problem::Problem;
use crate::http::upload::{Received, files, receive};
use crate::jobs::queued;
use crate::store::{BlobStore, Created, FileRecord, InventoryRecord, JobKind, StoreError};

/// Files.
#[derive(ToSchema, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the form; the parts are read as they come")]
pub struct InventoryForm {
    /// Exports: xlsx, xls, csv or zip, several parts for several files.
    #[schema(schema_with = files)]
    file: Vec<String>,
}

/// Upload an inventory
///
/// Answered when the files are safe on disk, with the job that reads them. `Idempotency-Key` makes
/// a repeated request count once.
#[utoipa::path(
    post, path = "/api/v1/inventories", tag = "inventories",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 200, pattern = "^[!-~]+$",
        description = "Any text of your own; the same key with the same files counts once.")),
    request_body(content = InventoryForm, content_type = "multipart/form-data"),
    responses(
        (status = 202, description = "It is being read; Location is its address.",
            body = InventoryBody,
            headers(("Location" = String, description = "Address of the inventory."))),
        (status = 400, description = "The form cannot be read."),
        (status = 413, description = "The upload is larger than the limit."),
        (status = 415, description = "The body is no form."),
        (status = 422, description = "There is no file, or a part that is none."),
    ),
)]
pub async fn create_inventory(
    State(app): State<App>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let upload = receive(&app, request).await?;
    if upload.options.is_some() {
        return Err(Problem::unfit("unknown_field", "an inventory has no options; plans have")
            .at("options", "expected files only"));
    }
    if upload.files.is_empty() {
        return Err(Problem::unfit("no_file", "the form has no part with a file name"));
    }
    let records: Vec<FileRecord> =
        upload.files.iter().map(|received| received.record.clone()).collect();
    let key = accepted::idempotency_key(&headers, "inventories", &serde_json::to_vec(&records)?)?;
    let keeping = app.blobs.keeping().await;
    let blobs = app.blobs.clone();
    tokio::task::spawn_blocking(move || keep(&blobs, upload.files))
        .await
        .map_err(|_| Problem::internal())??;
    let id = Uuid::now_v7();
    let job = queued(JobKind::Ingest, id);
    let inventory = InventoryRecord {
        id,
        created: Timestamp::now(),
        files: records,
        job: job.id,
        summary: None,
    };
    let id = match app.store.create_inventory(&inventory, &job, key.as_ref()).await? {
        Created::New => {
            app.jobs.wake(&job);
            id
        }
        Created::Before { subject, .. } => subject,
    };
    drop(keeping);
    let inventory =
        app.store.inventory(id).await?.ok_or_else(|| Problem::not_found("inventory", id))?;
    let body = InventoryBody::of(&app, inventory).await?;
    let location = accepted::location(&format!("/api/v1/inventories/{id}"));
    Ok((StatusCode::ACCEPTED, location, Json(body)).into_response())
}

fn keep(blobs: &BlobStore, files: Vec<Received>) -> Result<(), StoreError> {
    for received in files {
        blobs.keep(received.path, &received.record.sha256)?;
    }
    Ok(())
}
