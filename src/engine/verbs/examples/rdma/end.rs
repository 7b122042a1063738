//! One end of a connection with a block of memory, waited for by its descriptor in an edge-triggered poll.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use plimsoll_fabric::rdma::{
    Access, Completion, ConnectionEvent, Endpoint, Establish, Fabric, Incoming, Listener, Memory,
    Queues, Region, RemoteAddress, Segment, Status, Work,
};

use crate::Trouble;

/// Longer than anything takes on a slow machine.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub const QUEUES: Queues = Queues { sends: 64, receives: 64, segments: 4 };

/// Waits for an edge of a descriptor.
struct Edge {
    poll: Poll,
    events: Events,
}

impl Edge {
    fn new(descriptor: RawFd) -> Result<Self, Trouble> {
        let poll = Poll::new()?;
        poll.registry().register(&mut SourceFd(&descriptor), Token(0), Interest::READABLE)?;
        Ok(Self { poll, events: Events::with_capacity(4) })
    }

    fn wait(&mut self, until: Instant) -> Result<bool, Trouble> {
        let left = until.saturating_duration_since(Instant::now());
        self.poll.poll(&mut self.events, Some(left))?;
        Ok(!self.events.is_empty())
    }
}

/// A listener.
pub struct Door {
    pub listener: Box<dyn Listener>,
    edge: Edge,
}

impl Door {
    pub fn new(fabric: &dyn Fabric, address: SocketAddr) -> Result<Self, Trouble> {
        let listener = fabric.listen(address)?;
        let edge = Edge::new(listener.descriptor())?;
        Ok(Self { listener, edge })
    }

    pub fn address(&self) -> SocketAddr {
        self.listener.address()
    }

    /// The next peer.
    pub fn incoming(&mut self, patience: Duration) -> Result<Incoming, Trouble> {
        let until = Instant::now() + patience;
        loop {
            if let Some(incoming) = self.listener.poll()? {
                return Ok(incoming);
            }
            if !self.edge.wait(until)? {
                return Err("nobody asked to connect".into());
            }
        }
    }
}

/// An endpoint. It drops before the memory that its work names.
pub struct End {
    pub endpoint: Box<dyn Endpoint>,
    edge: Edge,
    pub region: Option<Region>,
    pub memory: Arc<Memory>,
    pub completions: VecDeque<Completion>,
    pub events: VecDeque<ConnectionEvent>,
}

impl End {
    pub fn new(endpoint: Box<dyn Endpoint>, bytes: usize) -> Result<Self, Trouble> {
        let edge = Edge::new(endpoint.descriptor())?;
        Ok(Self {
            endpoint,
            edge,
            region: None,
            memory: Memory::allocate(bytes)?,
            completions: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    pub fn register(&mut self, access: Access) -> Result<(), Trouble> {
        self.region = Some(self.endpoint.domain()?.register(&self.memory, access)?);
        Ok(())
    }

    pub fn segment(&self, offset: usize, len: usize) -> Result<Segment, Trouble> {
        Ok(self.region.as_ref().ok_or("not registered")?.segment(offset, len))
    }

    /// Where the peer finds a place of this end's memory.
    pub fn remote(&self, offset: usize) -> Result<RemoteAddress, Trouble> {
        let key = self.region.as_ref().ok_or("not registered")?.keys().remote;
        Ok(RemoteAddress { address: self.memory.pointer() as u64 + offset as u64, key })
    }

    #[allow(unsafe_code)]
    pub fn put(&self, offset: usize, bytes: &[u8]) {
        // SAFETY: the checks put bytes only where no work is outstanding; one thread runs them.
        unsafe { self.memory.put(offset, bytes) }
    }

    #[allow(unsafe_code)]
    pub fn bytes(&self, offset: usize, len: usize) -> Vec<u8> {
        // SAFETY: the checks look only at what has completed; one thread runs them.
        unsafe { self.memory.bytes(offset, len) }.to_vec()
    }

    /// Posts one receive and hands it over.
    pub fn receive(&mut self, id: u64, offset: usize, len: usize) -> Result<(), Trouble> {
        let segment = self.segment(offset, len)?;
        self.endpoint.post_receive(id, segment)?;
        Ok(self.endpoint.flush()?)
    }

    /// Sends a place of memory and hands it over.
    pub fn send(&mut self, id: u64, offset: usize, len: usize) -> Result<(), Trouble> {
        let segments = [self.segment(offset, len)?];
        self.endpoint.post(&Work::Send {
            id,
            segments: &segments,
            invalidate: None,
            signal: true,
        })?;
        Ok(self.endpoint.flush()?)
    }

    /// Takes what there is; when there is nothing, waits for an edge.
    pub fn step(&mut self, until: Instant) -> Result<bool, Trouble> {
        let mut found = false;
        loop {
            let mut completions = Vec::new();
            let polled = self.endpoint.poll(&mut completions)?;
            found |= !completions.is_empty() || polled.event.is_some();
            self.completions.extend(completions);
            self.events.extend(polled.event);
            if !polled.again {
                break;
            }
        }
        Ok(found || self.edge.wait(until)?)
    }

    /// The next completion, in order.
    pub fn completion(&mut self) -> Result<Completion, Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(done) = self.completions.pop_front() {
                return Ok(done);
            }
            if !self.step(until)? {
                let events = &self.events;
                return Err(format!("no completion; events: {events:?}").into());
            }
        }
    }

    /// The next completion, which must be of this work and well.
    pub fn done(&mut self, id: u64) -> Result<Completion, Trouble> {
        let done = self.completion()?;
        if done.id != id || done.status != Status::Success {
            return Err(format!("expected work {id} to be done, got {done:?}").into());
        }
        Ok(done)
    }

    /// The next event.
    pub fn event(&mut self) -> Result<ConnectionEvent, Trouble> {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            if !self.step(until)? {
                let completions = &self.completions;
                return Err(format!("no event; completions: {completions:?}").into());
            }
        }
    }

    /// Whether nothing happens for a while.
    pub fn is_quiet(&mut self, wait: Duration) -> Result<bool, Trouble> {
        let until = Instant::now() + wait;
        while self.step(until)? && Instant::now() < until {}
        Ok(self.completions.is_empty() && self.events.is_empty())
    }

    pub fn expect_established(&mut self) -> Result<Establish, Trouble> {
        match self.event()? {
            ConnectionEvent::Established(said) => Ok(said),
            other => Err(format!("expected a connection, got {other:?}").into()),
        }
    }
}

/// Terms with some private data.
pub fn terms(private_data: &[u8]) -> Establish {
    Establish { private_data: private_data.to_vec(), initiator_depth: 16, responder_resources: 16 }
}

/// An end that has found its way to an address, registered for this.
pub fn resolve(
    fabric: &dyn Fabric,
    to: SocketAddr,
    bytes: usize,
    access: Access,
) -> Result<End, Trouble> {
    let mut end = End::new(fabric.connect(to, None, QUEUES)?, bytes)?;
    match end.event()? {
        ConnectionEvent::Resolved => {}
        other => return Err(format!("expected the way to {to}, got {other:?}").into()),
    }
    end.register(access)?;
    Ok(end)
}

/// Both ends of a connection, client first; the client's memory has the rights given, the server's none.
pub fn connect(
    fabric: &dyn Fabric,
    door: &mut Door,
    bytes: usize,
    access: Access,
) -> Result<(End, End), Trouble> {
    let mut client = resolve(fabric, door.address(), bytes, access)?;
    client.endpoint.establish(&terms(&[0xc0, 0, 0, 0]))?;
    let incoming = door.incoming(PATIENCE)?;
    let mut server = End::new(incoming.request.open(QUEUES)?, bytes)?;
    server.register(Access::LOCAL)?;
    server.endpoint.establish(&terms(&[0x80, 0, 0, 0]))?;
    client.expect_established()?;
    server.expect_established()?;
    Ok((client, server))
}
