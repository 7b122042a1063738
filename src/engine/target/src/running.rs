//! A target that serves: its addresses, its array, its statistics, its end.

use std::net::SocketAddr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use plimsoll_fabric::Loops;
use plimsoll_fabric::rdma::Fabric;
use plimsoll_storage::{Array, ArraySettings, Blocking};
use plimsoll_target_iscsi::SessionInfo;
use serde::Serialize;

use crate::config::Config;
use crate::protocols::{Iscsi, Nfs};
use crate::reconcile::{Which, reconcile};
use crate::remotes::Remotes;
use crate::statistics::{PoolStatistics, SessionStatistics, Statistics, VolumeStatistics};
use crate::{Backing, TargetError};

/// How often thresholds are looked at.
const MONITOR_EVERY: Duration = Duration::from_secs(1);

/// Starts targets.
#[derive(Debug)]
pub struct Target;

/// One address under which a volume is served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Name of the volume.
    pub volume: String,
    /// Its serial, by which a probe names it for writing.
    pub serial: String,
    /// `iscsi://host:port/iqn/lun`, `iser://host:port/iqn/lun` or `nfs://host:port/export`.
    pub url: String,
}

/// A running target; dropping it stops it as [`Running::stop`] does, without telling what failed.
pub struct Running {
    started: Instant,
    array: Arc<Array>,
    config: Mutex<Config>,
    rdma: Option<Arc<dyn Fabric>>,
    remotes: Arc<Remotes>,
    blocking: Arc<Blocking>,
    iscsi: Option<Iscsi>,
    nfs: Option<Nfs>,
    monitor: Option<(Sender<()>, JoinHandle<()>)>,
    loops: Option<Loops>,
}

impl Target {
    /// Builds the array, listens on every portal, and returns when clients can connect. Without RDMA.
    pub fn start(config: Config) -> Result<Running, TargetError> {
        Self::start_with(config, None)
    }

    /// The same, with RDMA for portals that take iSER.
    pub fn start_with(
        config: Config,
        rdma: Option<Arc<dyn Fabric>>,
    ) -> Result<Running, TargetError> {
        if let Err(error) = plimsoll_fabric::raise_open_files_limit() {
            tracing::warn!(%error, "the limit of open files stays as it is");
        }
        config.check()?;
        let remotes = Arc::<Remotes>::default();
        remotes.configure(&config, rdma.as_ref())?;
        let array = open_array(&config, &remotes)?;
        let blocking =
            Blocking::start(config.server.blocking_threads, config.server.blocking_queue)
                .map_err(|source| TargetError::Start { what: "blocking threads", source })?;
        let blocking = Arc::new(blocking);
        let spin = Duration::from_micros(config.server.spin_us);
        let loops = Loops::start(config.server.threads(), spin, "target")
            .map_err(|source| TargetError::Start { what: "I/O threads", source })?;
        let iscsi = match &config.iscsi {
            Some(iscsi) => {
                Some(Iscsi::start(iscsi, &config, &array, &blocking, &loops, rdma.as_deref())?)
            }
            None => None,
        };
        let nfs = match &config.nfs {
            Some(nfs) => Some(Nfs::start(nfs, &config, &array, &blocking, &loops)?),
            None => None,
        };
        let monitor = monitor(&array)?;
        Ok(Running {
            started: Instant::now(),
            array,
            config: Mutex::new(config),
            rdma,
            remotes,
            blocking,
            iscsi,
            nfs,
            monitor: Some(monitor),
            loops: Some(loops),
        })
    }
}

fn open_array(config: &Config, remotes: &Arc<Remotes>) -> Result<Arc<Array>, TargetError> {
    let settings = ArraySettings {
        tiers: config.tiers.clone(),
        rules: config.rules.rules(),
        host_limit: config.limits.host,
        connect: Some(remotes.connect()),
        ..ArraySettings::default()
    };
    let array = match &config.array.backing {
        Backing::Memory => Array::memory(settings)?,
        Backing::Dir(folder) => Array::open(&config.resolve(folder), settings)?,
    };
    remotes.set_array(&array);
    reconcile(&array, config, Which::ByAuthority)?;
    Ok(array)
}

/// Looks at thresholds until the sender is dropped.
fn monitor(array: &Arc<Array>) -> Result<(Sender<()>, JoinHandle<()>), TargetError> {
    let (stop, stopped) = mpsc::channel();
    let array = Arc::clone(array);
    let thread = std::thread::Builder::new()
        .name("array-monitor".to_owned())
        .spawn(move || {
            while stopped.recv_timeout(MONITOR_EVERY) == Err(RecvTimeoutError::Timeout) {
                array.check_thresholds();
                if let Err(error) = array.check_remotes() {
                    tracing::error!(%error, "the new size of a remote volume is not taken over");
                }
            }
        })
        .map_err(|source| TargetError::Start { what: "the array's monitor", source })?;
    Ok((stop, thread))
}

impl Running {
    /// Every volume with every address it is served under, in the order of their creation.
    pub fn urls(&self) -> Vec<Served> {
        let mut served = Vec::new();
        for volume in self.array.volumes() {
            let iscsi = self.iscsi.iter().flat_map(|iscsi| iscsi.urls(&volume));
            let nfs = self.nfs.iter().flat_map(|nfs| nfs.urls(&volume));
            served.extend(iscsi.chain(nfs).map(|url| Served {
                volume: volume.name().to_owned(),
                serial: volume.serial().to_owned(),
                url,
            }));
        }
        served
    }

    /// The array, to be managed while it is served.
    pub fn array(&self) -> &Arc<Array> {
        &self.array
    }

    /// Where the iSCSI portals listen.
    pub fn iscsi_portals(&self) -> Vec<SocketAddr> {
        self.iscsi.iter().flat_map(Iscsi::addresses).collect()
    }

    /// Where the NFS server listens.
    pub fn nfs_addresses(&self) -> Vec<SocketAddr> {
        self.nfs.iter().flat_map(Nfs::addresses).collect()
    }

    /// Brings a remote volume, or all of them, back to the transport that is preferred: what is under way ends first,
    /// what comes meanwhile waits. Returns how many were told.
    pub fn reconnect(&self, volume: Option<&str>) -> usize {
        self.remotes.reconnect(volume)
    }

    /// The iSCSI sessions that are logged in, with what each has done.
    pub fn iscsi_sessions(&self) -> Vec<SessionInfo> {
        self.iscsi.iter().flat_map(Iscsi::sessions).collect()
    }

    /// What was done so far.
    pub fn statistics(&self) -> Statistics {
        let mut remotes = self.remotes.status();
        let pools = self.array.pools().into_iter().map(|pool| PoolStatistics {
            name: pool.settings.name,
            tier: pool.settings.tier,
            size_bytes: pool.settings.size_bytes,
            used_bytes: pool.used_bytes,
            quota_bytes: pool.quota_bytes,
        });
        let volumes = self.array.volumes().into_iter().map(|volume| {
            let limit = self.array.effective_limit(volume.name()).unwrap_or_default();
            VolumeStatistics {
                name: volume.name().to_owned(),
                serial: volume.serial().to_owned(),
                size_bytes: volume.size_bytes(),
                used_bytes: volume.space().used(),
                limit_mib_per_s: limit.mib_per_s,
                limit_iops: limit.iops,
                counters: volume.counters(),
                remote: remotes.remove(volume.name()),
            }
        });
        let sessions = self.iscsi.as_ref().map(Iscsi::sessions).unwrap_or_default();
        Statistics {
            uptime_s: self.started.elapsed().as_secs_f64(),
            connections: self.loops.as_ref().map_or(0, Loops::connections),
            iscsi_sessions: sessions.len(),
            sessions: sessions.iter().map(SessionStatistics::new).collect(),
            blocking_queued: self.blocking.queued(),
            pools: pools.collect(),
            volumes: volumes.collect(),
        }
    }

    /// Takes over what changed in the configuration since it was read last: pools, volumes and limits of
    /// flows. Whatever needs a restart is refused, before anything is changed.
    pub fn apply(&self, config: &Config) -> Result<(), TargetError> {
        config.check()?;
        let mut current = self.config.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(section) = current.needs_restart(config) {
            let message = "was changed, which takes effect with a restart only; take the change back or restart";
            return Err(config.error(section, 0, message));
        }
        if let Some(iscsi) = &self.iscsi {
            iscsi.set_unit_settings(config.unit_settings());
        }
        if let Some(nfs) = &self.nfs {
            nfs.set_read_only(config.read_only_exports());
        }
        self.remotes.configure(config, self.rdma.as_ref())?;
        reconcile(&self.array, config, Which::ChangedSince(&current))?;
        *current = config.clone();
        Ok(())
    }

    /// Stops accepting, ends sessions, flushes every volume, and closes the metadata.
    pub fn stop(mut self) -> Result<(), TargetError> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<(), TargetError> {
        let Some(loops) = self.loops.take() else { return Ok(()) };
        if let Some((stop, thread)) = self.monitor.take() {
            drop(stop);
            let _ = thread.join();
        }
        let grace_s =
            self.config.lock().unwrap_or_else(PoisonError::into_inner).server.stop_grace_s;
        // Nobody new; then iSCSI sessions log out, while NFS clients simply come again after the restart.
        let nfs = self.nfs.take();
        if let Some(iscsi) = self.iscsi.take() {
            iscsi.stop(grace_s);
        }
        drop((nfs, loops));
        Ok(self.array.flush()?)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            tracing::error!(%error, "the target did not stop cleanly");
        }
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Running({:?})", self.array)
    }
}
