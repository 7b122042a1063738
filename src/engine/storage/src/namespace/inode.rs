//! One object of a namespace, shared by everybody who works on it.
//!
//! An [`Inode`] lives as long as somebody holds it: a read in flight ends in peace when its file is removed
//! meanwhile. Locks, in the order they may be taken: `gate`, then the tree of the namespace, then `state`.
//! `gate` is shared by reads and writes of data and exclusive for a change of size, so that a truncation
//! and a write never mix; `state` is held for a few instructions only.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::attributes::{Attributes, FileId, Kind};
use super::data::Data;
use super::directory::Directory;
use super::flush::Flush;
use super::journal::Ticket;
use super::record::{Record, Rest};

/// An object of a namespace.
#[derive(Debug)]
pub struct Inode {
    id: FileId,
    kind: Kind,
    gone: AtomicBool,
    gate: RwLock<()>,
    state: Mutex<State>,
    content: Content,
    pub(super) flush: Mutex<Flush>,
}

/// What an object holds besides its attributes. The entries of a directory are in the tree.
#[derive(Debug)]
pub(super) enum Content {
    Data(Data),
    Symlink(Box<[u8]>),
    Nothing,
}

#[derive(Debug)]
pub(super) struct State {
    /// `used` is filled in by [`Inode::attributes`].
    pub attributes: Attributes,
    /// Verifier of the EXCLUSIVE CREATE that made it.
    pub exclusive: Option<[u8; 8]>,
    /// Attributes changed since they were last written down.
    pub dirty: bool,
    /// Stands for the last time they were written down.
    pub recorded: Ticket,
}

impl Inode {
    pub(super) fn new(
        attributes: Attributes,
        exclusive: Option<[u8; 8]>,
        content: Content,
    ) -> Self {
        Self {
            id: attributes.id,
            kind: attributes.kind,
            gone: AtomicBool::new(false),
            gate: RwLock::new(()),
            state: Mutex::new(State {
                attributes,
                exclusive,
                dirty: false,
                recorded: Ticket::STABLE,
            }),
            content,
            flush: Mutex::default(),
        }
    }

    /// Its number.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// Its kind.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether its last name was removed: handles to it are stale.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Its attributes now.
    pub fn attributes(&self) -> Attributes {
        let attributes = self.state().attributes;
        self.with_used(attributes)
    }

    /// The text of a symbolic link.
    pub fn link_text(&self) -> Option<&[u8]> {
        match &self.content {
            Content::Symlink(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn with_used(&self, mut attributes: Attributes) -> Attributes {
        attributes.used = match &self.content {
            Content::Data(data) => data.allocated_bytes(),
            Content::Symlink(_) | Content::Nothing => 0,
        };
        attributes
    }

    pub(super) fn data(&self) -> Option<&Data> {
        match &self.content {
            Content::Data(data) => Some(data),
            _ => None,
        }
    }

    pub(super) fn mark_gone(&self, _proof: &MutexGuard<'_, State>) {
        self.gone.store(true, Ordering::Release);
    }

    /// Locks the attributes. Every change under this lock is complete before anything can panic, so a
    /// poisoned lock still guards sound data.
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn gate_shared(&self) -> RwLockReadGuard<'_, ()> {
        self.gate.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn gate_exclusive(&self) -> RwLockWriteGuard<'_, ()> {
        self.gate.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is written down of it; a directory's with its entries' counter.
    pub(super) fn record(&self, state: &State, entries: Option<&Directory>) -> Record {
        let rest = match (&self.content, entries) {
            (_, Some(entries)) => {
                Rest::Directory { parent: entries.parent, next_cookie: entries.next_cookie }
            }
            (Content::Symlink(text), None) => Rest::Symlink(text.clone()),
            (Content::Data(_) | Content::Nothing, None) => Rest::None,
        };
        Record { attributes: state.attributes, exclusive: state.exclusive, rest }
    }

    /// Gives back the space of a file that is gone, although somebody may still hold it.
    pub(super) fn release_data(&self) {
        debug_assert!(self.is_gone());
        // Whoever passed the gate before sees the data; whoever comes after sees that the file is gone.
        drop(self.gate_exclusive());
        if let Some(data) = self.data() {
            let size = self.state().attributes.size;
            if data.allocated_bytes() > 0 && data.release(size).is_err() {
                tracing::warn!(id = self.id.0, "space of a removed file is kept until a restart");
            }
        }
    }
}
