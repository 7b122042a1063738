//! File descriptors: a server of a thousand sessions and as many files needs more than a shell gives.

use std::io;

/// Raises the soft limit of open files of this process to the hard one; tells the limit in force.
#[allow(unsafe_code)]
pub fn raise_open_files_limit() -> io::Result<u64> {
    // SAFETY: a zeroed rlimit is a valid one; both calls are given a live one.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_cur = limit.rlim_max;
        if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(limit.rlim_cur)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    /// More descriptors than the usual soft limit of 1,024 can be opened afterwards, where the hard limit allows.
    #[test]
    fn more_files_than_the_soft_limit_open() {
        let limit = super::raise_open_files_limit().unwrap();
        let wanted = usize::try_from(limit.min(1_500)).unwrap().saturating_sub(200);
        let files: Vec<_> =
            (0..wanted).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        assert_eq!(files.len(), wanted);
    }
}
