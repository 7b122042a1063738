//! `GET /api/v1/jobs/{id}/events`: progress as server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use futures_util::stream;
use tokio::sync::watch;
use uuid::Uuid;

use super::body::JobBody;
use crate::http::App;
use crate::http::extract::Id;
use crate::http::problem::Problem;
use crate::jobs::Snapshot;

/// Least time between two events: people do not read faster.
const BETWEEN_EVENTS: Duration = Duration::from_millis(100);

/// How often a stream without news is kept open.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Follow a job
///
/// Server-sent events named `job`, each with the job as JSON, on every change and at most ten a
/// second. The last one has a final state; then the stream ends.
#[utoipa::path(
    get, path = "/api/v1/jobs/{id}/events", tag = "jobs",
    params(("id" = uuid::Uuid, Path, description = "Job.")),
    responses(
        (status = 200, description = "The stream.", body = String,
            content_type = "text/event-stream"),
        (status = 400, description = "The id is no UUID."),
        (status = 404, description = "There is no such job."),
    ),
)]
pub async fn follow_job(
    State(app): State<App>,
    Id(id): Id,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    // Watch before reading the record: no change between the two is missed.
    let watch = app.jobs.watch(id);
    app.store.job(id).await?.ok_or_else(|| Problem::not_found("job", id))?;
    let start = Following { app, id, watch, first: true, ended: false };
    let events = stream::unfold(start, async |mut following| {
        let event = following.next().await?;
        Some((Ok(event), following))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct Following {
    app: App,
    id: Uuid,
    watch: Option<watch::Receiver<Snapshot>>,
    first: bool,
    ended: bool,
}

impl Following {
    /// Waits for news; `None` when there will be no more.
    async fn next(&mut self) -> Option<Event> {
        if self.ended {
            return None;
        }
        if !std::mem::take(&mut self.first)
            && let Some(watch) = &mut self.watch
        {
            tokio::select! {
                changed = watch.changed() => {
                    // An error means that the job ended: the record has the last word.
                    if changed.is_ok() {
                        tokio::time::sleep(BETWEEN_EVENTS).await;
                    }
                }
                () = self.app.jobs.stopped() => return None,
            }
        }
        let snapshot = self.watch.as_mut().map(|watch| *watch.borrow_and_update());
        let job = self.app.store.job(self.id).await.ok().flatten()?;
        self.ended = job.state.is_final() || self.watch.is_none();
        let body = JobBody::with(&self.app, job, snapshot).await.ok()?;
        Event::default().event("job").json_data(body).ok()
    }
}
