//! The way of a command that the fast path does not take: unit attention, access state, reservation, medium
//! state, then the command's own checks (the order of SAM-5 5.3.3 and SPC-5 5.3).

use std::sync::Arc;

use plimsoll_wire::scsi::opcode as op;
use plimsoll_wire::scsi::{Additional, Command, Sense, SenseKey, Specific, Status};

use crate::attachment::{
    ATTENTION, Attachment, READS_DENIED, RESERVED, STANDBY, UNAVAILABLE, WRITES_DENIED,
};
use crate::job::{Job, Step};
use crate::unit::{EJECTED, READ_ONLY, SANITIZE_FAILED, SANITIZING, SOFTWARE_WRITE_PROTECT};
use crate::{Completion, Device, LogicalUnit, Plan};

/// Takes a command through all checks.
pub(crate) fn enter(
    device: &Arc<Device>,
    attachment: &Arc<Attachment>,
    cdb: &[u8; 16],
    expected_out: usize,
) -> Plan {
    let unit = &attachment.unit;
    let refuse = |sense: Sense| Plan::Done(unit.check(&sense));
    let flags = attachment.flags();
    if flags & ATTENTION != 0
        && !matches!(cdb[0], op::INQUIRY | op::REPORT_LUNS | op::REQUEST_SENSE)
        && let Some(additional) = attachment.take_attention()
    {
        return refuse(Sense::attention(additional));
    }
    let command = match Command::parse(cdb) {
        Ok(command) => command,
        Err(error) => return refuse(error.into()),
    };
    if let Err(sense) = check_access_state(flags, &command) {
        return refuse(sense);
    }
    if conflicts(flags, &command) {
        return Plan::Done(Completion::status(Status::ReservationConflict));
    }
    if let Err(sense) = check_medium(unit, &command) {
        return refuse(sense);
    }
    let job = Job::new(Arc::clone(device), Arc::clone(attachment), command);
    match job.prepare(expected_out) {
        Ok(Step::Transfer(plan)) => plan,
        Ok(Step::Now) => Plan::Done(job.run(&[])),
        Ok(Step::Collect { len, blocking }) => Plan::Collect { len, blocking, job: Box::new(job) },
        Err(sense) => refuse(sense),
    }
}

/// Standby and unavailable ports serve little (SPC-5 5.15.2.4).
fn check_access_state(flags: u32, command: &Command) -> Result<(), Sense> {
    use Command as C;
    if flags & (STANDBY | UNAVAILABLE) == 0 {
        return Ok(());
    }
    let always = matches!(
        command,
        C::Inquiry { .. }
            | C::ReportLuns { .. }
            | C::RequestSense { .. }
            | C::ReportTargetPortGroups { .. }
            | C::SetTargetPortGroups { .. }
    );
    let in_standby = matches!(
        command,
        C::ModeSense { .. }
            | C::ModeSelect { .. }
            | C::PersistentReserveIn { .. }
            | C::PersistentReserveOut { .. }
            | C::SendDiagnostic { .. }
            | C::ReportSupportedOpcodes { .. }
            | C::ReportSupportedTaskManagement { .. }
    );
    if always || in_standby && flags & UNAVAILABLE == 0 {
        return Ok(());
    }
    let additional = if flags & UNAVAILABLE != 0 {
        Additional::NOT_ACCESSIBLE_UNAVAILABLE
    } else {
        Additional::NOT_ACCESSIBLE_STANDBY
    };
    Err(Sense::new(SenseKey::NotReady, additional))
}

/// Whether a reservation of another nexus denies the command (SPC-2 table 10; SPC-5 tables 72, 73; SBC-4
/// table 13).
fn conflicts(flags: u32, command: &Command) -> bool {
    use Command as C;
    if flags & (RESERVED | WRITES_DENIED) == 0 {
        return false;
    }
    let persistent = flags & RESERVED == 0;
    match command {
        C::Inquiry { .. }
        | C::ReportLuns { .. }
        | C::RequestSense { .. }
        | C::ReadCapacity10
        | C::ReadCapacity16 { .. }
        | C::ReportTargetPortGroups { .. }
        | C::PreventAllow { prevent: 0 }
        | C::StartStop { start: true, power: 0, load_eject: false, .. } => false,
        // RELEASE by a nexus that does not hold the unit is not an error (SPC-2 7.18).
        C::Release { .. } => false,
        // These two sort it out themselves; under RESERVE they conflict.
        C::PersistentReserveIn { .. } | C::PersistentReserveOut { .. } | C::Reserve { .. } => {
            !persistent
        }
        C::TestUnitReady => !persistent,
        C::Read { .. }
        | C::Verify { .. }
        | C::Prefetch { .. }
        | C::GetLbaStatus { .. }
        | C::ReadDefectData { .. } => !persistent || flags & READS_DENIED != 0,
        _ => true,
    }
}

/// What an ejected or sanitizing unit still does, and what a write-protected one does not.
fn check_medium(unit: &LogicalUnit, command: &Command) -> Result<(), Sense> {
    use Command as C;
    let flags = unit.flags();
    if flags & (SANITIZING | SANITIZE_FAILED) != 0 {
        check_sanitize(unit, flags, command)?;
    }
    let medium = matches!(
        command,
        C::TestUnitReady
            | C::ReadCapacity10
            | C::ReadCapacity16 { .. }
            | C::GetLbaStatus { .. }
            | C::Read { .. }
            | C::Verify { .. }
            | C::Prefetch { .. }
            | C::SynchronizeCache { .. }
            | C::ReadDefectData { .. }
            | C::ExtendedCopy { .. }
    );
    let writes = writes(command);
    if (medium || writes) && flags & EJECTED != 0 {
        return Err(Sense::new(SenseKey::NotReady, Additional::MEDIUM_NOT_PRESENT));
    }
    if writes && flags & (READ_ONLY | SOFTWARE_WRITE_PROTECT) != 0 {
        return Err(Sense::new(SenseKey::DataProtect, Additional::WRITE_PROTECTED));
    }
    Ok(())
}

/// Whether a command changes the medium.
fn writes(command: &Command) -> bool {
    use Command as C;
    matches!(
        command,
        C::Write { .. }
            | C::WriteVerify { .. }
            | C::OrWrite { .. }
            | C::CompareAndWrite { .. }
            | C::WriteSame { .. }
            | C::Unmap { .. }
            | C::Sanitize { .. }
    )
}

/// During a sanitize operation little but questions is served (SBC-4 4.11.2), and after one that failed only
/// another one or leaving the failure mode.
fn check_sanitize(unit: &LogicalUnit, flags: u32, command: &Command) -> Result<(), Sense> {
    use Command as C;
    let question = matches!(
        command,
        C::Inquiry { .. }
            | C::ReportLuns { .. }
            | C::RequestSense { .. }
            | C::ReportTargetPortGroups { .. }
            | C::ReportSupportedOpcodes { .. }
            | C::ReportSupportedTaskManagement { .. }
            | C::PersistentReserveIn { .. }
    );
    if question {
        Ok(())
    } else if flags & SANITIZING != 0 {
        Err(sanitizing(unit))
    } else if matches!(command, C::Sanitize { .. }) {
        Ok(())
    } else {
        Err(Sense::new(SenseKey::MediumError, Additional::SANITIZE_COMMAND_FAILED))
    }
}

/// NOT READY, SANITIZE IN PROGRESS with its progress.
pub(crate) fn sanitizing(unit: &LogicalUnit) -> Sense {
    let progress = unit.state().sanitize_progress;
    Sense::new(SenseKey::NotReady, Additional::NOT_READY_SANITIZE_IN_PROGRESS)
        .at(Specific::Progress(progress))
}
