//! Makes a plan: stored files or averages, with options, to an answer and its reports.

use std::sync::Arc;

use plimsoll_planner::{Progress, SizingOptions, Stage};

use super::summary::PlanSummary;
use super::{FORMATS, Inner, Live, WorkError, ingest, runner};
use crate::store::{Artefact, BlobStore, JobRecord, PlanSource};

pub(super) async fn run(inner: &Arc<Inner>, job: &JobRecord, live: &Live) -> Result<(), WorkError> {
    let Some(plan) = inner.store.plan(job.subject).await? else {
        return Err(plimsoll_planner::Error::Cancelled.into());
    };
    let mut options: SizingOptions = serde_json::from_str(&plan.options)?;
    let inputs = match plan.source {
        PlanSource::Inventory(id) => match inner.store.inventory(id).await? {
            Some(inventory) => ingest::inputs(&inner.blobs, &inventory),
            None => return Err(plimsoll_planner::Error::Cancelled.into()),
        },
        PlanSource::Averages(averages) => {
            options.averages = Some(serde_json::from_value(averages)?);
            Vec::new()
        }
    };
    let keeping = inner.blobs.keeping().await;
    let blobs = inner.blobs.clone();
    let mut observer = runner::observer(live);
    let made = tokio::task::spawn_blocking(move || make(inputs, &options, &blobs, &mut observer));
    let (summary, artefacts) = made.await.map_err(|_| WorkError::Panicked)??;
    let text = serde_json::to_string(&summary)?;
    inner.store.set_plan_result(plan.id, &text, &artefacts).await?;
    drop(keeping);
    Ok(())
}

fn make(
    inputs: Vec<plimsoll_ingest::Input>,
    options: &SizingOptions,
    blobs: &BlobStore,
    observer: &mut dyn FnMut(Progress) -> bool,
) -> Result<(PlanSummary, Vec<Artefact>), WorkError> {
    let sizing = plimsoll_planner::size(inputs, options, observer)?;
    let mut artefacts = Vec::new();
    let mut answer = String::new();
    for (done, (id, format)) in FORMATS.into_iter().enumerate() {
        let progress = Progress {
            stage: Stage::Rendering,
            done: done as u64,
            total: Some(FORMATS.len() as u64),
        };
        if !observer(progress) {
            return Err(plimsoll_planner::Error::Cancelled.into());
        }
        let bytes = plimsoll_planner::render(&sizing, format)?;
        if format == plimsoll_planner::Format::Json {
            answer = PlanSummary::answer(&bytes)?;
        }
        let sha256 = blobs.keep_bytes(&bytes)?;
        artefacts.push(Artefact { format: id.to_owned(), sha256, bytes: bytes.len() as u64 });
    }
    Ok((PlanSummary::of(&sizing, answer), artefacts))
}
