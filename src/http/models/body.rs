//! A model as the API shows it, and finding one by its id.

use plimsoll_model::Model;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::App;
use crate::http::problem::Problem;

/// A model in short.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelItem {
    /// Id: a name for a shipped model, a UUID for one fitted here.
    #[schema(example = "azure-vmware-solution-av36-anf")]
    pub id: String,
    /// Name.
    pub title: String,
    /// `shipped` or `fitted`.
    pub origin: String,
    /// Evidence: `A` measured here to `D` assumed.
    #[schema(example = "C")]
    pub grade: String,
    /// Points it was fitted to.
    pub points: u64,
    /// When it was fitted here.
    #[schema(format = DateTime)]
    pub created: Option<String>,
}

/// A model with its card.
#[derive(Debug, Serialize, ToSchema)]
pub struct ModelBody {
    /// The model in short.
    #[serde(flatten)]
    pub item: ModelItem,
    /// The whole model: ceilings, exponent, covariance, hull, sources. `models/` has its schema.
    #[schema(value_type = Object)]
    pub model: serde_json::Value,
}

impl ModelItem {
    /// Of a model; `fitted` is the id and time of one that was fitted here.
    pub fn of(model: &Model, fitted: Option<(Uuid, jiff::Timestamp)>) -> Self {
        Self {
            id: fitted.map_or_else(|| model.id.clone(), |(id, _)| id.to_string()),
            title: model.title.clone(),
            origin: if fitted.is_some() { "fitted" } else { "shipped" }.to_owned(),
            grade: model.grade.letter().to_string(),
            points: model.points as u64,
            created: fitted.map(|(_, created)| created.to_string()),
        }
    }
}

/// A shipped model by its name, or a fitted one by its UUID.
pub async fn find(app: &App, id: &str) -> Result<(ModelItem, Model), Problem> {
    if let Some(model) = Model::built_in(id) {
        return Ok((ModelItem::of(&model, None), model));
    }
    let record = match Uuid::try_parse(id) {
        Ok(uuid) => app.store.model(uuid).await?,
        Err(_) => None,
    };
    let record = record.ok_or_else(|| Problem::not_found("model", id))?;
    let model = read(&record.card)?;
    Ok((ModelItem::of(&model, Some((record.id, record.created))), model))
}

/// Reads a stored model.
pub fn read(card: &str) -> Result<Model, Problem> {
    Model::from_json(card).map_err(|error| {
        tracing::error!(error = %error, "stored model does not fit");
        Problem::internal()
    })
}
