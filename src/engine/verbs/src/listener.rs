//! Waits for peers that ask to connect, and hands each over with a channel of its own.
//!
//! An adapter that is removed, or an address that moves to another one (a bond's fail-over), takes the listening id
//! along: the listener makes a new one, and tries again until the address has an adapter. A listener on every
//! address is kept by the kernel, whatever comes and goes.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use plimsoll_fabric::rdma::{
    Endpoint, Establish, Incoming, Listener, PRIVATE_DATA_ACCEPT_MAX, Queues, RdmaError, Request,
};

use crate::cm::{Channel, Id};
use crate::endpoint::VerbsEndpoint;
use crate::ffi::event;
use crate::library::Libraries;
use crate::pd::Shared;
use crate::readiness::{self, Readiness};

/// Between tries to listen on an address that has no adapter at present.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// A listener.
pub struct VerbsListener {
    /// None while its address has no adapter.
    id: Option<Id>,
    address: SocketAddr,
    shared: Arc<Shared>,
    channel: Arc<Channel>,
    readiness: Readiness,
    /// When to try again.
    retry: Option<OwnedFd>,
}

impl VerbsListener {
    /// Listens.
    pub fn new(libraries: &'static Libraries, address: SocketAddr) -> Result<Self, RdmaError> {
        let channel = Channel::new(libraries)?;
        let readiness = Readiness::new()?;
        readiness.add(channel.descriptor())?;
        let id = listen(&channel, address)?;
        let address = id.local().unwrap_or(address);
        let shared = Arc::new(Shared::new(&channel));
        Ok(Self { id: Some(id), address, shared, channel, readiness, retry: None })
    }

    /// Makes the id anew, or sees to it that this is tried again.
    fn listen_again(&mut self) -> Result<(), RdmaError> {
        self.id = None;
        self.retry = None;
        match listen(&self.channel, self.address) {
            Ok(id) => {
                tracing::info!(address = %self.address, "listening for RDMA again");
                self.id = Some(id);
            }
            Err(error) => {
                tracing::debug!(address = %self.address, %error, "no RDMA at this address yet");
                let timer = readiness::after(LISTEN_AGAIN)?;
                self.readiness.add(timer.as_raw_fd())?;
                self.retry = Some(timer);
            }
        }
        Ok(())
    }

    fn retry_is_due(&self) -> bool {
        self.retry.as_ref().is_some_and(readiness::passed)
    }

    fn incoming(&self, mut id: Id, asks: Establish) -> Result<Incoming, RdmaError> {
        let channel = Channel::new(id.libraries())?;
        id.migrate(&channel)?;
        let (Some(peer), Some(local)) = (id.peer(), id.local()) else {
            return Err(RdmaError::State("without an address"));
        };
        let request = VerbsRequest { id, asks: asks.clone(), shared: Arc::clone(&self.shared) };
        Ok(Incoming { peer, local, asks, request: Box::new(request) })
    }
}

fn listen(channel: &Arc<Channel>, address: SocketAddr) -> Result<Id, RdmaError> {
    let id = Id::new(channel)?;
    id.bind(address)?;
    id.listen()?;
    Ok(id)
}

impl Listener for VerbsListener {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn descriptor(&self) -> RawFd {
        self.readiness.descriptor()
    }

    fn poll(&mut self) -> Result<Option<Incoming>, RdmaError> {
        if self.retry_is_due() {
            self.listen_again()?;
        }
        while let Some(event) = self.channel.next()? {
            let own = self.id.as_ref().is_some_and(|id| id.name() == event.id);
            match event.kind {
                event::CONNECT_REQUEST => {
                    let Some(id) = event.request else { continue };
                    // One peer's trouble is not the listener's: the dropped id refuses it.
                    match self.incoming(id, event.said) {
                        Ok(incoming) => return Ok(Some(incoming)),
                        Err(error) => tracing::warn!(%error, "a request to connect is lost"),
                    }
                }
                event::DEVICE_REMOVAL | event::ADDR_CHANGE if own => {
                    tracing::warn!(address = %self.address, "the RDMA adapter is gone or another");
                    if let Some(id) = &self.id
                        && event.kind == event::DEVICE_REMOVAL
                    {
                        id.set_look_at_end();
                    }
                    self.listen_again()?;
                }
                event::DEVICE_REMOVAL | event::ADDR_CHANGE => self.shared.forget(event.id),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// A peer that is neither accepted nor refused; dropped, it is refused.
struct VerbsRequest {
    id: Id,
    asks: Establish,
    shared: Arc<Shared>,
}

impl Request for VerbsRequest {
    fn open(self: Box<Self>, queues: Queues) -> Result<Box<dyn Endpoint>, RdmaError> {
        Ok(Box::new(VerbsEndpoint::open(self.id, self.asks, &self.shared, queues)?))
    }

    fn reject(self: Box<Self>, private_data: &[u8]) -> Result<(), RdmaError> {
        if private_data.len() > PRIVATE_DATA_ACCEPT_MAX {
            return Err(RdmaError::BadWork("its private data is too long"));
        }
        self.id.reject(private_data)
    }
}
