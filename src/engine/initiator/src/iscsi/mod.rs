//! iSCSI initiator: sessions over TCP or RDMA, the unit that several of them lead to, and helpers that look at
//! a unit.
//!
//! ```text
//! Unit (Datastore) ── Selector (policy) ──▶ Flow ──▶ Link ──▶ Login, then Session
//!   └ Core: operations, parts, retries        └ Setup: identity, capacity, access state of the path
//! ```

mod alua;
mod core;
mod device;
mod flow;
mod iser;
mod link;
mod login;
mod out;
mod policy;
mod session;
mod settings;
mod setup;
mod tasks;
mod unit;

pub use alua::AccessState;
pub use device::{Device, discover};
pub use plimsoll_wire::iscsi::discovery::{TargetAddress, TargetRecord};
pub use plimsoll_wire::scsi::port_groups::PortGroup;
pub use plimsoll_wire::scsi::reservation::ReservationKind;
pub use setup::Facts;

use crate::{Datastore, Error, IscsiUrl, Options};

/// Logs in to a logical unit over all its portals.
pub fn open(url: &IscsiUrl, options: &Options) -> Result<Box<dyn Datastore>, Error> {
    Ok(Box::new(unit::Unit::open(url, options)?))
}
