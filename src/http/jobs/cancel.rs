//! `DELETE /api/v1/jobs/{id}`: stops a job.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;

use super::body::JobBody;
use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;

/// Cancel a job
///
/// A waiting job ends at once, a running one at its next step. The uploaded files stay.
#[utoipa::path(
    delete, path = "/api/v1/jobs/{id}", tag = "jobs",
    params(("id" = uuid::Uuid, Path, description = "Job.")),
    responses(
        (status = 202, description = "It was told to stop.", body = JobBody),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such job."),
        (status = 409, description = "It had ended already."),
    ),
)]
pub async fn cancel_job(
    State(app): State<App>,
    Id(id): Id,
) -> Result<(StatusCode, Json<JobBody>), Problem> {
    let job = app.store.job(id).await?.ok_or_else(|| Problem::not_found("job", id))?;
    if !app.jobs.cancel(&job).await? {
        return Err(Problem::conflict("job_ended", "the job had ended already"));
    }
    let job = app.store.job(id).await?.ok_or_else(|| Problem::not_found("job", id))?;
    Ok((StatusCode::ACCEPTED, Json(JobBody::of(&app, job).await?)))
}
