//! Errors as RFC 9457 problem documents, every one of them.
//!
//! A problem has two sides. Outside: what was wrong, where and what to do, in words for the caller,
//! and a `code` to branch on. Inside: the cause, logged under the request's id and never sent.
//! Constructors below are the whole list of what the service itself can say; the planner's refusals
//! come through [`Problem::refusal`] with codes of their own (`file_damaged`, `plan_options`, …).

use std::borrow::Cow;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use crate::jobs::WorkError;
use crate::store::{Fault, StoreError, StoredProblem};

/// Media type of a problem document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// An error as a document (RFC 9457).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// Reference that names the kind of problem.
    #[serde(rename = "type")]
    #[schema(example = "/problems/not-found")]
    pub kind: String,
    /// The kind in words; the same for every problem of a kind.
    #[schema(example = "not found")]
    pub title: &'static str,
    /// HTTP status.
    #[schema(example = 404, minimum = 400, maximum = 599)]
    pub status: u16,
    /// This case in words: what was wrong, where, what to do.
    pub detail: String,
    /// The kind as an identifier.
    #[schema(example = "not_found")]
    pub code: Cow<'static, str>,
    /// Single faults with their places.
    pub errors: Vec<Fault>,
}

impl Problem {
    fn new(
        status: StatusCode,
        code: impl Into<Cow<'static, str>>,
        title: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        let code = code.into();
        Self {
            kind: format!("/problems/{}", code.replace('_', "-")),
            title,
            status: status.as_u16(),
            detail: detail.into(),
            code,
            errors: Vec::new(),
        }
    }

    /// Adds a fault with its place.
    #[must_use]
    pub fn at(mut self, at: impl Into<String>, message: impl Into<String>) -> Self {
        self.errors.push(Fault::new(at, message));
        self
    }

    /// Adds faults.
    #[must_use]
    pub fn with(mut self, faults: Vec<Fault>) -> Self {
        self.errors.extend(faults);
        self
    }

    /// 400: a part of the request cannot be read.
    pub fn unreadable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, "request cannot be read", detail)
    }

    /// 401: no token or a wrong one.
    pub fn unauthorized() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "token missing or wrong",
            "send the token of the service's token file as `Authorization: Bearer …`",
        )
    }

    /// 403: a browser was sent here by another site.
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, "refused for this origin", detail)
    }

    /// 404: no such address.
    pub fn no_route(path: &str) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "no_route",
            "no such address",
            format!("nothing is served at {path}; /docs lists what is"),
        )
    }

    /// 404: no such object.
    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not_found",
            "not found",
            format!("there is no {what} {id}; it may have been deleted"),
        )
    }

    /// 405: the address exists, the method does not.
    pub fn method_not_allowed(method: &str) -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method_not_allowed",
            "method not allowed",
            format!("{method} is not served here; the header Allow lists what is"),
        )
    }

    /// 406: none of the accepted formats can be made.
    pub fn not_acceptable(offered: &[&str]) -> Self {
        Self::new(
            StatusCode::NOT_ACCEPTABLE,
            "not_acceptable",
            "format not available",
            format!("the header Accept names none of: {}", offered.join(", ")),
        )
    }

    /// 409: the object is in a state that does not allow it.
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, "not possible in this state", detail)
    }

    /// 413: more bytes than the limit.
    pub fn too_large(limit_bytes: u64, what: &str) -> Self {
        let limit = if limit_bytes >= 1 << 20 {
            format!("{} MiB", limit_bytes >> 20)
        } else {
            format!("{} KiB", limit_bytes >> 10)
        };
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "too large",
            format!("{what} is larger than {limit}, the limit here; nothing of it was kept"),
        )
    }

    /// 415: the body is of another type.
    pub fn unsupported_media_type(expected: &str) -> Self {
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            "body of another type",
            format!("the header Content-Type has to be {expected}"),
        )
    }

    /// 422: readable, but values do not fit.
    pub fn unfit(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, "values do not fit", detail)
    }

    /// 500: a failure of the service.
    pub fn internal() -> Self {
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the service failed",
            "the log says why, under the id in the header x-request-id",
        )
    }

    /// 503: not now.
    pub fn unavailable(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "not now", detail)
    }

    /// What stopped a job, or a one-shot report, with the status that an answer would have.
    #[must_use]
    pub fn refusal(stored: StoredProblem) -> Self {
        let (status, title) = match stored.code.as_str() {
            "internal" => (StatusCode::INTERNAL_SERVER_ERROR, "the service failed"),
            "interrupted" => (StatusCode::INTERNAL_SERVER_ERROR, "interrupted too often"),
            "cancelled" => (StatusCode::CONFLICT, "cancelled"),
            "file_too_large" => (StatusCode::PAYLOAD_TOO_LARGE, "file too large"),
            code if code.starts_with("file_") => (StatusCode::UNPROCESSABLE_ENTITY, "file refused"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "values do not fit"),
        };
        Self::new(status, stored.code, title, stored.detail).with(stored.errors)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if matches!(error, StoreError::KeyReused) {
            return Self::unfit(
                "idempotency_key_reused",
                "this Idempotency-Key came before with another request; use a new one",
            );
        }
        tracing::error!(error = %error, "store failed");
        Self::internal()
    }
}

impl From<WorkError> for Problem {
    fn from(error: WorkError) -> Self {
        if !matches!(error, WorkError::Planner(_)) {
            tracing::error!(error = %error, "work failed");
        }
        Self::refusal(error.to_problem())
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        tracing::error!(error = %error, "stored document does not fit");
        Self::internal()
    }
}
