//! A file of an export as a datastore: all flows driven by one poll in the caller's thread.
//!
//! A turn: one send a flow for all that was submitted, one wait, one receive a flow that has something, then
//! what the replies made possible is queued for the next turn's send. Whether a flow lives is looked at a few
//! times a second: a silent one is asked for a sign of life and, if none comes, connected again; what it
//! carried is sent again on any flow with the same transaction ids.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::{Events, Poll};
use plimsoll_fabric::{Close, Payload, RECEIVE_BUFFER_BYTES, Received};
use plimsoll_wire::nfs3::Stability;

use super::core::{Core, Limits};
use super::flow::{Envelope, Flow, Link, Receiving, put_call};
use super::links::CHECK_EVERY;
use super::{Found, Handle, Identity, Spread};
use crate::spin::Spin;
use crate::{
    Datastore, Error, FlowCounters, FlowState, LostReason, Op, OpKind, Options, Sink, tcp,
};

/// An open file.
pub(super) struct File {
    pub(super) poll: Poll,
    events: Events,
    scratch: Vec<u8>,
    pub(super) flows: Vec<Flow>,
    pub(super) core: Core,
    pub(super) server: SocketAddr,
    export: String,
    pub(super) file: Handle,
    pub(super) identity: Identity,
    pub(super) stability: Stability,
    spread: Spread,
    capacity_bytes: u64,
    /// Flow that the last call went to.
    last_flow: usize,
    flow_depth: u32,
    queue_depth: usize,
    spin: Spin,
    pub(super) connect_timeout: Duration,
    pub(super) op_timeout: Duration,
    pub(super) keepalive: Duration,
    pub(super) path_timeout: Duration,
    /// Clock of this turn, read when first needed.
    turn: Option<Instant>,
    pub(super) next_check: Instant,
    /// Since when no flow is up, and why the last one is not.
    pub(super) down_since: Option<Instant>,
    pub(super) last_loss: Option<Error>,
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
            spin: Spin::new(options.spin),
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

    /// Hands waiting calls to flows with room.
    pub(super) fn pump(&mut self, now: Instant) {
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
    pub(super) fn turn(
        &mut self,
        wait: Option<Duration>,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        self.flush(sink);
        let now = if self.spin(wait, sink) { Instant::now() } else { self.sleep(wait)? };
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

    /// Receives without sleeping, if that is worth it, until something comes or the time is over.
    fn spin(&mut self, wait: Option<Duration>, sink: &mut dyn Sink) -> bool {
        if wait == Some(Duration::ZERO)
            || self.core.completions > 0
            || !self.spin.is_worth(self.core.in_flight())
        {
            return false;
        }
        let mut spin = std::mem::replace(&mut self.spin, Spin::new(Duration::ZERO));
        let found = spin.run(|| {
            let now = Instant::now();
            (0..self.flows.len()).any(|index| {
                self.flows[index].lane.in_flight > 0 && self.receive_on(index, now, sink)
            })
        });
        self.spin = spin;
        found
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
