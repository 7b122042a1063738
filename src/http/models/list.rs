//! `GET /api/v1/models`.

use axum::Json;
use axum::extract::State;
use plimsoll_model::Model;

use super::body::{ModelItem, read};
use crate::http::App;
use crate::http::page::PageBody;
use crate::http::problem::Problem;

/// Models: the shipped ones, then those fitted here
#[utoipa::path(
    get, path = "/api/v1/models", tag = "models",
    responses((status = 200, description = "All models.", body = PageBody<ModelItem>)),
)]
pub async fn list_models(State(app): State<App>) -> Result<Json<PageBody<ModelItem>>, Problem> {
    let mut items: Vec<ModelItem> =
        Model::built_ins().iter().map(|model| ModelItem::of(model, None)).collect();
    for record in app.store.models().await? {
        items.push(ModelItem::of(&read(&record.card)?, Some((record.id, record.created))));
    }
    Ok(Json(PageBody { items, next: None }))
}
