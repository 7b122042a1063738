//! Memory that a target places data into or fetches it from: slots of registered blocks.
//!
//! A block serves slots of one size at a time, a power of two from 4 KiB up; a block with no slot taken may
//! change its size. Blocks are registered when they are first needed, with the one right that their pool is
//! for, and kept until the connection ends. A slot belongs to one task from the command until its answer or
//! the answer to its abort, and to nobody else meanwhile.

use plimsoll_fabric::rdma::{Access, Domain, Memory, RdmaError, Region};

/// Bytes of a block.
pub const BLOCK_BYTES: usize = 4 << 20;
/// Blocks of a pool at most: 128 transfers of 512 KiB.
pub const BLOCKS_MAX: usize = 16;
/// Bytes of the smallest slot.
const SLOT_MIN: usize = 4096;
/// Sizes: 4 KiB to 4 MiB.
const CLASSES: usize = 11;

/// A slot that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    block: u16,
    slot: u16,
}

struct Block {
    region: Region,
    class: u8,
    free: Vec<u16>,
}

impl Block {
    fn slots(class: usize) -> u16 {
        ((BLOCK_BYTES / SLOT_MIN) >> class) as u16
    }

    fn is_idle(&self) -> bool {
        self.free.len() == usize::from(Self::slots(usize::from(self.class)))
    }
}

/// Slots of one right.
pub struct Pool {
    access: Access,
    blocks: Vec<Block>,
    /// By size: blocks with a free slot.
    open: [Vec<u16>; CLASSES],
}

fn class_of(len: usize) -> usize {
    (len.max(SLOT_MIN).next_power_of_two() / SLOT_MIN).trailing_zeros() as usize
}

impl Pool {
    pub fn new(access: Access) -> Self {
        Self { access, blocks: Vec::new(), open: Default::default() }
    }

    /// Bytes registered.
    pub fn registered_bytes(&self) -> usize {
        self.blocks.len() * BLOCK_BYTES
    }

    /// Takes a slot of at least `len` bytes; none while too much is taken. An error means that not even the
    /// first block can be had.
    pub fn take(&mut self, len: usize, domain: &Domain) -> Result<Option<Place>, RdmaError> {
        let class = class_of(len);
        if class >= CLASSES {
            return Err(RdmaError::BadWork("no transfer is that long"));
        }
        if self.open[class].is_empty() && !self.open_block(class, domain)? {
            return Ok(None);
        }
        let Some(&index) = self.open[class].last() else { return Ok(None) };
        let block = &mut self.blocks[usize::from(index)];
        let slot = block.free.pop();
        if block.free.is_empty() {
            self.open[class].pop();
        }
        Ok(slot.map(|slot| Place { block: index, slot }))
    }

    /// Makes an idle or a new block serve a size; false when there is none.
    #[cold]
    fn open_block(&mut self, class: usize, domain: &Domain) -> Result<bool, RdmaError> {
        let index = match self.blocks.iter().position(Block::is_idle) {
            Some(index) => {
                let before = usize::from(self.blocks[index].class);
                self.open[before].retain(|&open| usize::from(open) != index);
                index
            }
            None if self.blocks.len() < BLOCKS_MAX => match self.register(domain) {
                Ok(region) => {
                    self.blocks.push(Block { region, class: 0, free: Vec::new() });
                    self.blocks.len() - 1
                }
                Err(error) if self.blocks.is_empty() => return Err(error),
                Err(error) => {
                    tracing::debug!(%error, "RDMA memory of a connection does not grow");
                    return Ok(false);
                }
            },
            None => return Ok(false),
        };
        let block = &mut self.blocks[index];
        block.class = class as u8;
        block.free.clear();
        block.free.extend((0..Block::slots(class)).rev());
        self.open[class].push(index as u16);
        Ok(true)
    }

    fn register(&self, domain: &Domain) -> Result<Region, RdmaError> {
        let memory = Memory::allocate(BLOCK_BYTES).map_err(|source| RdmaError::Call {
            call: format!("memory of {BLOCK_BYTES} bytes"),
            source,
        })?;
        domain.register(&memory, self.access)
    }

    /// Gives a slot back.
    pub fn give_back(&mut self, place: Place) {
        let block = &mut self.blocks[usize::from(place.block)];
        debug_assert!(!block.free.contains(&place.slot), "a slot is given back once");
        block.free.push(place.slot);
        if block.free.len() == 1 {
            self.open[usize::from(block.class)].push(place.block);
        }
    }

    /// The block of a slot, and where in it the slot begins.
    pub fn locate(&self, place: Place) -> (&Region, usize) {
        let block = &self.blocks[usize::from(place.block)];
        (&block.region, usize::from(place.slot) * (SLOT_MIN << block.class))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::any::Any;
    use std::collections::HashSet;
    use std::sync::Arc;

    use plimsoll_fabric::rdma::{Keys, Registrar};

    use super::*;

    /// Registers so many blocks and no more.
    struct Few(std::sync::atomic::AtomicU32);

    impl Registrar for Few {
        fn register(
            &self,
            _pointer: *mut u8,
            _len: usize,
            access: Access,
        ) -> Result<(Keys, Box<dyn Any + Send + Sync>), RdmaError> {
            use std::sync::atomic::Ordering::Relaxed;
            assert_eq!(access, Access::REMOTE_WRITE, "one right and no other");
            let left = self.0.load(Relaxed);
            if left == 0 {
                return Err(RdmaError::BadWork("no more"));
            }
            self.0.store(left - 1, Relaxed);
            Ok((Keys { local: left, remote: left }, Box::new(())))
        }
    }

    fn domain(blocks: u32) -> Arc<Domain> {
        Domain::new(Box::new(Few(blocks.into())))
    }

    fn range(pool: &Pool, place: Place, len: usize) -> (u64, u64) {
        let (region, offset) = pool.locate(place);
        let start = region.segment(offset, len).address;
        (start, start + len as u64)
    }

    #[test]
    fn slots_of_all_sizes_never_overlap_and_are_bounded() {
        let domain = domain(u32::MAX);
        let mut pool = Pool::new(Access::REMOTE_WRITE);
        let mut taken = Vec::new();
        let mut bytes = 0;
        for round in 0.. {
            let len = [512, 8192, 524_288, 65_536, 12_288][round % 5];
            let Some(place) = pool.take(len, &domain).unwrap() else { break };
            taken.push((place, range(&pool, place, len)));
            bytes += len;
        }
        assert_eq!(pool.registered_bytes(), BLOCKS_MAX * BLOCK_BYTES);
        assert!(bytes > BLOCKS_MAX * BLOCK_BYTES / 2, "{bytes}");
        let mut ranges: Vec<_> = taken.iter().map(|(_, range)| *range).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        // Everything back: all of it can be had again in one size.
        taken.drain(..).for_each(|(place, _)| pool.give_back(place));
        let mut again = HashSet::new();
        while let Some(place) = pool.take(524_288, &domain).unwrap() {
            assert!(again.insert(range(&pool, place, 524_288)));
        }
        assert_eq!(again.len(), BLOCKS_MAX * BLOCK_BYTES / 524_288);
    }

    #[test]
    fn memory_that_cannot_be_registered_is_an_error_only_without_any() {
        let mut pool = Pool::new(Access::REMOTE_WRITE);
        assert!(pool.take(4096, &domain(0)).is_err());
        let one = domain(1);
        let first = pool.take(BLOCK_BYTES, &one).unwrap().unwrap();
        assert_eq!(pool.take(4096, &one).unwrap(), None, "wait for what is under way");
        pool.give_back(first);
        assert!(pool.take(4096, &one).unwrap().is_some());
        assert!(pool.take(BLOCK_BYTES + 1, &one).is_err());
    }
}
