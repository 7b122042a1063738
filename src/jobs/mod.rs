//! Work that outlives a request: reading inventories and making plans.
//!
//! The queue is in the store; [`Jobs`] runs it with bounded concurrency on blocking threads, tells
//! how far each job is, and cancels on request. A job is a pure function of stored files and
//! options, so that one which the process did not survive is simply run again; what it had written
//! is cleared first.

mod ingest;
pub mod lists;
mod plan;
mod progress;
mod runner;
pub mod summary;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use plimsoll_advise::iser;
use plimsoll_planner::{Format, Progress, Sizing, SizingOptions};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::store::{BlobStore, JobKind, JobRecord, JobState, Store, StoreError, StoredProblem};

pub use progress::Snapshot;

/// The formats of a report, with their ids.
pub const FORMATS: [(&str, Format); 5] = [
    ("html", Format::Html),
    ("json", Format::Json),
    ("xlsx", Format::Xlsx),
    ("csv", Format::Csv),
    ("md", Format::Md),
];

/// Why work on an input ended without a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkError {
    /// The planner refused the input or was told to stop.
    #[error(transparent)]
    Planner(#[from] plimsoll_planner::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A document could not be written.
    #[error("write a result as JSON: {0}")]
    Document(#[from] serde_json::Error),
    /// The work broke off: a defect of the program, logged with its place.
    #[error("the work broke off unexpectedly")]
    Panicked,
}

impl WorkError {
    /// The parts of a problem document.
    #[must_use]
    pub fn to_problem(&self) -> StoredProblem {
        match self {
            Self::Planner(error) => {
                let refusal = error.to_refusal();
                let prefix = if error.is_file_refused() { "file_" } else { "" };
                StoredProblem {
                    code: format!("{prefix}{}", refusal.code.replace('-', "_")),
                    errors: vec![crate::store::Fault {
                        message: bare(&refusal).to_owned(),
                        at: refusal.file,
                        expected: refusal.expected,
                        action: refusal.action,
                    }],
                    detail: refusal.message,
                }
            }
            Self::Store(_) | Self::Document(_) | Self::Panicked => StoredProblem {
                code: "internal".to_owned(),
                detail: "the service failed on this; its log says why under the request or job id"
                    .to_owned(),
                errors: Vec::new(),
            },
        }
    }
}

/// What is wrong, without the place and the advice that a refusal's sentence repeats.
fn bare(refusal: &plimsoll_planner::Refusal) -> &str {
    let sentence = refusal.message.as_str();
    let place = format!("{}: ", refusal.file);
    let advice = format!("; expected {}; {}", refusal.expected, refusal.action);
    let sentence = sentence.strip_prefix(&place).unwrap_or(sentence);
    sentence.strip_suffix(&advice).unwrap_or(sentence)
}

/// The queue and its workers.
#[derive(Clone)]
pub struct Jobs {
    inner: Arc<Inner>,
}

struct Inner {
    store: Arc<dyn Store>,
    blobs: BlobStore,
    slots: Arc<Semaphore>,
    attempts: u32,
    live: Mutex<BTreeMap<Uuid, Live>>,
    wake: Notify,
    stop: CancellationToken,
    tracker: TaskTracker,
}

/// A job that waits or runs in this process.
#[derive(Clone)]
struct Live {
    snapshot: watch::Sender<Snapshot>,
    cancel: CancellationToken,
}

/// A queued record for a new piece of work.
#[must_use]
pub fn queued(kind: JobKind, subject: Uuid) -> JobRecord {
    JobRecord {
        id: Uuid::now_v7(),
        kind,
        subject,
        state: JobState::Queued,
        attempts: 0,
        created: Timestamp::now(),
        started: None,
        finished: None,
        problem: None,
    }
}

impl Jobs {
    /// Takes up what an earlier process left, and starts to work.
    ///
    /// A job that was running is queued again, or failed when it was started `attempts` times
    /// already: what kills the process every time must not do so for ever.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn start(
        store: Arc<dyn Store>,
        blobs: BlobStore,
        config: &crate::config::JobsConfig,
    ) -> Result<Self, StoreError> {
        let jobs = Self {
            inner: Arc::new(Inner {
                store,
                blobs,
                slots: Arc::new(Semaphore::new(config.concurrency)),
                attempts: config.attempts.max(1),
                live: Mutex::default(),
                wake: Notify::new(),
                stop: CancellationToken::new(),
                tracker: TaskTracker::new(),
            }),
        };
        runner::recover(&jobs.inner).await?;
        jobs.inner.tracker.spawn(runner::run(Arc::clone(&jobs.inner)));
        Ok(jobs)
    }

    /// Says that a record was queued in the store.
    pub fn wake(&self, job: &JobRecord) {
        self.inner.live(job.id);
        self.inner.wake.notify_one();
    }

    /// How far a job is, as it goes on; `None` when it neither waits nor runs here.
    #[must_use]
    pub fn watch(&self, job: Uuid) -> Option<watch::Receiver<Snapshot>> {
        self.inner.lock().get(&job).map(|live| live.snapshot.subscribe())
    }

    /// Asks a job to stop; false when it had ended.
    ///
    /// # Errors
    /// When the store fails.
    pub async fn cancel(&self, job: &JobRecord) -> Result<bool, StoreError> {
        // A running job ends itself at its next step; a queued one ends here. Both may race with
        // the runner: whoever ends the record first wins.
        let live = self.inner.lock().get(&job.id).cloned();
        if let Some(live) = &live {
            live.cancel.cancel();
        }
        let ended = self.inner.store.finish_job(job.id, JobState::Cancelled, None).await?;
        if ended && job.state == JobState::Queued {
            self.inner.forget(job.id, JobState::Cancelled);
        }
        Ok(ended)
    }

    /// Makes one report at once, in a slot of its own; nothing is kept.
    ///
    /// Dropping the future asks the work to stop.
    ///
    /// # Errors
    /// When the input is refused or the work breaks off.
    pub async fn report(
        &self,
        inputs: Vec<plimsoll_ingest::Input>,
        options: SizingOptions,
        format: Format,
    ) -> Result<(Sizing, Vec<u8>), WorkError> {
        // The semaphore is never closed.
        let permit = Arc::clone(&self.inner.slots).acquire_owned().await.ok();
        let cancel = CancellationToken::new();
        let stop_on_drop = cancel.clone().drop_guard();
        let worked = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            let mut observer = |_: Progress| !cancel.is_cancelled();
            let sizing = plimsoll_planner::size(inputs, &options, &mut observer)?;
            let bytes = plimsoll_planner::render(&sizing, format)?;
            Ok((sizing, bytes))
        })
        .await;
        stop_on_drop.disarm();
        worked.unwrap_or(Err(WorkError::Panicked))
    }

    /// Advises on iSER for hosts of files, or for hosts that came as facts; nothing is kept.
    ///
    /// # Errors
    /// When the input is refused or the work breaks off.
    pub async fn advice(
        &self,
        inputs: Vec<plimsoll_ingest::Input>,
        hosts: Vec<iser::Host>,
        settings: iser::Settings,
    ) -> Result<iser::Advice, WorkError> {
        let cancel = CancellationToken::new();
        let stop_on_drop = cancel.clone().drop_guard();
        let worked = self
            .blocking(move || {
                if inputs.is_empty() {
                    return iser::advise(&hosts, &settings).map_err(Into::into);
                }
                let mut observer = |_: Progress| !cancel.is_cancelled();
                let options = SizingOptions::default();
                plimsoll_planner::advise_iser(inputs, &settings, &options, &mut observer)
            })
            .await;
        stop_on_drop.disarm();
        Ok(worked??)
    }

    /// Runs short blocking work, such as a fit, in a slot.
    ///
    /// # Errors
    /// When the work breaks off.
    pub async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let permit = Arc::clone(&self.inner.slots).acquire_owned().await.ok();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work()
        })
        .await
        .map_err(|_| WorkError::Panicked)
    }

    /// Whether it was told to stop.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.inner.stop.is_cancelled()
    }

    /// Takes no more work; streams of progress end.
    pub fn stop(&self) {
        self.inner.stop.cancel();
    }

    /// Resolves when told to stop.
    pub async fn stopped(&self) {
        self.inner.stop.cancelled().await;
    }

    /// Waits for running jobs, then gives up on them: they are taken up at the next start.
    pub async fn drain(&self, patience: std::time::Duration) {
        self.stop();
        self.inner.tracker.close();
        let _ = tokio::time::timeout(patience, self.inner.tracker.wait()).await;
        for live in self.inner.lock().values() {
            live.cancel.cancel();
        }
    }
}

impl Inner {
    /// The map is whole after every statement that holds it: a panic elsewhere cannot spoil it.
    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Uuid, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn live(&self, job: Uuid) -> Live {
        self.lock()
            .entry(job)
            .or_insert_with(|| Live {
                snapshot: watch::Sender::new(Snapshot::queued()),
                cancel: CancellationToken::new(),
            })
            .clone()
    }

    /// Tells the last state to whoever watches, and forgets the job.
    fn forget(&self, job: Uuid, state: JobState) {
        if let Some(live) = self.lock().remove(&job) {
            live.snapshot.send_modify(|snapshot| snapshot.state = state);
        }
    }
}
