//! `plimsoll target`: serves datastores over iSCSI and NFSv3.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgGroup, Parser};
use plimsoll_fabric::rdma::Fabric;
use plimsoll_target::{Backing, Config, Prefer, Quick, Running, Size, Target};

use super::{Outcome, deliver, talk};

/// Arguments of `plimsoll target`.
#[derive(Debug, Parser)]
#[command(group = ArgGroup::new("what").required(true).args(["config", "quick"]))]
pub struct Args {
    /// Pools, volumes, portals and limits: a target.toml. SIGHUP reads it again; SIGUSR1 brings remote volumes back to
    /// the transport that they prefer; SIGUSR2 prints metrics.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve volumes of this size without a configuration file, such as 256MiB.
    #[arg(long, value_name = "SIZE")]
    quick: Option<Size>,
    /// Where the data lives: `memory`, or a folder for sparse files.
    #[arg(long, value_name = "memory|DIR", default_value = "memory", conflicts_with = "config")]
    backing: Backing,
    /// Where iSCSI listens; port 0 takes a free one.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:3260",
        conflicts_with = "config"
    )]
    iscsi: SocketAddr,
    /// Take iSER (iSCSI over RDMA) too, on the address of iSCSI.
    #[arg(long, conflicts_with = "config")]
    iser: bool,
    /// Where NFS and its MOUNT protocol listen; port 0 takes a free one.
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "127.0.0.1:2049",
        conflicts_with = "config"
    )]
    nfs: SocketAddr,
    /// Volumes of each kind: so many logical units and so many exports.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "config")]
    volumes: u32,
    /// I/O threads; as many as there are cores when absent.
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Poll so long before sleeping, in microseconds: lower latency at queue depth 1 for a core a thread.
    #[arg(long, value_name = "MICROSECONDS")]
    spin_us: Option<u64>,
}

impl Args {
    fn load(&self) -> Result<Config, plimsoll_target::TargetError> {
        let mut config = match (&self.config, self.quick) {
            (Some(path), _) => Config::load(path)?,
            (None, size) => Quick {
                size: size.unwrap_or_default(),
                backing: self.backing.clone(),
                iscsi: self.iscsi,
                nfs: self.nfs,
                volumes: self.volumes,
            }
            .config()?,
        };
        if self.iser
            && let Some(iscsi) = &mut config.iscsi
        {
            iscsi.portals.iter_mut().for_each(|portal| portal.iser = true);
        }
        if let Some(threads) = self.threads {
            config.server.threads = threads;
        }
        if let Some(spin_us) = self.spin_us {
            config.server.spin_us = spin_us;
        }
        Ok(config)
    }
}

/// Runs it until SIGTERM or SIGINT.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    crate::config::telemetry::start(&crate::config::LogConfig::default())?;
    let started = args.load().and_then(|config| {
        let rdma = rdma_for(&config);
        Target::start_with(config, rdma)
    });
    let running = match started {
        Ok(running) => running,
        Err(error) => {
            talk(&format!("plimsoll: {error}"));
            return Ok(Outcome::Refused);
        }
    };
    let mut lines = String::new();
    for served in running.urls() {
        lines.push_str(&served.url);
        lines.push('\n');
    }
    deliver(lines.as_bytes(), None)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(args, &running))?;
    running.stop()?;
    Ok(Outcome::Done)
}

/// RDMA, if a portal takes iSER or a remote volume prefers it; what is missing is told. Without it the target refuses
/// to start for the sake of a portal; a remote volume goes by TCP.
fn rdma_for(config: &Config) -> Option<Arc<dyn Fabric>> {
    let mut remotes = config.volumes.iter().filter_map(|volume| volume.remote.as_ref());
    let portal = config.iscsi.iter().flat_map(|iscsi| &iscsi.portals).any(|portal| portal.iser);
    let wanted = portal || remotes.any(|remote| remote.prefer == Prefer::Iser);
    match wanted.then(crate::rdma::fabric)? {
        Ok(fabric) => Some(fabric),
        Err(why) => {
            talk(&format!("plimsoll: {why}"));
            None
        }
    }
}

/// Waits for the signal to stop; reads the configuration again on SIGHUP, and brings remote volumes back to the
/// transport that they prefer on SIGUSR1; prints metrics on SIGUSR2.
async fn serve(args: &Args, running: &Running) -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hang_up = signal(SignalKind::hangup())?;
    let mut user = signal(SignalKind::user_defined1())?;
    let mut metrics = signal(SignalKind::user_defined2())?;
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok(()),
            _ = interrupt.recv() => return Ok(()),
            _ = user.recv() => {
                let volumes = running.reconnect(None);
                tracing::info!(volumes, "remote volumes connect anew by the transport that they prefer");
            }
            _ = metrics.recv() => {
                if let Err(error) = deliver(running.statistics().metrics().as_bytes(), None) {
                    tracing::error!(%error, "the metrics could not be printed");
                }
            }
            _ = hang_up.recv() => match args.load().and_then(|config| running.apply(&config)) {
                Ok(()) => tracing::info!("the configuration was read again"),
                Err(error) => tracing::error!(%error, "the configuration was not taken over; everything stays as it was"),
            },
        }
    }
}
