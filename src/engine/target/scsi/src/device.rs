//! The SCSI target device: its logical units, its ports in two target port groups, its nexuses.

use std::sync::Arc;

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

/// A SCSI target device: one iSCSI target name.
#[derive(Debug)]
pub struct Device {}

impl Device {
    /// A device without logical units. `name` is its SCSI device name (the iSCSI target name).
    pub fn new(name: &str, identity: Identity, ports: &[Port]) -> Arc<Self> {
        let _ = (name, identity, ports);
        unimplemented!()
    }

    /// Maps a unit at a LUN (at most 16,383), in place of what was there.
    pub fn map(&self, lun: u16, unit: Arc<LogicalUnit>) {
        let _ = (lun, unit);
        unimplemented!()
    }

    /// Takes a LUN away; its commands in progress end on their own.
    pub fn unmap(&self, lun: u16) -> Option<Arc<LogicalUnit>> {
        let _ = lun;
        unimplemented!()
    }

    /// The units by LUN.
    pub fn units(&self) -> Vec<(u16, Arc<LogicalUnit>)> {
        unimplemented!()
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
        let _ = (initiator, relative_port, notify);
        unimplemented!()
    }

    /// Changes the state of a target port group; nexuses get 2A/06.
    pub fn set_access_state(&self, group: u16, state: AccessState) {
        let _ = (group, state);
        unimplemented!()
    }
}
