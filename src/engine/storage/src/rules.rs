//! What a provider allows: sizes, steps, thin provisioning, cool-down. The defaults forbid nothing.

use serde::{Deserialize, Serialize};

use crate::ArrayError;

/// The rules of a provider, as settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Smallest pool.
    pub pool_min_bytes: u64,
    /// Largest pool.
    pub pool_max_bytes: u64,
    /// Pools have sizes that are multiples of this.
    pub pool_step_bytes: u64,
    /// Smallest volume.
    pub volume_min_bytes: u64,
    /// Largest volume.
    pub volume_max_bytes: u64,
    /// Volumes have sizes that are multiples of this; at least 512.
    pub volume_step_bytes: u64,
    /// Most volumes of a pool.
    pub volumes_per_pool: u32,
    /// How many times its size the quotas of a pool may add up to; above 1 is thin provisioning.
    pub overcommit: f64,
    /// Whether a pool that holds volumes may change its tier.
    pub retier_with_volumes: bool,
    /// How long after an increase of a volume's throughput (tier or manual) it may not be decreased.
    pub decrease_cooldown_s: u64,
    /// Percentages of a pool's size at which subscribers are told, ascending.
    pub thresholds_pct: Vec<u8>,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            pool_min_bytes: 1,
            pool_max_bytes: i64::MAX as u64,
            pool_step_bytes: 1,
            volume_min_bytes: 1 << 20,
            volume_max_bytes: 64 << 40,
            volume_step_bytes: 512,
            volumes_per_pool: 4096,
            overcommit: 1.0,
            retier_with_volumes: true,
            decrease_cooldown_s: 0,
            thresholds_pct: vec![80, 90],
        }
    }
}

impl Rules {
    pub(crate) fn check_pool_size(&self, bytes: u64) -> Result<(), ArrayError> {
        check_size("pool", bytes, self.pool_min_bytes, self.pool_max_bytes, self.pool_step_bytes)
    }

    pub(crate) fn check_volume_size(&self, bytes: u64) -> Result<(), ArrayError> {
        let step = self.volume_step_bytes;
        check_size("volume", bytes, self.volume_min_bytes, self.volume_max_bytes, step)
    }

    /// Whether the quotas of a pool may add up to `quota` when it has `size` bytes.
    pub(crate) fn check_quota(&self, pool: &str, quota: u64, size: u64) -> Result<(), ArrayError> {
        let allowed = (size as f64 * self.overcommit.max(0.0)) as u64;
        if quota > allowed {
            return Err(ArrayError::PoolTooSmall {
                pool: pool.to_owned(),
                quota_bytes: quota,
                allowed_bytes: allowed,
            });
        }
        Ok(())
    }
}

fn check_size(
    what: &'static str,
    bytes: u64,
    min: u64,
    max: u64,
    step: u64,
) -> Result<(), ArrayError> {
    if bytes < min || bytes > max {
        return Err(ArrayError::SizeOutOfRange { what, bytes, min, max });
    }
    if step > 1 && !bytes.is_multiple_of(step) {
        return Err(ArrayError::SizeStep { what, bytes, step });
    }
    Ok(())
}
