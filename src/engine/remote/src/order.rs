//! Which operations may run together: those whose ranges do not overlap, and reads.
//!
//! Operations that must wait are begun in the order in which they came, and none passes an older one that it
//! overlaps with.

use std::collections::VecDeque;

/// A range and whether it is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub offset: u64,
    pub len: u64,
    pub reads: bool,
}

impl Range {
    fn conflicts(&self, other: &Self) -> bool {
        !(self.reads && other.reads)
            && self.offset < other.offset.saturating_add(other.len)
            && other.offset < self.offset.saturating_add(self.len)
    }
}

/// Operations by range.
#[derive(Debug)]
pub(crate) struct Order<T> {
    running: Vec<(u64, Range)>,
    waiting: VecDeque<(Range, T)>,
    next: u64,
}

impl<T> Order<T> {
    pub fn new() -> Self {
        Self { running: Vec::new(), waiting: VecDeque::new(), next: 0 }
    }

    /// A further operation waits for its turn.
    pub fn push(&mut self, range: Range, operation: T) {
        self.waiting.push_back((range, operation));
    }

    /// The next operation that may begin, with the number to end it by.
    pub fn begin(&mut self) -> Option<(u64, T)> {
        let free = |range: &Range, before: usize| {
            let older = self.waiting.iter().take(before).map(|(range, _)| range);
            !self.running.iter().map(|(_, range)| range).chain(older).any(|o| o.conflicts(range))
        };
        // Far behind the head nothing is looked for: a look must stay cheap.
        let at =
            (0..self.waiting.len().min(LOOK_AHEAD)).find(|&at| free(&self.waiting[at].0, at))?;
        let (range, operation) = self.waiting.remove(at)?;
        let number = self.next;
        self.next += 1;
        self.running.push((number, range));
        Some((number, operation))
    }

    /// An operation has ended.
    pub fn end(&mut self, number: u64) {
        self.running.retain(|(other, _)| *other != number);
    }

    /// Takes those that wait and are so.
    pub fn take_waiting(&mut self, mut are: impl FnMut(&T) -> bool) -> Vec<T> {
        let (taken, left) = self.waiting.drain(..).partition(|(_, operation)| are(operation));
        self.waiting = left;
        let taken: VecDeque<(Range, T)> = taken;
        taken.into_iter().map(|(_, operation)| operation).collect()
    }
}

/// Waiting operations looked at for one that may begin.
const LOOK_AHEAD: usize = 64;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn range(offset: u64, len: u64, reads: bool) -> Range {
        Range { offset, len, reads }
    }

    #[test]
    fn overlapping_writes_run_one_after_the_other_and_others_pass() {
        let mut order = Order::new();
        order.push(range(0, 8, false), 'a');
        order.push(range(4, 8, false), 'b');
        order.push(range(8, 8, true), 'c');
        order.push(range(100, 8, false), 'd');
        let (a, first) = order.begin().unwrap();
        assert_eq!(first, 'a');
        assert_eq!(order.begin().unwrap().1, 'd', "b waits for a, and c for b");
        assert!(order.begin().is_none());
        order.end(a);
        let (b, second) = order.begin().unwrap();
        assert_eq!(second, 'b');
        order.end(b);
        assert_eq!(order.begin().unwrap().1, 'c');
    }

    #[test]
    fn reads_run_together() {
        let mut order = Order::new();
        order.push(range(0, 8, true), 1);
        order.push(range(0, 8, true), 2);
        assert!(order.begin().is_some() && order.begin().is_some());
    }
}
