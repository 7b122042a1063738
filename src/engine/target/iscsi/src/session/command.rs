//! SCSI commands: what the device server plans is carried out here (RFC 7143 section 11.3).
//!
//! READ leaves from the store's memory, WRITE lands in it from the receive buffer; neither allocates when the
//! limiter lets it pass and its data is at hand.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::{Close, Payload};
use plimsoll_storage::{Admission, Direction, Ready, RemoteOperation, StoreError};
use plimsoll_target_scsi::{Completion, Job, LogicalUnit, Plan};
use plimsoll_wire::iscsi::Pdu;
use plimsoll_wire::iscsi::ahs::{self, Ahs};
use plimsoll_wire::iscsi::pdu::{Attribute, RejectReason, Residual, ScsiCommand};
use plimsoll_wire::scsi::{Additional, Sense, SenseKey, Status};

use super::memory::Charge;
use super::reply::Expected;
use super::tasks::{Tag, Task, Work};
use super::{IMMEDIATE_TASKS, Session};
use crate::connection::Event;
use crate::mover::{Mover, Turn};

/// With data digests a read may be copied when it is queued; it waits while more than this is queued.
const COPIED_BYTES_MAX: usize = 4 << 20;
/// How long such a read waits before it looks again.
const COPY_PAUSE: Duration = Duration::from_millis(1);

/// Sense of a command whose data phase went wrong (section 11.4.7.2).
pub(super) fn aborted(additional: Additional) -> Completion {
    Completion::check(&Sense::new(SenseKey::AbortedCommand, additional), false)
}

impl<M: Mover> Session<M> {
    #[inline]
    pub(super) fn scsi_command(
        &mut self,
        frame: &[u8],
        pdu: &Pdu<'_>,
        tags: M::Tags,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let command = parse(pdu);
        self.stats.commands += 1;
        let open = self.tasks.len() + self.delayed.len();
        if open > 0 {
            let in_use = self.tasks.find(|task| task.itt == command.itt).is_some()
                || self.delayed.contains(command.itt);
            if in_use {
                self.reject(io.send, RejectReason::TaskInProgress, pdu.bhs);
                return Ok(());
            }
            if open >= self.window as usize + IMMEDIATE_TASKS {
                self.reject(io.send, RejectReason::ImmediateCommandReject, pdu.bhs);
                return Ok(());
            }
        }
        if self.delayed.holds(&command, &self.tasks) {
            self.delay(&command, frame, pdu, tags, io);
        } else {
            self.begin(&command, pdu, tags, io);
        }
        Ok(())
    }

    /// Keeps a command until its turn by task attribute.
    fn delay(
        &mut self,
        command: &ScsiCommand,
        frame: &[u8],
        pdu: &Pdu<'_>,
        tags: M::Tags,
        io: &mut Turn<'_, M>,
    ) {
        match self.charge(frame.len() + self.unsolicited_bytes_max()) {
            Some(charge) => self.delayed.push(command, frame, charge),
            None => {
                let (expected, full) =
                    (expected(command, pdu, tags), Completion::status(Status::TaskSetFull));
                self.out_or_done(command, expected, Plan::Done(full), pdu.data, io);
            }
        }
    }

    /// Most that the frames of one command's unsolicited data can take up.
    pub(super) fn unsolicited_bytes_max(&self) -> usize {
        // Half as much again, and some, for headers around small segments.
        let first_burst = self.parameters.first_burst_bytes as usize;
        first_burst + first_burst / 2 + 4096
    }

    /// Lets the device server plan a command, and carries out the plan.
    #[inline]
    pub(super) fn begin(
        &mut self,
        command: &ScsiCommand,
        pdu: &Pdu<'_>,
        tags: M::Tags,
        io: &mut Turn<'_, M>,
    ) {
        let expected = expected(command, pdu, tags);
        // Its presence is checked by `dispatch`.
        let Some(nexus) = &mut self.nexus else { return };
        let plan = nexus.begin(command.lun, &command.cdb, expected.write as usize);
        match plan {
            Plan::Read { offset, len } => self.read(command, expected, offset, len, io),
            plan => self.out_or_done(command, expected, plan, pdu.data, io),
        }
    }

    /// A READ: now, or when the limiter lets it pass.
    #[inline]
    fn read(
        &mut self,
        command: &ScsiCommand,
        expected: Expected<M::Tags>,
        offset: u64,
        len: usize,
        io: &mut Turn<'_, M>,
    ) {
        // `wants` is what the READ has to move, for the residual.
        let expected = Expected { wants: len as u32, ..expected };
        let total = expected.read.min(expected.wants);
        let residual = read_residual(expected);
        let Some(unit) = self.nexus.as_ref().and_then(|nexus| nexus.unit(command.lun)) else {
            return self.read_failed(command.itt, expected, gone(), io);
        };
        let admission = unit.volume().admit(self.host, &self.flow, Direction::Read, total, io.now);
        let admission = match admission {
            Admission::Now if self.digests.data && io.send.backlog() > COPIED_BYTES_MAX => {
                Admission::At(io.now + COPY_PAUSE)
            }
            admission => admission,
        };
        let payloads = &mut self.payloads;
        payloads.clear();
        match admission {
            Admission::Now => {
                match fetch(unit, offset, total as usize, self.digests.data, payloads) {
                    Ok(Ready::Now) => {
                        self.send_read(io.send, command.itt, expected.tags, total, residual);
                    }
                    Ok(Ready::Blocking) => {
                        let unit = Arc::clone(unit);
                        let work = Work::Running { aborted: false, r2t_sn: 0, _charge: None };
                        let tag = self.insert(command, expected, work);
                        self.read_cold(tag, &unit, offset, total, io);
                    }
                    Err(error) => {
                        let completion = unit.read_failed(&error);
                        self.read_failed(command.itt, expected, completion, io);
                    }
                }
            }
            Admission::At(at) => {
                let work = Work::Read { unit: Arc::clone(unit), offset, len: total };
                let tag = self.insert(command, expected, work);
                self.parked.push(Reverse((at, tag)));
            }
        }
    }

    /// A read whose time has come.
    pub(super) fn read_admitted(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        let Some(task) = self.tasks.get_mut(tag) else { return };
        if self.digests.data && io.send.backlog() > COPIED_BYTES_MAX {
            self.parked.push(Reverse((io.now + COPY_PAUSE, tag)));
            return;
        }
        let work = Work::Running { aborted: false, r2t_sn: 0, _charge: None };
        let Work::Read { unit, offset, len } = std::mem::replace(&mut task.work, work) else {
            return;
        };
        let (itt, expected) = (task.itt, task.expected);
        let payloads = &mut self.payloads;
        payloads.clear();
        match fetch(&unit, offset, len as usize, self.digests.data, payloads) {
            Ok(Ready::Now) => {
                self.tasks.remove(tag);
                self.send_read(io.send, itt, expected.tags, len, read_residual(expected));
            }
            Ok(Ready::Blocking) => self.read_cold(tag, &unit, offset, len, io),
            Err(error) => {
                self.tasks.remove(tag);
                self.read_failed(itt, expected, unit.read_failed(&error), io);
            }
        }
    }

    /// Reads in the pool of blocking threads what is not in memory.
    fn read_cold(
        &mut self,
        tag: Tag,
        unit: &Arc<LogicalUnit>,
        offset: u64,
        len: u32,
        io: &mut Turn<'_, M>,
    ) {
        let charge = self.charge(len as usize);
        let started = charge.is_some() && self.start_read(tag, unit, offset, len);
        let Some(task) = self.tasks.get_mut(tag) else { return };
        if started {
            task.work = Work::Running { aborted: false, r2t_sn: 0, _charge: charge };
        } else {
            let (itt, expected) = (task.itt, task.expected);
            self.tasks.remove(tag);
            self.read_failed(itt, expected, Completion::status(Status::Busy), io);
        }
    }

    /// Begins a read whose bytes come as an event; false when nothing can be begun now.
    fn start_read(&self, tag: Tag, unit: &Arc<LogicalUnit>, offset: u64, len: u32) -> bool {
        let (session, registered) = (self.remote.clone(), Arc::clone(&self.registered));
        let end = move |result| {
            session.post(Event::Read(tag, result));
            drop(registered);
        };
        if let Some(remote) = unit.store().remote() {
            remote.submit(RemoteOperation::Read { offset, len }, Box::new(end));
            return true;
        }
        let held = Arc::clone(unit);
        let job = move || {
            let mut buffer = vec![0; len as usize];
            let result = held.store().read_blocking(offset, &mut buffer);
            end(result.map(|()| buffer));
        };
        self.shared.blocking.run(job).is_ok()
    }

    pub(super) fn cold_read_done(
        &mut self,
        tag: Tag,
        result: Result<Vec<u8>, StoreError>,
        io: &mut Turn<'_, M>,
    ) {
        let Some(task) = self.finish_running(tag, io) else { return };
        match result {
            Ok(data) => {
                let total = data.len() as u32;
                self.payloads.clear();
                self.payloads.push(Payload::from_vec(data));
                let Expected { tags, .. } = task.expected;
                self.send_read(io.send, task.itt, tags, total, read_residual(task.expected));
            }
            Err(StoreError::Busy) => {
                let busy = Completion::status(Status::Busy);
                self.read_failed(task.itt, task.expected, busy, io);
            }
            Err(error) => {
                let unit = self.nexus.as_ref().and_then(|nexus| nexus.unit(task.lun));
                let completion = unit.map_or_else(gone, |unit| unit.read_failed(&error));
                self.read_failed(task.itt, task.expected, completion, io);
            }
        }
    }

    /// A READ that ends without data.
    fn read_failed(
        &mut self,
        itt: u32,
        expected: Expected<M::Tags>,
        completion: Completion,
        io: &mut Turn<'_, M>,
    ) {
        self.complete(io.send, itt, Expected { wants: 0, ..expected }, completion, 0);
    }

    /// Runs a job here, or in the pool when it may block.
    pub(super) fn run_job(
        &mut self,
        place: Place<M::Tags>,
        job: Box<Job>,
        data: Vec<u8>,
        blocking: bool,
        charge: Option<Charge>,
        io: &mut Turn<'_, M>,
    ) {
        let Place { itt, expected, r2t_sn, tag } = place;
        if !blocking {
            if let Some(tag) = tag {
                self.tasks.remove(tag);
            }
            return self.complete(io.send, itt, expected, job.run(&data), r2t_sn);
        }
        let Some(tag) = tag else { return };
        let remote = self.remote.clone();
        let detached = job.runs_long();
        let run = move || remote.post(Event::Completed(tag, job.run(&data)));
        if detached {
            if std::thread::Builder::new().name("long-command".to_owned()).spawn(run).is_ok() {
                if let Some(task) = self.tasks.get_mut(tag) {
                    task.work = Work::Detached { r2t_sn };
                }
                return;
            }
            return self.running_or_busy(tag, false, r2t_sn, charge, io);
        }
        let queued = self.shared.blocking.run(run).is_ok();
        self.running_or_busy(tag, queued, r2t_sn, charge, io);
    }

    /// Hands a part of a task to the pool of blocking threads; false when the pool is full.
    pub(super) fn run_in_pool(
        &self,
        tag: Tag,
        part: impl FnOnce() -> Completion + Send + 'static,
    ) -> bool {
        let remote = self.remote.clone();
        let registered = Arc::clone(&self.registered);
        let job = move || {
            remote.post(Event::Completed(tag, part()));
            drop(registered);
        };
        self.shared.blocking.run(job).is_ok()
    }

    /// Marks a task as running in the pool, or ends it with BUSY when the pool would not take it.
    pub(super) fn running_or_busy(
        &mut self,
        tag: Tag,
        queued: bool,
        r2t_sn: u32,
        charge: Option<Charge>,
        io: &mut Turn<'_, M>,
    ) {
        if queued {
            if let Some(task) = self.tasks.get_mut(tag) {
                task.work = Work::Running { aborted: false, r2t_sn, _charge: charge };
            }
        } else if let Some(task) = self.tasks.remove(tag) {
            let busy = Completion::status(Status::Busy);
            self.complete(io.send, task.itt, task.expected, busy, r2t_sn);
        }
    }

    /// A command in the pool has ended.
    pub(super) fn completed(&mut self, tag: Tag, completion: Completion, io: &mut Turn<'_, M>) {
        if let Some(task) = self.finish_running(tag, io) {
            let (Work::Running { r2t_sn, .. } | Work::Detached { r2t_sn }) = task.work else {
                return;
            };
            self.complete(io.send, task.itt, task.expected, completion, r2t_sn);
        }
    }

    /// Takes a task that ran in the pool; `None` when it was aborted meanwhile.
    fn finish_running(&mut self, tag: Tag, io: &mut Turn<'_, M>) -> Option<Task<M::Tags>> {
        let task = self.tasks.remove(tag)?;
        if task.is_aborted() {
            self.aborted_task_ended(tag, io);
            return None;
        }
        Some(task)
    }

    pub(super) fn insert(
        &mut self,
        command: &ScsiCommand,
        expected: Expected<M::Tags>,
        work: Work,
    ) -> Tag {
        self.tasks.insert(Task {
            itt: command.itt,
            ordered: command.attribute == Attribute::Ordered,
            lun: command.lun,
            expected,
            work,
        })
    }

    /// Charges memory that a command is going to hold.
    pub(super) fn charge(&self, bytes: usize) -> Option<Charge> {
        let limit = self.shared.settings.memory_bytes;
        Charge::take(&self.shared.memory, &self.memory, limit, bytes)
    }
}

/// Where the answer of a job goes.
pub(super) struct Place<T> {
    pub itt: u32,
    pub expected: Expected<T>,
    pub r2t_sn: u32,
    /// The task, if it has one; a job that blocks must have one.
    pub tag: Option<Tag>,
}

/// The unit has gone between planning and moving.
pub(super) fn gone() -> Completion {
    Completion::check(&Sense::illegal(Additional::LOGICAL_UNIT_NOT_SUPPORTED), false)
}

/// Payloads of a range of a unit; with a digest to come, of bytes that stay as they are.
#[inline]
fn fetch(
    unit: &LogicalUnit,
    offset: u64,
    len: usize,
    is_digested: bool,
    payloads: &mut Vec<Payload>,
) -> Result<Ready, StoreError> {
    let out = &mut |payload| payloads.push(payload);
    if is_digested {
        unit.store().read_stable(offset, len, out)
    } else {
        unit.store().read(offset, len, out)
    }
}

/// The command in a PDU; without data-out, nothing can follow it.
#[inline]
pub(super) fn parse(pdu: &Pdu<'_>) -> ScsiCommand {
    let mut command = ScsiCommand::parse(pdu.bhs);
    command.is_final |= !command.write;
    command
}

/// What the initiator expects a command to move.
#[inline]
fn expected<T>(command: &ScsiCommand, pdu: &Pdu<'_>, tags: T) -> Expected<T> {
    Expected {
        read: match (command.read, command.write) {
            (true, true) => bidirectional_read_length(pdu.ahs),
            (true, false) => command.expected_len,
            (false, _) => 0,
        },
        write: if command.write { command.expected_len } else { 0 },
        wants: 0,
        tags,
    }
}

/// What a READ moves against what the initiator expects.
fn read_residual<T>(expected: Expected<T>) -> Residual {
    Residual::between(expected.read.into(), expected.wants.into())
}

fn bidirectional_read_length(area: &[u8]) -> u32 {
    ahs::iter(area)
        .find_map(|segment| match segment {
            Ok(Ahs::BidirectionalReadLength(bytes)) => Some(bytes),
            _ => None,
        })
        .unwrap_or(0)
}
