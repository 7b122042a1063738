//! Rates and times.

use serde::{Deserialize, Serialize};

/// I/O operations a second; the block size is stated where the number is used.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Iops(pub f64);

/// Binary mebibytes a second.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MibPerSec(pub f64);

/// A time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Milliseconds(pub f64);

impl Iops {
    /// Throughput of this many operations of `block_kib` KiB.
    #[must_use]
    pub fn at_block(self, block_kib: f64) -> MibPerSec {
        MibPerSec(self.0 * block_kib / 1024.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_iops_times_block() {
        assert_eq!(Iops(195_000.0).at_block(8.0), MibPerSec(1523.4375));
    }
}
