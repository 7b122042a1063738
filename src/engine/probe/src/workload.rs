//! What a measurement does: the mix of accesses, how they arrive, for how long, and when to give up.
//!
//! A workload is plain data, the same for every protocol and host, and part of every result. Mixes of
//! other tools (block splits per direction, access rows with their own shares) are all lists of
//! [`Access`] rows drawn by share.

use serde::{Deserialize, Serialize};

use crate::{Error, Result, text};

/// One row of the mix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Share of the I/Os, percent; the rows of a workload add up to 100.
    pub share_pct: f64,
    /// Bytes of each I/O.
    pub block_bytes: u32,
    /// Share of reads among them, percent.
    pub read_pct: f64,
    /// Share that goes to a random place, percent; the rest goes on where the last one ended.
    pub random_pct: f64,
    /// Random places are multiples of this.
    pub align_bytes: u32,
    /// I/Os issued before a pause.
    #[serde(default = "one")]
    pub burst: u32,
    /// Length of the pause after each burst, milliseconds; 0 for none.
    #[serde(default)]
    pub delay_ms: f64,
}

fn one() -> u32 {
    1
}

impl Access {
    /// A single kind of access.
    #[must_use]
    pub fn new(block_bytes: u32, read_pct: f64, random_pct: f64) -> Self {
        Self {
            share_pct: 100.0,
            block_bytes,
            read_pct,
            random_pct,
            align_bytes: block_bytes,
            burst: 1,
            delay_ms: 0.0,
        }
    }
}

/// How I/Os arrive.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Load {
    /// Closed loop: the next I/O is issued when one ends, so that `depth` are under way.
    Closed,
    /// Open loop: I/Os arrive at a rate whatever the datastore does; latency counts from the intended
    /// time, and at most `depth` per worker are under way.
    Open {
        /// Arrivals per second over all workers.
        iops: f64,
        /// Their spacing.
        arrivals: Arrivals,
    },
}

/// Spacing of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// Evenly spaced.
    #[default]
    Fixed,
    /// Exponentially spaced, as independent sources give.
    Poisson,
}

/// What written data looks like to a device that reduces it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DataShape {
    /// Share of writes whose data has been written before, percent.
    pub dedupe_pct: f64,
    /// Share of each 4 KiB that is zero, percent.
    pub compress_pct: f64,
}

/// When a run is stopped for safety; every field is a guard of its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Guards {
    /// Failed I/Os.
    pub max_errors: Option<u64>,
    /// 99th percentile of latency in `latency_seconds` whole seconds in a row, milliseconds.
    pub max_latency_ms: Option<f64>,
    /// See `max_latency_ms`.
    pub latency_seconds: u32,
    /// Seconds without a single completion while I/Os are under way.
    pub stall_seconds: Option<f64>,
    /// Bytes moved.
    pub max_bytes: Option<u64>,
    /// Seconds of the whole run, ramps included.
    pub max_seconds: Option<f64>,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            max_errors: Some(1000),
            max_latency_ms: None,
            latency_seconds: 3,
            stall_seconds: Some(60.0),
            max_bytes: None,
            max_seconds: None,
        }
    }
}

/// When the series of seconds counts as steady.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SteadyRule {
    /// Seconds of the window at the end of the run; 0 for the whole run.
    pub window_seconds: u32,
    /// Largest allowed distance between the highest and the lowest second, percent of the mean.
    pub excursion_pct: f64,
    /// Largest allowed change of the fitted line over the window, percent of the mean.
    pub slope_pct: f64,
    /// End the run as soon as it is steady, before its time is over.
    pub stop: bool,
}

impl Default for SteadyRule {
    fn default() -> Self {
        Self { window_seconds: 0, excursion_pct: 20.0, slope_pct: 10.0, stop: false }
    }
}

/// A workload.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Workload {
    /// Name, for people.
    pub name: String,
    /// The mix.
    pub accesses: Vec<Access>,
    /// First byte of the part of the datastore that is used.
    pub offset_bytes: u64,
    /// Size of that part; nothing for all of it.
    pub working_set_bytes: Option<u64>,
    /// I/Os under way per worker.
    pub depth: u32,
    /// Workers per datastore, each a thread with its own connections, as VMs have them.
    pub workers: u32,
    /// How I/Os arrive.
    pub load: Load,
    /// Seconds before the measurement.
    pub ramp_seconds: f64,
    /// Seconds of the measurement.
    pub seconds: f64,
    /// End after so many bytes over all workers of a datastore, if that comes first.
    pub limit_bytes: Option<u64>,
    /// What written data looks like.
    pub data: DataShape,
    /// Write stamped blocks, and check them when they are read.
    pub integrity: bool,
    /// Write the working set once before measuring.
    pub prefill: bool,
    /// Seed of all random choices.
    pub seed: u64,
    /// When to give up.
    pub guards: Guards,
    /// When it is steady.
    pub steady: SteadyRule,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            name: "8 KiB random read".to_owned(),
            accesses: vec![Access::new(8192, 100.0, 100.0)],
            offset_bytes: 0,
            working_set_bytes: None,
            depth: 32,
            workers: 1,
            load: Load::Closed,
            ramp_seconds: 1.0,
            seconds: 30.0,
            limit_bytes: None,
            data: DataShape::default(),
            integrity: false,
            prefill: false,
            seed: 1,
            guards: Guards::default(),
            steady: SteadyRule::default(),
        }
    }
}

impl Workload {
    /// A workload of one kind of access, named after it.
    #[must_use]
    pub fn simple(block_bytes: u32, read_pct: f64, random_pct: f64) -> Self {
        let accesses = vec![Access::new(block_bytes, read_pct, random_pct)];
        let name = describe(&accesses);
        Self { name, accesses, ..Self::default() }
    }

    /// Whether anything is written.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.prefill || self.accesses.iter().any(|row| row.share_pct > 0.0 && row.read_pct < 100.0)
    }

    /// Whether anything is read.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.accesses.iter().any(|row| row.share_pct > 0.0 && row.read_pct > 0.0)
    }

    /// The largest block.
    #[must_use]
    pub fn max_block_bytes(&self) -> u32 {
        self.accesses.iter().map(|row| row.block_bytes).max().unwrap_or(0)
    }

    /// Mean bytes per I/O of the mix.
    #[must_use]
    pub fn mean_block_bytes(&self) -> f64 {
        self.accesses.iter().map(|row| row.share_pct / 100.0 * f64::from(row.block_bytes)).sum()
    }

    /// Share of reads of the whole mix, percent.
    #[must_use]
    pub fn read_pct(&self) -> f64 {
        self.accesses.iter().map(|row| row.share_pct / 100.0 * row.read_pct).sum()
    }

    /// Share of random accesses of the whole mix, percent.
    #[must_use]
    pub fn random_pct(&self) -> f64 {
        self.accesses.iter().map(|row| row.share_pct / 100.0 * row.random_pct).sum()
    }

    /// Seconds it takes when nothing stops it, ramp included.
    #[must_use]
    pub fn planned_seconds(&self) -> f64 {
        self.ramp_seconds + self.seconds
    }

    /// Refuses what cannot be run on a datastore of this size and block.
    pub fn check(&self, capacity_bytes: u64, device_block_bytes: u32) -> Result<()> {
        self.check_alone()?;
        let refuse = |what: String| Err(Error::Workload { name: self.name.clone(), what });
        let size = self.size_on(capacity_bytes);
        let per_worker = if self.integrity { size / u64::from(self.workers) } else { size };
        if per_worker < u64::from(self.max_block_bytes()) {
            return refuse(format!(
                "its working set of {} does not hold one block of {}",
                text::show_bytes(per_worker),
                text::show_bytes(u64::from(self.max_block_bytes()))
            ));
        }
        let unit = u64::from(device_block_bytes.max(1));
        for row in &self.accesses {
            let sizes = [u64::from(row.block_bytes), u64::from(row.align_bytes), self.offset_bytes];
            if sizes.iter().any(|bytes| bytes % unit != 0) {
                return refuse(format!(
                    "block, alignment and offset must be multiples of the {unit} bytes of the device"
                ));
            }
        }
        if self.offset_bytes.saturating_add(self.working_set_bytes.unwrap_or(0)) > capacity_bytes {
            return refuse(format!(
                "offset and working set reach beyond the {} of the datastore",
                text::show_bytes(capacity_bytes)
            ));
        }
        Ok(())
    }

    /// Bytes of the working set on a datastore of this size.
    #[must_use]
    pub fn size_on(&self, capacity_bytes: u64) -> u64 {
        let rest = capacity_bytes.saturating_sub(self.offset_bytes);
        self.working_set_bytes.map_or(rest, |size| size.min(rest))
    }

    /// Refuses what cannot be run anywhere.
    pub fn check_alone(&self) -> Result<()> {
        let refuse =
            |what: &str| Err(Error::Workload { name: self.name.clone(), what: what.to_owned() });
        let percent = |value: f64| (0.0..=100.0).contains(&value);
        if self.accesses.is_empty() {
            return refuse("has no accesses");
        }
        for row in &self.accesses {
            if !(percent(row.share_pct) && percent(row.read_pct) && percent(row.random_pct)) {
                return refuse("shares must lie between 0 and 100 percent");
            }
            if row.block_bytes == 0 || row.block_bytes > text::MAX_BLOCK_BYTES {
                return refuse("blocks must have 1 byte to 64 MiB");
            }
            if row.align_bytes == 0 || row.burst == 0 {
                return refuse("alignment and burst must not be 0");
            }
            if !(0.0..=86_400_000.0).contains(&row.delay_ms) {
                return refuse("a pause must lie between 0 and a day");
            }
        }
        let sum: f64 = self.accesses.iter().map(|row| row.share_pct).sum();
        if (sum - 100.0).abs() > 0.01 {
            return refuse(&format!("the shares of its accesses add up to {sum}, not 100 percent"));
        }
        if !(1..=65_536).contains(&self.depth) || !(1..=4096).contains(&self.workers) {
            return refuse("depth must be 1 to 65536 and workers 1 to 4096");
        }
        if !(self.seconds > 0.0 && self.seconds <= 1e7 && (0.0..=1e6).contains(&self.ramp_seconds))
        {
            return refuse("it needs a duration above 0, and a ramp of 0 or more seconds");
        }
        if let Load::Open { iops, .. } = self.load
            && !(iops > 0.0 && iops <= 1e9)
        {
            return refuse("the rate must be above 0");
        }
        if !(percent(self.data.dedupe_pct) && (0.0..=99.0).contains(&self.data.compress_pct)) {
            return refuse("dedupe must be 0 to 100 percent and compression 0 to 99 percent");
        }
        if self.integrity {
            if self
                .accesses
                .iter()
                .any(|row| row.block_bytes % 512 != 0 || row.align_bytes % 512 != 0)
            {
                return refuse(
                    "stamped blocks need block sizes and alignments in multiples of 512 bytes",
                );
            }
            if self.data != DataShape::default() {
                return refuse("stamped blocks are unique: leave dedupe and compression out");
            }
        }
        Ok(())
    }
}

/// A mix in a few words: `8 KiB random, 70 % reads`.
#[must_use]
pub fn describe(accesses: &[Access]) -> String {
    let [row] = accesses else { return format!("mix of {} accesses", accesses.len()) };
    let place = match row.random_pct {
        p if p >= 100.0 => "random".to_owned(),
        p if p <= 0.0 => "sequential".to_owned(),
        p => format!("{p:.0} % random"),
    };
    let direction = match row.read_pct {
        p if p >= 100.0 => "read".to_owned(),
        p if p <= 0.0 => "write".to_owned(),
        p => format!("{p:.0}/{:.0} mix", 100.0 - p),
    };
    format!("{} {place} {direction}", text::show_bytes(u64::from(row.block_bytes)))
}

/// Rows for block splits that differ by direction, as fio has them: each direction's own list.
#[must_use]
pub fn split_rows(
    reads: &[(u32, f64)],
    writes: &[(u32, f64)],
    read_pct: f64,
    random_pct: f64,
) -> Vec<Access> {
    if reads == writes {
        let row = |&(block, share): &(u32, f64)| Access {
            share_pct: share,
            ..Access::new(block, read_pct, random_pct)
        };
        return reads.iter().map(row).collect();
    }
    let side = |split: &[(u32, f64)], weight: f64, read_pct: f64| {
        split
            .iter()
            .map(|&(block, share)| Access {
                share_pct: share * weight / 100.0,
                ..Access::new(block, read_pct, random_pct)
            })
            .filter(|row| row.share_pct > 0.0)
            .collect::<Vec<_>>()
    };
    let mut rows = side(reads, read_pct, 100.0);
    rows.extend(side(writes, 100.0 - read_pct, 0.0));
    rows
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn splits_by_direction_keep_the_mix() {
        let rows = split_rows(&[(4096, 60.0), (8192, 40.0)], &[(65_536, 100.0)], 70.0, 100.0);
        let workload = Workload { accesses: rows, ..Workload::default() };
        workload.check_alone().unwrap();
        assert_eq!(workload.accesses.len(), 3);
        assert!((workload.read_pct() - 70.0).abs() < 1e-9);
        let mean = 0.7 * (0.6 * 4096.0 + 0.4 * 8192.0) + 0.3 * 65_536.0;
        assert!((workload.mean_block_bytes() - mean).abs() < 1e-6);
    }

    #[test]
    fn what_cannot_run_is_refused_with_a_reason() {
        let capacity = 1 << 30;
        let good = Workload::default();
        good.check(capacity, 512).unwrap();
        let cases: Vec<(&str, Workload)> = vec![
            ("no accesses", Workload { accesses: vec![], ..good.clone() }),
            (
                "add up",
                Workload {
                    accesses: vec![Access { share_pct: 50.0, ..Access::new(8192, 1.0, 1.0) }],
                    ..good.clone()
                },
            ),
            ("depth", Workload { depth: 0, ..good.clone() }),
            ("duration", Workload { seconds: f64::NAN, ..good.clone() }),
            (
                "rate",
                Workload {
                    load: Load::Open { iops: 0.0, arrivals: Arrivals::Fixed },
                    ..good.clone()
                },
            ),
            (
                "multiples",
                Workload { accesses: vec![Access::new(1000, 100.0, 100.0)], ..good.clone() },
            ),
            ("beyond", Workload { working_set_bytes: Some(2 << 30), ..good.clone() }),
            ("does not hold", Workload { working_set_bytes: Some(4096), ..good.clone() }),
        ];
        for (wanted, workload) in cases {
            let error = workload.check(capacity, 512).unwrap_err().to_string();
            assert!(error.contains(wanted), "{wanted}: {error}");
        }
    }

    #[test]
    fn names_say_what_is_done() {
        assert_eq!(Workload::simple(8192, 100.0, 100.0).name, "8 KiB random read");
        assert_eq!(Workload::simple(65_536, 0.0, 0.0).name, "64 KiB sequential write");
        assert_eq!(Workload::simple(8192, 65.0, 60.0).name, "8 KiB 60 % random 65/35 mix");
    }
}
