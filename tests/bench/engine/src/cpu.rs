//! CPU time of this process.

/// User and system time of all threads of this process, seconds.
#[allow(unsafe_code)]
pub fn process_cpu_seconds() -> f64 {
    // SAFETY: a zeroed rusage is a valid one, and getrusage fills the one it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
