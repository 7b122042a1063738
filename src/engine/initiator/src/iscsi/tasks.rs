//! Outstanding tasks by initiator task tag, without a hash map: the tag is a slot and its generation.
//!
//! A tag that a target makes up, or repeats after its task ended, has the wrong generation and finds nothing.

/// Most tasks of one session; keeps the reserved tag 0xffffffff out of reach.
const CAPACITY: usize = 0xfff0;

struct Slot<T> {
    generation: u16,
    task: Option<T>,
}

/// A slab of tasks.
pub(super) struct Tasks<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u16>,
}

impl<T> Tasks<T> {
    pub fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }

    /// Stores a task and gives its tag; gives the task back when there is no slot left.
    #[inline]
    pub fn insert(&mut self, task: T) -> Result<u32, T> {
        let index = match self.free.pop() {
            Some(index) => index,
            None if self.slots.len() < CAPACITY => {
                self.slots.push(Slot { generation: 0, task: None });
                (self.slots.len() - 1) as u16
            }
            None => return Err(task),
        };
        let slot = &mut self.slots[usize::from(index)];
        slot.task = Some(task);
        Ok(u32::from(slot.generation) << 16 | u32::from(index))
    }

    #[inline]
    fn slot(&mut self, tag: u32) -> Option<&mut Slot<T>> {
        let slot = self.slots.get_mut((tag & 0xffff) as usize)?;
        (u32::from(slot.generation) == tag >> 16).then_some(slot)
    }

    #[inline]
    pub fn get_mut(&mut self, tag: u32) -> Option<&mut T> {
        self.slot(tag)?.task.as_mut()
    }

    #[inline]
    pub fn remove(&mut self, tag: u32) -> Option<T> {
        let slot = self.slot(tag)?;
        let task = slot.task.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push((tag & 0xffff) as u16);
        Some(task)
    }

    /// Number of tasks.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All tasks with their tags.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().enumerate().filter_map(|(index, slot)| {
            let tag = u32::from(slot.generation) << 16 | index as u32;
            slot.task.as_mut().map(|task| (tag, task))
        })
    }

    /// Takes all tasks out.
    pub fn drain(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().filter_map(|slot| slot.task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_was_used_finds_nothing_any_more() {
        let mut tasks = Tasks::new();
        let first = tasks.insert('a').unwrap_or(9);
        let second = tasks.insert('b').unwrap_or(9);
        assert_eq!((tasks.remove(first), tasks.remove(first)), (Some('a'), None));
        let third = tasks.insert('c').unwrap_or(9);
        assert_eq!(third & 0xffff, first & 0xffff, "the slot is used again");
        assert_eq!(tasks.get_mut(first), None);
        assert_eq!(tasks.get_mut(second), Some(&mut 'b'));
        assert_eq!(tasks.get_mut(third), Some(&mut 'c'));
        assert_eq!(tasks.get_mut(0x7777_7777), None);
        assert_eq!(tasks.len(), 2);
    }

    #[test]
    fn the_reserved_tag_is_never_given() {
        let mut tasks = Tasks::new();
        let mut last = 0;
        while let Ok(tag) = tasks.insert(()) {
            last = tag;
        }
        assert_eq!(tasks.len(), CAPACITY);
        for _ in 0..70_000 {
            assert_eq!(tasks.remove(last), Some(()));
            last = tasks.insert(()).unwrap_or(u32::MAX);
            assert_ne!(last, u32::MAX);
        }
    }
}
