//! Integrity mode: every 512 bytes (or 4 KiB, when all blocks allow it) carry where and when they were
//! written and a CRC32C; reads are checked against what this run knows it wrote.
//!
//! A unit's stamp: magic, run, offset, generation, CRC32C over the whole unit with the CRC field as zero.
//! Units under a write are not touched by another I/O, so a read has exactly one right answer. After a
//! failed write both the old and the new generation are right.

use std::collections::HashMap;

use crc_fast::{CrcAlgorithm::Crc32Iscsi, checksum};

use crate::workload::Workload;

/// Largest unit of a stamp.
pub const STAMP_UNIT_BYTES: u32 = 4096;

const MAGIC: &[u8; 8] = b"PLIMSTMP";
const HEADER: usize = 40;
const CRC_AT: usize = 32;

/// What a stamp says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The run that wrote it.
    pub run: u64,
    /// Where it was meant to be, bytes.
    pub offset: u64,
    /// How many times this run had written the unit.
    pub generation: u64,
}

/// The result of looking at a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Right.
    Good,
    /// Not written by a run with stamps, and nothing is known about it.
    Unknown,
    /// The magic is missing where this run wrote.
    NoStamp,
    /// The CRC does not fit: torn or damaged.
    Damaged,
    /// A good unit of another place.
    Misplaced,
    /// A good unit of an earlier generation or run: a write was lost.
    Stale,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Unknown => "never written by this run",
            Self::NoStamp => "holds something else than what was written",
            Self::Damaged => "its checksum does not fit",
            Self::Misplaced => "holds a block of another place",
            Self::Stale => "holds an older write; a later one was lost",
        }
    }
}

/// Reads a unit's stamp: `None` without magic, an error when the CRC does not fit.
pub fn inspect(unit: &[u8]) -> Option<Result<Stamp, ()>> {
    let header = unit.first_chunk::<HEADER>()?;
    if &header[..8] != MAGIC {
        return None;
    }
    let word = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&header[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if word(CRC_AT) != crc(unit) {
        return Some(Err(()));
    }
    Some(Ok(Stamp { run: word(8), offset: word(16), generation: word(24) }))
}

fn crc(unit: &[u8]) -> u64 {
    checksum(Crc32Iscsi, &unit[..CRC_AT]) << 32 | checksum(Crc32Iscsi, &unit[HEADER..])
}

fn stamp(unit: &mut [u8], stamp: Stamp) {
    unit[..8].copy_from_slice(MAGIC);
    unit[8..16].copy_from_slice(&stamp.run.to_le_bytes());
    unit[16..24].copy_from_slice(&stamp.offset.to_le_bytes());
    unit[24..32].copy_from_slice(&stamp.generation.to_le_bytes());
    let sum = crc(unit);
    unit[CRC_AT..HEADER].copy_from_slice(&sum.to_le_bytes());
}

/// What a worker knows about the units it owns.
#[derive(Debug)]
pub struct Stamps {
    run: u64,
    base: u64,
    unit: u64,
    /// Generation of each unit: 0 unknown.
    generations: Vec<u32>,
    /// Units under a write; a count is not needed because one write at a time is let through.
    busy: Vec<bool>,
    /// Readers of each unit under way.
    readers: Vec<u16>,
    /// Units whose last write failed: the generation before it is right as well.
    doubtful: HashMap<usize, u32>,
}

impl Stamps {
    /// For a range of a worker. Memory: 7 bytes per unit.
    #[must_use]
    pub fn new(workload: &Workload, run: u64, base: u64, size: u64) -> Self {
        let fine = workload.accesses.iter().any(|row| {
            row.block_bytes % STAMP_UNIT_BYTES != 0 || row.align_bytes % STAMP_UNIT_BYTES != 0
        });
        let unit = if fine { 512 } else { u64::from(STAMP_UNIT_BYTES) };
        #[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits here")]
        let count = size.div_ceil(unit) as usize;
        Self {
            run,
            base,
            unit,
            generations: vec![0; count],
            busy: vec![false; count],
            readers: vec![0; count],
            doubtful: HashMap::new(),
        }
    }

    fn units(&self, offset: u64, len: u32) -> std::ops::Range<usize> {
        #[expect(clippy::cast_possible_truncation, reason = "usize has 64 bits here")]
        let at = |position: u64| (position.saturating_sub(self.base) / self.unit) as usize;
        at(offset)..at(offset + u64::from(len)).min(self.generations.len())
    }

    /// Whether an I/O here would meet another that makes its answer ambiguous.
    #[must_use]
    pub fn conflicts(&self, offset: u64, len: u32, is_write: bool) -> bool {
        self.units(offset, len).any(|unit| self.busy[unit] || (is_write && self.readers[unit] > 0))
    }

    /// Stamps the data of a write that begins now.
    pub fn begin_write(&mut self, offset: u64, data: &mut [u8]) {
        #[expect(clippy::cast_possible_truncation, reason = "blocks are at most 64 MiB")]
        let units = self.units(offset, data.len() as u32);
        let step = self.unit as usize;
        for (index, bytes) in units.zip(data.chunks_mut(step)) {
            self.busy[index] = true;
            let generation = u64::from(self.generations[index]) + 1;
            let at = self.base + index as u64 * self.unit;
            stamp(bytes, Stamp { run: self.run, offset: at, generation });
        }
    }

    /// Ends a write.
    pub fn end_write(&mut self, offset: u64, len: u32, done: bool) {
        for index in self.units(offset, len) {
            self.busy[index] = false;
            let before = self.generations[index];
            self.generations[index] = before.saturating_add(1);
            if done {
                self.doubtful.remove(&index);
            } else {
                // Generation numbers go on even so: the failed write may still land.
                self.doubtful.entry(index).or_insert(before);
            }
        }
    }

    /// Takes back a write that was not accepted.
    pub fn cancel_write(&mut self, offset: u64, len: u32) {
        for index in self.units(offset, len) {
            self.busy[index] = false;
        }
    }

    /// Bytes of a unit.
    #[must_use]
    pub fn unit_bytes(&self) -> u64 {
        self.unit
    }

    /// A read begins.
    pub fn begin_read(&mut self, offset: u64, len: u32) {
        for index in self.units(offset, len) {
            self.readers[index] = self.readers[index].saturating_add(1);
        }
    }

    /// A read ends without data.
    pub fn end_read(&mut self, offset: u64, len: u32) {
        for index in self.units(offset, len) {
            self.readers[index] = self.readers[index].saturating_sub(1);
        }
    }

    /// Checks what a read brought; calls `found` for each unit.
    pub fn check(&self, offset: u64, data: &[u8], mut found: impl FnMut(u64, Verdict)) {
        #[expect(clippy::cast_possible_truncation, reason = "blocks are at most 64 MiB")]
        let units = self.units(offset, data.len() as u32);
        for (index, bytes) in units.zip(data.chunks(self.unit as usize)) {
            let at = self.base + index as u64 * self.unit;
            found(at, self.judge(index, at, bytes));
        }
    }

    fn judge(&self, index: usize, at: u64, bytes: &[u8]) -> Verdict {
        let generation = self.generations[index];
        let doubtful = self.doubtful.get(&index).copied();
        let oldest = doubtful.unwrap_or(generation);
        match inspect(bytes) {
            None if oldest == 0 => Verdict::Unknown,
            None => Verdict::NoStamp,
            // Of an earlier run, maybe with stamps of another size.
            Some(Err(())) if oldest == 0 => Verdict::Unknown,
            Some(Err(())) => Verdict::Damaged,
            Some(Ok(stamp)) if stamp.offset != at => Verdict::Misplaced,
            Some(Ok(_)) if oldest == 0 => Verdict::Good,
            Some(Ok(stamp)) => {
                let range = u64::from(oldest)..=u64::from(generation);
                if stamp.run == self.run && range.contains(&stamp.generation) {
                    Verdict::Good
                } else {
                    Verdict::Stale
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps() -> Stamps {
        Stamps::new(&Workload::simple(8192, 50.0, 100.0), 7, 65_536, 1 << 20)
    }

    fn verdicts(stamps: &Stamps, offset: u64, data: &[u8]) -> Vec<Verdict> {
        let mut all = Vec::new();
        stamps.check(offset, data, |_, verdict| all.push(verdict));
        all
    }

    #[test]
    fn what_was_written_is_good_and_all_else_is_found() {
        use Verdict::{Damaged, Good, Misplaced, NoStamp, Stale, Unknown};
        let mut stamps = stamps();
        let at = 65_536 + 8192;
        assert_eq!(verdicts(&stamps, at, &[0; 8192]), [Unknown, Unknown]);
        let mut first = vec![9; 8192];
        stamps.begin_write(at, &mut first);
        assert!(stamps.conflicts(at, 8192, false) && stamps.conflicts(at + 4096, 4096, true));
        stamps.end_write(at, 8192, true);
        assert_eq!(verdicts(&stamps, at, &first), [Good, Good]);
        assert_eq!(verdicts(&stamps, at, &[0; 8192]), [NoStamp, NoStamp]);
        let mut second = vec![9; 8192];
        stamps.begin_write(at, &mut second);
        stamps.end_write(at, 8192, true);
        assert_eq!(verdicts(&stamps, at, &first), [Stale, Stale]);
        let mut torn = second.clone();
        torn[4000] ^= 1;
        assert_eq!(verdicts(&stamps, at, &torn), [Damaged, Good]);
        let swapped = [&second[4096..], &second[..4096]].concat();
        assert_eq!(verdicts(&stamps, at, &swapped), [Misplaced, Misplaced]);
    }

    #[test]
    fn smaller_stamps_of_an_earlier_run_are_not_taken_for_damage() {
        let mut fine = Stamps::new(&Workload::simple(512, 50.0, 100.0), 6, 65_536, 1 << 20);
        let mut earlier = vec![9; 8192];
        fine.begin_write(65_536, &mut earlier);
        assert_eq!(verdicts(&stamps(), 65_536, &earlier), [Verdict::Unknown; 2]);
    }

    #[test]
    fn after_a_failed_write_both_generations_are_right() {
        let mut stamps = stamps();
        let mut old = vec![1; 8192];
        stamps.begin_write(65_536, &mut old);
        stamps.end_write(65_536, 8192, true);
        let mut new = vec![1; 8192];
        stamps.begin_write(65_536, &mut new);
        stamps.end_write(65_536, 8192, false);
        assert_eq!(verdicts(&stamps, 65_536, &old), [Verdict::Good; 2]);
        assert_eq!(verdicts(&stamps, 65_536, &new), [Verdict::Good; 2]);
        let mut newest = vec![1; 8192];
        stamps.begin_write(65_536, &mut newest);
        stamps.end_write(65_536, 8192, true);
        assert_eq!(verdicts(&stamps, 65_536, &new), [Verdict::Stale; 2]);
        assert_eq!(verdicts(&stamps, 65_536, &newest), [Verdict::Good; 2]);
    }

    #[test]
    fn a_write_waits_for_readers() {
        let mut stamps = stamps();
        stamps.begin_read(65_536, 8192);
        assert!(stamps.conflicts(65_536, 8192, true));
        assert!(!stamps.conflicts(65_536, 8192, false));
        stamps.end_read(65_536, 8192);
        assert!(!stamps.conflicts(65_536, 8192, true));
    }
}
