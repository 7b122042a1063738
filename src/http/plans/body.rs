//! A plan as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::App;
use crate::http::jobs::body::JobBody;
use crate::http::problem::Problem;
use crate::jobs::summary::PlanSummary;
use crate::store::{PlanRecord, PlanSource};

/// A plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct PlanBodyOut {
    /// Id.
    pub id: Uuid,
    /// When it was asked for.
    #[schema(format = DateTime)]
    pub created: String,
    /// The inventory that it is made from; absent when it is made from averages.
    pub inventory_id: Option<Uuid>,
    /// Options it is made with, every default filled in.
    #[schema(value_type = Object)]
    pub options: serde_json::Value,
    /// The job that makes it.
    pub job: JobBody,
    /// The answer, when it is done.
    pub summary: Option<PlanSummary>,
    /// Its reports, when it is done.
    pub reports: Vec<ReportLink>,
}

/// A report of a plan.
#[derive(Debug, Serialize, ToSchema)]
pub struct ReportLink {
    /// `html`, `json`, `xlsx`, `csv` or `md`.
    pub format: String,
    /// Address.
    pub href: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

impl PlanBodyOut {
    /// Of a record.
    pub async fn of(app: &App, plan: PlanRecord) -> Result<Self, Problem> {
        let job = app.store.job(plan.job).await?.ok_or_else(|| {
            tracing::error!(plan.id = %plan.id, "a plan without its job");
            Problem::internal()
        })?;
        Ok(Self {
            id: plan.id,
            created: plan.created.to_string(),
            inventory_id: match plan.source {
                PlanSource::Inventory(id) => Some(id),
                PlanSource::Averages(_) => None,
            },
            options: serde_json::from_str(&plan.options)?,
            job: JobBody::of(app, job).await?,
            summary: plan.summary.as_deref().map(serde_json::from_str).transpose()?,
            reports: plan
                .artefacts
                .into_iter()
                .map(|artefact| ReportLink {
                    href: format!("/api/v1/plans/{}/report?format={}", plan.id, artefact.format),
                    format: artefact.format,
                    bytes: artefact.bytes,
                    sha256: artefact.sha256.into(),
                })
                .collect(),
        })
    }
}
