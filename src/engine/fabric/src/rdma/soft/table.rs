//! Registrations of one soft domain: keys, rights and bounds, checked on every access as an adapter does.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use super::super::{Access, Keys, RdmaError, Registrar, Segment};

/// A registration.
struct Entry {
    address: u64,
    len: u64,
    access: Access,
    /// The peer may make the remote key invalid.
    invalidatable: bool,
    remote_is_valid: AtomicBool,
}

/// A range that may be accessed for as long as this is held: the registration waits with its end.
pub(super) struct Grant {
    _entry: Arc<Entry>,
    pub pointer: *mut u8,
    pub len: usize,
}

#[derive(Clone, Copy)]
pub(super) enum Right {
    LocalRead,
    LocalWrite,
    RemoteRead,
    RemoteWrite,
}

/// Keys are slot and generation, so a key that was used finds nothing.
#[derive(Default)]
pub(super) struct Table {
    slots: RwLock<Vec<Slot>>,
}

#[derive(Default)]
struct Slot {
    generation: u8,
    entry: Option<Arc<Entry>>,
}

impl Table {
    fn entry(&self, key: u32) -> Option<Arc<Entry>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        let slot = slots.get((key >> 8) as usize)?;
        if u32::from(slot.generation) != key & 0xff { None } else { slot.entry.clone() }
    }

    /// A range under a key with a right; nothing when the key, its rights or its bounds forbid it.
    pub fn grant(&self, key: u32, address: u64, len: u64, right: Right) -> Option<Grant> {
        let entry = self.entry(key)?;
        let Access { local_write, remote_read, remote_write } = entry.access;
        let allowed = match right {
            Right::LocalRead => true,
            Right::LocalWrite => local_write,
            Right::RemoteRead => remote_read && entry.remote_is_valid.load(Ordering::Acquire),
            Right::RemoteWrite => remote_write && entry.remote_is_valid.load(Ordering::Acquire),
        };
        let inside = address >= entry.address
            && address.checked_add(len).is_some_and(|end| end <= entry.address + entry.len);
        (allowed && inside).then_some(Grant {
            pointer: address as *mut u8,
            len: len as usize,
            _entry: entry,
        })
    }

    pub fn local(&self, segment: &Segment, right: Right) -> Option<Grant> {
        self.grant(segment.key, segment.address, u64::from(segment.len), right)
    }

    /// Send with invalidate; false when the key cannot be made invalid by the peer.
    pub fn invalidate(&self, key: u32) -> bool {
        self.entry(key).is_some_and(|entry| {
            entry.invalidatable && entry.remote_is_valid.swap(false, Ordering::AcqRel)
        })
    }

    fn insert(&self, entry: Arc<Entry>) -> u32 {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let index = slots.iter().position(|slot| slot.entry.is_none()).unwrap_or_else(|| {
            slots.push(Slot::default());
            slots.len() - 1
        });
        let slot = &mut slots[index];
        slot.generation = slot.generation.wrapping_add(1);
        slot.entry = Some(entry);
        (index as u32) << 8 | u32::from(slot.generation)
    }

    fn remove(&self, key: u32) {
        let entry = {
            let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
            slots.get_mut((key >> 8) as usize).and_then(|slot| slot.entry.take())
        };
        // What is being copied now is let finish: a copy takes microseconds.
        while entry.as_ref().is_some_and(|entry| Arc::strong_count(entry) > 1) {
            std::thread::yield_now();
        }
    }
}

/// Registers in a table.
pub(super) struct SoftRegistrar {
    pub table: Arc<Table>,
    /// Remote keys may be made invalid by the peer, as those of fast registration are.
    pub invalidatable: bool,
}

struct Registration {
    table: Arc<Table>,
    key: u32,
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.table.remove(self.key);
    }
}

impl Registrar for SoftRegistrar {
    fn register(
        &self,
        pointer: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<(Keys, Box<dyn Any + Send + Sync>), RdmaError> {
        if access.remote_write && !access.local_write {
            return Err(RdmaError::BadWork("remote write needs local write"));
        }
        let key = self.table.insert(Arc::new(Entry {
            address: pointer as u64,
            len: len as u64,
            access,
            invalidatable: self.invalidatable,
            remote_is_valid: AtomicBool::new(true),
        }));
        let registration = Registration { table: Arc::clone(&self.table), key };
        Ok((Keys { local: key, remote: key }, Box::new(registration)))
    }
}
