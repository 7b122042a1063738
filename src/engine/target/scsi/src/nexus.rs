//! An I_T nexus: what a session keeps, and the way commands enter.

use std::net::IpAddr;
use std::sync::Arc;

use plimsoll_wire::scsi::LunField;

use crate::{LogicalUnit, Plan};

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

/// How a session hears of a [`Notice`]; called from any thread, must not block.
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
pub struct Nexus {}

impl Nexus {
    /// Checks a command and says what to do with it.
    ///
    /// `expected_out` is the data-out length that the initiator announced (0 for none). Allocates nothing
    /// for READ and WRITE that pass.
    pub fn begin(&mut self, lun: LunField, cdb: &[u8; 16], expected_out: usize) -> Plan {
        let _ = (lun, cdb, expected_out);
        unimplemented!()
    }

    /// The unit behind a LUN, as of the last [`begin`](Self::begin) for it.
    pub fn unit(&self, lun: LunField) -> Option<&Arc<LogicalUnit>> {
        let _ = lun;
        unimplemented!()
    }

    /// Carries out a task management function.
    pub fn manage(&mut self, function: Management, lun: LunField) -> ManagementResponse {
        let _ = (function, lun);
        unimplemented!()
    }
}
