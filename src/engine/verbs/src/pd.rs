//! Protection domains and what is registered in them.

use std::any::Any;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, PoisonError};

use ibverbs_sys::{ibv_access_flags, ibv_mr, ibv_pd};
use plimsoll_fabric::rdma::{Access, Domain, Keys, RdmaError, Registrar};

use crate::adapter;
use crate::cm::{Channel, Id};
use crate::library::{Libraries, failed};

/// A protection domain.
pub struct Pd {
    raw: NonNull<ibv_pd>,
    libraries: &'static Libraries,
    /// Keeps the adapter open.
    id: Arc<Id>,
}

// SAFETY: verbs let any thread use a protection domain.
#[allow(unsafe_code)]
unsafe impl Send for Pd {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Pd {}

impl Pd {
    /// A domain of the id's adapter.
    #[allow(unsafe_code)]
    fn new(id: &Arc<Id>) -> Result<Arc<Self>, RdmaError> {
        let libraries = id.libraries();
        let context = id.context();
        if context.is_null() {
            return Err(RdmaError::State("not bound to an adapter"));
        }
        // SAFETY: the id keeps its adapter open.
        match NonNull::new(unsafe { (libraries.verbs.ibv_alloc_pd)(context) }) {
            Some(raw) => {
                adapter::domain_made(context);
                Ok(Arc::new(Self { raw, libraries, id: Arc::clone(id) }))
            }
            None => Err(failed("ibv_alloc_pd", 0)),
        }
    }

    /// For other calls, while `self` lives.
    pub fn pointer(&self) -> *mut ibv_pd {
        self.raw.as_ptr()
    }
}

impl Drop for Pd {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: queues and registrations hold the domain, so none is left.
        unsafe { (self.libraries.verbs.ibv_dealloc_pd)(self.raw.as_ptr()) };
        adapter::domain_ended(self.id.context());
    }
}

/// A registration.
struct Mr {
    raw: NonNull<ibv_mr>,
    pd: Arc<Pd>,
}

// SAFETY: verbs let any thread end a registration.
#[allow(unsafe_code)]
unsafe impl Send for Mr {}
// SAFETY: nothing is done by a shared reference.
#[allow(unsafe_code)]
unsafe impl Sync for Mr {}

impl Drop for Mr {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        // SAFETY: it is ended once; work that names it fails from here on.
        unsafe { (self.pd.libraries.verbs.ibv_dereg_mr)(self.raw.as_ptr()) };
    }
}

struct PdRegistrar(Arc<Pd>);

impl Registrar for PdRegistrar {
    #[allow(unsafe_code)]
    fn register(
        &self,
        pointer: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<(Keys, Box<dyn Any + Send + Sync>), RdmaError> {
        let mut flags = ibv_access_flags(0);
        if access.local_write {
            flags |= ibv_access_flags::IBV_ACCESS_LOCAL_WRITE;
        }
        if access.remote_read {
            flags |= ibv_access_flags::IBV_ACCESS_REMOTE_READ;
        }
        if access.remote_write {
            flags |= ibv_access_flags::IBV_ACCESS_REMOTE_WRITE;
        }
        let register = self.0.libraries.verbs.ibv_reg_mr;
        // SAFETY: the memory is a live mapping by the contract of `Registrar`, and outlives the registration.
        let raw = unsafe { register(self.0.pointer(), pointer.cast(), len, flags.0 as i32) };
        let Some(raw) = NonNull::new(raw) else {
            let call =
                format!("ibv_reg_mr of {len} bytes (memory that stays is limited: ulimit -l)");
            return Err(failed(call, 0));
        };
        // SAFETY: what was just returned is a live registration.
        let keys = unsafe { Keys { local: raw.as_ref().lkey, remote: raw.as_ref().rkey } };
        Ok((keys, Box::new(Mr { raw, pd: Arc::clone(&self.0) })))
    }
}

/// A protection domain, and its registrations as the fabric knows them.
#[derive(Clone)]
pub struct Protection {
    pub pd: Arc<Pd>,
    pub domain: Arc<Domain>,
}

impl Protection {
    /// A domain of its own for a connection.
    pub fn new(id: &Arc<Id>) -> Result<Self, RdmaError> {
        let pd = Pd::new(id)?;
        let domain = Domain::new(Box::new(PdRegistrar(Arc::clone(&pd))));
        Ok(Self { pd, domain })
    }
}

/// The domains that connections of one listener share, one an adapter.
pub struct Shared {
    /// Of the listener: it is told when an adapter goes.
    channel: Arc<Channel>,
    /// By the adapter's context.
    adapters: Mutex<HashMap<usize, Protection>>,
}

impl Shared {
    /// None yet.
    pub fn new(channel: &Arc<Channel>) -> Self {
        Self { channel: Arc::clone(channel), adapters: Mutex::default() }
    }

    /// The domain for a connection that came in at an address.
    pub fn protection(&self, id: &Id, local: SocketAddr) -> Result<Protection, RdmaError> {
        let context = id.context() as usize;
        let mut adapters = self.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(protection) = adapters.get(&context) {
            return Ok(protection.clone());
        }
        // An id of its own keeps the adapter open between connections, and is told of its removal.
        let keeper = Arc::new(Id::new(&self.channel)?);
        let mut address = local;
        address.set_port(0);
        keeper.bind(address)?;
        if keeper.context() as usize != context {
            return Err(RdmaError::State("not on the adapter of its address any more"));
        }
        let protection = Protection::new(&keeper)?;
        adapters.insert(context, protection.clone());
        Ok(protection)
    }

    /// Forgets the domain that an id keeps, because its adapter is gone.
    pub fn forget(&self, keeper: usize) {
        let mut adapters = self.adapters.lock().unwrap_or_else(PoisonError::into_inner);
        adapters.retain(|_, protection| {
            let gone = protection.pd.id.name() == keeper;
            if gone {
                protection.pd.id.set_look_at_end();
            }
            !gone
        });
    }
}
