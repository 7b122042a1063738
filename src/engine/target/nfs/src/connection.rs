//! One connection of a client: records in, answers out.
//!
//! ```text
//! record ─▶ Call ─┬─ NFS ──▶ query · list · data · change ──┬─▶ send queue (at once)
//!                 ├─ MOUNT                                  ├─▶ Parked (a limit says when)
//!                 └─ portmap                                └─▶ pool of threads, journal ──Event──▶ send queue
//! ```
//!
//! Nothing waits in line: a GETATTR is answered while a thousand bulk calls before it are parked, in any
//! order, as NFS allows.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use plimsoll_fabric::{Close, Connection, Frame, Io, Payload, Remote};
use plimsoll_storage::namespace::Timestamp;
use plimsoll_wire::nfs3::{self, Procedure};
use plimsoll_wire::rpc::{Accepted, AuthStat, Call, Credential, Denial, Refusal, record};
use plimsoll_wire::xdr::Reader;
use plimsoll_wire::{mount3, portmap};

use crate::change::Change;
use crate::link::Links;
use crate::parked::{Answer, Parked, Waiting};
use crate::reply::{self, Refused};
use crate::server::{Seat, Shared};
use crate::watch::Watch;

/// What other threads tell a connection.
pub enum Event {
    /// It was just opened: its watch begins.
    Opened,
    /// An answer is ready.
    Answer(Pooled),
}

/// What the pool of threads or the journal made ready.
pub struct Pooled {
    pub(crate) answer: Answer,
    /// A limit holds the answer back until then.
    pub(crate) due: Option<Instant>,
    /// Bytes that counted as in flight.
    pub(crate) bytes: usize,
}

/// Calls that are with other threads.
#[derive(Default)]
pub(crate) struct Outstanding {
    pub calls: usize,
    pub bytes: usize,
}

/// The wall clock, read once a turn.
pub(crate) struct Clock {
    turn: Instant,
    wall: Timestamp,
}

impl Clock {
    pub fn wall(&mut self, now: Instant) -> Timestamp {
        if now != self.turn {
            self.turn = now;
            self.wall = Timestamp::now();
        }
        self.wall
    }
}

/// A client's connection.
pub struct NfsConnection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) peer: IpAddr,
    /// Where the server is reached, for portmap.
    pub(crate) service: SocketAddr,
    pub(crate) remote: Remote<Event>,
    pub(crate) links: Links,
    pub(crate) clock: Clock,
    pub(crate) payloads: Vec<Payload>,
    pub(crate) parked: Parked,
    pub(crate) outstanding: Outstanding,
    watch: Watch,
    _seat: Seat,
}

impl NfsConnection {
    pub(crate) fn new(
        shared: Arc<Shared>,
        peer: IpAddr,
        service: SocketAddr,
        remote: Remote<Event>,
        seat: Seat,
    ) -> Self {
        let now = Instant::now();
        remote.post(Event::Opened);
        Self {
            watch: Watch::new(&shared.settings, now),
            shared,
            peer,
            service,
            remote,
            links: Links::new(peer),
            clock: Clock { turn: now, wall: Timestamp::now() },
            payloads: Vec::new(),
            parked: Parked::default(),
            outstanding: Outstanding::default(),
            _seat: seat,
        }
    }

    fn waiting_calls(&self) -> usize {
        self.outstanding.calls + self.parked.len()
    }

    /// Asks to be woken for what is due next.
    fn arm(&self, io: &mut Io<'_>) {
        let next = self.watch.next;
        *io.deadline = Some(self.parked.next_due().map_or(next, |due| due.min(next)));
    }

    fn call(
        &mut self,
        call: &Call<'_>,
        args: &mut Reader<'_>,
        message: &[u8],
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let version = |low, high| {
            if (low..=high).contains(&call.version) {
                Ok(())
            } else {
                Err(Refused::Accepted(Accepted::ProgramMismatch { low, high }))
            }
        };
        match call.program {
            nfs3::PROGRAM => {
                version(nfs3::VERSION, nfs3::VERSION)?;
                self.nfs(call, args, message, io)
            }
            mount3::PROGRAM => {
                version(mount3::VERSION, mount3::VERSION)?;
                self.mount(call, args, io)
            }
            portmap::PROGRAM => {
                version(portmap::VERSION_2, portmap::VERSION_4)?;
                crate::portmap::answer(self.service, call, args, io.send)
            }
            _ => Err(Refused::Accepted(Accepted::ProgramUnavailable)),
        }
    }

    fn nfs(
        &mut self,
        call: &Call<'_>,
        args: &mut Reader<'_>,
        message: &[u8],
        io: &mut Io<'_>,
    ) -> Result<(), Refused> {
        let xid = call.xid;
        let procedure = Procedure::from_u32(call.procedure)
            .ok_or(Refused::Accepted(Accepted::ProcedureUnavailable))?;
        if procedure == Procedure::Null {
            reply::send(io.send, xid, &());
            return Ok(());
        }
        let Credential::Sys(caller) = &call.credential else {
            return Err(Refused::Denied(Denial::Auth(AuthStat::TooWeak)));
        };
        match procedure {
            Procedure::Read => return self.read(xid, caller, args, io),
            Procedure::Write => return self.write(xid, caller, args, io),
            Procedure::Commit => return self.commit(xid, args, io),
            _ => {}
        }
        match Change::parse(procedure, args)? {
            Some(change) => {
                self.change(procedure, &change, xid, caller, message, io);
                Ok(())
            }
            None => self.query(procedure, xid, caller, args, io),
        }
    }
}

impl Connection for NfsConnection {
    type Event = Event;

    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        let extent = record::extent(head, self.shared.settings.record_max_bytes());
        match extent.map_err(|error| Close::Protocol(error.to_string()))? {
            record::Extent::Need(bytes) => {
                self.watch.partial = true;
                Ok(Frame::Need(bytes))
            }
            record::Extent::Whole(bytes) => {
                self.watch.partial = bytes > head.len();
                Ok(Frame::Length(bytes))
            }
        }
    }

    fn on_frame(&mut self, frame: &[u8], io: &mut Io<'_>) -> Result<(), Close> {
        self.watch.frames += 1;
        let message = record::join(frame);
        match Call::parse(&message) {
            Ok((call, mut args)) => {
                if let Err(refused) = self.call(&call, &mut args, &message, io) {
                    reply::refuse(io.send, call.xid, refused);
                }
                Ok(())
            }
            Err(Refusal::Denied { xid, denial }) => {
                reply::refuse(io.send, xid, Refused::Denied(denial));
                Ok(())
            }
            Err(refusal) => Err(Close::Protocol(refusal.to_string())),
        }
    }

    fn on_event(&mut self, event: Event, io: &mut Io<'_>) -> Result<(), Close> {
        if let Event::Answer(Pooled { answer, due, bytes }) = event {
            self.outstanding.calls = self.outstanding.calls.saturating_sub(1);
            self.outstanding.bytes = self.outstanding.bytes.saturating_sub(bytes);
            match due {
                Some(due) if due > io.now => self.parked.push(due, Waiting::Answer(answer)),
                _ => send_answer(answer, io),
            }
        }
        self.arm(io);
        Ok(())
    }

    fn on_timer(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        while let Some(waiting) = self.parked.pop_due(io.now) {
            match waiting {
                Waiting::Read(pending) => self.read_parked(pending, io),
                Waiting::Answer(answer) => send_answer(answer, io),
            }
        }
        let waiting = self.waiting_calls() > 0;
        if io.now >= self.watch.next && !self.watch.beat(io.now, io.send.len(), waiting) {
            return Err(Close::Idle);
        }
        self.arm(io);
        Ok(())
    }

    fn on_batch(&mut self, io: &mut Io<'_>) -> Result<(), Close> {
        self.arm(io);
        Ok(())
    }

    fn wants_input(&self) -> bool {
        let settings = &self.shared.settings;
        self.waiting_calls() < settings.calls_in_flight_max
            && self.outstanding.bytes < settings.bytes_in_flight_max
    }

    fn on_close(&mut self, close: &Close) {
        let peer = self.peer;
        // Clients end connections as they like, many by a reset; what the peer did wrong is told.
        match close {
            Close::Protocol(_) | Close::Idle => {
                tracing::info!(%peer, %close, "NFS connection cut off");
            }
            _ => tracing::debug!(%peer, %close, "NFS connection closed"),
        }
    }
}

fn send_answer(answer: Answer, io: &mut Io<'_>) {
    io.send.bytes(&answer.head);
    if let Some(data) = answer.data {
        io.send.payload(data);
    }
}
