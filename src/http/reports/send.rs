//! A report as an answer.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use crate::http::headers::REPORT_POLICY;
use crate::http::negotiate::ReportFormat;

/// With its type; a page opens in the browser, everything else is a file.
pub fn report_response(format: ReportFormat, bytes: Vec<u8>) -> Response {
    let disposition = match format {
        ReportFormat::Html | ReportFormat::Json => "inline".to_owned(),
        _ => format!("attachment; filename=\"plimsoll-report.{}\"", format.id()),
    };
    let mut response = (
        [
            (header::CONTENT_TYPE, format.content_type().to_owned()),
            (header::CONTENT_DISPOSITION, disposition),
            (header::VARY, "accept".to_owned()),
        ],
        bytes,
    )
        .into_response();
    if format == ReportFormat::Html {
        response
            .headers_mut()
            .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(REPORT_POLICY));
    }
    response
}
