//! The server: its targets, its portals, its sessions.
//!
//! Portals belong to portal groups; the tag of a group is the relative target port of the SCSI device, so a
//! target with two groups has two target ports, which ALUA tells apart.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use plimsoll_fabric::rdma::Listener;
use plimsoll_fabric::{Listening, Loops, Remote, SendQueue, Service};
use plimsoll_storage::Blocking;
use plimsoll_target_scsi::Device;
use plimsoll_wire::iscsi::discovery::{TargetAddress, TargetRecord};
use plimsoll_wire::iscsi::name;

use crate::access::{self, Verdict};
use crate::connection::{Connection, Event};
use crate::iser::RdmaPortal;
use crate::registry::Registry;
use crate::{AccessError, SessionInfo, Settings, TargetSettings, Transport};

/// The server cannot do what it is asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Not an iSCSI name.
    #[error("{0:?} is not an iSCSI name; write iqn.YYYY-MM.reversed.domain:name, eui.… or naa.…")]
    Name(String),
    /// The name is taken.
    #[error("target {0} exists already")]
    Exists(String),
    /// The access list is unusable.
    #[error("access to target {target}: {source}")]
    Access {
        /// The target.
        target: String,
        /// Why.
        source: AccessError,
    },
    /// A portal cannot be served.
    #[error("portal {address}: {source}")]
    Portal {
        /// Its address.
        address: String,
        /// Why.
        source: std::io::Error,
    },
}

/// A target as connections see it.
pub(crate) struct Target {
    pub settings: TargetSettings,
    pub device: Arc<Device>,
}

#[derive(Clone, Copy)]
struct PortalAddress {
    number: usize,
    address: SocketAddr,
    group: u16,
}

/// What all connections share.
pub(crate) struct Shared {
    pub settings: Settings,
    pub blocking: Arc<Blocking>,
    pub registry: Arc<Registry>,
    pub memory: Arc<AtomicUsize>,
    /// Connections that have not logged in.
    pub logins: AtomicUsize,
    targets: RwLock<BTreeMap<String, Arc<Target>>>,
    portals: RwLock<Vec<PortalAddress>>,
    numbers: AtomicUsize,
}

impl Shared {
    pub(crate) fn target(&self, name: &str) -> Option<Arc<Target>> {
        self.targets.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// Counts a connection that has yet to log in; false when there are too many.
    pub(crate) fn admit_login(&self, peer: SocketAddr) -> bool {
        let limit = self.settings.logins;
        let admitted = self.logins.fetch_add(1, Ordering::Relaxed) < limit;
        if !admitted {
            self.logins.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!(%peer, limit, "too many connections that have not logged in; refused");
        }
        admitted
    }

    /// The targets that an initiator may use, with their portals, as SendTargets lists them. A portal that
    /// listens on all addresses is told by the address that the initiator reached this one by.
    pub(crate) fn records(
        &self,
        only: Option<&str>,
        initiator: &str,
        peer: IpAddr,
        reached: IpAddr,
    ) -> Vec<TargetRecord> {
        let portals = self.portals.read().unwrap_or_else(PoisonError::into_inner);
        let reached = reached.to_canonical();
        let mut addresses: Vec<_> = portals
            .iter()
            .filter_map(|portal| {
                let ip = portal.address.ip();
                let host = if !ip.is_unspecified() {
                    ip.to_canonical()
                } else if reached.is_ipv6() && ip.is_ipv4() {
                    return None;
                } else {
                    reached
                };
                let (port, group) = (portal.address.port(), portal.group);
                Some(TargetAddress { host: host.to_string(), port, group })
            })
            .collect();
        // A portal that takes TCP and RDMA on one address is told once: the record has no word for either.
        let mut told = HashSet::new();
        addresses
            .retain(|address| told.insert((address.host.clone(), address.port, address.group)));
        let targets = self.targets.read().unwrap_or_else(PoisonError::into_inner);
        let visible = targets.values().filter(|target| {
            only.is_none_or(|name| name == target.settings.name)
                && !matches!(
                    access::judge(&target.settings.access, initiator, peer),
                    Verdict::Forbidden
                )
        });
        let record = |target: &Arc<Target>| TargetRecord {
            name: target.settings.name.clone(),
            addresses: addresses.clone(),
        };
        visible.map(record).collect()
    }
}

/// An iSCSI server. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

impl Server {
    /// A server without targets and portals.
    pub fn new(settings: Settings, blocking: Arc<Blocking>) -> Self {
        Self {
            shared: Arc::new(Shared {
                settings,
                blocking,
                registry: Arc::default(),
                memory: Arc::default(),
                logins: AtomicUsize::new(0),
                targets: RwLock::default(),
                portals: RwLock::default(),
                numbers: AtomicUsize::new(0),
            }),
        }
    }

    /// Adds a target. Its device must have a port with the tag of every portal group.
    pub fn add_target(
        &self,
        settings: TargetSettings,
        device: Arc<Device>,
    ) -> Result<(), ServerError> {
        if !name::is_valid(&settings.name) {
            return Err(ServerError::Name(settings.name));
        }
        let chaps = settings.access.iter().filter_map(|rule| rule.chap.as_ref());
        for chap in chaps {
            chap.check()
                .map_err(|source| ServerError::Access { target: settings.name.clone(), source })?;
        }
        let mut targets = self.shared.targets.write().unwrap_or_else(PoisonError::into_inner);
        if targets.contains_key(&settings.name) {
            return Err(ServerError::Exists(settings.name));
        }
        targets.insert(settings.name.clone(), Arc::new(Target { settings, device }));
        Ok(())
    }

    /// Takes a target away and ends its sessions.
    pub fn remove_target(&self, name: &str) -> Option<Arc<Device>> {
        let removed =
            self.shared.targets.write().unwrap_or_else(PoisonError::into_inner).remove(name)?;
        self.shared.registry.post(|target, _| target == Some(name), || Event::Drop);
        Some(Arc::clone(&removed.device))
    }

    /// Opens a portal of a portal group. Dropping what is returned closes it; its sessions go on.
    pub fn listen(
        &self,
        loops: &Loops,
        listener: TcpListener,
        group: u16,
    ) -> Result<Portal, ServerError> {
        let told = listener.local_addr().map_or_else(|_| "unknown".to_owned(), |a| a.to_string());
        let service = PortalService { shared: Arc::clone(&self.shared), group };
        let listening = loops
            .serve(listener, service)
            .map_err(|source| ServerError::Portal { address: told, source })?;
        Ok(self.open_portal(listening, group, Transport::Tcp))
    }

    /// Opens a portal of a portal group for iSER, on an address that may be that of a TCP portal.
    pub fn listen_rdma(&self, loops: &Loops, listener: Box<dyn Listener>, group: u16) -> Portal {
        let service = RdmaPortal { shared: Arc::clone(&self.shared), group };
        self.open_portal(loops.serve_rdma(listener, service), group, Transport::Iser)
    }

    fn open_portal(&self, listening: Listening, group: u16, transport: Transport) -> Portal {
        let number = self.shared.numbers.fetch_add(1, Ordering::Relaxed);
        let address = listening.address();
        let portal = PortalAddress { number, address, group };
        self.shared.portals.write().unwrap_or_else(PoisonError::into_inner).push(portal);
        Portal { shared: Arc::clone(&self.shared), number, listening, transport }
    }

    /// All sessions.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.shared.registry.list()
    }

    /// Asks the sessions of a target (of all targets when `None`) to log out within `seconds`, by an
    /// asynchronous message; those that do not are dropped then. Returns how many were asked.
    pub fn request_logout(&self, target: Option<&str>, seconds: u16) -> usize {
        self.shared
            .registry
            .post(|name, _| target.is_none() || name == target, || Event::RequestLogout { seconds })
    }

    /// Drops one session at once; false when there is none of that number.
    pub fn drop_session(&self, tsih: u16) -> bool {
        self.shared.registry.post(|_, number| number == tsih, || Event::Drop) > 0
    }
}

/// An open portal.
pub struct Portal {
    shared: Arc<Shared>,
    number: usize,
    listening: Listening,
    transport: Transport,
}

impl Portal {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// How initiators connect to it.
    pub fn transport(&self) -> Transport {
        self.transport
    }
}

impl Drop for Portal {
    fn drop(&mut self) {
        let mut portals = self.shared.portals.write().unwrap_or_else(PoisonError::into_inner);
        portals.retain(|portal| portal.number != self.number);
    }
}

struct PortalService {
    shared: Arc<Shared>,
    group: u16,
}

impl Service for PortalService {
    type Connection = Connection<SendQueue>;

    fn accept(
        &self,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<Event>,
    ) -> Option<Connection<SendQueue>> {
        if !self.shared.admit_login(peer) {
            return None;
        }
        remote.post(Event::Opened);
        Some(Connection::new(Arc::clone(&self.shared), self.group, peer, local, remote))
    }
}
