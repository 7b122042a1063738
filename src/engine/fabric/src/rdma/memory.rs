//! Memory that an adapter may reach: blocks of pages, and their registrations.
//!
//! A [`Memory`] is a block of whole pages that stays where it is. Registered with a [`Domain`] it becomes a
//! [`Region`] with keys. Memory of stores is registered when it is first used and stays so until it is dropped:
//! [`Domain::local_key`]; a dropped block takes its registrations along before its pages go.
//!
//! Devices write into registered memory behind the compiler's back. What they write are bytes, which have no
//! invalid values; readers look only at ranges whose work has completed, and take a late or hostile writer's
//! bytes for what they are.

use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock, Weak};

use super::{RdmaError, Segment};

/// A block of whole zeroed pages, page aligned, that never moves.
pub struct Memory {
    pointer: *mut u8,
    len: usize,
    id: u64,
    /// Domains that hold a cached registration.
    registered: Mutex<Vec<Weak<Domain>>>,
}

// SAFETY: the block is plain bytes that belong to this value alone; all access through it is by raw pointer
// under the contracts of its methods.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Memory {}

impl Memory {
    /// `len` zeroed bytes, rounded up to whole pages; their pages are taken when they are first touched or
    /// registered.
    #[allow(unsafe_code)]
    pub fn allocate(len: usize) -> io::Result<Arc<Self>> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let len = len.max(1).next_multiple_of(4096);
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches nothing else.
        let pointer = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if pointer == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Self { pointer: pointer.cast(), len, id, registered: Mutex::default() }))
    }

    /// Names the block for the life of the process; never used twice.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: a block has at least a page.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The first byte.
    pub fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// The bytes of a range.
    ///
    /// # Panics
    /// When the range is not within the block.
    ///
    /// # Safety
    /// For as long as the slice lives, nobody in this process writes to the range, and no device has been asked
    /// to: the work that filled it has completed.
    #[allow(unsafe_code)]
    pub unsafe fn bytes(&self, offset: usize, len: usize) -> &[u8] {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.len));
        // SAFETY: in bounds by the assertion; the mapping lives as long as `self`; not written to by contract.
        unsafe { std::slice::from_raw_parts(self.pointer.add(offset), len) }
    }

    /// Copies into the block.
    ///
    /// # Panics
    /// When the range is not within the block.
    ///
    /// # Safety
    /// Nobody else in this process reads or writes the range meanwhile, and no work on it is outstanding.
    #[allow(unsafe_code)]
    pub unsafe fn put(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.checked_add(bytes.len()).is_some_and(|end| end <= self.len));
        // SAFETY: in bounds by the assertion; `bytes` is a live borrow, and by contract not of this range.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.pointer.add(offset), bytes.len());
        }
    }
}

impl Drop for Memory {
    #[allow(unsafe_code)]
    fn drop(&mut self) {
        let registered = self.registered.get_mut().unwrap_or_else(PoisonError::into_inner);
        for domain in registered.drain(..) {
            if let Some(domain) = domain.upgrade() {
                domain.forget(self.id);
            }
        }
        // SAFETY: the mapping was made with this length and nothing refers to it any more: registrations are
        // gone, and whoever holds a pointer into it holds the `Arc` of this value too.
        unsafe { libc::munmap(self.pointer.cast(), self.len) };
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({}, {} bytes)", self.id, self.len)
    }
}

/// What a registration allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Access {
    /// Receives, and the data of this end's reads, may go there.
    pub local_write: bool,
    /// The peer may read.
    pub remote_read: bool,
    /// The peer may write; needs `local_write`.
    pub remote_write: bool,
}

impl Access {
    /// For sends, receives, and the local side of reads and writes.
    pub const LOCAL: Self = Self { local_write: true, remote_read: false, remote_write: false };
    /// The peer may fetch.
    pub const REMOTE_READ: Self =
        Self { local_write: false, remote_read: true, remote_write: false };
    /// The peer may place.
    pub const REMOTE_WRITE: Self =
        Self { local_write: true, remote_read: false, remote_write: true };
}

/// Keys of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys {
    /// For segments of this end.
    pub local: u32,
    /// For the peer (STag).
    pub remote: u32,
}

/// Registers memory with an adapter; implemented by each fabric.
pub trait Registrar: Send + Sync {
    /// Registers `len` bytes at `pointer`. Dropping what is returned beside the keys ends the registration; it
    /// is dropped before the memory is.
    fn register(
        &self,
        pointer: *mut u8,
        len: usize,
        access: Access,
    ) -> Result<(Keys, Box<dyn Any + Send + Sync>), RdmaError>;
}

/// A registration. It ends when this is dropped.
pub struct Region {
    keys: Keys,
    _registration: Box<dyn Any + Send + Sync>,
    memory: Arc<Memory>,
}

impl Region {
    /// Its keys.
    pub fn keys(&self) -> Keys {
        self.keys
    }

    /// What is registered.
    pub fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// A part of it for a work request.
    ///
    /// # Panics
    /// When the range is not within the memory.
    pub fn segment(&self, offset: usize, len: usize) -> Segment {
        assert!(offset.checked_add(len).is_some_and(|end| end <= self.memory.len));
        Segment {
            address: self.memory.pointer as u64 + offset as u64,
            len: len as u32,
            key: self.keys.local,
        }
    }
}

type Cached = (Keys, Box<dyn Any + Send + Sync>);

/// A protection domain: registrations in it are good for its endpoints.
pub struct Domain {
    registrar: Box<dyn Registrar>,
    /// By memory and rights.
    cached: RwLock<HashMap<(u64, Access), Cached>>,
}

impl Domain {
    /// A domain of a fabric.
    pub fn new(registrar: Box<dyn Registrar>) -> Arc<Self> {
        Arc::new(Self { registrar, cached: RwLock::default() })
    }

    /// Registers a block for as long as the region lives.
    pub fn register(&self, memory: &Arc<Memory>, access: Access) -> Result<Region, RdmaError> {
        let (keys, registration) = self.registrar.register(memory.pointer, memory.len, access)?;
        Ok(Region { keys, _registration: registration, memory: Arc::clone(memory) })
    }

    /// The keys of a block, registered on first use and until the block is dropped. The registration does not
    /// keep the block alive.
    pub fn keys(self: &Arc<Self>, memory: &Memory, access: Access) -> Result<Keys, RdmaError> {
        let key = (memory.id, access);
        let cached = self.cached.read().unwrap_or_else(PoisonError::into_inner);
        if let Some((keys, _)) = cached.get(&key) {
            return Ok(*keys);
        }
        drop(cached);
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((keys, _)) = cached.get(&key) {
            return Ok(*keys);
        }
        let (keys, registration) = self.registrar.register(memory.pointer, memory.len, access)?;
        cached.insert(key, (keys, registration));
        drop(cached);
        let mut registered = memory.registered.lock().unwrap_or_else(PoisonError::into_inner);
        registered.retain(|domain| domain.strong_count() > 0);
        registered.push(Arc::downgrade(self));
        Ok(keys)
    }

    /// Ends the cached registrations of a block.
    fn forget(&self, memory: u64) {
        let mut cached = self.cached.write().unwrap_or_else(PoisonError::into_inner);
        cached.retain(|(id, _), _| *id != memory);
    }
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Domain")
    }
}
