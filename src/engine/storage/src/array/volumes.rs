//! Operations on volumes: check the rules, make it durable, apply it, tell.

use std::sync::Arc;

use super::check::{check_limits, check_name, check_shrink, find, free_lun, new_serial};
use super::{Array, Event, VolumeEntry, remove, store_error};
use crate::metadata::{Change, VolumeRecord};
use crate::volume::quota;
use crate::{ArrayError, Kind, Limits, Volume, VolumeSettings};

impl Array {
    /// Creates a volume in a pool.
    pub fn create_volume(
        &self,
        pool: &str,
        mut settings: VolumeSettings,
    ) -> Result<Arc<Volume>, ArrayError> {
        let _operation = self.begin();
        check_name(&settings.name)?;
        let rules = &self.settings.rules;
        let believed = (settings.size_bytes > 0).then_some(settings.size_bytes);
        let serial = new_serial(&self.state())?;
        let remote = self.remote(&settings, &serial, believed)?;
        if let Some(remote) = &remote {
            settings.size_bytes = remote.size_bytes();
        }
        rules.check_volume_size(settings.size_bytes)?;
        check_limits(&settings.name, &settings.limits)?;
        let state = self.state();
        if state.volume(&settings.name).is_ok() {
            return Err(ArrayError::Exists { what: "volume", name: settings.name });
        }
        let entry = state.pool(pool)?;
        let volumes = state.of_pool(pool).count();
        if volumes >= rules.volumes_per_pool as usize {
            return Err(ArrayError::TooManyVolumes { pool: pool.to_owned(), volumes });
        }
        let quotas = state.quota(pool, None).saturating_add(quota(settings.size_bytes));
        rules.check_quota(pool, quotas, entry.record.settings.size_bytes)?;
        self.check_throughput(&state, &entry.record.settings, Some(&settings))?;
        let record = VolumeRecord {
            order: state.next_order,
            serial,
            pool: pool.to_owned(),
            lun: (settings.kind == Kind::Block).then(|| free_lun(&state)),
            raised_at: None,
            settings,
        };
        let share = Arc::clone(&entry.share);
        drop(state);
        // The data comes first: a kill in between leaves data of no volume, which the next start removes.
        let volume = self.open_volume(&record, share, remote)?;
        self.sync_folder(record.settings.kind)?;
        self.metadata.apply(&[Change::PutVolume(&record)])?;
        self.change(|state| {
            state.next_order += 1;
            state.volumes.push(VolumeEntry { record, volume: Arc::clone(&volume) });
            self.apply_limits(state, pool);
        });
        self.publish(&Event::VolumeCreated { volume: Arc::clone(&volume) });
        Ok(volume)
    }

    /// Grows or shrinks a volume while it is served.
    pub fn resize_volume(&self, name: &str, size_bytes: u64) -> Result<(), ArrayError> {
        let _operation = self.begin();
        let rules = &self.settings.rules;
        rules.check_volume_size(size_bytes)?;
        let state = self.state();
        let entry = state.volume(name)?.clone();
        let pool = &state.pool(&entry.record.pool)?.record.settings;
        let before = entry.record.settings.size_bytes;
        if entry.record.settings.remote.is_some() {
            let reason = "it has the size of the remote unit; resize that one".to_owned();
            return Err(ArrayError::Remote { volume: name.to_owned(), reason });
        }
        if size_bytes > before {
            let others = state.quota(&pool.name, Some(name));
            let quotas = others.saturating_add(quota(size_bytes));
            rules.check_quota(&pool.name, quotas, pool.size_bytes)?;
        } else {
            check_shrink(&entry.volume, size_bytes)?;
        }
        drop(state);
        let mut record = entry.record;
        record.settings.size_bytes = size_bytes;
        let resize = || entry.volume.resize(size_bytes).map_err(|source| store_error(name, source));
        // The store is never smaller than what is remembered, so that a kill in between loses nothing.
        if size_bytes > before {
            resize()?;
            self.metadata.apply(&[Change::PutVolume(&record)])?;
        } else {
            self.metadata.apply(&[Change::PutVolume(&record)])?;
            resize()?;
        }
        self.put_entry(record);
        self.publish(&Event::VolumeResized { volume: entry.volume, before_bytes: before });
        Ok(())
    }

    /// Moves a volume to another pool, which is how one volume changes its tier.
    pub fn move_volume(&self, name: &str, pool: &str) -> Result<(), ArrayError> {
        let _operation = self.begin();
        let rules = &self.settings.rules;
        let state = self.state();
        let entry = state.volume(name)?.clone();
        let source = entry.record.pool.clone();
        let target = state.pool(pool)?;
        if source == pool {
            return Ok(());
        }
        let volumes = state.of_pool(pool).count();
        if volumes >= rules.volumes_per_pool as usize {
            return Err(ArrayError::TooManyVolumes { pool: pool.to_owned(), volumes });
        }
        let quotas =
            state.quota(pool, None).saturating_add(quota(entry.record.settings.size_bytes));
        rules.check_quota(pool, quotas, target.record.settings.size_bytes)?;
        self.check_throughput(&state, &target.record.settings, Some(&entry.record.settings))?;
        let old = self.limit_of(&state.pool(&source)?.record.settings, &entry.record);
        let new = self.limit_of(&target.record.settings, &entry.record);
        let mut record = self.with_cool_down(&entry, old, new)?;
        record.pool = pool.to_owned();
        let share = Arc::clone(&target.share);
        drop(state);
        self.metadata.apply(&[Change::PutVolume(&record)])?;
        entry.volume.move_to(&share);
        self.put_entry(record);
        self.publish(&Event::VolumeLimitsChanged { volume: entry.volume });
        Ok(())
    }

    /// Sets the limits of a volume; in a pool with manual quality of service this sets its throughput.
    pub fn limit_volume(&self, name: &str, limits: Limits) -> Result<(), ArrayError> {
        let _operation = self.begin();
        check_limits(name, &limits)?;
        let state = self.state();
        let entry = state.volume(name)?.clone();
        let pool = &state.pool(&entry.record.pool)?.record.settings;
        let settings = VolumeSettings { limits, ..entry.record.settings.clone() };
        self.check_throughput(&state, pool, Some(&settings))?;
        let old = self.limit_of(pool, &entry.record);
        let mut changed = entry.clone();
        changed.record.settings = settings;
        let new = self.limit_of(pool, &changed.record);
        let record = self.with_cool_down(&changed, old, new)?;
        drop(state);
        self.metadata.apply(&[Change::PutVolume(&record)])?;
        self.put_entry(record);
        self.publish(&Event::VolumeLimitsChanged { volume: entry.volume });
        Ok(())
    }

    /// Deletes a volume and its data; whoever still serves it is told.
    pub fn delete_volume(&self, name: &str) -> Result<(), ArrayError> {
        let _operation = self.begin();
        let entry = self.state().volume(name)?.clone();
        let serial = &entry.record.serial;
        self.metadata.apply(&[Change::DropVolume(serial)])?;
        entry.volume.mark_deleted();
        self.change(|state| state.volumes.retain(|other| other.record.serial != *serial));
        self.publish(&Event::VolumeDeleted { volume: Arc::clone(&entry.volume) });
        if let Some(path) = self.data_path(entry.record.settings.kind, serial) {
            // Open files stay readable until they are closed; what a late user still creates in a folder goes
            // with the next start.
            remove(&path).map_err(|source| ArrayError::Folder { path, source })?;
        }
        Ok(())
    }

    /// Makes every block volume durable; blocking.
    pub fn flush(&self) -> Result<(), ArrayError> {
        // A remote volume keeps nothing here: a flush of its client is one of the remote unit, at that time.
        let local = |volume: &Arc<Volume>| volume.store().remote().is_none();
        for volume in self.volumes().into_iter().filter(local) {
            volume.store().flush().map_err(|source| store_error(volume.name(), source))?;
        }
        Ok(())
    }

    /// Follows remote units that were resized; the regular look at them.
    pub fn check_remotes(&self) -> Result<(), ArrayError> {
        let _operation = self.begin();
        let entries = self.state().volumes.clone();
        for entry in entries {
            let Some(size_bytes) = entry.volume.store().remote().map(|remote| remote.size_bytes())
            else {
                continue;
            };
            let before_bytes = entry.record.settings.size_bytes;
            if size_bytes == before_bytes {
                continue;
            }
            let mut record = entry.record;
            record.settings.size_bytes = size_bytes;
            self.metadata.apply(&[Change::PutVolume(&record)])?;
            let name = record.settings.name.clone();
            entry.volume.resize(size_bytes).map_err(|source| store_error(&name, source))?;
            self.put_entry(record);
            self.publish(&Event::VolumeResized { volume: entry.volume, before_bytes });
        }
        Ok(())
    }

    fn put_entry(&self, record: VolumeRecord) {
        self.change(|state| {
            let pool = record.pool.clone();
            if let Some(entry) = find(state, &record.serial) {
                entry.record = record;
            }
            self.apply_limits(state, &pool);
        });
    }
}
