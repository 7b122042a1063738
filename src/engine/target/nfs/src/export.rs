//! What is exported: a volume's namespace under a path, with its access rules.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use plimsoll_storage::{Namespace, Volume};

use crate::access::Access;
use crate::handle::Signer;

/// A volume of files that clients can mount.
pub struct Export {
    path: String,
    volume: Arc<Volume>,
    namespace: Arc<Namespace>,
    access: Access,
    fsid: u64,
    pub(crate) signer: Signer,
}

impl Export {
    /// Exports a volume's namespace as `path`, which begins with a slash, such as `/vol0`.
    pub fn new(
        path: impl Into<String>,
        volume: Arc<Volume>,
        namespace: Arc<Namespace>,
        access: Access,
    ) -> Self {
        let fsid = identity(volume.serial());
        let signer = Signer::new(fsid, namespace.secret());
        Self { path: path.into(), volume, namespace, access, fsid, signer }
    }

    /// The path that clients mount.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The volume behind it.
    pub fn volume(&self) -> &Arc<Volume> {
        &self.volume
    }

    /// Its files.
    pub fn namespace(&self) -> &Arc<Namespace> {
        &self.namespace
    }

    /// Who may use it.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Identity of the file system in attributes and handles; stable for the life of the volume.
    pub fn fsid(&self) -> u64 {
        self.fsid
    }
}

/// The number behind a serial of 16 hexadecimal digits; any other text is folded into a number.
fn identity(serial: &str) -> u64 {
    u64::from_str_radix(serial, 16).unwrap_or_else(|_| {
        // FNV-1a, 64 bits.
        serial.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        })
    })
}

/// The exports served now; changed online. Connections notice by the generation that they must look anew.
#[derive(Default)]
pub(crate) struct Exports {
    generation: AtomicU64,
    table: RwLock<Table>,
}

#[derive(Default)]
struct Table {
    by_fsid: HashMap<u64, Arc<Export>>,
    by_path: BTreeMap<String, Arc<Export>>,
}

impl Exports {
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Adds an export, or replaces the one of the same path.
    pub fn insert(&self, export: Export) {
        self.change(|table| {
            let export = Arc::new(export);
            if let Some(old) = table.by_path.insert(export.path.clone(), Arc::clone(&export)) {
                table.by_fsid.remove(&old.fsid);
            }
            table.by_fsid.insert(export.fsid, export);
        });
    }

    /// Removes an export: its handles are stale from now on.
    pub fn remove(&self, path: &str) -> bool {
        self.change(|table| match table.by_path.remove(path) {
            Some(old) => table.by_fsid.remove(&old.fsid).is_some(),
            None => false,
        })
    }

    pub fn by_fsid(&self, fsid: u64) -> Option<Arc<Export>> {
        self.table().by_fsid.get(&fsid).cloned()
    }

    /// The export whose path is `path` or leads to it, and what is left of the path.
    pub fn by_path<'p>(&self, path: &'p str) -> Option<(Arc<Export>, &'p str)> {
        let table = self.table();
        let whole = path.trim_end_matches('/');
        let mut end = whole.len();
        loop {
            if let Some(export) = table.by_path.get(&whole[..end]) {
                return Some((Arc::clone(export), &whole[end..]));
            }
            end = whole[..end].rfind('/')?;
        }
    }

    /// All of them, by path.
    pub fn all(&self) -> Vec<Arc<Export>> {
        self.table().by_path.values().cloned().collect()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut table);
        self.generation.fetch_add(1, Ordering::Release);
        result
    }

    fn table(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }
}
