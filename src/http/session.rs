//! `POST /api/v1/session`: lets a browser follow links and event streams, which carry no header.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::App;
use super::auth::COOKIE;

/// Keep the token in a cookie
///
/// For pages: the token sent with this request comes back as a cookie that scripts cannot read and
/// other sites cannot send. Without a token file nothing is set.
#[utoipa::path(
    post, path = "/api/v1/session", tag = "service",
    responses((status = 204, description = "The cookie is set, where a token is in use.")),
)]
pub async fn create_session(State(app): State<App>, headers: HeaderMap) -> Response {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .map(|(_, token)| token.trim());
    match (&app.token, bearer) {
        // The guard has compared it; this is the same header.
        (Some(_), Some(token)) => {
            let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
            (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie)]).into_response()
        }
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}
