//! What operations on pools and volumes have in common: names, limits, throughput, cool-down.

use std::sync::PoisonError;

use super::{Array, State, VolumeEntry, store_error};
use crate::metadata::VolumeRecord;
use crate::pool::throughput;
use crate::volume::quota;
use crate::{
    ArrayError, Kind, Limit, Limits, PoolSettings, Provisioning, Qos, Volume, VolumeSettings,
};

impl Array {
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether a pool with manual quality of service gives what its volumes have, one of them changed or new.
    pub(super) fn check_throughput(
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
    pub(super) fn with_cool_down(
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

pub(super) fn find<'a>(state: &'a mut State, serial: &str) -> Option<&'a mut VolumeEntry> {
    state.volumes.iter_mut().find(|entry| entry.record.serial == serial)
}

pub(super) fn check_name(name: &str) -> Result<(), ArrayError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let fits = (1..=64).contains(&name.len())
        && name.bytes().all(|byte| plain(byte) || b"-_.".contains(&byte))
        && name.bytes().next().is_some_and(plain);
    if fits { Ok(()) } else { Err(ArrayError::BadName { name: name.to_owned() }) }
}

pub(super) fn check_limit(name: &str, limit: Limit) -> Result<(), ArrayError> {
    match limit.problem() {
        Some(problem) => Err(ArrayError::BadLimit { name: name.to_owned(), problem }),
        None => Ok(()),
    }
}

pub(super) fn check_limits(name: &str, limits: &Limits) -> Result<(), ArrayError> {
    check_limit(name, limits.volume)?;
    check_limit(name, limits.flow)
}

/// A volume is not made smaller than what it holds, nor a block volume than where its last data is.
pub(super) fn check_shrink(volume: &Volume, size: u64) -> Result<(), ArrayError> {
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
pub(super) fn free_lun(state: &State) -> u16 {
    let taken = |lun: &u16| state.volumes.iter().any(|entry| entry.record.lun == Some(*lun));
    (0..=u16::MAX).find(|lun| !taken(lun)).unwrap_or(u16::MAX)
}

/// 16 hexadecimal digits that no volume of the array has.
pub(super) fn new_serial(state: &State) -> Result<String, ArrayError> {
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
