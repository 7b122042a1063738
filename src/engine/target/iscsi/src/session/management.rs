//! Task management (RFC 7143 sections 11.5 and 11.6), and what other nexuses do to this one.
//!
//! An aborted task is gone at once, unless it runs in the pool: then the answer to the function waits for it,
//! because after the answer the initiator may rely on nothing of the task touching the unit any more.

use plimsoll_fabric::{Close, Io};
use plimsoll_target_scsi::{Management, ManagementResponse, Notice};
use plimsoll_wire::iscsi::Pdu;
use plimsoll_wire::iscsi::pdu::{TaskFunction, TaskRequest, TaskResponse, TaskResult};
use plimsoll_wire::scsi::LunField;

use super::Session;
use super::tasks::{Tag, Task, Work};
use crate::connection::Event;

/// An answer that waits for tasks in the pool.
pub(super) struct Unanswered {
    itt: u32,
    result: TaskResult,
    waiting_for: Vec<Tag>,
}

impl Session {
    pub(super) fn task_request(&mut self, pdu: &Pdu<'_>, io: &mut Io<'_>) -> Result<(), Close> {
        let request = TaskRequest::parse(pdu.bhs);
        self.stats.management += 1;
        let (result, waiting_for) = match request.function {
            TaskFunction::AbortTask => {
                match self.tasks.find(|task| task.itt == request.referenced_itt) {
                    Some(tag) => (TaskResult::Complete, self.abort(vec![tag])),
                    None if self.early.forget(request.referenced_itt) => {
                        (TaskResult::Complete, Vec::new())
                    }
                    // It has ended, or never came.
                    None => (TaskResult::TaskDoesNotExist, Vec::new()),
                }
            }
            TaskFunction::AbortTaskSet => self.abort_task_set(request.lun),
            TaskFunction::ClearTaskSet => self.manage(Management::ClearTaskSet, request.lun),
            TaskFunction::LogicalUnitReset => {
                self.manage(Management::LogicalUnitReset, request.lun)
            }
            TaskFunction::TargetWarmReset => self.manage(Management::TargetWarmReset, request.lun),
            TaskFunction::TargetColdReset => self.manage(Management::TargetColdReset, request.lun),
            TaskFunction::TaskReassign => (TaskResult::ReassignmentNotSupported, Vec::new()),
            TaskFunction::ClearAca | TaskFunction::Unknown(_) => {
                (TaskResult::NotSupported, Vec::new())
            }
        };
        if waiting_for.is_empty() {
            self.answer_management(request.itt, result, io);
        } else {
            self.unanswered.push(Unanswered { itt: request.itt, result, waiting_for });
        }
        if request.function == TaskFunction::TargetColdReset {
            self.cold_reset();
        }
        Ok(())
    }

    fn abort_task_set(&mut self, lun: LunField) -> (TaskResult, Vec<Tag>) {
        let known = self.nexus.as_mut().is_some_and(|nexus| nexus.unit(lun).is_some());
        let tasks = self.tasks.pick(|task| task.lun == lun);
        if !known && tasks.is_empty() {
            return (TaskResult::LunDoesNotExist, Vec::new());
        }
        (TaskResult::Complete, self.abort(tasks))
    }

    fn manage(&mut self, function: Management, lun: LunField) -> (TaskResult, Vec<Tag>) {
        let Some(nexus) = &mut self.nexus else { return (TaskResult::NotSupported, Vec::new()) };
        match nexus.manage(function, lun) {
            ManagementResponse::LunDoesNotExist => (TaskResult::LunDoesNotExist, Vec::new()),
            ManagementResponse::Complete => {
                let all =
                    matches!(function, Management::TargetWarmReset | Management::TargetColdReset);
                let tasks = self.tasks.pick(|task| all || task.lun == lun);
                (TaskResult::Complete, self.abort(tasks))
            }
        }
    }

    /// Takes tasks away; those that run in the pool are marked and returned.
    fn abort(&mut self, tags: Vec<Tag>) -> Vec<Tag> {
        let mut running = Vec::new();
        for tag in tags {
            match self.tasks.get_mut(tag) {
                Some(Task { work: Work::Running { aborted, .. }, .. }) => {
                    *aborted = true;
                    running.push(tag);
                }
                _ => {
                    self.tasks.remove(tag);
                }
            }
        }
        running
    }

    /// A task that was aborted has left the pool.
    pub(super) fn aborted_task_ended(&mut self, tag: Tag, io: &mut Io<'_>) {
        let mut at = 0;
        while at < self.unanswered.len() {
            let unanswered = &mut self.unanswered[at];
            unanswered.waiting_for.retain(|other| *other != tag);
            if unanswered.waiting_for.is_empty() {
                let Unanswered { itt, result, .. } = self.unanswered.remove(at);
                self.answer_management(itt, result, io);
            } else {
                at += 1;
            }
        }
    }

    fn answer_management(&mut self, itt: u32, result: TaskResult, io: &mut Io<'_>) {
        let response = TaskResponse { result, itt, sequence: self.next_sequence() };
        self.put(io.send, &response.build(), &[]);
    }

    /// Section 11.5.1: a cold reset ends all sessions of the target, this one too, after the answer.
    fn cold_reset(&self) {
        let target = self.peer.target.as_deref();
        self.shared.registry.post(|other, _| other == target, || Event::Drop);
    }

    /// The device server speaks: another nexus has aborted tasks of this one.
    pub(super) fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::AbortTasks { lun } => {
                let lun = lun.map(|lun| LunField::unit(lun.into()));
                let tasks = self.tasks.pick(|task| lun.is_none_or(|lun| task.lun == lun));
                self.abort(tasks);
            }
            // It is reported with the next command; asynchronous messages for it are optional.
            Notice::Attention { .. } => {}
        }
    }
}
