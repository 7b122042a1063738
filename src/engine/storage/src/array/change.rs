//! The operations: check the rules, make it durable, apply it, tell.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use super::{Array, Event, PoolEntry, State, VolumeEntry, remove, store_error};
use crate::metadata::{Change, PoolRecord, VolumeRecord};
use crate::pool::{PoolShare, throughput};
use crate::volume::quota;
use crate::{
    ArrayError, Kind, Limit, Limits, PoolSettings, Provisioning, Qos, Volume, VolumeSettings,
};

impl Array {
    /// Creates a pool.
    pub fn create_pool(&self, settings: PoolSettings) -> Result<(), ArrayError> {
        let _operation = self.begin();
        check_name(&settings.name)?;
        self.settings.rules.check_pool_size(settings.size_bytes)?;
        check_limit(&settings.name, settings.limit)?;
        if let Some(tier) = &settings.tier {
            self.tier(tier)?;
        }
        let state = self.state();
        if state.pools.contains_key(&settings.name) {
            return Err(ArrayError::Exists { what: "pool", name: settings.name });
        }
        let record = PoolRecord { order: state.next_order, settings };
        drop(state);
        self.metadata.apply(&[Change::PutPool(&record)])?;
        self.change(|state| {
            let share = PoolShare::new(record.settings.size_bytes);
            share.limiter.set(record.settings.limit, Instant::now());
            let name = record.settings.name.clone();
            state.next_order += 1;
            state.pools.insert(name, PoolEntry { share, record, passed: 0 });
        });
        Ok(())
    }

    /// Grows or shrinks a pool.
    pub fn resize_pool(&self, pool: &str, size_bytes: u64) -> Result<(), ArrayError> {
        let _operation = self.begin();
        self.settings.rules.check_pool_size(size_bytes)?;
        let state = self.state();
        let entry = state.pool(pool)?;
        let mut record = entry.record.clone();
        self.settings.rules.check_quota(pool, state.quota(pool, None), size_bytes)?;
        let used = entry.share.space.used();
        if used > size_bytes {
            let name = pool.to_owned();
            return Err(ArrayError::BelowUsed { name, used_bytes: used, bytes: size_bytes });
        }
        record.settings.size_bytes = size_bytes;
        self.check_throughput(&state, &record.settings, None)?;
        drop(state);
        self.put_pool(record)
    }

    /// Gives a pool another tier; the throughput of its volumes follows at once.
    pub fn retier_pool(&self, pool: &str, tier: Option<&str>) -> Result<(), ArrayError> {
        let _operation = self.begin();
        if let Some(tier) = tier {
            self.tier(tier)?;
        }
        let state = self.state();
        let before = state.pool(pool)?.record.clone();
        let mut record = before.clone();
        record.settings.tier = tier.map(str::to_owned);
        let volumes = state.of_pool(pool).count();
        if !self.settings.rules.retier_with_volumes && volumes > 0 {
            return Err(ArrayError::PoolNotEmpty {
                pool: pool.to_owned(),
                volumes,
                advice: "move them to a pool of the other tier instead",
            });
        }
        self.check_throughput(&state, &record.settings, None)?;
        let mut changed = Vec::new();
        for entry in state.of_pool(pool) {
            let old = self.limit_of(&before.settings, &entry.record);
            let new = self.limit_of(&record.settings, &entry.record);
            changed.push(self.with_cool_down(entry, old, new)?);
        }
        drop(state);
        let puts = changed.iter().map(Change::PutVolume);
        let changes: Vec<_> = std::iter::once(Change::PutPool(&record)).chain(puts).collect();
        self.metadata.apply(&changes)?;
        self.change(|state| {
            for record in &changed {
                if let Some(entry) = find(state, &record.serial) {
                    entry.record = record.clone();
                }
            }
            if let Some(entry) = state.pools.get_mut(pool) {
                entry.record = record.clone();
            }
            self.apply_limits(state, pool);
        });
        for volume in self.volumes_of(pool) {
            self.publish(&Event::VolumeLimitsChanged { volume });
        }
        Ok(())
    }

    /// Sets the limit on all volumes of a pool together.
    pub fn limit_pool(&self, pool: &str, limit: Limit) -> Result<(), ArrayError> {
        let _operation = self.begin();
        check_limit(pool, limit)?;
        let mut record = self.state().pool(pool)?.record.clone();
        record.settings.limit = limit;
        self.put_pool(record)
    }

    /// Deletes an empty pool.
    pub fn delete_pool(&self, pool: &str) -> Result<(), ArrayError> {
        let _operation = self.begin();
        let state = self.state();
        state.pool(pool)?;
        let volumes = state.of_pool(pool).count();
        if volumes > 0 {
            return Err(ArrayError::PoolNotEmpty {
                pool: pool.to_owned(),
                volumes,
                advice: "delete or move them first",
            });
        }
        drop(state);
        self.metadata.apply(&[Change::DropPool(pool)])?;
        self.change(|state| state.pools.remove(pool));
        Ok(())
    }

    /// Creates a volume in a pool.
    pub fn create_volume(
        &self,
        pool: &str,
        settings: VolumeSettings,
    ) -> Result<Arc<Volume>, ArrayError> {
        let _operation = self.begin();
        check_name(&settings.name)?;
        let rules = &self.settings.rules;
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
            serial: new_serial(&state)?,
            pool: pool.to_owned(),
            lun: (settings.kind == Kind::Block).then(|| free_lun(&state)),
            raised_at: None,
            settings,
        };
        let share = Arc::clone(&entry.share);
        drop(state);
        // The data comes first: a kill in between leaves data of no volume, which the next start removes.
        let volume = self.open_volume(&record, share)?;
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

    /// Tells subscribers which thresholds the use of pools passed since the last call; call it about every second.
    pub fn check_thresholds(&self) {
        let _operation = self.begin();
        let mut events = Vec::new();
        self.change(|state| {
            let State { pools, volumes, .. } = state;
            for (name, pool) in pools {
                let used = u128::from(pool.share.space.used()) * 100;
                let size = u128::from(pool.record.settings.size_bytes.max(1));
                let thresholds = &self.settings.rules.thresholds_pct;
                let passed =
                    thresholds.iter().filter(|&&pct| used >= u128::from(pct) * size).count();
                let above = passed > pool.passed;
                let crossed = pool.passed.min(passed)..pool.passed.max(passed);
                for &percent in &thresholds[crossed] {
                    let volumes = volumes.iter().filter(|entry| entry.record.pool == *name);
                    let volumes = volumes.map(|entry| Arc::clone(&entry.volume)).collect();
                    let pool = name.clone();
                    events.push(Event::PoolThreshold { pool, percent, above, volumes });
                }
                pool.passed = passed;
            }
        });
        for event in &events {
            self.publish(event);
        }
    }

    /// Makes every block volume durable; blocking.
    pub fn flush(&self) -> Result<(), ArrayError> {
        for volume in self.volumes() {
            volume.store().flush().map_err(|source| store_error(volume.name(), source))?;
        }
        Ok(())
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn volumes_of(&self, pool: &str) -> Vec<Arc<Volume>> {
        self.state().of_pool(pool).map(|entry| Arc::clone(&entry.volume)).collect()
    }

    fn put_pool(&self, record: PoolRecord) -> Result<(), ArrayError> {
        self.metadata.apply(&[Change::PutPool(&record)])?;
        self.change(|state| {
            let name = record.settings.name.clone();
            if let Some(entry) = state.pools.get_mut(&name) {
                entry.share.space.set_limit(record.settings.size_bytes);
                entry.record = record;
            }
            self.apply_limits(state, &name);
        });
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

    /// Whether a pool with manual quality of service gives what its volumes have, one of them changed or new.
    fn check_throughput(
        &self,
        state: &State,
        pool: &PoolSettings,
        changed: Option<&VolumeSettings>,
    ) -> Result<(), ArrayError> {
        let (Qos::Manual, Some(tier)) = (pool.qos, &pool.tier) else { return Ok(()) };
        let others = state
            .of_pool(&pool.name)
            .map(|entry| &entry.record.settings)
            .filter(|settings| changed.is_none_or(|changed| changed.name != settings.name));
        let mut wanted = 0.0;
        for settings in others.chain(changed) {
            wanted += settings.limits.volume.mib_per_s.ok_or_else(|| {
                let volume = settings.name.clone();
                ArrayError::ThroughputMissing { pool: pool.name.clone(), volume }
            })?;
        }
        let allowed = throughput(self.tier(tier)?, pool.size_bytes);
        if wanted > allowed * (1.0 + 1e-9) {
            return Err(ArrayError::NoThroughput {
                pool: pool.name.clone(),
                wanted_mib_per_s: wanted,
                allowed_mib_per_s: allowed,
            });
        }
        Ok(())
    }

    /// The record after a change of throughput: refused when it falls too soon after it rose.
    fn with_cool_down(
        &self,
        entry: &VolumeEntry,
        old: Limit,
        new: Limit,
    ) -> Result<VolumeRecord, ArrayError> {
        let rate = |limit: Limit| limit.mib_per_s.unwrap_or(f64::INFINITY);
        let mut record = entry.record.clone();
        let now = (self.settings.clock)();
        if rate(new) > rate(old) {
            record.raised_at = Some(now);
        } else if rate(new) < rate(old)
            && let Some(raised_at) = record.raised_at
        {
            let free_at = raised_at.saturating_add(self.settings.rules.decrease_cooldown_s);
            if now < free_at {
                let volume = record.settings.name;
                return Err(ArrayError::CoolDown { volume, seconds: free_at - now });
            }
        }
        Ok(record)
    }
}

fn find<'a>(state: &'a mut State, serial: &str) -> Option<&'a mut VolumeEntry> {
    state.volumes.iter_mut().find(|entry| entry.record.serial == serial)
}

fn check_name(name: &str) -> Result<(), ArrayError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte))
        && name.bytes().next().is_some_and(plain);
    if fits { Ok(()) } else { Err(ArrayError::BadName { name: name.to_owned() }) }
}

fn check_limit(name: &str, limit: Limit) -> Result<(), ArrayError> {
    match limit.problem() {
        Some(problem) => Err(ArrayError::BadLimit { name: name.to_owned(), problem }),
        None => Ok(()),
    }
}

fn check_limits(name: &str, limits: &Limits) -> Result<(), ArrayError> {
    check_limit(name, limits.volume)?;
    check_limit(name, limits.flow)
}

/// A volume is not made smaller than what it holds, nor a block volume than where its last data is.
fn check_shrink(volume: &Volume, size: u64) -> Result<(), ArrayError> {
    let name = volume.name().to_owned();
    let used = volume.space().used();
    if used > quota(size) {
        return Err(ArrayError::BelowUsed { name, used_bytes: used, bytes: size });
    }
    if volume.kind() == Kind::Block {
        let store = volume.store();
        let mut at = size;
        while at < store.size_bytes() {
            let failed = |source| store_error(volume.name(), source);
            let (provisioning, len) = store.status(at).map_err(failed)?;
            if provisioning == Provisioning::Mapped {
                return Err(ArrayError::DataBeyondEnd { name, at });
            }
            at += len;
        }
    }
    Ok(())
}

/// The lowest logical unit number that no volume has.
fn free_lun(state: &State) -> u16 {
    let taken = |lun: &u16| state.volumes.iter().any(|entry| entry.record.lun == Some(*lun));
    (0..=u16::MAX).find(|lun| !taken(lun)).unwrap_or(u16::MAX)
}

/// 16 hexadecimal digits that no volume of the array has.
fn new_serial(state: &State) -> Result<String, ArrayError> {
    loop {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes).map_err(|error| ArrayError::Unreadable {
            what: "the system's source of random numbers".to_owned(),
            message: error.to_string(),
        })?;
        let serial = format!("{:016x}", u64::from_be_bytes(bytes));
        if state.volumes.iter().all(|entry| entry.record.serial != serial) {
            return Ok(serial);
        }
    }
}
