//! `GET /api/v1/inventories/{id}`.

use axum::Json;
use axum::extract::State;

use super::body::InventoryBody;
use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;

/// An inventory
#[utoipa::path(
    get, path = "/api/v1/inventories/{id}", tag = "inventories",
    params(("id" = uuid::Uuid, Path, description = "Inventory.")),
    responses(
        (status = 200, description = "The inventory.", body = InventoryBody),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such inventory."),
    ),
)]
pub async fn get_inventory(
    State(app): State<App>,
    Id(id): Id,
) -> Result<Json<InventoryBody>, Problem> {
    let inventory =
        app.store.inventory(id).await?.ok_or_else(|| Problem::not_found("inventory", id))?;
    Ok(Json(InventoryBody::of(&app, inventory).await?))
}
