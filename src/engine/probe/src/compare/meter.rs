//! What a measurement cost outside of the probe: CPU time of the target's process and of the machine, from
//! /proc; the rate of the link, from /sys.

use std::{collections::BTreeMap, fs, net::ToSocketAddrs as _, path::Path};

use plimsoll_initiator::Url;

use crate::{Error, Result, preflight::interfaces};

/// A reading of the counters.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// CPU ticks of the process.
    process: Option<u64>,
    /// CPU ticks of its threads.
    threads: BTreeMap<u32, u64>,
    /// Busy and all ticks of the machine, over all cores.
    machine: Option<(u64, u64)>,
}

/// What two readings say.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Cost {
    /// CPU seconds of the process.
    pub process_seconds: Option<f64>,
    /// CPU seconds of its busiest thread.
    pub busiest_seconds: Option<f64>,
    /// Share of the machine's CPU time that was busy.
    pub machine_share: Option<f64>,
}

/// Checks that a process is there.
pub fn check(pid: u32) -> Result<()> {
    let path = format!("/proc/{pid}/stat");
    fs::read(&path).map(drop).map_err(|source| Error::File { path: path.into(), source })
}

impl Reading {
    /// Now.
    #[must_use]
    pub fn take(pid: Option<u32>) -> Self {
        let mut reading = Self { machine: machine(), ..Self::default() };
        if let Some(pid) = pid {
            reading.process = ticks(Path::new(&format!("/proc/{pid}/stat")));
            let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            reading.threads = threads
                .filter_map(|entry| {
                    let id = entry.file_name().to_str()?.parse().ok()?;
                    Some((id, ticks(&entry.path().join("stat"))?))
                })
                .collect();
        }
        reading
    }

    /// From this one to a later one.
    #[must_use]
    pub fn until(&self, later: &Self) -> Cost {
        let process = self.process.zip(later.process);
        let busiest = later
            .threads
            .iter()
            .filter_map(|(id, after)| Some(after.saturating_sub(*self.threads.get(id)?)))
            .max();
        let machine = self.machine.zip(later.machine).and_then(|(before, after)| {
            let all = after.1.saturating_sub(before.1);
            #[expect(clippy::cast_precision_loss, reason = "a share")]
            (all > 0).then(|| after.0.saturating_sub(before.0) as f64 / all as f64)
        });
        Cost {
            process_seconds: process.map(|(before, after)| seconds(after.saturating_sub(before))),
            busiest_seconds: busiest.map(seconds),
            machine_share: machine,
        }
    }
}

/// User and system time of a process or thread (proc(5): fields 14 and 15, after the name in brackets).
fn ticks(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let (_, rest) = text.rsplit_once(") ")?;
    let mut fields = rest.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// Busy and all ticks of all cores (proc(5): the first line of /proc/stat; idle and iowait are not busy).
fn machine() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields: Vec<u64> =
        line.split_ascii_whitespace().take(8).map_while(|field| field.parse().ok()).collect();
    let all: u64 = fields.iter().sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((all - idle, all))
}

#[allow(unsafe_code)]
fn seconds(ticks: u64) -> f64 {
    // SAFETY: sysconf takes a number and returns one.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    #[expect(clippy::cast_precision_loss, reason = "seconds")]
    let (ticks, per_second) = (ticks as f64, per_second.max(1) as f64);
    ticks / per_second
}

/// Rate of the interface that leads to a URL's host, in MiB a second; `None` when the system does not tell,
/// as for loopback.
#[must_use]
pub fn link_mib_per_s(url: &str) -> Option<f64> {
    let (host, port) = match Url::parse(url).ok()? {
        Url::Iscsi(url) => (url.host, url.port),
        Url::Nfs(url) => (url.host, url.port.unwrap_or(2049)),
    };
    let remote = (host.as_str(), port).to_socket_addrs().ok()?.next()?;
    let local = interfaces::source_of(remote)?;
    let found = interfaces::list().ok()?.into_iter().find(|one| one.address == local)?;
    let text = fs::read_to_string(format!("/sys/class/net/{}/speed", found.name)).ok()?;
    let mbit: f64 = text.trim().parse().ok().filter(|mbit| *mbit > 0.0)?;
    Some(mbit * 1e6 / 8.0 / 1_048_576.0)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn work_of_a_process_is_counted() {
        let pid = std::process::id();
        check(pid).unwrap();
        let before = Reading::take(Some(pid));
        let begin = std::time::Instant::now();
        let mut sum = 0u64;
        while begin.elapsed().as_millis() < 200 {
            sum = sum.wrapping_add((0..10_000u64).map(std::hint::black_box).sum::<u64>());
        }
        std::hint::black_box(sum);
        let cost = before.until(&Reading::take(Some(pid)));
        assert!(cost.process_seconds.unwrap() > 0.02, "{cost:?}");
        assert!(cost.busiest_seconds.unwrap() > 0.02, "{cost:?}");
        assert!((0.0..=1.0).contains(&cost.machine_share.unwrap()), "{cost:?}");
    }

    #[test]
    fn a_process_that_is_not_there_is_an_error() {
        assert!(check(u32::MAX).is_err());
        let cost = Reading::take(Some(u32::MAX)).until(&Reading::take(Some(u32::MAX)));
        assert_eq!((cost.process_seconds, cost.busiest_seconds), (None, None));
    }

    #[test]
    fn loopback_has_no_rate() {
        assert_eq!(link_mib_per_s("iscsi://127.0.0.1:3260/iqn.x/0"), None);
    }
}
