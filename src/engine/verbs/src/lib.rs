//! RDMA by rdma-core (libibverbs, librdmacm): the fabric of real adapters and of soft RoCE.
//!
//! ```text
//! Verbs ─ VerbsListener ─ request ─ VerbsEndpoint ─┬─ cm::Id, cm::Channel    events of the connection
//!       └─ connect ────────────────────────────────┼─ queue::QueuePair       work and completions
//!                                                  └─ pd::Protection         registered memory
//! library: both libraries, opened at run time      ffi: librdmacm's structures
//! ```
//!
//! Everything is driven by descriptors, nothing spins: an endpoint's is readable when its completion channel or
//! its event channel is. Completion queue, protection domain and registrations are made from the adapter as
//! librdmacm has opened it, since it accepts no other.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod adapter;
mod address;
mod cm;
mod endpoint;
mod ffi;
mod forward;
mod inventory;
mod library;
mod listener;
mod pd;
mod queue;
mod readiness;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use plimsoll_fabric::rdma::{Endpoint, Fabric, Listener, Queues, RdmaError};

pub use inventory::{Adapter, Gid, GidKind, Port, inventory};

use crate::cm::Channel;
use crate::endpoint::VerbsEndpoint;
use crate::library::Libraries;
use crate::listener::VerbsListener;

/// RDMA by rdma-core.
pub struct Verbs {
    libraries: &'static Libraries,
}

impl Verbs {
    /// The fabric of this machine. When there is none, the error says what is missing.
    pub fn load() -> Result<Arc<Self>, RdmaError> {
        let libraries = Libraries::get()?;
        if inventory()?.is_empty() {
            return Err(RdmaError::Unavailable(
                "there is no RDMA adapter (for soft RoCE: modprobe rdma_rxe, then rdma link add rxe0 type rxe \
                 netdev INTERFACE)"
                    .to_owned(),
            ));
        }
        match Channel::new(libraries) {
            Ok(_) => Ok(Arc::new(Self { libraries })),
            Err(error) => Err(RdmaError::Unavailable(format!(
                "the kernel's connection manager does not answer: {error} (modprobe rdma_ucm)"
            ))),
        }
    }
}

impl Fabric for Verbs {
    fn name(&self) -> &'static str {
        "verbs"
    }

    fn listen(&self, address: SocketAddr) -> Result<Box<dyn Listener>, RdmaError> {
        Ok(Box::new(VerbsListener::new(self.libraries, address)?))
    }

    fn connect(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        queues: Queues,
    ) -> Result<Box<dyn Endpoint>, RdmaError> {
        Ok(Box::new(VerbsEndpoint::connect(self.libraries, to, from, queues)?))
    }
}

impl fmt::Debug for Verbs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verbs")
    }
}
