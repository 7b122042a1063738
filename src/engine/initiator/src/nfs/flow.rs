//! One TCP connection of the client: calls out, replies in.
//!
//! The data of a READ reply is a run of frames of its own, as long as what is there: so it goes to the sink
//! from the receive buffer as it arrives, whole or not, and only its head is ever put together. Every other
//! reply is a whole record. What a reply may hold is known from its call: a peer that sends more, or fewer
//! bytes than it announced, loses its connection.

use std::time::Instant;

use plimsoll_fabric::{Close, Frame, Frames, SendQueue, Stream};
use plimsoll_wire::nfs3::{
    self, CommitArgs, CommitResult, Procedure, ReadArgs, ReadHead, ReadOk, ReadResult, Stability,
    Status, WriteHead, WriteResult,
};
use plimsoll_wire::rpc::record::{self, Extent};
use plimsoll_wire::rpc::{self, Accepted, Credential, Denial, Reply};
use plimsoll_wire::xdr::{self, PADDING, Reader, Writer, Xdr, padding};

use super::Handle;
use super::calls::{Call, Kind};
use super::core::{Arrival, Core};
use crate::{FlowCounters, Sink};

/// What a reply may have beyond the data of a READ: head, attributes, verifier, marks of its fragments.
const BEYOND_DATA_BYTES: usize = 8 << 10;

/// State of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// Carries calls.
    Up,
    /// Connecting; given up at this time.
    Connecting(Instant),
    /// Connects again at this time.
    Waiting(Instant),
}

/// Data of a READ reply that is still to come.
#[derive(Debug, Clone, Copy)]
struct Body {
    xid: u32,
    count: u32,
    eof: bool,
    /// Bytes delivered.
    at: u32,
    padding: usize,
}

/// The head of a READ reply.
#[derive(Debug, Clone, Copy)]
struct Start {
    xid: u32,
    head: ReadHead,
}

/// What a flow knows of its calls, apart from its socket.
pub(super) struct Lane {
    pub index: u16,
    pub in_flight: u32,
    /// When something last arrived, or calls began to be under way.
    pub heard: Instant,
    /// The sign of life that was asked for.
    pub ping: Option<u32>,
    pub counters: FlowCounters,
    body: Option<Body>,
    start: Option<Start>,
}

/// A flow.
pub(super) struct Flow {
    pub lane: Lane,
    pub link: Link,
    pub stream: Option<Stream>,
    pub readable: bool,
    /// The peer sends no more: read on until the end is reached.
    pub hung_up: bool,
    /// The socket takes what is to be sent.
    pub writable: bool,
    /// Failed attempts to connect in a row.
    pub attempts: u32,
    /// It was up at least once.
    pub was_up: bool,
    /// Segments sent again on earlier connections.
    pub retransmits: u64,
}

impl Flow {
    pub fn new(index: u16, now: Instant) -> Self {
        Self {
            lane: Lane {
                index,
                in_flight: 0,
                heard: now,
                ping: None,
                counters: FlowCounters::default(),
                body: None,
                start: None,
            },
            link: Link::Waiting(now),
            stream: None,
            readable: false,
            hung_up: false,
            writable: false,
            attempts: 0,
            was_up: false,
            retransmits: 0,
        }
    }

    /// The connection is gone, with whatever was half received.
    pub fn reset(&mut self) {
        self.stream = None;
        self.readable = false;
        self.hung_up = false;
        self.writable = false;
        self.lane.in_flight = 0;
        self.lane.ping = None;
        self.lane.body = None;
        self.lane.start = None;
    }
}

/// What is the same in every call.
pub(super) struct Envelope<'a> {
    pub file: &'a Handle,
    pub credential: Credential<'a>,
    pub stability: Stability,
}

/// Appends a call to what is sent.
pub(super) fn put_call(send: &mut SendQueue, envelope: &Envelope<'_>, xid: u32, call: &Call) {
    let (file, credential) = (envelope.file.wire(), envelope.credential);
    let header = |procedure: Procedure| {
        let (program, version) = (nfs3::PROGRAM, nfs3::VERSION);
        rpc::Call { xid, program, version, procedure: procedure as u32, credential }
    };
    let Call { offset, len, .. } = *call;
    send.append(|bytes| {
        let mut out = Writer::new(bytes);
        let at = record::begin(&mut out);
        match call.kind {
            Kind::Read => {
                header(Procedure::Read).put(&mut out);
                ReadArgs { file, offset, count: len }.put(&mut out);
            }
            Kind::Write => {
                header(Procedure::Write).put(&mut out);
                let stable = envelope.stability;
                WriteHead { file, offset, count: len, stable, len }.put(&mut out);
                let beyond = len as usize + padding(len as usize);
                return record::end(&mut out, at, beyond);
            }
            Kind::Commit => {
                header(Procedure::Commit).put(&mut out);
                CommitArgs { file, offset: 0, count: 0 }.put(&mut out);
            }
            Kind::Null => header(Procedure::Null).put(&mut out),
        }
        record::end(&mut out, at, 0);
    });
    if let Some(payload) = &call.payload {
        send.payload(payload.clone());
        send.bytes(&PADDING[..padding(len as usize)]);
    }
}

/// Takes the replies of one receive.
pub(super) struct Receiving<'a> {
    pub lane: &'a mut Lane,
    pub core: &'a mut Core,
    pub sink: &'a mut dyn Sink,
    pub now: Instant,
    /// Whether anything came.
    pub any: bool,
}

fn broke(what: &str) -> Close {
    Close::Protocol(what.to_owned())
}

fn unreadable(error: xdr::Error) -> Close {
    Close::Protocol(format!("a reply cannot be read: {error}"))
}

impl Frames for Receiving<'_> {
    fn frame(&mut self, head: &[u8]) -> Result<Frame, Close> {
        if let Some(body) = &self.lane.body {
            let left = (body.count - body.at) as usize + body.padding;
            return Ok(Frame::Length(left.min(head.len())));
        }
        let max = self.core.limits.read_bytes as usize + BEYOND_DATA_BYTES;
        let whole = match record::extent(head, max) {
            Ok(Extent::Need(need)) => return Ok(Frame::Need(need)),
            Ok(Extent::Whole(whole)) => whole,
            Err(error) => return Err(Close::Protocol(error.to_string())),
        };
        let there = &head[..head.len().min(whole)];
        if !record::is_single(there) {
            return Ok(Frame::Length(whole));
        }
        let message = &there[record::MARK_BYTES..];
        match self.read_start(message) {
            Ok(Some((start, used))) => {
                let len = start.head.len as usize;
                let used = record::MARK_BYTES + used;
                if whole != used + len + padding(len) {
                    return Err(broke("the data of a READ is not as long as its record"));
                }
                self.lane.start = Some(start);
                Ok(Frame::Length(used))
            }
            Ok(None) => Ok(Frame::Length(whole)),
            // Cut within an item of the head: that item must be there first.
            Err(xdr::Error::Truncated { needed, available })
                if there.len() + needed - available <= whole =>
            {
                Ok(Frame::Need(there.len() + needed - available))
            }
            Err(error) => Err(unreadable(error)),
        }
    }

    fn on_frame(&mut self, frame: &[u8], _send: &mut SendQueue) -> Result<(), Close> {
        if !self.any {
            // The answers of a receive are here when it returns, not when the kernel woke us before it.
            (self.any, self.now) = (true, Instant::now());
        }
        if self.lane.body.is_some() {
            self.on_data(frame);
            return Ok(());
        }
        if let Some(start) = self.lane.start.take() {
            return self.on_start(start);
        }
        self.on_record(&record::join(frame))
    }
}

impl Receiving<'_> {
    /// The head of a successful READ whose call is under way here, and its length; none for other replies.
    fn read_start(&self, message: &[u8]) -> xdr::Result<Option<(Start, usize)>> {
        let (xid, reply, mut results) = Reply::parse(message)?;
        if reply != Reply::Accepted(Accepted::Success)
            || !self.call(xid).is_some_and(|call| call.kind == Kind::Read)
            || results.value::<Status>()? != Status::OK
        {
            return Ok(None);
        }
        let head = results.value()?;
        Ok(Some((Start { xid, head }, message.len() - results.remaining())))
    }

    /// The call with this id, if this flow owes its reply.
    fn call(&self, xid: u32) -> Option<&Call> {
        self.core.calls.get(xid).filter(|call| call.flow == Some(self.lane.index))
    }

    fn on_start(&mut self, Start { xid, head }: Start) -> Result<(), Close> {
        let ReadHead { count, eof, len, .. } = head;
        if count != len {
            return Err(broke("READ counts other bytes than it brings"));
        }
        if self.call(xid).is_none_or(|call| len > call.len) {
            return Err(broke("READ brings more bytes than were asked for"));
        }
        let body = Body { xid, count, eof, at: 0, padding: padding(len as usize) };
        if count == 0 {
            self.read_done(body);
        } else {
            self.lane.body = Some(body);
        }
        Ok(())
    }

    fn on_data(&mut self, chunk: &[u8]) {
        let Some(body) = &mut self.lane.body else { return };
        let data = &chunk[..chunk.len().min((body.count - body.at) as usize)];
        if !data.is_empty() {
            let call = self.core.calls.get(body.xid).filter(|c| c.flow == Some(self.lane.index));
            if let Some((tag, at)) = call.and_then(|call| self.core.place_of(call)) {
                self.sink.data(tag, at + body.at, data);
            }
            #[expect(clippy::cast_possible_truncation, reason = "at most what is left of a u32")]
            let len = data.len() as u32;
            body.at += len;
        }
        body.padding -= chunk.len() - data.len();
        if body.at == body.count && body.padding == 0 {
            let body = *body;
            self.lane.body = None;
            self.read_done(body);
        }
    }

    fn read_done(&mut self, Body { xid, count, eof, .. }: Body) {
        if self.call(xid).is_some() {
            self.lane.in_flight -= 1;
            let arrival = arrival(self.lane, self.now);
            self.core.read_done(xid, count, eof, arrival, self.sink);
        }
    }

    /// A reply that is here as a whole.
    fn on_record(&mut self, message: &[u8]) -> Result<(), Close> {
        let (xid, reply, results) = Reply::parse(message).map_err(unreadable)?;
        // The reply to a call that was given up, or one that nobody asked for.
        let Some(call) = self.call(xid) else { return Ok(()) };
        let kind = call.kind;
        let status = match reply {
            Reply::Accepted(Accepted::Success) => {
                return self.on_results(xid, kind, results).map_err(unreadable)?;
            }
            Reply::Accepted(Accepted::SystemError) => Status::SERVER_FAULT,
            Reply::Accepted(Accepted::GarbageArguments) => Status::INVALID,
            Reply::Accepted(_) => Status::NOT_SUPPORTED,
            Reply::Denied(Denial::Auth(_)) => Status::ACCESS,
            Reply::Denied(Denial::RpcMismatch { .. }) => Status::SERVER_FAULT,
        };
        self.failed(xid, status);
        Ok(())
    }

    fn failed(&mut self, xid: u32, status: Status) {
        self.lane.in_flight -= 1;
        let arrival = arrival(self.lane, self.now);
        self.core.failed(xid, status, arrival, self.sink);
    }

    fn on_results(
        &mut self,
        xid: u32,
        kind: Kind,
        mut results: Reader<'_>,
    ) -> xdr::Result<Result<(), Close>> {
        match kind {
            Kind::Read => match results.value::<ReadResult<'_>>()? {
                // In several fragments, so that it could not be taken as it came.
                Ok(ReadOk { attributes, count, eof, data }) => {
                    #[expect(clippy::cast_possible_truncation, reason = "capped by the wire")]
                    let len = data.len() as u32;
                    let head = ReadHead { attributes, count, eof, len };
                    if let Err(close) = self.on_start(Start { xid, head }) {
                        return Ok(Err(close));
                    }
                    if let Some(body) = &mut self.lane.body {
                        body.padding = 0;
                        self.on_data(data);
                    }
                }
                Err(failure) => self.failed(xid, failure.status),
            },
            Kind::Write => match results.value::<WriteResult>()? {
                Ok(ok) => {
                    if self.call(xid).is_none_or(|call| ok.count > call.len) {
                        return Ok(Err(broke("WRITE took more bytes than it was given")));
                    }
                    self.lane.in_flight -= 1;
                    let arrival = arrival(self.lane, self.now);
                    self.core.write_done(xid, &ok, arrival, self.sink);
                }
                Err(failure) => self.failed(xid, failure.status),
            },
            Kind::Commit => match results.value::<CommitResult>()? {
                Ok(ok) => {
                    self.lane.in_flight -= 1;
                    let arrival = arrival(self.lane, self.now);
                    if self.core.commit_done(xid, ok.verifier, &arrival, self.sink) {
                        self.lane.counters.verifier_changes += 1;
                    }
                }
                Err(failure) => self.failed(xid, failure.status),
            },
            Kind::Null => {
                self.lane.in_flight -= 1;
                self.lane.ping = None;
                self.core.calls.remove(xid);
            }
        }
        Ok(Ok(()))
    }
}

fn arrival(lane: &mut Lane, now: Instant) -> Arrival<'_> {
    Arrival { flow: lane.index, counters: &mut lane.counters, now }
}
