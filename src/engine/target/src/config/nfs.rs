//! How volumes of files are served.

use std::net::SocketAddr;

use serde::Deserialize;

/// `[nfs]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NfsConfig {
    /// Where MOUNT and NFS are served, both on each of these ports; port 0 takes a free one.
    pub listen: Vec<SocketAddr>,
    /// Where portmap is served for clients that ask it for the ports, such as ESXi: usually port 111.
    pub portmap: Option<SocketAddr>,
    /// Who may use which export; without entries everybody may use all.
    pub access: Vec<ExportRule>,
}

impl Default for NfsConfig {
    fn default() -> Self {
        Self {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 2049))],
            portmap: None,
            access: Vec::new(),
        }
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
