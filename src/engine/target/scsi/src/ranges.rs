//! Block ranges of a command against the unit: READ and WRITE become byte ranges here.

use plimsoll_wire::scsi::{Access, Additional, Blocks, Command, Sense, Width};

use crate::unit::{BLOCK_BYTES, WRITE_THROUGH};
use crate::{LogicalUnit, MAX_TRANSFER, Plan};

/// READ or WRITE as a plan; without allocation.
pub(crate) fn plan_transfer(unit: &LogicalUnit, command: &Command) -> Result<Plan, Sense> {
    let (Command::Read { width, blocks, access } | Command::Write { width, blocks, access }) =
        *command
    else {
        return Err(Sense::illegal(Additional::INVALID_COMMAND_OPERATION_CODE));
    };
    check_protect(access.protect)?;
    let (offset, len) = byte_range(unit, blocks)?;
    if len > MAX_TRANSFER as u64 {
        return Err(Sense::cdb_field(count_at(width), None));
    }
    let len = len as usize;
    Ok(match command {
        Command::Read { .. } => Plan::Read { offset, len },
        _ => Plan::Write { offset, len, durable: is_durable(unit, access) },
    })
}

/// Whether a write must reach the medium before its status.
pub(crate) fn is_durable(unit: &LogicalUnit, access: Access) -> bool {
    access.fua || unit.has(WRITE_THROUGH)
}

/// There is no protection information, so none can be asked for (SBC-4 4.21).
pub(crate) fn check_protect(protect: u8) -> Result<(), Sense> {
    if protect == 0 { Ok(()) } else { Err(Sense::cdb_field(1, Some(7))) }
}

/// Bytes of a range of blocks that must lie in the unit. An LBA beyond the last block is an error even when
/// the count is 0 (SBC-4 4.2.2).
pub(crate) fn byte_range(unit: &LogicalUnit, blocks: Blocks) -> Result<(u64, u64), Sense> {
    let size = unit.blocks();
    let count = u64::from(blocks.count);
    if blocks.lba >= size || count > size - blocks.lba {
        let first_outside = blocks.lba.max(size);
        return Err(Sense::illegal(Additional::LBA_OUT_OF_RANGE).with_information(first_outside));
    }
    let bytes = u64::from(BLOCK_BYTES);
    Ok((blocks.lba * bytes, count * bytes))
}

/// Byte of the CDB where the count stands.
pub(crate) const fn count_at(width: Width) -> u16 {
    match width {
        Width::Six => 4,
        Width::Ten => 7,
        Width::Twelve => 6,
        Width::Sixteen => 10,
    }
}
