//! Security headers on every answer.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// Own pages: own files only, nothing inline, no other site.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; \
     frame-ancestors 'none'";

/// A report carries its style and script inline and shows text from a file that someone sent: it
/// runs in an origin of its own and reaches nothing.
pub const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; \
     script-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; sandbox allow-scripts allow-popups allow-downloads allow-modals";

/// The documentation's own page sets styles inline.
pub const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// Adds what an answer does not have yet.
pub async fn secure(request: Request, next: Next) -> Response {
    let data = request.uri().path().starts_with("/api/");
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let mut add = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    add(header::CONTENT_SECURITY_POLICY, PAGE_POLICY);
    add(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    add(header::X_FRAME_OPTIONS, "DENY");
    add(header::REFERRER_POLICY, "no-referrer");
    add(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    add(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    if data {
        add(header::CACHE_CONTROL, "no-store");
    }
    response
}
