//! How a datastore is opened: flows, policy, authentication, digests, patience.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

use plimsoll_fabric::rdma::Fabric;
use plimsoll_wire::iscsi::Isid;

use crate::{Error, nfs::NfsOptions};

/// User and secret of CHAP (RFC 7143 12.1.3). The secret is not printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Chap {
    /// Name of the side that proves itself.
    pub user: String,
    /// Shared secret.
    pub secret: String,
}

impl fmt::Debug for Chap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chap({})", self.user)
    }
}

/// Which CRC32C digests to insist on (RFC 7143 13.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Digests {
    /// Over each header.
    pub header: bool,
    /// Over each data segment.
    pub data: bool,
}

/// How operations are spread over the paths of a unit (iSCSI).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// The first path as long as it lives; returns to it when it is back.
    Fixed,
    /// Stays on a path until it is lost, and then on the next.
    MostRecentlyUsed,
    /// Changes the path after so many operations (VMware's default is 1,000, the usual advice 1).
    RoundRobinIops(u32),
    /// Changes the path after so many bytes.
    RoundRobinBytes(u64),
    /// The path with the fewest operations under way.
    LeastQueueDepth,
    /// Spread by measured latency: sampled now and again, the faster path gets the more.
    Latency,
}

impl Default for Policy {
    fn default() -> Self {
        Self::RoundRobinIops(1000)
    }
}

impl FromStr for Policy {
    type Err = Error;

    /// `fixed`, `mru`, `rr` (1,000 operations), `rr:N`, `rr:iops=N`, `rr:bytes=N`, `lqd`, `latency`.
    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::Option {
            option: "policy",
            reason: format!("`{text}` is none of fixed, mru, rr:IOPS, rr:bytes=N, lqd, latency"),
        };
        let (name, value) = text.split_once(':').map_or((text, None), |(n, v)| (n, Some(v)));
        match (name, value) {
            ("fixed", None) => Ok(Self::Fixed),
            ("mru", None) => Ok(Self::MostRecentlyUsed),
            ("lqd", None) => Ok(Self::LeastQueueDepth),
            ("latency", None) => Ok(Self::Latency),
            ("rr", None) => Ok(Self::default()),
            ("rr", Some(value)) => if let Some(bytes) = value.strip_prefix("bytes=") {
                bytes.parse().ok().filter(|&n| n > 0).map(Self::RoundRobinBytes)
            } else {
                let iops = value.strip_prefix("iops=").unwrap_or(value);
                iops.parse().ok().filter(|&n| n > 0).map(Self::RoundRobinIops)
            }
            .ok_or_else(bad),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed => f.write_str("fixed"),
            Self::MostRecentlyUsed => f.write_str("mru"),
            Self::RoundRobinIops(n) => write!(f, "rr:iops={n}"),
            Self::RoundRobinBytes(n) => write!(f, "rr:bytes={n}"),
            Self::LeastQueueDepth => f.write_str("lqd"),
            Self::Latency => f.write_str("latency"),
        }
    }
}

/// How to open a datastore.
#[derive(Debug, Clone)]
pub struct Options {
    /// Flows to each portal: iSCSI sessions, or NFS nconnect (1-16).
    pub connections: u16,
    /// Further portals of the same unit, as `host:port` (iSCSI over TCP) or `iser:host:port` (over RDMA); the
    /// paths of one unit may differ in that.
    pub portals: Vec<String>,
    /// Portals of the same portal group that the URL's own flows use when the URL's portal cannot be reached, in
    /// this order: `host:port`, or `iser:host:port` (iSCSI).
    pub fallback: Vec<String>,
    /// ISID of the first flow (iSCSI). With one that outlives this process, a login reinstates the session of an
    /// earlier process, and the target ends what that one left. None: one that nobody has.
    pub isid: Option<Isid>,
    /// Spread over the paths (iSCSI).
    pub policy: Policy,
    /// What this side proves to the target; a user in the URL goes before it.
    pub chap: Option<Chap>,
    /// What the target must prove to this side (mutual CHAP).
    pub mutual_chap: Option<Chap>,
    /// iSCSI digests.
    pub digests: Digests,
    /// Busy-poll for so long before sleeping, with one or two operations under way. Zero: never.
    pub spin: Duration,
    /// Wake for several answers at a time while they come fast (iSCSI, 16 and more under way on a flow): saves
    /// half of this side's time with targets that send each answer by itself, adds at most 0.3 ms to a latency.
    pub coalesce: bool,
    /// Operations under way on one flow; more wait in this process.
    pub flow_depth: u16,
    /// Operations accepted by the datastore as a whole before [`crate::Datastore::can_submit`] says no.
    pub queue_depth: u32,
    /// Name of this initiator (iSCSI).
    pub initiator_name: String,
    /// Patience with connecting and logging in.
    pub connect_timeout: Duration,
    /// Patience with a single operation: then it is aborted and ends as lost.
    pub op_timeout: Duration,
    /// Connections that may be lost under one operation before it ends as lost (iSCSI): it may be what the target
    /// dies of. With 255 only `op_timeout` and `path_timeout` count.
    pub max_losses: u8,
    /// A connection that was silent for so long is asked for a sign of life; after as long again it is given up
    /// and what it carried is reissued.
    pub keepalive: Duration,
    /// How long all paths may be gone before operations end as lost (VMware's all-paths-down time is 140 s).
    pub path_timeout: Duration,
    /// Provider of RDMA for `iser://`.
    pub rdma: Option<Arc<dyn Fabric>>,
    /// Why there is none, to be told to who asks for `iser://`.
    pub rdma_absent: String,
    /// NFS only.
    pub nfs: NfsOptions,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            connections: 1,
            portals: Vec::new(),
            fallback: Vec::new(),
            isid: None,
            policy: Policy::default(),
            chap: None,
            mutual_chap: None,
            digests: Digests::default(),
            spin: Duration::ZERO,
            coalesce: true,
            flow_depth: 128,
            queue_depth: 4096,
            initiator_name: "iqn.2026-01.io.plimsoll:initiator".to_owned(),
            connect_timeout: Duration::from_secs(10),
            op_timeout: Duration::from_secs(30),
            max_losses: 8,
            keepalive: Duration::from_secs(5),
            path_timeout: Duration::from_secs(60),
            rdma: None,
            rdma_absent: "none was given to the client".to_owned(),
            nfs: NfsOptions::default(),
        }
    }
}
