//! `POST /api/v1/models/fit`: measured points to a model.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use plimsoll_model::{FitOptions, FitReport, ModelError};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::body::ModelItem;
use crate::http::App;
use crate::http::extract::{Csv, Query};
use crate::http::inventories::accepted;
use crate::http::problem::Problem;
use crate::store::ModelRecord;

/// Which points.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FitQuery {
    /// Platform to fit, where the file holds several; `*` matches any text.
    #[param(max_length = 200)]
    platform: Option<String>,
}

/// A fit.
#[derive(Debug, Serialize, ToSchema)]
pub struct FitBody {
    /// The model, kept under this id.
    pub model: ModelItem,
    /// How well it and simpler families predict points that they have not seen, point by point,
    /// with suspect points: what `plimsoll fit --report json` prints.
    #[schema(value_type = Object)]
    pub report: serde_json::Value,
}

/// Fit a model to measured points
///
/// The body is CSV with the columns of `data/reference/scaling_points.csv`. The model is kept and
/// can be asked for predictions.
#[utoipa::path(
    post, path = "/api/v1/models/fit", tag = "models",
    params(FitQuery),
    request_body(content = String, content_type = "text/csv"),
    responses(
        (status = 201, description = "The fit; Location is the model's address.", body = FitBody,
            headers(("Location" = String, description = "Address of the model."))),
        (status = 400, description = "The query cannot be read."),
        (status = 413, description = "The body is larger than 4 MiB."),
        (status = 415, description = "The body is no CSV."),
        (status = 422, description = "The points cannot be fitted; errors says where and why."),
    ),
)]
pub async fn fit_model(
    State(app): State<App>,
    Query(query): Query<FitQuery>,
    Csv(text): Csv,
) -> Result<Response, Problem> {
    let options = FitOptions { platform: query.platform, ..FitOptions::default() };
    let fitted = app.jobs.blocking(move || fit(&text, &options)).await?;
    let report = fitted.map_err(|error| {
        Problem::unfit("points_refused", error.to_string()).at("body", error.to_string())
    })?;
    let internal = |error: ModelError| {
        tracing::error!(error = %error, "a fitted model cannot be written");
        Problem::internal()
    };
    let record = ModelRecord {
        id: Uuid::now_v7(),
        created: Timestamp::now(),
        card: report.model.to_json().map_err(internal)?,
    };
    app.store.create_model(&record).await?;
    let body = FitBody {
        model: ModelItem::of(&report.model, Some((record.id, record.created))),
        report: serde_json::to_value(&report)?,
    };
    let location = accepted::location(&format!("/api/v1/models/{}", record.id));
    Ok((StatusCode::CREATED, location, Json(body)).into_response())
}

fn fit(text: &[u8], options: &FitOptions) -> Result<FitReport, ModelError> {
    plimsoll_model::fit(&plimsoll_model::read_points(text)?, options)
}
