//! Which of the 128 sectors of a grain are mapped, and what that costs in allocation units.

use super::{ALLOCATION_BYTES, GRAIN_BYTES, SECTOR_BYTES};

/// Sectors of a grain.
pub(super) const SECTORS: u32 = (GRAIN_BYTES as u64 / SECTOR_BYTES) as u32;
/// Sectors of an allocation unit.
const UNIT: u32 = (ALLOCATION_BYTES / SECTOR_BYTES) as u32;

/// Sectors `first..end` as bits.
fn bits(first: u32, end: u32) -> u128 {
    if first >= end {
        return 0;
    }
    let count = end - first;
    let ones = if count >= 128 { u128::MAX } else { (1 << count) - 1 };
    ones << first
}

/// Every sector that a range of bytes within a grain touches.
pub(super) fn touched(start: usize, len: usize) -> u128 {
    let sector = SECTOR_BYTES as usize;
    bits((start / sector) as u32, (start + len).div_ceil(sector) as u32)
}

/// Every sector that lies wholly in a range of bytes within a grain.
pub(super) fn covered(start: usize, len: usize) -> u128 {
    let sector = SECTOR_BYTES as usize;
    bits(start.div_ceil(sector) as u32, ((start + len) / sector) as u32)
}

/// Bytes charged for a grain with these sectors mapped.
pub(super) fn charged(mask: u128) -> u64 {
    let unit = (1_u128 << UNIT) - 1;
    let units = (0..SECTORS / UNIT).filter(|index| mask & (unit << (index * UNIT)) != 0).count();
    units as u64 * ALLOCATION_BYTES
}

/// Bytes that mapping more sectors adds to the charge; the common case, nothing new, is one comparison.
pub(super) fn growth(before: u128, after: u128) -> u64 {
    if before == after { 0 } else { charged(after) - charged(before) }
}

/// Sectors from `sector` to the end of the grain that are mapped (or not) like `sector` itself.
pub(super) fn run(mask: u128, sector: u32) -> (bool, u32) {
    let rest = mask >> sector;
    let mapped = rest & 1 == 1;
    let len = if mapped { rest.trailing_ones() } else { rest.trailing_zeros() };
    (mapped, len.min(SECTORS - sector))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_touch_and_cover_the_right_sectors() {
        assert_eq!(touched(0, GRAIN_BYTES), u128::MAX);
        assert_eq!(covered(0, GRAIN_BYTES), u128::MAX);
        assert_eq!(touched(511, 2), 0b11);
        assert_eq!(covered(511, 2), 0);
        assert_eq!(covered(1, 1023), 0b10);
        assert_eq!(touched(GRAIN_BYTES - 1, 1), 1 << 127);
    }

    #[test]
    fn charges_by_allocation_unit_and_finds_runs() {
        assert_eq!(charged(0), 0);
        assert_eq!(charged(1), 4096);
        assert_eq!(charged(0b1_1000_0000), 8192);
        assert_eq!(charged(u128::MAX), GRAIN_BYTES as u64);
        assert_eq!(run(0, 0), (false, 128));
        assert_eq!(run(u128::MAX, 5), (true, 123));
        assert_eq!(run(0b1100, 0), (false, 2));
        assert_eq!(run(0b1100, 2), (true, 2));
        assert_eq!(run(0b1100, 4), (false, 124));
    }
}
