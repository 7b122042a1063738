//! `GET /api/v1/catalog`: platforms, tiers and their dated limits; `GET /api/v1/rules`: the rules
//! that sort VMs into classes of load.

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

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

/// Rules that sort VMs into classes of load
///
/// The built-in rules file, to read, to edit, and to hand back as `demand.rules_toml` of the options.
#[utoipa::path(
    get, path = "/api/v1/rules", tag = "catalog",
    responses((status = 200, description = "The rules.", body = String, content_type = "application/toml")),
)]
pub async fn get_rules() -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/toml")], plimsoll_demand::rules_text())
}
