//! A target without a configuration file: `plimsoll target --quick 256MiB`.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::{Config, Size, TargetError};

/// Where the data of a quick target lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backing {
    /// In memory; gone with the process.
    Memory,
    /// In sparse files of a folder; comes back when started again.
    Dir(PathBuf),
}

impl std::str::FromStr for Backing {
    type Err = std::convert::Infallible;

    /// The word `memory`, or a folder.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "memory" { Self::Memory } else { Self::Dir(text.into()) })
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
    /// How many block volumes and as many file volumes are served.
    pub volumes: u32,
}

impl Quick {
    /// The configuration it stands for.
    pub fn config(&self) -> Result<Config, TargetError> {
        Err(TargetError::Unavailable("a quick target"))
    }
}
