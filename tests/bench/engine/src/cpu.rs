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
    total_seconds(&usage)
}

/// User and system time of another process, seconds; zero when it is gone.
pub fn process_cpu_seconds_of(process: u32) -> f64 {
    // SAFETY: sysconf has no preconditions.
    #[allow(unsafe_code)]
    let ticks_a_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The command name may hold spaces; fields count from behind its closing parenthesis.
    let rest = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let ticks: f64 =
        rest.split(' ').skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / ticks_a_second
}

/// Resident memory of another process, bytes; zero when it is gone.
pub fn resident_bytes_of(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let kib = text
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// CPU time of children that have ended and were waited for, seconds.
#[allow(unsafe_code)]
pub fn children_cpu_seconds() -> f64 {
    // SAFETY: a zeroed rusage is a valid one, and getrusage fills the one it is given.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    total_seconds(&usage)
}

fn total_seconds(usage: &libc::rusage) -> f64 {
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
