//! A link over one RDMA endpoint: resolve, register and post receives, connect, log in, session.
//!
//! Work has ended for good only when the endpoint is gone; that is why the endpoint is dropped before the
//! memory, and before the tasks of a session are given out again.

use std::io;
use std::net::SocketAddr;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use plimsoll_fabric::Close;
use plimsoll_fabric::rdma::{
    Completion, ConnectionEvent, Endpoint, Establish, Operation, RdmaError, Status,
};
use plimsoll_wire::iscsi::{Isid, Opcode, Pdu};
use plimsoll_wire::iser::{Abilities, Message};

use super::buffers::Plan;
use super::mover::{Buffers, Mover};
use crate::iscsi::link::{LinkEnd, Wire};
use crate::iscsi::out::Out;
use crate::iscsi::session::{Session, Upper};
use crate::iscsi::settings::Settings;
use crate::transport::{RdmaCounters, Transport};

/// RDMA reads of the target answered at a time, if the adapter can: more brings nothing to one connection.
const READS_ANSWERED_MAX: u8 = 16;

pub struct IserLink {
    // The endpoint goes before the memory that its work refers to.
    endpoint: Box<dyn Endpoint>,
    /// From the moment that the way to the peer is known.
    buffers: Option<Box<Buffers>>,
    wire: Wire,
    plan: Plan,
    pub peer: SocketAddr,
    completions: Vec<Completion>,
    /// A poll may find something.
    pub readable: bool,
    /// PDUs came since this was last cleared.
    pub heard: bool,
}

fn connect_failed(error: RdmaError) -> LinkEnd {
    LinkEnd::Connect(match error {
        RdmaError::Call { call, source } => {
            io::Error::new(source.kind(), format!("{call}: {source}"))
        }
        other => io::Error::other(other),
    })
}

fn broken(error: RdmaError) -> Close {
    Close::Error(io::Error::other(error))
}

fn protocol(what: impl Into<String>) -> Close {
    Close::Protocol(what.into())
}

impl IserLink {
    /// Begins to connect. The endpoint's descriptor is registered under `token`.
    pub fn start(
        peer: SocketAddr,
        settings: &Settings,
        isid: Isid,
        registry: &Registry,
        token: Token,
    ) -> Result<Self, LinkEnd> {
        let fabric = settings.rdma().map_err(|error| LinkEnd::Connect(io::Error::other(error)))?;
        let plan = Plan::new(settings.depth(Transport::Iser), settings.is_discovery());
        let endpoint = fabric.connect(peer, None, plan.queues()).map_err(connect_failed)?;
        registry
            .register(&mut SourceFd(&endpoint.descriptor()), token, Interest::READABLE)
            .map_err(LinkEnd::Connect)?;
        Ok(Self {
            endpoint,
            buffers: None,
            wire: Wire::new(settings, isid, Transport::Iser),
            plan,
            peer,
            completions: Vec::new(),
            readable: false,
            heard: false,
        })
    }

    #[inline]
    pub fn session(&mut self) -> Option<(&mut Session, Out<'_>)> {
        let (Some(session), Some(buffers)) = (&mut self.wire.session, &mut self.buffers) else {
            return None;
        };
        Some((session, Out::Iser(Mover { endpoint: &mut *self.endpoint, buffers })))
    }

    pub fn into_session(self) -> Option<Session> {
        let Self { mut endpoint, buffers, wire, .. } = self;
        endpoint.disconnect();
        drop(endpoint);
        drop(buffers);
        wire.session.map(|session| *session)
    }

    pub fn local(&self) -> Option<SocketAddr> {
        self.endpoint.local()
    }

    pub fn counters(&self) -> RdmaCounters {
        let own = self.buffers.as_ref().map(|buffers| buffers.counters()).unwrap_or_default();
        RdmaCounters { fabric: self.endpoint.counters(), ..own }
    }

    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.buffers.as_ref().is_some_and(|buffers| buffers.is_unflushed)
    }

    /// Hands what is queued to the adapter.
    #[inline]
    pub fn flush(&mut self) -> Result<(), LinkEnd> {
        let Some(buffers) = &mut self.buffers else { return Ok(()) };
        if !std::mem::take(&mut buffers.is_unflushed) {
            return Ok(());
        }
        let failure = buffers.failure.take();
        let flushed = failure.map_or_else(|| self.endpoint.flush(), Err);
        flushed.map_err(|error| LinkEnd::Close(broken(error)))
    }

    /// One poll: PDUs that arrived, sends that are over, what happened to the connection.
    #[inline]
    pub fn receive<U: Upper>(&mut self, upper: &mut U) -> Result<(), LinkEnd> {
        let mut completions = std::mem::take(&mut self.completions);
        completions.clear();
        let polled = self.endpoint.poll(&mut completions);
        let result = self.on_completions(&completions, upper);
        self.completions = completions;
        let polled = polled.map_err(|error| LinkEnd::Close(broken(error)))?;
        self.readable = polled.again;
        match (result, &polled.event) {
            // What happened to the connection says more than the work that it took along.
            (Ok(()), _) | (Err(Close::Peer), Some(_)) => {}
            (Err(close), _) => return Err(self.wire.end(close)),
        }
        match polled.event {
            Some(event) => self.on_event(event),
            None => Ok(()),
        }
    }

    #[cold]
    fn on_event(&mut self, event: ConnectionEvent) -> Result<(), LinkEnd> {
        let gone = |what: &str| LinkEnd::Close(Close::Error(io::Error::other(what.to_owned())));
        match event {
            ConnectionEvent::Resolved => self.establish().map_err(connect_failed),
            ConnectionEvent::Established(terms) => {
                tracing::debug!(peer = %self.peer, ?terms, "RDMA connection is up");
                if let (Some(login), Some(buffers)) = (&mut self.wire.login, &mut self.buffers) {
                    let mover = Mover { endpoint: &mut *self.endpoint, buffers };
                    login.start(&mut Out::Iser(mover));
                }
                self.flush()
            }
            ConnectionEvent::Rejected { reason, .. } => Err(LinkEnd::Connect(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                format!("the peer takes no RDMA connection (reason {reason})"),
            ))),
            ConnectionEvent::Failed(what) => Err(LinkEnd::Connect(io::Error::other(what))),
            ConnectionEvent::Disconnected => Err(LinkEnd::Close(Close::Peer)),
            ConnectionEvent::DeviceRemoved => Err(gone("the RDMA adapter was removed")),
            ConnectionEvent::AddressChanged => {
                Err(gone("the address moved to another RDMA adapter"))
            }
        }
    }

    /// The way is known and the queues exist: register, post receives, connect. This end has none of the
    /// features that private data can announce: a registration of user space cannot be invalidated remotely.
    fn establish(&mut self) -> Result<(), RdmaError> {
        let buffers = Buffers::new(&mut *self.endpoint, self.plan)?;
        self.buffers = Some(Box::new(buffers));
        self.endpoint.flush()?;
        let limits = self.endpoint.limits();
        self.endpoint.establish(&Establish {
            private_data: Abilities::NONE.build().to_vec(),
            initiator_depth: limits.reads_outstanding.min(1),
            responder_resources: limits.reads_answered.min(READS_ANSWERED_MAX),
        })
    }

    fn on_completions<U: Upper>(
        &mut self,
        completions: &[Completion],
        upper: &mut U,
    ) -> Result<(), Close> {
        let Some(buffers) = &mut self.buffers else { return Ok(()) };
        let memory = std::sync::Arc::clone(buffers.receives.memory());
        for completion in completions {
            if completion.status != Status::Success {
                return Err(failed(completion.status));
            }
            match completion.operation {
                Operation::Receive => {}
                _ if buffers.sent(completion.id) => continue,
                _ => return Err(protocol("a completion of work that was never posted")),
            }
            if let Some(key) = completion.invalidated {
                // Nobody may: this end said so when it connected (RFC 7145 section 7.3.3).
                return Err(protocol(format!("the target invalidated key {key:#010x}")));
            }
            let Some((offset, len)) = buffers.receives.locate(completion.id) else {
                return Err(protocol("a completion of a receive that was never posted"));
            };
            let len = len.min(completion.len as usize);
            // SAFETY: the receive has completed, so the adapter is done with the buffer, and it is posted
            // again only below, when nobody looks at it any more; nothing else writes there.
            #[allow(unsafe_code)]
            let message = unsafe { memory.bytes(offset, len) };
            self.heard = true;
            let pdu = take_apart(message, self.plan.receive_data_max(self.wire.session.is_some()))?;
            let mut out =
                Out::Iser(Mover { endpoint: &mut *self.endpoint, buffers: &mut *buffers });
            match &mut self.wire.session {
                Some(session) => session.on_pdu(&pdu, &mut out, upper)?,
                None => self.wire.on_login(&pdu, &mut out)?,
            }
            buffers.receives.post(completion.id, &mut *self.endpoint).map_err(broken)?;
            buffers.is_unflushed = true;
        }
        Ok(())
    }
}

/// The PDU of a message: no padding, no digests, nothing beyond what arrived.
#[inline]
fn take_apart(message: &[u8], data_max: usize) -> Result<Pdu<'_>, Close> {
    let Message { pdu, .. } =
        Message::split(message, data_max).map_err(|error| protocol(error.to_string()))?;
    if matches!(Opcode::of(pdu.bhs), Some(Opcode::DataIn | Opcode::R2t)) {
        return Err(protocol("data transfer by PDUs came over RDMA (RFC 7145 section 7.3)"));
    }
    Ok(pdu)
}

/// What a failed work request says of the connection.
#[cold]
fn failed(status: Status) -> Close {
    match status {
        Status::Flushed => Close::Peer,
        Status::LocalLength => {
            protocol("a PDU came that is longer than InitiatorRecvDataSegmentLength allows")
        }
        status => Close::Error(io::Error::other(format!("RDMA work failed: {status:?}"))),
    }
}
