//! What is asked of an engine, and what it gave.

use std::time::Duration;

/// Which way the blocks travel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Read,
    Write,
}

/// A closed loop of one block size.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub direction: Direction,
    pub block_bytes: usize,
    /// Requests in flight on each connection.
    pub depth: usize,
    pub connections: usize,
    pub sequential: bool,
}

impl Load {
    pub fn random(direction: Direction, block_kib: usize, depth: usize) -> Self {
        Self { direction, block_bytes: block_kib << 10, depth, connections: 1, sequential: false }
    }

    pub fn sequential(direction: Direction, block_kib: usize, depth: usize) -> Self {
        Self { sequential: true, ..Self::random(direction, block_kib, depth) }
    }

    pub fn over(self, connections: usize) -> Self {
        Self { connections, ..self }
    }
}

/// What a run gave.
#[derive(Debug, Clone, Copy)]
pub struct Rate {
    /// I/Os a second.
    pub iops: f64,
    /// CPU microseconds per I/O, both ends together where both ran in this process.
    pub cpu_us: f64,
}

impl Rate {
    pub fn new(count: u64, elapsed: Duration, cpu_seconds: f64) -> Self {
        let count = count as f64;
        Self { iops: count / elapsed.as_secs_f64(), cpu_us: cpu_seconds * 1e6 / count.max(1.0) }
    }
}
