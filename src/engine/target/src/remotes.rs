//! The remote volumes of a target: their engines, and what they must not point at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use plimsoll_fabric::rdma::Fabric;
use plimsoll_remote::{Engine, Settings, Status};
use plimsoll_storage::{Array, Connect, Remote, VolumeSettings};
use plimsoll_target_scsi::REMOTE_PRODUCT;

use crate::TargetError;
use crate::config::Config;

/// The engines by the names of their volumes.
#[derive(Default)]
pub(crate) struct Remotes {
    settings: Mutex<BTreeMap<String, Settings>>,
    engines: Mutex<BTreeMap<String, Weak<Engine>>>,
    /// The array that they are part of, once it is open.
    array: OnceLock<Weak<Array>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Remotes {
    /// Takes over how the remote volumes of a configuration are reached.
    pub fn configure(
        &self,
        config: &Config,
        rdma: Option<&Arc<dyn Fabric>>,
    ) -> Result<(), TargetError> {
        let mut settings = BTreeMap::new();
        for (index, volume) in config.volumes.iter().enumerate() {
            if let Some(remote) = &volume.remote {
                let why = "this target was started without RDMA";
                let rdma = rdma.cloned().ok_or_else(|| why.to_owned());
                settings.insert(volume.name.clone(), remote.settings(config, index, rdma)?);
            }
        }
        *lock(&self.settings) = settings;
        Ok(())
    }

    /// How the array connects its remote volumes.
    pub fn connect(self: &Arc<Self>) -> Connect {
        let remotes = Arc::clone(self);
        Arc::new(move |volume: &VolumeSettings, serial: &str, size: Option<u64>| {
            let name = volume.name.as_str();
            // A volume that is no longer in the configuration is served on, by what is remembered of it.
            let known = lock(&remotes.settings).get(name).cloned();
            let remembered = || Settings::new(volume.remote.as_deref().unwrap_or_default());
            let settings =
                Settings { session: Some(serial.to_owned()), ..known.unwrap_or_else(remembered) };
            let around = Arc::downgrade(&remotes);
            let refuse = move |serial: &str, model: &str| {
                around.upgrade().and_then(|remotes| remotes.refuse(serial, model))
            };
            let engine =
                Engine::start(settings, size, refuse).map_err(|error| error.to_string())?;
            lock(&remotes.engines).insert(name.to_owned(), Arc::downgrade(&engine));
            let remote: Arc<dyn Remote> = engine;
            Ok(remote)
        })
    }

    /// The array is open: its own units are known from now on.
    pub fn set_array(&self, array: &Arc<Array>) {
        let _ = self.array.set(Arc::downgrade(array));
    }

    /// Why a unit must not be behind a volume of this target.
    fn refuse(&self, serial: &str, model: &str) -> Option<String> {
        if model.ends_with(REMOTE_PRODUCT) {
            return Some(format!(
                "unit {serial} is itself a remote volume of its target; point at the target that has the bytes"
            ));
        }
        let array = self.array.get().and_then(Weak::upgrade)?;
        let own = array.volumes().into_iter().find(|volume| volume.serial() == serial)?;
        let name = own.name();
        Some(format!("unit {serial} is volume {name:?} of this same target: that would be a loop"))
    }

    fn engines(&self) -> Vec<(String, Arc<Engine>)> {
        let mut engines = lock(&self.engines);
        engines.retain(|_, engine| engine.strong_count() > 0);
        let alive =
            |(name, engine): (&String, &Weak<Engine>)| Some((name.clone(), engine.upgrade()?));
        engines.iter().filter_map(alive).collect()
    }

    /// How each stands.
    pub fn status(&self) -> BTreeMap<String, Status> {
        self.engines().into_iter().map(|(name, engine)| (name, engine.status())).collect()
    }

    /// Brings a volume, or all of them, back to the preferred transport; the number of those that were told.
    pub fn reconnect(&self, volume: Option<&str>) -> usize {
        let engines = self.engines().into_iter();
        let wanted = engines.filter(|(name, _)| volume.is_none_or(|volume| volume == name));
        wanted.map(|(_, engine)| engine.reconnect()).count()
    }
}
