//! A growable table with one entry per grain that costs nothing until it is touched.
//!
//! Entries live in segments that double in size (16, 16, 32, 64, …), so an entry never moves, a small file
//! pays for 16 entries, and a thin volume of many TiB pays only for the pages of the table it touches: a
//! segment is allocated zeroed, which the allocator leaves to the kernel to provide page by page.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// Entries of the first two segments.
const FIRST: u64 = 16;
/// Enough for 2^36 grains: 4 PiB.
const SEGMENTS: usize = 33;

/// Types for which all bytes zero is a valid value.
///
/// # Safety
/// The implementer must be valid when its memory is all zero, and must not need dropping.
#[allow(unsafe_code)]
pub(super) unsafe trait Zeroed {}

// SAFETY: a null pointer is a valid value of `AtomicPtr`, which has the layout of a pointer and no drop glue.
#[allow(unsafe_code)]
unsafe impl<T> Zeroed for AtomicPtr<T> {}
// SAFETY: an array of integers; zero is valid and nothing is dropped.
#[allow(unsafe_code)]
unsafe impl Zeroed for [AtomicU64; 3] {}

/// The table.
pub(super) struct Grains<T> {
    segments: [OnceLock<Box<[T]>>; SEGMENTS],
}

impl<T: Zeroed> Grains<T> {
    pub(super) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS] }
    }

    /// The entry of a grain if its segment was ever touched.
    pub(super) fn get(&self, grain: u64) -> Option<&T> {
        let (segment, index) = place(grain);
        self.segments.get(segment)?.get()?.get(index)
    }

    /// The entry of a grain; its segment is allocated when it is the first one touched there.
    ///
    /// `None` only beyond 4 PiB, which no store is created with.
    pub(super) fn touch(&self, grain: u64) -> Option<&T> {
        let (segment, index) = place(grain);
        let entries = self.segments.get(segment)?.get_or_init(|| zeroed(capacity(segment)));
        entries.get(index)
    }

    /// The first grain at or after `grain` whose segment was touched, if any.
    pub(super) fn next_touched(&self, grain: u64) -> Option<u64> {
        let (segment, _) = place(grain);
        let touched = (segment..SEGMENTS).find(|&at| self.segments[at].get().is_some())?;
        Some(grain.max(base(touched)))
    }

    /// Calls `each` for every entry of a touched segment.
    pub(super) fn each(&self, mut each: impl FnMut(u64, &T)) {
        for (segment, entries) in self.segments.iter().enumerate() {
            let entries = entries.get().map_or(&[][..], |entries| entries);
            for (grain, entry) in (base(segment)..).zip(entries) {
                each(grain, entry);
            }
        }
    }
}

fn capacity(segment: usize) -> usize {
    (FIRST << segment.saturating_sub(1)) as usize
}

/// The first grain of a segment.
fn base(segment: usize) -> u64 {
    if segment == 0 { 0 } else { FIRST << (segment - 1) }
}

fn place(grain: u64) -> (usize, usize) {
    let segment = (grain / FIRST).checked_ilog2().map_or(0, |power| power as usize + 1);
    (segment, (grain - base(segment)) as usize)
}

/// `len` zeroed entries, their memory untouched.
#[allow(unsafe_code)]
fn zeroed<T: Zeroed>(len: usize) -> Box<[T]> {
    let Ok(layout) = Layout::array::<T>(len) else { return Box::new([]) };
    if layout.size() == 0 {
        return Box::new([]);
    }
    // SAFETY: the layout has a size that is not zero; the memory comes from the global allocator with the
    // layout of `[T; len]`, which is what `Box<[T]>` gives back; zero bytes are valid (`Zeroed`).
    unsafe {
        let memory = alloc_zeroed(layout);
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Box::from_raw(std::ptr::slice_from_raw_parts_mut(memory.cast::<T>(), len))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering;

    #[test]
    fn every_grain_has_one_place() {
        let mut expected = (0, 0);
        for grain in 0..10_000 {
            assert_eq!(place(grain), expected, "grain {grain}");
            expected.1 += 1;
            if expected.1 == capacity(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place((1 << 36) - 1).0 < SEGMENTS);
    }

    #[test]
    fn untouched_segments_are_absent_and_touched_entries_start_at_zero() {
        let table = Grains::<[AtomicU64; 3]>::new();
        assert!(table.get(5).is_none());
        assert_eq!(table.next_touched(0), None);
        let far = 1 << 24;
        table.touch(far + 3).unwrap()[0].store(7, Ordering::Relaxed);
        assert_eq!(table.get(far + 3).unwrap()[0].load(Ordering::Relaxed), 7);
        assert_eq!(table.get(far + 4).unwrap()[1].load(Ordering::Relaxed), 0);
        assert_eq!(table.next_touched(9), Some(far));
        assert_eq!(table.next_touched(far + 9), Some(far + 9));
    }
}
