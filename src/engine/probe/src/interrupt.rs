//! Ctrl-C and SIGTERM as a flag: the run ends, and what was measured is still told.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

extern "C" fn note(_signal: libc::c_int) {
    // A second signal ends the process as it would have without this handler.
    if INTERRUPTED.swap(true, Ordering::Relaxed) {
        reset();
    }
}

#[allow(unsafe_code)]
fn reset() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: signal() is async-signal-safe (POSIX 2.4.3) and SIG_DFL is a valid disposition.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
}

/// Starts listening.
#[allow(unsafe_code)]
pub fn listen() {
    let handler = note as extern "C" fn(libc::c_int);
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler touches an atomic and calls signal() only, both async-signal-safe.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
}

/// Whether a signal came.
#[must_use]
pub fn came() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
