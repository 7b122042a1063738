//! An inventory to the load it puts on its datastores.
//!
//! Load is a distribution, not a number: each VM has a lognormal of IOPS and one of MiB/s by its
//! class, and what is planned for is the 95th percentile of the **sum** over VMs, never the sum
//! of percentiles. IOPS and MiB/s are two demands: block sizes are bimodal, so one is never the
//! other times a mean block.

pub mod types;

pub use types::*;
