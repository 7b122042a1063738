//! A checked command that is more than a READ or WRITE: what it needs first, and how it is carried out.

use std::sync::Arc;

use plimsoll_wire::scsi::{Additional, Command, Sense, Status};

use crate::attachment::Attachment;
use crate::persistent::Refusal;
use crate::{
    Completion, Device, LogicalUnit, MAX_COLLECT, Plan, blocks, copy, inquire, mode, opcodes,
    port_groups, power, provisioning, ranges, reserve, reserve_in, reserve_out, sanitize,
};

/// A command that waits for its data-out or for a thread that may block.
#[derive(Debug)]
pub struct Job {
    pub(crate) device: Arc<Device>,
    pub(crate) attachment: Arc<Attachment>,
    pub(crate) command: Command,
}

/// What a command needs before it runs.
pub(crate) enum Step {
    /// READ or WRITE.
    Transfer(Plan),
    /// Nothing.
    Now,
    /// Data-out, or a thread that may block.
    Collect { len: usize, blocking: bool },
}

impl Step {
    /// Runs without data-out in a thread that may block.
    pub const BLOCKING: Self = Self::Collect { len: 0, blocking: true };
}

impl Job {
    pub(crate) fn new(device: Arc<Device>, attachment: Arc<Attachment>, command: Command) -> Self {
        Self { device, attachment, command }
    }

    pub(crate) fn unit(&self) -> &LogicalUnit {
        &self.attachment.unit
    }

    /// Whether access to the store may wait for a disk.
    pub(crate) fn store_blocks(&self) -> bool {
        self.unit().store().may_block()
    }

    /// Checks the command's own fields.
    pub(crate) fn prepare(&self, expected_out: usize) -> Result<Step, Sense> {
        use Command as C;
        let unit = self.unit();
        match &self.command {
            C::Read { .. } | C::Write { .. } => {
                ranges::plan_transfer(unit, &self.command).map(Step::Transfer)
            }
            C::WriteVerify { .. }
            | C::Verify { .. }
            | C::OrWrite { .. }
            | C::CompareAndWrite { .. }
            | C::Prefetch { .. }
            | C::SynchronizeCache { .. } => blocks::prepare(self, expected_out),
            C::WriteSame { .. } | C::Unmap { .. } | C::GetLbaStatus { .. } => {
                provisioning::prepare(self, expected_out)
            }
            C::ModeSelect { length, .. } => {
                parameter_list(usize::from(*length), expected_out, false)
            }
            C::SetTargetPortGroups { length } => {
                parameter_list(*length as usize, expected_out, false)
            }
            C::PersistentReserveOut { length, .. } => {
                parameter_list(*length as usize, expected_out, true)
            }
            C::Sanitize { .. } => sanitize::prepare(self, expected_out),
            // A stop flushes.
            C::StartStop { .. } => Ok(Step::BLOCKING),
            C::ExtendedCopy { length } => copy::prepare(*length, expected_out),
            _ => Ok(Step::Now),
        }
    }

    /// Whether the command may run for minutes or more, so that it should have a thread of its own instead of
    /// one of a pool.
    pub fn runs_long(&self) -> bool {
        matches!(self.command, Command::Sanitize { immediate: false, .. })
    }

    /// Runs the command with the data-out collected, and ends it.
    ///
    /// `data` is shorter than [`crate::Plan::Collect`] asked for when the initiator sent less.
    pub fn run(&self, data: &[u8]) -> Completion {
        match self.execute(data) {
            Ok(completion) => completion,
            Err(Refusal::Conflict) => Completion::status(Status::ReservationConflict),
            Err(Refusal::Check(sense)) => self.unit().check(&sense),
        }
    }

    fn execute(&self, data: &[u8]) -> Result<Completion, Refusal> {
        use Command as C;
        Ok(match &self.command {
            C::TestUnitReady => Completion::good(),
            // Both are transfers, which never become a job.
            C::Read { .. } | C::Write { .. } => Completion::good(),
            C::RequestSense { descriptor, allocation } => {
                inquire::request_sense(self, *descriptor, usize::from(*allocation))
            }
            C::Inquiry { page, allocation } => {
                inquire::inquiry(self, *page, usize::from(*allocation))?
            }
            C::ReportLuns { select, allocation } => {
                inquire::report_luns(self, *select, *allocation as usize)?
            }
            C::ModeSense { .. } => mode::sense(self)?,
            C::ModeSelect { .. } => mode::select(self, data)?,
            C::Reserve { .. } => reserve::reserve(self)?,
            C::Release { .. } => reserve::release(self)?,
            C::StartStop { .. } => power::start_stop(self)?,
            C::PreventAllow { prevent } => power::prevent_allow(self, *prevent)?,
            C::SendDiagnostic { code, length, .. } => power::send_diagnostic(*code, *length)?,
            C::ReadCapacity10 => provisioning::capacity_10(self),
            C::ReadCapacity16 { allocation } => {
                provisioning::capacity_16(self, *allocation as usize)
            }
            C::GetLbaStatus { lba, allocation } => {
                provisioning::lba_status(self, *lba, *allocation as usize)?
            }
            C::WriteVerify { blocks, .. } => blocks::write_verify(self, *blocks, data)?,
            C::Verify { blocks, byte_check, .. } => {
                blocks::verify(self, *blocks, *byte_check, data)?
            }
            C::OrWrite { blocks, access } => blocks::or_write(self, *blocks, *access, data)?,
            C::CompareAndWrite { blocks, access } => {
                blocks::compare_and_write(self, *blocks, *access, data)?
            }
            C::Prefetch { blocks, immediate, .. } => blocks::prefetch(self, *blocks, *immediate)?,
            C::SynchronizeCache { .. } => self.unit().flush(),
            C::WriteSame { .. } => provisioning::write_same(self, data)?,
            C::Unmap { .. } => provisioning::unmap(self, data)?,
            C::ReadDefectData { .. } => power::read_defect_data(self)?,
            C::Sanitize { .. } => sanitize::sanitize(self, data)?,
            C::PersistentReserveIn { service, allocation } => {
                reserve_in::reserve_in(self, *service, usize::from(*allocation))
            }
            C::PersistentReserveOut { service, scope, kind, .. } => {
                reserve_out::reserve_out(self, *service, *scope, *kind, data)?
            }
            C::ExtendedCopy { .. } => copy::extended_copy(self, data)?,
            C::ReceiveCopyResults { service, list, allocation } => {
                copy::receive_results(self, *service, *list, *allocation as usize)?
            }
            C::ReportTargetPortGroups { extended, allocation } => {
                port_groups::report(self, *extended, *allocation as usize)
            }
            C::SetTargetPortGroups { .. } => port_groups::set(self, data)?,
            C::ReportSupportedOpcodes { .. } => opcodes::report(self)?,
            C::ReportSupportedTaskManagement { extended, allocation } => {
                opcodes::task_management(*extended, *allocation as usize)
            }
        })
    }
}

/// A parameter list of `length` bytes; the initiator must send all of it.
pub(crate) fn parameter_list(
    length: usize,
    expected_out: usize,
    blocking: bool,
) -> Result<Step, Sense> {
    if length > expected_out || length > MAX_COLLECT {
        return Err(Sense::illegal(Additional::PARAMETER_LIST_LENGTH_ERROR));
    }
    Ok(Step::Collect { len: length, blocking })
}

/// GOOD with data-in cut to the allocation length.
pub(crate) fn data_in(mut data: Vec<u8>, allocation: usize) -> Completion {
    data.truncate(allocation);
    Completion::data(data)
}
