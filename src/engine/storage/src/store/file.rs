//! A store in a sparse file: reads are sent from a mapping of the page cache, writes go through `pwrite`.
//!
//! Invariants: the file never becomes shorter while it is open (a smaller size punches what lies beyond), so
//! no payload can point past its end; a sector that is not mapped holds zeroes; provisioning is known from
//! memory (`SEEK_DATA` fills it when the file is opened) and changes only under the exclusive stripe lock of
//! the grain. A failed fdatasync is remembered: the kernel reports a lost page once and then forgets it, so
//! no later flush of this store may claim success.
//!
//! Residency: an I/O thread must not wait for a disk in a page fault, so a grain is sent from the mapping only
//! when `mincore` saw it in the page cache; that answer is trusted for [`RESIDENT_MS`]. A page evicted within
//! that time costs the thread one disk read, nothing else. See docs/decisions/0005.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use plimsoll_fabric::Payload;

use super::grains::Grains;
use super::os::{self, Mapping};
use super::stripes::{Exclusive, Stripes};
use super::windows::Windows;
use super::{
    GRAIN_BYTES, Provisioning, Ready, SECTOR_BYTES, STATUS_WALK, ZEROES, batches, check, mask,
    parts,
};
use crate::{Space, StoreError};

/// How long a grain counts as resident after it was seen so.
const RESIDENT_MS: u64 = 1000;
/// Longest `pwrite`. The page cache makes folios as long as the writes that fill them, and ext4 walks over all
/// blocks of a folio in each later write to a part of it: see docs/decisions/0005.
const WRITE_STEP: u64 = 16 << 10;
/// Most pages a grain has.
const PAGES: usize = GRAIN_BYTES / 4096;

/// Whether the space counts the file only while it is open, or also while it is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    /// Opening charges what is allocated, dropping the store gives it back.
    WhileOpen,
    /// The owner has charged what is allocated and keeps doing so after the store is dropped.
    Always,
}

/// A grain: two words of its sector map, then when it was last seen resident (coarse ms, 0 = never).
type Entry = [AtomicU64; 3];

/// A sparse store in a file.
pub struct FileStore {
    file: File,
    size: AtomicU64,
    /// Length of the file, at least `size`.
    len: Mutex<u64>,
    allocated: AtomicU64,
    space: Arc<Space>,
    charge: Charge,
    grains: Grains<Entry>,
    windows: Windows,
    stripes: Stripes,
    flushing: Mutex<()>,
    flushes: AtomicU64,
    failed: OnceLock<io::ErrorKind>,
    /// Whether the file system cannot zero a range without writing it.
    writes_zeroes: AtomicBool,
}

impl FileStore {
    /// Opens or creates the file and brings it to `size` bytes; what lies beyond is cut off.
    pub fn open(
        path: &Path,
        size: u64,
        space: Arc<Space>,
        charge: Charge,
    ) -> Result<Self, StoreError> {
        let open = || -> io::Result<File> {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .custom_flags(libc::O_CLOEXEC | libc::O_NOFOLLOW)
                .open(path)?;
            if file.metadata()?.len() != size {
                file.set_len(size)?;
            }
            Ok(file)
        };
        let file = open().map_err(|error| StoreError::io("open", &error))?;
        let store = Self {
            file,
            size: AtomicU64::new(size),
            len: Mutex::new(size),
            allocated: AtomicU64::new(0),
            space,
            charge,
            grains: Grains::new(),
            windows: Windows::new(),
            stripes: Stripes::files(),
            flushing: Mutex::new(()),
            flushes: AtomicU64::new(0),
            failed: OnceLock::new(),
            writes_zeroes: AtomicBool::new(false),
        };
        store.load_map()?;
        Ok(store)
    }

    /// See [`BlockStore::size_bytes`](super::BlockStore::size_bytes).
    pub fn size_bytes(&self) -> u64 {
        self.size.load(Ordering::Relaxed)
    }

    /// See [`BlockStore::allocated_bytes`](super::BlockStore::allocated_bytes).
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated.load(Ordering::Relaxed)
    }

    /// See [`BlockStore::resize`](super::BlockStore::resize).
    pub fn resize(&self, size: u64) -> Result<(), StoreError> {
        let mut len = self.len.lock().unwrap_or_else(PoisonError::into_inner);
        if size > *len {
            self.file.set_len(size).map_err(|error| StoreError::io("grow", &error))?;
            *len = size;
        }
        let before = self.size.swap(size, Ordering::SeqCst);
        if size < before {
            // A write that passed its check before the swap holds a lock, so this waits for it.
            self.clear(size, before.next_multiple_of(SECTOR_BYTES) - size)?;
        }
        Ok(())
    }

    /// See [`BlockStore::read`](super::BlockStore::read).
    pub fn read(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        check(offset, len as u64, self.size_bytes())?;
        let now = os::coarse_ms();
        for part in parts(offset, len as u64) {
            if !self.is_hole(part.grain, part.start, part.len)
                && !self.is_resident(part.grain, part.start, part.len, now)
            {
                return Ok(Ready::Blocking);
            }
        }
        for part in parts(offset, len as u64) {
            // A hole that was filled since the first pass is sent from the mapping: at worst one page fault.
            if self.is_hole(part.grain, part.start, part.len) {
                out(Payload::from_static(&ZEROES[..part.len]));
            } else if let Some((window, at)) = self.windows.of(&self.file, part.grain) {
                out(payload(window, at + part.start, part.len));
            } else {
                let mut copy = vec![0; part.len];
                self.pread(offset + part.at, &mut copy)?;
                out(Payload::from_vec(copy));
            }
        }
        Ok(Ready::Now)
    }

    /// See [`BlockStore::read_stable`](super::BlockStore::read_stable). The page cache has no way to keep others
    /// from writing: what is given is a copy.
    pub fn read_stable(
        &self,
        offset: u64,
        len: usize,
        out: &mut dyn FnMut(Payload),
    ) -> Result<Ready, StoreError> {
        let mut copy = Vec::new();
        let ready = self.read(offset, len, &mut |payload| payload.copy_to(&mut copy))?;
        if ready == Ready::Now {
            out(Payload::from_vec(copy));
        }
        Ok(ready)
    }

    /// See [`BlockStore::read_blocking`](super::BlockStore::read_blocking).
    pub fn read_blocking(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        check(offset, buffer.len() as u64, self.size_bytes())?;
        self.pread(offset, buffer)
    }

    /// See [`BlockStore::write`](super::BlockStore::write).
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.change(offset, data.len() as u64, |start, len| {
            self.pwrite(start, &data[(start - offset) as usize..][..len as usize])
        })
    }

    /// See [`BlockStore::or_write`](super::BlockStore::or_write).
    pub fn or_write(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.change(offset, data.len() as u64, |start, len| {
            let mut merged = vec![0; len as usize];
            self.pread(start, &mut merged)?;
            for (merged, new) in merged.iter_mut().zip(&data[(start - offset) as usize..]) {
                *merged |= new;
            }
            self.pwrite(start, &merged)
        })
    }

    /// See [`BlockStore::write_zeroes`](super::BlockStore::write_zeroes).
    pub fn write_zeroes(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        self.change(offset, len, |start, len| {
            if !self.writes_zeroes.load(Ordering::Relaxed) {
                match os::zero_range(&self.file, start, len) {
                    Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                        self.writes_zeroes.store(true, Ordering::Relaxed);
                    }
                    result => return result.map_err(|error| StoreError::io("zero", &error)),
                }
            }
            parts(start, len).try_for_each(|part| self.pwrite(start + part.at, &ZEROES[..part.len]))
        })
    }

    /// See [`BlockStore::compare_and_write`](super::BlockStore::compare_and_write).
    pub fn compare_and_write(
        &self,
        offset: u64,
        compare: &[u8],
        data: &[u8],
    ) -> Result<Option<usize>, StoreError> {
        debug_assert_eq!(compare.len(), data.len());
        let len = compare.len() as u64;
        if len == 0 {
            return check(offset, 0, self.size_bytes()).map(|()| None);
        }
        let _lock = self.lock(offset, len)?;
        let mut held = vec![0; compare.len()];
        self.pread(offset, &mut held)?;
        let differs = held.iter().zip(compare).position(|(held, wanted)| held != wanted);
        if differs.is_none() {
            self.change_locked(offset, len, |start, _| self.pwrite(start, data))?;
        }
        Ok(differs)
    }

    /// See [`BlockStore::unmap`](super::BlockStore::unmap).
    pub fn unmap(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        check(offset, len, self.size_bytes())?;
        self.clear(offset, len)
    }

    /// See [`BlockStore::status`](super::BlockStore::status).
    pub fn status(&self, offset: u64) -> Result<(Provisioning, u64), StoreError> {
        let size = self.size_bytes();
        check(offset, 1, size)?;
        let mut at = offset - offset % SECTOR_BYTES;
        let mut first = None;
        let end = size.min(offset.saturating_add(STATUS_WALK * GRAIN_BYTES as u64));
        while at < end {
            let grain = at / GRAIN_BYTES as u64;
            let sector = (at % GRAIN_BYTES as u64 / SECTOR_BYTES) as u32;
            let (mapped, sectors) = mask::run(self.mask(grain), sector);
            if *first.get_or_insert(mapped) != mapped {
                break;
            }
            at += u64::from(sectors) * SECTOR_BYTES;
            if !mapped && self.grains.get(at / GRAIN_BYTES as u64).is_none() {
                let next = self.grains.next_touched(at / GRAIN_BYTES as u64);
                at = next.map_or(size, |grain| grain * GRAIN_BYTES as u64);
            }
        }
        let kind = if first == Some(true) { Provisioning::Mapped } else { Provisioning::Hole };
        Ok((kind, at.min(size) - offset))
    }

    /// See [`BlockStore::flush`](super::BlockStore::flush).
    ///
    /// Flushes that wait for one another are answered by one fdatasync: the first that starts after they asked.
    pub fn flush(&self) -> Result<(), StoreError> {
        let asked = self.flushes.load(Ordering::SeqCst);
        let _turn = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&kind) = self.failed.get() {
            return Err(StoreError::FlushFailed { kind });
        }
        if self.flushes.load(Ordering::SeqCst) > asked {
            return Ok(());
        }
        self.flushes.fetch_add(1, Ordering::SeqCst);
        self.file.sync_data().map_err(|error| {
            let kind = *self.failed.get_or_init(|| error.kind());
            tracing::error!(%error, "fdatasync failed: data acknowledged before may be lost");
            StoreError::FlushFailed { kind }
        })
    }

    /// Learns from the file system which sectors hold data.
    fn load_map(&self) -> Result<(), StoreError> {
        let size = self.size_bytes();
        let mut allocated = 0;
        for extent in os::extents(&self.file) {
            let (start, end) = extent.map_err(|error| StoreError::io("map", &error))?;
            for part in parts(start, end.min(size).saturating_sub(start)) {
                let before = self.mask(part.grain);
                let after = before | mask::touched(part.start, part.len);
                self.set_mask(part.grain, after);
                allocated += mask::growth(before, after);
            }
        }
        self.allocated.store(allocated, Ordering::Relaxed);
        if self.charge == Charge::WhileOpen {
            self.space.adopt(allocated);
        }
        Ok(())
    }

    fn mask(&self, grain: u64) -> u128 {
        self.grains.get(grain).map_or(0, |entry| {
            u128::from(entry[0].load(Ordering::Acquire))
                | u128::from(entry[1].load(Ordering::Acquire)) << 64
        })
    }

    fn set_mask(&self, grain: u64, mask: u128) {
        if let Some(entry) = self.grains.touch(grain) {
            entry[0].store(mask as u64, Ordering::Release);
            entry[1].store((mask >> 64) as u64, Ordering::Release);
        }
    }

    fn is_hole(&self, grain: u64, start: usize, len: usize) -> bool {
        self.mask(grain) & mask::touched(start, len) == 0
    }

    /// Whether the range can be read from the mapping without waiting for a disk.
    fn is_resident(&self, grain: u64, start: usize, len: usize, now: u64) -> bool {
        let Some(entry) = self.grains.get(grain) else { return false };
        let seen = entry[2].load(Ordering::Relaxed);
        if seen != 0 && now.wrapping_sub(seen) < RESIDENT_MS {
            return true;
        }
        let Some((window, at)) = self.windows.of(&self.file, grain) else { return false };
        let page = os::page_bytes();
        let mut pages = [0; PAGES];
        let pages = &mut pages[..GRAIN_BYTES / page];
        if window.resident(at, pages).is_err() {
            return false;
        }
        let in_cache = |pages: &[u8]| pages.iter().all(|page| page & 1 == 1);
        if in_cache(pages) {
            entry[2].store(now.max(1), Ordering::Relaxed);
            return true;
        }
        in_cache(&pages[start / page..(start + len).div_ceil(page)])
    }

    /// Locks the range and checks it after, so that no shrink can come between.
    fn lock(&self, offset: u64, len: u64) -> Result<Exclusive, StoreError> {
        check(offset, len, u64::MAX)?;
        let first = offset / GRAIN_BYTES as u64;
        let lock = self.stripes.exclusive(first, (offset + len - 1) / GRAIN_BYTES as u64);
        check(offset, len, self.size.load(Ordering::SeqCst))?;
        Ok(lock)
    }

    fn change(
        &self,
        offset: u64,
        len: u64,
        change: impl Fn(u64, u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        check(offset, len, self.size_bytes())?;
        for (start, len) in batches(offset, len) {
            let _lock = self.lock(start, len)?;
            self.change_locked(start, len, &change)?;
        }
        Ok(())
    }

    /// Maps and changes a range whose exclusive locks are held.
    fn change_locked(
        &self,
        offset: u64,
        len: u64,
        change: impl Fn(u64, u64) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let touched = |part: super::Part| {
            let before = self.mask(part.grain);
            (before, before | mask::touched(part.start, part.len))
        };
        let growth: u64 = parts(offset, len)
            .map(touched)
            .map(|(before, after)| mask::growth(before, after))
            .sum();
        if growth > 0 {
            self.space.reserve(growth)?;
        }
        if let Err(error) = change(offset, len) {
            // What was written in part stays unmapped for the account; a later write charges it.
            if growth > 0 {
                self.space.release(growth);
            }
            return Err(error);
        }
        self.allocated.fetch_add(growth, Ordering::Relaxed);
        for part in parts(offset, len) {
            let (before, after) = touched(part);
            if after != before {
                self.set_mask(part.grain, after);
            }
        }
        Ok(())
    }

    /// Unmaps what lies wholly in the range and zeroes its ragged ends; the size is not looked at.
    fn clear(&self, offset: u64, len: u64) -> Result<(), StoreError> {
        let end = offset + len;
        let mut at = offset;
        while at < end {
            let first = at / GRAIN_BYTES as u64;
            if self.grains.get(first).is_none() {
                let Some(next) = self.grains.next_touched(first) else { break };
                at = next * GRAIN_BYTES as u64;
                continue;
            }
            let Some((start, len)) = batches(at, end - at).next() else { break };
            at = start + len;
            if parts(start, len).all(|part| self.is_hole(part.grain, part.start, part.len)) {
                continue;
            }
            let last = (start + len - 1) / GRAIN_BYTES as u64;
            let _lock = self.stripes.exclusive(first, last);
            os::punch(&self.file, start, len).map_err(|error| StoreError::io("punch", &error))?;
            let mut freed = 0;
            for part in parts(start, len) {
                let before = self.mask(part.grain);
                let after = before & !mask::covered(part.start, part.len);
                if after != before {
                    self.set_mask(part.grain, after);
                    freed += mask::charged(before) - mask::charged(after);
                }
            }
            self.allocated.fetch_sub(freed, Ordering::Relaxed);
            self.space.release(freed);
        }
        Ok(())
    }

    fn pread(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StoreError> {
        self.file.read_exact_at(buffer, offset).map_err(|error| StoreError::io("read", &error))
    }

    /// In short steps: see [`WRITE_STEP`].
    fn pwrite(&self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        let mut at = 0;
        while at < data.len() {
            let position = offset + at as u64;
            let len = ((WRITE_STEP - position % WRITE_STEP) as usize).min(data.len() - at);
            self.file
                .write_all_at(&data[at..at + len], position)
                .map_err(|error| StoreError::io("write", &error))?;
            at += len;
        }
        Ok(())
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        if self.charge == Charge::WhileOpen {
            self.space.release(self.allocated_bytes());
        }
    }
}

impl std::fmt::Debug for FileStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileStore({} of {} bytes)", self.allocated_bytes(), self.size_bytes())
    }
}

#[allow(unsafe_code)]
fn payload(window: Arc<Mapping>, at: usize, len: usize) -> Payload {
    let pointer = window.pointer(at);
    // SAFETY: a part stays within its grain and a grain within its window; it lies before the end of the file
    // (the size was checked, and the file never becomes shorter while it is open); the payload owns a count.
    unsafe { Payload::new(window, pointer, len) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn open(folder: &Path) -> FileStore {
        let path = folder.join("volume");
        FileStore::open(&path, 1 << 20, Space::unlimited(), Charge::WhileOpen).unwrap()
    }

    #[test]
    fn a_flush_that_failed_once_never_succeeds_again_but_writes_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.flush().unwrap();
        store.failed.set(io::ErrorKind::Other).unwrap();
        store.write(0, &[1; 512]).unwrap();
        for _ in 0..2 {
            let error = store.flush().unwrap_err();
            assert!(matches!(error, StoreError::FlushFailed { .. }), "{error}");
        }
    }

    #[test]
    fn flushes_that_wait_for_one_another_share_one_fdatasync() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let turn = store.flushing.lock().unwrap();
        std::thread::scope(|scope| {
            let flushes: Vec<_> = (0..8).map(|_| scope.spawn(|| store.flush())).collect();
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(turn);
            for flush in flushes {
                flush.join().unwrap().unwrap();
            }
        });
        // All asked before the first began; a thread that was late would need a second one.
        assert!(store.flushes.load(Ordering::SeqCst) <= 2);
    }

    #[test]
    fn data_out_of_the_page_cache_is_not_read_in_an_io_thread() {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        store.write(0, &[9; GRAIN_BYTES]).unwrap();
        assert_eq!(store.read(0, 4096, &mut |_| ()).unwrap(), Ready::Now);
        store.flush().unwrap();
        drop(store);
        // Opened anew, so that no mapping holds the pages.
        let store = open(folder.path());
        // SAFETY: the descriptor is open; the call passes no memory.
        #[allow(unsafe_code)]
        let dropped = unsafe {
            use std::os::fd::AsRawFd;
            libc::posix_fadvise(store.file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED)
        };
        assert_eq!(dropped, 0);
        let cold = store.read(0, 4096, &mut |_| ()).unwrap();
        let mut bytes = [0; 4096];
        store.read_blocking(0, &mut bytes).unwrap();
        assert_eq!(bytes, [9; 4096]);
        let mut sent = Vec::new();
        let warm = store.read(0, 4096, &mut |payload| payload.copy_to(&mut sent)).unwrap();
        assert_eq!((warm, sent), (Ready::Now, vec![9; 4096]));
        // A file system in memory (tmpfs) keeps its pages whatever it is advised.
        assert!(cold == Ready::Blocking || is_in_memory(folder.path()), "{cold:?}");
    }

    fn is_in_memory(folder: &Path) -> bool {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let best = mounts
            .lines()
            .filter_map(|line| {
                let mut fields = line.split(' ').skip(1);
                Some((fields.next()?, fields.next()?))
            })
            .filter(|(point, _)| folder.starts_with(point))
            .max_by_key(|(point, _)| point.len());
        best.is_some_and(|(_, kind)| kind == "tmpfs" || kind == "ramfs")
    }
}
