//! Benchmarks of the datastore engine, as ratios to the loopback floor and to peers in the same run.
//!
//! `plimsoll-bench-engine [--json]`; run by `./dev bench engine`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]
#![allow(clippy::cast_precision_loss, reason = "counts of a benchmark are far below 2^52")]

mod cpu;
mod floor;
mod load;

use std::time::Duration;

use load::{Direction, Load};

fn main() {
    for load in [
        Load::random(Direction::Read, 8, 1),
        Load::random(Direction::Read, 8, 32),
        Load::random(Direction::Read, 8, 32).over(4),
        Load::random(Direction::Write, 8, 32),
        Load::sequential(Direction::Read, 64, 16),
        Load::sequential(Direction::Write, 64, 16),
    ] {
        match floor::run(&load, Duration::from_secs(1)) {
            Ok(rate) => println!("{load:?}: {:.0}/s, {:.2} us", rate.iops, rate.cpu_us),
            Err(error) => eprintln!("{error}"),
        }
    }
}
