//! `POST /api/v1/plans`: asks for a plan.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use jiff::Timestamp;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::body::PlanBodyOut;
use crate::http::App;
use crate::http::extract;
use crate::http::inventories::accepted;
use crate::http::options::{AveragesBody, OptionsBody};
use crate::http::problem::Problem;
use crate::jobs::queued;
use crate::store::{Created, JobKind, PlanRecord, PlanSource};

/// What to plan from.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes the body; the fields decide which one is read")]
pub enum PlanRequest {
    /// An inventory.
    Inventory(PlanFromInventory),
    /// Averages.
    Averages(PlanFromAverages),
}

/// A plan from an inventory.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFromInventory {
    /// The inventory; it need not be read yet.
    inventory_id: Uuid,
    /// Options.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    options: Option<OptionsBody>,
}

/// A plan from averages.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFromAverages {
    /// Fleet averages.
    #[serde(deserialize_with = "crate::http::extract::object")]
    averages: AveragesBody,
    /// Options.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    options: Option<OptionsBody>,
}

/// Ask for a plan
///
/// Answered at once with the job that makes it. `Idempotency-Key` makes a repeated request count
/// once.
#[utoipa::path(
    post, path = "/api/v1/plans", tag = "plans",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 200, pattern = "^[!-~]+$",
        description = "Any text of your own; the same key with the same body counts once.")),
    request_body(content = PlanRequest),
    responses(
        (status = 202, description = "It is queued; Location is its address.", body = PlanBodyOut,
            headers(("Location" = String, description = "Address of the plan."))),
        (status = 400, description = "The body cannot be read."),
        (status = 404, description = "There is no such inventory."),
        (status = 413, description = "The body is larger than 1 MiB."),
        (status = 415, description = "The body is no JSON."),
        (status = 422, description = "Values do not fit."),
    ),
)]
pub async fn create_plan(
    State(app): State<App>,
    headers: HeaderMap,
    extract::Json(body): extract::Json<serde_json::Value>,
) -> Result<Response, Problem> {
    let text = serde_json::to_vec(&body)?;
    let from_averages = body.get("averages").is_some();
    let (source, options) = if from_averages {
        let request: PlanFromAverages = extract::json(&text, "")?;
        let options = request.options.unwrap_or_default();
        let mut options = options.into_options(Some(request.averages), "/options")?;
        let averages = serde_json::to_value(options.averages.take())?;
        (PlanSource::Averages(averages), options)
    } else {
        let request: PlanFromInventory = extract::json(&text, "")?;
        let options = request.options.unwrap_or_default().into_options(None, "/options")?;
        let id = request.inventory_id;
        if app.store.inventory(id).await?.is_none() {
            return Err(Problem::not_found("inventory", id));
        }
        (PlanSource::Inventory(id), options)
    };
    let key = accepted::idempotency_key(&headers, "plans", &text)?;
    let id = Uuid::now_v7();
    let job = queued(JobKind::Plan, id);
    let plan = PlanRecord {
        id,
        created: Timestamp::now(),
        source,
        options: serde_json::to_string(&options)?,
        job: job.id,
        summary: None,
        artefacts: Vec::new(),
    };
    let id = match app.store.create_plan(&plan, &job, key.as_ref()).await? {
        Created::New => {
            app.jobs.wake(&job);
            id
        }
        Created::Before { subject, .. } => subject,
    };
    let plan = app.store.plan(id).await?.ok_or_else(|| Problem::not_found("plan", id))?;
    let body = PlanBodyOut::of(&app, plan).await?;
    let location = accepted::location(&format!("/api/v1/plans/{id}"));
    Ok((StatusCode::ACCEPTED, location, Json(body)).into_response())
}
