//! The registered buffers of PDUs: a ring of sends, and receives that are posted again when they are read.
//!
//! A send is over when a completion says so, its own or that of a later one, never because the target has
//! answered: until then the adapter may read it again (one send in sixteen asks for a completion). Receives are
//! as many as the target can send: answers to all that is under way, what it may say unasked, and a little.

use std::sync::Arc;

use plimsoll_fabric::Payload;
use plimsoll_fabric::rdma::{Access, Domain, Endpoint, Memory, Queues, RdmaError, Region, Segment};
use plimsoll_wire::iser::{LOGIN_DATA_MAX, LOGIN_MESSAGE_MAX, MESSAGE_MIN};

/// Longest data segment that goes out in a send: login and text keys, immediate data.
pub const SEND_DATA_MAX: usize = 4096;
/// One send in so many asks for a completion.
const SIGNAL_EVERY: u64 = 16;
/// Commands under way at most, whatever flow depth is asked for.
pub const DEPTH_MAX: u16 = 1024;
/// Questions of the set-up that go out beside the commands.
const SETUP: u32 = 8;
/// Immediate requests (pings, aborts, a logout) of this end without an answer at a time, if the target takes
/// as many.
pub const UNEXPECTED_SENT_MAX: u32 = 8;
/// What the target may say unasked at a time: pings, messages, a reject.
const UNEXPECTED_TAKEN_MAX: u32 = 8;
/// Receives for the login phase: one is answered, one is spare.
const LOGIN_RECEIVES: u32 = 2;
/// Buffers begin at multiples of this.
const ALIGN: usize = 64;

/// What this end declares as InitiatorRecvDataSegmentLength: room for sense data; in a discovery session for
/// longer answers.
pub fn receive_data_max(is_discovery: bool) -> usize {
    if is_discovery { 8192 } else { 512 }
}

/// How much of everything a connection has.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    depth: u32,
    receive_data: usize,
}

impl Plan {
    pub fn new(depth: u16, is_discovery: bool) -> Self {
        let depth = if is_discovery { 1 } else { depth.clamp(1, DEPTH_MAX) };
        Self { depth: depth.into(), receive_data: receive_data_max(is_discovery) }
    }

    /// Sends: one for each thing that can be under way, and those whose completion is not asked for.
    fn sends(self) -> u32 {
        self.depth + SETUP + UNEXPECTED_SENT_MAX + UNEXPECTED_TAKEN_MAX + SIGNAL_EVERY as u32
    }

    /// Receives of full feature phase: window, unexpected, and two.
    fn receives(self) -> u32 {
        self.depth + SETUP + UNEXPECTED_SENT_MAX + UNEXPECTED_TAKEN_MAX + 2
    }

    /// Longest data segment of a PDU that may come, in full feature phase or before.
    #[inline]
    pub fn receive_data_max(self, full_feature: bool) -> usize {
        if full_feature { self.receive_data } else { LOGIN_DATA_MAX }
    }

    pub fn queues(self) -> Queues {
        Queues { sends: self.sends(), receives: self.receives() + LOGIN_RECEIVES, segments: 1 }
    }
}

fn allocate(domain: &Domain, count: u32, each: usize, before: usize) -> Result<Region, RdmaError> {
    let bytes = before + count as usize * each;
    let memory = Memory::allocate(bytes)
        .map_err(|source| RdmaError::Call { call: format!("memory of {bytes} bytes"), source })?;
    domain.register(&memory, Access::LOCAL)
}

/// The ring of sends; the number of a send is its id.
pub struct Sends {
    region: Region,
    count: u64,
    next: u64,
    /// All before are over.
    done: u64,
}

impl Sends {
    const EACH: usize = (MESSAGE_MIN + SEND_DATA_MAX).next_multiple_of(ALIGN);

    pub fn new(domain: &Domain, plan: Plan) -> Result<Self, RdmaError> {
        let count = plan.sends();
        let region = allocate(domain, count, Self::EACH, 0)?;
        Ok(Self { region, count: count.into(), next: 0, done: 0 })
    }

    pub fn registered_bytes(&self) -> usize {
        self.region.memory().len()
    }

    /// Sends that can be outstanding.
    pub fn count(&self) -> u32 {
        self.count as u32
    }

    /// Sends that can go out now.
    #[inline]
    pub fn room(&self) -> u64 {
        self.count - (self.next - self.done)
    }

    /// Begins the next send: its id, its buffer, and whether to ask for a completion. The caller has looked at
    /// [`Self::room`].
    #[inline]
    pub fn begin(&mut self) -> Send<'_> {
        debug_assert!(self.room() > 0, "the buffer of the next send is free");
        let id = self.next;
        self.next += 1;
        let offset = (id % self.count) as usize * Self::EACH;
        let signal = id % SIGNAL_EVERY == SIGNAL_EVERY - 1;
        Send { region: &self.region, offset, len: 0, id, signal }
    }

    /// A completion came: this send and all before are over. False when it never began.
    #[inline]
    pub fn complete(&mut self, id: u64) -> bool {
        if id >= self.next {
            return false;
        }
        self.done = self.done.max(id + 1);
        true
    }
}

/// A send that is being written.
pub struct Send<'a> {
    region: &'a Region,
    offset: usize,
    len: usize,
    pub id: u64,
    pub signal: bool,
}

impl Send<'_> {
    /// Appends bytes; all must fit.
    #[allow(unsafe_code)]
    #[inline]
    pub fn put(&mut self, bytes: &[u8]) {
        assert!(self.len + bytes.len() <= Sends::EACH);
        // SAFETY: the buffer of a send that is not posted yet: the ring gives it out again only when the
        // completion of its last use has come, so no work on it is outstanding and nobody else uses it.
        unsafe { self.region.memory().put(self.offset + self.len, bytes) };
        self.len += bytes.len();
    }

    /// Appends the bytes of a payload; all must fit.
    pub fn copy(&mut self, data: &Payload) {
        assert!(self.len + data.len() <= Sends::EACH);
        copy(data, self.region.memory(), self.offset + self.len);
        self.len += data.len();
    }

    pub fn segment(&self) -> Segment {
        self.region.segment(self.offset, self.len)
    }
}

/// Copies a payload into a buffer that no outstanding work refers to.
#[allow(unsafe_code)]
pub fn copy(data: &Payload, memory: &Memory, offset: usize) {
    assert!(offset.checked_add(data.len()).is_some_and(|end| end <= memory.len()));
    // SAFETY: a payload is readable for its length while it lives; the range is in bounds by the assertion,
    // and is a buffer of this connection that was given out to nobody else, so the two do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(data.pointer(), memory.pointer().add(offset), data.len());
    }
}

/// Buffers of receives; the index of a buffer is its id.
pub struct Receives {
    region: Region,
    plan: Plan,
    full_feature: bool,
}

impl Receives {
    const LOGIN_EACH: usize = LOGIN_MESSAGE_MAX.next_multiple_of(ALIGN);

    /// Posts those of the login phase.
    pub fn new(
        domain: &Domain,
        plan: Plan,
        endpoint: &mut dyn Endpoint,
    ) -> Result<Self, RdmaError> {
        let before = LOGIN_RECEIVES as usize * Self::LOGIN_EACH;
        let region = allocate(domain, plan.receives(), Self::each(plan), before)?;
        let receives = Self { region, plan, full_feature: false };
        for id in 0..LOGIN_RECEIVES {
            receives.post(id.into(), endpoint)?;
        }
        Ok(receives)
    }

    fn each(plan: Plan) -> usize {
        (MESSAGE_MIN + plan.receive_data).next_multiple_of(ALIGN)
    }

    pub fn memory(&self) -> &Arc<Memory> {
        self.region.memory()
    }

    /// Where the buffer with this id is; none for an id that was never posted.
    #[inline]
    pub fn locate(&self, id: u64) -> Option<(usize, usize)> {
        let logins = u64::from(LOGIN_RECEIVES);
        match id.checked_sub(logins) {
            None => Some((id as usize * Self::LOGIN_EACH, LOGIN_MESSAGE_MAX)),
            Some(index) if index < self.plan.receives().into() => {
                let before = logins as usize * Self::LOGIN_EACH;
                let len = MESSAGE_MIN + self.plan.receive_data;
                Some((before + index as usize * Self::each(self.plan), len))
            }
            Some(_) => None,
        }
    }

    /// Posts a buffer whose bytes are not looked at any more.
    #[inline]
    pub fn post(&self, id: u64, endpoint: &mut dyn Endpoint) -> Result<(), RdmaError> {
        let Some((offset, len)) = self.locate(id) else { return Ok(()) };
        endpoint.post_receive(id, self.region.segment(offset, len))
    }

    /// Posts those of full feature phase, once: before the request that may end the login, as the target may
    /// speak right after its response.
    pub fn post_full_feature(&mut self, endpoint: &mut dyn Endpoint) -> Result<(), RdmaError> {
        if std::mem::replace(&mut self.full_feature, true) {
            return Ok(());
        }
        for index in 0..self.plan.receives() {
            self.post((LOGIN_RECEIVES + index).into(), endpoint)?;
        }
        endpoint.flush()
    }
}
