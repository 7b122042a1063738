//! The server: exports, limits and what all connections share.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_fabric::{Remote, Service};
use plimsoll_wire::nfs3::Verifier;

use crate::connection::{Event, NfsConnection};
use crate::data::new_verifier;
use crate::export::{Export, Exports};
use crate::mount::Mounts;
use crate::replies::Replies;
use crate::settings::Settings;

/// Why a server cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// No random numbers for the write verifier.
    #[error("no random numbers from the system: {0}")]
    Random(String),
}

/// What all connections share.
pub(crate) struct Shared {
    pub settings: Settings,
    pub exports: Exports,
    pub replies: Replies,
    pub mounts: Mounts,
    /// New at every start, the same in every WRITE and COMMIT: a client that sees another one writes again
    /// what it had not committed.
    pub verifier: Verifier,
    seats: Mutex<HashMap<IpAddr, usize>>,
}

/// An NFS server; give [`Server::service`] to the loops once for each listener.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// A server without exports.
    pub fn new(settings: Settings) -> Result<Self, ServerError> {
        let verifier = new_verifier().map_err(|error| ServerError::Random(error.to_string()))?;
        Ok(Self {
            shared: Arc::new(Shared {
                replies: Replies::new(settings.replies_kept_max, settings.replies_kept_for),
                settings,
                exports: Exports::default(),
                mounts: Mounts::default(),
                verifier,
                seats: Mutex::default(),
            }),
        })
    }

    /// Serves an export from now on; one of the same path is replaced.
    pub fn export(&self, export: Export) {
        self.shared.exports.insert(export);
    }

    /// Stops serving an export: its handles are stale. False when there is none of that path.
    pub fn unexport(&self, path: &str) -> bool {
        self.shared.exports.remove(path)
    }

    /// The exports served now, by path.
    pub fn exports(&self) -> Vec<Arc<Export>> {
        self.shared.exports.all()
    }

    /// What clients said they have mounted: host and path.
    pub fn mounts(&self) -> Vec<(IpAddr, String)> {
        self.shared.mounts.all()
    }

    /// What serves a listener. `port` is where portmap sends clients: that of the listener itself when none.
    pub fn service(&self, port: Option<u16>) -> NfsService {
        NfsService { shared: Arc::clone(&self.shared), port }
    }
}

/// Serves one listener.
pub struct NfsService {
    shared: Arc<Shared>,
    port: Option<u16>,
}

/// A connection's place among the limited number of them.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    host: IpAddr,
}

impl Seat {
    fn take(shared: &Arc<Shared>, host: IpAddr) -> Option<Self> {
        let mut seats = shared.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = seats.values().sum();
        let of_host = seats.get(&host).copied().unwrap_or(0);
        let settings = &shared.settings;
        if all >= settings.connections_max || of_host >= settings.connections_per_host_max {
            tracing::warn!(%host, all, of_host, "no more NFS connections are taken");
            return None;
        }
        *seats.entry(host).or_default() += 1;
        Some(Self { shared: Arc::clone(shared), host })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.shared.seats.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = seats.get_mut(&self.host) {
            *count -= 1;
            if *count == 0 {
                seats.remove(&self.host);
            }
        }
    }
}

impl Service for NfsService {
    type Connection = NfsConnection;

    fn accept(
        &self,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<Event>,
    ) -> Option<NfsConnection> {
        let host = peer.ip().to_canonical();
        let seat = Seat::take(&self.shared, host)?;
        let service = SocketAddr::new(local.ip(), self.port.unwrap_or(local.port()));
        Some(NfsConnection::new(Arc::clone(&self.shared), host, service, remote, seat))
    }
}
