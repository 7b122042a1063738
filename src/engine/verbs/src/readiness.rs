//! One descriptor that is readable when any of several is, for use inside of another poll, edge-triggered or not.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;
use std::time::Duration;

use plimsoll_fabric::rdma::RdmaError;

/// An epoll descriptor that nobody waits on: the outer poll asks it.
pub struct Readiness(OwnedFd);

impl Readiness {
    /// Of nothing yet.
    #[allow(unsafe_code)]
    pub fn new() -> Result<Self, RdmaError> {
        // SAFETY: the call takes no memory.
        owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }, "epoll_create1").map(Self)
    }

    /// Also when this one is. It leaves by being closed.
    #[allow(unsafe_code)]
    pub fn add(&self, descriptor: RawFd) -> Result<(), RdmaError> {
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 0 };
        // SAFETY: the event lives for the call.
        let code = unsafe {
            libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, descriptor, &raw mut event)
        };
        if code == 0 { Ok(()) } else { Err(RdmaError::last_os_error("epoll_ctl")) }
    }

    /// The descriptor.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A descriptor that is readable from now on.
#[allow(unsafe_code)]
pub fn always() -> Result<OwnedFd, RdmaError> {
    // SAFETY: the call takes no memory.
    owned(unsafe { libc::eventfd(1, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) }, "eventfd")
}

/// A descriptor that becomes readable once, when the time has passed.
#[allow(unsafe_code)]
pub fn after(wait: Duration) -> Result<OwnedFd, RdmaError> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: the call takes no memory.
    let timer = owned(unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) }, "timerfd")?;
    let once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let at = libc::timespec {
        tv_sec: wait.as_secs() as libc::time_t,
        tv_nsec: libc::c_long::from(wait.subsec_nanos()),
    };
    let setting = libc::itimerspec { it_interval: once, it_value: at };
    // SAFETY: the setting lives for the call; the old one is not asked for.
    let code =
        unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &raw const setting, null_mut()) };
    if code == 0 { Ok(timer) } else { Err(RdmaError::last_os_error("timerfd_settime")) }
}

#[allow(unsafe_code)]
fn owned(descriptor: RawFd, call: &str) -> Result<OwnedFd, RdmaError> {
    if descriptor < 0 {
        return Err(RdmaError::last_os_error(call));
    }
    // SAFETY: it was just made, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Whether the time of [`after`] has passed.
#[allow(unsafe_code)]
pub fn passed(timer: &OwnedFd) -> bool {
    let mut count = [0_u8; 8];
    // SAFETY: the buffer is as long as the call is told.
    unsafe { libc::read(timer.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) == 8 }
}
