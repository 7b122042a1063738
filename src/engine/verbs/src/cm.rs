//! The connection manager's objects: channels that bring events, and ids, which are connections or listeners.
//!
//! An event is copied and acknowledged at once, so that no id ever waits to be destroyed for an event that
//! nobody acknowledges. An id is destroyed before its channel: it holds it.

use std::ffi::c_void;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ibverbs_sys::ibv_context;
use plimsoll_fabric::rdma::{Establish, RdmaError};

use crate::adapter;
use crate::address::{self, CAddress};
use crate::ffi::{self, CmEvent, CmId, ConnParam, EventChannel};
use crate::library::{Libraries, failed};

/// How long the way to a peer may take to be found.
const RESOLVE_MS: i32 = 3000;
/// Peers that may wait to be accepted.
const BACKLOG: i32 = 256;
/// Retransmissions, and retries of a peer that is not ready to receive; 7 of the latter means for ever.
const RETRIES: u8 = 7;
/// The local acknowledge time-out is 4.096 µs times two to this power, 0.54 s: with 7 retries a lost peer is
/// noticed in seconds, where what a path's default gives are tens of them.
const ACK_TIMEOUT: u8 = 17;

/// Brings the events of its ids.
pub struct Channel {
    raw: NonNull<EventChannel>,
    libraries: &'static Libraries,
}

// SAFETY: a channel is a file descriptor; librdmacm lets any thread use it.
#[allow(unsafe_code)]
unsafe impl Send for Channel {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Channel {}

/// An event, already acknowledged.
pub struct Event {
    /// What happened, one of [`ffi::event`].
    pub kind: i32,
    /// A negative error number, or the reason of a rejection.
    pub status: i32,
    /// Names the id that it happened to; of a request, the id that listens.
    pub id: usize,
    /// The id of a request to connect.
    pub request: Option<Id>,
    /// What the peer said, from its own point of view.
    pub said: Establish,
}

impl Channel {
    /// A channel whose events never block.
    #[allow(unsafe_code)]
    pub fn new(libraries: &'static Libraries) -> Result<Arc<Self>, RdmaError> {
        // SAFETY: it takes nothing; what it returns is checked.
        let raw = NonNull::new(unsafe { (libraries.cm.rdma_create_event_channel)() });
        let Some(raw) = raw else {
            return Err(failed("rdma_create_event_channel", 0));
        };
        let channel = Self { raw, libraries };
        not_blocking(channel.descriptor())?;
        Ok(Arc::new(channel))
    }

    /// Readable when there is an event.
    #[allow(unsafe_code)]
    pub fn descriptor(&self) -> RawFd {
        // SAFETY: the channel lives until `self` is dropped, and its descriptor does not change.
        unsafe { self.raw.as_ref().fd }
    }

    /// The next event, if any.
    #[allow(unsafe_code)]
    pub fn next(self: &Arc<Self>) -> Result<Option<Event>, RdmaError> {
        let mut raw: *mut CmEvent = null_mut();
        // SAFETY: the channel lives; the result goes to a live pointer.
        let code =
            unsafe { (self.libraries.cm.rdma_get_cm_event)(self.raw.as_ptr(), &raw mut raw) };
        if code != 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::WouldBlock => Ok(None),
                _ => Err(RdmaError::Call { call: "rdma_get_cm_event".into(), source: error }),
            };
        }
        // SAFETY: on success the pointer is to an event that stays until it is acknowledged. Its `connection`
        // is what the union holds: datagram ids are never made here.
        let event = unsafe { &*raw };
        let said = Establish {
            private_data: private_data(&event.connection),
            // The event tells them as this end's: what the peer answers is what this end may read.
            initiator_depth: event.connection.responder_resources,
            responder_resources: event.connection.initiator_depth,
        };
        let mut event = Event {
            kind: event.event,
            status: event.status,
            id: event.id as usize,
            request: None,
            said,
        };
        // SAFETY: as above; nothing of it is used after this.
        let (id, listener) = unsafe { ((*raw).id, (*raw).listen_id) };
        // SAFETY: it is acknowledged once.
        unsafe { (self.libraries.cm.rdma_ack_cm_event)(raw) };
        if event.kind == ffi::event::CONNECT_REQUEST {
            event.id = listener as usize;
            event.request = NonNull::new(id).map(|raw| Id::adopt(raw, self));
        }
        Ok(Some(event))
    }
}

impl Drop for Channel {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: every id of the channel holds it, so none is left; every event was acknowledged.
        unsafe { (self.libraries.cm.rdma_destroy_event_channel)(self.raw.as_ptr()) };
    }
}

#[allow(unsafe_code)]
fn private_data(said: &ConnParam) -> Vec<u8> {
    if said.private_data.is_null() || said.private_data_len == 0 {
        return Vec::new();
    }
    let len = usize::from(said.private_data_len);
    // SAFETY: librdmacm points it at this many bytes inside of the event, which is not acknowledged yet.
    unsafe { std::slice::from_raw_parts(said.private_data.cast::<u8>(), len) }.to_vec()
}

/// Makes calls on a descriptor return instead of wait.
#[allow(unsafe_code)]
pub fn not_blocking(descriptor: RawFd) -> Result<(), RdmaError> {
    // SAFETY: the calls change flags of a descriptor, no memory.
    let code = unsafe {
        let flags = libc::fcntl(descriptor, libc::F_GETFL);
        libc::fcntl(descriptor, libc::F_SETFL, flags | libc::O_NONBLOCK)
    };
    if code < 0 { Err(RdmaError::last_os_error("fcntl of an event channel")) } else { Ok(()) }
}

/// A connection, or what listens for connections, or what holds an adapter open.
pub struct Id {
    raw: NonNull<CmId>,
    channel: Arc<Channel>,
    libraries: &'static Libraries,
    look_at_end: AtomicBool,
}

// SAFETY: librdmacm lets any thread use an id.
#[allow(unsafe_code)]
unsafe impl Send for Id {}
// SAFETY: calls that change an id come from its one owner; whoever else holds it only keeps it from being
// destroyed, and reads what is set before it is shared.
#[allow(unsafe_code)]
unsafe impl Sync for Id {}

impl Id {
    /// An id of reliable connections.
    #[allow(unsafe_code)]
    pub fn new(channel: &Arc<Channel>) -> Result<Self, RdmaError> {
        let libraries = channel.libraries;
        let mut raw: *mut CmId = null_mut();
        // SAFETY: the channel lives, the result goes to a live pointer.
        let code = unsafe {
            (libraries.cm.rdma_create_id)(
                channel.raw.as_ptr(),
                &raw mut raw,
                null_mut(),
                ffi::PORT_SPACE_TCP,
            )
        };
        match NonNull::new(raw) {
            Some(raw) if code == 0 => Ok(Self::adopt(raw, channel)),
            _ => Err(failed("rdma_create_id", 0)),
        }
    }

    fn adopt(raw: NonNull<CmId>, channel: &Arc<Channel>) -> Self {
        Self {
            raw,
            channel: Arc::clone(channel),
            libraries: channel.libraries,
            look_at_end: AtomicBool::new(false),
        }
    }

    /// As events name it.
    pub fn name(&self) -> usize {
        self.raw.as_ptr() as usize
    }

    /// For other calls, while `self` lives.
    pub fn pointer(&self) -> *mut CmId {
        self.raw.as_ptr()
    }

    /// The libraries that it is of.
    pub fn libraries(&self) -> &'static Libraries {
        self.libraries
    }

    /// Where its events come.
    pub fn channel(&self) -> &Arc<Channel> {
        &self.channel
    }

    /// Moves it to a channel of its own, so that another thread can take its events.
    #[allow(unsafe_code)]
    pub fn migrate(&mut self, channel: &Arc<Channel>) -> Result<(), RdmaError> {
        // SAFETY: both live; no event of the id waits to be acknowledged, for which the call would wait.
        let code =
            unsafe { (self.libraries.cm.rdma_migrate_id)(self.raw.as_ptr(), channel.raw.as_ptr()) };
        if code != 0 {
            return Err(failed("rdma_migrate_id", 0));
        }
        self.channel = Arc::clone(channel);
        Ok(())
    }

    /// Its adapter, opened by librdmacm; null while there is none. Everything that belongs to the connection
    /// is made from it, and it stays open as long as an id of it lives.
    #[allow(unsafe_code)]
    pub fn context(&self) -> *mut ibv_context {
        // SAFETY: the id lives until `self` is dropped.
        unsafe { self.raw.as_ref().verbs }
    }

    /// The adapter's port.
    #[allow(unsafe_code)]
    pub fn port(&self) -> u8 {
        // SAFETY: as above.
        unsafe { self.raw.as_ref().port_num }
    }

    /// The address of this end.
    #[allow(unsafe_code)]
    pub fn local(&self) -> Option<SocketAddr> {
        // SAFETY: as above.
        address::read(unsafe { &self.raw.as_ref().route.source })
    }

    /// The peer's address.
    #[allow(unsafe_code)]
    pub fn peer(&self) -> Option<SocketAddr> {
        // SAFETY: as above.
        address::read(unsafe { &self.raw.as_ref().route.destination })
    }

    /// Its adapter may be gone when this id is destroyed.
    pub fn set_look_at_end(&self) {
        self.look_at_end.store(true, Ordering::Relaxed);
    }

    #[allow(unsafe_code)]
    fn set_option<T>(&self, name: i32, mut value: T) -> i32 {
        // SAFETY: the id lives; the value is read for its size.
        unsafe {
            (self.libraries.cm.rdma_set_option)(
                self.raw.as_ptr(),
                ffi::option::LEVEL_ID,
                name,
                (&raw mut value).cast::<c_void>(),
                size_of::<T>(),
            )
        }
    }

    /// A lost peer is noticed in seconds. A kernel or an adapter that cannot do it keeps its own time-out.
    pub fn set_ack_timeout(&self) {
        if self.set_option::<u8>(ffi::option::ACK_TIMEOUT, ACK_TIMEOUT) != 0 {
            tracing::debug!("the acknowledge time-out stays as the kernel has it");
        }
    }

    /// Takes an address, for its own family only.
    #[allow(unsafe_code)]
    pub fn bind(&self, address: SocketAddr) -> Result<(), RdmaError> {
        if self.set_option::<libc::c_int>(ffi::option::AFONLY, 1) != 0 {
            return Err(failed("rdma_set_option AFONLY", 0));
        }
        let mut to = CAddress::new(address);
        // SAFETY: the id and the address live.
        match unsafe { (self.libraries.cm.rdma_bind_addr)(self.raw.as_ptr(), to.pointer()) } {
            0 => Ok(()),
            _ => Err(failed(format!("rdma_bind_addr {address}"), 0)),
        }
    }

    /// Waits for requests at the address that it has taken.
    #[allow(unsafe_code)]
    pub fn listen(&self) -> Result<(), RdmaError> {
        // SAFETY: the id lives.
        match unsafe { (self.libraries.cm.rdma_listen)(self.raw.as_ptr(), BACKLOG) } {
            0 => Ok(()),
            _ => Err(failed("rdma_listen", 0)),
        }
    }

    /// Begins to look for the adapter that leads to a peer.
    #[allow(unsafe_code)]
    pub fn resolve_address(
        &self,
        from: Option<SocketAddr>,
        to: SocketAddr,
    ) -> Result<(), RdmaError> {
        let mut from = from.map(CAddress::new);
        let from = from.as_mut().map_or(null_mut(), CAddress::pointer);
        let mut target = CAddress::new(to);
        // SAFETY: the id and the addresses live.
        let code = unsafe {
            (self.libraries.cm.rdma_resolve_addr)(
                self.raw.as_ptr(),
                from,
                target.pointer(),
                RESOLVE_MS,
            )
        };
        if code == 0 { Ok(()) } else { Err(failed(format!("rdma_resolve_addr {to}"), 0)) }
    }

    /// Begins to look for the path to the peer.
    #[allow(unsafe_code)]
    pub fn resolve_route(&self) -> Result<(), RdmaError> {
        // SAFETY: the id lives.
        match unsafe { (self.libraries.cm.rdma_resolve_route)(self.raw.as_ptr(), RESOLVE_MS) } {
            0 => Ok(()),
            _ => Err(failed("rdma_resolve_route", 0)),
        }
    }

    /// Asks the peer to connect. The id has its queues.
    #[allow(unsafe_code)]
    pub fn connect(&self, terms: &Establish) -> Result<(), RdmaError> {
        let mut param = param(terms);
        // SAFETY: the id lives, and the private data for the call.
        match unsafe { (self.libraries.cm.rdma_connect)(self.raw.as_ptr(), &raw mut param) } {
            0 => Ok(()),
            _ => Err(failed("rdma_connect", 0)),
        }
    }

    /// Accepts the peer. The id has its queues.
    #[allow(unsafe_code)]
    pub fn accept(&self, terms: &Establish) -> Result<(), RdmaError> {
        let mut param = param(terms);
        // SAFETY: as above.
        match unsafe { (self.libraries.cm.rdma_accept)(self.raw.as_ptr(), &raw mut param) } {
            0 => Ok(()),
            _ => Err(failed("rdma_accept", 0)),
        }
    }

    /// Refuses the peer.
    #[allow(unsafe_code)]
    pub fn reject(&self, private_data: &[u8]) -> Result<(), RdmaError> {
        let (data, len) = (private_data.as_ptr().cast(), private_data.len() as u8);
        // SAFETY: the id lives, and the private data for the call.
        match unsafe { (self.libraries.cm.rdma_reject)(self.raw.as_ptr(), data, len) } {
            0 => Ok(()),
            _ => Err(failed("rdma_reject", 0)),
        }
    }

    /// Ends the connection; its queues flush.
    #[allow(unsafe_code)]
    pub fn disconnect(&self) -> Result<(), RdmaError> {
        // SAFETY: the id lives.
        match unsafe { (self.libraries.cm.rdma_disconnect)(self.raw.as_ptr()) } {
            0 => Ok(()),
            _ => Err(failed("rdma_disconnect", 0)),
        }
    }
}

/// Private data is borrowed from `terms`.
fn param(terms: &Establish) -> ConnParam {
    ConnParam {
        private_data: terms.private_data.as_ptr().cast(),
        private_data_len: terms.private_data.len() as u8,
        responder_resources: terms.responder_resources,
        initiator_depth: terms.initiator_depth,
        flow_control: 0,
        retry_count: RETRIES,
        rnr_retry_count: RETRIES,
        srq: 0,
        qp_num: 0,
    }
}

impl Drop for Id {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let context = self.context();
        if self.look_at_end.load(Ordering::Relaxed) && !context.is_null() {
            // SAFETY: this id is of the adapter, and lives.
            unsafe { adapter::let_go(self.libraries, context) };
        }
        // SAFETY: the queue pair, which holds the id, is gone; every event was acknowledged, so it does not
        // wait; nothing uses the pointer after this.
        unsafe { (self.libraries.cm.rdma_destroy_id)(self.raw.as_ptr()) };
    }
}

/// What an event is called.
pub fn event_name(kind: i32) -> &'static str {
    match kind {
        ffi::event::ADDR_ERROR => "no RDMA adapter leads to the address",
        ffi::event::ROUTE_ERROR => "no path to the peer",
        ffi::event::CONNECT_ERROR => "the connection could not be made",
        ffi::event::UNREACHABLE => "the peer does not answer",
        _ => "unexpected event",
    }
}
