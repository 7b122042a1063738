//! A volume: what an initiator sees as a logical unit or an export.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::{
    Admission, BlockStore, Direction, FlowLimiter, Limits, MemoryStore, Space, StoreError,
};

/// How a volume is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// As a logical unit.
    Block,
    /// As a file-system export.
    Files,
}

/// What a volume is created with.
#[derive(Debug, Clone)]
pub struct VolumeSettings {
    /// Its name, unique in the array.
    pub name: String,
    /// How it is served.
    pub kind: Kind,
    /// Its quota.
    pub size_bytes: u64,
    /// Its limits.
    pub limits: Limits,
}

/// A volume, shared by everybody who serves it.
#[derive(Debug)]
pub struct Volume {
    name: String,
    serial: String,
    kind: Kind,
    space: Arc<Space>,
    store: Arc<BlockStore>,
    reservations: Mutex<Option<Vec<u8>>>,
}

impl Volume {
    /// A volume in memory outside any array, for tests of protocol servers.
    pub fn memory(settings: VolumeSettings, serial: &str) -> Arc<Self> {
        let space = Space::new(settings.size_bytes);
        let store = MemoryStore::new(settings.size_bytes, Arc::clone(&space));
        Arc::new(Self {
            name: settings.name,
            serial: serial.to_owned(),
            kind: settings.kind,
            space,
            store: Arc::new(BlockStore::Memory(store)),
            reservations: Mutex::default(),
        })
    }

    /// Its name, unique in the array.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// 16 hexadecimal digits, stable for the life of the volume.
    pub fn serial(&self) -> &str {
        &self.serial
    }

    /// How it is served.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Its present size (quota) in bytes.
    pub fn size_bytes(&self) -> u64 {
        self.store.size_bytes()
    }

    /// The account its allocations are charged to; its limit is the quota.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The bytes of a block volume.
    pub fn store(&self) -> &Arc<BlockStore> {
        &self.store
    }

    /// Tells when a command of `bytes` bytes from `host` over `flow` may run; its tokens are taken.
    pub fn admit(
        &self,
        _host: IpAddr,
        _flow: &FlowLimiter,
        _direction: Direction,
        _bytes: u32,
        _now: Instant,
    ) -> Admission {
        Admission::Now
    }

    /// The persistent reservations that were saved last (APTPL), as the SCSI server wrote them.
    pub fn saved_reservations(&self) -> Option<Vec<u8>> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the persistent reservations survive a power loss before it returns; blocking. `None` forgets them.
    pub fn save_reservations(&self, blob: Option<&[u8]>) -> Result<(), StoreError> {
        *self.reservations.lock().unwrap_or_else(PoisonError::into_inner) =
            blob.map(<[u8]>::to_vec);
        Ok(())
    }
}
