//! The measuring itself: one thread per worker, tallies per second, and what is concluded from them.

mod cpu;
mod histogram;
mod link;
mod pacing;
mod steady;
mod tally;
mod worker;

pub use cpu::{CpuClock, CpuSeconds};
pub use histogram::{Histogram, Summary};
pub use link::{Event, Gate, Link, Seat};
pub use pacing::Pacer;
pub use steady::{SteadyState, judge as judge_steady};
pub use tally::{Direction, Failures, Flow, Interval, WorkerEnd};
pub use worker::serve;
