//! `GET /api/v1/plans/{id}`.

use axum::Json;
use axum::extract::State;

use super::body::PlanBodyOut;
use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;

/// A plan
#[utoipa::path(
    get, path = "/api/v1/plans/{id}", tag = "plans",
    params(("id" = uuid::Uuid, Path, description = "Plan.")),
    responses(
        (status = 200, description = "The plan.", body = PlanBodyOut),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such plan."),
    ),
)]
pub async fn get_plan(State(app): State<App>, Id(id): Id) -> Result<Json<PlanBodyOut>, Problem> {
    let plan = app.store.plan(id).await?.ok_or_else(|| Problem::not_found("plan", id))?;
    Ok(Json(PlanBodyOut::of(&app, plan).await?))
}
