//! What subscribers are told: iSCSI turns it into unit attentions, NFS into new exports and FSSTAT figures.

use std::sync::Arc;

use crate::Volume;

/// Something that changed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Event {
    /// A volume can be served (unit attention 3F/0E).
    VolumeCreated {
        /// The volume.
        volume: Arc<Volume>,
    },
    /// A volume has another size (unit attention 2A/09).
    VolumeResized {
        /// The volume, already at its new size.
        volume: Arc<Volume>,
        /// What it was before.
        before_bytes: u64,
    },
    /// A volume has other limits, or moved to another pool.
    VolumeLimitsChanged {
        /// The volume.
        volume: Arc<Volume>,
    },
    /// A volume is gone (unit attention 3F/0E); its data goes with its last user.
    VolumeDeleted {
        /// The volume.
        volume: Arc<Volume>,
    },
    /// The use of a pool passed a threshold upwards (unit attention 38/07) or fell below it.
    PoolThreshold {
        /// The pool.
        pool: String,
        /// The threshold in percent of the pool's size.
        percent: u8,
        /// Whether the use is now at or above it.
        above: bool,
        /// The volumes of the pool.
        volumes: Vec<Arc<Volume>>,
    },
}
