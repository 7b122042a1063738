//! The array: pools and volumes, changed online by the provider's rules, remembered across a kill.
//!
//! Every operation checks the rules, makes the change durable, applies it to what is being served, and then
//! tells subscribers. Operations run one at a time; reading never waits for one. A subscriber is called in
//! the thread of the operation and must not start another one.

mod check;
mod event;
mod pools;
mod volumes;

pub use event::Event;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Instant, SystemTime};

use crate::gate::Hosts;
use crate::metadata::{Metadata, PoolRecord, VolumeRecord};
use crate::pool::{PoolShare, throughput};
use crate::volume::{Parts, quota};
use crate::{
    ArrayError, BlockStore, Charge, FileStore, Kind, Limit, MemoryStore, PoolSettings, PoolStatus,
    Qos, Remote, RemoteStore, Rules, Space, StoreError, Tier, Volume, VolumeSettings,
};

/// Seconds of Unix time; tests set their own.
pub type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What an array is opened with; none of it is remembered.
#[derive(Clone)]
pub struct ArraySettings {
    /// The tiers that pools may have.
    pub tiers: Vec<Tier>,
    /// The provider's rules.
    pub rules: Rules,
    /// What each host may do on the whole array.
    pub host_limit: Limit,
    /// The clock that cool-downs are measured by.
    pub clock: Clock,
    /// Who speaks to the targets of remote volumes; without it there are none.
    pub connect: Option<Connect>,
}

/// Begins to speak to the unit of a remote volume: its settings, its serial, and its size when that is known from
/// before. With a known size it returns at once and goes on in the background; without, when the size is known.
pub type Connect = Arc<
    dyn Fn(&VolumeSettings, &str, Option<u64>) -> Result<Arc<dyn Remote>, String> + Send + Sync,
>;

impl Default for ArraySettings {
    fn default() -> Self {
        Self {
            tiers: Vec::new(),
            rules: Rules::default(),
            host_limit: Limit::default(),
            clock: Arc::new(|| {
                SystemTime::now()
                    .duration_since(SystemTime::UNIX_EPOCH)
                    .map_or(0, |since| since.as_secs())
            }),
            connect: None,
        }
    }
}

struct PoolEntry {
    record: PoolRecord,
    share: Arc<PoolShare>,
    /// How many of the rules' thresholds its use has passed.
    passed: usize,
}

#[derive(Clone)]
struct VolumeEntry {
    record: VolumeRecord,
    volume: Arc<Volume>,
}

#[derive(Default)]
struct State {
    pools: BTreeMap<String, PoolEntry>,
    /// In the order of creation.
    volumes: Vec<VolumeEntry>,
    next_order: u64,
}

impl State {
    fn pool(&self, name: &str) -> Result<&PoolEntry, ArrayError> {
        let not_found = || ArrayError::NotFound { what: "pool", name: name.to_owned() };
        self.pools.get(name).ok_or_else(not_found)
    }

    fn volume(&self, name: &str) -> Result<&VolumeEntry, ArrayError> {
        self.volumes
            .iter()
            .find(|entry| entry.record.settings.name == name)
            .ok_or_else(|| ArrayError::NotFound { what: "volume", name: name.to_owned() })
    }

    fn of_pool<'a>(&'a self, pool: &'a str) -> impl Iterator<Item = &'a VolumeEntry> {
        self.volumes.iter().filter(move |entry| entry.record.pool == pool)
    }

    /// The sum of the quotas of a pool, without one volume.
    fn quota(&self, pool: &str, without: Option<&str>) -> u64 {
        self.of_pool(pool)
            .filter(|entry| Some(entry.record.settings.name.as_str()) != without)
            .map(|entry| quota(entry.record.settings.size_bytes))
            .fold(0, u64::saturating_add)
    }
}

type Subscriber = Box<dyn Fn(&Event) + Send + Sync>;

/// The array.
pub struct Array {
    folder: Option<PathBuf>,
    settings: ArraySettings,
    hosts: Arc<Hosts>,
    metadata: Arc<Metadata>,
    /// Held for the length of an operation; taken before `state`.
    operation: Mutex<()>,
    state: RwLock<State>,
    subscribers: RwLock<Vec<Subscriber>>,
}

impl Array {
    /// An array whose data and metadata are gone with the process.
    pub fn memory(settings: ArraySettings) -> Result<Arc<Self>, ArrayError> {
        Self::new(None, Metadata::Memory, settings)
    }

    /// Opens or creates an array in a folder; everything that was there before comes back.
    pub fn open(folder: &Path, settings: ArraySettings) -> Result<Arc<Self>, ArrayError> {
        for folder in [Kind::Block, Kind::Files].map(|kind| folder.join(folder_of(kind))) {
            create_folder(&folder)?;
        }
        let metadata = Metadata::open(&folder.join("array.redb"))?;
        Self::new(Some(folder.to_owned()), metadata, settings)
    }

    fn new(
        folder: Option<PathBuf>,
        metadata: Metadata,
        settings: ArraySettings,
    ) -> Result<Arc<Self>, ArrayError> {
        if let Some(problem) = settings.host_limit.problem() {
            return Err(ArrayError::BadLimit { name: "hosts".to_owned(), problem });
        }
        let hosts = Arc::new(Hosts::default());
        hosts.rates.set(settings.host_limit);
        let array = Self {
            folder,
            settings,
            hosts,
            metadata: Arc::new(metadata),
            operation: Mutex::new(()),
            state: RwLock::default(),
            subscribers: RwLock::default(),
        };
        array.load()?;
        Ok(Arc::new(array))
    }

    /// Brings back what was remembered, and removes files that belong to nothing.
    fn load(&self) -> Result<(), ArrayError> {
        let (pools, volumes) = self.metadata.load()?;
        let mut state = State::default();
        for record in pools {
            if let Some(tier) = &record.settings.tier {
                self.tier(tier)?;
            }
            state.next_order = state.next_order.max(record.order + 1);
            let share = PoolShare::new(record.settings.size_bytes);
            let entry = PoolEntry { share, passed: 0, record };
            state.pools.insert(entry.record.settings.name.clone(), entry);
        }
        for record in volumes {
            state.next_order = state.next_order.max(record.order + 1);
            let share = Arc::clone(&state.pool(&record.pool)?.share);
            let path = self.data_path(record.settings.kind, &record.serial);
            let is_local = record.settings.remote.is_none();
            if let Some(path) = path.filter(|path| is_local && !path.exists()) {
                let volume = record.settings.name;
                return Err(ArrayError::DataMissing { volume, path });
            }
            let remote =
                self.remote(&record.settings, &record.serial, Some(record.settings.size_bytes))?;
            let volume = self.open_volume(&record, share, remote)?;
            state.volumes.push(VolumeEntry { record, volume });
        }
        self.remove_orphans(&state)?;
        for pool in state.pools.keys() {
            self.apply_limits(&state, pool);
        }
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        Ok(())
    }

    fn open_volume(
        &self,
        record: &VolumeRecord,
        share: Arc<PoolShare>,
        remote: Option<Arc<dyn Remote>>,
    ) -> Result<Arc<Volume>, ArrayError> {
        let settings = &record.settings;
        let space = Space::within(&share.space, quota(settings.size_bytes));
        let path = self.data_path(settings.kind, &record.serial);
        let charged = Arc::clone(&space);
        let (store, folder) = match (settings.kind, path) {
            (Kind::Block, _) if let Some(remote) = remote => {
                (BlockStore::Remote(RemoteStore::new(remote)), None)
            }
            (Kind::Block, Some(path)) => {
                let store = FileStore::open(&path, settings.size_bytes, charged, Charge::WhileOpen)
                    .map_err(|source| store_error(&settings.name, source))?;
                (BlockStore::File(store), None)
            }
            (Kind::Block, None) => {
                (BlockStore::Memory(MemoryStore::new(settings.size_bytes, charged)), None)
            }
            (Kind::Files, folder) => {
                if let Some(folder) = &folder {
                    create_folder(folder)?;
                }
                (BlockStore::Memory(MemoryStore::new(0, charged)), folder)
            }
        };
        Ok(Volume::new(Parts {
            name: settings.name.clone(),
            serial: record.serial.clone(),
            kind: settings.kind,
            lun: record.lun,
            space,
            store,
            folder,
            share,
            hosts: Arc::clone(&self.hosts),
            metadata: Arc::clone(&self.metadata),
            reservations: self.metadata.reservations(&record.serial)?,
        }))
    }

    /// Begins to speak to the unit of a remote volume; none for a volume of this array's own.
    pub(super) fn remote(
        &self,
        settings: &VolumeSettings,
        serial: &str,
        size: Option<u64>,
    ) -> Result<Option<Arc<dyn Remote>>, ArrayError> {
        if settings.remote.is_none() {
            return Ok(None);
        }
        let refused = |reason: String| ArrayError::Remote { volume: settings.name.clone(), reason };
        if settings.kind != Kind::Block {
            let reason = "only a logical unit can be remote; serve it by iSCSI".to_owned();
            return Err(refused(reason));
        }
        let Some(connect) = &self.settings.connect else {
            return Err(refused("this array has no client for remote targets".to_owned()));
        };
        connect(settings, serial, size).map(Some).map_err(refused)
    }

    /// Where the data of a volume lives on the host: named by its serial, never by what a client says.
    fn data_path(&self, kind: Kind, serial: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| match kind {
            Kind::Block => folder.join(folder_of(kind)).join(format!("{serial}.data")),
            Kind::Files => folder.join(folder_of(kind)).join(serial),
        })
    }

    /// Makes the name of new data durable.
    fn sync_folder(&self, kind: Kind) -> Result<(), ArrayError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(folder_of(kind));
        let sync = || std::fs::File::open(&path)?.sync_all();
        sync().map_err(|source| ArrayError::Folder { path: path.clone(), source })
    }

    /// Removes the data of volumes whose creation or deletion was cut off.
    fn remove_orphans(&self, state: &State) -> Result<(), ArrayError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        for kind in [Kind::Block, Kind::Files] {
            let folder = folder.join(folder_of(kind));
            let failed = |source| ArrayError::Folder { path: folder.clone(), source };
            for entry in std::fs::read_dir(&folder).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let file_name = entry.file_name();
                let Some(serial) = file_name.to_str().map(|name| name.trim_end_matches(".data"))
                else {
                    continue;
                };
                let ours = serial.len() == 16 && serial.bytes().all(|b| b.is_ascii_hexdigit());
                let known = state.volumes.iter().any(|entry| {
                    entry.record.serial == serial && entry.record.settings.kind == kind
                });
                if ours && !known {
                    tracing::warn!(path = %entry.path().display(), "data of no volume is removed");
                    remove(&entry.path()).map_err(failed)?;
                }
            }
        }
        Ok(())
    }

    /// Calls `subscriber` for every event from now on.
    pub fn subscribe(&self, subscriber: impl Fn(&Event) + Send + Sync + 'static) {
        let mut subscribers = self.subscribers.write().unwrap_or_else(PoisonError::into_inner);
        subscribers.push(Box::new(subscriber));
    }

    fn publish(&self, event: &Event) {
        let subscribers = self.subscribers.read().unwrap_or_else(PoisonError::into_inner);
        for subscriber in subscribers.iter() {
            subscriber(event);
        }
    }

    /// The volumes, in the order of their creation.
    pub fn volumes(&self) -> Vec<Arc<Volume>> {
        self.state().volumes.iter().map(|entry| Arc::clone(&entry.volume)).collect()
    }

    /// A volume by name.
    pub fn volume(&self, name: &str) -> Result<Arc<Volume>, ArrayError> {
        self.state().volume(name).map(|entry| Arc::clone(&entry.volume))
    }

    /// The pools, in the order of their creation.
    pub fn pools(&self) -> Vec<PoolStatus> {
        let state = self.state();
        let mut pools: Vec<&PoolEntry> = state.pools.values().collect();
        pools.sort_by_key(|pool| pool.record.order);
        pools.into_iter().map(|pool| status(&state, pool)).collect()
    }

    /// A pool by name.
    pub fn pool(&self, name: &str) -> Result<PoolStatus, ArrayError> {
        let state = self.state();
        Ok(status(&state, state.pool(name)?))
    }

    /// What limits a volume: the throughput that tier and quality of service give it, and its own limit.
    pub fn effective_limit(&self, volume: &str) -> Result<Limit, ArrayError> {
        let state = self.state();
        let entry = state.volume(volume)?;
        Ok(self.limit_of(&state.pool(&entry.record.pool)?.record.settings, &entry.record))
    }

    fn limit_of(&self, pool: &PoolSettings, record: &VolumeRecord) -> Limit {
        let own = record.settings.limits.volume;
        let tier = pool.tier.as_ref().and_then(|name| self.tier(name).ok());
        let mib_per_s = match (pool.qos, tier) {
            (Qos::Auto, Some(tier)) => {
                let given = throughput(tier, record.settings.size_bytes);
                Some(own.mib_per_s.map_or(given, |own| own.min(given)))
            }
            (Qos::Manual, _) | (Qos::Auto, None) => own.mib_per_s,
        };
        Limit { mib_per_s, ..own }
    }

    /// Brings the buckets of a pool and of its volumes to their settings.
    fn apply_limits(&self, state: &State, pool: &str) {
        let Ok(entry) = state.pool(pool) else { return };
        let now = Instant::now();
        entry.share.limiter.set(entry.record.settings.limit, now);
        for volume in state.of_pool(pool) {
            let limit = self.limit_of(&entry.record.settings, &volume.record);
            volume.volume.set_limits(limit, volume.record.settings.limits.flow, now);
        }
    }

    fn tier(&self, name: &str) -> Result<&Tier, ArrayError> {
        self.settings
            .tiers
            .iter()
            .find(|tier| tier.name == name)
            .ok_or_else(|| ArrayError::NotFound { what: "tier", name: name.to_owned() })
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> MutexGuard<'_, ()> {
        self.operation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Array {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.state();
        write!(f, "Array({} pools, {} volumes)", state.pools.len(), state.volumes.len())
    }
}

/// The folder of the data of one kind of volume.
fn folder_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Block => "volumes",
        Kind::Files => "exports",
    }
}

fn status(state: &State, pool: &PoolEntry) -> PoolStatus {
    let name = &pool.record.settings.name;
    PoolStatus {
        settings: pool.record.settings.clone(),
        used_bytes: pool.share.space.used(),
        quota_bytes: state.quota(name, None),
        volumes: state.of_pool(name).map(|entry| entry.record.settings.name.clone()).collect(),
    }
}

fn store_error(volume: &str, source: StoreError) -> ArrayError {
    ArrayError::Store { volume: volume.to_owned(), source }
}

fn create_folder(path: &Path) -> Result<(), ArrayError> {
    std::fs::create_dir_all(path)
        .map_err(|source| ArrayError::Folder { path: path.to_owned(), source })
}

fn remove(path: &Path) -> std::io::Result<()> {
    let done =
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
