//! Block commands that need their data whole, or that only touch the medium: VERIFY, WRITE AND VERIFY,
//! ORWRITE, COMPARE AND WRITE, PRE-FETCH, SYNCHRONIZE CACHE (SBC-4 5).

use plimsoll_wire::scsi::{Access, Additional, Blocks, Command, Sense, SenseKey, Status};

use crate::inquire::MAX_COMPARE_AND_WRITE;
use crate::job::{Job, Step};
use crate::ranges::{byte_range, check_protect, count_at, is_durable};
use crate::unit::{BLOCK_BYTES, read_sense, write_sense};
use crate::{Completion, LogicalUnit, MAX_COLLECT};

/// BYTCHK of VERIFY: compare data-out with the medium, block by block.
const COMPARE: u8 = 1;
/// BYTCHK: compare one block of data-out with each block.
const COMPARE_ONE: u8 = 3;
/// Bytes read at a time while verifying.
const CHUNK: usize = 1 << 20;
/// Most that PRE-FETCH loads.
const MAX_PREFETCH: u64 = 16 << 20;

/// Checks the command's fields and says what it needs.
pub(crate) fn prepare(job: &Job, expected_out: usize) -> Result<Step, Sense> {
    let unit = job.unit();
    let blocking = job.store_blocks();
    let collect = |bytes: u64, count_at: u16| {
        if bytes > MAX_COLLECT as u64 {
            return Err(Sense::cdb_field(count_at, None));
        }
        Ok(Step::Collect { len: bytes as usize, blocking })
    };
    match job.command {
        Command::WriteVerify { width, blocks, access, byte_check } => {
            check_protect(access.protect)?;
            if byte_check > COMPARE {
                return Err(Sense::cdb_field(1, Some(2)));
            }
            let (_, bytes) = byte_range(unit, blocks)?;
            // It ends on the medium, so it flushes.
            if bytes > MAX_COLLECT as u64 {
                return Err(Sense::cdb_field(count_at(width), None));
            }
            Ok(Step::Collect { len: bytes as usize, blocking: true })
        }
        Command::Verify { width, blocks, access, byte_check } => {
            check_protect(access.protect)?;
            let (_, bytes) = byte_range(unit, blocks)?;
            match byte_check {
                0 => collect(0, 0),
                COMPARE => collect(bytes, count_at(width)),
                COMPARE_ONE if blocks.count > 0 => collect(u64::from(BLOCK_BYTES), 0),
                COMPARE_ONE => collect(0, 0),
                _ => Err(Sense::cdb_field(1, Some(2))),
            }
        }
        Command::OrWrite { blocks, access } => {
            check_protect(access.protect)?;
            let (_, bytes) = byte_range(unit, blocks)?;
            if bytes > MAX_COLLECT as u64 {
                return Err(Sense::cdb_field(10, None));
            }
            let blocking = blocking || is_durable(unit, access);
            Ok(Step::Collect { len: bytes as usize, blocking })
        }
        Command::CompareAndWrite { blocks, access } => {
            check_protect(access.protect)?;
            let (_, bytes) = byte_range(unit, blocks)?;
            if blocks.count > u32::from(MAX_COMPARE_AND_WRITE) {
                return Err(Sense::cdb_field(13, None));
            }
            let len = 2 * bytes as usize;
            exact(len, expected_out)?;
            let blocking = blocking || is_durable(unit, access);
            Ok(Step::Collect { len, blocking })
        }
        Command::Prefetch { blocks, immediate, .. } => {
            byte_range(unit, blocks)?;
            Ok(if blocking && !immediate { Step::BLOCKING } else { Step::Now })
        }
        Command::SynchronizeCache { blocks, .. } => {
            byte_range(unit, blocks)?;
            Ok(Step::BLOCKING)
        }
        _ => Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE)),
    }
}

/// A command whose data-out must have exactly this length, since half of it would mean something else.
pub(crate) fn exact(len: usize, expected_out: usize) -> Result<(), Sense> {
    if len == expected_out { Ok(()) } else { Err(Sense::illegal(Additional::INVALID_FIELD_IN_CDB)) }
}

fn flush(unit: &LogicalUnit) -> Result<(), Sense> {
    unit.store().flush().map_err(|error| write_sense(&error))
}

/// Data-out cut to whole blocks: an initiator may announce less than the CDB asks for.
fn whole_blocks(data: &[u8]) -> &[u8] {
    &data[..data.len() - data.len() % BLOCK_BYTES as usize]
}

/// MISCOMPARE with the offset of the first byte that differs.
fn miscompare(at: u64) -> Sense {
    Sense::new(SenseKey::Miscompare, Additional::MISCOMPARE_DURING_VERIFY).with_information(at)
}

/// WRITE AND VERIFY (SBC-4 5.51): writes, makes durable, and compares what it reads back.
pub(crate) fn write_verify(job: &Job, blocks: Blocks, data: &[u8]) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (offset, _) = byte_range(unit, blocks)?;
    let data = whole_blocks(data);
    unit.store().write(offset, data).map_err(|error| write_sense(&error))?;
    flush(unit)?;
    compare(unit, offset, data.chunks(CHUNK))?;
    Ok(Completion::good())
}

/// VERIFY (SBC-4 5.38).
pub(crate) fn verify(
    job: &Job,
    blocks: Blocks,
    byte_check: u8,
    data: &[u8],
) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (offset, bytes) = byte_range(unit, blocks)?;
    match byte_check {
        COMPARE => compare(unit, offset, whole_blocks(data).chunks(CHUNK))?,
        COMPARE_ONE if data.len() == BLOCK_BYTES as usize => {
            let repeated = data.repeat(CHUNK / data.len());
            let pieces = (0..bytes).step_by(CHUNK).map(|at| {
                let len = (bytes - at).min(CHUNK as u64) as usize;
                &repeated[..len]
            });
            compare(unit, offset, pieces)?;
        }
        // Without data the medium is only checked to be readable; both stores are, or tell on READ.
        _ => {}
    }
    Ok(Completion::good())
}

/// Compares the medium from `offset` on with pieces of at most [`CHUNK`] bytes.
fn compare<'a>(
    unit: &LogicalUnit,
    offset: u64,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Result<(), Sense> {
    let mut medium = Vec::new();
    let mut at = 0;
    for piece in pieces {
        medium.resize(piece.len(), 0);
        let read = unit.store().read_blocking(offset + at, &mut medium);
        read.map_err(|error| read_sense(&error))?;
        if let Some(differs) = medium.iter().zip(piece).position(|(m, p)| m != p) {
            return Err(miscompare(at + differs as u64));
        }
        at += piece.len() as u64;
    }
    Ok(())
}

/// ORWRITE(16) (SBC-4 5.7).
pub(crate) fn or_write(
    job: &Job,
    blocks: Blocks,
    access: Access,
    data: &[u8],
) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (offset, _) = byte_range(unit, blocks)?;
    unit.store().or_write(offset, whole_blocks(data)).map_err(|error| write_sense(&error))?;
    if is_durable(unit, access) {
        flush(unit)?;
    }
    Ok(Completion::good())
}

/// COMPARE AND WRITE (SBC-4 5.3): the first half of the data must match, then the second is written, with
/// nothing in between.
pub(crate) fn compare_and_write(
    job: &Job,
    blocks: Blocks,
    access: Access,
    data: &[u8],
) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (offset, bytes) = byte_range(unit, blocks)?;
    exact(2 * bytes as usize, data.len())?;
    let (expected, new) = data.split_at(data.len() / 2);
    match unit.store().compare_and_write(offset, expected, new) {
        Ok(None) => {}
        Ok(Some(differs)) => return Err(miscompare(differs as u64)),
        Err(error) => return Err(write_sense(&error)),
    }
    if is_durable(unit, access) {
        flush(unit)?;
    }
    Ok(Completion::good())
}

/// PRE-FETCH (SBC-4 5.9): CONDITION MET when every block is in memory now, GOOD when some are not.
pub(crate) fn prefetch(job: &Job, blocks: Blocks, immediate: bool) -> Result<Completion, Sense> {
    let unit = job.unit();
    let (offset, mut bytes) = byte_range(unit, blocks)?;
    if blocks.count == 0 {
        bytes = unit.blocks() * u64::from(BLOCK_BYTES) - offset;
    }
    if !job.store_blocks() {
        return Ok(Completion::status(Status::ConditionMet));
    }
    if immediate {
        return Ok(Completion::good());
    }
    let mut scratch = vec![0; CHUNK];
    for at in (0..bytes.min(MAX_PREFETCH)).step_by(CHUNK) {
        let piece = &mut scratch[..(bytes - at).min(CHUNK as u64) as usize];
        let read = unit.store().read_blocking(offset + at, piece);
        read.map_err(|error| read_sense(&error))?;
    }
    let status = if bytes <= MAX_PREFETCH { Status::ConditionMet } else { Status::Good };
    Ok(Completion::status(status))
}
