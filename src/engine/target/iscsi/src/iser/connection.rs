//! One RDMA connection in its I/O loop: receives in, sends and data out at the end of each turn.
//!
//! The first login request may be here before the connection is known to stand; it is taken, and the answer
//! waits. All receives of the full feature phase are posted before the answer that ends the login goes out, so
//! that the first commands find them. What the peer leaves unread holds back its receives: its sends wait.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use plimsoll_fabric::rdma::{
    Completion, ConnectionEvent, Establish, RdmaConnection, RdmaError, RdmaIo, Status,
};
use plimsoll_fabric::{Close, Remote};
use plimsoll_wire::iscsi::{Opcode, frame};
use plimsoll_wire::iser::{Abilities, HEADER_LEN};

use super::buffers::{RECEIVE, Receives};
use super::fetch::READ;
use super::mover::RdmaMover;
use super::{LOGIN_RECEIVES, Plan, READS_MAX};
use crate::connection::{Connection, Event};
use crate::mover::Turn;
use crate::server::Shared;

/// Receives of a peer that has this much to read from us stay unposted.
const BACKLOG_BYTES_MAX: usize = 4 << 20;

fn broken(error: RdmaError) -> Close {
    Close::Error(io::Error::other(error))
}

/// The state machine of one connection.
pub(crate) struct IserConnection {
    inner: Connection<RdmaMover>,
    mover: RdmaMover,
    receives: Receives,
    plan: Plan,
    /// What the initiator said when it connected.
    asks: Establish,
    /// The receives of the full feature phase are posted.
    entered: bool,
    /// The last PDU is queued: nothing is taken any more.
    finished: bool,
}

impl IserConnection {
    pub(super) fn new(
        shared: Arc<Shared>,
        group: u16,
        (peer, local): (SocketAddr, SocketAddr),
        asks: &Establish,
        remote: Remote<Event>,
    ) -> Self {
        let plan = Plan::new(&shared.settings);
        let abilities = Abilities::parse(&asks.private_data);
        Self {
            inner: Connection::new(shared, group, peer, local, remote),
            mover: RdmaMover::new(abilities.remote_invalidation),
            receives: Receives::new(plan.receive_bytes),
            plan,
            asks: asks.clone(),
            entered: false,
            finished: false,
        }
    }

    /// Runs `step` on the protocol, then hands over what it has queued.
    fn step(
        &mut self,
        io: &mut RdmaIo<'_>,
        step: impl FnOnce(&mut Self, &mut RdmaIo<'_>) -> Result<(), Close>,
    ) -> Result<(), Close> {
        let result = if self.finished { Ok(()) } else { step(self, io) };
        if let Err(Close::Finished) = result {
            self.finished = true;
        }
        self.hand_over(io).map_err(broken)?;
        result
    }

    fn hand_over(&mut self, io: &mut RdmaIo<'_>) -> Result<(), RdmaError> {
        if !self.entered && self.inner.session().is_some() {
            self.entered = true;
            let domain = io.endpoint.domain()?;
            self.mover.enter(&domain, &self.plan)?;
            self.receives.grow(self.plan.receives, &domain, io.endpoint)?;
            io.endpoint.flush()?;
        }
        if self.mover.out_bytes() < BACKLOG_BYTES_MAX && !self.finished {
            self.receives.post_idle(io.endpoint)?;
        }
        self.mover.pump(io.endpoint, self.finished)?;
        if let Some(session) = self.inner.session() {
            session.publish_rdma(&self.mover.stats(&io.endpoint.counters()));
        }
        Ok(())
    }

    fn completion(&mut self, completion: &Completion, io: &mut RdmaIo<'_>) -> Result<(), Close> {
        let Completion { id, operation, status, len, invalidated } = *completion;
        match status {
            Status::Success => {}
            Status::Flushed => return Err(Close::Peer),
            _ => {
                let what = format!("{operation:?} on RDMA ended with {status:?}");
                return Err(Close::Error(io::Error::other(what)));
            }
        }
        if id & RECEIVE != 0 {
            let slot = (id & !RECEIVE) as u32;
            let result = match invalidated {
                _ if self.finished => Ok(()),
                // This end has never given a tag away.
                Some(key) => Err(Close::Protocol(format!("the peer invalidates key {key:#x}"))),
                None => self.message(slot, len, io),
            };
            self.receives.take_back(slot);
            return result;
        }
        if id & READ == 0 {
            self.mover.completed(id);
        } else if let Some(session) = self.inner.session() {
            let mut turn = Turn { send: &mut self.mover, now: io.now, deadline: io.deadline };
            session.fetched(id, &mut turn);
        }
        Ok(())
    }

    fn message(&mut self, slot: u32, len: u32, io: &mut RdmaIo<'_>) -> Result<(), Close> {
        if !self.inner.wants_frames() {
            return Err(Close::Protocol(
                "a login request before the answer to the last".to_owned(),
            ));
        }
        let Some(message) = self.receives.message(slot, len) else { return Ok(()) };
        if let Some(bhs) = message.get(HEADER_LEN..).and_then(|rest| rest.first_chunk())
            && matches!(Opcode::of(bhs), Some(Opcode::ScsiCommand | Opcode::DataOut))
            && let unsolicited @ 1.. = frame::data_segment_length(bhs)
        {
            self.mover.count_copy(unsolicited as u64);
        }
        let mut turn = Turn { send: &mut self.mover, now: io.now, deadline: io.deadline };
        self.inner.take(message, &mut turn)
    }
}

impl RdmaConnection for IserConnection {
    type Event = Event;

    fn open(&mut self, io: &mut RdmaIo<'_>) -> Result<Establish, Close> {
        let domain = io.endpoint.domain().map_err(broken)?;
        let limits = io.endpoint.limits();
        self.mover.open(io.endpoint, &domain, &self.plan).map_err(broken)?;
        self.receives.grow(LOGIN_RECEIVES, &domain, io.endpoint).map_err(broken)?;
        // Initiators that name odd depths are taken at their word as far as it makes sense.
        let reads = self.asks.responder_resources.min(limits.reads_outstanding).clamp(1, READS_MAX);
        self.mover.set_reads(reads);
        let invalidation = self.mover.invalidates;
        let own = Abilities { zero_based: false, remote_invalidation: invalidation };
        Ok(Establish {
            private_data: own.build().to_vec(),
            initiator_depth: reads,
            responder_resources: self.asks.initiator_depth.min(limits.reads_answered),
        })
    }

    fn on_connection(&mut self, event: ConnectionEvent, io: &mut RdmaIo<'_>) -> Result<(), Close> {
        match event {
            ConnectionEvent::Established(_) => {
                self.mover.established = true;
                self.hand_over(io).map_err(broken)
            }
            ConnectionEvent::Resolved => Ok(()),
            ConnectionEvent::Rejected { .. } | ConnectionEvent::Disconnected => Err(Close::Peer),
            ConnectionEvent::Failed(what) => Err(Close::Error(io::Error::other(what))),
            ConnectionEvent::DeviceRemoved | ConnectionEvent::AddressChanged => {
                Err(Close::Error(io::Error::other("the RDMA adapter is gone")))
            }
        }
    }

    fn on_completions(
        &mut self,
        completions: &[Completion],
        io: &mut RdmaIo<'_>,
    ) -> Result<(), Close> {
        let mut result = Ok(());
        for completion in completions {
            match self.completion(completion, io) {
                Ok(()) => {}
                Err(Close::Finished) => {
                    self.finished = true;
                    result = Err(Close::Finished);
                }
                Err(close) => {
                    let _ = self.hand_over(io); // at least try to say why
                    return Err(close);
                }
            }
        }
        self.step(io, |this, io| {
            let mut turn = Turn { send: &mut this.mover, now: io.now, deadline: io.deadline };
            this.inner.batch(&mut turn)
        })?;
        result
    }

    fn on_event(&mut self, event: Event, io: &mut RdmaIo<'_>) -> Result<(), Close> {
        self.step(io, |this, io| {
            let mut turn = Turn { send: &mut this.mover, now: io.now, deadline: io.deadline };
            this.inner.event(event, &mut turn)
        })
    }

    fn on_timer(&mut self, io: &mut RdmaIo<'_>) -> Result<(), Close> {
        self.step(io, |this, io| {
            let mut turn = Turn { send: &mut this.mover, now: io.now, deadline: io.deadline };
            this.inner.timer(&mut turn)
        })
    }

    fn is_sending(&mut self, io: &mut RdmaIo<'_>) -> bool {
        self.mover.pump(io.endpoint, true).is_ok() && self.mover.is_sending()
    }

    fn on_close(&mut self, close: &Close) {
        self.inner.closed(close);
    }
}
