//! What one connection has to send, in order, and what is under way.
//!
//! During a turn the session queues sends and writes; at its end [`RdmaMover::pump`] hands them to the endpoint,
//! as many as fit. Everything that work refers to is held until a completion tells that it is over: that of the
//! work itself or of any later one, of which every sixteenth is asked for. So the answer to a read is posted
//! behind its data in the same chain, and needs no completion of its own.

use std::collections::VecDeque;
use std::sync::Arc;

use plimsoll_fabric::Payload;
use plimsoll_fabric::rdma::{
    Access, Counters, Domain, Endpoint, Memory, RdmaError, RemoteAddress, Segment, Work,
};
use plimsoll_wire::iscsi::Bhs;
use plimsoll_wire::iser::{HEADER_LEN, Header, LOGIN_MESSAGE_MAX, MESSAGE_MIN, Tag as Remote};

use super::buffers::{Blocks, Buffer};
use super::fetch::{Fetched, Fetches, Into, Target, segments};
use super::{LARGE_BUFFERS, LARGE_BYTES, Plan, READS_MAX, SEGMENTS_MAX, SMALL_BYTES};
use crate::session::Tag;
use crate::stats::RdmaStats;

/// One work request in so many asks for a completion.
const SIGNAL_EVERY: u32 = 16;
/// Most bytes of one RDMA read into a store's memory: larger ones keep the others waiting.
const READ_BYTES_MAX: usize = 256 << 10;
/// Buffers for the answers of a login.
const LOGIN_BUFFERS: usize = 2;
const NO_SEGMENT: Segment = Segment { address: 0, len: 0, key: 0 };

/// A message to be sent.
enum Message {
    Ready(Buffer, usize),
    /// No buffer was free when it was made.
    Late(Vec<u8>),
}

enum Item {
    Send { message: Message, invalidate: Option<u32> },
    Write { payload: Payload, to: Remote },
}

/// What work under way refers to.
enum Held {
    Buffer(Buffer),
    Payload(#[expect(dead_code, reason = "keeps its memory until it is dropped")] Payload),
}

/// The mover of an RDMA connection.
pub(crate) struct RdmaMover {
    blocks: Blocks,
    /// None before the connection is opened.
    domain: Option<Arc<Domain>>,
    small: Vec<Buffer>,
    large: Vec<Buffer>,
    out: VecDeque<Item>,
    out_bytes: usize,
    /// By the number of the work that refers to it.
    held: VecDeque<(u64, Held)>,
    /// Sends and writes posted, and known to be complete.
    posted: u64,
    completed: u64,
    /// The last one that will tell.
    signalled: u64,
    unsignalled: u32,
    /// For each read under way, in their order, the last work posted before it: its completion tells that to be over
    /// too.
    before_reads: VecDeque<u64>,
    sends_max: u32,
    segments_max: usize,
    bytes_max: usize,
    fetches: Fetches,
    /// The initiator lets its tags be invalidated.
    pub invalidates: bool,
    /// Both ends know that the connection stands: from then on this end may send.
    pub established: bool,
    /// The block that was asked for last, and its key.
    key: (u64, u32),
    copies: u64,
    copied_bytes: u64,
}

impl RdmaMover {
    pub(super) fn new(invalidates: bool) -> Self {
        Self {
            blocks: Blocks::default(),
            domain: None,
            small: Vec::new(),
            large: Vec::new(),
            out: VecDeque::new(),
            out_bytes: 0,
            held: VecDeque::new(),
            posted: 0,
            completed: 0,
            signalled: 0,
            unsignalled: 0,
            before_reads: VecDeque::new(),
            sends_max: 0,
            segments_max: 1,
            bytes_max: 0,
            fetches: Fetches::default(),
            invalidates,
            established: false,
            key: (0, 0),
            copies: 0,
            copied_bytes: 0,
        }
    }

    /// What the login needs.
    pub(super) fn open(
        &mut self,
        endpoint: &dyn Endpoint,
        domain: &Arc<Domain>,
        plan: &Plan,
    ) -> Result<(), RdmaError> {
        let limits = endpoint.limits();
        self.segments_max = (limits.segments as usize).clamp(1, SEGMENTS_MAX);
        self.bytes_max = (limits.message_bytes as usize).max(1);
        self.sends_max = plan.sends;
        self.fetches.segments_max = self.segments_max;
        self.fetches.bytes_max = READ_BYTES_MAX.min(self.bytes_max);
        let buffers = self.blocks.add(domain, &[(LOGIN_BUFFERS, LOGIN_MESSAGE_MAX)])?;
        self.large = buffers.into_iter().flatten().collect();
        self.domain = Some(Arc::clone(domain));
        Ok(())
    }

    /// What the full feature phase needs.
    pub(super) fn enter(&mut self, domain: &Domain, plan: &Plan) -> Result<(), RdmaError> {
        let lengths = [
            (LARGE_BUFFERS, LARGE_BYTES),
            (usize::from(READS_MAX), LARGE_BYTES),
            (plan.sends as usize, SMALL_BYTES),
        ];
        let mut buffers = self.blocks.add(domain, &lengths)?.into_iter();
        self.large.extend(buffers.next().into_iter().flatten());
        self.fetches.buffers.extend(buffers.next().into_iter().flatten());
        self.small.extend(buffers.next().into_iter().flatten());
        Ok(())
    }

    /// RDMA reads that the initiator answers at a time.
    pub(super) fn set_reads(&mut self, most: u8) {
        self.fetches.most = most.into();
    }

    /// A free buffer for `len` bytes, or for as many of them as a large one takes.
    fn take(&mut self, len: usize) -> Option<Buffer> {
        let small = if len <= SMALL_BYTES { self.small.pop() } else { None };
        small.or_else(|| self.large.pop())
    }

    fn give_back(&mut self, buffer: Buffer) {
        if buffer.len == SMALL_BYTES { &mut self.small } else { &mut self.large }.push(buffer);
    }

    /// Queues a message: header, BHS, data without padding.
    pub(crate) fn message(&mut self, bhs: &Bhs, data: &[u8], invalidate: Option<u32>) {
        let header: [u8; HEADER_LEN] = Header::default().build();
        let len = MESSAGE_MIN + data.len();
        let parts = [&header[..], bhs, data];
        let message = match self.take(len) {
            Some(buffer) if buffer.len >= len => {
                self.blocks.fill(&buffer, &parts);
                Message::Ready(buffer, len)
            }
            other => {
                other.into_iter().for_each(|buffer| self.give_back(buffer));
                Message::Late(parts.concat())
            }
        };
        self.out_bytes += len;
        self.out.push_back(Item::Send { message, invalidate });
    }

    /// Queues data for the initiator's memory.
    pub(crate) fn write(&mut self, payload: Payload, to: Remote) {
        self.out_bytes += payload.len();
        self.out.push_back(Item::Write { payload, to });
    }

    /// Asks for `range` of a task's data, which begins at `from`.
    pub(crate) fn fetch(&mut self, task: Tag, from: Remote, range: (u32, u32), into: Into) {
        self.fetches.push(task, from, range, into);
    }

    /// Bytes that wait to be posted.
    pub(crate) fn out_bytes(&self) -> usize {
        self.out_bytes
    }

    pub(crate) fn cancel_fetch(&mut self, task: Tag) -> bool {
        self.fetches.cancel(task)
    }

    /// A read has completed: what it brought.
    pub(crate) fn fetched(&mut self, id: u64) -> Option<Fetched> {
        let fetched = self.fetches.done(id)?;
        if let Some(before) = self.before_reads.pop_front() {
            self.completed(before);
        }
        Some(fetched)
    }

    /// The bytes of a buffer that a read has filled.
    pub(crate) fn bytes(&self, buffer: &Buffer, len: u32) -> &[u8] {
        self.blocks.bytes(buffer, len as usize)
    }

    /// The bytes of a read are in the store.
    pub(crate) fn give_back_read(&mut self, buffer: Buffer, copied: u32) {
        self.count_copy(copied.into());
        self.fetches.buffers.push(buffer);
    }

    pub(super) fn count_copy(&mut self, bytes: u64) {
        self.copies += 1;
        self.copied_bytes += bytes;
    }

    /// Work number `id` and all before it is over.
    pub(super) fn completed(&mut self, id: u64) {
        if id > self.posted || id <= self.completed {
            return;
        }
        self.completed = id;
        while let Some((work, _)) = self.held.front()
            && *work <= id
        {
            if let Some((_, Held::Buffer(buffer))) = self.held.pop_front() {
                self.give_back(buffer);
            }
        }
    }

    /// Whether something waits to be sent, or a completion that was asked for is still to come.
    pub(super) fn is_sending(&self) -> bool {
        !self.out.is_empty() || self.signalled > self.completed
    }

    pub(super) fn stats(&self, counters: &Counters) -> RdmaStats {
        RdmaStats {
            sends: counters.sends,
            receives: counters.receives,
            writes: counters.writes,
            reads: counters.reads,
            completions: counters.send_completions,
            signalled: counters.signalled,
            doorbells: counters.doorbells,
            wake_ups: counters.wake_ups,
            copies: self.copies,
            copied_bytes: self.copied_bytes,
        }
    }

    /// Posts what is queued, as far as it fits. With `last` the end of it asks for a completion.
    pub(super) fn pump(
        &mut self,
        endpoint: &mut dyn Endpoint,
        last: bool,
    ) -> Result<(), RdmaError> {
        if !self.established {
            return Ok(());
        }
        self.post_reads(endpoint)?;
        while self.has_room() && self.post_next(endpoint, last)? {}
        Ok(())
    }

    fn has_room(&self) -> bool {
        let sends = (self.posted - self.completed) as u32;
        sends + self.fetches.under_way() < self.sends_max
    }

    /// Posts the first item, or as much of it as there are buffers for; false when nothing can be posted.
    fn post_next(&mut self, endpoint: &mut dyn Endpoint, last: bool) -> Result<bool, RdmaError> {
        match self.out.pop_front() {
            None => Ok(false),
            Some(Item::Send { message, invalidate }) => {
                let (buffer, len) = match message {
                    Message::Ready(buffer, len) => (buffer, len),
                    Message::Late(bytes) => match self.take(bytes.len()) {
                        Some(buffer) if buffer.len >= bytes.len() => {
                            self.blocks.fill(&buffer, &[&bytes]);
                            (buffer, bytes.len())
                        }
                        other => {
                            other.into_iter().for_each(|buffer| self.give_back(buffer));
                            let message = Message::Late(bytes);
                            self.out.push_front(Item::Send { message, invalidate });
                            return Ok(false);
                        }
                    },
                };
                self.out_bytes -= len;
                let segment = self.blocks.segment(&buffer, len);
                let scarce = buffer.len != SMALL_BYTES;
                let signal = self.signal(scarce || (last && self.out.is_empty()));
                let id = self.posted;
                self.held.push_back((id, Held::Buffer(buffer)));
                endpoint.post(&Work::Send { id, segments: &[segment], invalidate, signal })?;
                Ok(true)
            }
            Some(Item::Write { payload, to }) => match payload.memory() {
                Some(_) => self.post_in_place(endpoint, payload, to).map(|()| true),
                None => self.post_copy(endpoint, payload, to),
            },
        }
    }

    /// Numbers the next work, and says whether it asks for a completion.
    fn signal(&mut self, wanted: bool) -> bool {
        self.posted += 1;
        self.unsignalled += 1;
        let signal = wanted || self.unsignalled >= SIGNAL_EVERY;
        if signal {
            self.unsignalled = 0;
            self.signalled = self.posted;
        }
        signal
    }

    /// Writes payloads that follow each other from where they lie.
    fn post_in_place(
        &mut self,
        endpoint: &mut dyn Endpoint,
        first: Payload,
        to: Remote,
    ) -> Result<(), RdmaError> {
        let mut list = [NO_SEGMENT; SEGMENTS_MAX];
        let (mut used, mut bytes) = (0, 0);
        let signal = self.signal(false);
        let id = self.posted;
        let mut next = Some(first);
        while let Some(mut payload) = next.take() {
            let Some(memory) = payload.memory() else { break }; // looked at before it is taken
            let key = self.local_key(memory)?;
            let part = payload.split_to(self.bytes_max - bytes);
            let address = part.pointer() as u64;
            list[used] = Segment { address, len: part.len() as u32, key };
            used += 1;
            bytes += part.len();
            self.held.push_back((id, Held::Payload(part)));
            if !payload.is_empty() {
                let to = Remote { address: to.address.wrapping_add(bytes as u64), ..to };
                self.out.push_front(Item::Write { payload, to });
                break;
            }
            let follows = used < self.segments_max
                && bytes < self.bytes_max
                && matches!(self.out.front(), Some(Item::Write { payload, to: other })
                    if payload.memory().is_some()
                        && other.key == to.key
                        && other.address == to.address.wrapping_add(bytes as u64));
            if follows && let Some(Item::Write { payload, .. }) = self.out.pop_front() {
                next = Some(payload);
            }
        }
        self.out_bytes -= bytes;
        let remote = RemoteAddress { address: to.address, key: to.key };
        endpoint.post(&Work::Write { id, segments: &list[..used], remote, signal })
    }

    /// Writes a payload that no adapter can reach, by way of a buffer.
    fn post_copy(
        &mut self,
        endpoint: &mut dyn Endpoint,
        mut payload: Payload,
        to: Remote,
    ) -> Result<bool, RdmaError> {
        let Some(buffer) = self.take(payload.len()) else {
            self.out.push_front(Item::Write { payload, to });
            return Ok(false);
        };
        let len = payload.len().min(buffer.len).min(self.bytes_max);
        self.blocks.copy(&buffer, &payload, len);
        self.count_copy(len as u64);
        self.out_bytes -= len;
        payload.advance(len);
        if !payload.is_empty() {
            let to = Remote { address: to.address.wrapping_add(len as u64), ..to };
            self.out.push_front(Item::Write { payload, to });
        }
        let segment = self.blocks.segment(&buffer, len);
        // Large buffers are few: each is wanted back as soon as it is done with.
        let signal = self.signal(buffer.len != SMALL_BYTES);
        let id = self.posted;
        self.held.push_back((id, Held::Buffer(buffer)));
        let remote = RemoteAddress { address: to.address, key: to.key };
        endpoint.post(&Work::Write { id, segments: &[segment], remote, signal })?;
        Ok(true)
    }

    fn post_reads(&mut self, endpoint: &mut dyn Endpoint) -> Result<(), RdmaError> {
        while self.has_room() {
            let (domain, blocks, cached) = (&self.domain, &self.blocks, &mut self.key);
            let mut runs = [(0, 0, 0); SEGMENTS_MAX];
            let Some(next) = self.fetches.next(&mut runs) else { return Ok(()) };
            let mut list = [NO_SEGMENT; SEGMENTS_MAX];
            let used = match next.target {
                Target::Buffer(buffer, len) => {
                    list[0] = blocks.segment(buffer, len);
                    1
                }
                Target::Store(placement, used) => {
                    let key = |memory: &Memory| key_of(domain.as_ref(), cached, memory);
                    segments(placement, &runs[..used], &mut list, key)?;
                    used
                }
            };
            let remote = RemoteAddress { address: next.from.address, key: next.from.key };
            endpoint.post(&Work::Read { id: next.id, segments: &list[..used], remote })?;
            self.before_reads.push_back(self.posted);
            self.unsignalled = 0;
            self.signalled = self.posted;
        }
        Ok(())
    }

    fn local_key(&mut self, memory: &Memory) -> Result<u32, RdmaError> {
        key_of(self.domain.as_ref(), &mut self.key, memory)
    }
}

/// The key of a block for work of this end.
fn key_of(
    domain: Option<&Arc<Domain>>,
    cached: &mut (u64, u32),
    memory: &Memory,
) -> Result<u32, RdmaError> {
    if cached.0 != memory.id() {
        let domain = domain.ok_or(RdmaError::State("not open"))?;
        *cached = (memory.id(), domain.keys(memory, Access::LOCAL)?.local);
    }
    Ok(cached.1)
}
