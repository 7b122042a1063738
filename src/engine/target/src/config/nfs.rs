//! How volumes of files are served.

use std::net::SocketAddr;
use std::time::Duration;

use plimsoll_target_nfs::Settings;
use serde::Deserialize;

use super::Config;
use crate::{Size, TargetError};

/// `[nfs]`; what is absent has the default of the NFS server.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the caps are those of the NFS server's Settings")]
pub struct NfsConfig {
    /// Where MOUNT and NFS are served, both on each of these ports; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// Where portmap is served for clients that ask it for the ports, such as ESXi: usually port 111.
    pub portmap: Option<SocketAddr>,
    /// Who may use which export; without entries everybody may use all.
    pub access: Vec<ExportRule>,
    pub transfer_max: Option<Size>,
    pub connections: Option<usize>,
    pub connections_per_host: Option<usize>,
    pub calls_per_connection: Option<usize>,
    pub idle_timeout_s: Option<u64>,
    pub stall_timeout_s: Option<u64>,
}

impl Default for NfsConfig {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 2049))],
            portmap: None,
            access: Vec::new(),
            transfer_max: None,
            connections: None,
            connections_per_host: None,
            calls_per_connection: None,
            idle_timeout_s: None,
            stall_timeout_s: None,
        }
    }
}

impl NfsConfig {
    pub(crate) fn settings(&self, config: &Config) -> Result<Settings, TargetError> {
        let default = Settings::default();
        let transfer_max_bytes = match self.transfer_max.map(Size::bytes) {
            None => default.transfer_max_bytes,
            Some(bytes) if (8 << 10..=16 << 20).contains(&bytes) => bytes as u32,
            Some(_) => return Err(config.error("nfs", 0, "transfer_max is 8KiB to 16MiB")),
        };
        let seconds = |s: Option<u64>, default| s.map_or(default, Duration::from_secs);
        let count = |n: Option<usize>, default| n.unwrap_or(default);
        Ok(Settings {
            transfer_max_bytes,
            calls_in_flight_max: count(self.calls_per_connection, default.calls_in_flight_max),
            connections_max: count(self.connections, default.connections_max),
            connections_per_host_max: count(
                self.connections_per_host,
                default.connections_per_host_max,
            ),
            idle_timeout: seconds(self.idle_timeout_s, default.idle_timeout),
            stall_timeout: seconds(self.stall_timeout_s, default.stall_timeout),
            ..default
        })
    }
}

/// An entry of `nfs.access`; the first that matches decides.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExportRule {
    /// Names of volumes. Empty: all.
    pub volumes: Vec<String>,
    /// Networks the client may come from. Empty: any.
    pub networks: Vec<String>,
    /// Whether writes are refused.
    pub read_only: bool,
    /// Whether root becomes nobody; ESXi needs it off.
    pub squash_root: bool,
}
