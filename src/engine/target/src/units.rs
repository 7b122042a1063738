//! The logical units of the target: one per block volume, kept in step with the array.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use plimsoll_storage::{Event, Kind, Volume};
use plimsoll_target_scsi::{Device, LogicalUnit, UnitSettings};

/// Maps block volumes into the SCSI device and passes on what happens to them.
pub(crate) struct Units {
    device: Arc<Device>,
    settings: Mutex<BTreeMap<String, UnitSettings>>,
    units: Mutex<BTreeMap<String, Arc<LogicalUnit>>>,
}

impl Units {
    /// `settings` has how a volume is presented, by its name.
    pub fn new(device: Arc<Device>, settings: BTreeMap<String, UnitSettings>) -> Self {
        Self { device, settings: Mutex::new(settings), units: Mutex::default() }
    }

    /// Replaces the settings, for volumes that are created from now on.
    pub fn set_settings(&self, settings: BTreeMap<String, UnitSettings>) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = settings;
    }

    /// Begins to serve a volume, if it is a block volume that is not served yet.
    pub fn add(&self, volume: &Arc<Volume>) {
        let (Kind::Block, Some(lun)) = (volume.kind(), volume.lun()) else { return };
        let mut units = self.lock();
        if units.contains_key(volume.serial()) {
            return;
        }
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner);
        let settings = settings.get(volume.name()).copied().unwrap_or_default();
        let unit = LogicalUnit::new(Arc::clone(volume), settings);
        if self.device.map(lun, Arc::clone(&unit)) {
            units.insert(volume.serial().to_owned(), unit);
        } else {
            tracing::error!(
                volume = volume.name(),
                lun,
                "the logical unit number is too high; not served"
            );
        }
    }

    /// Passes an event of the array on to initiators.
    pub fn on_event(&self, event: &Event) {
        match event {
            Event::VolumeCreated { volume } => self.add(volume),
            Event::VolumeResized { volume, .. } => {
                if let Some(unit) = self.lock().get(volume.serial()) {
                    unit.resized();
                }
            }
            Event::VolumeDeleted { volume } => {
                if self.lock().remove(volume.serial()).is_some()
                    && let Some(lun) = volume.lun()
                {
                    self.device.unmap(lun);
                }
            }
            Event::PoolThreshold { above: true, volumes, .. } => {
                let units = self.lock();
                for unit in volumes.iter().filter_map(|volume| units.get(volume.serial())) {
                    unit.threshold_reached();
                }
            }
            _ => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Arc<LogicalUnit>>> {
        self.units.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
