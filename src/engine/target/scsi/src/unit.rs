//! A logical unit: a volume as a SCSI direct-access block device.

use std::sync::Arc;

use plimsoll_storage::{BlockStore, StoreError, Volume};

use crate::Completion;

/// What can be set per unit.
#[derive(Debug, Clone, Default)]
pub struct UnitSettings {
    /// Refuse writes (WP in the mode header).
    pub read_only: bool,
}

/// A volume as a SCSI direct-access block device of 512-byte blocks.
#[derive(Debug)]
pub struct LogicalUnit {}

impl LogicalUnit {
    /// A unit over a block volume.
    pub fn new(volume: Arc<Volume>, settings: UnitSettings) -> Arc<Self> {
        let _ = (volume, settings);
        unimplemented!()
    }

    /// The volume: for admission and names.
    pub fn volume(&self) -> &Arc<Volume> {
        unimplemented!()
    }

    /// Where the data lives.
    pub fn store(&self) -> &BlockStore {
        unimplemented!()
    }

    /// Makes everything written so far durable; blocks.
    pub fn flush(&self) -> Completion {
        unimplemented!()
    }

    /// The completion of a READ whose store failed.
    pub fn read_failed(&self, error: &StoreError) -> Completion {
        let _ = error;
        unimplemented!()
    }

    /// The completion of a WRITE whose store failed.
    pub fn write_failed(&self, error: &StoreError) -> Completion {
        let _ = error;
        unimplemented!()
    }

    /// The volume was resized: every nexus gets 2A/09.
    pub fn resized(&self) {
        unimplemented!()
    }

    /// The pool passed its soft threshold: every nexus gets 38/07.
    pub fn threshold_reached(&self) {
        unimplemented!()
    }
}
