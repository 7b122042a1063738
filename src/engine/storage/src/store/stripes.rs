//! Locks of grains: one table per kind of store for the whole process, so that ten thousand small files cost nothing.
//!
//! A grain of a store hashes to a stripe; neighbouring grains have neighbouring stripes. Deadlock rule: a
//! thread holds the stripes of one call only, they are taken in ascending order, and nothing else is locked
//! while they are held but the pool of grains.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

const STRIPES: usize = 1024;
/// Most grains that may be locked at once.
pub(super) const MAX_SPAN: usize = 17;

#[repr(align(64))]
struct Stripe(RwLock<()>);

type Table = [Stripe; STRIPES];
static MEMORY: Table = [const { Stripe(RwLock::new(())) }; STRIPES];
/// Apart from memory, so that a write that waits for a slow disk stops nobody else's memory.
static FILES: Table = [const { Stripe(RwLock::new(())) }; STRIPES];
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Where the stripes of one store begin in the table.
pub(super) struct Stripes {
    table: &'static Table,
    base: u64,
}

type Guard = RwLockWriteGuard<'static, ()>;

/// The locks of a range. Most writes touch one grain: its guard needs no list.
pub(super) enum Exclusive {
    One { _guard: Guard },
    Many { _guards: SmallVec<[Guard; 4]> },
}

impl Stripes {
    pub(super) fn memory() -> Self {
        Self::new(&MEMORY)
    }

    pub(super) fn files() -> Self {
        Self::new(&FILES)
    }

    fn new(table: &'static Table) -> Self {
        // An odd stride spreads the first grains of stores, which are the busiest, over the table.
        Self { table, base: NEXT.fetch_add(1, Ordering::Relaxed).wrapping_mul(397) }
    }

    fn index(&self, grain: u64) -> usize {
        (self.base.wrapping_add(grain) % STRIPES as u64) as usize
    }

    pub(super) fn shared(&self, grain: u64) -> RwLockReadGuard<'static, ()> {
        // A panic under the lock cannot leave the unit type inconsistent.
        self.table[self.index(grain)].0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks grains `first..=last`, at most [`MAX_SPAN`] of them.
    pub(super) fn exclusive(&self, first: u64, last: u64) -> Exclusive {
        let count = (last - first) as usize + 1;
        debug_assert!(count <= MAX_SPAN);
        let start = self.index(first);
        let lock = |index: usize| -> Guard {
            self.table[index].0.write().unwrap_or_else(PoisonError::into_inner)
        };
        if count == 1 {
            return Exclusive::One { _guard: lock(start) };
        }
        let wrapped = (start + count).saturating_sub(STRIPES);
        Exclusive::Many {
            _guards: (0..wrapped).chain(start..start + count - wrapped).map(lock).collect(),
        }
    }
}
