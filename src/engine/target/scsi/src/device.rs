//! The SCSI target device: its logical units by LUN, its ports in target port groups.
//!
//! A change of the LUN map raises `generation`; each nexus notices at its next command, drops what is gone
//! and gets 3F/0E on the rest. Nothing here is locked by the fast path.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use plimsoll_wire::scsi::port_groups::{PortGroup, supported};
use plimsoll_wire::scsi::{Additional, LunField, TransportId};

use crate::attachment::{ACCESS_STATE, NexusIdentity, STANDBY, UNAVAILABLE};
use crate::{Initiator, LogicalUnit, Nexus, Notify};

/// What INQUIRY tells about the product; ASCII, cut to the field widths of 8, 16 and 4.
#[derive(Debug, Clone)]
pub struct Identity {
    /// T10 VENDOR IDENTIFICATION.
    pub vendor: String,
    /// PRODUCT IDENTIFICATION.
    pub product: String,
    /// PRODUCT REVISION LEVEL.
    pub revision: String,
}

/// A target port: an iSCSI portal group of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Port {
    /// RELATIVE TARGET PORT IDENTIFIER, from 1 on; iSCSI uses the portal group tag.
    pub relative: u16,
    /// TARGET PORT GROUP, from 1 on.
    pub group: u16,
}

/// Asymmetric access state of a target port group (SPC-5 5.15.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AccessState {
    /// Full access at full speed.
    ActiveOptimized = 0x0,
    /// Full access over a path that the array would rather not use.
    ActiveNonOptimized = 0x1,
    /// A few commands only; ready to take over.
    Standby = 0x2,
    /// Hardly any command.
    Unavailable = 0x3,
}

impl AccessState {
    /// The state of this code, if it is one that a group can be set to.
    pub const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x0 => Self::ActiveOptimized,
            0x1 => Self::ActiveNonOptimized,
            0x2 => Self::Standby,
            0x3 => Self::Unavailable,
            _ => return None,
        })
    }

    /// Flags of the nexuses of a group in this state.
    fn flags(self) -> u32 {
        match self {
            Self::ActiveOptimized | Self::ActiveNonOptimized => 0,
            Self::Standby => STANDBY,
            Self::Unavailable => UNAVAILABLE,
        }
    }
}

/// A target port group.
#[derive(Debug)]
struct Group {
    id: u16,
    state: AtomicU8,
    /// STATUS CODE of the last change.
    status: AtomicU8,
}

impl Group {
    fn state(&self) -> AccessState {
        AccessState::from_code(self.state.load(Ordering::Acquire))
            .unwrap_or(AccessState::Unavailable)
    }
}

/// Who changed an access state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangedBy {
    /// SET TARGET PORT GROUPS of this nexus.
    Initiator(u64),
    /// The array.
    Array,
}

/// A SCSI target device: one iSCSI target name.
#[derive(Debug)]
pub struct Device {
    name: Arc<str>,
    identity: Identity,
    ports: Vec<Port>,
    groups: Vec<Group>,
    units: RwLock<BTreeMap<u16, Arc<LogicalUnit>>>,
    generation: AtomicU64,
}

/// Highest LUN: what flat space addressing can say.
const MAX_LUN: u16 = 16_383;

/// Nexus identifiers are unique in the process, since a unit may be mapped into several devices.
static NEXUSES: AtomicU64 = AtomicU64::new(1);

impl Device {
    /// A device without logical units. `name` is its SCSI device name (the iSCSI target name).
    pub fn new(name: &str, identity: Identity, ports: &[Port]) -> Arc<Self> {
        let mut ids: Vec<_> = ports.iter().map(|port| port.group).collect();
        ids.sort_unstable();
        ids.dedup();
        let group = |id| Group { id, state: AtomicU8::new(0), status: AtomicU8::new(0) };
        Arc::new(Self {
            name: Arc::from(name),
            identity,
            ports: ports.to_vec(),
            groups: ids.into_iter().map(group).collect(),
            units: RwLock::default(),
            generation: AtomicU64::new(0),
        })
    }

    /// The SCSI device name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The target ports.
    pub fn ports(&self) -> &[Port] {
        &self.ports
    }

    pub(crate) fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Maps a unit at a LUN, in place of what was there.
    ///
    /// Returns false, and changes nothing, for a LUN beyond 16,383.
    pub fn map(&self, lun: u16, unit: Arc<LogicalUnit>) -> bool {
        if lun > MAX_LUN {
            return false;
        }
        let mut units = self.units.write().unwrap_or_else(PoisonError::into_inner);
        let _replaced = units.insert(lun, unit);
        self.generation.fetch_add(1, Ordering::Release);
        true
    }

    /// Takes a LUN away; its commands in progress end on their own.
    pub fn unmap(&self, lun: u16) -> Option<Arc<LogicalUnit>> {
        let mut units = self.units.write().unwrap_or_else(PoisonError::into_inner);
        let removed = units.remove(&lun);
        if removed.is_some() {
            self.generation.fetch_add(1, Ordering::Release);
        }
        removed
    }

    /// The units by LUN.
    pub fn units(&self) -> Vec<(u16, Arc<LogicalUnit>)> {
        let units = self.units.read().unwrap_or_else(PoisonError::into_inner);
        units.iter().map(|(&lun, unit)| (lun, Arc::clone(unit))).collect()
    }

    /// The unit at a LUN.
    pub fn unit(&self, lun: u16) -> Option<Arc<LogicalUnit>> {
        self.units.read().unwrap_or_else(PoisonError::into_inner).get(&lun).cloned()
    }

    pub(crate) fn luns(&self) -> Vec<LunField> {
        let units = self.units.read().unwrap_or_else(PoisonError::into_inner);
        units.keys().map(|&lun| LunField::unit(u32::from(lun))).collect()
    }

    /// Changes with every change of the LUN map.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Opens an I_T nexus. Dropping it is the loss of the nexus.
    ///
    /// `None` when the device has no port `relative_port`.
    pub fn login(
        self: &Arc<Self>,
        initiator: Initiator,
        relative_port: u16,
        notify: Notify,
    ) -> Option<Nexus> {
        let port = self.ports.iter().find(|port| port.relative == relative_port)?;
        let identity = NexusIdentity {
            id: NEXUSES.fetch_add(1, Ordering::Relaxed),
            initiator: TransportId { name: initiator.name, isid: Some(initiator.isid) },
            device: Arc::clone(&self.name),
            relative_port,
            group: port.group,
            notify,
        };
        Some(Nexus::new(Arc::clone(self), Arc::new(identity)))
    }

    /// Changes the state of a target port group; nexuses get 2A/06.
    pub fn set_access_state(&self, group: u16, state: AccessState) {
        self.change_access_states(&[(group, state)], ChangedBy::Array);
    }

    /// The state of a target port group.
    pub fn access_state(&self, group: u16) -> Option<AccessState> {
        self.groups.iter().find(|known| known.id == group).map(Group::state)
    }

    pub(crate) fn change_access_states(&self, states: &[(u16, AccessState)], by: ChangedBy) {
        let mut changed = false;
        for &(id, state) in states {
            let Some(group) = self.groups.iter().find(|group| group.id == id) else { continue };
            changed |= group.state.swap(state as u8, Ordering::AcqRel) != state as u8;
            let status = if by == ChangedBy::Array { 2 } else { 1 };
            group.status.store(status, Ordering::Release);
        }
        if !changed {
            return;
        }
        for (_, unit) in self.units() {
            for attachment in unit.attachments() {
                if attachment.nexus.device != self.name {
                    continue;
                }
                attachment.set_flags(ACCESS_STATE, self.access_flags(attachment.nexus.group));
                if by != ChangedBy::Initiator(attachment.nexus.id) {
                    attachment.attention(Additional::ASYMMETRIC_ACCESS_STATE_CHANGED);
                }
            }
        }
    }

    /// Flags of a nexus through a port of this group.
    pub(crate) fn access_flags(&self, group: u16) -> u32 {
        self.access_state(group).map_or(UNAVAILABLE, AccessState::flags)
    }

    /// What REPORT TARGET PORT GROUPS tells.
    pub(crate) fn port_groups(&self) -> Vec<PortGroup> {
        let first = self.groups.first().map(|group| group.id);
        let describe = |group: &Group| PortGroup {
            preferred: Some(group.id) == first,
            state: group.state() as u8,
            supported: supported::ACTIVE_OPTIMIZED
                | supported::ACTIVE_NON_OPTIMIZED
                | supported::STANDBY
                | supported::UNAVAILABLE,
            group: group.id,
            status: group.status.load(Ordering::Acquire),
            ports: self
                .ports
                .iter()
                .filter(|port| port.group == group.id)
                .map(|port| port.relative)
                .collect(),
        };
        self.groups.iter().map(describe).collect()
    }
}
