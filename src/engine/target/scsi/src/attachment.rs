//! An I_T_L nexus: what one logical unit remembers about one session.
//!
//! Its flags are the only thing the fast path looks at: when they are zero a READ or WRITE goes through.
//! Whoever changes a reservation, an access state or queues a unit attention updates them, so that nothing
//! has to be looked up per command.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_wire::scsi::{Additional, TransportId};

use crate::{LogicalUnit, Notice, Notify};

/// A unit attention is pending.
pub(crate) const ATTENTION: u32 = 1 << 0;
/// A persistent reservation denies writes.
pub(crate) const WRITES_DENIED: u32 = 1 << 1;
/// A persistent reservation denies reads, too.
pub(crate) const READS_DENIED: u32 = 1 << 2;
/// RESERVE of another nexus denies everything that can be denied.
pub(crate) const RESERVED: u32 = 1 << 3;
/// The target port group is in standby.
pub(crate) const STANDBY: u32 = 1 << 4;
/// The target port group is unavailable.
pub(crate) const UNAVAILABLE: u32 = 1 << 5;

/// Flags that reservations set.
pub(crate) const RESERVATION: u32 = WRITES_DENIED | READS_DENIED | RESERVED;
/// Flags that asymmetric access sets.
pub(crate) const ACCESS_STATE: u32 = STANDBY | UNAVAILABLE;

/// Unit attentions that wait at most; more are lost, the oldest stay (SAM-5 5.14.4 allows a limit).
const MAX_ATTENTIONS: usize = 8;

/// Who is at the two ends of an I_T nexus.
pub(crate) struct NexusIdentity {
    /// Distinguishes nexuses of one process.
    pub id: u64,
    /// The initiator port.
    pub initiator: TransportId,
    /// SCSI device name of the target.
    pub device: Arc<str>,
    /// Relative target port.
    pub relative_port: u16,
    /// Target port group of that port.
    pub group: u16,
    /// Tells the session.
    pub notify: Notify,
}

impl std::fmt::Debug for NexusIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "nexus {} of {} over port {}", self.id, self.initiator.name, self.relative_port)
    }
}

/// The state of an I_T_L nexus.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub unit: Arc<LogicalUnit>,
    pub nexus: Arc<NexusIdentity>,
    pub lun: u16,
    flags: AtomicU32,
    attentions: Mutex<Vec<Additional>>,
}

impl Attachment {
    pub fn new(unit: Arc<LogicalUnit>, nexus: Arc<NexusIdentity>, lun: u16) -> Self {
        Self { unit, nexus, lun, flags: AtomicU32::new(0), attentions: Mutex::default() }
    }

    /// The flags; zero when nothing stands in the way of a READ or WRITE.
    pub fn flags(&self) -> u32 {
        self.flags.load(Ordering::Acquire)
    }

    /// Replaces the flags of `mask`.
    pub fn set_flags(&self, mask: u32, flags: u32) {
        // A command that was admitted an instant before is in flight; the order towards it is free.
        let _ = self.flags.fetch_update(Ordering::AcqRel, Ordering::Acquire, |old| {
            Some(old & !mask | flags & mask)
        });
    }

    fn attentions(&self) -> MutexGuard<'_, Vec<Additional>> {
        self.attentions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a unit attention (SAM-5 5.14). A reset makes all earlier ones void.
    pub fn attention(&self, additional: Additional) {
        let mut queue = self.attentions();
        if additional.code == Additional::POWER_ON_RESET_OCCURRED.code {
            queue.clear();
        }
        if queue.len() < MAX_ATTENTIONS && !queue.contains(&additional) {
            queue.push(additional);
        }
        self.flags.fetch_or(ATTENTION, Ordering::AcqRel);
        drop(queue);
        (self.nexus.notify)(Notice::Attention { lun: self.lun });
    }

    /// Takes the oldest unit attention.
    pub fn take_attention(&self) -> Option<Additional> {
        let mut queue = self.attentions();
        let oldest = (!queue.is_empty()).then(|| queue.remove(0));
        if queue.is_empty() {
            self.flags.fetch_and(!ATTENTION, Ordering::AcqRel);
        }
        oldest
    }

    /// Forgets a unit attention that the initiator learnt of by another way.
    pub fn drop_attention(&self, additional: Additional) {
        let mut queue = self.attentions();
        queue.retain(|pending| *pending != additional);
        if queue.is_empty() {
            self.flags.fetch_and(!ATTENTION, Ordering::AcqRel);
        }
    }

    /// Tells the session to drop its tasks of this LUN.
    pub fn abort_tasks(&self) {
        (self.nexus.notify)(Notice::AbortTasks { lun: Some(self.lun) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn sam5_5_14_attentions_are_reported_in_order_and_once() {
        let attachment = testing::attachment();
        while attachment.take_attention().is_some() {}
        assert_eq!(attachment.flags(), 0);
        attachment.attention(Additional::CAPACITY_DATA_CHANGED);
        attachment.attention(Additional::REPORTED_LUNS_DATA_CHANGED);
        attachment.attention(Additional::CAPACITY_DATA_CHANGED);
        assert_eq!(attachment.flags(), ATTENTION);
        assert_eq!(attachment.take_attention(), Some(Additional::CAPACITY_DATA_CHANGED));
        assert_eq!(attachment.flags(), ATTENTION);
        attachment.drop_attention(Additional::REPORTED_LUNS_DATA_CHANGED);
        assert_eq!((attachment.flags(), attachment.take_attention()), (0, None));
    }

    #[test]
    fn sam5_5_14_a_reset_makes_earlier_attentions_void() {
        let attachment = testing::attachment();
        attachment.attention(Additional::CAPACITY_DATA_CHANGED);
        attachment.attention(Additional::BUS_DEVICE_RESET_OCCURRED);
        assert_eq!(attachment.take_attention(), Some(Additional::BUS_DEVICE_RESET_OCCURRED));
        assert_eq!(attachment.take_attention(), None);
    }
}
