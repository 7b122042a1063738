//! What is served: pools, tiers, volumes with limits, backing stores, the file namespace of an export.
//!
//! A protocol server holds an `Arc<Volume>`. Per command it asks [`Volume::admit`] when the command may run,
//! then moves data through the volume's [`BlockStore`] (or, for an NFS export, its namespace). Management
//! goes through the array, which tells subscribers what changed.

mod blocking;
mod error;
mod limits;
pub mod namespace;
mod space;
mod store;
mod volume;

pub use blocking::{Blocking, Saturated};
pub use error::StoreError;
pub use limits::{Admission, Direction, FlowLimiter, Limit, Limits};
pub use namespace::Namespace;
pub use space::Space;
pub use store::{BlockStore, Charge, FileStore, MemoryStore, Provisioning, Ready};
pub use volume::{Kind, Volume, VolumeSettings};
