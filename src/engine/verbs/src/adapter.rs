//! Letting go of an adapter that was removed.
//!
//! librdmacm opens an adapter once for the whole process and keeps it open, at least until it learns of another
//! one. Some drivers, soft RoCE for one, wait with the removal until every process has closed the adapter. So
//! when the last protection domain of a removed adapter is gone, and with it everything that was made from it,
//! its descriptors are replaced by ones of `/dev/null`: for the kernel the adapter is closed, and librdmacm can
//! close what it holds whenever it likes.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ibverbs_sys::ibv_context;

use crate::library::Libraries;

/// Protection domains of each open adapter, by its context.
static DOMAINS: Mutex<BTreeMap<usize, usize>> = Mutex::new(BTreeMap::new());

fn domains() -> MutexGuard<'static, BTreeMap<usize, usize>> {
    DOMAINS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A protection domain was made from an adapter.
pub fn domain_made(context: *mut ibv_context) {
    *domains().entry(context as usize).or_default() += 1;
}

/// A protection domain has ended.
pub fn domain_ended(context: *mut ibv_context) {
    let mut domains = domains();
    if let Some(count) = domains.get_mut(&(context as usize)) {
        *count -= 1;
        if *count == 0 {
            domains.remove(&(context as usize));
        }
    }
}

/// Closes an adapter for the kernel if it was removed and nothing of it is left.
///
/// # Safety
/// An id of the adapter lives, so that its context does.
#[allow(unsafe_code)]
pub unsafe fn let_go(libraries: &Libraries, context: *mut ibv_context) {
    let domains = domains();
    if domains.contains_key(&(context as usize)) || is_there(libraries, context) {
        return;
    }
    let Ok(nothing) = File::open("/dev/null") else { return };
    // SAFETY: the context lives by contract, and its descriptors are open as long as it does. No resource of it
    // is left that a call could be about.
    unsafe {
        for descriptor in [(*context).cmd_fd, (*context).async_fd] {
            libc::dup3(nothing.as_raw_fd(), descriptor, libc::O_CLOEXEC);
        }
    }
}

/// Whether the adapter is among those of this machine.
#[allow(unsafe_code)]
fn is_there(libraries: &Libraries, context: *mut ibv_context) -> bool {
    let mut count = 0;
    // SAFETY: the list is valid until it is freed and has as many entries as were told; the context lives.
    unsafe {
        let list = (libraries.verbs.ibv_get_device_list)(&raw mut count);
        if list.is_null() {
            return true; // not known
        }
        let device = (*context).device;
        let found = (0..count as usize).any(|at| *list.add(at) == device);
        (libraries.verbs.ibv_free_device_list)(list);
        found
    }
}
