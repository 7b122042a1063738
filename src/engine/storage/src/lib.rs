//! What is served: pools, tiers, volumes with limits, backing stores, the file namespace of an export.
//!
//! A protocol server holds an `Arc<Volume>`. Per command it asks [`Volume::admit`] when the command may run,
//! then moves data through the volume's [`BlockStore`] (or, for an NFS export, its namespace). Management
//! goes through the array, which tells subscribers what changed.

mod array;
mod blocking;
mod bucket;
mod error;
mod gate;
mod limits;
mod metadata;
pub mod namespace;
mod pool;
mod rules;
mod space;
mod store;
mod volume;

pub use array::{Array, ArraySettings, Clock, Connect, Event};
pub use blocking::{Blocking, Saturated};
pub use error::{ArrayError, StoreError};
pub use gate::{FlowLimiter, VolumeCounters};
pub use limits::{Admission, DEFAULT_BURST_MS, Direction, Limit, Limits};
pub use namespace::Namespace;
pub use pool::{PoolSettings, PoolStatus, Qos, Tier};
pub use rules::Rules;
pub use space::Space;
pub use store::{
    BlockStore, Charge, FileStore, MemoryStore, Place, Placement, Provisioning, Ready, Remote,
    RemoteChange, RemoteDone, RemoteOperation, RemoteStore,
};
pub use volume::{Kind, Volume, VolumeSettings};
