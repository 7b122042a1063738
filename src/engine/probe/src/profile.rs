//! Sets of workloads with a name.
//!
//! Four corners: 64 KiB sequential and 8 KiB random, from all reads to all writes, as the page on Azure
//! NetApp Files datastores measures (founding document 3). Open performance test: the four specifications
//! of the unofficial VMware test, 64 under way, 8,000,000 sectors, five minutes each (founding document 2).

use crate::workload::{Access, Workload, describe};

/// Share of reads of the mixes between the corners, percent.
const MIXES: [f64; 5] = [100.0, 75.0, 50.0, 25.0, 0.0];

/// Names of all profiles with what they are.
pub const PROFILES: [(&str, &str); 4] = [
    ("four-corners", "64 KiB sequential and 8 KiB random, 100/0 to 0/100 in steps of 25"),
    ("four-corners-read", "the two corners that only read"),
    ("opt", "the four specifications of the unofficial VMware Open Performance Test"),
    ("curve", "find the highest rate, then 10 to 100 % of it in steps, open loop"),
];

/// The workloads of a profile; durations, depth and the rest come from `base`. `None`: no such profile.
#[must_use]
pub fn workloads(name: &str, base: &Workload) -> Option<Vec<Workload>> {
    match name {
        "four-corners" => Some(corners(base, &MIXES)),
        "four-corners-read" => Some(corners(base, &MIXES[..1])),
        "opt" => Some(open_performance_test(base)),
        _ => None,
    }
}

fn corners(base: &Workload, mixes: &[f64]) -> Vec<Workload> {
    let mut all = Vec::new();
    for (block_bytes, random_pct) in [(65_536, 0.0), (8192, 100.0)] {
        for &read_pct in mixes {
            let accesses = vec![Access::new(block_bytes, read_pct, random_pct)];
            all.push(Workload { name: describe(&accesses), accesses, ..base.clone() });
        }
    }
    all
}

fn open_performance_test(base: &Workload) -> Vec<Workload> {
    const SPECIFICATIONS: [(&str, u32, f64, f64); 4] = [
        ("Max Throughput-100%Read", 32_768, 100.0, 0.0),
        ("RealLife-60%Rand-65%Read", 8192, 65.0, 60.0),
        ("Max Throughput-50%Read", 32_768, 50.0, 0.0),
        ("Random-8k-70%Read", 8192, 70.0, 100.0),
    ];
    SPECIFICATIONS
        .iter()
        .map(|&(name, block, read, random)| Workload {
            name: name.to_owned(),
            accesses: vec![Access::new(block, read, random)],
            depth: 64,
            working_set_bytes: Some(base.working_set_bytes.unwrap_or(8_000_000 * 512)),
            ..base.clone()
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn four_corners_have_both_blocks_and_all_mixes() {
        let all = workloads("four-corners", &Workload::default()).unwrap();
        assert_eq!(all.len(), 10);
        assert_eq!(all[0].name, "64 KiB sequential read");
        assert_eq!(all[4].name, "64 KiB sequential write");
        assert_eq!(all[9].name, "8 KiB random write");
        all.iter().for_each(|workload| workload.check_alone().unwrap());
        assert!(
            workloads("four-corners-read", &Workload::default())
                .unwrap()
                .iter()
                .all(|w| !w.writes())
        );
    }

    #[test]
    fn the_open_performance_test_has_its_four_specifications() {
        let all = workloads("opt", &Workload::default()).unwrap();
        let figures: Vec<(u32, f64, f64)> =
            all.iter().map(|w| (w.accesses[0].block_bytes, w.read_pct(), w.random_pct())).collect();
        assert_eq!(
            figures,
            [(32768, 100.0, 0.0), (8192, 65.0, 60.0), (32768, 50.0, 0.0), (8192, 70.0, 100.0)]
        );
        assert!(all.iter().all(|w| w.depth == 64 && w.working_set_bytes == Some(4_096_000_000)));
        assert!(workloads("nonsense", &Workload::default()).is_none());
    }
}
