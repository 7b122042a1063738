//! What is seen of requests: an id, one log line, metrics; and panics, which become problems.
//!
//! Never logged: bodies, tokens, query strings, names of files or VMs. Paths are logged as their
//! patterns, so that the number of series is bounded.

use std::any::Any;
use std::sync::OnceLock;
use std::time::Instant;

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tracing::Instrument as _;
use uuid::Uuid;

use super::problem::Problem;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Upper bounds of the buckets of all times, seconds.
const BUCKETS_SECONDS: [f64; 12] =
    [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

static METRICS: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Starts to count, once for the process.
pub fn start_metrics() -> Option<&'static PrometheusHandle> {
    METRICS
        .get_or_init(|| {
            let builder = PrometheusBuilder::new().set_buckets(&BUCKETS_SECONDS).ok()?;
            builder.install_recorder().ok()
        })
        .as_ref()
}

/// Gives the request an id, counts it, and logs it.
pub async fn request(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = request
        .headers()
        .get(&REQUEST_ID)
        .and_then(|value| value.to_str().ok())
        .filter(|value| is_plain(value))
        .map_or_else(|| Uuid::now_v7().to_string(), ToOwned::to_owned);
    let method = known_method(request.method().as_str());
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map_or_else(|| "other".to_owned(), |path| path.as_str().to_owned());
    let span = tracing::info_span!("request", request.id = %id);
    let mut response = next.run(request).instrument(span).await;
    let status = response.status().as_u16();
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!(
        request.id = %id, http.method = method, http.route = route, http.status = status,
        http.seconds = seconds, "request answered"
    );
    metrics::counter!(
        "plimsoll_http_requests_total",
        "method" => method, "route" => route.clone(), "status" => status.to_string()
    )
    .increment(1);
    metrics::histogram!("plimsoll_http_request_seconds", "method" => method, "route" => route)
        .record(seconds);
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// Callers choose the method: an endless number of names must not become an endless number of
/// series.
fn known_method(method: &str) -> &'static str {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}

fn is_plain(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}

/// A panic in a handler.
#[expect(clippy::needless_pass_by_value, reason = "the shape that the layer calls")]
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    tracing::error!(panic.message = message, "a handler broke off");
    metrics::counter!("plimsoll_panics_total").increment(1);
    Problem::internal().into_response()
}
