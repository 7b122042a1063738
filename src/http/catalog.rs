//! `GET /api/v1/catalog`: platforms, tiers and their dated limits.

use axum::Json;

use super::problem::Problem;

/// Platforms, tiers, limits and prices
///
/// Each value is a dated row with its source.
#[utoipa::path(
    get, path = "/api/v1/catalog", tag = "catalog",
    responses((status = 200, description = "The catalogue.", body = Object)),
)]
pub async fn get_catalog() -> Result<Json<serde_json::Value>, Problem> {
    let catalog = plimsoll_plan::Catalog::built_in().map_err(|error| {
        tracing::error!(error = %error, "built-in catalogue does not fit");
        Problem::internal()
    })?;
    Ok(Json(serde_json::to_value(catalog)?))
}
