//! An inventory as the API shows it.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::http::App;
use crate::http::jobs::body::JobBody;
use crate::http::problem::Problem;
use crate::jobs::summary::InventorySummary;
use crate::store::InventoryRecord;

/// An uploaded set of files and what was read from it.
#[derive(Debug, Serialize, ToSchema)]
pub struct InventoryBody {
    /// Id.
    pub id: Uuid,
    /// When it was received.
    #[schema(format = DateTime)]
    pub created: String,
    /// The files.
    pub files: Vec<FileBody>,
    /// The job that reads it.
    pub job: JobBody,
    /// What it holds, when it was read.
    pub summary: Option<InventorySummary>,
}

/// A received file.
#[derive(Debug, Serialize, ToSchema)]
pub struct FileBody {
    /// Name as sent, without folders.
    pub name: String,
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of its content.
    pub sha256: String,
}

impl InventoryBody {
    /// Of a record.
    pub async fn of(app: &App, inventory: InventoryRecord) -> Result<Self, Problem> {
        let job = app.store.job(inventory.job).await?.ok_or_else(|| {
            tracing::error!(inventory.id = %inventory.id, "an inventory without its job");
            Problem::internal()
        })?;
        Ok(Self {
            id: inventory.id,
            created: inventory.created.to_string(),
            files: inventory
                .files
                .into_iter()
                .map(|file| FileBody {
                    name: file.name,
                    bytes: file.bytes,
                    sha256: file.sha256.into(),
                })
                .collect(),
            job: JobBody::of(app, job).await?,
            summary: inventory.summary.as_deref().map(serde_json::from_str).transpose()?,
        })
    }
}
