//! RDMA connections in the same loops as TCP ones: a door that hands out peers, a slot that polls one endpoint.

use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};

use super::{
    Completion, ConnectionEvent, Endpoint, Establish, Incoming, Listener, Queues, RdmaError,
};
use crate::loops::{Door, Mailbox, Opener};
use crate::slot::{Ready, Slot, Turn};
use crate::{Close, Remote};

/// How long a connection whose work is done waits for its last sends.
const FINISH_WAIT: Duration = Duration::from_secs(2);
/// Polls of one endpoint in one turn, so that none starves the others.
const POLLS_A_TURN: usize = 4;

/// What a connection may use during one turn.
pub struct RdmaIo<'a> {
    /// Work queued here is handed to the adapter once, at the end of the turn.
    pub endpoint: &'a mut dyn Endpoint,
    /// The time of this turn.
    pub now: Instant,
    /// When this connection wants `on_timer` next; it is cleared before the call.
    pub deadline: &'a mut Option<Instant>,
}

/// One served RDMA connection: a state machine run by one thread. It is dropped after its endpoint, so memory
/// that it holds outlives all work.
pub trait RdmaConnection: Send + 'static {
    /// What other threads may tell it.
    type Event: Send + 'static;

    /// The endpoint exists: register memory, post receives, and say on which terms to accept.
    fn open(&mut self, io: &mut RdmaIo<'_>) -> Result<Establish, Close>;
    /// Something happened to the connection. Disconnection and removal end it before this is called.
    fn on_connection(&mut self, event: ConnectionEvent, io: &mut RdmaIo<'_>) -> Result<(), Close>;
    /// Work has ended. The first receives may end before the connection is established.
    fn on_completions(
        &mut self,
        completions: &[Completion],
        io: &mut RdmaIo<'_>,
    ) -> Result<(), Close>;
    /// Takes what another thread posted.
    fn on_event(&mut self, event: Self::Event, io: &mut RdmaIo<'_>) -> Result<(), Close>;
    /// The deadline passed.
    fn on_timer(&mut self, io: &mut RdmaIo<'_>) -> Result<(), Close>;
    /// After [`Close::Finished`]: whether sends are still under way. Called with the means to ask for the
    /// completion of the last one.
    fn is_sending(&mut self, io: &mut RdmaIo<'_>) -> bool;
    /// The connection ends; nothing is called after this.
    fn on_close(&mut self, close: &Close) {
        let _ = close;
    }
}

/// A connection and the queues that it needs.
pub struct Served<C> {
    /// The state machine.
    pub connection: C,
    /// Its queues.
    pub queues: Queues,
}

/// What makes the connections of one listener.
pub trait RdmaService: Send + Sync + 'static {
    /// The connections it makes.
    type Connection: RdmaConnection;

    /// A new peer; none rejects it.
    fn accept(
        &self,
        asks: &Establish,
        peer: SocketAddr,
        local: SocketAddr,
        remote: Remote<<Self::Connection as RdmaConnection>::Event>,
    ) -> Option<Served<Self::Connection>>;
}

/// A descriptor in a poll.
pub(crate) struct Descriptor(pub RawFd);

impl Source for Descriptor {
    fn register(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0).register(registry, token, interest)
    }

    fn reregister(
        &mut self,
        registry: &Registry,
        token: Token,
        interest: Interest,
    ) -> io::Result<()> {
        SourceFd(&self.0).reregister(registry, token, interest)
    }

    fn deregister(&mut self, registry: &Registry) -> io::Result<()> {
        SourceFd(&self.0).deregister(registry)
    }
}

pub(crate) struct RdmaDoor<S> {
    listener: Box<dyn Listener>,
    source: Descriptor,
    service: Arc<S>,
}

impl<S: RdmaService> RdmaDoor<S> {
    pub(crate) fn new(listener: Box<dyn Listener>, service: S) -> Self {
        let source = Descriptor(listener.descriptor());
        Self { listener, source, service: Arc::new(service) }
    }
}

impl<S: RdmaService> Door for RdmaDoor<S> {
    fn source(&mut self) -> &mut dyn Source {
        &mut self.source
    }

    fn accept(&mut self) -> io::Result<Option<Opener>> {
        let Some(incoming) = self.listener.poll().map_err(io::Error::other)? else {
            return Ok(None);
        };
        let service = Arc::clone(&self.service);
        Ok(Some(Box::new(move |mailbox, token| open(incoming, &*service, mailbox, token))))
    }
}

/// Runs on the thread that the connection will live on.
fn open<S: RdmaService>(
    incoming: Incoming,
    service: &S,
    mailbox: &Arc<Mailbox>,
    token: u64,
) -> io::Result<Option<Box<dyn Slot>>> {
    let Incoming { peer, local, asks, request } = incoming;
    let remote = Remote::new(Arc::clone(mailbox), token);
    let Some(Served { mut connection, queues }) =
        service.accept(&asks, peer, local, remote.clone())
    else {
        request.reject(&[]).map_err(io::Error::other)?;
        return Ok(None);
    };
    let mut endpoint = request.open(queues).map_err(io::Error::other)?;
    let mut deadline = None;
    let mut io = RdmaIo { endpoint: &mut *endpoint, now: Instant::now(), deadline: &mut deadline };
    let terms = match connection.open(&mut io) {
        Ok(terms) => terms,
        Err(close) => return Err(io::Error::other(close.to_string())),
    };
    endpoint.flush().map_err(io::Error::other)?;
    endpoint.establish(&terms).map_err(io::Error::other)?;
    Ok(Some(Box::new(RdmaSlot {
        source: Descriptor(endpoint.descriptor()),
        endpoint,
        connection,
        remote,
        deadline,
        completions: Vec::new(),
        finish_by: None,
    })))
}

/// Fields drop in order: the endpoint ends before the memory that its work refers to.
struct RdmaSlot<C: RdmaConnection> {
    source: Descriptor,
    endpoint: Box<dyn Endpoint>,
    connection: C,
    remote: Remote<C::Event>,
    deadline: Option<Instant>,
    completions: Vec<Completion>,
    /// Its work is done; it lives until its sends are, at most until then.
    finish_by: Option<Instant>,
}

impl<C: RdmaConnection> RdmaSlot<C> {
    fn step(
        &mut self,
        now: Instant,
        step: impl FnOnce(&mut C, &[Completion], &mut RdmaIo<'_>) -> Result<(), Close>,
    ) -> Result<(), Close> {
        let mut io = RdmaIo { endpoint: &mut *self.endpoint, now, deadline: &mut self.deadline };
        match step(&mut self.connection, &self.completions, &mut io) {
            Err(Close::Finished) => {
                self.finish_by.get_or_insert(now + FINISH_WAIT);
                Ok(())
            }
            Err(close @ Close::Protocol(_)) => {
                let _ = self.endpoint.flush();
                Err(close)
            }
            other => other,
        }
    }

    fn turn(&mut self, now: Instant) -> Result<Turn, Close> {
        let mut again = true;
        for _ in 0..POLLS_A_TURN {
            self.completions.clear();
            let polled = self.endpoint.poll(&mut self.completions).map_err(broken)?;
            if !self.completions.is_empty() {
                self.step(now, |connection, completions, io| {
                    connection.on_completions(completions, io)
                })?;
            }
            match polled.event {
                None => {}
                Some(ConnectionEvent::Disconnected) => return Err(Close::Peer),
                Some(ConnectionEvent::DeviceRemoved) => {
                    return Err(Close::Error(io::Error::other("the RDMA adapter was removed")));
                }
                Some(ConnectionEvent::AddressChanged) => {
                    let what = "the address moved to another RDMA adapter";
                    return Err(Close::Error(io::Error::other(what)));
                }
                Some(event) => {
                    self.step(now, |connection, _, io| connection.on_connection(event, io))?;
                }
            }
            again = polled.again;
            if !again {
                break;
            }
        }
        if let Some(by) = self.finish_by {
            let mut io =
                RdmaIo { endpoint: &mut *self.endpoint, now, deadline: &mut self.deadline };
            if !self.connection.is_sending(&mut io) || by <= now {
                return Err(Close::Finished);
            }
            self.deadline = Some(by);
        }
        self.endpoint.flush().map_err(broken)?;
        Ok(Turn { again, deadline: self.deadline })
    }
}

fn broken(error: RdmaError) -> Close {
    Close::Error(io::Error::other(error))
}

impl<C: RdmaConnection> Slot for RdmaSlot<C> {
    fn source(&mut self) -> &mut dyn Source {
        &mut self.source
    }

    fn on_ready(
        &mut self,
        _ready: Ready,
        _scratch: &mut [u8],
        now: Instant,
    ) -> Result<Turn, Close> {
        self.turn(now)
    }

    fn on_events(&mut self, _scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        for event in self.remote.take() {
            self.step(now, |connection, _, io| connection.on_event(event, io))?;
        }
        self.turn(now)
    }

    fn on_timer(&mut self, _scratch: &mut [u8], now: Instant) -> Result<Turn, Close> {
        self.deadline = None;
        self.step(now, |connection, _, io| connection.on_timer(io))?;
        self.turn(now)
    }

    fn on_close(&mut self, close: &Close) {
        self.endpoint.disconnect();
        self.connection.on_close(close);
    }
}
