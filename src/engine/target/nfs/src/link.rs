//! What a connection knows of the exports it uses and of the handles it has seen.
//!
//! A handle is checked (its code computed, its object looked up, the access rules asked) when a connection
//! shows it for the first time; then it is recognised byte by byte. So the requests of a busy file cost a
//! comparison of 32 bytes. A change of the exports empties what is known; a removed file is noticed by the
//! object itself.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_storage::FlowLimiter;
use plimsoll_storage::namespace::{FileId, Inode};
use plimsoll_wire::nfs3::{FileHandle, Status};

use crate::access::Rule;
use crate::export::{Export, Exports};
use crate::handle::{HANDLE_BYTES, Handle, export_of};

/// Handles a connection remembers; a power of two.
const SLOTS: usize = 256;

/// A connection's use of one export.
pub(crate) struct Link {
    pub export: Arc<Export>,
    pub rule: Rule,
    /// The connection is one flow to the export's volume.
    pub flow: FlowLimiter,
}

/// An object that a handle stands for.
#[derive(Clone)]
pub(crate) struct Target {
    pub link: Arc<Link>,
    pub inode: Arc<Inode>,
}

impl Target {
    pub fn fsid(&self) -> u64 {
        self.link.export.fsid()
    }

    /// The handle of an object of the same export.
    pub fn handle(&self, id: FileId) -> Handle {
        self.link.export.signer.handle(id)
    }
}

struct Slot {
    handle: Handle,
    target: Target,
}

pub(crate) struct Links {
    peer: IpAddr,
    generation: u64,
    links: Vec<Arc<Link>>,
    slots: Box<[Option<Slot>]>,
}

impl Links {
    pub fn new(peer: IpAddr) -> Self {
        Self {
            peer,
            generation: 0,
            links: Vec::new(),
            slots: std::iter::repeat_with(|| None).take(SLOTS).collect(),
        }
    }

    /// The object of a handle.
    pub fn find(&mut self, handle: FileHandle<'_>, exports: &Exports) -> Result<&Target, Status> {
        let handle: &Handle = handle.0.try_into().map_err(|_| Status::BAD_HANDLE)?;
        let generation = exports.generation();
        if self.generation != generation {
            self.links.clear();
            self.slots.iter_mut().for_each(|slot| *slot = None);
            self.generation = generation;
        }
        // The last bytes of both numbers.
        let index = usize::from(handle[7] ^ handle[15]) % SLOTS;
        let slot = &self.slots[index];
        let known = matches!(slot, Some(slot) if slot.handle == *handle);
        if !known || slot.as_ref().is_some_and(|slot| slot.target.inode.is_gone()) {
            // Do not keep the memory of what is gone.
            self.slots[index] = None;
            let target = self.check(handle, exports)?;
            self.slots[index] = Some(Slot { handle: *handle, target });
        }
        self.slots[index].as_ref().map(|slot| &slot.target).ok_or(Status::STALE)
    }

    /// The link to an export, if its rules let the peer in.
    pub fn link(&mut self, export: &Arc<Export>) -> Option<Arc<Link>> {
        if let Some(link) = self.links.iter().find(|link| Arc::ptr_eq(&link.export, export)) {
            return Some(Arc::clone(link));
        }
        let rule = export.access().rule_for(self.peer)?;
        let link = Link { export: Arc::clone(export), rule, flow: FlowLimiter::new() };
        self.links.push(Arc::new(link));
        self.links.last().cloned()
    }

    fn check(&mut self, handle: &Handle, exports: &Exports) -> Result<Target, Status> {
        const { assert!(HANDLE_BYTES == 32) };
        let export = exports.by_fsid(export_of(handle)).ok_or(Status::STALE)?;
        let id = export.signer.check(handle).ok_or(Status::STALE)?;
        let link = self.link(&export).ok_or(Status::ACCESS)?;
        if export.volume().is_deleted() {
            return Err(Status::STALE);
        }
        let inode = export.namespace().find(id).map_err(|_| Status::STALE)?;
        Ok(Target { link, inode })
    }
}
