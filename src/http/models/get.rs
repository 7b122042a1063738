//! `GET /api/v1/models/{id}`.

use axum::Json;
use axum::extract::State;

use super::body::{ModelBody, find};
use crate::http::App;
use crate::http::extract::Name;
use crate::http::problem::Problem;

/// A model with its card
#[utoipa::path(
    get, path = "/api/v1/models/{id}", tag = "models",
    params(("id" = String, Path, description = "Name or UUID of a model.")),
    responses(
        (status = 200, description = "The model.", body = ModelBody),
        (status = 400, description = "The id cannot be read."),
        (status = 404, description = "There is no such model."),
    ),
)]
pub async fn get_model(State(app): State<App>, Name(id): Name) -> Result<Json<ModelBody>, Problem> {
    let (item, model) = find(&app, &id).await?;
    Ok(Json(ModelBody { item, model: serde_json::to_value(model)? }))
}
