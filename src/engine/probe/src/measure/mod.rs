//! The measuring itself: one thread per worker, tallies per second, and what is concluded from them.

mod cpu;
mod histogram;
mod pacing;
mod steady;
mod tally;
mod worker;

pub use cpu::{CpuClock, CpuSeconds};
pub use histogram::{Histogram, Summary};
pub use pacing::Pacer;
pub use steady::{SteadyState, judge as judge_steady};
pub use tally::{Direction, Failures, Flow, Interval, WorkerEnd};
pub use worker::{Event, Go, Seat, serve};
