//! Is it alive, is it ready, which version, how much has it done.

use axum::Json;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::App;
use super::observe;
use super::problem::Problem;

/// State of the service.
#[derive(Debug, Serialize, ToSchema)]
pub struct HealthBody {
    /// Always `ok`; anything else is a problem document.
    #[schema(example = "ok")]
    pub status: &'static str,
}

/// Name, version and limits.
#[derive(Debug, Serialize, ToSchema)]
pub struct VersionBody {
    /// Name of the program.
    #[schema(example = "plimsoll")]
    pub name: &'static str,
    /// Its version.
    #[schema(example = "0.1.0")]
    pub version: &'static str,
    /// Largest upload, MiB.
    #[schema(example = 256)]
    pub upload_limit_mib: u64,
}

/// Is it alive?
#[utoipa::path(
    get, path = "/healthz", tag = "service",
    responses((status = 200, description = "It answers.", body = HealthBody)),
)]
pub async fn healthz() -> Json<HealthBody> {
    Json(HealthBody { status: "ok" })
}

/// Is it ready for work?
#[utoipa::path(
    get, path = "/readyz", tag = "service",
    responses(
        (status = 200, description = "Database and queue answer.", body = HealthBody),
        (status = 503, description = "It is starting, stopping, or without its database."),
    ),
)]
pub async fn readyz(State(app): State<App>) -> Result<Json<HealthBody>, Problem> {
    if app.jobs.is_stopping() {
        return Err(Problem::unavailable("the service is stopping"));
    }
    if let Err(error) = app.store.ping().await {
        tracing::error!(error = %error, "not ready");
        return Err(Problem::unavailable("the database does not answer"));
    }
    Ok(Json(HealthBody { status: "ok" }))
}

/// Which version?
#[utoipa::path(
    get, path = "/version", tag = "service",
    responses((status = 200, description = "Name and version.", body = VersionBody)),
)]
pub async fn version(State(app): State<App>) -> Json<VersionBody> {
    Json(VersionBody {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
        upload_limit_mib: app.upload_limit_bytes >> 20,
    })
}

/// Metrics in the text format of Prometheus
#[utoipa::path(
    get, path = "/metrics", tag = "service",
    responses((status = 200, description = "Counters and times.", body = String,
        content_type = "text/plain")),
)]
pub async fn metrics() -> Response {
    let text = observe::start_metrics().map_or_else(String::new, |handle| {
        handle.run_upkeep();
        handle.render()
    });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
}
