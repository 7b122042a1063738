//! The files of one export.
//!
//! A [`Namespace`] holds its tree in memory, which is what every operation works on; with a folder behind
//! it, changes are also written to a database there and file data to sparse host files. Everything is
//! addressed by [`FileId`], a number that is never used twice: names of clients are keys in a table and
//! never become host paths, so neither `..` nor a symbolic link can lead out of an export.
//!
//! ```text
//! names     Tree ──Change──▶ Journal ──one transaction for many──▶ namespace.redb
//! data      Inode ──▶ BlockStore ──flush──▶ data/<number>, then its size to the Journal
//! ```
//!
//! An operation that changes something returns a [`Done`] with the [`Ticket`] its reply must wait for.

mod attributes;
mod create;
mod credential;
mod data;
mod directory;
mod error;
mod flush;
mod inode;
mod io;
mod journal;
mod load;
mod lookup;
#[cfg(test)]
mod model;
mod name;
mod record;
mod remove;
mod rename;
mod set;
#[cfg(test)]
mod tests;
mod tree;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use attributes::{
    Around, Attributes, Before, FileId, Kind as FileKind, SetAttributes, SetTime, Timestamp,
};
pub use create::{Created, How, Node};
pub use credential::{Credential, EXECUTE, READ, WRITE};
pub use data::FILE_SIZE_MAX;
pub use directory::{COOKIE_PARENT, COOKIE_SELF};
pub use error::{FileError, OpenError};
pub use inode::Inode;
pub use io::{Read, Written};
pub use journal::{Ticket, WhenStable};
pub use lookup::ListItem;
pub use name::{NAME_MAX, Name};
pub use rename::Renamed;

use crate::{Blocking, Space};
use journal::{Change, Journal};
use tree::Tree;

/// Longest text of a symbolic link in bytes.
pub const LINK_MAX: usize = 4096;
/// Most names of one object.
pub const LINKS_MAX: u32 = 65_000;
/// Most objects of a namespace unless set otherwise: 450 MB of memory when each has a short name (0.9 KB measured).
const OBJECTS_MAX: u64 = 500_000;
/// The same when the data is in memory as well: an empty file takes 1.1 KB there.
const OBJECTS_MAX_IN_MEMORY: u64 = 400_000;

/// The result of a change, and what its reply must wait for.
#[derive(Debug)]
pub struct Done<T> {
    /// The result.
    pub value: T,
    /// When [`Namespace::when_stable`] reports this, the result may be told.
    pub ticket: Ticket,
}

/// How full a namespace is (FSSTAT).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// The quota in bytes.
    pub total_bytes: u64,
    /// Bytes that can still be allocated.
    pub free_bytes: u64,
    /// Objects it may hold.
    pub total_objects: u64,
    /// Objects it can still take.
    pub free_objects: u64,
}

/// The file system of one export.
#[derive(Debug)]
pub struct Namespace {
    tree: RwLock<Tree>,
    root: Arc<Inode>,
    secret: [u8; 32],
    space: Arc<Space>,
    blocking: Arc<Blocking>,
    objects_max: AtomicU64,
    /// Where the data of files lies, unless in memory.
    data_folder: Option<std::path::PathBuf>,
    open_files: Arc<data::OpenFiles>,
    journal: Option<Journal>,
}

impl Namespace {
    /// The top directory.
    pub fn root(&self) -> &Arc<Inode> {
        &self.root
    }

    /// A key that is the namespace's own for life: what handles are signed with.
    pub fn secret(&self) -> &[u8; 32] {
        &self.secret
    }

    /// The account its data is charged to; its limit is the quota.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The pool of threads that what may wait is done on.
    pub fn blocking(&self) -> &Arc<Blocking> {
        &self.blocking
    }

    /// How full it is.
    pub fn usage(&self) -> Usage {
        let objects = self.tree().inodes.len() as u64;
        let total_objects = self.objects_max.load(Ordering::Relaxed);
        Usage {
            total_bytes: self.space.limit(),
            free_bytes: self.space.available(),
            total_objects,
            free_objects: total_objects.saturating_sub(objects),
        }
    }

    /// Changes how many objects it may hold.
    pub fn set_objects_max(&self, objects: u64) {
        self.objects_max.store(objects, Ordering::Relaxed);
    }

    /// The object with this number, as long as it has a name.
    pub fn find(&self, id: FileId) -> Result<Arc<Inode>, FileError> {
        self.tree().find(id).cloned()
    }

    /// Calls `done` when the changes of the ticket are durable; at once if they are or if the namespace is
    /// in memory. An error means that they may be lost.
    pub fn when_stable(&self, ticket: Ticket, done: WhenStable) {
        match &self.journal {
            Some(journal) if !ticket.is_stable() => journal.when_stable(ticket, done),
            _ => done(Ok(())),
        }
    }

    /// Blocks until the changes of the ticket are durable.
    pub fn wait_stable(&self, ticket: Ticket) -> Result<(), FileError> {
        let (sender, receiver) = std::sync::mpsc::channel();
        let done = move |result| {
            let _ = sender.send(result);
        };
        self.when_stable(ticket, Box::new(done));
        receiver.recv().unwrap_or(Err(FileError::Io))
    }

    /// Refuses changes after the metadata could not be written once.
    fn check_writable(&self) -> Result<(), FileError> {
        match &self.journal {
            Some(journal) if journal.has_failed() => Err(FileError::Io),
            _ => Ok(()),
        }
    }

    /// Hands changes to the journal; called with the tree or the object's state locked.
    fn push(&self, changes: Vec<Change>) -> Ticket {
        self.journal.as_ref().map_or(Ticket::STABLE, |journal| journal.push(changes))
    }

    /// Gives back the space of a removed file once its removal is durable; on the pool of threads, because
    /// it may be large.
    fn reap(&self, inode: Arc<Inode>, ticket: Ticket) {
        if !inode.is_gone() || inode.data().is_none() {
            return;
        }
        let blocking = Arc::clone(&self.blocking);
        let release = move |result: Result<(), FileError>| {
            // When the pool is full, the space comes back when the last holder lets go.
            if result.is_ok() {
                let _ = blocking.run(move || inode.release_data());
            }
        };
        self.when_stable(ticket, Box::new(release));
    }

    /// Changes under the lock are complete before anything can panic, so poison means nothing.
    fn tree(&self) -> RwLockReadGuard<'_, Tree> {
        self.tree.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn tree_mut(&self) -> RwLockWriteGuard<'_, Tree> {
        self.tree.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Namespace {
    /// A clean end writes down what is only in memory; the journal commits it when it is dropped.
    fn drop(&mut self) {
        let Some(journal) = &self.journal else { return };
        let tree = self.tree.get_mut().unwrap_or_else(PoisonError::into_inner);
        let dirty = tree.inodes.values().filter_map(|inode| {
            let mut state = inode.state();
            std::mem::take(&mut state.dirty)
                .then(|| Change::Put(inode.id(), inode.record(&state, None)))
        });
        let changes: Vec<Change> = dirty.collect();
        if !changes.is_empty() {
            journal.push(changes);
        }
    }
}
