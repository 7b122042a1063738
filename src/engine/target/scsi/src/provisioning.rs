//! Capacity and logical block provisioning: READ CAPACITY, GET LBA STATUS, UNMAP, WRITE SAME (SBC-4 4.7).

use plimsoll_storage::{BlockStore, Provisioning};
use plimsoll_wire::scsi::capacity::{
    Capacity, LbaState, parse_unmap, write_capacity_10, write_lba_status,
};
use plimsoll_wire::scsi::{Additional, Blocks, Command, Sense};

use crate::blocks::exact;
use crate::inquire::{MAX_UNMAP_BLOCKS, MAX_UNMAP_DESCRIPTORS, MAX_WRITE_SAME_BLOCKS};
use crate::job::{Job, Step, data_in, parameter_list};
use crate::ranges::{byte_range, check_protect, count_at};
use crate::unit::{BLOCK_BYTES, WRITE_THROUGH, read_sense, write_sense};
use crate::{Completion, LogicalUnit};

/// Bytes of pattern that WRITE SAME writes at a time.
const CHUNK: usize = 1 << 20;
/// Runs that GET LBA STATUS tells at most.
const MAX_RUNS: usize = 512;
/// Most blocks of one run.
const MAX_COUNT: u64 = u32::MAX as u64;

/// Checks the command's fields and says what it needs.
pub(crate) fn prepare(job: &Job, expected_out: usize) -> Result<Step, Sense> {
    match job.command {
        Command::WriteSame { width, blocks, protect, anchor, no_data, .. } => {
            check_protect(protect)?;
            // Blocks cannot be anchored (ANC_SUP is 0), and ANCHOR means nothing without UNMAP.
            if anchor {
                return Err(Sense::cdb_field(1, Some(4)));
            }
            byte_range(job.unit(), blocks)?;
            // WSNZ: no blocks do not mean the rest of the unit.
            if blocks.count == 0 || blocks.count > MAX_WRITE_SAME_BLOCKS {
                return Err(Sense::cdb_field(count_at(width), None));
            }
            // NDOB writes zeroes, or unmaps (SBC-4 5.55).
            let data = if no_data { 0 } else { BLOCK_BYTES as usize };
            exact(data, expected_out)?;
            Ok(Step::Collect { len: data, blocking: true })
        }
        Command::Unmap { anchor, length } => {
            if anchor {
                return Err(Sense::cdb_field(1, Some(0)));
            }
            // An empty list unmaps nothing (SBC-4 5.34.1).
            if length == 0 {
                return Ok(Step::Now);
            }
            parameter_list(usize::from(length), expected_out, true)
        }
        Command::GetLbaStatus { lba, .. } => {
            byte_range(job.unit(), Blocks { lba, count: 0 })?;
            Ok(if job.store_blocks() { Step::BLOCKING } else { Step::Now })
        }
        _ => Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE)),
    }
}

/// READ CAPACITY(10) (SBC-4 5.15).
pub(crate) fn capacity_10(job: &Job) -> Completion {
    let mut out = Vec::new();
    write_capacity_10(job.unit().blocks().saturating_sub(1), BLOCK_BYTES, &mut out);
    Completion::data(out)
}

/// READ CAPACITY(16) (SBC-4 5.16).
pub(crate) fn capacity_16(job: &Job, allocation: usize) -> Completion {
    let capacity = Capacity {
        last_lba: job.unit().blocks().saturating_sub(1),
        block_bytes: BLOCK_BYTES,
        protected: false,
        physical_exponent: job.unit().settings().physical_exponent,
        provisioning_managed: job.unit().is_thin(),
        reads_zeroes: true,
        lowest_aligned: 0,
    };
    let mut out = Vec::new();
    capacity.write(&mut out);
    data_in(out, allocation)
}

/// GET LBA STATUS (SBC-4 5.5).
pub(crate) fn lba_status(job: &Job, lba: u64, allocation: usize) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (mut offset, _) = byte_range(unit, Blocks { lba, count: 0 })?;
    let end = unit.blocks() * u64::from(BLOCK_BYTES);
    // At least one run, even when the initiator asked for the header alone.
    let wanted = (allocation.saturating_sub(8) / 16).clamp(1, MAX_RUNS);
    let mut runs = Vec::new();
    while offset < end && runs.len() < wanted {
        let (state, bytes) = status_run(unit.store(), offset, end)?;
        // The store tracks 512-byte sectors, so runs are whole blocks; one that ends inside a block would
        // be the end of a unit that shrank meanwhile.
        let count = (bytes / u64::from(BLOCK_BYTES)).min(MAX_COUNT);
        if count == 0 {
            break;
        }
        let lba = offset / u64::from(BLOCK_BYTES);
        runs.push((Blocks { lba, count: count as u32 }, state));
        offset += count * u64::from(BLOCK_BYTES);
    }
    let mut out = Vec::new();
    write_lba_status(runs.into_iter(), &mut out);
    Ok(data_in(out, allocation))
}

/// The state at `offset`, and for how many bytes before `end` it stays the same.
fn status_run(store: &BlockStore, offset: u64, end: u64) -> Result<(LbaState, u64), Sense> {
    let status = |offset| store.status(offset).map_err(|error| read_sense(&error));
    let (first, mut bytes) = status(offset)?;
    while bytes > 0 && offset + bytes < end {
        let (state, more) = status(offset + bytes)?;
        if state != first || more == 0 {
            break;
        }
        bytes += more;
    }
    let state = match first {
        Provisioning::Mapped => LbaState::Mapped,
        Provisioning::Hole => LbaState::Deallocated,
    };
    Ok((state, bytes.min(end - offset)))
}

/// UNMAP (SBC-4 5.34). The whole list is checked before the first block goes.
pub(crate) fn unmap(job: &Job, data: &[u8]) -> Result<Completion, Sense> {
    let unit = job.unit();
    if data.is_empty() {
        return Ok(Completion::good());
    }
    let runs =
        parse_unmap(data).ok_or_else(|| Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR))?;
    if runs.len() > MAX_UNMAP_DESCRIPTORS as usize {
        return Err(Sense::parameter_field(2, None));
    }
    let total: u64 = runs.clone().map(|run| u64::from(run.count)).sum();
    if total > u64::from(MAX_UNMAP_BLOCKS) {
        return Err(Sense::parameter_field(8, None));
    }
    for run in runs.clone() {
        unmap_range(unit, run)?;
    }
    for run in runs {
        let (offset, bytes) = unmap_range(unit, run)?;
        if bytes > 0 {
            unit.store().unmap(offset, bytes).map_err(|error| write_sense(&error))?;
        }
    }
    Ok(Completion::good())
}

/// Bytes of a descriptor; one without blocks may stand at the very end of the unit.
fn unmap_range(unit: &LogicalUnit, run: Blocks) -> Result<(u64, u64), Sense> {
    if run.count == 0 && run.lba == unit.blocks() { Ok((0, 0)) } else { byte_range(unit, run) }
}

/// WRITE SAME(10) and (16) (SBC-4 5.54, 5.55).
pub(crate) fn write_same(job: &Job, data: &[u8]) -> Result<Completion, Sense> {
    let Command::WriteSame { blocks, unmap, no_data, .. } = job.command else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    let unit = job.unit();
    if !no_data {
        exact(BLOCK_BYTES as usize, data.len())?;
    }
    let (offset, bytes) = byte_range(unit, blocks)?;
    let store = unit.store();
    let zero = no_data || data.iter().all(|&byte| byte == 0);
    let result = match (zero, unmap) {
        // With LBPRZ unmapped blocks read as the zeroes that were asked for.
        (true, true) => store.unmap(offset, bytes),
        (true, false) => store.write_zeroes(offset, bytes),
        (false, _) => {
            let pattern = data.repeat((bytes.min(CHUNK as u64) as usize).div_ceil(data.len()));
            (0..bytes).step_by(pattern.len()).try_for_each(|at| {
                let len = (bytes - at).min(pattern.len() as u64) as usize;
                store.write(offset + at, &pattern[..len])
            })
        }
    };
    result.map_err(|error| write_sense(&error))?;
    if unit.has(WRITE_THROUGH) {
        store.flush().map_err(|error| write_sense(&error))?;
    }
    Ok(Completion::good())
}
