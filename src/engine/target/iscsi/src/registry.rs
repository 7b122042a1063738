//! All sessions of the server: TSIHs, limits, and reinstatement (RFC 7143 section 6.3.5).
//!
//! A login with the names of a living session ends that session first: the old one is told, and the new login
//! waits for it to be gone, so that its nexus loss comes before the new nexus. Only logins and ends of
//! sessions take the lock.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use plimsoll_fabric::Remote;
use plimsoll_wire::iscsi::Isid;

use crate::connection::Event;
use crate::stats::{Published, PublishedRdma};
use crate::{RdmaStats, SessionStats, Transport};

/// What names a session (section 4.4.2).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SessionName {
    /// iSCSI name of the initiator.
    pub initiator: String,
    /// Its part of the session id.
    pub isid: Isid,
    /// iSCSI name of the target; `None` for a discovery session.
    pub target: Option<String>,
    /// Target portal group tag.
    pub group: u16,
}

/// One session as management sees it.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// Target session identifying handle: the number of the session.
    pub tsih: u16,
    /// iSCSI name of the initiator.
    pub initiator: String,
    /// The initiator's part of the session id.
    pub isid: Isid,
    /// iSCSI name of the target; `None` for a discovery session.
    pub target: Option<String>,
    /// Target portal group tag.
    pub group: u16,
    /// Where the initiator's connection comes from.
    pub peer: SocketAddr,
    /// How it is connected.
    pub transport: Transport,
    /// When the login was complete.
    pub since: SystemTime,
    /// What it has done.
    pub stats: SessionStats,
    /// What its connection has done, on RDMA.
    pub rdma: Option<RdmaStats>,
}

struct Entry {
    name: SessionName,
    peer: SocketAddr,
    transport: Transport,
    since: SystemTime,
    remote: Remote<Event>,
    stats: Arc<Published>,
    rdma: Arc<PublishedRdma>,
    /// A login with the same names that waits for this session to be gone.
    heir: Option<Remote<Event>>,
}

#[derive(Default)]
struct Sessions {
    by_tsih: HashMap<u16, Entry>,
    by_name: HashMap<SessionName, u16>,
    last: u16,
}

/// The sessions, shared by all connections.
#[derive(Default)]
pub(crate) struct Registry {
    sessions: Mutex<Sessions>,
}

/// A session stands in the list for as long as this lives.
pub(crate) struct Registered {
    registry: Arc<Registry>,
    pub tsih: u16,
    pub stats: Arc<Published>,
    pub rdma: Arc<PublishedRdma>,
}

/// Why a session cannot be entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An older session of that name is told to end; [`Event::Proceed`] follows.
    Wait,
    /// A limit is reached.
    Full,
}

impl Registry {
    fn lock(&self) -> MutexGuard<'_, Sessions> {
        // No code panics while it holds the lock half way through a change.
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(
        self: &Arc<Self>,
        name: &SessionName,
        (peer, transport): (SocketAddr, Transport),
        remote: &Remote<Event>,
        limit: usize,
        limit_per_initiator: usize,
    ) -> Result<Registered, Refusal> {
        let mut sessions = self.lock();
        // Discovery sessions come and go; nothing depends on their order.
        if name.target.is_some()
            && let Some(tsih) = sessions.by_name.get(name).copied()
            && let Some(old) = sessions.by_tsih.get_mut(&tsih)
        {
            if let Some(other) = old.heir.replace(remote.clone()) {
                other.post(Event::Displaced);
            }
            old.remote.post(Event::Displaced);
            return Err(Refusal::Wait);
        }
        let of_initiator =
            sessions.by_name.keys().filter(|other| other.initiator == name.initiator).count();
        if sessions.by_tsih.len() >= limit.min(usize::from(u16::MAX) - 1)
            || of_initiator >= limit_per_initiator
        {
            return Err(Refusal::Full);
        }
        let mut tsih = sessions.last;
        loop {
            tsih = tsih.wrapping_add(1);
            if tsih != 0 && !sessions.by_tsih.contains_key(&tsih) {
                break; // found, because fewer than 65,535 are in use
            }
        }
        sessions.last = tsih;
        let stats = Arc::new(Published::default());
        let rdma = Arc::new(PublishedRdma::default());
        if name.target.is_some() {
            sessions.by_name.insert(name.clone(), tsih);
        }
        sessions.by_tsih.insert(
            tsih,
            Entry {
                name: name.clone(),
                peer,
                transport,
                since: SystemTime::now(),
                remote: remote.clone(),
                stats: Arc::clone(&stats),
                rdma: Arc::clone(&rdma),
                heir: None,
            },
        );
        Ok(Registered { registry: Arc::clone(self), tsih, stats, rdma })
    }

    /// Whether a session of that name and number lives.
    pub(crate) fn contains(&self, name: &SessionName, tsih: u16) -> bool {
        self.lock().by_tsih.get(&tsih).is_some_and(|entry| entry.name == *name)
    }

    pub(crate) fn list(&self) -> Vec<SessionInfo> {
        let sessions = self.lock();
        let mut list: Vec<_> = sessions
            .by_tsih
            .iter()
            .map(|(tsih, entry)| SessionInfo {
                tsih: *tsih,
                initiator: entry.name.initiator.clone(),
                isid: entry.name.isid,
                target: entry.name.target.clone(),
                group: entry.name.group,
                peer: entry.peer,
                transport: entry.transport,
                since: entry.since,
                stats: entry.stats.read(),
                rdma: (entry.transport == Transport::Iser).then(|| entry.rdma.read()),
            })
            .collect();
        list.sort_by_key(|info| info.tsih);
        list
    }

    /// Posts an event to every session that `wanted` picks by target and TSIH; returns how many.
    pub(crate) fn post(
        &self,
        wanted: impl Fn(Option<&str>, u16) -> bool,
        event: impl Fn() -> Event,
    ) -> usize {
        let sessions = self.lock();
        let picked = sessions
            .by_tsih
            .iter()
            .filter(|(tsih, entry)| wanted(entry.name.target.as_deref(), **tsih));
        picked.map(|(_, entry)| entry.remote.post(event())).count()
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut sessions = self.registry.lock();
        if let Some(entry) = sessions.by_tsih.remove(&self.tsih) {
            if sessions.by_name.get(&entry.name) == Some(&self.tsih) {
                sessions.by_name.remove(&entry.name);
            }
            if let Some(heir) = entry.heir {
                heir.post(Event::Proceed);
            }
        }
    }
}
