//! The bytes of one regular file: a memory store, or a sparse host file that is opened when needed.
//!
//! A host file is named by the number of its object under the `data` folder of the backing, so that no
//! name of a client ever reaches the host. It may be longer than the file: it grows in steps, and what a
//! crash left beyond the recorded size is unmapped when it is opened. So that an export of many files does
//! not use up the process's descriptors, files that were not used lately and have nothing to flush are
//! closed again ([`OpenFiles`]).

use std::collections::VecDeque;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard, Weak};

use super::attributes::FileId;
use super::error::FileError;
use crate::store::ALLOCATION_BYTES;
use crate::{BlockStore, Charge, FileStore, MemoryStore, Space, StoreError};

/// Largest file in bytes: 64 TiB, above the 62 TiB that a virtual disk may have.
pub const FILE_SIZE_MAX: u64 = 64 << 40;
/// A host file grows in steps of this many bytes.
const STEP_BYTES: u64 = 64 << 20;
/// Files of one namespace that are kept open, if the others have nothing to flush.
const OPEN_FILES_MAX: usize = 512;

#[derive(Debug)]
pub(super) enum Data {
    Memory(Box<BlockStore>),
    Host(Arc<HostData>),
}

/// A store in use.
pub(super) enum StoreRef<'a> {
    Memory(&'a BlockStore),
    /// Keeps its file open.
    Host(Arc<BlockStore>),
}

impl Deref for StoreRef<'_> {
    type Target = BlockStore;

    fn deref(&self) -> &BlockStore {
        match self {
            Self::Memory(store) => store,
            Self::Host(store) => store,
        }
    }
}

/// Data in a host file.
#[derive(Debug)]
pub(super) struct HostData {
    path: PathBuf,
    space: Arc<Space>,
    open_files: Arc<OpenFiles>,
    slot: RwLock<Option<Arc<BlockStore>>>,
    /// Makes openings and growth one at a time.
    changing: Mutex<()>,
    /// Bytes charged while the store is not open.
    adopted: AtomicU64,
    /// Something was written since the last flush began.
    unflushed: AtomicBool,
    /// Used since the last search for files to close.
    used: AtomicBool,
}

impl Data {
    pub fn memory(space: &Arc<Space>) -> Self {
        let store = MemoryStore::new(FILE_SIZE_MAX, Arc::clone(space));
        Self::Memory(Box::new(BlockStore::Memory(store)))
    }

    /// Data of a file that may exist already, with `allocated` bytes that are charged now.
    pub fn host(
        folder: &Path,
        id: FileId,
        space: &Arc<Space>,
        open_files: &Arc<OpenFiles>,
        allocated: u64,
    ) -> Self {
        space.adopt(allocated);
        Self::Host(Arc::new(HostData {
            path: host_path(folder, id),
            space: Arc::clone(space),
            open_files: Arc::clone(open_files),
            slot: RwLock::default(),
            changing: Mutex::default(),
            adopted: AtomicU64::new(allocated),
            unflushed: AtomicBool::new(false),
            used: AtomicBool::new(true),
        }))
    }

    pub fn allocated_bytes(&self) -> u64 {
        match self {
            Self::Memory(store) => store.allocated_bytes(),
            Self::Host(host) => match &*host.slot() {
                Some(store) => store.allocated_bytes(),
                None => host.adopted.load(Ordering::Relaxed),
            },
        }
    }

    /// The store; `size` is the present size of the file, beyond which nothing may be left when a host file
    /// is opened.
    pub fn store(&self, size: u64) -> Result<StoreRef<'_>, FileError> {
        match self {
            Self::Memory(store) => Ok(StoreRef::Memory(store)),
            Self::Host(host) => host.open(size).map(StoreRef::Host),
        }
    }

    /// Writes, after making room for it.
    pub fn write(&self, size: u64, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let store = self.store(size)?;
        let end = offset + bytes.len() as u64;
        if store.size_bytes() < end
            && let Self::Host(host) = self
        {
            host.grow(&store, end)?;
        }
        let result = store.write(offset, bytes).map_err(|error| refusal(&error));
        // After the write, and while the file is held open: see `unflushed` and `close`.
        self.mark_unflushed();
        result
    }

    /// Lets go of everything beyond `size`, so that it reads as zeroes when the file grows again.
    pub fn cut(&self, old_size: u64, size: u64) -> Result<(), FileError> {
        let store = self.store(old_size)?;
        let end = old_size.min(store.size_bytes());
        let result = store.unmap(size, end.saturating_sub(size)).map_err(|error| refusal(&error));
        self.mark_unflushed();
        result
    }

    /// Gives back the space of a file that is removed.
    pub fn release(&self, size: u64) -> Result<(), FileError> {
        match self {
            Self::Host(host) if host.slot().is_none() => {
                host.space.release(host.adopted.swap(0, Ordering::Relaxed));
                Ok(())
            }
            _ => self.cut(size, 0),
        }
    }

    /// Whether a flush has something to do.
    pub fn needs_flush(&self) -> bool {
        matches!(self, Self::Host(host) if host.slot().is_some())
    }

    /// Waits until what was written before is durable. A file that is closed has nothing to flush.
    pub fn flush(&self) -> Result<(), FileError> {
        let Self::Host(host) = self else { return Ok(()) };
        let Some(store) = host.slot().clone() else { return Ok(()) };
        host.unflushed.store(false, Ordering::Release);
        store.flush().map_err(|error| {
            // A file whose flush failed stays open: its store remembers the failure.
            host.unflushed.store(true, Ordering::Release);
            refusal(&error)
        })
    }

    fn mark_unflushed(&self) {
        if let Self::Host(host) = self
            && !host.unflushed.load(Ordering::Acquire)
        {
            host.unflushed.store(true, Ordering::Release);
        }
    }
}

impl HostData {
    /// Every change of the slot is a single assignment, so poison means nothing.
    fn slot(&self) -> RwLockReadGuard<'_, Option<Arc<BlockStore>>> {
        self.slot.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(self: &Arc<Self>, size: u64) -> Result<Arc<BlockStore>, FileError> {
        if let Some(store) = &*self.slot() {
            if !self.used.load(Ordering::Relaxed) {
                self.used.store(true, Ordering::Relaxed);
            }
            return Ok(Arc::clone(store));
        }
        let store = {
            let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(store) = &*self.slot() {
                return Ok(Arc::clone(store));
            }
            let (space, charge) = (Arc::clone(&self.space), Charge::WhileOpen);
            let store = FileStore::open(&self.path, rounded(size), space, charge)
                .map(BlockStore::File)
                .and_then(|store| {
                    store.unmap(size, store.size_bytes().saturating_sub(size))?;
                    Ok(Arc::new(store))
                })
                .map_err(|error| refusal(&error))?;
            self.space.release(self.adopted.swap(0, Ordering::Relaxed));
            *self.slot.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&store));
            self.used.store(true, Ordering::Relaxed);
            store
        };
        self.open_files.opened(self);
        Ok(store)
    }

    fn grow(&self, store: &BlockStore, end: u64) -> Result<(), FileError> {
        let _one = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        if store.size_bytes() >= end {
            return Ok(());
        }
        store.resize(rounded(end)).map_err(|error| refusal(&error))
    }

    /// Closes the file if nobody uses it and nothing waits to be flushed. A user holds the store from before
    /// its write until after it has said so in `unflushed`, so neither can be missed.
    fn close(&self) -> bool {
        let mut slot = self.slot.write().unwrap_or_else(PoisonError::into_inner);
        let Some(store) = &*slot else { return true };
        if Arc::strong_count(store) > 1 || self.unflushed.load(Ordering::Acquire) {
            return false;
        }
        let allocated = store.allocated_bytes();
        self.space.adopt(allocated);
        self.adopted.store(allocated, Ordering::Relaxed);
        *slot = None;
        true
    }
}

impl Drop for HostData {
    fn drop(&mut self) {
        self.space.release(self.adopted.load(Ordering::Relaxed));
    }
}

/// The open files of a namespace, in the order of a clock's hand.
#[derive(Debug, Default)]
pub(super) struct OpenFiles(Mutex<VecDeque<Weak<HostData>>>);

impl OpenFiles {
    fn opened(&self, file: &Arc<HostData>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.push_back(Arc::downgrade(file));
        let mut looked_at = 0;
        // A file gets a second chance when it was used; more than two rounds would find nothing new.
        while files.len() > OPEN_FILES_MAX && looked_at <= 2 * OPEN_FILES_MAX {
            looked_at += 1;
            let Some(next) = files.pop_front() else { break };
            let Some(other) = next.upgrade() else { continue };
            if other.used.swap(false, Ordering::Relaxed) || !other.close() {
                files.push_back(next);
            }
        }
    }
}

/// Where the data of a file lies.
pub(super) fn host_path(folder: &Path, id: FileId) -> PathBuf {
    folder.join(format!("{:016x}", id.0))
}

/// The number in the name of a host file.
pub(super) fn id_of_host_name(name: &str) -> Option<FileId> {
    let digits = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    digits.then(|| u64::from_str_radix(name, 16).ok().map(FileId)).flatten()
}

/// Size of the host file for a file of `size` bytes.
fn rounded(size: u64) -> u64 {
    let step = if size < STEP_BYTES / 64 { ALLOCATION_BYTES * 256 } else { STEP_BYTES };
    size.max(1).div_ceil(step).saturating_mul(step).min(FILE_SIZE_MAX)
}

/// What a client is told of a failure; the log gets the reason.
pub(super) fn refusal(error: &StoreError) -> FileError {
    match error {
        error if error.is_no_space() => FileError::NoSpace,
        StoreError::OutOfRange { .. } => FileError::TooLarge,
        error => {
            tracing::error!(%error, "the store of a file failed");
            FileError::Io
        }
    }
}
