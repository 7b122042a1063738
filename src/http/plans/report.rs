//! `GET /api/v1/plans/{id}/report`: the report in the format asked for.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;

use crate::http::App;
use crate::http::extract::{Id, Query};
use crate::http::negotiate::report_format;
use crate::http::problem::Problem;
use crate::http::reports::create::FormatQuery;
use crate::http::reports::report_response;
use crate::store::JobState;

/// The report of a plan
#[utoipa::path(
    get, path = "/api/v1/plans/{id}/report", tag = "plans",
    params(("id" = uuid::Uuid, Path, description = "Plan."), FormatQuery),
    responses(
        (status = 200, description = "The report.", content(
            (Object = "application/json"),
            (String = "text/html"),
            (Vec<u8> = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            (String = "text/csv"),
            (String = "text/markdown"),
        )),
        (status = 400, description = "The id or the query cannot be read."),
        (status = 404, description = "There is no such plan."),
        (status = 406, description = "None of the accepted formats can be made."),
        (status = 409, description = "It is not done."),
    ),
)]
pub async fn get_plan_report(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<FormatQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let format = report_format(query.format, &headers)?;
    let plan = app.store.plan(id).await?.ok_or_else(|| Problem::not_found("plan", id))?;
    let artefact = plan.artefacts.into_iter().find(|artefact| artefact.format == format.id());
    let Some(artefact) = artefact else {
        let job = app.store.job(plan.job).await?;
        let state = job.map_or(JobState::Failed, |job| job.state);
        return Err(Problem::conflict(
            "plan_not_done",
            format!("the plan has no report: its job {} is {}", plan.job, state.id()),
        ));
    };
    let blobs = app.blobs.clone();
    let bytes = tokio::task::spawn_blocking(move || blobs.read(&artefact.sha256))
        .await
        .map_err(|_| Problem::internal())??;
    Ok(report_response(format, bytes))
}
