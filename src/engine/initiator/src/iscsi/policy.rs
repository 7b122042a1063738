//! Which path an operation takes: the path selection policies of multipath, as VMware names them.
//!
//! The unit tells which paths may be used (up, and of the best ALUA state at hand); a policy picks among these
//! and counts how often it moved. Paths are picked when an operation is issued, not when it completes, so a
//! round robin of 1,000 operations with 32 outstanding stays on one path for long: that is the founding result.

use std::time::Duration;

use crate::Policy;

/// Samples per path that the latency policy averages (VMware's samplingCycles).
const LATENCY_SAMPLES: u32 = 16;
/// Operations between two samplings of the latency policy, a stand-in for VMware's three minutes that needs no
/// clock and does not depend on the load.
const LATENCY_INTERVAL_OPS: u64 = 100_000;
/// A path slower than the best by this factor gets nothing until the next sampling.
const LATENCY_EXCLUDED_FACTOR: f64 = 4.0;

/// What the policy knows of one path.
#[derive(Debug, Clone, Default)]
struct Path {
    /// May be picked now.
    usable: bool,
    in_flight: u32,
    switches: u64,
    /// Latency policy: sum and number of samples of this sampling.
    sampled_ns: u64,
    samples: u32,
    /// Samples asked for and not yet answered or counted.
    sampling: u32,
    /// Share of this path and its running credit (smooth weighted round robin).
    weight: f64,
    credit: f64,
}

/// The state of a policy over the paths of one unit.
#[derive(Debug)]
pub(super) struct Selector {
    policy: Policy,
    paths: Vec<Path>,
    usable: Vec<usize>,
    /// Index of the path picked last.
    current: Option<usize>,
    /// What may still go to the current path (round robin): operations or bytes.
    left: u64,
    /// Latency policy: sampling goes on.
    sampling: bool,
    since_sampling: u64,
}

impl Selector {
    pub fn new(policy: Policy, paths: usize) -> Self {
        Self {
            policy,
            paths: vec![Path::default(); paths],
            usable: Vec::new(),
            current: None,
            left: 0,
            sampling: true,
            since_sampling: 0,
        }
    }

    /// Tells which paths may be used from now on.
    pub fn set_usable(&mut self, usable: impl Fn(usize) -> bool) {
        self.usable.clear();
        for (index, path) in self.paths.iter_mut().enumerate() {
            path.usable = usable(index);
            if path.usable {
                self.usable.push(index);
            }
        }
        self.start_sampling();
    }

    pub fn switches(&self, path: usize) -> u64 {
        self.paths[path].switches
    }

    pub fn in_flight(&self, path: usize) -> u32 {
        self.paths[path].in_flight
    }

    /// The path for an operation of `bytes`, counted as under way on it; none when no path is usable.
    #[inline]
    pub fn pick(&mut self, bytes: u32) -> Option<usize> {
        let picked = match self.usable[..] {
            [] => return None,
            [only] => only,
            _ => self.choose(bytes),
        };
        if self.current != Some(picked) {
            if self.current.is_some() {
                self.paths[picked].switches += 1;
            }
            self.current = Some(picked);
        }
        self.paths[picked].in_flight += 1;
        Some(picked)
    }

    fn choose(&mut self, bytes: u32) -> usize {
        let stay = self.current.filter(|&path| self.paths[path].usable);
        match self.policy {
            Policy::Fixed => self.usable[0],
            Policy::MostRecentlyUsed => stay.unwrap_or_else(|| self.next()),
            Policy::RoundRobinIops(operations) => self.rotate(stay, 1, u64::from(operations)),
            Policy::RoundRobinBytes(limit) => self.rotate(stay, u64::from(bytes), limit),
            Policy::LeastQueueDepth => self.least(|path| f64::from(path.in_flight)),
            Policy::Latency => self.by_latency(),
        }
    }

    /// The usable path after the current one.
    fn next(&self) -> usize {
        let after = self.current.map_or(0, |path| path + 1);
        let index = self.usable.partition_point(|&path| path < after);
        self.usable.get(index).copied().unwrap_or(self.usable[0])
    }

    fn rotate(&mut self, stay: Option<usize>, cost: u64, limit: u64) -> usize {
        if let Some(path) = stay
            && self.left > 0
        {
            self.left = self.left.saturating_sub(cost);
            return path;
        }
        self.left = limit.saturating_sub(cost);
        self.next()
    }

    /// The usable path with the least measure; of equals, the one next to the current.
    fn least(&self, measure: impl Fn(&Path) -> f64) -> usize {
        let first = self.next();
        let start = self.usable.iter().position(|&path| path == first).unwrap_or(0);
        let (before, after) = self.usable.split_at(start);
        let mut best = first;
        for &path in after.iter().chain(before) {
            if measure(&self.paths[path]) < measure(&self.paths[best]) {
                best = path;
            }
        }
        best
    }

    fn by_latency(&mut self) -> usize {
        if self.sampling {
            let next = self.least(|path| f64::from(path.samples + path.sampling));
            self.paths[next].sampling += 1;
            return next;
        }
        self.since_sampling += 1;
        if self.since_sampling > LATENCY_INTERVAL_OPS {
            self.start_sampling();
        }
        // Smooth weighted round robin: each path earns its weight, the richest pays one.
        let mut best = self.usable[0];
        for &path in &self.usable {
            let path_state = &mut self.paths[path];
            path_state.credit += path_state.weight;
            if path_state.credit > self.paths[best].credit {
                best = path;
            }
        }
        self.paths[best].credit -= 1.0;
        best
    }

    fn start_sampling(&mut self) {
        self.sampling = true;
        self.since_sampling = 0;
        for path in &mut self.paths {
            (path.samples, path.sampling, path.sampled_ns) = (0, 0, 0);
        }
    }

    /// An operation on `path` left it; `latency` is given when it was answered.
    #[inline]
    pub fn finished(&mut self, path: usize, latency: Option<Duration>) {
        let state = &mut self.paths[path];
        state.in_flight = state.in_flight.saturating_sub(1);
        if self.policy == Policy::Latency
            && self.sampling
            && let Some(latency) = latency
        {
            state.sampling = state.sampling.saturating_sub(1);
            state.samples += 1;
            state.sampled_ns += u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
            self.end_sampling();
        }
    }

    fn end_sampling(&mut self) {
        if self.usable.iter().any(|&path| self.paths[path].samples < LATENCY_SAMPLES) {
            return;
        }
        self.sampling = false;
        let mean = |path: &Path| path.sampled_ns as f64 / f64::from(path.samples) + 1.0;
        let best =
            self.usable.iter().map(|&path| mean(&self.paths[path])).fold(f64::INFINITY, f64::min);
        let mut sum = 0.0;
        for &path in &self.usable {
            let ratio = mean(&self.paths[path]) / best;
            let weight = if ratio > LATENCY_EXCLUDED_FACTOR { 0.0 } else { 1.0 / ratio };
            self.paths[path].weight = weight;
            self.paths[path].credit = 0.0;
            sum += weight;
        }
        for &path in &self.usable {
            self.paths[path].weight /= sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(policy: Policy, paths: usize) -> Selector {
        let mut selector = Selector::new(policy, paths);
        selector.set_usable(|_| true);
        selector
    }

    fn picks(selector: &mut Selector, count: usize, bytes: u32) -> Vec<usize> {
        (0..count).filter_map(|_| selector.pick(bytes)).collect()
    }

    #[test]
    fn round_robin_changes_after_so_many_operations() {
        let mut one = selector(Policy::RoundRobinIops(1), 3);
        assert_eq!(picks(&mut one, 6, 8192), [0, 1, 2, 0, 1, 2]);
        assert_eq!((one.switches(0), one.switches(1), one.switches(2)), (1, 2, 2));
        let mut three = selector(Policy::RoundRobinIops(3), 2);
        assert_eq!(picks(&mut three, 8, 8192), [0, 0, 0, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn round_robin_changes_after_so_many_bytes() {
        let mut bytes = selector(Policy::RoundRobinBytes(16384), 2);
        assert_eq!(picks(&mut bytes, 6, 8192), [0, 0, 1, 1, 0, 0]);
        let mut large = selector(Policy::RoundRobinBytes(4096), 2);
        assert_eq!(picks(&mut large, 4, 8192), [0, 1, 0, 1]);
    }

    #[test]
    fn a_lost_path_is_skipped_and_its_return_is_noticed() {
        for (policy, lost, back) in [
            (Policy::Fixed, [1, 1, 1], [0, 0, 0]),
            (Policy::MostRecentlyUsed, [1, 1, 1], [1, 1, 1]),
            (Policy::RoundRobinIops(1), [1, 2, 1], [2, 0, 1]),
        ] {
            let mut selector = selector(policy, 3);
            assert_eq!(selector.pick(1), Some(0), "{policy}");
            selector.set_usable(|path| path != 0);
            assert_eq!(picks(&mut selector, 3, 1), lost, "{policy}");
            selector.set_usable(|_| true);
            assert_eq!(picks(&mut selector, 3, 1), back, "{policy}");
        }
        let mut none = selector(Policy::Fixed, 1);
        none.set_usable(|_| false);
        assert_eq!(none.pick(1), None);
    }

    #[test]
    fn least_queue_depth_evens_out() {
        let mut selector = selector(Policy::LeastQueueDepth, 2);
        assert_eq!(picks(&mut selector, 4, 1), [0, 1, 0, 1]);
        selector.finished(1, None);
        selector.finished(1, None);
        assert_eq!(picks(&mut selector, 2, 1), [1, 1]);
        assert_eq!((selector.in_flight(0), selector.in_flight(1)), (2, 2));
    }

    #[test]
    fn latency_gives_the_faster_path_more_and_a_far_slower_one_nothing() {
        let mut selector = selector(Policy::Latency, 3);
        let latency = [100, 200, 1000].map(Duration::from_micros);
        for _ in 0..3 * LATENCY_SAMPLES {
            let path = selector.pick(1).unwrap_or(9);
            selector.finished(path, Some(latency[path]));
        }
        let mut counts = [0; 3];
        for path in picks(&mut selector, 300, 1) {
            counts[path] += 1;
        }
        assert_eq!(counts[2], 0);
        assert!((199..=201).contains(&counts[0]), "{counts:?}");
    }
}
