//! The system calls of the file store that the standard library lacks, each behind a safe function.

use std::ffi::c_void;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    target_pointer_width = "64"
)))]
compile_error!("the file store is written for 64-bit Linux on x86_64 and aarch64");

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn fallocate(file: &File, mode: libc::c_int, offset: u64, len: u64) -> io::Result<()> {
    let (offset, len) = (signed(offset)?, signed(len)?);
    loop {
        // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
        #[allow(unsafe_code)]
        let result = done(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, len) });
        match result {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn signed(value: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(value).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))
}

/// Deallocates a range; it reads as zeroes, also where it covers a page in part.
pub(super) fn punch(file: &File, offset: u64, len: u64) -> io::Result<()> {
    fallocate(file, libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, offset, len)
}

/// Allocates a range that reads as zeroes, without writing it where the file system can.
pub(super) fn zero_range(file: &File, offset: u64, len: u64) -> io::Result<()> {
    fallocate(file, libc::FALLOC_FL_ZERO_RANGE | libc::FALLOC_FL_KEEP_SIZE, offset, len)
}

fn seek(file: &File, offset: u64, whence: libc::c_int) -> io::Result<Option<u64>> {
    let offset = signed(offset)?;
    // SAFETY: the descriptor is open for as long as `file` is borrowed; no memory is passed.
    #[allow(unsafe_code)]
    let found = unsafe { libc::lseek(file.as_raw_fd(), offset, whence) };
    if found >= 0 {
        return Ok(Some(found as u64));
    }
    let error = io::Error::last_os_error();
    // ENXIO: no data from there on.
    if error.raw_os_error() == Some(libc::ENXIO) { Ok(None) } else { Err(error) }
}

/// The extents of the file that hold data, in order.
pub(super) fn extents(file: &File) -> impl Iterator<Item = io::Result<(u64, u64)>> + '_ {
    let mut at = Some(0);
    std::iter::from_fn(move || {
        let mut next = || -> io::Result<Option<(u64, u64)>> {
            let Some(start) = seek(file, at.take().unwrap_or(u64::MAX >> 1), libc::SEEK_DATA)?
            else {
                return Ok(None);
            };
            let end = seek(file, start, libc::SEEK_HOLE)?;
            at = end;
            Ok(end.map(|end| (start, end)))
        };
        next().transpose()
    })
}

/// Size of a page: 4 KiB, on some aarch64 kernels 16 or 64 KiB.
pub(super) fn page_bytes() -> usize {
    static PAGE: OnceLock<usize> = OnceLock::new();
    *PAGE.get_or_init(|| {
        // SAFETY: reads a constant of the system.
        #[allow(unsafe_code)]
        let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(bytes).unwrap_or(4096)
    })
}

/// Coarse monotonic time in milliseconds: a few nanoseconds to read, a few milliseconds exact.
pub(super) fn coarse_ms() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one timespec to a live, exclusive place.
    #[allow(unsafe_code)]
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &raw mut time) };
    debug_assert_eq!(result, 0);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000
}

/// A read-only shared mapping of a part of a file.
///
/// It may reach beyond the end of the file; whoever reads stays within the end, and the store never makes a
/// file shorter while it is open (a shorter file would turn such a read into SIGBUS).
pub(super) struct Mapping {
    address: *mut c_void,
    len: usize,
}

// SAFETY: the mapping is a run of addresses that any thread may read; it is unmapped once, on drop.
#[allow(unsafe_code)]
unsafe impl Send for Mapping {}
// SAFETY: as above: shared use is reading only.
#[allow(unsafe_code)]
unsafe impl Sync for Mapping {}

impl Mapping {
    pub(super) fn new(file: &File, offset: u64, len: usize) -> io::Result<Self> {
        let offset = signed(offset)?;
        // SAFETY: the kernel picks a free run of addresses, so no existing memory is touched.
        #[allow(unsafe_code)]
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                offset,
            )
        };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { address, len })
    }

    /// The address of a byte; it must lie within the mapping.
    pub(super) fn pointer(&self, start: usize) -> *const u8 {
        debug_assert!(start < self.len);
        self.address.cast::<u8>().cast_const().wrapping_add(start)
    }

    /// Which pages from `start` on, one per byte of `out`, are in the page cache (bit 0).
    pub(super) fn resident(&self, start: usize, out: &mut [u8]) -> io::Result<()> {
        let len = out.len() * page_bytes();
        assert!(start.is_multiple_of(page_bytes()) && start + len <= self.len);
        // SAFETY: the range lies within this mapping by the assertion; the kernel writes one byte per page of
        // it, and `out` has exactly that many.
        #[allow(unsafe_code)]
        done(unsafe {
            libc::mincore(
                self.address.cast::<u8>().wrapping_add(start).cast(),
                len,
                out.as_mut_ptr(),
            )
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was mapped by `new` and is unmapped once; payloads that point into it own a count
        // of the `Arc` around it, so none is left.
        #[allow(unsafe_code)]
        let result = unsafe { libc::munmap(self.address, self.len) };
        debug_assert_eq!(result, 0);
    }
}
