//! `GET /api/v1/jobs/{id}`.

use axum::Json;
use axum::extract::State;

use super::body::JobBody;
use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;

/// How far a job is
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}", tag = "jobs",
    params(("id" = uuid::Uuid, Path, description = "Job.")),
    responses(
        (status = 200, description = "The job.", body = JobBody),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such job."),
    ),
)]
pub async fn get_job(State(app): State<App>, Id(id): Id) -> Result<Json<JobBody>, Problem> {
    let job = app.store.job(id).await?.ok_or_else(|| Problem::not_found("job", id))?;
    Ok(Json(JobBody::of(&app, job).await?))
}
