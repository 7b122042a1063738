//! The handle of a remote volume: what the array and the sessions speak to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::Waker;
use plimsoll_storage::{Remote, RemoteDone, RemoteOperation, StoreError};

use crate::worker::Worker;
use crate::{Connection, RemoteError, Settings, Status};

/// Says why a unit may not be behind a volume, by its serial and its vendor and product.
pub(crate) type Refuse = Box<dyn Fn(&str, &str) -> Option<String> + Send>;

/// A remote volume.
pub struct Engine {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// An operation with what it weighs and whom to tell.
pub(crate) struct Asked {
    pub operation: RemoteOperation,
    pub done: RemoteDone,
    pub bytes: u64,
    pub since: Instant,
}

#[derive(Default)]
pub(crate) struct Inbox {
    pub asked: Vec<Asked>,
    pub reconnect: bool,
    pub stop: bool,
    pub waker: Option<Waker>,
    pub status: Status,
    pub since: Option<Instant>,
    pub operations: usize,
    pub bytes: u64,
}

/// What handle and thread share.
pub(crate) struct Shared {
    pub inbox: Mutex<Inbox>,
    /// Told when the thread without a connection has something to do, or when the first connection is there.
    pub changed: Condvar,
    pub size: AtomicU64,
    queue_bytes: u64,
    queue_operations: usize,
}

impl Shared {
    pub fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread, wherever it waits.
    fn wake(&self, inbox: &Inbox) {
        if let Some(waker) = &inbox.waker
            && let Err(error) = waker.wake()
        {
            tracing::error!(%error, "the thread of a remote volume could not be woken");
        }
        self.changed.notify_all();
    }
}

impl Engine {
    /// Begins to connect. Without a known `size` this waits for the first connection, which tells it.
    /// `refuse` is asked about every unit that is met, by its serial and its vendor and product.
    pub fn start(
        settings: Settings,
        size: Option<u64>,
        refuse: impl Fn(&str, &str) -> Option<String> + Send + 'static,
    ) -> Result<Arc<Self>, RemoteError> {
        let opening = settings.opening()?;
        let mut inbox = Inbox::default();
        inbox.status.url = plain(&settings.url);
        "not connected yet".clone_into(&mut inbox.status.reason);
        inbox.since = Some(Instant::now());
        let shared = Arc::new(Shared {
            inbox: Mutex::new(inbox),
            changed: Condvar::new(),
            size: AtomicU64::new(size.unwrap_or(0)),
            queue_bytes: settings.queue_bytes,
            queue_operations: settings.queue_operations,
        });
        let patience = settings.connect_timeout * 3;
        let refuse: Refuse = Box::new(refuse);
        let worker = Worker::new(Arc::clone(&shared), settings, opening, refuse);
        let thread = std::thread::Builder::new()
            .name("remote-volume".to_owned())
            .spawn(move || worker.run())
            .map_err(RemoteError::Thread)?;
        let engine = Arc::new(Self { shared, thread: Mutex::new(Some(thread)) });
        if size.is_none() {
            engine.wait_for_size(patience)?;
        }
        Ok(engine)
    }

    fn wait_for_size(&self, patience: Duration) -> Result<(), RemoteError> {
        let deadline = Instant::now() + patience;
        let mut inbox = self.shared.lock();
        loop {
            let (url, reason) = (inbox.status.url.clone(), inbox.status.reason.clone());
            if inbox.status.connection == Connection::Refused {
                return Err(RemoteError::Chain { url, reason });
            }
            if self.shared.size.load(Ordering::Acquire) > 0 {
                return Ok(());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(RemoteError::Unreachable { url, reason });
            }
            let waited = self.shared.changed.wait_timeout(inbox, left);
            inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        let inbox = self.shared.lock();
        Status {
            since_s: inbox.since.map_or(0.0, |since| since.elapsed().as_secs_f64()),
            queued_operations: inbox.operations,
            queued_bytes: inbox.bytes,
            ..inbox.status.clone()
        }
    }

    /// Lets what is under way end, and connects anew by the preferred transport: the way back from a fallback.
    pub fn reconnect(&self) {
        let mut inbox = self.shared.lock();
        inbox.reconnect = true;
        self.shared.wake(&inbox);
    }
}

/// A URL without what stands before the @.
fn plain(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

impl Remote for Engine {
    fn size_bytes(&self) -> u64 {
        self.shared.size.load(Ordering::Acquire)
    }

    fn submit(&self, operation: RemoteOperation, done: RemoteDone) {
        let bytes = match &operation {
            RemoteOperation::Read { len, .. } | RemoteOperation::Change { len, .. } => {
                u64::from(*len)
            }
            RemoteOperation::Write { data, .. } => data.len() as u64,
            RemoteOperation::Flush => 0,
        };
        let mut inbox = self.shared.lock();
        let full = inbox.operations >= self.shared.queue_operations
            || inbox.bytes.saturating_add(bytes) > self.shared.queue_bytes.max(bytes);
        if full || inbox.stop {
            inbox.status.turned_away += 1;
            drop(inbox);
            return done(Err(StoreError::Busy));
        }
        inbox.operations += 1;
        inbox.bytes += bytes;
        inbox.asked.push(Asked { operation, done, bytes, since: Instant::now() });
        if inbox.asked.len() == 1 {
            self.shared.wake(&inbox);
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        {
            let mut inbox = self.shared.lock();
            inbox.stop = true;
            self.shared.wake(&inbox);
        }
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) =
            thread.filter(|thread| thread.thread().id() != std::thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Engine({:?})", self.status())
    }
}
