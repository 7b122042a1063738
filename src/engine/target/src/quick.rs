//! A target without a configuration file: `plimsoll target --quick 256MiB`.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use crate::config::{
    ArrayConfig, Authority, IscsiConfig, NfsConfig, PoolConfig, PortalConfig, Serve, VolumeConfig,
};
use crate::{Config, Size, TargetError};

/// Smallest volume: a file system fits.
const SIZE_MIN: Size = Size(1 << 20);
/// Largest volume: what VMFS takes.
const SIZE_MAX: Size = Size(64 << 40);
/// Most volumes of a kind: LUNs that ESXi looks at.
const VOLUMES_MAX: u32 = 1024;

/// Size of the pool: room for whatever a later start in the same folder asks for.
const POOL: Size = Size(2 * VOLUMES_MAX as u64 * SIZE_MAX.0);

/// Where the data of a target lives.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Backing {
    /// In memory; gone with the process.
    Memory,
    /// In sparse files of a folder; comes back when started again.
    Dir(PathBuf),
}

impl From<String> for Backing {
    /// The word `memory`, or a folder.
    fn from(text: String) -> Self {
        if text == "memory" { Self::Memory } else { Self::Dir(text.into()) }
    }
}

impl std::str::FromStr for Backing {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.to_owned().into())
    }
}

/// What `--quick` needs to know.
#[derive(Debug, Clone)]
pub struct Quick {
    /// Size of each volume.
    pub size: Size,
    /// Where the data lives.
    pub backing: Backing,
    /// Address of the iSCSI portal.
    pub iscsi: SocketAddr,
    /// Address of the NFS server (MOUNT and NFS on one port).
    pub nfs: SocketAddr,
    /// How many block volumes and as many volumes of files are served.
    pub volumes: u32,
}

impl Quick {
    /// The configuration it stands for: block volumes `lun0`, … and volumes of files `export0`, … in one
    /// pool that can hold them all, each export with a file to read, everything open to whoever reaches the addresses.
    pub fn config(&self) -> Result<Config, TargetError> {
        let refuse = |place: &str, message: String| {
            Err(TargetError::Config { place: place.to_owned(), message })
        };
        if self.size < SIZE_MIN || self.size > SIZE_MAX {
            let message = format!(
                "volumes of {} cannot be served; choose {SIZE_MIN} to {SIZE_MAX}",
                self.size
            );
            return refuse("--quick", message);
        }
        if !self.size.bytes().is_multiple_of(512) {
            return refuse("--quick", format!("{} is not a multiple of 512 bytes", self.size));
        }
        if self.volumes == 0 || self.volumes > VOLUMES_MAX {
            let message =
                format!("{} volumes cannot be served; choose 1 to {VOLUMES_MAX}", self.volumes);
            return refuse("--volumes", message);
        }
        if self.iscsi == self.nfs && self.iscsi.port() != 0 {
            return refuse(
                "--nfs",
                format!("{} is taken by --iscsi; choose another port", self.nfs),
            );
        }
        let volume = |prefix: &str, serve: Serve, index: u32| VolumeConfig {
            name: format!("{prefix}{index}"),
            pool: "quick".to_owned(),
            serve,
            size: self.size,
            remote: None,
            limit: Default::default(),
            flow: None,
            read_only: false,
            probe_file: (serve == Serve::Nfs).then_some(self.size),
            disk: Default::default(),
        };
        let units = (0..self.volumes).map(|index| volume("lun", Serve::Iscsi, index));
        let exports = (0..self.volumes).map(|index| volume("export", Serve::Nfs, index));
        let config = Config {
            array: ArrayConfig {
                name: "quick".to_owned(),
                backing: self.backing.clone(),
                authority: Authority::File,
            },
            pools: vec![PoolConfig {
                name: "quick".to_owned(),
                size: POOL,
                tier: None,
                qos: Default::default(),
                limit: Default::default(),
            }],
            volumes: units.chain(exports).collect(),
            iscsi: Some(IscsiConfig {
                portals: vec![PortalConfig {
                    listen: self.iscsi,
                    group: 1,
                    state: Default::default(),
                    iser: false,
                }],
                ..IscsiConfig::default()
            }),
            nfs: Some(NfsConfig { listen: vec![self.nfs], ..NfsConfig::default() }),
            ..Config::default()
        };
        config.check()?;
        Ok(config)
    }
}
