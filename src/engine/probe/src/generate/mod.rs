//! Where the I/Os of a worker go and what they carry.
//!
//! Everything here runs once per I/O in the measuring thread: no allocation, no clock, no system call.

mod addresses;
mod data;
mod stamps;

pub use addresses::{Addresses, Next};
pub use data::Buffers;
pub use stamps::{STAMP_UNIT_BYTES, Stamps, Verdict, inspect};
