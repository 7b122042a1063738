//! Task management (RFC 7143 sections 11.5 and 11.6), and what other nexuses do to this one.
//!
//! After the answer to a function the initiator may rely on nothing of an aborted task touching the unit any
//! more (section 4.2.3.3). So the answer waits for aborted tasks in the pool, for data of theirs that RDMA is
//! fetching (RFC 7145 section 7.3.11), and for the other sessions of the target to have dropped theirs: each is sent a [`Fence`], and the last one to let go of it tells this session.

use std::sync::Arc;

use plimsoll_fabric::{Close, Remote};
use plimsoll_target_scsi::{Management, ManagementResponse, Notice};
use plimsoll_wire::iscsi::pdu::{TaskFunction, TaskRequest, TaskResponse, TaskResult};
use plimsoll_wire::iscsi::{Pdu, serial};
use plimsoll_wire::scsi::LunField;

use super::Session;
use super::tasks::{Tag, Task, Work};
use crate::connection::Event;
use crate::mover::{Mover, Turn};

/// Held by sessions that still have to drop tasks for a function of another session.
pub(crate) struct Fence {
    asker: Remote<Event>,
    itt: u32,
}

impl Drop for Fence {
    fn drop(&mut self) {
        self.asker.post(Event::Fenced(self.itt));
    }
}

/// A fence that waits for aborted tasks in the pool or under way.
pub(super) struct Held {
    _fence: Arc<Fence>,
    waiting_for: Vec<Tag>,
}

/// An answer that waits for tasks in the pool, or for other sessions.
pub(super) struct Unanswered {
    itt: u32,
    result: TaskResult,
    waiting_for: Vec<Tag>,
    fenced: bool,
    /// All sessions of the target end with the answer.
    cold_reset: bool,
}

impl<M: Mover> Session<M> {
    pub(super) fn task_request(
        &mut self,
        pdu: &Pdu<'_>,
        io: &mut Turn<'_, M>,
    ) -> Result<(), Close> {
        let request = TaskRequest::parse(pdu.bhs);
        self.stats.management += 1;
        let function = match request.function {
            TaskFunction::ClearTaskSet => Some(Management::ClearTaskSet),
            TaskFunction::LogicalUnitReset => Some(Management::LogicalUnitReset),
            TaskFunction::TargetWarmReset => Some(Management::TargetWarmReset),
            TaskFunction::TargetColdReset => Some(Management::TargetColdReset),
            _ => None,
        };
        let (result, waiting_for) = match request.function {
            TaskFunction::AbortTask => self.abort_task(&request, io)?,
            TaskFunction::AbortTaskSet => self.abort_task_set(request.lun, io),
            TaskFunction::TaskReassign => (TaskResult::ReassignmentNotSupported, Vec::new()),
            _ => match function {
                Some(function) => self.manage(function, request.lun, io),
                None => (TaskResult::NotSupported, Vec::new()),
            },
        };
        let reaches_others = function.is_some() && result == TaskResult::Complete;
        self.unanswered.push(Unanswered {
            itt: request.itt,
            result,
            waiting_for,
            fenced: reaches_others && self.fence(request.itt),
            cold_reset: reaches_others && function == Some(Management::TargetColdReset),
        });
        self.answer_what_is_due(io);
        Ok(())
    }

    /// Sends a fence to the other sessions of the target; false when there are none.
    fn fence(&self, itt: u32) -> bool {
        let fence = Arc::new(Fence { asker: self.remote.clone(), itt });
        let (target, own) = (self.peer.target.as_deref(), self.registered.tsih);
        let others = |other: Option<&str>, tsih| other == target && tsih != own;
        self.shared.registry.post(others, || Event::Fence(Arc::clone(&fence))) > 0
    }

    /// The other sessions have dropped their tasks.
    pub(super) fn fenced(&mut self, itt: u32, io: &mut Turn<'_, M>) {
        let waits = self.unanswered.iter_mut().filter(|unanswered| unanswered.itt == itt);
        waits.for_each(|unanswered| unanswered.fenced = false);
        self.answer_what_is_due(io);
    }

    /// Another session asks to be told when the tasks that it had aborted here are gone.
    pub(super) fn hold_fence(&mut self, fence: Arc<Fence>) {
        let waiting_for = self.tasks.pick(Task::is_aborted);
        if !waiting_for.is_empty() {
            self.fences.push(Held { _fence: fence, waiting_for });
        }
    }

    fn abort_task(
        &mut self,
        request: &TaskRequest,
        io: &mut Turn<'_, M>,
    ) -> Result<(TaskResult, Vec<Tag>), Close> {
        if let Some(tag) = self.tasks.find(|task| task.itt == request.referenced_itt) {
            return Ok((TaskResult::Complete, self.abort(vec![tag], io)));
        }
        let itt = request.referenced_itt;
        if self.delayed.abort(|_, other| other == itt) || self.early.forget::<M>(itt) {
            return Ok((TaskResult::Complete, Vec::new()));
        }
        // Section 11.5.1: a command that is still to come counts as received, and does not exist.
        let number = request.ref_cmd_sn;
        let still_to_come = serial::in_window(number, self.exp_cmd_sn, self.max_cmd_sn)
            && serial::less(number, request.cmd_sn);
        if still_to_come && !self.early.frames.contains_key(&number) {
            self.early.frames.insert(number, Vec::new());
            self.take_early(io)?;
            return Ok((TaskResult::Complete, Vec::new()));
        }
        Ok((TaskResult::TaskDoesNotExist, Vec::new()))
    }

    fn abort_task_set(&mut self, lun: LunField, io: &mut Turn<'_, M>) -> (TaskResult, Vec<Tag>) {
        let known = self.nexus.as_mut().is_some_and(|nexus| nexus.unit(lun).is_some());
        self.delayed.abort(|other, _| other == lun);
        let tasks = self.tasks.pick(|task| task.lun == lun);
        if !known && tasks.is_empty() {
            return (TaskResult::LunDoesNotExist, Vec::new());
        }
        (TaskResult::Complete, self.abort(tasks, io))
    }

    fn manage(
        &mut self,
        function: Management,
        lun: LunField,
        io: &mut Turn<'_, M>,
    ) -> (TaskResult, Vec<Tag>) {
        let Some(nexus) = &mut self.nexus else { return (TaskResult::NotSupported, Vec::new()) };
        match nexus.manage(function, lun) {
            ManagementResponse::LunDoesNotExist => (TaskResult::LunDoesNotExist, Vec::new()),
            ManagementResponse::Complete => {
                let all =
                    matches!(function, Management::TargetWarmReset | Management::TargetColdReset);
                self.delayed.abort(|other, _| all || other == lun);
                let tasks = self.tasks.pick(|task| all || task.lun == lun);
                (TaskResult::Complete, self.abort(tasks, io))
            }
        }
    }

    /// Takes tasks away; those that run in the pool, or whose data is being fetched, are marked and returned.
    fn abort(&mut self, tags: Vec<Tag>, io: &mut Turn<'_, M>) -> Vec<Tag> {
        let mut running = Vec::new();
        for tag in tags {
            match self.tasks.get_mut(tag) {
                Some(Task { work: Work::Running { aborted, .. }, .. }) => {
                    *aborted = true;
                    running.push(tag);
                }
                Some(Task { work: Work::Out(out), .. }) if io.send.cancel(tag) => {
                    out.aborted = true;
                    running.push(tag);
                }
                _ => {
                    self.tasks.remove(tag);
                }
            }
        }
        running
    }

    /// A task that was aborted has left the pool, or the last of its data is here.
    pub(super) fn aborted_task_ended(&mut self, tag: Tag, io: &mut Turn<'_, M>) {
        for held in &mut self.fences {
            held.waiting_for.retain(|other| *other != tag);
        }
        self.fences.retain(|held| !held.waiting_for.is_empty());
        for unanswered in &mut self.unanswered {
            unanswered.waiting_for.retain(|other| *other != tag);
        }
        self.answer_what_is_due(io);
    }

    fn answer_what_is_due(&mut self, io: &mut Turn<'_, M>) {
        let due =
            |unanswered: &mut Unanswered| unanswered.waiting_for.is_empty() && !unanswered.fenced;
        let answers: Vec<_> = self.unanswered.extract_if(.., due).collect();
        for Unanswered { itt, result, cold_reset, .. } in answers {
            let response = TaskResponse { result, itt, sequence: self.next_sequence() };
            self.put(io.send, &response.build(), &[]);
            if cold_reset {
                // Section 11.5.1: this session ends too, after the answer.
                let target = self.peer.target.as_deref();
                self.shared.registry.post(|other, _| other == target, || Event::Drop);
            }
        }
    }

    /// The device server speaks: another nexus has aborted tasks of this one.
    pub(super) fn notice(&mut self, notice: Notice, io: &mut Turn<'_, M>) {
        match notice {
            Notice::AbortTasks { lun } => {
                let lun = lun.map(|lun| LunField::unit(lun.into()));
                self.delayed.abort(|other, _| lun.is_none_or(|lun| other == lun));
                let tasks = self.tasks.pick(|task| lun.is_none_or(|lun| task.lun == lun));
                self.abort(tasks, io);
            }
            // It is reported with the next command; asynchronous messages for it are optional.
            Notice::Attention { .. } => {}
        }
    }
}
