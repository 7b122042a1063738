//! The connections of a file: made, watched, given up and made again.
//!
//! A few times a second each flow is looked at. One that owes replies and is silent is asked for a sign of
//! life, then given up; a lost one connects again, after pauses that grow while it fails.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;
use mio::{Interest, Token};
use plimsoll_fabric::{Close, Stream};

use super::core::Arrival;
use super::file::File;
use super::flow::{Envelope, Link, put_call};
use crate::{Error, Sink, tcp};

/// How often flows and patience are looked at.
pub(super) const CHECK_EVERY: Duration = Duration::from_millis(100);
/// Pause before a flow that failed to connect tries again: doubled with every failure, up to the last.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);
const RECONNECT_PAUSE_MAX: Duration = Duration::from_secs(2);

impl File {
    /// Every flow must come up at the start; later they may come and go.
    pub(super) fn connect_all(&mut self, start: Instant) -> Result<(), Error> {
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
    pub(super) fn connect(&mut self, index: usize, now: Instant) {
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
    pub(super) fn connected(&mut self, index: usize, now: Instant, sink: &mut dyn Sink) {
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
    pub(super) fn lose(&mut self, index: usize, close: &Close, now: Instant, sink: &mut dyn Sink) {
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

    /// Looks after flows, pauses and patience.
    pub(super) fn check(&mut self, now: Instant, sink: &mut dyn Sink) -> Result<(), Error> {
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
