//! Brings an array to what a configuration says: creates what is missing, changes what may be changed.
//!
//! Order: pools grow before volumes need their room, and shrink after volumes gave it up. Nothing is deleted:
//! what is no longer in the configuration stays and is served on.

use plimsoll_storage::{Array, ArrayError, Volume};

use crate::TargetError;
use crate::config::{Authority, Config};

/// Which of the things that exist already are brought to the configuration.
#[derive(Clone, Copy)]
pub(crate) enum Which<'a> {
    /// As the authority of the configuration says.
    ByAuthority,
    /// Those whose entry differs from the one in an older configuration.
    ChangedSince(&'a Config),
}

pub(crate) fn reconcile(
    array: &Array,
    config: &Config,
    which: Which<'_>,
) -> Result<(), TargetError> {
    let mut shrink = Vec::new();
    for (index, pool) in config.pools.iter().enumerate() {
        let wanted = match which {
            Which::ByAuthority => config.array.authority == Authority::File,
            Which::ChangedSince(old) => {
                old.pools.iter().find(|old| old.name == pool.name) != Some(pool)
            }
        };
        let refused = |error: ArrayError| config.error("pools", index, error.to_string());
        let settings = pool.settings();
        let Ok(status) = array.pool(&pool.name) else {
            array.create_pool(settings).map_err(refused)?;
            continue;
        };
        let now = status.settings;
        if now == settings || !wanted {
            continue;
        }
        if now.qos != settings.qos {
            let message = "the quality of service of a pool cannot be changed; create another pool and move its volumes";
            return Err(config.error("pools", index, message));
        }
        if settings.size_bytes > now.size_bytes {
            array.resize_pool(&pool.name, settings.size_bytes).map_err(refused)?;
        } else if settings.size_bytes < now.size_bytes {
            shrink.push((index, settings.size_bytes));
        }
        if settings.tier != now.tier {
            array.retier_pool(&pool.name, settings.tier.as_deref()).map_err(refused)?;
        }
        if settings.limit != now.limit {
            array.limit_pool(&pool.name, settings.limit).map_err(refused)?;
        }
    }
    for (index, volume) in config.volumes.iter().enumerate() {
        let wanted = match which {
            Which::ByAuthority => config.array.authority == Authority::File,
            Which::ChangedSince(old) => {
                old.limits.flow != config.limits.flow
                    || old.volumes.iter().find(|old| old.name == volume.name) != Some(volume)
            }
        };
        let refused = |error: ArrayError| config.error("volumes", index, error.to_string());
        let settings = volume.settings(&config.limits);
        let Ok(existing) = array.volume(&volume.name) else {
            array.create_volume(&volume.pool, settings).map_err(refused)?;
            continue;
        };
        if existing.kind() != settings.kind {
            let message = format!(
                "volume {:?} exists with the other protocol, and its data would be lost; choose another name",
                volume.name
            );
            return Err(config.error("volumes", index, message));
        }
        if existing.store().remote().is_some() != settings.remote.is_some() {
            let message = format!(
                "volume {:?} exists and its bytes are elsewhere than the configuration says; choose another name",
                volume.name
            );
            return Err(config.error("volumes", index, message));
        }
        if wanted {
            array.limit_volume(&volume.name, settings.limits).map_err(refused)?;
            array.move_volume(&volume.name, &volume.pool).map_err(refused)?;
            if settings.remote.is_none() && existing.size_bytes() != settings.size_bytes {
                array.resize_volume(&volume.name, settings.size_bytes).map_err(refused)?;
            }
        }
    }
    for (index, size) in shrink {
        let refused = |error: ArrayError| config.error("pools", index, error.to_string());
        array.resize_pool(&config.pools[index].name, size).map_err(refused)?;
    }
    let left = |volume: &Volume| !config.volumes.iter().any(|known| known.name == volume.name());
    for volume in array.volumes() {
        if left(&volume) {
            tracing::info!(volume = volume.name(), "is not in the configuration and is served on");
        }
    }
    Ok(())
}
