//! A descriptor that becomes readable.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

pub(super) struct Signal(OwnedFd);

impl Signal {
    #[allow(unsafe_code)]
    pub fn new() -> io::Result<Self> {
        // SAFETY: no pointers are passed; a descriptor that is returned is new and belongs to this value.
        unsafe {
            let descriptor = libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC);
            if descriptor < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Self(OwnedFd::from_raw_fd(descriptor)))
        }
    }

    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Makes it readable.
    #[allow(unsafe_code)]
    pub fn raise(&self) {
        let one = 1_u64;
        // SAFETY: eight bytes are read from a live local. A counter that is full is readable already.
        unsafe { libc::write(self.descriptor(), (&raw const one).cast(), 8) };
    }

    /// Makes it unreadable.
    #[allow(unsafe_code)]
    pub fn lower(&self) {
        let mut count = 0_u64;
        // SAFETY: eight bytes are written into a live local.
        unsafe { libc::read(self.descriptor(), (&raw mut count).cast(), 8) };
    }
}
