//! RDMA, as iSER needs it: reliable connections with private data, sends with and without invalidation, RDMA
//! read and write, registered memory with rights, completions.
//!
//! ```text
//! Fabric ── listen ─▶ Listener ── poll ─▶ Incoming ── open ─▶ Endpoint ── establish ─▶ Established
//!        └─ connect ─▶ Endpoint ── Resolved: post receives ── establish ─▶ Established
//! Memory ── Domain::register ─▶ Region (keys) ─▶ Segment ─▶ Endpoint::post
//! ```
//!
//! Two implementations: verbs (rdma-core) in a crate of its own, and [`soft`], in process, with the same
//! rules, so that every state machine above is tested without hardware. An endpoint belongs to one thread at a
//! time; its descriptor becomes readable when [`Endpoint::poll`] may have something.

mod error;
mod memory;
pub(crate) mod serve;
pub mod soft;

use std::fmt::Debug;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::RawFd;
use std::sync::Arc;

pub use error::RdmaError;
pub use memory::{Access, Domain, Keys, Memory, Region, Registrar};
pub use serve::{RdmaConnection, RdmaIo, RdmaService, Served};

/// Most completions that one poll hands over.
pub const COMPLETIONS_A_POLL: usize = 64;
/// Most private data of a connect request (RDMA_PS_TCP, rdma_connect(3)), in bytes.
pub const PRIVATE_DATA_CONNECT_MAX: usize = 56;
/// Most private data of an accept or reject (rdma_accept(3)), in bytes.
pub const PRIVATE_DATA_ACCEPT_MAX: usize = 196;

/// A provider of RDMA connections.
pub trait Fabric: Debug + Send + Sync {
    /// What it is, for status and logs: `verbs`, `soft`.
    fn name(&self) -> &'static str;

    /// Listens on an address. One listener per address family: a wildcard of IPv6 does not take IPv4.
    fn listen(&self, address: SocketAddr) -> Result<Box<dyn Listener>, RdmaError>;

    /// Begins to connect, from a local address if one is given. The endpoint's events tell how it goes on:
    /// [`ConnectionEvent::Resolved`], then [`Endpoint::establish`], then [`ConnectionEvent::Established`].
    fn connect(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        queues: Queues,
    ) -> Result<Box<dyn Endpoint>, RdmaError>;
}

/// How much may be outstanding on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queues {
    /// Sends, writes and reads posted and not known to be complete.
    pub sends: u32,
    /// Receives posted.
    pub receives: u32,
    /// Segments of one work request; the adapter may allow fewer: see [`Endpoint::limits`].
    pub segments: u32,
}

/// What the two ends tell each other when they connect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Establish {
    /// At most [`PRIVATE_DATA_CONNECT_MAX`] or [`PRIVATE_DATA_ACCEPT_MAX`] bytes.
    pub private_data: Vec<u8>,
    /// RDMA reads that this end may have outstanding (ORD).
    pub initiator_depth: u8,
    /// RDMA reads of the peer that this end answers at a time (IRD).
    pub responder_resources: u8,
}

/// Waits for connections.
pub trait Listener: Send {
    /// Where it listens.
    fn address(&self) -> SocketAddr;
    /// Readable when [`Self::poll`] may have something.
    fn descriptor(&self) -> RawFd;
    /// The next peer that asks to connect, if any. A removed adapter or a changed address is answered by
    /// listening anew.
    fn poll(&mut self) -> Result<Option<Incoming>, RdmaError>;
}

/// A peer that asks to connect.
pub struct Incoming {
    /// Its address.
    pub peer: SocketAddr,
    /// The address that it asked for.
    pub local: SocketAddr,
    /// What it sent with the request; may be longer than what was sent, then padded with zeroes. `initiator_depth`
    /// and `responder_resources` are the peer's own: its reads, and what it answers.
    pub asks: Establish,
    /// Opens or refuses.
    pub request: Box<dyn Request>,
}

/// The undecided half of an [`Incoming`]. Dropping it rejects the peer without private data.
pub trait Request: Send {
    /// Makes the endpoint: post receives, then [`Endpoint::establish`] to accept.
    fn open(self: Box<Self>, queues: Queues) -> Result<Box<dyn Endpoint>, RdmaError>;
    /// Refuses.
    fn reject(self: Box<Self>, private_data: &[u8]) -> Result<(), RdmaError>;
}

/// What an adapter can do for one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Segments of one work request.
    pub segments: u32,
    /// RDMA reads that an end may have outstanding.
    pub reads_outstanding: u8,
    /// RDMA reads of the peer that an end answers at a time.
    pub reads_answered: u8,
    /// Bytes of one work request.
    pub message_bytes: u32,
}

/// Bytes of registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// First byte, an address of this process.
    pub address: u64,
    /// Length in bytes.
    pub len: u32,
    /// Local key of the region.
    pub key: u32,
}

/// Where the peer's bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddress {
    /// First byte, an address of the peer's.
    pub address: u64,
    /// Remote key of the peer's region (STag).
    pub key: u32,
}

/// A work request of the send queue. They are begun in order; a completion that is asked for (`signal`) tells
/// that all earlier ones are complete too. Reads always complete with a completion of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work<'a> {
    /// Bytes for the peer's next receive.
    Send {
        /// Returned by the completion.
        id: u64,
        /// What is sent.
        segments: &'a [Segment],
        /// The peer's key that is invalid once the message has arrived.
        invalidate: Option<u32>,
        /// Ask for a completion.
        signal: bool,
    },
    /// Bytes into the peer's memory.
    Write {
        /// Returned by the completion.
        id: u64,
        /// What is written.
        segments: &'a [Segment],
        /// Where to.
        remote: RemoteAddress,
        /// Ask for a completion.
        signal: bool,
    },
    /// Bytes out of the peer's memory.
    Read {
        /// Returned by the completion.
        id: u64,
        /// Where to.
        segments: &'a [Segment],
        /// Where from.
        remote: RemoteAddress,
    },
}

/// What a completion is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A message arrived in a posted receive.
    Receive,
    /// A signalled send is done, and all before it.
    Send,
    /// A signalled write is done, and all before it.
    Write,
    /// The data of a read is here.
    Read,
}

/// How a work request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Well.
    Success,
    /// The connection ended first.
    Flushed,
    /// A receive was too short for the message.
    LocalLength,
    /// A local key, its rights or its bounds were wrong.
    LocalProtection,
    /// The peer refused the access: key, rights or bounds.
    RemoteAccess,
    /// The peer found the request invalid, such as a message longer than its receive.
    RemoteInvalidRequest,
    /// The peer did not answer.
    RetryExceeded,
    /// The peer had no receive posted for too long.
    ReceiverNotReady,
    /// Anything else, by its number in `ibv_wc_status`.
    Other(u32),
}

/// The end of a work request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// As posted.
    pub id: u64,
    /// What it was. Not to be relied upon when the status is not success.
    pub operation: Operation,
    /// How it ended. After anything but success the connection is broken.
    pub status: Status,
    /// Bytes of a receive; peer controlled, at most the length of the posted receive.
    pub len: u32,
    /// The key of this end that the message has invalidated.
    pub invalidated: Option<u32>,
}

/// What happens to a connection as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The way to the peer is known and the queues exist: register, post receives, [`Endpoint::establish`].
    Resolved,
    /// It is up. The first message may have completed before.
    Established(Establish),
    /// The peer refused.
    Rejected {
        /// Reason of the connection manager, or of the peer.
        reason: i32,
        /// What the peer sent with it.
        private_data: Vec<u8>,
    },
    /// It came to nothing: no route, no answer, no adapter.
    Failed(String),
    /// The peer, or this end, disconnected.
    Disconnected,
    /// The adapter is going away.
    DeviceRemoved,
    /// The address moved to another adapter.
    AddressChanged,
}

/// What a poll found besides completions.
#[derive(Debug, Default)]
pub struct Polled {
    /// At most one event of the connection a poll.
    pub event: Option<ConnectionEvent>,
    /// There may be more: poll again without waiting for the descriptor.
    pub again: bool,
}

/// What an endpoint has done; for counts per I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Sends posted.
    pub sends: u64,
    /// Receives completed.
    pub receives: u64,
    /// RDMA writes posted.
    pub writes: u64,
    /// RDMA reads posted.
    pub reads: u64,
    /// Completions of the send queue.
    pub send_completions: u64,
    /// Work requests that asked for a completion.
    pub signalled: u64,
    /// Times that posted work was handed to the adapter.
    pub doorbells: u64,
    /// Times that the descriptor woke its thread.
    pub wake_ups: u64,
}

/// One end of a reliable connection.
pub trait Endpoint: Send {
    /// Readable when [`Self::poll`] may have something.
    fn descriptor(&self) -> RawFd;
    /// The peer's address.
    fn peer(&self) -> SocketAddr;
    /// The address of this end, once it is known.
    fn local(&self) -> Option<SocketAddr>;
    /// Where memory for this endpoint is registered. Endpoints of one listener and adapter share it, so nothing
    /// in it may grant remote rights; an endpoint that connects has its own.
    fn domain(&self) -> Result<Arc<Domain>, RdmaError>;
    /// What the adapter can do; after [`ConnectionEvent::Resolved`].
    fn limits(&self) -> Limits;
    /// Connects (after `Resolved`) or accepts (after [`Request::open`]).
    fn establish(&mut self, terms: &Establish) -> Result<(), RdmaError>;
    /// Posts a receive; it goes to the adapter with the next [`Self::flush`].
    fn post_receive(&mut self, id: u64, into: Segment) -> Result<(), RdmaError>;
    /// Queues a work request; it goes to the adapter with the next [`Self::flush`]. An error means that a queue
    /// is full or the connection is gone.
    fn post(&mut self, work: &Work<'_>) -> Result<(), RdmaError>;
    /// Hands everything queued to the adapter.
    fn flush(&mut self) -> Result<(), RdmaError>;
    /// Appends up to [`COMPLETIONS_A_POLL`] completions. When it finds nothing more it has armed the
    /// descriptor, and looked once more after arming.
    fn poll(&mut self, completions: &mut Vec<Completion>) -> Result<Polled, RdmaError>;
    /// Ends the connection: whatever is outstanding is flushed, then comes [`ConnectionEvent::Disconnected`].
    fn disconnect(&mut self);
    /// What was done so far.
    fn counters(&self) -> Counters;
}
