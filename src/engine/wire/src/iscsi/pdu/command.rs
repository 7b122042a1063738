//! SCSI Command and Response, task management (RFC 7143 sections 11.3 to 11.6).

use crate::scsi::LunField;

use super::{
    Bhs, FINAL, Opcode, Sequence, data_len, flag, is_immediate, itt, lun, put_lun, put_u32, start,
    u32_at,
};

/// Task attribute of a command (section 11.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Attribute {
    /// The target may reorder.
    Untagged = 0,
    /// The target may reorder among simple tasks.
    Simple = 1,
    /// After all older tasks, before all newer.
    Ordered = 2,
    /// Before all others.
    HeadOfQueue = 3,
    /// Allowed during auto contingent allegiance.
    Aca = 4,
    /// A reserved value.
    Reserved = 7,
}

impl Attribute {
    #[inline]
    fn parse(bits: u8) -> Self {
        match bits & 7 {
            0 => Self::Untagged,
            1 => Self::Simple,
            2 => Self::Ordered,
            3 => Self::HeadOfQueue,
            4 => Self::Aca,
            _ => Self::Reserved,
        }
    }
}

/// SCSI Command (section 11.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiCommand {
    /// Delivered at once, outside the order of CmdSN.
    pub immediate: bool,
    /// No unsolicited Data-Out follows.
    pub is_final: bool,
    /// Input is expected.
    pub read: bool,
    /// Output is expected.
    pub write: bool,
    /// Task attribute.
    pub attribute: Attribute,
    /// Bytes of AHS that follow, a multiple of four.
    pub ahs_len: u16,
    /// Bytes of immediate data.
    pub data_len: u32,
    /// Logical unit.
    pub lun: LunField,
    /// Initiator task tag.
    pub itt: u32,
    /// Bytes that the initiator expects to move (the write half of a bidirectional command).
    pub expected_len: u32,
    /// Place in the order of commands.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
    /// The first sixteen bytes of the CDB.
    pub cdb: [u8; 16],
}

impl ScsiCommand {
    /// Reads the header.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        let mut cdb = [0; 16];
        cdb.copy_from_slice(&bhs[32..48]);
        Self {
            immediate: is_immediate(bhs),
            is_final: bhs[1] & FINAL != 0,
            read: bhs[1] & 0x40 != 0,
            write: bhs[1] & 0x20 != 0,
            attribute: Attribute::parse(bhs[1]),
            ahs_len: u16::from(bhs[4]) * 4,
            data_len: data_len(bhs),
            lun: lun(bhs),
            itt: itt(bhs),
            expected_len: u32_at(bhs, 20),
            cmd_sn: u32_at(bhs, 24),
            exp_stat_sn: u32_at(bhs, 28),
            cdb,
        }
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn build(&self) -> Bhs {
        let flags = flag(self.is_final, FINAL)
            | flag(self.read, 0x40)
            | flag(self.write, 0x20)
            | self.attribute as u8;
        let mut bhs = start(Opcode::ScsiCommand, self.immediate, flags, self.data_len);
        bhs[4] = (self.ahs_len / 4) as u8;
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.expected_len);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        bhs[32..48].copy_from_slice(&self.cdb);
        bhs
    }
}

/// The difference between what the initiator expected and what the command would move (section 11.4.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Residual {
    /// Exactly what was expected.
    #[default]
    None,
    /// So many bytes fewer than expected.
    Underflow(u32),
    /// So many bytes were not moved because the initiator did not expect them.
    Overflow(u32),
}

impl Residual {
    /// Compares what the initiator expected with what the command has to move.
    #[inline]
    pub fn between(expected: u64, actual: u64) -> Self {
        let clamp = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        match expected.cmp(&actual) {
            std::cmp::Ordering::Equal => Self::None,
            std::cmp::Ordering::Greater => Self::Underflow(clamp(expected - actual)),
            std::cmp::Ordering::Less => Self::Overflow(clamp(actual - expected)),
        }
    }

    /// Reads flags and count at the places of Data-In and SCSI Response.
    #[inline]
    pub(super) fn parse(bhs: &Bhs) -> Self {
        match bhs[1] & 0x06 {
            0x02 => Self::Underflow(u32_at(bhs, 44)),
            0x04 => Self::Overflow(u32_at(bhs, 44)),
            _ => Self::None,
        }
    }

    #[inline]
    pub(super) fn put(self, bhs: &mut Bhs) {
        let (bit, count) = match self {
            Self::None => return,
            Self::Underflow(count) => (0x02, count),
            Self::Overflow(count) => (0x04, count),
        };
        bhs[1] |= bit;
        put_u32(bhs, 44, count);
    }
}

/// SCSI Response (section 11.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScsiResponse {
    /// 0 = completed at target, anything else = target failure (section 11.4.3).
    pub response: u8,
    /// SCSI status, valid when `response` is 0.
    pub status: u8,
    /// Bytes of sense segment, see [`sense_segment`].
    pub data_len: u32,
    /// Initiator task tag.
    pub itt: u32,
    /// Sequence numbers.
    pub sequence: Sequence,
    /// Number of Data-In PDUs (of a read) or R2T PDUs (of a write) that were sent for the command.
    pub exp_data_sn: u32,
    /// Difference to what was expected; of a bidirectional command, of its write half.
    pub residual: Residual,
    /// Difference of the read half of a bidirectional command.
    pub read_residual: Residual,
}

impl ScsiResponse {
    /// Reads the header.
    #[inline]
    pub fn parse(bhs: &Bhs) -> Self {
        let read_residual = match bhs[1] & 0x18 {
            0x08 => Residual::Underflow(u32_at(bhs, 40)),
            0x10 => Residual::Overflow(u32_at(bhs, 40)),
            _ => Residual::None,
        };
        Self {
            response: bhs[2],
            status: bhs[3],
            data_len: data_len(bhs),
            itt: itt(bhs),
            sequence: Sequence::parse(bhs),
            exp_data_sn: u32_at(bhs, 36),
            residual: Residual::parse(bhs),
            read_residual,
        }
    }

    /// The header as it stands on the wire.
    #[inline]
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::ScsiResponse, false, FINAL, self.data_len);
        bhs[2] = self.response;
        bhs[3] = self.status;
        put_u32(&mut bhs, 16, self.itt);
        self.sequence.put(&mut bhs);
        put_u32(&mut bhs, 36, self.exp_data_sn);
        self.residual.put(&mut bhs);
        let (bit, count) = match self.read_residual {
            Residual::None => (0, 0),
            Residual::Underflow(count) => (0x08, count),
            Residual::Overflow(count) => (0x10, count),
        };
        bhs[1] |= bit;
        put_u32(&mut bhs, 40, count);
        bhs
    }
}

/// The data segment of a response with sense data: a length, then the sense (section 11.4.7.2).
pub fn sense_segment(sense: &[u8]) -> Vec<u8> {
    let mut segment = Vec::with_capacity(2 + sense.len());
    segment.extend_from_slice(&(sense.len() as u16).to_be_bytes());
    segment.extend_from_slice(sense);
    segment
}

/// The sense data in the data segment of a response; empty when there is none or its length lies.
pub fn sense_of(segment: &[u8]) -> &[u8] {
    let Some((len, rest)) = segment.split_first_chunk::<2>() else { return &[] };
    rest.get(..usize::from(u16::from_be_bytes(*len))).unwrap_or(&[])
}

/// What a task management request asks for (section 11.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskFunction {
    /// Abort the task with the referenced tag.
    AbortTask,
    /// Abort all tasks of this session on the unit.
    AbortTaskSet,
    /// Clear auto contingent allegiance.
    ClearAca,
    /// Abort all tasks of all sessions on the unit.
    ClearTaskSet,
    /// Reset the unit.
    LogicalUnitReset,
    /// Reset all units of the target.
    TargetWarmReset,
    /// Reset all units and drop all sessions.
    TargetColdReset,
    /// Move a task to another connection of the session.
    TaskReassign,
    /// A value that the RFC does not define.
    Unknown(u8),
}

impl TaskFunction {
    pub(super) fn parse(code: u8) -> Self {
        match code & 0x7f {
            1 => Self::AbortTask,
            2 => Self::AbortTaskSet,
            3 => Self::ClearAca,
            4 => Self::ClearTaskSet,
            5 => Self::LogicalUnitReset,
            6 => Self::TargetWarmReset,
            7 => Self::TargetColdReset,
            8 => Self::TaskReassign,
            other => Self::Unknown(other),
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::AbortTask => 1,
            Self::AbortTaskSet => 2,
            Self::ClearAca => 3,
            Self::ClearTaskSet => 4,
            Self::LogicalUnitReset => 5,
            Self::TargetWarmReset => 6,
            Self::TargetColdReset => 7,
            Self::TaskReassign => 8,
            Self::Unknown(other) => other & 0x7f,
        }
    }
}

/// SCSI Task Management Function Request (section 11.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRequest {
    /// Delivered at once, outside the order of CmdSN.
    pub immediate: bool,
    /// What is asked for.
    pub function: TaskFunction,
    /// Logical unit, for functions that address one.
    pub lun: LunField,
    /// Tag of this request.
    pub itt: u32,
    /// Tag of the task to abort or reassign.
    pub referenced_itt: u32,
    /// Place in the order of commands.
    pub cmd_sn: u32,
    /// Acknowledges all statuses before it.
    pub exp_stat_sn: u32,
    /// CmdSN of the task to abort.
    pub ref_cmd_sn: u32,
    /// For reassignment: next data number expected.
    pub exp_data_sn: u32,
}

impl TaskRequest {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self {
            immediate: is_immediate(bhs),
            function: TaskFunction::parse(bhs[1]),
            lun: lun(bhs),
            itt: itt(bhs),
            referenced_itt: u32_at(bhs, 20),
            cmd_sn: u32_at(bhs, 24),
            exp_stat_sn: u32_at(bhs, 28),
            ref_cmd_sn: u32_at(bhs, 32),
            exp_data_sn: u32_at(bhs, 36),
        }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let flags = FINAL | self.function.code();
        let mut bhs = start(Opcode::TaskRequest, self.immediate, flags, 0);
        put_lun(&mut bhs, self.lun);
        put_u32(&mut bhs, 16, self.itt);
        put_u32(&mut bhs, 20, self.referenced_itt);
        put_u32(&mut bhs, 24, self.cmd_sn);
        put_u32(&mut bhs, 28, self.exp_stat_sn);
        put_u32(&mut bhs, 32, self.ref_cmd_sn);
        put_u32(&mut bhs, 36, self.exp_data_sn);
        bhs
    }
}

/// How a task management function ended (section 11.6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskResult {
    /// Done.
    Complete,
    /// There is no such task.
    TaskDoesNotExist,
    /// There is no such unit.
    LunDoesNotExist,
    /// The task is still allegiant to another connection.
    StillAllegiant,
    /// Reassignment is not supported.
    ReassignmentNotSupported,
    /// The function is not supported.
    NotSupported,
    /// The initiator may not do that.
    AuthorizationFailed,
    /// Rejected.
    Rejected,
    /// A value that the RFC does not define.
    Unknown(u8),
}

impl TaskResult {
    pub(super) fn parse(code: u8) -> Self {
        match code {
            0 => Self::Complete,
            1 => Self::TaskDoesNotExist,
            2 => Self::LunDoesNotExist,
            3 => Self::StillAllegiant,
            4 => Self::ReassignmentNotSupported,
            5 => Self::NotSupported,
            6 => Self::AuthorizationFailed,
            255 => Self::Rejected,
            other => Self::Unknown(other),
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Self::Complete => 0,
            Self::TaskDoesNotExist => 1,
            Self::LunDoesNotExist => 2,
            Self::StillAllegiant => 3,
            Self::ReassignmentNotSupported => 4,
            Self::NotSupported => 5,
            Self::AuthorizationFailed => 6,
            Self::Rejected => 255,
            Self::Unknown(other) => other,
        }
    }
}

/// SCSI Task Management Function Response (section 11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskResponse {
    /// How it ended.
    pub result: TaskResult,
    /// Tag of the request.
    pub itt: u32,
    /// Sequence numbers.
    pub sequence: Sequence,
}

impl TaskResponse {
    /// Reads the header.
    pub fn parse(bhs: &Bhs) -> Self {
        Self { result: TaskResult::parse(bhs[2]), itt: itt(bhs), sequence: Sequence::parse(bhs) }
    }

    /// The header as it stands on the wire.
    pub fn build(&self) -> Bhs {
        let mut bhs = start(Opcode::TaskResponse, false, FINAL, 0);
        bhs[2] = self.result.code();
        put_u32(&mut bhs, 16, self.itt);
        self.sequence.put(&mut bhs);
        bhs
    }
}
