//! `DELETE /api/v1/inventories/{id}`: forgets an upload now.

use axum::extract::State;
use axum::http::StatusCode;

use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;

/// Forget an inventory
///
/// Its files, lists, plans and reports are deleted at once, and its jobs cancelled.
#[utoipa::path(
    delete, path = "/api/v1/inventories/{id}", tag = "inventories",
    params(("id" = uuid::Uuid, Path, description = "Inventory.")),
    responses(
        (status = 204, description = "It is gone."),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such inventory."),
    ),
)]
pub async fn delete_inventory(State(app): State<App>, Id(id): Id) -> Result<StatusCode, Problem> {
    let inventory =
        app.store.inventory(id).await?.ok_or_else(|| Problem::not_found("inventory", id))?;
    for job in app.store.unfinished_jobs().await? {
        let is_of_plan = match app.store.plan(job.subject).await? {
            Some(plan) => plan.source == crate::store::PlanSource::Inventory(id),
            None => false,
        };
        if job.id == inventory.job || is_of_plan {
            app.jobs.cancel(&job).await?;
        }
    }
    app.store.delete_inventory(id).await?;
    let _sweeping = app.blobs.sweeping().await;
    let in_use = app.store.digests_in_use().await?;
    let blobs = app.blobs.clone();
    tokio::task::spawn_blocking(move || blobs.sweep(&in_use))
        .await
        .map_err(|_| Problem::internal())??;
    Ok(StatusCode::NO_CONTENT)
}
