//! `GET /api/v1/inventories/{id}/findings`.

use axum::Json;
use axum::extract::State;

use super::lists;
use crate::http::App;
use crate::http::extract::{Id, Query};
use crate::http::page::{PageBody, PageQuery};
use crate::http::problem::Problem;
use crate::jobs::lists::FindingItem;
use crate::store::ItemKind;

/// Results of the rules over an inventory
#[utoipa::path(
    get, path = "/api/v1/inventories/{id}/findings", tag = "inventories",
    params(("id" = uuid::Uuid, Path, description = "Inventory."), PageQuery),
    responses(
        (status = 200, description = "One page.", body = PageBody<FindingItem>),
        (status = 400, description = "The id or the query cannot be read."),
        (status = 404, description = "There is no such inventory."),
        (status = 409, description = "It was not read, or not yet."),
    ),
)]
pub async fn list_findings(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<PageQuery>,
) -> Result<Json<PageBody<FindingItem>>, Problem> {
    lists::page(&app, id, ItemKind::Finding, &query).await
}
