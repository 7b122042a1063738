//! Operations on pools: check the rules, make it durable, apply it, tell.

use std::sync::Arc;
use std::time::Instant;

use super::check::{check_limit, check_name, find};
use super::{Array, Event, PoolEntry, State};
use crate::metadata::{Change, PoolRecord};
use crate::pool::PoolShare;
use crate::{ArrayError, Limit, PoolSettings, Volume};

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

    fn volumes_of(&self, pool: &str) -> Vec<Arc<Volume>> {
        self.state().of_pool(pool).map(|entry| Arc::clone(&entry.volume)).collect()
    }
}
