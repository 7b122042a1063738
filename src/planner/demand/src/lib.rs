//! An inventory to the load it puts on its datastores.
//!
//! Load is a distribution, not a number: each VM has a lognormal of IOPS and one of MiB/s by its
//! class, and what is planned for is the 95th percentile of the **sum** over VMs, never the sum
//! of percentiles. IOPS and MiB/s are two demands: block sizes are bimodal, so one is never the
//! other times a mean block.
//!
//! [`estimate`] is the way in: `rules` reads the class table, `matcher` puts VMs into classes,
//! `sum` and `simulate` add them up, `measured` puts
//! measurements in the place of class defaults ([`estimate_measured`]), `capacity` counts space, `assumed` writes down what was taken
//! for granted.

mod assumed;
mod capacity;
mod error;
mod estimate;
mod matcher;
mod measured;
mod rules;
mod separate;
mod simulate;
mod sum;
pub mod types;

pub use error::Error;
pub use estimate::{PerVmOverride, estimate, estimate_measured};
pub use measured::{AlignedSum, MeasuredLoad, MeasuredVm, VmRate};
pub use rules::rules_text;
pub use types::*;
