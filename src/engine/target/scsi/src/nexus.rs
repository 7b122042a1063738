//! An I_T nexus: what a session keeps, and the way commands enter.
//!
//! READ and WRITE on a unit in order take two atomic loads and no lock; whatever else is the matter is sorted
//! out in `gate`. Units are attached at the first command that addresses them.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_wire::scsi::{Additional, Command, LunField, opcode};

use crate::attachment::{ACCESS_STATE, Attachment, NexusIdentity};
use crate::unit::DESCRIPTOR_SENSE;
use crate::{Device, LogicalUnit, Plan, absent, gate, ranges};

/// The initiator port of a session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Initiator {
    /// iSCSI name.
    pub name: String,
    /// ISID.
    pub isid: [u8; 6],
    /// Address the session came from.
    pub address: IpAddr,
}

/// Something that another nexus did to this one; posted to the session's own thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// Drop the tasks of this LUN (of all when `None`) without a response: they were aborted by a reset, by
    /// CLEAR TASK SET or by PREEMPT AND ABORT of another nexus.
    AbortTasks {
        /// The LUN whose tasks end.
        lun: Option<u16>,
    },
    /// A unit attention is pending: a session that likes to may send an asynchronous message.
    Attention {
        /// The LUN.
        lun: u16,
    },
}

/// How a session hears of a [`Notice`]; called from any thread, must not block nor call back.
pub type Notify = Box<dyn Fn(Notice) + Send + Sync>;

/// Task management that reaches the device server (SAM-5 7). ABORT TASK and ABORT TASK SET touch only the
/// session's own tasks and stay in the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Management {
    /// CLEAR TASK SET: tasks of all nexuses on the LUN.
    ClearTaskSet,
    /// LOGICAL UNIT RESET.
    LogicalUnitReset,
    /// TARGET WARM RESET: every LUN of the device.
    TargetWarmReset,
    /// TARGET COLD RESET: the same; the transport closes the sessions after it.
    TargetColdReset,
}

/// Answer to a management function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManagementResponse {
    /// Done. The caller drops its own tasks of the LUN(s); other sessions were told by [`Notice`].
    Complete,
    /// No such LUN.
    LunDoesNotExist,
}

/// An I_T nexus, owned by the thread of its session. Dropping it is I_T NEXUS LOSS.
#[derive(Debug)]
pub struct Nexus {
    device: Arc<Device>,
    identity: Arc<NexusIdentity>,
    /// By LUN.
    slots: Vec<Option<Arc<Attachment>>>,
    generation: u64,
}

impl Nexus {
    pub(crate) fn new(device: Arc<Device>, identity: Arc<NexusIdentity>) -> Self {
        let generation = device.generation();
        Self { device, identity, slots: Vec::new(), generation }
    }

    /// The device it leads to.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// Checks a command and says what to do with it.
    ///
    /// `expected_out` is the data-out length that the initiator announced (0 for none). Allocates nothing
    /// for READ and WRITE that pass.
    pub fn begin(&mut self, lun: LunField, cdb: &[u8; 16], expected_out: usize) -> Plan {
        if self.device.generation() != self.generation {
            self.refresh();
        }
        if cdb[0] == opcode::REPORT_LUNS {
            self.luns_reported();
        }
        self.attach(lun);
        let Some(attachment) = self.attachment(lun) else {
            return Plan::Done(absent::run(&self.device, lun, cdb));
        };
        if attachment.flags() == 0
            && attachment.unit.flags() & !DESCRIPTOR_SENSE == 0
            && let Ok(command @ (Command::Read { .. } | Command::Write { .. })) =
                Command::parse(cdb)
        {
            return match ranges::plan_transfer(&attachment.unit, &command) {
                Ok(plan) => plan,
                Err(sense) => Plan::Done(attachment.unit.check(&sense)),
            };
        }
        gate::enter(&self.device, attachment, cdb, expected_out)
    }

    /// The unit behind a LUN, as of the last [`begin`](Self::begin) for it.
    pub fn unit(&self, lun: LunField) -> Option<&Arc<LogicalUnit>> {
        self.attachment(lun).map(|attachment| &attachment.unit)
    }

    /// Carries out a task management function.
    pub fn manage(&mut self, function: Management, lun: LunField) -> ManagementResponse {
        if self.device.generation() != self.generation {
            self.refresh();
        }
        if matches!(function, Management::TargetWarmReset | Management::TargetColdReset) {
            for (_, unit) in self.device.units() {
                unit.reset(self.identity.id);
            }
            return ManagementResponse::Complete;
        }
        self.attach(lun);
        let Some(attachment) = self.attachment(lun) else {
            return ManagementResponse::LunDoesNotExist;
        };
        if function == Management::LogicalUnitReset {
            attachment.unit.reset(self.identity.id);
        } else {
            for other in attachment.unit.others(self.identity.id) {
                other.abort_tasks();
                other.attention(Additional::COMMANDS_CLEARED_BY_ANOTHER_INITIATOR);
            }
        }
        ManagementResponse::Complete
    }

    /// The attachment of a LUN, if there is one already.
    fn attachment(&self, lun: LunField) -> Option<&Arc<Attachment>> {
        self.slots.get(lun.number()? as usize)?.as_ref()
    }

    /// Attaches the unit at a LUN at its first use, with a power-on attention (SAM-5 5.14).
    fn attach(&mut self, lun: LunField) {
        let Some(number) = lun.number().and_then(|number| u16::try_from(number).ok()) else {
            return;
        };
        let index = usize::from(number);
        if self.slots.get(index).is_some_and(Option::is_some) {
            return;
        }
        let Some(unit) = self.device.unit(number) else { return };
        let attachment = Arc::new(Attachment::new(unit, Arc::clone(&self.identity), number));
        attachment.attention(Additional::POWER_ON_RESET_OCCURRED);
        attachment.unit.attach(&attachment);
        attachment.set_flags(ACCESS_STATE, self.device.access_flags(self.identity.group));
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(attachment);
    }

    /// The LUN map changed: lets go of what is not there any more, and tells the rest (SPC-5 6.33).
    fn refresh(&mut self) {
        self.generation = self.device.generation();
        for (lun, slot) in (0_u16..).zip(&mut self.slots) {
            let Some(attachment) = slot else { continue };
            match self.device.unit(lun) {
                Some(unit) if Arc::ptr_eq(&unit, &attachment.unit) => {
                    attachment.attention(Additional::REPORTED_LUNS_DATA_CHANGED);
                }
                _ => {
                    attachment.unit.nexus_lost(self.identity.id);
                    *slot = None;
                }
            }
        }
    }

    /// REPORT LUNS told the new list, which clears 3F/0E on every LUN (SPC-5 6.33).
    fn luns_reported(&self) {
        for attachment in self.slots.iter().flatten() {
            attachment.drop_attention(Additional::REPORTED_LUNS_DATA_CHANGED);
        }
    }
}

impl Drop for Nexus {
    fn drop(&mut self) {
        for attachment in self.slots.iter().flatten() {
            attachment.unit.nexus_lost(self.identity.id);
        }
    }
}
