//! REPORT SUPPORTED OPERATION CODES and REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS (SPC-5 6.35, 6.36).
//!
//! The table names every command that the device server carries out; a test runs it against the parser.

use plimsoll_wire::scsi::opcode::{self as op, service as sa};
use plimsoll_wire::scsi::supported::{
    SupportedCommand, options, write_all_supported, write_one_supported,
};
use plimsoll_wire::scsi::{Command, Sense};

use crate::Completion;
use crate::job::{Job, data_in};

/// NACA of the control byte is looked at, to refuse it.
const C: u8 = 0x04;
/// A byte of which every bit is looked at.
const F: u8 = 0xff;
/// SERVICE ACTION.
const S: u8 = 0x1f;

macro_rules! commands {
    ($($opcode:path $(, $service:path)? => [$($byte:expr),* $(,)?];)*) => {
        &[$(SupportedCommand {
            opcode: $opcode,
            service: commands!(@service $($service)?),
            usage: &[$opcode, $($byte),*],
        }),*]
    };
    (@service) => { None };
    (@service $service:path) => { Some($service as u16) };
}

/// Every supported command: operation code, service action, then the usage mask of the bytes after the first.
const COMMANDS: &[SupportedCommand] = commands! {
    op::TEST_UNIT_READY => [0, 0, 0, 0, C];
    op::REQUEST_SENSE => [0x01, 0, 0, F, C];
    op::READ_6 => [S, F, F, F, C];
    op::WRITE_6 => [S, F, F, F, C];
    op::INQUIRY => [0x01, F, F, F, C];
    op::MODE_SELECT_6 => [0x11, 0, 0, F, C];
    op::RESERVE_6 => [0, 0, 0, 0, C];
    op::RELEASE_6 => [0, 0, 0, 0, C];
    op::MODE_SENSE_6 => [0x08, F, F, F, C];
    op::START_STOP_UNIT => [0x01, 0, 0, 0xf7, C];
    op::SEND_DIAGNOSTIC => [0xe4, 0, F, F, C];
    op::PREVENT_ALLOW_MEDIUM_REMOVAL => [0, 0, 0, 0x03, C];
    op::READ_CAPACITY_10 => [0, 0, 0, 0, 0, 0, 0, 0, C];
    op::READ_10 => [0xf8, F, F, F, F, 0, F, F, C];
    op::WRITE_10 => [0xf8, F, F, F, F, 0, F, F, C];
    op::WRITE_AND_VERIFY_10 => [0xf6, F, F, F, F, 0, F, F, C];
    op::VERIFY_10 => [0xf6, F, F, F, F, 0, F, F, C];
    op::PREFETCH_10 => [0x02, F, F, F, F, 0, F, F, C];
    op::SYNCHRONIZE_CACHE_10 => [0x02, F, F, F, F, 0, F, F, C];
    op::READ_DEFECT_DATA_10 => [0, S, 0, 0, 0, 0, F, F, C];
    op::WRITE_SAME_10 => [0xf8, F, F, F, F, 0, F, F, C];
    op::UNMAP => [0x01, 0, 0, 0, 0, 0, F, F, C];
    op::SANITIZE, sa::SANITIZE_OVERWRITE => [0xbf, 0, 0, 0, 0, 0, F, F, C];
    op::SANITIZE, sa::SANITIZE_BLOCK_ERASE => [0xbf, 0, 0, 0, 0, 0, F, F, C];
    op::SANITIZE, sa::SANITIZE_EXIT_FAILURE_MODE => [S, 0, 0, 0, 0, 0, F, F, C];
    op::MODE_SELECT_10 => [0x11, 0, 0, 0, 0, 0, F, F, C];
    op::RESERVE_10 => [0, 0, 0, 0, 0, 0, 0, 0, C];
    op::RELEASE_10 => [0, 0, 0, 0, 0, 0, 0, 0, C];
    op::MODE_SENSE_10 => [0x18, F, F, 0, 0, 0, F, F, C];
    op::PERSISTENT_RESERVE_IN, sa::READ_KEYS => [S, 0, 0, 0, 0, 0, F, F, C];
    op::PERSISTENT_RESERVE_IN, sa::READ_RESERVATION => [S, 0, 0, 0, 0, 0, F, F, C];
    op::PERSISTENT_RESERVE_IN, sa::REPORT_CAPABILITIES => [S, 0, 0, 0, 0, 0, F, F, C];
    op::PERSISTENT_RESERVE_IN, sa::READ_FULL_STATUS => [S, 0, 0, 0, 0, 0, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::REGISTER => [S, 0, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::RESERVE => [S, F, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::RELEASE => [S, F, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::CLEAR => [S, 0, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::PREEMPT => [S, F, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::PREEMPT_AND_ABORT => [S, F, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::REGISTER_AND_IGNORE_EXISTING_KEY
        => [S, 0, 0, 0, F, F, F, F, C];
    op::PERSISTENT_RESERVE_OUT, sa::REGISTER_AND_MOVE => [S, 0, 0, 0, F, F, F, F, C];
    op::THIRD_PARTY_COPY_OUT, sa::EXTENDED_COPY_LID1
        => [S, 0, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::THIRD_PARTY_COPY_IN, sa::COPY_STATUS_LID1
        => [S, F, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::THIRD_PARTY_COPY_IN, sa::COPY_OPERATING_PARAMETERS
        => [S, F, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::THIRD_PARTY_COPY_IN, sa::COPY_FAILURE_DETAILS_LID1
        => [S, F, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::READ_16 => [0xf8, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::COMPARE_AND_WRITE => [0xf8, F, F, F, F, F, F, F, F, 0, 0, 0, F, 0, C];
    op::WRITE_16 => [0xf8, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::ORWRITE_16 => [0xf8, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::WRITE_AND_VERIFY_16 => [0xf6, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::VERIFY_16 => [0xf6, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::PREFETCH_16 => [0x02, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::SYNCHRONIZE_CACHE_16 => [0x02, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::WRITE_SAME_16 => [0xf9, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::SERVICE_ACTION_IN_16, sa::READ_CAPACITY_16
        => [S, 0, 0, 0, 0, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::SERVICE_ACTION_IN_16, sa::GET_LBA_STATUS
        => [S, F, F, F, F, F, F, F, F, F, F, F, F, 0, C];
    op::REPORT_LUNS => [0, F, 0, 0, 0, F, F, F, F, 0, C];
    op::MAINTENANCE_IN, sa::REPORT_TARGET_PORT_GROUPS => [F, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::MAINTENANCE_IN, sa::REPORT_SUPPORTED_OPERATION_CODES
        => [S, 0x87, F, F, F, F, F, F, F, 0, C];
    op::MAINTENANCE_IN, sa::REPORT_SUPPORTED_TASK_MANAGEMENT
        => [S, 0x80, 0, 0, 0, F, F, F, F, 0, C];
    op::MAINTENANCE_OUT, sa::SET_TARGET_PORT_GROUPS => [S, 0, 0, 0, 0, F, F, F, F, 0, C];
    op::READ_12 => [0xf8, F, F, F, F, F, F, F, F, 0, C];
    op::WRITE_12 => [0xf8, F, F, F, F, F, F, F, F, 0, C];
    op::WRITE_AND_VERIFY_12 => [0xf6, F, F, F, F, F, F, F, F, 0, C];
    op::VERIFY_12 => [0xf6, F, F, F, F, F, F, F, F, 0, C];
    op::READ_DEFECT_DATA_12 => [S, 0, 0, 0, 0, F, F, F, F, 0, C];
};

/// Whether a unit supports a command: what only a removable medium can do is left out for the others.
fn supports(job: &Job, command: &SupportedCommand) -> bool {
    command.opcode != op::PREVENT_ALLOW_MEDIUM_REMOVAL || job.unit().settings().removable
}

/// REPORT SUPPORTED OPERATION CODES.
pub(crate) fn report(job: &Job) -> Result<Completion, Sense> {
    let Command::ReportSupportedOpcodes { timeouts, options, opcode, service, allocation } =
        job.command
    else {
        return Err(Sense::cdb_field(1, Some(4)));
    };
    let mut known = COMMANDS.iter().filter(|command| supports(job, command));
    let mut out = Vec::new();
    if options == options::ALL {
        let all: Vec<_> = known.copied().collect();
        write_all_supported(&all, timeouts, &mut out);
        return Ok(data_in(out, allocation as usize));
    }
    let mut family = known.clone().filter(|command| command.opcode == opcode).peekable();
    let has_services = family.peek().is_some_and(|command| command.service.is_some());
    let found = match options {
        // The operation code alone must not be one with service actions, and the reverse (SPC-5 6.35.1).
        options::OPCODE if has_services => return Err(Sense::cdb_field(2, Some(2))),
        options::SERVICE if !has_services && family.peek().is_some() => {
            return Err(Sense::cdb_field(2, Some(2)));
        }
        options::OPCODE => family.next(),
        options::SERVICE | options::EITHER if has_services => {
            known.find(|command| command.opcode == opcode && command.service == Some(service))
        }
        options::SERVICE => None,
        options::EITHER if service == 0 => family.next(),
        options::EITHER => None,
        _ => return Err(Sense::cdb_field(2, Some(2))),
    };
    write_one_supported(found, timeouts, &mut out);
    Ok(data_in(out, allocation as usize))
}

/// REPORT SUPPORTED TASK MANAGEMENT FUNCTIONS: all but those of ACA and the query functions.
pub(crate) fn task_management(extended: bool, allocation: usize) -> Completion {
    // ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET.
    let mut out = vec![0xd8, 0, 0, 0];
    if extended {
        out[3] = 0x0c;
        out.resize(16, 0);
    }
    data_in(out, allocation)
}
