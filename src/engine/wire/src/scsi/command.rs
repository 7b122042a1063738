//! Commands as values: what a CDB says, without its layout.
//!
//! [`Command::parse`] reads a CDB for the device server, [`Command::cdb`] builds it for an initiator; the two
//! stand in files of their own. Bits that a standard reserves are not checked, since older initiators set
//! some of them (the LUN bits of SCSI-2), but NACA is refused: there is no auto contingent allegiance here.

use super::{Additional, Sense};

/// A run of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Blocks {
    /// First block.
    pub lba: u64,
    /// Count.
    pub count: u32,
}

/// Which form of a command: the length of its CDB in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Width {
    Six,
    Ten,
    Twelve,
    Sixteen,
}

/// How a block command treats cache and protection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Access {
    /// RDPROTECT, WRPROTECT, VRPROTECT or ORPROTECT.
    pub protect: u8,
    /// Disable page out: the blocks will not be needed soon.
    pub dpo: bool,
    /// Force unit access: reach the medium before status.
    pub fua: bool,
}

/// A command of SPC or SBC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Command {
    TestUnitReady,
    RequestSense {
        descriptor: bool,
        allocation: u8,
    },
    Inquiry {
        page: Option<u8>,
        allocation: u16,
    },
    ModeSense {
        width: Width,
        no_blocks: bool,
        long_lba: bool,
        control: u8,
        page: u8,
        subpage: u8,
        allocation: u16,
    },
    ModeSelect {
        width: Width,
        page_format: bool,
        save: bool,
        length: u16,
    },
    Reserve {
        width: Width,
    },
    Release {
        width: Width,
    },
    StartStop {
        immediate: bool,
        power: u8,
        no_flush: bool,
        load_eject: bool,
        start: bool,
    },
    SendDiagnostic {
        self_test: bool,
        code: u8,
        length: u16,
    },
    PreventAllow {
        prevent: u8,
    },
    ReadCapacity10,
    ReadCapacity16 {
        allocation: u32,
    },
    GetLbaStatus {
        lba: u64,
        allocation: u32,
    },
    Read {
        width: Width,
        blocks: Blocks,
        access: Access,
    },
    Write {
        width: Width,
        blocks: Blocks,
        access: Access,
    },
    WriteVerify {
        width: Width,
        blocks: Blocks,
        access: Access,
        byte_check: u8,
    },
    Verify {
        width: Width,
        blocks: Blocks,
        access: Access,
        byte_check: u8,
    },
    OrWrite {
        blocks: Blocks,
        access: Access,
    },
    CompareAndWrite {
        blocks: Blocks,
        access: Access,
    },
    Prefetch {
        width: Width,
        blocks: Blocks,
        immediate: bool,
    },
    SynchronizeCache {
        width: Width,
        blocks: Blocks,
        immediate: bool,
    },
    WriteSame {
        width: Width,
        blocks: Blocks,
        protect: u8,
        anchor: bool,
        unmap: bool,
        no_data: bool,
    },
    Unmap {
        anchor: bool,
        length: u16,
    },
    ReadDefectData {
        width: Width,
        primary: bool,
        grown: bool,
        format: u8,
        allocation: u32,
    },
    Sanitize {
        service: u8,
        immediate: bool,
        unrestricted_exit: bool,
        length: u16,
    },
    PersistentReserveIn {
        service: u8,
        allocation: u16,
    },
    PersistentReserveOut {
        service: u8,
        scope: u8,
        kind: u8,
        length: u32,
    },
    ExtendedCopy {
        length: u32,
    },
    ReceiveCopyResults {
        service: u8,
        list: u8,
        allocation: u32,
    },
    ReportLuns {
        select: u8,
        allocation: u32,
    },
    ReportTargetPortGroups {
        extended: bool,
        allocation: u32,
    },
    SetTargetPortGroups {
        length: u32,
    },
    ReportSupportedOpcodes {
        timeouts: bool,
        options: u8,
        opcode: u8,
        service: u16,
        allocation: u32,
    },
    ReportSupportedTaskManagement {
        extended: bool,
        allocation: u32,
    },
}

/// Why a CDB is not a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CdbError {
    /// The operation code is not known.
    #[error("operation code {0:#04x} is not supported")]
    Opcode(u8),
    /// A field holds a value that is not supported.
    #[error("invalid field at byte {byte} of the cdb")]
    Field {
        /// Byte offset.
        byte: u8,
        /// Highest bit of the field, unless it fills the byte.
        bit: Option<u8>,
    },
}

impl From<CdbError> for Sense {
    fn from(error: CdbError) -> Self {
        match error {
            CdbError::Opcode(_) => Self::illegal(Additional::INVALID_COMMAND_OPERATION_CODE),
            CdbError::Field { byte, bit } => Self::cdb_field(u16::from(byte), bit),
        }
    }
}
