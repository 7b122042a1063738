//! Makes changes of names and attributes durable, in order, many with one write to the disk.
//!
//! An operation pushes its changes while it holds the tree's lock and gets a [`Ticket`]; its reply waits
//! until the ticket's group is committed. A thread commits whatever has gathered since the last commit in
//! one transaction of redb, so each group is there after a crash or not at all. When a commit fails, what
//! memory shows is no longer what a restart would show: every later change is refused.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use super::attributes::FileId;
use super::data::host_path;
use super::error::{FileError, OpenError};
use super::record::Record;

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
const OBJECTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("objects");
/// Keyed by directory and cookie; the value is the object's number and the name.
const ENTRIES: TableDefinition<'_, (u64, u64), &[u8]> = TableDefinition::new("entries");
/// Memory for the pages of the database; the namespace itself is in memory, so little is read.
const CACHE_BYTES: usize = 1 << 20;

/// Stands for changes that may not be durable yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticket(u64);

impl Ticket {
    /// Nothing to wait for.
    pub const STABLE: Self = Self(0);

    /// Whether there is nothing to wait for.
    pub fn is_stable(self) -> bool {
        self == Self::STABLE
    }
}

/// Called once changes are durable or can no longer become so; on a thread that must not be held up.
pub type WhenStable = Box<dyn FnOnce(Result<(), FileError>) + Send>;

#[derive(Debug)]
pub(super) enum Change {
    Put(FileId, Record),
    /// The object is gone; a host file of its data is removed after the commit.
    Drop(FileId),
    Link {
        directory: FileId,
        cookie: u64,
        id: FileId,
        name: Arc<[u8]>,
    },
    Unlink {
        directory: FileId,
        cookie: u64,
    },
}

/// What a database holds.
#[derive(Default)]
pub(super) struct Contents {
    pub secret: Option<[u8; 32]>,
    pub next: u64,
    pub objects: Vec<(FileId, Record)>,
    pub entries: Vec<LoadedEntry>,
}

pub(super) struct LoadedEntry {
    pub directory: FileId,
    pub cookie: u64,
    pub id: FileId,
    pub name: Arc<[u8]>,
}

pub(super) struct Journal {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    failed: AtomicBool,
    database: Database,
    data_folder: PathBuf,
}

#[derive(Default)]
struct Queue {
    changes: Vec<Change>,
    issued: u64,
    committed: u64,
    waiting: Vec<(u64, WhenStable)>,
    stopping: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Callbacks and commits run outside the lock; what is done under it cannot stop half-way.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal {
    /// Opens the database and reads all of it.
    pub fn open(path: PathBuf, data_folder: PathBuf) -> Result<(Self, Contents), OpenError> {
        let failure = |error: redb::Error| OpenError::Metadata {
            path: path.clone(),
            reason: error.to_string(),
        };
        let database = Database::builder()
            .set_cache_size(CACHE_BYTES)
            .create(&path)
            .map_err(|error| failure(error.into()))?;
        let contents = match load(&database) {
            Ok(contents) => contents,
            Err(Load::Redb(error)) => return Err(failure(error)),
            Err(Load::Damaged(what)) => return Err(OpenError::Damaged { path, what }),
        };
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            wake: Condvar::new(),
            failed: AtomicBool::new(false),
            database,
            data_folder,
        });
        let worker = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("namespace".to_owned())
            .spawn(move || run(&worker))
            .map_err(|source| OpenError::Host { action: "start a thread for", path, source })?;
        Ok((Self { shared, thread: Some(thread) }, contents))
    }

    /// Writes the secret of a new namespace; blocking.
    pub fn save_secret(&self, secret: &[u8; 32]) -> Result<(), FileError> {
        let save = || -> Result<(), redb::Error> {
            let transaction = self.shared.database.begin_write()?;
            transaction.open_table(META)?.insert("secret", secret.as_slice())?;
            transaction.commit()?;
            Ok(())
        };
        save().map_err(|error| {
            tracing::error!(%error, "the metadata of a namespace cannot be written");
            FileError::Io
        })
    }

    /// Queues the changes of one operation.
    pub fn push(&self, changes: Vec<Change>) -> Ticket {
        let mut queue = self.shared.lock();
        queue.issued += 1;
        queue.changes.extend(changes);
        let ticket = Ticket(queue.issued);
        drop(queue);
        self.shared.wake.notify_one();
        ticket
    }

    /// Calls `done` when the ticket's changes are durable, at once if they are.
    pub fn when_stable(&self, ticket: Ticket, done: WhenStable) {
        let mut queue = self.shared.lock();
        let result = if queue.committed >= ticket.0 {
            Ok(())
        } else if self.has_failed() {
            Err(FileError::Io)
        } else {
            queue.waiting.push((ticket.0, done));
            return;
        };
        drop(queue);
        done(result);
    }

    /// Whether a commit failed: nothing may be changed any more.
    pub fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Acquire)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.shared.lock().stopping = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Journal(failed: {})", self.has_failed())
    }
}

fn run(shared: &Shared) {
    loop {
        let mut queue = shared.lock();
        while queue.changes.is_empty() && !queue.stopping {
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        if queue.changes.is_empty() {
            return;
        }
        let changes = std::mem::take(&mut queue.changes);
        let upto = queue.issued;
        drop(queue);

        let failed = shared.failed.load(Ordering::Acquire);
        let result = if failed { Err(FileError::Io) } else { commit(shared, &changes) };

        let mut queue = shared.lock();
        if result.is_ok() {
            queue.committed = upto;
        } else {
            shared.failed.store(true, Ordering::Release);
        }
        let settled = |entry: &mut (u64, WhenStable)| entry.0 <= upto || result.is_err();
        let ready: Vec<_> = queue.waiting.extract_if(.., settled).collect();
        drop(queue);
        for (_, done) in ready {
            done(result);
        }
        if result.is_ok() {
            remove_host_files(shared, &changes);
        }
    }
}

fn commit(shared: &Shared, changes: &[Change]) -> Result<(), FileError> {
    apply(&shared.database, changes).map_err(|error| {
        tracing::error!(
            %error,
            "the metadata of a namespace cannot be written: no change is taken until a restart"
        );
        FileError::Io
    })
}

fn apply(database: &Database, changes: &[Change]) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut objects = transaction.open_table(OBJECTS)?;
        let mut entries = transaction.open_table(ENTRIES)?;
        let mut highest = 0;
        let mut value = Vec::new();
        for change in changes {
            match change {
                Change::Put(id, record) => {
                    objects.insert(id.0, record.encode().as_slice())?;
                    highest = highest.max(id.0);
                }
                Change::Drop(id) => {
                    objects.remove(id.0)?;
                }
                Change::Link { directory, cookie, id, name } => {
                    value.clear();
                    value.extend_from_slice(&id.0.to_le_bytes());
                    value.extend_from_slice(name);
                    entries.insert((directory.0, *cookie), value.as_slice())?;
                }
                Change::Unlink { directory, cookie } => {
                    entries.remove((directory.0, *cookie))?;
                }
            }
        }
        let mut meta = transaction.open_table(META)?;
        let next = meta.get("next")?.map_or(0, |next| number(next.value()));
        if highest >= next {
            meta.insert("next", (highest + 1).to_le_bytes().as_slice())?;
        }
    }
    transaction.commit()?;
    Ok(())
}

fn remove_host_files(shared: &Shared, changes: &[Change]) {
    for change in changes {
        let Change::Drop(id) = change else { continue };
        let path = host_path(&shared.data_folder, *id);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                tracing::warn!(path = %path.display(), %error, "a removed file's data cannot be removed");
            }
            _ => {}
        }
    }
}

enum Load {
    Redb(redb::Error),
    Damaged(String),
}

impl<E: Into<redb::Error>> From<E> for Load {
    fn from(error: E) -> Self {
        Self::Redb(error.into())
    }
}

fn load(database: &Database) -> Result<Contents, Load> {
    let mut contents = Contents::default();
    let transaction = database.begin_read()?;
    let meta = match transaction.open_table(META) {
        Ok(meta) => meta,
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(contents),
        Err(error) => return Err(error.into()),
    };
    if let Some(secret) = meta.get("secret")? {
        let secret = secret.value().try_into();
        contents.secret = Some(secret.map_err(|_| Load::Damaged("the secret".to_owned()))?);
    }
    contents.next = meta.get("next")?.map_or(0, |next| number(next.value()));
    match transaction.open_table(OBJECTS) {
        Ok(objects) => {
            for row in objects.iter()? {
                let (id, record) = row?;
                let id = FileId(id.value());
                let record = Record::decode(id, record.value())
                    .ok_or_else(|| Load::Damaged(format!("object {}", id.0)))?;
                contents.objects.push((id, record));
            }
        }
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    match transaction.open_table(ENTRIES) {
        Ok(entries) => {
            for row in entries.iter()? {
                let (key, value) = row?;
                let (directory, cookie) = key.value();
                let damaged = || Load::Damaged(format!("entry {cookie} of directory {directory}"));
                let (id, name) = value.value().split_first_chunk().ok_or_else(damaged)?;
                contents.entries.push(LoadedEntry {
                    directory: FileId(directory),
                    cookie,
                    id: FileId(u64::from_le_bytes(*id)),
                    name: Arc::from(name),
                });
            }
        }
        Err(redb::TableError::TableDoesNotExist(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(contents)
}

/// A number as it is kept; 0 when it is damaged, which loading then notices by the objects' own numbers.
fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map(u64::from_le_bytes).unwrap_or(0)
}
