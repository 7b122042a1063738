//! Accounts of allocated bytes: a volume's quota inside its pool's size.
//!
//! Every store and namespace charges what it allocates to a [`Space`]; a space may stand inside a parent,
//! and a reservation succeeds only when every level has room. Thin provisioning is nothing more than the
//! quotas of a pool adding up to more than its size.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::StoreError;

/// A capped count of allocated bytes.
#[derive(Debug)]
pub struct Space {
    limit: AtomicU64,
    used: AtomicU64,
    parent: RwLock<Option<Arc<Space>>>,
}

impl Space {
    /// A space of `limit` bytes of its own.
    pub fn new(limit: u64) -> Arc<Self> {
        Self::make(limit, None)
    }

    /// A space of `limit` bytes whose allocations count in `parent` as well.
    pub fn within(parent: &Arc<Self>, limit: u64) -> Arc<Self> {
        Self::make(limit, Some(Arc::clone(parent)))
    }

    fn make(limit: u64, parent: Option<Arc<Self>>) -> Arc<Self> {
        let parent = RwLock::new(parent);
        Arc::new(Self { limit: AtomicU64::new(limit), used: AtomicU64::new(0), parent })
    }

    /// A space without a limit, for tests and scratch stores.
    pub fn unlimited() -> Arc<Self> {
        Self::new(u64::MAX)
    }

    /// Charges `bytes`, or nothing at all when a level has no room.
    pub fn reserve(&self, bytes: u64) -> Result<(), StoreError> {
        let parent = self.parent();
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|&after| after <= self.limit())
        });
        if let Err(used) = taken {
            return Err(StoreError::NoSpace { used, limit: self.limit() });
        }
        if let Some(parent) = parent.as_ref()
            && let Err(error) = parent.reserve(bytes)
        {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(error);
        }
        Ok(())
    }

    /// Charges what exists already (a store that is opened again), even beyond the limit.
    pub fn adopt(&self, bytes: u64) {
        let parent = self.parent();
        self.used.fetch_add(bytes, Ordering::Relaxed);
        if let Some(parent) = parent.as_ref() {
            parent.adopt(bytes);
        }
    }

    /// Gives back `bytes` that were charged.
    pub fn release(&self, bytes: u64) {
        let parent = self.parent();
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        debug_assert!(before >= bytes, "released {bytes} of {before} bytes");
        if let Some(parent) = parent.as_ref() {
            parent.release(bytes);
        }
    }

    /// Moves what is allocated from the present parent to another one.
    pub(crate) fn move_to(&self, parent: &Arc<Self>) {
        // Reservations hold the lock shared while they charge both levels, so none is half done here.
        let mut slot = self.parent.write().unwrap_or_else(PoisonError::into_inner);
        parent.adopt(self.used());
        if let Some(old) = slot.replace(Arc::clone(parent)) {
            old.release(self.used());
        }
    }

    fn parent(&self) -> std::sync::RwLockReadGuard<'_, Option<Arc<Self>>> {
        self.parent.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes allocated.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be allocated at this level.
    pub fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    /// Bytes that can still be allocated, counting every level.
    pub fn available(&self) -> u64 {
        let here = self.limit().saturating_sub(self.used());
        self.parent().as_ref().map_or(here, |parent| here.min(parent.available()))
    }

    /// Changes the limit; what is allocated beyond a smaller one stays.
    pub fn set_limit(&self, limit: u64) {
        self.limit.store(limit, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_reservation_needs_room_at_every_level_and_leaves_nothing_behind_when_refused() {
        let pool = Space::new(100);
        let first = Space::within(&pool, 80);
        let second = Space::within(&pool, 80);
        first.reserve(60).unwrap();
        assert!(second.reserve(50).unwrap_err().is_no_space());
        assert_eq!((second.used(), pool.used()), (0, 60));
        assert_eq!(second.available(), 40);
        second.reserve(40).unwrap();
        first.release(60);
        assert_eq!(pool.used(), 40);
        assert!(first.reserve(81).is_err(), "its own quota");
        let other = Space::new(1000);
        second.move_to(&other);
        assert_eq!((pool.used(), other.used()), (0, 40));
        second.release(40);
        assert_eq!((pool.used(), other.used()), (0, 0));
    }
}
