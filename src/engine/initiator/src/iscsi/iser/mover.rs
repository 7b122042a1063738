//! The datamover of an iSER connection (RFC 5047, RFC 7145 section 7), the initiator's side: control PDUs are
//! sends; data is placed and fetched by the target, in memory that a command advertises with its tags.
//!
//! What a command reads lands in a slot of the connection. What it writes is exposed where it lies when it lies
//! in a block that RDMA can reach, else it is copied into a slot. Both end with the task, not before.

use std::sync::Arc;

use plimsoll_fabric::Payload;
use plimsoll_fabric::rdma::{Access, Domain, Endpoint, RdmaError, Work};
use plimsoll_wire::iscsi::Bhs;
use plimsoll_wire::iser::{Header, Tag};

use super::buffers::{self, Plan, Receives, Sends};
use super::pool::{Place, Pool};
use crate::transport::RdmaCounters;

/// Sends that are left for requests other than commands.
const SENDS_KEPT: u64 = 16;

/// Everything that is registered for one connection.
pub struct Buffers {
    domain: Arc<Domain>,
    sends: Sends,
    pub receives: Receives,
    /// Targets place into these.
    reads: Pool,
    /// Targets fetch from these.
    writes: Pool,
    copies: u64,
    copied_bytes: u64,
    /// Work was queued and not handed to the adapter.
    pub is_unflushed: bool,
    /// What failed while a PDU was queued; told by the next flush.
    pub failure: Option<RdmaError>,
}

impl Buffers {
    /// Registers, and posts the receives of the login phase.
    pub fn new(endpoint: &mut dyn Endpoint, plan: Plan) -> Result<Self, RdmaError> {
        let domain = endpoint.domain()?;
        Ok(Self {
            sends: Sends::new(&domain, plan)?,
            receives: Receives::new(&domain, plan, endpoint)?,
            domain,
            reads: Pool::new(Access::REMOTE_WRITE),
            writes: Pool::new(Access::REMOTE_READ),
            copies: 0,
            copied_bytes: 0,
            is_unflushed: true,
            failure: None,
        })
    }

    pub fn counters(&self) -> RdmaCounters {
        let registered = self.sends.registered_bytes()
            + self.receives.memory().len()
            + self.reads.registered_bytes()
            + self.writes.registered_bytes();
        RdmaCounters {
            copies: self.copies,
            copied_bytes: self.copied_bytes,
            registered_bytes: registered as u64,
            ..RdmaCounters::default()
        }
    }

    /// A signalled send and all before it are over; false when it never began.
    #[inline]
    pub fn sent(&mut self, id: u64) -> bool {
        self.sends.complete(id)
    }
}

/// Memory of a task that the target may reach.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    place: Option<Place>,
    is_read: bool,
}

/// A connection's endpoint and buffers during one step.
pub struct Mover<'a> {
    pub endpoint: &'a mut dyn Endpoint,
    pub buffers: &'a mut Buffers,
}

impl Mover<'_> {
    /// Whether another command can go out now; its data may still have to wait.
    #[inline]
    pub fn has_room(&self) -> bool {
        self.buffers.sends.room() > SENDS_KEPT
    }

    #[cold]
    fn fail(&mut self, error: RdmaError) {
        self.buffers.is_unflushed = true;
        self.buffers.failure.get_or_insert(error);
    }

    /// Memory for `len` bytes that the target will place, zeroed if what it does not place would be looked at.
    /// None while there is no room.
    #[inline]
    pub fn place(&mut self, len: u32, zeroed: bool) -> Option<(Held, Tag)> {
        let Buffers { reads, domain, .. } = &mut *self.buffers;
        let place = match reads.take(len as usize, domain) {
            Ok(place) => place?,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        let (region, offset) = reads.locate(place);
        if zeroed {
            zero(region.memory(), offset, len as usize);
        }
        let address = region.memory().pointer() as u64 + offset as u64;
        let held = Held { place: Some(place), is_read: true };
        Some((held, Tag { key: region.keys().remote, address }))
    }

    /// Lets the target fetch `data`. None while there is no room for a copy.
    #[inline]
    pub fn expose(&mut self, data: &Payload) -> Option<(Held, Tag)> {
        let Buffers { writes, domain, copies, copied_bytes, .. } = &mut *self.buffers;
        if let Some(memory) = data.memory() {
            // Memory that cannot be registered (too much is pinned already) can still be copied.
            match domain.keys(memory, Access::REMOTE_READ) {
                Ok(keys) => {
                    let tag = Tag { key: keys.remote, address: data.pointer() as u64 };
                    return Some((Held { place: None, is_read: false }, tag));
                }
                Err(error) => tracing::debug!(%error, "a payload is copied"),
            }
        }
        let place = match writes.take(data.len(), domain) {
            Ok(place) => place?,
            Err(error) => {
                self.fail(error);
                return None;
            }
        };
        let (region, offset) = writes.locate(place);
        buffers::copy(data, region.memory(), offset);
        *copies += 1;
        *copied_bytes += data.len() as u64;
        let address = region.memory().pointer() as u64 + offset as u64;
        let held = Held { place: Some(place), is_read: false };
        Some((held, Tag { key: region.keys().remote, address }))
    }

    /// What the target has placed for a task that is answered.
    #[allow(unsafe_code)]
    #[inline]
    pub fn placed(&self, held: Held, len: usize) -> &[u8] {
        let (Some(place), true) = (held.place, held.is_read) else { return &[] };
        let (region, offset) = self.buffers.reads.locate(place);
        // SAFETY: the slot belongs to the task until it is released, and this process writes to none that is
        // taken (a slot is zeroed before its command goes out). The target has said that it is done with it;
        // one that writes on is what `rdma::memory` calls a hostile writer: bytes have no invalid values.
        unsafe { region.memory().bytes(offset, len) }
    }

    /// The target will not reach the memory of a task any more.
    #[inline]
    pub fn release(&mut self, held: Held) {
        let Some(place) = held.place else { return };
        let pool = if held.is_read { &mut self.buffers.reads } else { &mut self.buffers.writes };
        pool.give_back(place);
    }

    /// Sends a PDU: header, `bhs`, and its data segment without padding.
    #[inline]
    pub fn send(&mut self, header: &Header, bhs: &Bhs, data: &[u8]) {
        if data.len() > buffers::SEND_DATA_MAX {
            return self.fail(RdmaError::BadWork("a PDU with more data than a send takes"));
        }
        self.post(header, bhs, |send| send.put(data));
    }

    /// Sends a command with immediate data, which is copied: the send may outlive the payload.
    #[inline]
    pub fn send_immediate(&mut self, header: &Header, bhs: &Bhs, data: &Payload) {
        debug_assert!(data.len() <= buffers::SEND_DATA_MAX, "longer data is fetched");
        self.buffers.copies += 1;
        self.buffers.copied_bytes += data.len() as u64;
        self.post(header, bhs, |send| send.copy(data));
    }

    #[inline]
    fn post(&mut self, header: &Header, bhs: &Bhs, fill: impl FnOnce(&mut buffers::Send<'_>)) {
        let sends = &mut self.buffers.sends;
        if sends.room() == 0 {
            let depth = sends.count();
            return self.fail(RdmaError::QueueFull { queue: "send", depth });
        }
        let mut send = sends.begin();
        send.put(&header.build());
        send.put(bhs);
        fill(&mut send);
        let work = Work::Send {
            id: send.id,
            segments: &[send.segment()],
            invalidate: None,
            signal: send.signal,
        };
        match self.endpoint.post(&work) {
            Ok(()) => self.buffers.is_unflushed = true,
            Err(error) => self.fail(error),
        }
    }

    /// The login may end with the answer to what is sent next.
    pub fn expect_full_feature(&mut self) {
        if let Err(error) = self.buffers.receives.post_full_feature(self.endpoint) {
            self.fail(error);
        }
    }
}

#[allow(unsafe_code)]
fn zero(memory: &plimsoll_fabric::rdma::Memory, offset: usize, len: usize) {
    assert!(offset.checked_add(len).is_some_and(|end| end <= memory.len()));
    // SAFETY: in bounds by the assertion; a slot that was just taken, which no outstanding work refers to.
    unsafe { std::ptr::write_bytes(memory.pointer().add(offset), 0, len) };
}
