//! The bytes of one regular file: a memory store, or a sparse host file that is opened when first needed.
//!
//! A host file is named by the number of its object under the `data` folder of the backing, so that no
//! name of a client ever reaches the host. It may be longer than the file: it grows in steps, and what a
//! crash left beyond the recorded size is unmapped at the first use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::attributes::FileId;
use super::error::FileError;
use crate::store::ALLOCATION_BYTES;
use crate::{BlockStore, Charge, FileStore, MemoryStore, Space, StoreError};

/// Largest file in bytes: 64 TiB, above the 62 TiB that a virtual disk may have.
pub const FILE_SIZE_MAX: u64 = 64 << 40;
/// A host file grows in steps of this many bytes.
const STEP_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) enum Data {
    Memory(BlockStore),
    Host(HostData),
}

/// Data in a host file.
#[derive(Debug)]
pub(super) struct HostData {
    path: PathBuf,
    space: Arc<Space>,
    store: OnceLock<BlockStore>,
    opening: Mutex<()>,
    /// Bytes charged before the store is open.
    adopted: AtomicU64,
}

impl Data {
    pub fn memory(space: &Arc<Space>) -> Self {
        Self::Memory(BlockStore::Memory(MemoryStore::new(FILE_SIZE_MAX, Arc::clone(space))))
    }

    /// Data of a file that may exist already, with `allocated` bytes that are charged now.
    pub fn host(folder: &Path, id: FileId, space: &Arc<Space>, allocated: u64) -> Self {
        space.adopt(allocated);
        Self::Host(HostData {
            path: host_path(folder, id),
            space: Arc::clone(space),
            store: OnceLock::new(),
            opening: Mutex::default(),
            adopted: AtomicU64::new(allocated),
        })
    }

    pub fn allocated_bytes(&self) -> u64 {
        match self {
            Self::Memory(store) => store.allocated_bytes(),
            Self::Host(host) => match host.store.get() {
                Some(store) => store.allocated_bytes(),
                None => host.adopted.load(Ordering::Relaxed),
            },
        }
    }

    /// The store; `size` is the present size of the file, beyond which nothing may be left when a host file
    /// is opened.
    pub fn store(&self, size: u64) -> Result<&BlockStore, FileError> {
        match self {
            Self::Memory(store) => Ok(store),
            Self::Host(host) => host.open(size),
        }
    }

    /// Writes, after making room for it.
    pub fn write(&self, size: u64, offset: u64, bytes: &[u8]) -> Result<(), FileError> {
        let store = self.store(size)?;
        let end = offset + bytes.len() as u64;
        if store.size_bytes() < end
            && let Self::Host(host) = self
        {
            host.grow(store, end)?;
        }
        store.write(offset, bytes).map_err(|error| refusal(&error))
    }

    /// Lets go of everything beyond `size`, so that it reads as zeroes when the file grows again.
    pub fn cut(&self, old_size: u64, size: u64) -> Result<(), FileError> {
        let store = self.store(old_size)?;
        let end = old_size.min(store.size_bytes());
        store.unmap(size, end.saturating_sub(size)).map_err(|error| refusal(&error))
    }

    /// Whether a flush has something to do: a file not opened since the start was not written to.
    pub fn needs_flush(&self) -> bool {
        matches!(self, Self::Host(host) if host.store.get().is_some())
    }

    /// Waits until what was written before is durable.
    pub fn flush(&self) -> Result<(), FileError> {
        match self {
            Self::Memory(_) => Ok(()),
            Self::Host(host) => host
                .store
                .get()
                .map_or(Ok(()), |store| store.flush().map_err(|error| refusal(&error))),
        }
    }
}

impl HostData {
    fn open(&self, size: u64) -> Result<&BlockStore, FileError> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        self.space.release(self.adopted.swap(0, Ordering::Relaxed));
        let store =
            FileStore::open(&self.path, rounded(size), Arc::clone(&self.space), Charge::WhileOpen)
                .map(BlockStore::File)
                .and_then(|store| {
                    store.unmap(size, store.size_bytes().saturating_sub(size))?;
                    Ok(store)
                })
                .map_err(|error| refusal(&error))?;
        Ok(self.store.get_or_init(|| store))
    }

    fn grow(&self, store: &BlockStore, end: u64) -> Result<(), FileError> {
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if store.size_bytes() >= end {
            return Ok(());
        }
        store.resize(rounded(end)).map_err(|error| refusal(&error))
    }
}

impl Drop for HostData {
    fn drop(&mut self) {
        self.space.release(self.adopted.load(Ordering::Relaxed));
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
