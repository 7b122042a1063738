//! `GET /api/v1/inventories/{id}/problems`: as a list, or as a workbook for whoever owns the file.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use plimsoll_ingest::Problems;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use super::lists;
use crate::http::App;
use crate::http::extract::{Id, Query};
use crate::http::negotiate::{self, ReportFormat};
use crate::http::page::{PageBody, PageQuery};
use crate::http::problem::Problem;
use crate::jobs::lists::ProblemItem;
use crate::store::ItemKind;

/// Problems read in one go for the workbook.
const CHUNK: u32 = 5_000;

/// A format of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProblemsFormat {
    /// A page of JSON.
    Json,
    /// A workbook with all of them.
    Xlsx,
}

/// Which format.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ProblemsQuery {
    /// Format; goes before the header Accept. A workbook is not paged.
    #[param(inline)]
    format: Option<ProblemsFormat>,
}

/// What was not as expected in the files
#[utoipa::path(
    get, path = "/api/v1/inventories/{id}/problems", tag = "inventories",
    params(("id" = uuid::Uuid, Path, description = "Inventory."), PageQuery, ProblemsQuery),
    responses(
        (status = 200, description = "One page, or the workbook.", content(
            (PageBody<ProblemItem> = "application/json"),
            (Vec<u8> = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
        )),
        (status = 400, description = "The id or the query cannot be read."),
        (status = 404, description = "There is no such inventory."),
        (status = 406, description = "None of the accepted formats can be made."),
        (status = 409, description = "It was not read, or not yet."),
    ),
)]
pub async fn list_problems(
    State(app): State<App>,
    Id(id): Id,
    Query(page): Query<PageQuery>,
    Query(query): Query<ProblemsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let offered = [ReportFormat::Json.media_type(), ReportFormat::Xlsx.media_type()];
    let format = match query.format {
        Some(format) => format,
        None => match negotiate::choose(&headers, &offered) {
            Some(0) => ProblemsFormat::Json,
            Some(_) => ProblemsFormat::Xlsx,
            None => return Err(Problem::not_acceptable(&offered)),
        },
    };
    if format == ProblemsFormat::Json {
        let page: Json<PageBody<ProblemItem>> =
            lists::page(&app, id, ItemKind::Problem, &page).await?;
        return Ok(page.into_response());
    }
    lists::read_already(&app, id).await?;
    let problems = all(&app, id).await?;
    let written = app.jobs.blocking(move || plimsoll_report::rejected_rows_xlsx(&problems)).await?;
    let bytes = written.map_err(|error| {
        tracing::error!(error = %error, "cannot write the workbook of problems");
        Problem::internal()
    })?;
    Ok((
        [
            (header::CONTENT_TYPE, ReportFormat::Xlsx.content_type()),
            (header::CONTENT_DISPOSITION, "attachment; filename=\"plimsoll-problems.xlsx\""),
            (header::VARY, "accept"),
        ],
        bytes,
    )
        .into_response())
}

async fn all(app: &App, id: Uuid) -> Result<Problems, Problem> {
    let mut problems = Problems::default();
    let mut after = None;
    loop {
        let page = app.store.items(id, ItemKind::Problem, after, CHUNK).await?;
        for text in &page.items {
            problems.push(serde_json::from_str(text)?);
        }
        after = match page.next.and_then(|next| next.parse().ok()) {
            Some(next) => Some(next),
            None => return Ok(problems),
        };
    }
}
