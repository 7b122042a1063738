//! `GET /api/v1/inventories/{id}/datastores`.

use axum::Json;
use axum::extract::State;

use super::lists;
use crate::http::App;
use crate::http::extract::{Id, Query};
use crate::http::page::{PageBody, PageQuery};
use crate::http::problem::Problem;
use crate::jobs::lists::DatastoreItem;
use crate::store::ItemKind;

/// Datastores of an inventory, in the order of its files
#[utoipa::path(
    get, path = "/api/v1/inventories/{id}/datastores", tag = "inventories",
    params(("id" = uuid::Uuid, Path, description = "Inventory."), PageQuery),
    responses(
        (status = 200, description = "One page.", body = PageBody<DatastoreItem>),
        (status = 400, description = "The id or the query cannot be read."),
        (status = 404, description = "There is no such inventory."),
        (status = 409, description = "It was not read, or not yet."),
    ),
)]
pub async fn list_datastores(
    State(app): State<App>,
    Id(id): Id,
    Query(query): Query<PageQuery>,
) -> Result<Json<PageBody<DatastoreItem>>, Problem> {
    lists::page(&app, id, ItemKind::Datastore, &query).await
}
