//! A volume: what an initiator sees as a logical unit or an export.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::gate::{Gate, Hosts};
use crate::metadata::Metadata;
use crate::pool::PoolShare;
use crate::store::ALLOCATION_BYTES;
use crate::{
    Admission, BlockStore, Direction, FlowLimiter, Limit, Limits, MemoryStore, Space, StoreError,
    VolumeCounters,
};

/// How a volume is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// As a logical unit.
    Block,
    /// As a file-system export.
    Files,
}

/// What a volume is created with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VolumeSettings {
    /// Its name, unique in the array.
    pub name: String,
    /// How it is served.
    pub kind: Kind,
    /// Its quota.
    pub size_bytes: u64,
    /// Its limits. In a pool with manual quality of service, `limits.volume.mib_per_s` is its throughput.
    #[serde(default)]
    pub limits: Limits,
    /// The unit of a remote target that holds its bytes, as a URL; its size is then that unit's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// A volume, shared by everybody who serves it.
#[derive(Debug)]
pub struct Volume {
    name: String,
    serial: String,
    kind: Kind,
    lun: Option<u16>,
    space: Arc<Space>,
    store: Arc<BlockStore>,
    folder: Option<PathBuf>,
    gate: Gate,
    share: RwLock<Arc<PoolShare>>,
    hosts: Arc<Hosts>,
    metadata: Arc<Metadata>,
    reservations: Mutex<Option<Vec<u8>>>,
    deleted: AtomicBool,
}

/// What the array puts a volume together from.
pub(crate) struct Parts {
    pub name: String,
    pub serial: String,
    pub kind: Kind,
    pub lun: Option<u16>,
    pub space: Arc<Space>,
    pub store: BlockStore,
    pub folder: Option<PathBuf>,
    pub share: Arc<PoolShare>,
    pub hosts: Arc<Hosts>,
    pub metadata: Arc<Metadata>,
    pub reservations: Option<Vec<u8>>,
}

impl Volume {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        Arc::new(Self {
            name: parts.name,
            serial: parts.serial,
            kind: parts.kind,
            lun: parts.lun,
            space: parts.space,
            store: Arc::new(parts.store),
            folder: parts.folder,
            gate: Gate::default(),
            share: RwLock::new(parts.share),
            hosts: parts.hosts,
            metadata: parts.metadata,
            reservations: Mutex::new(parts.reservations),
            deleted: AtomicBool::new(false),
        })
    }

    /// A volume in memory outside any array, for tests of protocol servers.
    pub fn memory(settings: VolumeSettings, serial: &str) -> Arc<Self> {
        let share = PoolShare::new(u64::MAX);
        let space = Space::within(&share.space, quota(settings.size_bytes));
        let size = if settings.kind == Kind::Block { settings.size_bytes } else { 0 };
        let volume = Self::new(Parts {
            name: settings.name,
            serial: serial.to_owned(),
            kind: settings.kind,
            lun: (settings.kind == Kind::Block).then_some(0),
            store: BlockStore::Memory(MemoryStore::new(size, Arc::clone(&space))),
            space,
            folder: None,
            share,
            hosts: Arc::default(),
            metadata: Arc::new(Metadata::Memory),
            reservations: None,
        });
        volume.set_limits(settings.limits.volume, settings.limits.flow, Instant::now());
        volume
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

    /// The logical unit number of a block volume, stable for its life.
    pub fn lun(&self) -> Option<u16> {
        self.lun
    }

    /// Its present size (quota) in bytes.
    pub fn size_bytes(&self) -> u64 {
        match self.kind {
            Kind::Block => self.store.size_bytes(),
            Kind::Files => self.space.limit(),
        }
    }

    /// The account its allocations are charged to; its limit is the quota.
    pub fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// The bytes of a block volume; a volume of files has an empty one.
    pub fn store(&self) -> &Arc<BlockStore> {
        &self.store
    }

    /// Where a volume of files keeps them; `None` when they live in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether it was deleted: whoever still serves it answers that it is gone.
    pub fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Relaxed)
    }

    /// What it was asked for since it was opened.
    pub fn counters(&self) -> VolumeCounters {
        self.gate.counters()
    }

    /// Tells when a command of `bytes` bytes from `host` over `flow` may run; its tokens are taken.
    pub fn admit(
        &self,
        host: IpAddr,
        flow: &FlowLimiter,
        direction: Direction,
        bytes: u32,
        now: Instant,
    ) -> Admission {
        self.gate.count(flow, direction, bytes);
        if !self.gate.is_limited() {
            return Admission::Now;
        }
        let share = self.share.read().unwrap_or_else(PoisonError::into_inner);
        self.gate.admit(&share.limiter, &self.hosts, host, flow, bytes, now)
    }

    /// The persistent reservations that were saved last (APTPL), as the SCSI server wrote them.
    pub fn saved_reservations(&self) -> Option<Vec<u8>> {
        self.reservations.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Makes the persistent reservations survive a power loss before it returns; blocking. `None` forgets them.
    pub fn save_reservations(&self, blob: Option<&[u8]>) -> Result<(), StoreError> {
        let mut saved = self.reservations.lock().unwrap_or_else(PoisonError::into_inner);
        self.metadata.save_reservations(&self.serial, blob)?;
        *saved = blob.map(<[u8]>::to_vec);
        Ok(())
    }

    pub(crate) fn set_limits(&self, volume: Limit, flow: Limit, now: Instant) {
        let elsewhere = self.share().limiter.is_limited() || self.hosts.rates.are_limited();
        self.gate.set(volume, flow, elsewhere, now);
    }

    pub(crate) fn move_to(&self, share: &Arc<PoolShare>) {
        self.space.move_to(&share.space);
        *self.share.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(share);
    }

    /// Brings store and account to a new size.
    pub(crate) fn resize(&self, size: u64) -> Result<(), StoreError> {
        if self.kind == Kind::Block {
            self.store.resize(size)?;
        }
        self.space.set_limit(quota(size));
        Ok(())
    }

    pub(crate) fn mark_deleted(&self) {
        self.deleted.store(true, Ordering::Relaxed);
    }

    fn share(&self) -> Arc<PoolShare> {
        Arc::clone(&self.share.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What a volume may allocate: its size in whole allocation units.
pub(crate) fn quota(size: u64) -> u64 {
    size.checked_next_multiple_of(ALLOCATION_BYTES).unwrap_or(u64::MAX)
}
