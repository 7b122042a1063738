//! Registrations of one soft domain: keys, rights and bounds, checked on every access as an adapter does.

use std::any::Any;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

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

/// A range that may be accessed for as long as its table is held.
#[derive(Clone, Copy)]
pub(super) struct Grant<'t> {
    pub pointer: *mut u8,
    pub len: usize,
    held: PhantomData<&'t Slots>,
}

#[derive(Clone, Copy)]
pub(super) enum Right {
    LocalRead,
    LocalWrite,
    RemoteRead,
    RemoteWrite,
}

/// The registrations of a domain. While it is held by a reader none of them ends.
#[derive(Default)]
pub(super) struct Table(RwLock<Slots>);

/// Keys are slot and generation, and slots are used again in turn, so a key that was used finds nothing for
/// long.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    free: VecDeque<u32>,
}

#[derive(Default)]
struct Slot {
    generation: u8,
    entry: Option<Entry>,
}

impl Slots {
    fn entry(&self, key: u32) -> Option<&Entry> {
        let slot = self.all.get((key >> 8) as usize)?;
        if u32::from(slot.generation) == key & 0xff { slot.entry.as_ref() } else { None }
    }

    /// A range under a key with a right; nothing when the key, its rights or its bounds forbid it.
    pub fn grant(&self, key: u32, address: u64, len: u64, right: Right) -> Option<Grant<'_>> {
        let entry = self.entry(key)?;
        let Access { local_write, remote_read, remote_write } = entry.access;
        let is_valid = || entry.remote_is_valid.load(Ordering::Acquire);
        let allowed = match right {
            Right::LocalRead => true,
            Right::LocalWrite => local_write,
            Right::RemoteRead => remote_read && is_valid(),
            Right::RemoteWrite => remote_write && is_valid(),
        };
        let inside = address >= entry.address
            && address.checked_add(len).is_some_and(|end| end <= entry.address + entry.len);
        (allowed && inside).then_some(Grant {
            pointer: address as *mut u8,
            len: len as usize,
            held: PhantomData,
        })
    }

    pub fn local(&self, segment: &Segment, right: Right) -> Option<Grant<'_>> {
        self.grant(segment.key, segment.address, u64::from(segment.len), right)
    }

    /// Send with invalidate; false when the key cannot be made invalid by the peer.
    pub fn invalidate(&self, key: u32) -> bool {
        self.entry(key).is_some_and(|entry| {
            entry.invalidatable && entry.remote_is_valid.swap(false, Ordering::AcqRel)
        })
    }

    /// Makes every remote key invalid.
    pub fn invalidate_all(&self) {
        for entry in self.all.iter().filter_map(|slot| slot.entry.as_ref()) {
            entry.remote_is_valid.store(false, Ordering::Release);
        }
    }
}

impl Table {
    /// Keeps all registrations as they are. Of two tables, the one of the connecting end is held first, so
    /// that two pairs never wait for each other.
    pub fn hold(&self) -> RwLockReadGuard<'_, Slots> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, entry: Entry) -> u32 {
        let slots = &mut *self.0.write().unwrap_or_else(PoisonError::into_inner);
        let index = slots.free.pop_front().unwrap_or_else(|| {
            slots.all.push(Slot::default());
            slots.all.len() as u32 - 1
        });
        let slot = &mut slots.all[index as usize];
        slot.generation = slot.generation.wrapping_add(1);
        slot.entry = Some(entry);
        index << 8 | u32::from(slot.generation)
    }

    /// Waits for whoever holds the table: what is being copied now is let finish.
    fn remove(&self, key: u32) {
        let slots = &mut *self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.all.get_mut((key >> 8) as usize)
            && slot.entry.take().is_some()
        {
            slots.free.push_back(key >> 8);
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
        let key = self.table.insert(Entry {
            address: pointer as u64,
            len: len as u64,
            access,
            invalidatable: self.invalidatable,
            remote_is_valid: AtomicBool::new(true),
        });
        let registration = Registration { table: Arc::clone(&self.table), key };
        Ok((Keys { local: key, remote: key }, Box::new(registration)))
    }
}
