//! How a remote volume is reached, and how long it is waited for.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::rdma::Fabric;
use plimsoll_initiator::{Chap, Isid, Options, Transport, Url};

use crate::RemoteError;

/// Which transport is used when both can be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Prefer {
    /// RDMA with iSER.
    #[default]
    Iser,
    /// TCP.
    Tcp,
}

/// When a volume that has fallen back returns to the preferred transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Return {
    /// When somebody asks for it ([`crate::Engine::reconnect`]), or when the connection is lost anyhow.
    #[default]
    OnRequest,
    /// When the preferred transport has answered for so long.
    WhenHealthy(Duration),
}

/// Who this end is towards the remote target.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// Name and secret of this end (CHAP).
    pub chap: Option<Chap>,
    /// What the target must prove (mutual CHAP).
    pub mutual: Option<Chap>,
}

/// What is opened: the preferred way, with the way around in its options.
pub(crate) struct Opening {
    pub url: String,
    pub options: Options,
    pub host: String,
    pub port: u16,
}

/// Settings of one remote volume.
#[derive(Clone)]
pub struct Settings {
    /// `iser://host[:port]/iqn/lun` or `iscsi://…`: the same unit; which transport goes first is told by `prefer`.
    pub url: String,
    /// The transport that goes first.
    pub prefer: Prefer,
    /// When to return to it.
    pub back: Return,
    /// Bytes of writes and reads that may wait or be under way before more is answered as busy.
    pub queue_bytes: u64,
    /// Operations that may wait or be under way.
    pub queue_operations: usize,
    /// How long operations wait for a connection before they fail.
    pub patience: Duration,
    /// Patience with one attempt to connect.
    pub connect_timeout: Duration,
    /// Silence after which the target is asked for a sign of life; after as long again the connection is given up.
    pub keepalive: Duration,
    /// Who this end is.
    pub credentials: Credentials,
    /// Name of this initiator.
    pub initiator_name: String,
    /// What the one session to the remote target is known by, such as the serial of the volume: hexadecimal digits
    /// that no other volume has, anywhere. A process that comes after this one and says the same ends what this one
    /// left at the target. None: nobody comes after it.
    pub session: Option<String>,
    /// The provider of RDMA, or why there is none.
    pub rdma: Result<Arc<dyn Fabric>, String>,
}

impl Settings {
    /// The defaults for a URL.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            prefer: Prefer::default(),
            back: Return::default(),
            queue_bytes: 64 << 20,
            queue_operations: 1024,
            patience: Duration::from_secs(60),
            connect_timeout: Duration::from_secs(5),
            keepalive: Duration::from_secs(5),
            credentials: Credentials::default(),
            initiator_name: "iqn.2026-01.io.plimsoll:remote".to_owned(),
            session: None,
            rdma: Err("no provider of RDMA was given".to_owned()),
        }
    }

    /// Checks the settings and says what to open.
    pub(crate) fn opening(&self) -> Result<Opening, RemoteError> {
        let refuse = |reason: String| RemoteError::Url { url: self.url.clone(), reason };
        let rest = match self.url.split_once("://") {
            Some(("iser" | "iscsi", rest)) => rest,
            _ => return Err(refuse("the scheme is neither iser nor iscsi".to_owned())),
        };
        let Url::Iscsi(parsed) =
            Url::parse(&format!("iscsi://{rest}")).map_err(|error| refuse(error.to_string()))?
        else {
            return Err(refuse("it names no unit".to_owned()));
        };
        if self.queue_operations == 0 || self.queue_bytes == 0 {
            let reason = "at least one operation must be able to wait".to_owned();
            return Err(RemoteError::Setting { setting: "queue", reason });
        }
        let host = if parsed.host.contains(':') {
            format!("[{}]", parsed.host)
        } else {
            parsed.host.clone()
        };
        let around = format!("{host}:{}", parsed.port);
        let (scheme, around) = match self.prefer {
            Prefer::Iser => ("iser", around),
            Prefer::Tcp => ("iscsi", format!("iser:{around}")),
        };
        let (rdma, rdma_absent) = match &self.rdma {
            Ok(fabric) => (Some(Arc::clone(fabric)), String::new()),
            Err(reason) => (None, reason.clone()),
        };
        // Without RDMA there is no way around by it.
        let has_rdma = rdma.is_some();
        let fallback =
            if has_rdma || self.prefer == Prefer::Iser { vec![around] } else { Vec::new() };
        let options = Options {
            fallback,
            isid: Some(self.isid()),
            rdma,
            rdma_absent,
            chap: self.credentials.chap.clone(),
            mutual_chap: self.credentials.mutual.clone(),
            initiator_name: self.initiator_name.clone(),
            connect_timeout: self.connect_timeout,
            keepalive: self.keepalive,
            path_timeout: self.patience,
            op_timeout: self.patience,
            max_losses: u8::MAX,
            queue_depth: u32::try_from(self.queue_operations).unwrap_or(u32::MAX),
            coalesce: false,
            ..Options::default()
        };
        let url = format!("{scheme}://{rest}");
        Ok(Opening { url, options, host: parsed.host, port: parsed.port })
    }

    /// The ISID of all sessions of this volume, one after the other: the last 40 bits of the serial.
    fn isid(&self) -> Isid {
        let number =
            self.session.as_deref().and_then(|serial| u64::from_str_radix(serial, 16).ok());
        let [_, _, _, a, b, c, high, low] =
            number.unwrap_or_else(|| RandomState::new().hash_one(&self.url)).to_be_bytes();
        Isid::random([a, b, c], u16::from_be_bytes([high, low]))
    }

    pub(crate) fn preferred(&self) -> Transport {
        match self.prefer {
            Prefer::Iser => Transport::Iser,
            Prefer::Tcp => Transport::Tcp,
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("url", &self.url).field("prefer", &self.prefer).finish()
    }
}
