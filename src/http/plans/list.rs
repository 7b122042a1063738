//! `GET /api/v1/plans`.

use axum::Json;
use axum::extract::State;

use super::body::PlanBodyOut;
use crate::http::App;
use crate::http::extract::Query;
use crate::http::page::{NewestQuery, PageBody};
use crate::http::problem::Problem;

/// Plans, newest first
#[utoipa::path(
    get, path = "/api/v1/plans", tag = "plans",
    params(NewestQuery),
    responses(
        (status = 200, description = "One page.", body = PageBody<PlanBodyOut>),
        (status = 400, description = "The query cannot be read."),
    ),
)]
pub async fn list_plans(
    State(app): State<App>,
    Query(page): Query<NewestQuery>,
) -> Result<Json<PageBody<PlanBodyOut>>, Problem> {
    let found = app.store.plans(page.after, page.limit()?).await?;
    let mut items = Vec::with_capacity(found.items.len());
    for plan in found.items {
        items.push(PlanBodyOut::of(&app, plan).await?);
    }
    Ok(Json(PageBody { items, next: found.next }))
}
