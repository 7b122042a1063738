//! `POST /api/v1/reports`: one request from files to a report.

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::Response;
use plimsoll_ingest::Input;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::report_response;
use crate::http::App;
use crate::http::extract::{Query, json};
use crate::http::negotiate::{ReportFormat, report_format};
use crate::http::options::{AveragesBody, DemandBody, OptionsBody, PlanBody};
use crate::http::problem::Problem;
use crate::http::upload::{files, receive};

/// Which format.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct FormatQuery {
    /// Format of the report; goes before the header Accept.
    #[param(inline)]
    pub format: Option<ReportFormat>,
}

/// Files and options.
#[derive(ToSchema, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes the form; the parts are read as they come")]
pub struct ReportForm {
    /// Exports: xlsx, xls, csv or zip, several parts for several files. May be left out when the
    /// options hold averages.
    #[serde(default)]
    #[schema(schema_with = files)]
    file: Vec<String>,
    /// Options as JSON.
    options: Option<ReportOptionsBody>,
}

/// Options of a one-shot report.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportOptionsBody {
    /// Fleet averages, in place of files.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    averages: Option<AveragesBody>,
    /// Load and growth.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    demand: Option<DemandBody>,
    /// Platform, failure, headroom, limits.
    #[serde(default, deserialize_with = "crate::http::extract::optional_object")]
    plan: Option<PlanBody>,
}

/// Make a report at once
///
/// Files in, report out; nothing is kept. A plan that no configuration can meet comes as a report
/// too, and says why.
#[utoipa::path(
    post, path = "/api/v1/reports", tag = "reports",
    params(FormatQuery),
    request_body(content = ReportForm, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The report.", content(
            (Object = "application/json"),
            (String = "text/html"),
            (Vec<u8> = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
            (String = "text/csv"),
            (String = "text/markdown"),
        )),
        (status = 400, description = "The form or the query cannot be read."),
        (status = 406, description = "None of the accepted formats can be made."),
        (status = 413, description = "The upload is larger than the limit."),
        (status = 415, description = "The body is no form."),
        (status = 422, description = "A file was refused, or options do not fit."),
    ),
)]
pub async fn create_report(
    State(app): State<App>,
    Query(query): Query<FormatQuery>,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, Problem> {
    let format = report_format(query.format, &headers)?;
    let upload = receive(&app, request).await?;
    let body: ReportOptionsBody = match &upload.options {
        Some(text) => json(text, "/options")?,
        None => ReportOptionsBody::default(),
    };
    if upload.files.is_empty() == body.averages.is_none() {
        return Err(Problem::unfit(
            "files_or_averages",
            "send either files or options with averages, and not both",
        ));
    }
    let options = OptionsBody { demand: body.demand, plan: body.plan };
    let options = options.into_options(body.averages, "/options")?;
    let inputs = upload
        .files
        .iter()
        .map(|file| Input::named_path(file.record.name.clone(), file.path.to_path_buf()))
        .collect();
    let (_, bytes) = app.jobs.report(inputs, options, format.format()).await?;
    Ok(report_response(format, bytes))
}
