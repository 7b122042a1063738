//! Limits of this process: open files, locked memory, cores.

use std::fs;

use super::{Check, Status, has_capability};

const TOPIC: &str = "limits";
/// CAP_IPC_LOCK (capabilities(7)): locks memory without limit.
const IPC_LOCK: u32 = 14;
/// A thousand sessions, a connection and a file each, and as much again.
const FILES_WANTED: u64 = 4096;
/// The engine's own descriptors and a handful of connections.
const FILES_NEEDED: u64 = 128;
/// Registered memory of a target's cache and of a few connections; below it RDMA refuses registrations early.
const LOCKED_WANTED_BYTES: u64 = 1 << 30;

pub(super) fn look(rdma: bool) -> Vec<Check> {
    let text = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    vec![open_files(&text), locked_memory(&text, rdma), cores()]
}

/// Soft and hard limit of a line of /proc/self/limits; `u64::MAX` is unlimited.
fn limit(text: &str, name: &str) -> Option<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let mut fields = line.split_ascii_whitespace().map(|field| match field {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((fields.next()??, fields.next()??))
}

fn show(limit: u64) -> String {
    if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() }
}

fn open_files(text: &str) -> Check {
    let name = "open files";
    let Some((soft, hard)) = limit(text, "Max open files") else {
        return Check::new(TOPIC, name, Status::Warn, "the system does not tell")
            .advise("ulimit -n");
    };
    let found = format!("{} now, {} at most", show(soft), show(hard));
    // The target raises its own limit to the most that it may.
    let status = match hard {
        0..FILES_NEEDED => Status::Fail,
        FILES_NEEDED..FILES_WANTED => Status::Warn,
        _ => Status::Ok,
    };
    let check = Check::new(TOPIC, name, status, found);
    if status == Status::Ok {
        return check;
    }
    check.advise(format!(
        "raise the hard limit to {FILES_WANTED} or more (LimitNOFILE= of systemd, /etc/security/limits.conf)"
    ))
}

fn locked_memory(text: &str, rdma: bool) -> Check {
    let name = "locked memory";
    let Some((soft, _)) = limit(text, "Max locked memory") else {
        return Check::new(TOPIC, name, Status::Warn, "the system does not tell")
            .advise("ulimit -l");
    };
    if has_capability(IPC_LOCK) == Some(true) {
        return Check::new(TOPIC, name, Status::Ok, "without limit (CAP_IPC_LOCK)");
    }
    let found = if soft == u64::MAX { show(soft) } else { format!("{} KiB", soft >> 10) };
    if soft >= LOCKED_WANTED_BYTES || !rdma {
        let unused = if rdma { "" } else { " (only RDMA needs it)" };
        return Check::new(TOPIC, name, Status::Ok, found + unused);
    }
    Check::new(TOPIC, name, Status::Warn, found).advise(
        "memory that RDMA reaches is locked: raise it (LimitMEMLOCK=infinity of systemd, memlock in \
         /etc/security/limits.conf) or give CAP_IPC_LOCK",
    )
}

fn cores() -> Check {
    let name = "cores";
    match std::thread::available_parallelism() {
        Ok(count) if count.get() > 1 => {
            Check::new(TOPIC, name, Status::Ok, format!("{count} may be used"))
        }
        Ok(_) => Check::new(TOPIC, name, Status::Warn, "one: target and probe take turns")
            .advise("measure a target on another machine, or give this one more cores"),
        Err(error) => Check::new(TOPIC, name, Status::Warn, error.to_string()).advise("nproc"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                        Max open files            1024                 524288               files     \n\
                        Max locked memory         8388608              unlimited            bytes     \n";

    #[test]
    fn limits_are_read_as_the_kernel_shows_them() {
        assert_eq!(limit(TEXT, "Max open files"), Some((1024, 524_288)));
        assert_eq!(limit(TEXT, "Max locked memory"), Some((8_388_608, u64::MAX)));
        assert_eq!(limit(TEXT, "Max wishes"), None);
        assert_eq!(open_files(TEXT).status, Status::Ok);
    }

    #[test]
    fn few_open_files_warn_and_hardly_any_fail() {
        let with =
            |hard: u64| format!("Max open files            64                 {hard} files\n");
        assert_eq!(open_files(&with(1024)).status, Status::Warn);
        assert_eq!(open_files(&with(64)).status, Status::Fail);
        assert_eq!(open_files("").status, Status::Warn);
    }
}
