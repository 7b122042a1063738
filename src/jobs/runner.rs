//! Takes jobs from the queue and works on them, as many at a time as there are slots.

use std::sync::Arc;
use std::time::{Duration, Instant};

use plimsoll_planner::Progress;
use tokio_util::sync::CancellationToken;

use super::{Inner, Live, WorkError, ingest, plan};
use crate::store::{JobKind, JobRecord, JobState, StoreError, StoredProblem};

/// How often the queue is looked at without being woken: a wake-up cannot be lost, but a store that
/// failed for a moment can.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Puts jobs that a process did not survive back into the queue, or fails them.
pub(super) async fn recover(inner: &Inner) -> Result<(), StoreError> {
    for job in inner.store.unfinished_jobs().await? {
        if job.state == JobState::Running && job.attempts >= inner.attempts {
            let problem = StoredProblem {
                code: "interrupted".to_owned(),
                detail: format!(
                    "the service ended {} times while it worked on this; the files are kept: \
                     upload them again or raise jobs.attempts once the cause is found",
                    job.attempts
                ),
                errors: Vec::new(),
            };
            inner.store.finish_job(job.id, JobState::Failed, Some(&problem)).await?;
            tracing::warn!(job.id = %job.id, job.attempts, "interrupted job failed");
            continue;
        }
        if job.state == JobState::Running {
            inner.store.requeue_job(job.id).await?;
            tracing::info!(job.id = %job.id, "interrupted job queued again");
        }
        inner.live(job.id);
    }
    Ok(())
}

/// Works until told to stop.
pub(super) async fn run(inner: Arc<Inner>) {
    loop {
        let permit = tokio::select! {
            () = inner.stop.cancelled() => return,
            permit = Arc::clone(&inner.slots).acquire_owned() => permit.ok(),
        };
        let claimed = inner.store.claim_job().await;
        match claimed {
            Ok(Some(job)) => {
                let worker = Arc::clone(&inner);
                inner.tracker.spawn(async move {
                    work(&worker, job).await;
                    drop(permit);
                });
            }
            nothing => {
                drop(permit);
                if let Err(error) = nothing {
                    tracing::error!(error = %error, "cannot take a job from the queue");
                }
                tokio::select! {
                    () = inner.stop.cancelled() => return,
                    () = inner.wake.notified() => {}
                    () = tokio::time::sleep(LOOK_AGAIN) => {}
                }
            }
        }
    }
}

async fn work(inner: &Arc<Inner>, job: JobRecord) {
    let live = inner.live(job.id);
    live.snapshot.send_modify(|snapshot| snapshot.state = JobState::Running);
    let kind = job.kind.id();
    metrics::counter!("plimsoll_jobs_started_total", "kind" => kind).increment(1);
    tracing::info!(job.id = %job.id, job.kind = kind, job.attempts, "job started");
    let began = Instant::now();
    let worked = match job.kind {
        JobKind::Ingest => ingest::run(inner, &job, &live).await,
        JobKind::Plan => plan::run(inner, &job, &live).await,
    };
    if let Err(error) = &worked
        && inner.stop.is_cancelled()
        && is_cancelled(error)
    {
        // Stopped with the service, not by a person: the next start takes it up again.
        tracing::info!(job.id = %job.id, "job left for the next start");
        return;
    }
    let (state, problem) = match &worked {
        Ok(()) => (JobState::Done, None),
        Err(error) if is_cancelled(error) => (JobState::Cancelled, None),
        Err(error) => {
            if !matches!(error, WorkError::Planner(_)) {
                tracing::error!(job.id = %job.id, error = %error, "job broke off");
            }
            (JobState::Failed, Some(error.to_problem()))
        }
    };
    // A cancel that came between the last step and here has ended the record already.
    let (state, known) = match inner.store.finish_job(job.id, state, problem.as_ref()).await {
        Ok(true) => (state, true),
        Ok(false) => (JobState::Cancelled, true),
        Err(error) => {
            tracing::error!(job.id = %job.id, error = %error, "cannot note the end of a job");
            (state, false)
        }
    };
    let seconds = began.elapsed().as_secs_f64();
    metrics::counter!("plimsoll_jobs_finished_total", "kind" => kind, "state" => state.id())
        .increment(1);
    metrics::histogram!("plimsoll_job_seconds", "kind" => kind).record(seconds);
    tracing::info!(
        job.id = %job.id, job.kind = kind, job.state = state.id(), job.noted = known,
        job.seconds = seconds, "job ended"
    );
    inner.forget(job.id, state);
}

fn is_cancelled(error: &WorkError) -> bool {
    matches!(error, WorkError::Planner(error) if error.is_cancelled())
}

/// What the planner tells its progress to: `false` asks it to stop.
pub(super) fn observer(live: &Live) -> impl FnMut(Progress) -> bool + Send + 'static {
    let snapshot = live.snapshot.clone();
    let cancel: CancellationToken = live.cancel.clone();
    move |progress| {
        snapshot.send_modify(|snapshot| snapshot.advance(progress));
        !cancel.is_cancelled()
    }
}
