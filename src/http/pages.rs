//! Pages and their files, all inside the binary: the start page, the sample, the documentation.

use axum::Router;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use rust_embed::{EmbeddedFile, RustEmbed};
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::SwaggerUi;

use super::App;
use super::headers::DOCS_POLICY;
use super::problem::Problem;

#[derive(RustEmbed)]
#[folder = "web/"]
struct Web;

#[derive(RustEmbed)]
#[folder = "data/samples/"]
struct Samples;

/// The start page.
pub async fn start(headers: HeaderMap) -> Response {
    file(Web::get("index.html"), "index.html", &headers)
}

/// A file of the start page.
pub async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Response {
    file(Web::get(&path), &path, &headers)
}

/// The icon, under the address that browsers ask for by themselves.
pub async fn favicon(headers: HeaderMap) -> Response {
    file(Web::get("icon.svg"), "icon.svg", &headers)
}

/// The sample inventory.
pub async fn sample(headers: HeaderMap) -> Response {
    let name = "sample.xlsx";
    let mut response = file(Samples::get(name), name, &headers);
    if response.status() == StatusCode::OK {
        response.headers_mut().insert(
            header::CONTENT_DISPOSITION,
            HeaderValue::from_static("attachment; filename=\"plimsoll-sample.xlsx\""),
        );
    }
    response
}

fn file(found: Option<EmbeddedFile>, path: &str, headers: &HeaderMap) -> Response {
    let Some(found) = found else {
        return Problem::no_route(path).into_response();
    };
    let digest: String =
        found.metadata.sha256_hash().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    let tag = format!("\"{digest}\"");
    let known = headers
        .get(header::IF_NONE_MATCH)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| value.split(',').any(|candidate| candidate.trim() == tag));
    let caching = [(header::ETAG, tag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let media_type = match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "svg" => "image/svg+xml",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "application/octet-stream",
    };
    ([(header::CONTENT_TYPE, media_type)], caching, found.data.into_owned()).into_response()
}

/// The API's description and a page that shows it.
pub fn docs(document: &OpenApi) -> Router<App> {
    let yaml = super::openapi::to_yaml(document).unwrap_or_default();
    let shown = SwaggerUi::new("/docs").url("/openapi.json", document.clone());
    Router::<App>::from(shown)
        .route(
            "/openapi.yaml",
            get(async move || ([(header::CONTENT_TYPE, "application/yaml")], yaml)),
        )
        .layer(middleware::from_fn(async |request: axum::extract::Request, next: Next| {
            let mut response = next.run(request).await;
            response
                .headers_mut()
                .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(DOCS_POLICY));
            response
        }))
}
