//! One end of a connection: what the connection manager's events make of it, and its queues.
//!
//! ```text
//! active   ADDR_RESOLVED ─ ROUTE_RESOLVED ─ queues made: Resolved ─ establish: rdma_connect ─ ESTABLISHED
//! passive  queues made on request ─ establish: rdma_accept ─ ESTABLISHED
//! ```
//!
//! Its end: disconnect, destroy the queue pair (nothing moves data after that), the completion queue, the domain,
//! the id (every event of which was acknowledged when it was taken), the channel.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use plimsoll_fabric::rdma::{
    Completion, ConnectionEvent, Counters, Domain, Endpoint, Establish, Limits,
    PRIVATE_DATA_ACCEPT_MAX, PRIVATE_DATA_CONNECT_MAX, Polled, Queues, RdmaError, Segment, Work,
};

use crate::cm::{Channel, Event, Id, event_name};
use crate::ffi::event;
use crate::library::Libraries;
use crate::pd::{Protection, Shared};
use crate::queue::QueuePair;
use crate::readiness::{self, Readiness};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Looking for the way to the peer.
    Resolving,
    /// The queues are there, the peer was not asked.
    Resolved,
    /// The peer asked; the queues are there.
    Accepting,
    /// The peer was asked, or accepted.
    Connecting,
    /// Up.
    Established,
    /// Over, or never came to be.
    Ended,
}

/// An endpoint. Fields drop in order: what uses others before what is used.
pub struct VerbsEndpoint {
    queues: Option<QueuePair>,
    protection: Option<Protection>,
    id: Arc<Id>,
    readiness: Readiness,
    /// What makes the descriptor readable for an event that is of this end's own making.
    woken: Option<OwnedFd>,
    state: State,
    /// Of an active one: the queues that it is to have.
    wanted: Queues,
    /// What the peer has said, if it is the one that connects.
    asked: Option<Establish>,
    peer: SocketAddr,
    events: VecDeque<ConnectionEvent>,
    counters: Counters,
}

impl VerbsEndpoint {
    /// Begins to connect.
    pub fn connect(
        libraries: &'static Libraries,
        to: SocketAddr,
        from: Option<IpAddr>,
        queues: Queues,
    ) -> Result<Self, RdmaError> {
        let channel = Channel::new(libraries)?;
        let id = Id::new(&channel)?;
        // When both ends are on the adapter that goes, the peer's leaving may come before the removal's event.
        id.set_look_at_end();
        let endpoint = Self::new(id, to, State::Resolving, queues, None)?;
        endpoint.id.resolve_address(from.map(|ip| SocketAddr::new(ip, 0)), to)?;
        Ok(endpoint)
    }

    /// The endpoint of a peer that asks to connect, with its queues.
    pub fn open(
        id: Id,
        asked: Establish,
        shared: &Shared,
        queues: Queues,
    ) -> Result<Self, RdmaError> {
        let (Some(local), Some(peer)) = (id.local(), id.peer()) else {
            return Err(RdmaError::State("without an address"));
        };
        id.set_ack_timeout();
        let protection = shared.protection(&id, local)?;
        let mut endpoint = Self::new(id, peer, State::Accepting, queues, Some(asked))?;
        endpoint.make_queues(protection)?;
        Ok(endpoint)
    }

    fn new(
        id: Id,
        peer: SocketAddr,
        state: State,
        wanted: Queues,
        asked: Option<Establish>,
    ) -> Result<Self, RdmaError> {
        let readiness = Readiness::new()?;
        readiness.add(id.channel().descriptor())?;
        Ok(Self {
            queues: None,
            protection: None,
            id: Arc::new(id),
            readiness,
            woken: None,
            state,
            wanted,
            asked,
            peer,
            events: VecDeque::new(),
            counters: Counters::default(),
        })
    }

    fn make_queues(&mut self, protection: Protection) -> Result<(), RdmaError> {
        let queues = QueuePair::new(&self.id, &protection.pd, self.wanted)?;
        self.readiness.add(queues.descriptor())?;
        self.queues = Some(queues);
        self.protection = Some(protection);
        Ok(())
    }

    fn queues(&mut self) -> Result<&mut QueuePair, RdmaError> {
        self.queues.as_mut().ok_or(RdmaError::State("without queues: it is not resolved"))
    }

    /// What an event of the connection manager means here.
    fn on_event(&mut self, event: Event) {
        let before = self.state;
        let (state, told) = match event.kind {
            event::ADDR_RESOLVED => {
                self.id.set_ack_timeout();
                match self.id.resolve_route() {
                    Ok(()) => return,
                    Err(error) => (State::Ended, ConnectionEvent::Failed(error.to_string())),
                }
            }
            event::ROUTE_RESOLVED => {
                match Protection::new(&self.id).and_then(|domain| self.make_queues(domain)) {
                    Ok(()) => (State::Resolved, ConnectionEvent::Resolved),
                    Err(error) => (State::Ended, ConnectionEvent::Failed(error.to_string())),
                }
            }
            event::ESTABLISHED => {
                if let Some(queues) = &mut self.queues {
                    queues.set_receiver_not_ready_timer();
                }
                let said = self.asked.clone().unwrap_or(event.said);
                (State::Established, ConnectionEvent::Established(said))
            }
            event::REJECTED => (
                State::Ended,
                ConnectionEvent::Rejected {
                    reason: event.status,
                    private_data: event.said.private_data,
                },
            ),
            event::ADDR_ERROR | event::ROUTE_ERROR | event::CONNECT_ERROR | event::UNREACHABLE => {
                let cause = std::io::Error::from_raw_os_error(event.status.saturating_neg());
                let what = event_name(event.kind);
                (State::Ended, ConnectionEvent::Failed(format!("{what}: {cause}")))
            }
            event::DISCONNECTED if before == State::Ended => return,
            event::DISCONNECTED => (State::Ended, ConnectionEvent::Disconnected),
            event::DEVICE_REMOVAL => {
                self.id.set_look_at_end();
                (State::Ended, ConnectionEvent::DeviceRemoved)
            }
            event::ADDR_CHANGE => (before, ConnectionEvent::AddressChanged),
            _ => return,
        };
        self.state = state;
        self.events.push_back(told);
    }
}

impl Endpoint for VerbsEndpoint {
    fn descriptor(&self) -> RawFd {
        self.readiness.descriptor()
    }

    fn peer(&self) -> SocketAddr {
        self.peer
    }

    fn local(&self) -> Option<SocketAddr> {
        self.id.local().filter(|_| !self.id.context().is_null())
    }

    fn domain(&self) -> Result<Arc<Domain>, RdmaError> {
        match &self.protection {
            Some(protection) => Ok(Arc::clone(&protection.domain)),
            None => Err(RdmaError::State("without an adapter: it is not resolved")),
        }
    }

    fn limits(&self) -> Limits {
        match &self.queues {
            Some(queues) => queues.limits(),
            None => {
                Limits { segments: 0, reads_outstanding: 0, reads_answered: 0, message_bytes: 0 }
            }
        }
    }

    fn establish(&mut self, terms: &Establish) -> Result<(), RdmaError> {
        let limits = self.limits();
        let mut terms = terms.clone();
        // Peers ask for odd depths; they are held to what both ends can do, not refused.
        terms.initiator_depth = terms.initiator_depth.min(limits.reads_outstanding);
        terms.responder_resources = terms.responder_resources.min(limits.reads_answered);
        let room = match &self.asked {
            None => PRIVATE_DATA_CONNECT_MAX,
            Some(asked) => {
                terms.initiator_depth = terms.initiator_depth.min(asked.responder_resources);
                terms.responder_resources = terms.responder_resources.min(asked.initiator_depth);
                PRIVATE_DATA_ACCEPT_MAX
            }
        };
        if terms.private_data.len() > room {
            return Err(RdmaError::BadWork("its private data is too long"));
        }
        self.flush()?;
        match self.state {
            State::Resolved => self.id.connect(&terms)?,
            State::Accepting => self.id.accept(&terms)?,
            _ => return Err(RdmaError::State("not waiting to be established")),
        }
        self.state = State::Connecting;
        Ok(())
    }

    fn post_receive(&mut self, id: u64, into: Segment) -> Result<(), RdmaError> {
        self.queues()?.post_receive(id, into)
    }

    fn post(&mut self, work: &Work<'_>) -> Result<(), RdmaError> {
        let Some(queues) = &mut self.queues else {
            return Err(RdmaError::State("without queues: it is not resolved"));
        };
        queues.post(work, &mut self.counters)
    }

    fn flush(&mut self) -> Result<(), RdmaError> {
        match &mut self.queues {
            Some(queues) => queues.flush(&mut self.counters),
            None => Ok(()),
        }
    }

    fn poll(&mut self, completions: &mut Vec<Completion>) -> Result<Polled, RdmaError> {
        let mut found = 0;
        if let Some(queues) = &mut self.queues {
            found = queues.poll(completions, &mut self.counters)?;
        }
        // While there are completions there will be another poll.
        if found == 0 {
            while let Some(event) = self.id.channel().next()? {
                self.on_event(event);
            }
        }
        let event = self.events.pop_front();
        // Queues that an event has just made were not armed yet.
        let again = found > 0 || !self.events.is_empty() || event.is_some();
        Ok(Polled { event, again })
    }

    fn disconnect(&mut self) {
        // When the peer went first, this answers it and flushes what is outstanding.
        let disconnected = self.id.disconnect();
        if self.state != State::Ended && disconnected.is_err() {
            // It was not connected: there will be no event.
            self.state = State::Ended;
            self.events.push_back(ConnectionEvent::Disconnected);
            if let Ok(woken) = readiness::always()
                && self.readiness.add(woken.as_raw_fd()).is_ok()
            {
                self.woken = Some(woken);
            }
        }
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

impl Drop for VerbsEndpoint {
    fn drop(&mut self) {
        if self.state != State::Ended {
            let _ = self.id.disconnect();
        }
    }
}
