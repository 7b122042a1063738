//! How datastores are opened, as plain data: it goes to worker processes as well. Only the provider of RDMA
//! stays: each process has its own.

use std::{sync::Arc, time::Duration};

use plimsoll_initiator::{
    Chap, Datastore, Digests, Options,
    nfs::{NfsOptions, Stability},
    rdma::Fabric,
};
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The provider of RDMA for `iser://` in this process, or why there is none.
#[derive(Debug, Clone)]
pub struct Rdma(pub std::result::Result<Arc<dyn Fabric>, String>);

impl Default for Rdma {
    fn default() -> Self {
        Self(Err("this process was started without it".to_owned()))
    }
}

/// All are alike: which adapter there is does not belong to what was asked for.
impl PartialEq for Rdma {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// Options of the client side.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClientOptions {
    /// Flows to each portal: iSCSI sessions, or NFS connections.
    pub connections: u16,
    /// Further portals of the same unit (iSCSI): `host:port`, or `iser:host:port` over RDMA.
    pub portals: Vec<String>,
    /// Path policy (iSCSI): `fixed`, `mru`, `rr:N`, `rr:bytes=N`, `lqd`, `latency`.
    pub policy: String,
    /// User and secret that the target must prove (mutual CHAP).
    pub mutual_chap: Option<(String, String)>,
    /// CRC32C over headers (iSCSI).
    pub header_digest: bool,
    /// CRC32C over data (iSCSI).
    pub data_digest: bool,
    /// Microseconds of busy-polling before sleeping.
    pub spin_us: u64,
    /// Name of the initiator (iSCSI); nothing for the client's own.
    pub initiator_name: Option<String>,
    /// Seconds of patience with one operation.
    pub op_timeout_seconds: f64,
    /// Seconds of patience with the loss of all paths.
    pub path_timeout_seconds: f64,
    /// File below the export (NFS); nothing for the largest in it.
    pub file: Option<String>,
    /// `unstable` (committed now and again), `data` or `file` (NFS).
    pub stable: String,
    /// User of AUTH_SYS (NFS).
    pub uid: u32,
    /// Group of AUTH_SYS (NFS).
    pub gid: u32,
    /// Set by whoever starts the process.
    #[serde(skip)]
    pub rdma: Rdma,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connections: 1,
            portals: Vec::new(),
            policy: "rr:1000".to_owned(),
            mutual_chap: None,
            header_digest: false,
            data_digest: false,
            spin_us: 0,
            initiator_name: None,
            op_timeout_seconds: 30.0,
            path_timeout_seconds: 60.0,
            file: None,
            stable: "unstable".to_owned(),
            uid: 0,
            gid: 0,
            rdma: Rdma::default(),
        }
    }
}

impl ClientOptions {
    /// The client's own options for `depth` I/Os under way.
    pub fn options(&self, depth: u32) -> Result<Options> {
        let defaults = Options::default();
        let client = |source| Error::Datastore { url: "options".to_owned(), source };
        let stability = match self.stable.as_str() {
            "unstable" => Stability::Unstable,
            "data" => Stability::DataSync,
            "file" => Stability::FileSync,
            other => {
                return Err(Error::Text {
                    text: other.to_owned(),
                    wanted: "unstable, data or file",
                });
            }
        };
        let mutual_chap = self.mutual_chap.clone();
        Ok(Options {
            connections: self.connections,
            portals: self.portals.clone(),
            policy: self.policy.parse().map_err(client)?,
            mutual_chap: mutual_chap.map(|(user, secret)| Chap { user, secret }),
            digests: Digests { header: self.header_digest, data: self.data_digest },
            spin: Duration::from_micros(self.spin_us),
            // One flow alone must be able to carry the whole depth.
            flow_depth: u16::try_from(depth).unwrap_or(u16::MAX).max(defaults.flow_depth),
            queue_depth: depth.max(defaults.queue_depth),
            initiator_name: self.initiator_name.clone().unwrap_or(defaults.initiator_name),
            op_timeout: seconds(self.op_timeout_seconds),
            path_timeout: seconds(self.path_timeout_seconds),
            rdma: self.rdma.0.clone().ok(),
            rdma_absent: self.rdma.0.as_ref().err().cloned().unwrap_or_default(),
            nfs: NfsOptions {
                file: self.file.clone(),
                stability,
                uid: self.uid,
                gid: self.gid,
                ..NfsOptions::default()
            },
            ..defaults
        })
    }

    /// Opens a datastore.
    pub fn open(&self, url: &str, shown: &str, depth: u32) -> Result<Box<dyn Datastore>> {
        plimsoll_initiator::open(url, &self.options(depth)?)
            .map_err(|source| Error::Datastore { url: shown.to_owned(), source })
    }
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::from_secs(30))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use plimsoll_initiator::Policy;

    #[test]
    fn options_reach_the_client() {
        let client = ClientOptions {
            connections: 4,
            policy: "rr:1".to_owned(),
            spin_us: 25,
            ..ClientOptions::default()
        };
        let options = client.options(512).unwrap();
        assert_eq!(options.policy, Policy::RoundRobinIops(1));
        assert_eq!((options.connections, options.flow_depth), (4, 512));
        assert_eq!(options.spin, Duration::from_micros(25));
        assert!(ClientOptions { policy: "magic".to_owned(), ..client.clone() }.options(1).is_err());
        assert!(ClientOptions { stable: "maybe".to_owned(), ..client }.options(1).is_err());
    }
}
