//! A file of an export as a datastore: all flows driven by one poll in the caller's thread.
//!
//! A turn: one send a flow for all that was submitted, one wait, one receive a flow that has something, then
//! what the replies made possible is queued for the next turn's send. Whether a flow lives is looked at a few
//! times a second: a silent one is asked for a sign of life and, if none comes, connected again; what it
//! carried is sent again on any flow with the same transaction ids.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use plimsoll_fabric::{Close, Payload, RECEIVE_BUFFER_BYTES, Received, Stream};
use plimsoll_wire::nfs3::Stability;

use super::core::{Arrival, Core, Limits};
use super::flow::{Envelope, Flow, Link, Receiving, put_call};
use super::{Found, Handle, Identity, Spread};
use crate::{
    Datastore, Error, FlowCounters, FlowState, LostReason, Op, OpKind, Options, Sink, tcp,
};

/// How often flows and patience are looked at.
const CHECK_EVERY: Duration = Duration::from_millis(100);
/// Pause before a flow that failed to connect tries again: doubled with every failure, up to the last.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);
/// With more calls under way than this, spinning brings nothing.
const SPIN_MAX_IN_FLIGHT: usize = 2;
/// After so many spins in a row that found nothing, sleeping is better.
const EMPTY_SPINS_MAX: u32 = 16;
/// Of so many waits without a spin, one tries it again.
const SPIN_AGAIN_AFTER: u32 = 1024;

/// An open file.
pub(super) struct File {
    poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    flows: Vec<Flow>,
    core: Core,
    server: SocketAddr,
    export: String,
    file: Handle,
    identity: Identity,
    stability: Stability,
    spread: Spread,
    capacity_bytes: u64,
    /// Flow that the last call went to.
    last_flow: usize,
    flow_depth: u32,
    queue_depth: usize,
    spin: Duration,
    empty_spins: u32,
    connect_timeout: Duration,
    op_timeout: Duration,
    keepalive: Duration,
    path_timeout: Duration,
    /// Clock of this turn, read when first needed.
    turn: Option<Instant>,
    next_check: Instant,
    /// Since when no flow is up, and why the last one is not.
    down_since: Option<Instant>,
    last_loss: Option<Error>,
}

/// What [`File::open`] needs of the export.
pub(super) struct Opening<'a> {
    pub server: SocketAddr,
    pub export: String,
    pub found: Found,
    pub identity: Identity,
    pub limits: Limits,
    pub options: &'a Options,
}

impl File {
    /// Connects all flows.
    pub fn open(opening: Opening<'_>) -> Result<Self, Error> {
        let Opening { server, export, found, identity, limits, options } = opening;
        let io = |what| move |source| Error::Io { what, source };
        let now = Instant::now();
        let mut file = Self {
            poll: Poll::new().map_err(io("a poll for the flows"))?,
            events: Events::with_capacity(64),
            scratch: vec![0; RECEIVE_BUFFER_BYTES],
            flows: (0..options.connections).map(|index| Flow::new(index, now)).collect(),
            core: Core::new(limits),
            server,
            export,
            file: found.handle,
            identity,
            stability: limits.stability,
            spread: options.nfs.spread,
            capacity_bytes: found.attributes.size_bytes,
            last_flow: 0,
            flow_depth: u32::from(options.flow_depth.max(1)),
            queue_depth: options.queue_depth as usize,
            spin: options.spin,
            empty_spins: 0,
            connect_timeout: options.connect_timeout,
            op_timeout: options.op_timeout,
            keepalive: options.keepalive,
            path_timeout: options.path_timeout,
            turn: None,
            next_check: now,
            down_since: None,
            last_loss: None,
        };
        file.connect_all(now)?;
        Ok(file)
    }

    /// Every flow must come up at the start; later they may come and go.
    fn connect_all(&mut self, start: Instant) -> Result<(), Error> {
        let mut nobody = Nobody;
        for flow in 0..self.flows.len() {
            self.connect(flow, start);
        }
        while !self.flows.iter().all(|flow| flow.link == Link::Up) {
            if let Some(error) = self.last_loss.take() {
                return Err(error);
            }
            self.turn(Some(CHECK_EVERY), &mut nobody)?;
        }
        Ok(())
    }

    /// Begins to connect a flow.
    fn connect(&mut self, index: usize, now: Instant) {
        let flow = &mut self.flows[index];
        let begun = TcpStream::connect(self.server).and_then(|mut socket| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(&mut socket, Token(index), interest)?;
            Stream::new(socket)
        });
        match begun {
            Ok(stream) => {
                flow.stream = Some(stream);
                flow.link = Link::Connecting(now + self.connect_timeout);
            }
            Err(error) => self.lose(index, &Close::Error(error), now, &mut Nobody),
        }
    }

    /// The socket of a connecting flow became writable: it is connected, or has failed to.
    fn connected(&mut self, index: usize, now: Instant, sink: &mut dyn Sink) {
        let flow = &mut self.flows[index];
        let Some(stream) = &flow.stream else { return };
        let socket = stream.socket();
        let outcome = match socket.take_error() {
            Ok(None) => socket.peer_addr().and_then(|_| socket.local_addr()),
            Ok(Some(error)) | Err(error) => Err(error),
        };
        match outcome {
            Ok(local) => {
                flow.link = Link::Up;
                flow.writable = true;
                flow.lane.heard = now;
                let counters = &mut flow.lane.counters;
                counters.name = format!("{local} -> {} #{}", self.server, index + 1);
                counters.peer = Some(self.server);
                counters.last_end = None;
                counters.reconnects += u64::from(flow.was_up);
                flow.was_up = true;
                self.down_since = None;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotConnected => {}
            Err(error) => self.lose(index, &Close::Error(error), now, sink),
        }
    }

    /// A flow is lost: what it owes is sent again elsewhere, and it connects again after a pause.
    fn lose(&mut self, index: usize, close: &Close, now: Instant, sink: &mut dyn Sink) {
        let flow = &mut self.flows[index];
        if let Some(stream) = &mut flow.stream {
            flow.retransmits += tcp::info(stream.socket()).retransmits;
            let _ = self.poll.registry().deregister(stream.socket_mut());
        }
        flow.reset();
        let pause = match flow.attempts {
            0 => Duration::ZERO,
            failures => RECONNECT_PAUSE * 2_u32.pow(failures.min(8) - 1),
        };
        flow.attempts += 1;
        flow.link = Link::Waiting(now + pause.min(RECONNECT_PAUSE_MAX));
        tracing::debug!(flow = index, server = %self.server, %close, "nfs connection lost");
        flow.lane.counters.last_end = Some(close.to_string());
        self.last_loss = Some(loss(self.server, close));
        let owed: Vec<u32> = self
            .core
            .calls
            .iter()
            .filter(|(_, call)| call.flow.map(usize::from) == Some(index))
            .map(|(xid, _)| xid)
            .collect();
        let lane = &mut flow.lane;
        for xid in owed.into_iter().rev() {
            let arrival = Arrival { flow: lane.index, counters: &mut lane.counters, now };
            self.core.lost_with_connection(xid, arrival, sink);
        }
        if !self.flows.iter().any(|flow| flow.link == Link::Up) {
            self.down_since.get_or_insert(now);
        }
    }

    /// Hands waiting calls to flows with room.
    fn pump(&mut self, now: Instant) {
        while let Some(xid) = self.core.waiting.front().copied() {
            let Some(index) = self.choose() else { return };
            self.core.waiting.pop_front();
            let flow = &mut self.flows[index];
            let (Some(call), Some(stream)) = (self.core.calls.get_mut(xid), &mut flow.stream)
            else {
                continue;
            };
            call.flow = Some(flow.lane.index);
            let envelope = Envelope {
                file: &self.file,
                credential: self.identity.credential(),
                stability: self.stability,
            };
            put_call(&mut stream.send, &envelope, xid, call);
            if flow.lane.in_flight == 0 {
                flow.lane.heard = now;
            }
            flow.lane.in_flight += 1;
            self.last_flow = index;
        }
    }

    /// The flow for the next call; none when all are full or down.
    fn choose(&self) -> Option<usize> {
        let count = self.flows.len();
        let from_next = (1..=count).map(|step| (self.last_flow + step) % count);
        let mut usable = from_next.filter(|index| {
            let flow = &self.flows[*index];
            flow.link == Link::Up && flow.lane.in_flight < self.flow_depth
        });
        match self.spread {
            Spread::RoundRobin => usable.next(),
            Spread::LeastOutstanding => {
                usable.min_by_key(|index| self.flows[*index].lane.in_flight)
            }
        }
    }

    /// One send on every flow that has something to send.
    fn flush(&mut self, sink: &mut dyn Sink) {
        for index in 0..self.flows.len() {
            let flow = &mut self.flows[index];
            if flow.link != Link::Up || !flow.writable {
                continue;
            }
            let Some(stream) = &mut flow.stream else { continue };
            if stream.send.is_empty() {
                continue;
            }
            match stream.flush() {
                Ok(all) => flow.writable = all,
                Err(error) => {
                    let now = Instant::now();
                    self.lose(index, &Close::Error(error), now, sink);
                }
            }
        }
    }

    /// One receive on every flow that has something.
    fn receive(&mut self, now: Instant, sink: &mut dyn Sink) -> bool {
        let mut any = false;
        for index in 0..self.flows.len() {
            any |= self.flows[index].readable && self.receive_on(index, now, sink);
        }
        any
    }

    /// One receive on one flow; whether there was anything.
    fn receive_on(&mut self, index: usize, now: Instant, sink: &mut dyn Sink) -> bool {
        let flow = &mut self.flows[index];
        let Some(stream) = &mut flow.stream else { return false };
        let mut frames =
            Receiving { lane: &mut flow.lane, core: &mut self.core, sink, now, any: false };
        match stream.receive(&mut self.scratch, &mut frames) {
            Ok(received) => {
                let any = frames.any;
                flow.readable = received == Received::More || flow.hung_up;
                if any {
                    flow.lane.heard = now;
                    flow.attempts = 0;
                }
                any
            }
            Err(close) => {
                self.lose(index, &close, now, sink);
                true
            }
        }
    }

    /// One turn; waits at most `wait`.
    fn turn(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> Result<(), Error> {
        self.flush(sink);
        let now =
            if self.spins(wait) && self.spin(sink) { Instant::now() } else { self.sleep(wait)? };
        self.turn = None;
        self.on_events(now, sink);
        self.receive(now, sink);
        if self.core.wants_commit() {
            self.core.commit_if_due(now, sink);
        }
        self.pump(now);
        if now >= self.next_check { self.check(now, sink) } else { Ok(()) }
    }

    /// Waits for the kernel; at most until the next look at the flows.
    fn sleep(&mut self, wait: Option<Duration>) -> Result<Instant, Error> {
        let more = self.flows.iter().any(|flow| flow.readable);
        let wait = match wait {
            _ if more || self.core.completions > 0 => Duration::ZERO,
            Some(wait) => wait.min(CHECK_EVERY),
            None => CHECK_EVERY,
        };
        tcp::poll(&mut self.poll, &mut self.events, Some(wait))
            .map_err(|source| Error::Io { what: "waiting for the flows", source })?;
        Ok(Instant::now())
    }

    fn on_events(&mut self, now: Instant, sink: &mut dyn Sink) {
        let mut connecting = 0_u64;
        for event in &self.events {
            let index = event.token().0;
            let Some(flow) = self.flows.get_mut(index) else { continue };
            flow.readable |= event.is_readable();
            flow.hung_up |= event.is_read_closed() || event.is_error();
            flow.readable |= flow.hung_up;
            flow.writable |= event.is_writable();
            if matches!(flow.link, Link::Connecting(_)) {
                connecting |= 1 << index;
            }
        }
        self.events.clear();
        while connecting != 0 {
            let index = connecting.trailing_zeros() as usize;
            connecting &= connecting - 1;
            self.connected(index, now, sink);
        }
    }

    /// Whether a busy wait is worth trying: few calls under way, and it found something lately.
    fn spins(&mut self, wait: Option<Duration>) -> bool {
        if self.spin.is_zero()
            || wait == Some(Duration::ZERO)
            || self.core.completions > 0
            || self.core.in_flight() == 0
            || self.core.in_flight() > SPIN_MAX_IN_FLIGHT
        {
            return false;
        }
        if self.empty_spins >= EMPTY_SPINS_MAX {
            self.empty_spins += 1;
            if self.empty_spins < EMPTY_SPINS_MAX + SPIN_AGAIN_AFTER {
                return false;
            }
            self.empty_spins = 0;
        }
        true
    }

    /// Receives without sleeping until something comes or the time is over.
    fn spin(&mut self, sink: &mut dyn Sink) -> bool {
        let mut now = Instant::now();
        let end = now + self.spin;
        loop {
            for index in 0..self.flows.len() {
                if self.flows[index].lane.in_flight > 0 && self.receive_on(index, now, sink) {
                    self.empty_spins = 0;
                    return true;
                }
            }
            now = Instant::now();
            if now >= end {
                self.empty_spins += 1;
                return false;
            }
            // A server on this core gets to run; with none, this is as cheap as any pause.
            std::thread::yield_now();
        }
    }

    /// Looks after flows, pauses and patience.
    fn check(&mut self, now: Instant, sink: &mut dyn Sink) -> Result<(), Error> {
        self.next_check = now + CHECK_EVERY;
        for index in 0..self.flows.len() {
            match self.flows[index].link {
                Link::Waiting(until) if until <= now => self.connect(index, now),
                Link::Connecting(until) if until <= now => {
                    let late = std::io::Error::from(std::io::ErrorKind::TimedOut);
                    self.lose(index, &Close::Error(late), now, sink);
                }
                Link::Up => self.check_silence(index, now, sink),
                Link::Waiting(_) | Link::Connecting(_) => {}
            }
        }
        self.core.end_pauses(now);
        let flows = &mut self.flows;
        self.core.expire(self.op_timeout, now, sink, |flow| {
            if let Some(flow) = flows.get_mut(usize::from(flow)) {
                flow.lane.in_flight = flow.lane.in_flight.saturating_sub(1);
            }
        });
        self.pump(now);
        match self.down_since {
            Some(since) if now.saturating_duration_since(since) > self.path_timeout => {
                let target = self.server.to_string();
                let reason = self.last_loss.as_ref().map_or_else(String::new, ToString::to_string);
                Err(Error::NoPath { target, reason })
            }
            _ => Ok(()),
        }
    }

    /// A flow that owes replies and is silent is asked for a sign of life, then given up.
    fn check_silence(&mut self, index: usize, now: Instant, sink: &mut dyn Sink) {
        let flow = &mut self.flows[index];
        let silent = now.saturating_duration_since(flow.lane.heard);
        if flow.lane.in_flight == 0 || silent <= self.keepalive {
            return;
        }
        if silent > self.keepalive * 2 {
            return self.lose(index, &Close::Idle, now, sink);
        }
        if flow.lane.ping.is_some() {
            return;
        }
        let Some(stream) = &mut flow.stream else { return };
        let Some(xid) = self.core.null_call(flow.lane.index) else { return };
        let envelope = Envelope {
            file: &self.file,
            credential: self.identity.credential(),
            stability: self.stability,
        };
        if let Some(call) = self.core.calls.get(xid) {
            put_call(&mut stream.send, &envelope, xid, call);
            flow.lane.ping = Some(xid);
            flow.lane.in_flight += 1;
        }
    }

    fn now(&mut self) -> Instant {
        *self.turn.get_or_insert_with(Instant::now)
    }
}

impl Datastore for File {
    fn capacity_bytes(&self) -> u64 {
        self.capacity_bytes
    }

    fn block_bytes(&self) -> u32 {
        1
    }

    fn identity(&self) -> &str {
        &self.export
    }

    fn can_submit(&self) -> bool {
        self.core.in_flight() < self.queue_depth && self.core.has_room()
    }

    fn submit(&mut self, op: &Op, data: Option<Payload>) -> Result<(), Error> {
        let refuse = |reason| Err(Error::Operation { offset: op.offset, len: op.len, reason });
        if op.kind != OpKind::Flush {
            if op.len == 0 {
                return refuse("an operation of no bytes");
            }
            match op.offset.checked_add(u64::from(op.len)) {
                Some(end) if end <= self.capacity_bytes => {}
                _ => return refuse("it reaches beyond the end of the file"),
            }
        }
        let wanted = if op.kind == OpKind::Write { op.len as usize } else { 0 };
        if data.as_ref().map_or(0, Payload::len) != wanted {
            return refuse("its data has another length");
        }
        if self.core.in_flight() >= self.queue_depth || !self.core.fits(op) {
            return Err(Error::Full);
        }
        let now = self.now();
        self.core.accept(op, data, now);
        self.pump(now);
        Ok(())
    }

    fn poll(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> Result<usize, Error> {
        if self.core.wants_commit() {
            let now = self.now();
            self.core.commit_if_due(now, sink);
            self.pump(now);
        }
        let deadline = match wait {
            Some(wait) if !wait.is_zero() => Some(self.now() + wait),
            _ => None,
        };
        let mut left = wait;
        loop {
            self.turn(left, sink)?;
            let completions = std::mem::take(&mut self.core.completions);
            if completions > 0 || self.core.in_flight() == 0 && wait.is_none() {
                return Ok(completions);
            }
            left = match (wait, deadline) {
                (None, _) => None,
                (_, None) => return Ok(0),
                (_, Some(deadline)) => match tcp::until(deadline, Instant::now()) {
                    Duration::ZERO => return Ok(0),
                    left => Some(left),
                },
            };
        }
    }

    fn in_flight(&self) -> usize {
        self.core.in_flight()
    }

    fn flows(&self) -> Vec<FlowCounters> {
        self.flows
            .iter()
            .map(|flow| {
                let mut counters = flow.lane.counters.clone();
                let info = flow.stream.as_ref().map(|stream| tcp::info(stream.socket()));
                let info = info.unwrap_or_default();
                counters.state = match flow.link {
                    Link::Up => FlowState::Up,
                    Link::Connecting(_) | Link::Waiting(_) => FlowState::Connecting,
                };
                counters.in_flight = flow.lane.in_flight;
                counters.retransmits = flow.retransmits + info.retransmits;
                counters.rtt_us = info.rtt_us;
                counters
            })
            .collect()
    }

    fn close(&mut self, sink: &mut dyn Sink) {
        let now = Instant::now();
        let reason = match self.down_since {
            Some(since) if now.saturating_duration_since(since) > self.path_timeout => {
                LostReason::NoPath
            }
            _ => LostReason::Closed,
        };
        self.core.give_up_all(reason, now, sink);
        self.flows.clear();
    }
}

fn loss(server: SocketAddr, close: &Close) -> Error {
    let peer = server.to_string();
    match close {
        Close::Protocol(reason) => Error::Protocol { peer, reason: reason.clone() },
        Close::Idle => Error::Timeout { peer, what: "a sign of life" },
        Close::Error(error) => {
            Error::Connect { peer, source: std::io::Error::new(error.kind(), error.to_string()) }
        }
        _ => Error::Lost { peer, source: std::io::ErrorKind::ConnectionReset.into() },
    }
}

/// Takes nothing: there are no operations yet.
struct Nobody;

impl Sink for Nobody {
    fn data(&mut self, _: u64, _: u32, _: &[u8]) {}
    fn done(&mut self, _: crate::Completion) {}
}
