//! Draws the next I/O of a worker: row of the mix, direction, place.
//!
//! Sequential accesses go on where the last one ended and wrap at the end of the worker's range; workers
//! start evenly spaced so that several do not read the same blocks at the same time.

use plimsoll_initiator::OpKind;

use crate::{random::Random, workload::Workload};

/// The next I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Next {
    /// Direction.
    pub kind: OpKind,
    /// Offset in bytes on the datastore.
    pub offset: u64,
    /// Length in bytes.
    pub len: u32,
    /// Nanoseconds to wait after this one before the next is issued; mostly 0.
    pub pause_nanos: u64,
}

#[derive(Debug, Clone)]
struct Row {
    /// Rows are drawn by comparing 32 random bits with this running sum.
    upto: u64,
    len: u32,
    read_below: u64,
    random_below: u64,
    align: u64,
    /// Aligned places at which a block of this row fits.
    places: u64,
    /// Last start at which a block fits, for sequential accesses.
    last_start: u64,
    burst: u32,
    left_in_burst: u32,
    pause_nanos: u64,
}

/// Generator of addresses.
#[derive(Debug, Clone)]
pub struct Addresses {
    random: Random,
    rows: Vec<Row>,
    base: u64,
    next: u64,
}

const WHOLE: f64 = 4_294_967_296.0;

impl Addresses {
    /// For worker `worker` of `workload.workers`, on a datastore of this size. The workload has passed
    /// [`Workload::check`].
    #[must_use]
    pub fn new(workload: &Workload, worker: u32, capacity_bytes: u64) -> Self {
        let whole = workload.size_on(capacity_bytes);
        let count = u64::from(workload.workers.max(1));
        let coarse = coarsest(workload);
        let slice = (whole / count) / coarse * coarse;
        let start = slice * u64::from(worker);
        // Stamped blocks have one owner; everything else may meet anywhere.
        let (base, size, next) = if workload.integrity {
            (workload.offset_bytes + start, slice, 0)
        } else {
            (workload.offset_bytes, whole, start)
        };
        Self::within(workload, worker, (base, size), next)
    }

    /// Within a range given as first byte and length, beginning `next` bytes into it.
    #[must_use]
    pub fn within(workload: &Workload, worker: u32, (base, size): (u64, u64), next: u64) -> Self {
        let mut sum = 0.0;
        let row = |access: &crate::workload::Access| {
            sum += access.share_pct / 100.0 * WHOLE;
            let len = u64::from(access.block_bytes);
            let align = u64::from(access.align_bytes);
            let last_start = size.saturating_sub(len);
            Row {
                upto: round(sum),
                len: access.block_bytes,
                read_below: round(access.read_pct / 100.0 * WHOLE),
                random_below: round(access.random_pct / 100.0 * WHOLE),
                align,
                places: last_start / align + 1,
                last_start,
                burst: access.burst,
                left_in_burst: access.burst,
                pause_nanos: round(access.delay_ms * 1e6),
            }
        };
        let mut rows: Vec<Row> =
            workload.accesses.iter().filter(|access| access.share_pct > 0.0).map(row).collect();
        if let Some(last) = rows.last_mut() {
            last.upto = u64::MAX;
        }
        Self { random: Random::new(workload.seed, u64::from(worker) + 1), rows, base, next }
    }

    /// The next I/O.
    #[inline]
    pub fn draw(&mut self) -> Next {
        let bits = self.random.bits();
        let (direction, place) = (bits & 0xffff_ffff, bits >> 32);
        let row = match self.rows.as_mut_slice() {
            [only] => only,
            rows => {
                let draw = self.random.bits() >> 32;
                let index = rows.iter().position(|row| draw < row.upto).unwrap_or(0);
                &mut rows[index]
            }
        };
        if place < row.random_below {
            self.next = self.random.below(row.places) * row.align;
        } else if self.next > row.last_start {
            self.next = 0;
        }
        let offset = self.base + self.next;
        self.next += u64::from(row.len);
        let kind = if direction < row.read_below { OpKind::Read } else { OpKind::Write };
        let mut pause_nanos = 0;
        if row.pause_nanos > 0 {
            row.left_in_burst -= 1;
            if row.left_in_burst == 0 {
                row.left_in_burst = row.burst;
                pause_nanos = row.pause_nanos;
            }
        }
        Next { kind, offset, len: row.len, pause_nanos }
    }

    /// The range this worker uses: first byte and length.
    #[must_use]
    pub fn range(&self) -> (u64, u64) {
        let size = self.rows.iter().map(|row| row.last_start + u64::from(row.len)).max();
        (self.base, size.unwrap_or(0))
    }
}

/// The largest alignment or block: slices of workers are multiples of it.
fn coarsest(workload: &Workload) -> u64 {
    let each = workload.accesses.iter().map(|row| u64::from(row.block_bytes.max(row.align_bytes)));
    each.max().unwrap_or(1).max(1)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounds and saturates")]
fn round(value: f64) -> u64 {
    value.round() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::workload::{Access, split_rows};

    fn draws(workload: &Workload, worker: u32, capacity: u64, count: usize) -> Vec<Next> {
        let mut addresses = Addresses::new(workload, worker, capacity);
        (0..count).map(|_| addresses.draw()).collect()
    }

    #[test]
    fn sequential_covers_everything_and_wraps() {
        let workload = Workload::simple(4096, 100.0, 0.0);
        let offsets: Vec<u64> =
            draws(&workload, 0, 4096 * 5 + 100, 7).iter().map(|n| n.offset).collect();
        assert_eq!(offsets, [0, 4096, 8192, 12288, 16384, 0, 4096]);
    }

    #[test]
    fn random_is_aligned_and_stays_inside() {
        let capacity = 1_000_000;
        let workload = Workload {
            offset_bytes: 4096,
            accesses: vec![Access { align_bytes: 512, ..Access::new(8192, 100.0, 100.0) }],
            ..Workload::default()
        };
        let (mut low, mut high) = (u64::MAX, 0);
        for next in draws(&workload, 0, capacity, 50_000) {
            assert_eq!((next.offset - 4096) % 512, 0);
            assert!(next.offset >= 4096 && next.offset + u64::from(next.len) <= capacity);
            low = low.min(next.offset);
            high = high.max(next.offset);
        }
        assert_eq!(low, 4096);
        assert!(high > capacity - 8192 - 1024, "the end is never reached: {high}");
    }

    #[test]
    fn shares_come_out_as_asked() {
        let workload = Workload {
            accesses: split_rows(&[(4096, 60.0), (8192, 40.0)], &[(65_536, 100.0)], 70.0, 50.0),
            ..Workload::default()
        };
        let all = draws(&workload, 0, 1 << 30, 200_000);
        let share = |test: &dyn Fn(&Next) -> bool| {
            f64::from(u32::try_from(all.iter().filter(|next| test(next)).count()).unwrap()) / 2000.0
        };
        assert!((share(&|next| next.kind == OpKind::Read) - 70.0).abs() < 0.5);
        assert!((share(&|next| next.len == 4096) - 42.0).abs() < 0.5);
        assert!((share(&|next| next.len == 65_536) - 30.0).abs() < 0.5);
        assert!(all.iter().all(|next| (next.len == 65_536) == (next.kind == OpKind::Write)));
    }

    #[test]
    fn workers_with_stamps_never_share_a_block() {
        let workload =
            Workload { workers: 3, integrity: true, ..Workload::simple(8192, 50.0, 100.0) };
        let mut seen = std::collections::HashMap::new();
        for worker in 0..3 {
            for next in draws(&workload, worker, 1_000_000, 3000) {
                assert_eq!(*seen.entry(next.offset).or_insert(worker), worker);
            }
        }
    }

    #[test]
    fn bursts_end_in_a_pause() {
        let access = Access { burst: 3, delay_ms: 2.0, ..Access::new(4096, 100.0, 100.0) };
        let workload = Workload { accesses: vec![access], ..Workload::default() };
        let pauses: Vec<u64> =
            draws(&workload, 0, 1 << 20, 6).iter().map(|n| n.pause_nanos).collect();
        assert_eq!(pauses, [0, 0, 2_000_000, 0, 0, 2_000_000]);
    }
}
