//! The SCSI device server: logical units, sense, reservations, ALUA, VAAI (SAM-5, SPC-5, SBC-4).
//!
//! A transport makes one [`Device`] per target, maps [`LogicalUnit`]s into it, and opens a [`Nexus`] per
//! session. Per command it asks [`Nexus::begin`] for a [`Plan`]; READ and WRITE plans name a range of the
//! unit's store that the transport moves itself, everything else is a [`Job`] or done at once.
//! The nexus belongs to the thread of its session: the fast path takes no lock and allocates nothing.

mod absent;
mod attachment;
mod blocks;
mod copy;
mod device;
mod gate;
mod inquire;
mod job;
mod mode;
mod nexus;
mod opcodes;
mod persistent;
mod persistent_saved;
mod plan;
mod port_groups;
mod power;
mod provisioning;
mod ranges;
mod reserve;
mod reserve_in;
mod reserve_out;
mod sanitize;
#[cfg(test)]
mod testing;
mod unit;

pub use device::{AccessState, Device, Identity, Port};
pub use inquire::REMOTE_PRODUCT;
pub use job::Job;
pub use nexus::{Initiator, Management, ManagementResponse, Nexus, Notice, Notify};
pub use plan::{Completion, Plan};
pub use unit::{BLOCK_BYTES, LogicalUnit, UnitSettings};

/// Most data-out that a [`Plan::Collect`] asks for.
pub const MAX_COLLECT: usize = 16 << 20;

/// Longest READ or WRITE in bytes (MAXIMUM TRANSFER LENGTH of the block limits page): ESXi can be set to
/// 32,767 KiB (Disk.DiskMaxIOSize).
pub const MAX_TRANSFER: usize = 32 << 20;
