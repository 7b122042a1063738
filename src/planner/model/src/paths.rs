//! How many paths really work at once: from the path policy and the queue depth.
//!
//! Round robin changes the path after a run of `k` I/Os. With `m` paths busy, what completes on all
//! of them is issued to one: its queue grows to `k (m - 1) / m` in the run and drains after it. The
//! queues of the `m` paths together are on average `k (m - 1) / 2`, which is what is outstanding:
//! `m = 1 + 2 (q - 1) / k`, at most the paths and the I/Os there are; docs/models.md section 6.

use serde::{Deserialize, Serialize};

/// How a host spreads I/Os over the paths to one datastore.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathPolicy {
    /// One path until it fails: fixed, or most recently used.
    One,
    /// Round robin, changing after this many I/Os (ESXi's default is 1,000).
    RoundRobin {
        /// I/Os before the path changes, at least 1.
        iops: u32,
    },
    /// Least queue depth, or NFS connections that share one mount.
    LeastQueue,
}

/// Paths that work at once of `paths`, at `outstanding` I/Os to the datastore from one host.
///
/// 1 at least: also an idle host has one path.
#[must_use]
pub fn effective_paths(policy: PathPolicy, paths: u32, outstanding: f64) -> f64 {
    let paths = f64::from(paths.max(1));
    let window = outstanding.max(1.0);
    let busy = match policy {
        PathPolicy::One => 1.0,
        PathPolicy::LeastQueue => window,
        PathPolicy::RoundRobin { iops } => {
            window.min(1.0 + 2.0 * (window - 1.0) / f64::from(iops.max(1)))
        }
    };
    busy.clamp(1.0, paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completions a second of a closed loop of `q` over `paths` servers of one I/O a tick each,
    /// counted I/O by I/O.
    fn simulated(run: u32, paths: usize, q: usize) -> f64 {
        let mut queues = vec![0_u64; paths];
        let (mut issued, mut done) = (0_u64, 0_u64);
        let mut issue = |queues: &mut Vec<u64>| {
            let path = (issued / u64::from(run)) as usize % paths;
            queues[path] += 1;
            issued += 1;
        };
        (0..q).for_each(|_| issue(&mut queues));
        let ticks = 40_000;
        for _ in 0..ticks {
            let served: Vec<usize> = (0..paths).filter(|&path| queues[path] > 0).collect();
            for &path in &served {
                queues[path] -= 1;
                done += 1;
            }
            served.iter().for_each(|_| issue(&mut queues));
        }
        done as f64 / f64::from(ticks)
    }

    #[test]
    fn closed_loops_counted_io_by_io_agree() {
        for (run, q) in [(1_u32, 32_usize), (1, 2), (1_000, 32), (1_000, 4), (10, 16), (100, 64)] {
            let own = effective_paths(PathPolicy::RoundRobin { iops: run }, 4, q as f64);
            let counted = simulated(run, 4, q);
            assert!((own / counted - 1.0).abs() < 0.15, "iops {run}, {q}: {own} {counted}");
        }
    }

    #[test]
    fn a_published_pair_is_told_apart() {
        // ReadyNAS over four 1 GbE paths at 112 MB/s each: about 100 MB/s at the default of 1,000,
        // 404 MB/s at 1, which is 3.6 of 4.
        let at = |iops| effective_paths(PathPolicy::RoundRobin { iops }, 4, 32.0);
        assert!(at(1_000) < 1.07, "{}", at(1_000));
        assert_eq!(at(1), 4.0);
        assert!((404.0 / 112.0 / at(1) - 1.0_f64).abs() < 0.11);
    }

    #[test]
    fn one_path_and_shallow_queues_stay_one() {
        assert_eq!(effective_paths(PathPolicy::One, 8, 64.0), 1.0);
        assert_eq!(effective_paths(PathPolicy::LeastQueue, 4, 2.0), 2.0);
        assert_eq!(effective_paths(PathPolicy::LeastQueue, 4, 64.0), 4.0);
        assert_eq!(effective_paths(PathPolicy::RoundRobin { iops: 1 }, 4, 1.0), 1.0);
        assert_eq!(effective_paths(PathPolicy::RoundRobin { iops: 0 }, 0, 0.0), 1.0);
    }
}
