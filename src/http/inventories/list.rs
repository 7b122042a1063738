//! `GET /api/v1/inventories`.

use axum::Json;
use axum::extract::State;

use super::body::InventoryBody;
use crate::http::App;
use crate::http::extract::Query;
use crate::http::page::{NewestQuery, PageBody};
use crate::http::problem::Problem;

/// Inventories, newest first
#[utoipa::path(
    get, path = "/api/v1/inventories", tag = "inventories",
    params(NewestQuery),
    responses(
        (status = 200, description = "One page.", body = PageBody<InventoryBody>),
        (status = 400, description = "The query cannot be read."),
    ),
)]
pub async fn list_inventories(
    State(app): State<App>,
    Query(page): Query<NewestQuery>,
) -> Result<Json<PageBody<InventoryBody>>, Problem> {
    let found = app.store.inventories(page.after, page.limit()?).await?;
    let mut items = Vec::with_capacity(found.items.len());
    for inventory in found.items {
        items.push(InventoryBody::of(&app, inventory).await?);
    }
    Ok(Json(PageBody { items, next: found.next }))
}
