//! A growable table with one entry per grain that costs nothing until it is touched.
//!
//! The entries of the first 32 MiB live in segments that double in size (16, 16, 32, 64, …), so that a small
//! file pays for 16 entries. Those beyond live in leaves of 512 entries under a tree of four levels, so that
//! a volume of many TiB, or a file that a client has written far out, pays for the leaves that were touched
//! and a few nodes above them, and is walked and dropped by them. An entry never moves.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64};

/// Entries of the first two segments.
const FIRST: u64 = 16;
/// Segments: 16 + 16 + 32 + … + 256 entries, which is as many as a leaf has.
const SEGMENTS: usize = 6;
/// Entries of a leaf, children of a node: nine bits of the number of a grain.
const FAN: usize = 512;
const FAN_BITS: u32 = FAN.ilog2();
/// Enough for 2^36 grains: 4 PiB.
const GRAIN_BITS: u32 = 4 * FAN_BITS;

type Leaf<T> = Box<[T]>;

/// Children, each absent until it is touched.
struct Node<C>(Box<[OnceLock<C>]>);

impl<C> Node<C> {
    fn new() -> Self {
        Self((0..FAN).map(|_| OnceLock::new()).collect())
    }

    fn get(&self, at: usize) -> Option<&C> {
        self.0.get(at)?.get()
    }

    /// Those that are there from child `start` on.
    fn touched(&self, start: usize) -> impl Iterator<Item = (usize, &C)> {
        let children = self.0.iter().enumerate().skip(start);
        children.filter_map(|(at, child)| Some((at, child.get()?)))
    }
}

type Tree<T> = Node<Node<Node<Leaf<T>>>>;

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
    near: [OnceLock<Leaf<T>>; SEGMENTS],
    far: OnceLock<Tree<T>>,
}

impl<T: Zeroed> Grains<T> {
    pub(super) fn new() -> Self {
        Self { near: [const { OnceLock::new() }; SEGMENTS], far: OnceLock::new() }
    }

    /// The entry of a grain if its segment or leaf was ever touched.
    pub(super) fn get(&self, grain: u64) -> Option<&T> {
        if grain < FAN as u64 {
            let (segment, index) = place(grain);
            return self.near.get(segment)?.get()?.get(index);
        }
        let [a, b, c, entry] = digits(grain)?;
        self.far.get()?.get(a)?.get(b)?.get(c)?.get(entry)
    }

    /// The entry of a grain; its segment or leaf is allocated when it is the first one touched there.
    ///
    /// `None` only beyond 4 PiB, which no store is created with.
    pub(super) fn touch(&self, grain: u64) -> Option<&T> {
        if grain < FAN as u64 {
            let (segment, index) = place(grain);
            return self.near.get(segment)?.get_or_init(|| zeroed(capacity(segment))).get(index);
        }
        let [a, b, c, entry] = digits(grain)?;
        let upper = self.far.get_or_init(Node::new).0.get(a)?.get_or_init(Node::new);
        let lower = upper.0.get(b)?.get_or_init(Node::new);
        lower.0.get(c)?.get_or_init(|| zeroed(FAN)).get(entry)
    }

    /// The first grain at or after `grain` whose segment or leaf was touched, if any.
    pub(super) fn next_touched(&self, grain: u64) -> Option<u64> {
        if grain < FAN as u64 {
            let (segment, _) = place(grain);
            if let Some(at) = (segment..SEGMENTS).find(|&at| self.near[at].get().is_some()) {
                return Some(grain.max(base(at)));
            }
        }
        let from = grain.max(FAN as u64);
        self.leaves(from).next().map(|(first, _)| first.max(from))
    }

    /// Calls `each` for every entry of a touched segment or leaf.
    pub(super) fn each(&self, mut each: impl FnMut(u64, &T)) {
        let near = self.near.iter().enumerate();
        let near = near.filter_map(|(segment, entries)| Some((base(segment), entries.get()?)));
        for (first, entries) in near.chain(self.leaves(0)) {
            for (grain, entry) in (first..).zip(entries) {
                each(grain, entry);
            }
        }
    }

    /// The touched leaves that end beyond `from`, in order, each with its first grain.
    fn leaves(&self, from: u64) -> impl Iterator<Item = (u64, &Leaf<T>)> {
        let [a0, b0, c0, _] = digits(from).unwrap_or([FAN; 4]);
        let start = move |on_the_way: bool, at| if on_the_way { at } else { 0 };
        self.far.get().into_iter().flat_map(move |tree| {
            tree.touched(a0).flat_map(move |(a, upper)| {
                upper.touched(start(a == a0, b0)).flat_map(move |(b, lower)| {
                    let first = start(a == a0 && b == b0, c0);
                    lower.touched(first).map(move |(c, leaf)| {
                        let number = ((a * FAN + b) * FAN + c) * FAN;
                        (number as u64, leaf)
                    })
                })
            })
        })
    }
}

fn capacity(segment: usize) -> usize {
    (FIRST << segment.saturating_sub(1)) as usize
}

/// The first grain of a segment.
fn base(segment: usize) -> u64 {
    if segment == 0 { 0 } else { FIRST << (segment - 1) }
}

/// Segment and index of a near grain.
fn place(grain: u64) -> (usize, usize) {
    let segment = (grain / FIRST).checked_ilog2().map_or(0, |power| power as usize + 1);
    (segment, (grain - base(segment)) as usize)
}

/// The way to the entry of a far grain: three children, then the entry.
fn digits(grain: u64) -> Option<[usize; 4]> {
    let digit = |level: u32| (grain >> (level * FAN_BITS)) as usize % FAN;
    (grain >> GRAIN_BITS == 0).then(|| [digit(3), digit(2), digit(1), digit(0)])
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
        for grain in 0..FAN as u64 {
            assert_eq!(place(grain), expected, "grain {grain}");
            expected.1 += 1;
            if expected.1 == capacity(expected.0) {
                expected = (expected.0 + 1, 0);
            }
        }
        assert_eq!(expected, (SEGMENTS, 0), "the segments end where the tree begins");
        assert_eq!(digits((1 << 36) - 1), Some([511; 4]));
        assert_eq!(digits(1 << 36), None);
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
    #[test]
    fn far_entries_are_found_again_in_order_and_nothing_else_is_walked() {
        let table = Grains::<[AtomicU64; 3]>::new();
        let touched = [3, 511, 512, 1023, 70_000, 1 << 18, (1 << 27) - 1, 1 << 27, (1 << 36) - 1];
        for grain in touched {
            table.touch(grain).unwrap()[0].store(grain, Ordering::Relaxed);
        }
        assert!(table.touch(1 << 36).is_none());
        let mut found = Vec::new();
        let mut walked = 0;
        table.each(|grain, entry| {
            walked += 1;
            let value = entry[0].load(Ordering::Relaxed);
            if value != 0 {
                assert_eq!(value, grain);
                found.push(grain);
            }
        });
        assert_eq!(found, touched);
        assert!(walked <= touched.len() * FAN, "{walked} entries");
        assert_eq!(table.next_touched(16), Some(256), "the segment of 511");
        assert_eq!(table.next_touched(1024), Some(70_000 / 512 * 512));
        assert_eq!(table.next_touched(70_001), Some(70_001));
        assert_eq!(table.next_touched((1 << 18) + 512), Some((1 << 27) - 512));
        assert_eq!(table.next_touched((1 << 27) + 512), Some((1 << 36) - 512));
        assert_eq!(table.next_touched(1 << 36), None);
    }
}
